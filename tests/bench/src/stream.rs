//! A stream in memory.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_lite::{AsyncRead, AsyncWrite};

/// The other end of a stream, which does all in the calls of this one.
pub(crate) trait Peer: Unpin {
    /// Writes what it has said, or nothing at its end; `None` if it says something later.
    fn read(&mut self, into: &mut [u8]) -> Option<usize>;

    fn write(&mut self, bytes: &[u8]);

    /// Has somebody who waits for it to say something.
    fn waits(&mut self, _: &Waker) {}
}

pub(crate) struct Stream<P>(pub(crate) P);

impl<P: Peer> AsyncRead for Stream<P> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let read = self.0.read(into);
        if read.is_none() {
            self.0.waits(cx.waker());
        }
        read.map_or(Poll::Pending, |n| Poll::Ready(Ok(n)))
    }
}

impl<P: Peer> AsyncWrite for Stream<P> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.write(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Moves as many bytes as there is room for. Returns their number.
pub(crate) fn take(from: &mut Vec<u8>, into: &mut [u8]) -> usize {
    let n = from.len().min(into.len());
    into[..n].copy_from_slice(&from[..n]);
    from.drain(..n);
    n
}
