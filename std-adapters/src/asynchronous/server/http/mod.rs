//! The server over HTTP: connections, sessions, and what lies between them.

mod auth;
mod bodies;
mod connection;
mod direct;
mod head;
mod old;
mod options;
mod patience;
mod peer;
mod post;
mod sender;
mod serve;
mod session;
mod sessions;
mod shared;
mod stream;
mod wire;

pub use auth::{AuthorizationError, Credentials, ProtectedResource};
pub use options::HttpOptions;
pub use serve::serve;
