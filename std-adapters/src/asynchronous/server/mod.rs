//! The server: one application, many connections.

mod alarm;
mod answers;
mod app;
mod ask;
mod broadcast;
mod connection;
mod context;
#[cfg(feature = "http")]
pub(super) mod http;
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

pub use answers::InputResponse;
pub use app::{
    App, FULL_TIMEOUT, IDLE_TIMEOUT, IN_FLIGHT, MAX_CONNECTIONS, MAX_LINE, MAX_PARAMS, MAX_PENDING,
    MAX_RUNNING, SUBSCRIPTIONS,
};
pub use broadcast::Broadcaster;
pub use connection::{Connection, ConnectionEnd};
pub use context::Context;
pub use listener::{Listener, accept, serve};
pub use pair::JoinedIo;
pub use reply::{Failure, MAX_PANIC_TEXT, PanicReport, Reply};
pub use rounds::{MAX_INPUT_RESPONSES, StateProtector};
pub use socket::Socket;
