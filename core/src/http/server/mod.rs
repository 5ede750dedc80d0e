//! The server of Streamable HTTP and of HTTP+SSE.

mod accept;
mod access;
mod exchange;
mod params;
mod refused;
mod replay;
mod reply;
mod route;
mod session;

pub use access::Access;
pub use exchange::{EventId, NotAnEventId};
pub use refused::Refused;
pub use replay::{Cursor, Lost, Recording, Replay};
pub use reply::{Body, Reply};
pub use route::{Endpoint, Route, Verb};
pub use session::SessionId;

pub(crate) use exchange::{EventHead, Exchange};
pub(crate) use params::check_params;
