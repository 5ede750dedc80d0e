//! What the core costs: no allocation, and work in proportion to the input.

mod client;
mod http;
mod server;
mod work;
