//! The blocking adapter against peers that misbehave.

mod asking;
mod client;
mod memory;
mod server;
mod tools;
mod typed_calls;
