//! A stream that asks a function before each operation.

use std::io::{Error, Result};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_lite::{AsyncRead, AsyncWrite};

use crate::pipe::Pipe;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write,
    Flush,
}

/// The function ends the operation with an error, or leaves it pending, or lets it go on.
pub(crate) struct Hooked<F>(pub(crate) Pipe, pub(crate) F);

impl<F: FnMut(Operation) -> Option<Poll<Error>> + Unpin> Hooked<F> {
    fn go_on<T>(
        &mut self,
        operation: Operation,
        then: impl FnOnce(Pin<&mut Pipe>) -> Poll<Result<T>>,
    ) -> Poll<Result<T>> {
        match (self.1)(operation) {
            Some(end) => end.map(Err),
            None => then(Pin::new(&mut self.0)),
        }
    }
}

impl<F: FnMut(Operation) -> Option<Poll<Error>> + Unpin> AsyncRead for Hooked<F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize>> {
        self.go_on(Operation::Read, |pipe| pipe.poll_read(cx, into))
    }
}

impl<F: FnMut(Operation) -> Option<Poll<Error>> + Unpin> AsyncWrite for Hooked<F> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        self.go_on(Operation::Write, |pipe| pipe.poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.go_on(Operation::Flush, |pipe| pipe.poll_flush(cx))
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}
