//! JSON and payload types.

mod foreign_values;
mod oauth;
mod oracle;
mod rendered;
mod stored;
mod tables;
mod types;
mod values;
