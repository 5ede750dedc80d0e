//! JSON and payload types.

mod foreign_bytes;
mod foreign_values;
mod oracle;
mod rendered;
mod tables;
mod types;
mod values;
