//! What depends on the runtime of the asynchronous adapter, or on the operating system: the only
//! place there that knows smol, tokio or unix.

mod current;
mod io;
#[cfg(feature = "smol")]
mod smol;
pub(crate) mod tasks;
pub(crate) mod timer;
#[cfg(feature = "tokio")]
mod tokio;
pub(crate) mod turns;

#[cfg(feature = "http")]
pub(crate) use current::poll_on_thread;
pub use current::{LocalFuture, Runtime, RuntimeFuture, within};
pub(crate) use current::{current, elapsed, now, unblock};
pub(crate) use io::poll_accept;
pub use io::{BoxedListener, BoxedStream, ChildProcess, JoinedIo, ReadWrite};
#[cfg(feature = "smol")]
pub use smol::Socket;
#[cfg(feature = "tokio")]
pub use tokio::TokioStream;

/// Shuts a stream down for writing where closing does not.
pub(crate) fn shut_down<T: 'static>(stream: &mut T) {
    #[cfg(feature = "smol")]
    smol::shut_down(stream);
    let _ = stream;
}
