//! HTTP server: a site of the core, its handlers, and connections.

mod auth;
mod connection;
mod exchange;
mod observed;
mod options;
mod sender;
mod serve;
mod server;
mod shared;
#[cfg(feature = "tower")]
mod tower;
mod wire;

pub use auth::{AuthorizationError, Credentials, ProtectedResource};
pub use exchange::{HttpExchange, HttpResponse, Interrupted};
pub use options::HttpOptions;
pub use serve::serve;
pub use server::HttpServer;
#[cfg(feature = "tower")]
pub use tower::ResponseBody;
