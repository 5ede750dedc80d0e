//! JSON and payload types.

mod foreign_values;
mod oracle;
mod rendered;
mod stored;
mod tables;
mod types;
mod values;
