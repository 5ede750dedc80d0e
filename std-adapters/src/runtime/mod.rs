//! What depends on the runtime of the asynchronous adapter, and on the operating system.

pub(crate) mod child;
#[cfg(any(feature = "smol", feature = "tokio"))]
pub(crate) mod child_process;
#[cfg(any(feature = "smol", feature = "tokio"))]
pub(crate) mod clock;
#[cfg(any(feature = "smol", feature = "tokio"))]
pub(crate) mod io;
#[cfg(feature = "smol")]
pub(crate) mod smol;
#[cfg(any(feature = "smol", feature = "tokio"))]
pub(crate) mod tasks;
#[cfg(any(feature = "smol", feature = "tokio"))]
pub(crate) mod timer;
#[cfg(feature = "tokio")]
pub(crate) mod tokio;
#[cfg(any(feature = "oauth", feature = "store", feature = "tls"))]
mod unblock;

#[cfg(any(feature = "oauth", feature = "store", feature = "tls"))]
pub(crate) use unblock::unblock;
