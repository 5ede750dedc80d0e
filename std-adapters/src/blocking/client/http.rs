//! Streamable HTTP for a blocking client.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use async_io::Timer;
use futures_lite::{AsyncRead as _, AsyncWrite as _};

use super::transport::{ConnectionEnd, Transferred, Transport};
use crate::asynchronous::client::http::{HttpStream, HttpTransport};

/// Streamable HTTP or HTTP+SSE, for a client that blocks: `connector.connect(BlockingHttpTransport::new(HttpTransport::new("http://127.0.0.1:8000/mcp")?))`.
#[derive(Debug)]
pub struct BlockingHttpTransport {
    http: HttpTransport,
    stream: Option<HttpStream>,
}

impl BlockingHttpTransport {
    /// Creates a blocking transport from an async one.
    #[must_use]
    pub const fn new(http: HttpTransport) -> Self {
        Self { http, stream: None }
    }
}

impl Transport for BlockingHttpTransport {
    fn name(&self) -> String {
        self.http.url()
    }

    fn open(&mut self) -> io::Result<()> {
        self.stream = Some(self.http.clone().connect());
        Ok(())
    }

    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        let Some(stream) = &mut self.stream else {
            return Ok(Transferred { ended: true, ..Transferred::default() });
        };
        let mut timer = timeout.map_or_else(Timer::never, Timer::after);
        async_io::block_on(poll_fn(|cx| {
            let mut done = Transferred::default();
            let mut stream = Pin::new(&mut *stream);
            if !out.is_empty()
                && let Poll::Ready(written) = stream.as_mut().poll_write(cx, out)
            {
                done.written = written?;
            }
            if into.is_empty() {
                let _ = stream.poll_flush(cx);
            } else if let Poll::Ready(read) = stream.poll_read(cx, into) {
                done.read = read?;
                done.ended = done.read == 0;
            }
            let is_over = done != Transferred::default() || pin!(&mut timer).poll(cx).is_ready();
            if is_over { Poll::Ready(Ok(done)) } else { Poll::Pending }
        }))
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        if let Some(mut stream) = self.stream.take() {
            let mut timer = Timer::after(CLOSE_TIMEOUT);
            async_io::block_on(poll_fn(|cx| {
                let is_closed = Pin::new(&mut stream).poll_close(cx).is_ready();
                if is_closed || pin!(&mut timer).poll(cx).is_ready() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }));
        }
        Ok(ConnectionEnd::new(self.name()))
    }
}

/// Maximum time for ending the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
