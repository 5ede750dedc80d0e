//! HTTP server: a site of the core, its handlers, and connections.

mod authorizer;
mod connection;
mod exchange;
mod options;
mod places;
mod serve;
mod server;
mod shared;
mod tasks;
#[cfg(feature = "tower")]
mod tower;
mod wire;

pub use authorizer::{Authorizer, Credentials};
pub use exchange::{HttpExchange, HttpResponse, Interrupted};
pub use options::{AccessControl, HttpOptions};
pub(crate) use places::Held;
pub use serve::{HttpShards, listeners, serve, serve_on_all_cores, serve_on_threads};
pub use server::HttpServer;

#[cfg(feature = "tower")]
pub use tower::ResponseBody;
