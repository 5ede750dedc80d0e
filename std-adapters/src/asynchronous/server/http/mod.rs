//! HTTP server: connections, sessions and exchanges.

mod auth;
mod bodies;
mod connection;
mod endpoint_state;
mod head;
mod legacy_sse;
mod options;
mod post;
mod sender;
mod serve;
mod server_instance;
mod session;
mod sessions;
mod stateless;
mod stream;
mod wire;

pub use auth::{AuthorizationError, Credentials, ProtectedResource};
pub use options::HttpOptions;
pub use serve::serve;
