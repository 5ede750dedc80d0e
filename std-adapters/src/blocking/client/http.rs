//! Streamable HTTP for a blocking client.

use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use async_io::Timer;
use mcp_sansio::http::client::Post;

use super::transport::{ConnectionEnd, Transferred, Transport};
use crate::asynchronous::client::http::{HttpEngine, HttpTransport, Received};

/// Streamable HTTP or HTTP+SSE, for a client that blocks:
/// `connector.connect(BlockingHttpTransport::new(HttpTransport::new("http://127.0.0.1:8000/mcp")?))`.
#[derive(Debug)]
pub struct BlockingHttpTransport {
    http: HttpTransport,
    engine: Option<HttpEngine>,
}

impl BlockingHttpTransport {
    /// Creates a blocking transport from an async one.
    #[must_use]
    pub const fn new(http: HttpTransport) -> Self {
        Self { http, engine: None }
    }

    /// Logs in now, before connecting, also if there is a login already.
    ///
    /// # Errors
    /// As [`HttpTransport::login`].
    #[cfg(feature = "auth")]
    pub fn login(&self) -> io::Result<()> {
        async_io::block_on(self.http.login())
    }

    /// Returns how many sessions have begun in place of others.
    pub(super) fn sessions(&self) -> u32 {
        self.engine.as_ref().map_or(0, HttpEngine::sessions)
    }

    /// Takes messages and waits for one, for at most `timeout`.
    pub(super) fn exchange(
        &mut self,
        posts: &mut VecDeque<Post>,
        reads: bool,
        timeout: Option<Duration>,
    ) -> io::Result<(Transferred, Option<Received>)> {
        let mut done = Transferred::default();
        let Some(engine) = &mut self.engine else {
            return Ok((Transferred { ended: true, ..done }, None));
        };
        let mut timer = timeout.map_or_else(Timer::never, Timer::after);
        async_io::block_on(poll_fn(|cx| {
            while !engine.is_full()
                && let Some(post) = posts.pop_front()
            {
                done.written += post.body().len();
                engine.send(post);
            }
            engine.work(cx);
            if reads && let Poll::Ready(received) = engine.poll_received() {
                let received = received?;
                (done.read, done.ended) = (usize::from(received.is_some()), received.is_none());
                return Poll::Ready(Ok((done, received)));
            }
            let is_over = done.written > 0 || pin!(&mut timer).poll(cx).is_ready();
            if is_over { Poll::Ready(Ok((done, None))) } else { Poll::Pending }
        }))
    }
}

impl Transport for BlockingHttpTransport {
    fn name(&self) -> String {
        self.http.url()
    }

    fn open(&mut self) -> io::Result<()> {
        self.engine = Some(HttpEngine::new(self.http.clone()));
        Ok(())
    }

    /// Bytes are not transferred: the client exchanges messages.
    fn transfer(&mut self, _: &[u8], _: &mut [u8], _: Option<Duration>) -> io::Result<Transferred> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        if let Some(mut engine) = self.engine.take() {
            let mut timer = Timer::after(CLOSE_TIMEOUT);
            async_io::block_on(poll_fn(|cx| {
                let is_closed = engine.poll_close(cx).is_ready();
                if is_closed || pin!(&mut timer).poll(cx).is_ready() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }));
        }
        Ok(ConnectionEnd::new(self.name()))
    }

    fn http(&mut self) -> Option<&mut BlockingHttpTransport> {
        Some(self)
    }
}

/// Maximum time for ending the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
