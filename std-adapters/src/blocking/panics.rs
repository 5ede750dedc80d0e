//! Panics of the application's code.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls the application. `None` when it panicked; the panic hook has reported that by then, on
/// standard error unless the program has set another. What the application shares with the call may
/// be half changed, and is its own concern: calls of the core are complete or have not happened.
/// With `panic = "abort"` the process ends instead.
pub(super) fn catch<R>(call: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}
