//! The runtime that polls a future: the trait, how a program names its own, and which it is if it
//! names none.

use std::cell::Cell;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::net::{SocketAddr, TcpListener};
use std::pin::{Pin, pin};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};
use std::{io, thread};

use event_listener::Event;

use super::io::{BoxedListener, BoxedStream};

/// What the adapter needs of a runtime. smol and tokio are known, with the features of these names;
/// any other, also an executor and a clock of your own, serves and connects [`within`] its
/// implementation of this trait.
///
/// Only timers are required. The rest has defaults: the clock of the system, threads, and for
/// sockets and pipes errors that say what takes their place. Streams of any kind need none of this:
/// a server has its [`Listener`](crate::asynchronous::Listener), a client gets its stream.
pub trait Runtime: Send + Sync {
    /// Returns a future that is ready from this time of its [clock](Self::now) on. It is dropped
    /// when it is no longer needed.
    fn sleep_until(&self, at: Instant) -> RuntimeFuture<()>;

    /// Returns the present, by which time limits are measured. Default: that of the system.
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// Calls `work`, which may block, where it holds nothing up: files, names of hosts. Default: on
    /// a thread of its own.
    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) -> RuntimeFuture<()> {
        let done = Event::new();
        let listener = done.listen();
        thread::spawn(move || {
            work();
            done.notify(1);
        });
        Box::pin(listener)
    }

    /// Connects over TCP, for a client at a URL. Default: an error.
    fn connect(&self, address: SocketAddr) -> RuntimeFuture<io::Result<BoxedStream>> {
        let _ = address;
        Box::pin(async { Err(unsupported("HttpTransport::with_connector takes a connector")) })
    }

    /// Makes an asynchronous listener of a non-blocking one: to which a browser returns after a
    /// login, or of a server on several threads. Default: an error.
    fn listen(&self, listener: TcpListener) -> io::Result<BoxedListener> {
        let _ = listener;
        Err(unsupported("implement `listen`, or let a person paste the last address of a login"))
    }

    /// Polls a future on this thread until it is ready: on the threads of a server that has
    /// several. Default: the thread sleeps between two polls.
    ///
    /// # Errors
    /// If the operating system lacks what the runtime needs.
    fn block_on(&self, future: LocalFuture<'_>) -> io::Result<()> {
        futures_lite::future::block_on(future);
        Ok(())
    }

    /// Makes one stream of the pipes of a child process; closing it closes the input of the child.
    /// Default: an error.
    fn pipes(&self, output: ChildStdout, input: ChildStdin) -> io::Result<BoxedStream> {
        let _ = (output, input);
        Err(unsupported("connect to streams of its pipes"))
    }

    /// Makes one stream of two files that block, which are mostly read and written on threads: of
    /// standard input and output. Default: an error.
    fn files(&self, input: File, output: File) -> io::Result<BoxedStream> {
        let _ = (input, output);
        Err(unsupported("implement `files`, or serve a stream of yours"))
    }
}

/// A future of a [`Runtime`].
pub type RuntimeFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A future that stays on its thread.
pub type LocalFuture<'f> = Pin<Box<dyn Future<Output = ()> + 'f>>;

fn unsupported(instead: &str) -> io::Error {
    let message = format!("the runtime of this program does not do this: {instead}");
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// Polls `future` with a runtime of your own in place of smol or tokio. Whatever has a timer must
/// be polled so: servers, connections and calls of clients. The innermost counts.
///
/// ```
/// # use std::time::Instant;
/// # use mcp_sansio_adapters::asynchronous::{Runtime, RuntimeFuture, within};
/// # async fn serve() {}
/// struct Mine;
///
/// impl Runtime for Mine {
///     fn sleep_until(&self, at: Instant) -> RuntimeFuture<()> {
///         # let sleep_until = async |_: Instant| {};
///         // A timer of its own.
///         Box::pin(async move { sleep_until(at).await })
///     }
/// }
///
/// # futures_lite::future::block_on(
/// within(&Mine, serve())
/// # )
/// ```
pub async fn within<F: Future>(runtime: &'static dyn Runtime, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let _before = Before(NAMED.replace(Some(runtime)));
        future.as_mut().poll(cx)
    })
    .await
}

thread_local! {
    /// The runtime of [`within`], while it polls.
    static NAMED: Cell<Option<&'static dyn Runtime>> = const { Cell::new(None) };
}

/// The runtime to go back to, also after a panic.
struct Before(Option<&'static dyn Runtime>);

impl Drop for Before {
    fn drop(&mut self) {
        NAMED.set(self.0);
    }
}

/// Returns the runtime that polls this: the one that the program names, else tokio in a runtime of
/// it, else smol.
pub(crate) fn current() -> &'static dyn Runtime {
    NAMED.get().unwrap_or_else(known)
}

fn known() -> &'static dyn Runtime {
    #[cfg(all(feature = "smol", feature = "tokio"))]
    if ::tokio::runtime::Handle::try_current().is_err() {
        return &super::smol::Smol;
    }
    #[cfg(feature = "tokio")]
    return &super::tokio::Tokio;
    #[cfg(all(feature = "smol", not(feature = "tokio")))]
    return &super::smol::Smol;
    #[cfg(not(any(feature = "smol", feature = "tokio")))]
    &Unnamed
}

