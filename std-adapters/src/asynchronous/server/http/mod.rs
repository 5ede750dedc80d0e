//! HTTP server: a site of the core, its handlers, and connections.

mod authorizer;
mod challenge;
mod connection;
mod exchange;
mod observed;
mod options;
mod permit;
mod places;
mod protected_resource;
mod sender;
mod serve;
mod server;
mod shared;
#[cfg(feature = "tower")]
mod tower;
mod wire;

pub use authorizer::{Authorizer, Credentials, Scheme};
pub use challenge::AuthorizationError;
pub use exchange::{HttpExchange, HttpResponse, Interrupted};
pub use options::HttpOptions;
pub(crate) use places::Held;
pub use protected_resource::ProtectedResource;
pub use serve::serve;
pub use server::HttpServer;
#[cfg(feature = "tower")]
pub use tower::ResponseBody;
