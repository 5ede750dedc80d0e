//! What depends on the runtime of the asynchronous adapter, or on the operating system: the only
//! place there that knows smol, tokio or unix.

pub(crate) mod child;
#[cfg(feature = "asynchronous")]
mod child_process;
#[cfg(feature = "asynchronous")]
mod current;
#[cfg(feature = "asynchronous")]
mod io;
#[cfg(feature = "smol")]
mod smol;
#[cfg(feature = "asynchronous")]
pub(crate) mod tasks;
#[cfg(feature = "asynchronous")]
pub(crate) mod timer;
#[cfg(feature = "tokio")]
mod tokio;

#[cfg(feature = "asynchronous")]
pub use child_process::ChildProcess;
#[cfg(any(feature = "http", all(feature = "asynchronous", feature = "store")))]
pub(crate) use current::unblock;
#[cfg(feature = "asynchronous")]
pub use current::{Runtime, RuntimeFuture, within};
#[cfg(feature = "asynchronous")]
pub(crate) use current::{current, elapsed, now};
#[cfg(feature = "asynchronous")]
pub(crate) use io::is_gone;
#[cfg(feature = "asynchronous")]
pub use io::{BoxedListener, BoxedStream, JoinedIo, ReadWrite};
#[cfg(feature = "smol")]
pub use smol::Socket;
#[cfg(feature = "tokio")]
pub use tokio::{TokioStream, tokio_stdio};

/// Shuts a stream down for writing where closing does not.
#[cfg(feature = "asynchronous")]
pub(crate) fn shut_down<T: 'static>(stream: &mut T) {
    #[cfg(feature = "smol")]
    smol::shut_down(stream);
    let _ = stream;
}
