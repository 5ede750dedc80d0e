//! The server: one application, many connections.

mod alarm;
mod answers;
mod app;
mod ask;
mod connection;
mod context;
#[cfg(feature = "http")]
pub(super) mod http;
mod hub;
mod link;
mod listener;
mod outbox;
mod outlet;
mod pair;
mod reply;
mod rounds;
mod socket;
mod voice;
mod work;

use super::tasks;

pub use answers::Answer;
pub use app::{
    App, FULL_TIMEOUT, IDLE_TIMEOUT, IN_FLIGHT, MAX_CONNECTIONS, MAX_LINE, MAX_PARAMS, MAX_PENDING,
    MAX_RUNNING, SUBSCRIPTIONS,
};
pub use connection::{Connection, End};
pub use context::Context;
pub use hub::Hub;
pub use listener::{Listener, accept, serve};
pub use pair::Pair;
pub use reply::{Failure, MAX_TEXT, Panicked, Reply};
pub use rounds::{MAX_ANSWERS, Seal};
pub use socket::Socket;
