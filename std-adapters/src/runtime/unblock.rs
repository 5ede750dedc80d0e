//! Threads for calls that may block.

/// Calls `call` on a thread of the runtime that polls the future: of tokio, or else of `blocking`.
/// A panic of the call goes on in the caller.
pub(crate) async fn unblock<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    #[cfg(all(feature = "smol", feature = "tokio"))]
    if tokio::runtime::Handle::try_current().is_err() {
        return blocking::unblock(call).await;
    }
    #[cfg(feature = "tokio")]
    return with_tokio(call).await;
    #[cfg(not(feature = "tokio"))]
    blocking::unblock(call).await
}

#[cfg(feature = "tokio")]
async fn with_tokio<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(call).await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(returned) => returned,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The runtime shuts down, and polls nothing any more.
        Err(Err(_)) => std::future::pending().await,
    }
}

#[cfg(all(test, feature = "smol"))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread::{self, ThreadId};

    use super::*;

    async fn elsewhere() {
        let here = thread::current().id();
        assert_ne!(unblock(|| -> ThreadId { thread::current().id() }).await, here);
    }

    #[test]
    fn a_call_is_on_another_thread_and_its_panic_goes_on_here() {
        async_io::block_on(elsewhere());
        let panicking = || async_io::block_on(unblock(|| panic!("of the call")));
        let panic = catch_unwind(AssertUnwindSafe(panicking)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"of the call"));
    }

    #[cfg(feature = "tokio")]
    #[test]
    fn in_a_runtime_of_tokio_the_thread_is_one_of_its_own() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(elsewhere());
        runtime.block_on(unblock(|| drop(tokio::runtime::Handle::current())));
        let panicking = || runtime.block_on(unblock(|| panic!("of the call")));
        let panic = catch_unwind(AssertUnwindSafe(panicking)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"of the call"));
    }
}
