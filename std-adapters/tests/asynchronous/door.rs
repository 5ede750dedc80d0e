//! A listener in memory.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio_adapters::asynchronous::{Accepted, Listener};

/// Streams that wait to be accepted, in the order in which they came.
pub(crate) struct Door<S>(Arc<Mutex<Waiting<S>>>);

/// The streams, and whom the next one wakes.
type Waiting<S> = (VecDeque<Accepted<S>>, Option<Waker>);

impl<S> Default for Door<S> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new((VecDeque::new(), None))))
    }
}

impl<S> Clone for Door<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> Door<S> {
    pub(crate) fn enter(&self, stream: S, from: Option<IpAddr>) {
        let mut waiting = self.0.lock().unwrap();
        waiting.0.push_back((stream, from));
        waiting.1.take().into_iter().for_each(Waker::wake);
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Listener for Door<S> {
    type Stream = S;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted<S>>> {
        let mut waiting = self.0.lock().unwrap();
        waiting.1 = Some(cx.waker().clone());
        waiting.0.pop_front().map_or(Poll::Pending, |accepted| Poll::Ready(Ok(accepted)))
    }
}
