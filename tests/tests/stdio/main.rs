//! The blocking adapter against peers that misbehave.

mod asking;
mod client;
mod memory;
mod observer;
mod scopes;
mod server;
mod shared_catalog;
mod skills;
mod tools;
mod tracing;
mod typed_calls;
