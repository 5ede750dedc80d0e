//! The application without a board: configuration, catalog, responses and jobs. No I/O, no clock,
//! no allocator.
//!
//! A board adds a [`Board`], a port and a loop, which calls [`App::run`]. That passes events to
//! [`App::event`] and calls [`App::work`] for jobs that are due. Both may return a [`Reply`], whose
//! [`Reply::send`] is called until it succeeds, as any call of the server. An async loop runs each
//! job in a future of its own instead, with [`App::begin`] and [`App::step`].
#![no_std]
#![forbid(unsafe_code)]

mod app;
#[cfg(feature = "async")]
mod async_line;
mod board;
mod call;
mod catalog;
mod file;
mod line;
mod outputs;
mod reply;
mod sweep;
mod tools;

pub use app::{App, Begun, Stepped};
#[cfg(feature = "async")]
pub use async_line::AsyncApp;
pub use board::{Board, MAX_REGISTERS, OUTPUTS, Quantity};
pub use catalog::{CATALOG, CONFIG};
pub use line::{Line, Next, RX_BYTES, TX_BYTES, open};
pub use reply::Reply;
pub use sweep::Sweep;

/// Maximum number of requests in flight, and of jobs.
pub const IN_FLIGHT: usize = 4;
/// Maximum number of subscribed resources.
pub const SUBSCRIPTIONS: usize = 4;
