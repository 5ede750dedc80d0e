//! The server: one application, many connections.
#![cfg_attr(
    not(feature = "http"),
    allow(dead_code, reason = "requests have principals and sessions only over HTTP")
)]

mod admission;
mod app;
mod broadcast;
mod connection;
mod context;
mod driver_waker;
#[cfg(feature = "http")]
pub mod http;
mod life;
mod listener;
mod reply;
mod source;
mod stream;
mod task_hub;

pub use crate::rounds::MAX_INPUT_RESPONSES;
pub use app::{App, Limits};
pub use broadcast::Broadcaster;
pub use connection::{Connection, ConnectionEnd, Incoming};
pub use context::Context;
pub use listener::{Accepted, Listener, accept, serve};
pub use reply::{BoxedHandler, HandlerResult, IntoReply, Reply, boxed};
pub use task_hub::TaskOptions;
