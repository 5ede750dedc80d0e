//! Locks, after a panic too.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks. What a mutex guards here is not left half changed by a panic of the application's code,
/// so one that happened under the lock is no reason to panic again.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
