//! A panic in the application's code ends what that was called for, and neither the connection nor
//! other calls. The panic hook has told of it by then.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_lite::FutureExt as _;

/// Calls it. `None` when it panics.
pub(super) fn call<R>(code: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(code)).ok()
}

/// Awaits what a [call](call) has returned. `None` when that has panicked, or this does.
pub(super) async fn outcome<F: Future>(future: Option<F>) -> Option<F::Output> {
    AssertUnwindSafe(future?).catch_unwind().await.ok()
}
