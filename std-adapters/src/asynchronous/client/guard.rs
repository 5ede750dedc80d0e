//! Catches panics of the application's code. A panic ends neither the connection nor other calls;
//! the panic hook has reported it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_lite::FutureExt as _;

/// Calls a function. Returns `None` if it panics.
pub(super) fn call<R>(code: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(code)).ok()
}

/// Awaits the future that a [call](call) returned. Returns `None` if that call or the future
/// panicked.
pub(super) async fn outcome<F: Future>(future: Option<F>) -> Option<F::Output> {
    AssertUnwindSafe(future?).catch_unwind().await.ok()
}
