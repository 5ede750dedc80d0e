//! JSON and payload types.

mod foreign_values;
mod oracle;
mod tables;
mod types;
mod values;
