//! Catches panics of the application's code: one ends neither the connection nor other requests.

use std::any::Any;
#[cfg(feature = "asynchronous")]
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[cfg(feature = "asynchronous")]
use futures_lite::FutureExt as _;

/// The message of a panic; empty if its payload is not a string.
pub(crate) struct Panic(pub(crate) String);

/// Calls code of the application and catches its panic. State that the code shares may have been
/// left half changed, as after a panic on another thread.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = text_of(&*payload);
        // Dropping a payload may panic as well. In that case it is leaked.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(another);
        }
        Panic(text)
    })
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let literal = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    literal.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Awaits a future of the application. Returns `None` if it panics, or if there is none.
#[cfg(feature = "asynchronous")]
pub(crate) async fn caught_future<F: Future>(future: Option<F>) -> Option<F::Output> {
    AssertUnwindSafe(future?).catch_unwind().await.ok()
}
