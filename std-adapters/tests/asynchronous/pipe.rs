//! A stream in memory, whose two directions hold a limited number of bytes each.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_lite::{AsyncRead, AsyncWrite};

/// One end of a pipe.
pub(crate) struct Pipe {
    input: Arc<Mutex<Direction>>,
    output: Arc<Mutex<Direction>>,
    /// Maximum number of bytes of a read or write.
    chunk: usize,
}

struct Direction {
    bytes: VecDeque<u8>,
    capacity: usize,
    is_closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Creates both ends. Each direction holds `capacity` bytes, and no call moves more than `chunk`.
pub(crate) fn pipe(capacity: usize, chunk: usize) -> (Pipe, Pipe) {
    let direction = || {
        let bytes = VecDeque::with_capacity(capacity.min(4096));
        Arc::new(Mutex::new(Direction {
            bytes,
            capacity,
            is_closed: false,
            reader: None,
            writer: None,
        }))
    };
    let (there, back) = (direction(), direction());
    (
        Pipe { input: back.clone(), output: there.clone(), chunk },
        Pipe { input: there, output: back, chunk },
    )
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize>> {
        let mut direction = self.input.lock().unwrap();
        if direction.bytes.is_empty() && !direction.is_closed {
            direction.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let len = direction.bytes.len().min(buffer.len()).min(self.chunk);
        for (to, from) in buffer.iter_mut().zip(direction.bytes.drain(..len)) {
            *to = from;
        }
        direction.writer.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(len))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let mut direction = self.output.lock().unwrap();
        if direction.is_closed {
            return Poll::Ready(Err(Error::from(ErrorKind::BrokenPipe)));
        }
        let len = (direction.capacity - direction.bytes.len()).min(bytes.len()).min(self.chunk);
        if len == 0 {
            direction.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        direction.bytes.extend(&bytes[..len]);
        direction.reader.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(len))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        self.output.lock().unwrap().close();
        Poll::Ready(Ok(()))
    }
}

impl Direction {
    fn close(&mut self) {
        self.is_closed = true;
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.output.lock().unwrap().close();
        self.input.lock().unwrap().close();
    }
}
