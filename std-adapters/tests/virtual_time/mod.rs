//! Virtual time: no test waits for a time limit, or depends on the speed of the machine.
//!
//! [`block_on`] drives a client, a server and their streams in memory. While anything can go on, no
//! time passes; then the clock jumps to the next timer. Tests wait with `tokio::time::sleep`, and
//! measure with `tokio::time::Instant`. Sockets, processes and threads go on in real time, while
//! the clock jumps: tests of those use none of this, or `tokio::task::spawn_blocking`, for which
//! the clock waits.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

#[allow(dead_code, reason = "not all tests need it")]
pub(crate) fn block_on<R>(future: impl Future<Output = R>) -> R {
    runtime().block_on(future)
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// Lets time pass in the middle of a poll, as if it took so long.
#[allow(dead_code, reason = "not all tests need it")]
pub(crate) fn pass(duration: Duration) {
    let _ = pin!(tokio::time::advance(duration)).poll(&mut Context::from_waker(Waker::noop()));
}