/// Returns the present of the runtime that polls this. With the feature `tokio` its clock is taken
/// without a look at what polls: a test can pause it, and outside of a runtime it is the system's.
pub(crate) fn now() -> Instant {
    match NAMED.get() {
        Some(runtime) => runtime.now(),
        #[cfg(feature = "tokio")]
        None => Runtime::now(&super::tokio::Tokio),
        #[cfg(not(feature = "tokio"))]
        None => Instant::now(),
    }
}

/// Returns the time since then.
pub(crate) fn elapsed(since: Instant) -> Duration {
    now().saturating_duration_since(since)
}

/// Returns what polls a future on another thread, with the timers and sockets of what polls this.
#[cfg(feature = "http")]
pub(crate) fn poll_on_thread() -> impl FnOnce(LocalFuture<'_>) -> io::Result<()> + Send + 'static {
    #[cfg(feature = "tokio")]
    use ::tokio::runtime::RuntimeFlavor;

    let runtime = current();
    #[cfg(feature = "tokio")]
    let handle = ::tokio::runtime::Handle::try_current().ok().filter(|handle| {
        // One of a single thread has timers only while that polls it.
        NAMED.get().is_none() && handle.runtime_flavor() != RuntimeFlavor::CurrentThread
    });
    move |future| {
        let future = Box::pin(within(runtime, future));
        #[cfg(feature = "tokio")]
        if let Some(handle) = handle {
            let _entered = handle.enter();
            futures_lite::future::block_on(future);
            return Ok(());
        }
        runtime.block_on(future)
    }
}

/// No runtime is known, and the program has not named one.
#[cfg(not(any(feature = "smol", feature = "tokio")))]
struct Unnamed;

#[cfg(not(any(feature = "smol", feature = "tokio")))]
impl Runtime for Unnamed {
    fn sleep_until(&self, _: Instant) -> RuntimeFuture<()> {
        panic!(
            "no runtime has timers: poll this in `asynchronous::within`, or enable the feature \
             `smol` or `tokio` of mcp-sansio-adapters"
        )
    }
}

/// Calls `call` where it may block, with the clock of the runtime that polls this. A panic of the
/// call goes on in the caller.
pub(crate) async fn unblock<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    let (sender, returned) = std::sync::mpsc::channel();
    let named = NAMED.get();
    let work = move || {
        let _before = Before(NAMED.replace(named));
        // Sending fails only if the future was dropped.
        drop(sender.send(catch_unwind(AssertUnwindSafe(call))));
    };
    current().run_blocking(Box::new(work)).await;
    match returned.try_recv() {
        Ok(Ok(value)) => value,
        Ok(Err(panic)) => resume_unwind(panic),
        // The runtime shuts down, and polls nothing any more.
        Err(_) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::LazyLock;
    use std::thread::ThreadId;

    use futures_lite::future::block_on;

    use super::*;

    struct Threads;

    impl Runtime for Threads {
        fn sleep_until(&self, _: Instant) -> RuntimeFuture<()> {
            panic!("no timers")
        }

        /// The clock stands still.
        fn now(&self) -> Instant {
            static NOW: LazyLock<Instant> = LazyLock::new(Instant::now);
            *NOW
        }
    }

    async fn elsewhere() {
        let here = thread::current().id();
        assert_ne!(unblock(|| -> ThreadId { thread::current().id() }).await, here);
    }

    fn check(block_on: &dyn Fn(RuntimeFuture<()>)) {
        block_on(Box::pin(elsewhere()));
        let panicking = || block_on(Box::pin(unblock(|| panic!("of the call"))));
        let panic = catch_unwind(AssertUnwindSafe(panicking)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"of the call"));
    }

    #[test]
    fn a_call_is_on_another_thread_and_its_panic_goes_on_here() {
        check(&|future| block_on(within(&Threads, future)));
        #[cfg(feature = "smol")]
        check(&|future| block_on(future));
    }

    #[test]
    fn a_call_on_another_thread_has_the_clock_of_the_runtime() {
        let time = Threads.now();
        thread::sleep(Duration::from_millis(1));
        assert_eq!(block_on(within(&Threads, unblock(now))), time);
    }

    #[cfg(feature = "tokio")]
    #[test]
    fn in_a_runtime_of_tokio_the_thread_is_one_of_its_own() {
        let runtime = ::tokio::runtime::Builder::new_current_thread().build().unwrap();
        check(&|future| runtime.block_on(future));
        runtime.block_on(unblock(|| drop(::tokio::runtime::Handle::current())));
    }

    #[test]
    fn the_innermost_runtime_counts_and_only_while_it_polls() {
        let at = |runtime: &'static dyn Runtime| {
            NAMED.get().is_some_and(|it| std::ptr::addr_eq(it, runtime))
        };
        static OUTER: Threads = Threads;
        struct Inner(#[expect(dead_code, reason = "a type with an address")] u8);
        impl Runtime for Inner {
            fn sleep_until(&self, _: Instant) -> RuntimeFuture<()> {
                panic!("no timers")
            }
        }
        static INNER: Inner = Inner(0);
        block_on(within(&OUTER, async {
            assert!(!at(&INNER));
            within(&INNER, async { assert!(at(&INNER)) }).await;
            assert!(NAMED.get().is_some() && !at(&INNER));
        }));
        assert!(NAMED.get().is_none());
    }
}
