//! What the firmware does, without any board: its configuration, its catalog, its answers, its
//! jobs. No I/O, no clock, no allocator.
//!
//! A board brings [`Board`], a port and a loop. The loop hands events to [`App::event`] and asks
//! [`App::work`] for what is due; either may give a [`Reply`], and that is sent with
//! [`Reply::send`], again and again until it is through, like any call of the server. An async loop
//! has each job in a future of its own instead: [`App::begin`] and [`App::step`].
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

pub use app::{App, Begun, Stepped};
#[cfg(feature = "async")]
pub use async_line::AsyncApp;
pub use board::{Board, MAX_REGISTERS, OUTPUTS, Quantity};
pub use catalog::{CATALOG, CONFIG};
pub use reply::Reply;
pub use sweep::Sweep;

use mcp_sansio::Server;

/// The server that the application is for.
pub type AppServer<'c> = Server<'c, IN_FLIGHT, SUBSCRIPTIONS>;

/// Requests in flight, and so the most that may be worked on at once.
pub const IN_FLIGHT: usize = 4;
/// Resources that may be subscribed to.
pub const SUBSCRIPTIONS: usize = 4;
