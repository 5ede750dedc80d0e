//! The blocking adapter against peers that misbehave.

mod asking;
mod client;
mod memory;
mod observer;
mod server;
mod tools;
mod tracing;
mod typed_calls;
