//! Streamable HTTP for a blocking client.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use async_io::Timer;
use mcp_sansio::Instant;
use mcp_sansio_engine::{ClientEngine, Driver};

use super::transport::{ConnectionEnd, Transferred, Transport};
use crate::asynchronous::client::http::{HttpLink, HttpTransport};

/// Streamable HTTP or HTTP+SSE, for a client that blocks:
/// `connector.connect(BlockingHttpTransport::new(HttpTransport::new("http://127.0.0.1:8000/mcp")?))`.
#[derive(Debug)]
#[must_use]
pub struct BlockingHttpTransport {
    http: HttpTransport,
    link: Option<HttpLink>,
}

impl BlockingHttpTransport {
    /// Creates a blocking transport from an async one.
    pub const fn new(http: HttpTransport) -> Self {
        Self { http, link: None }
    }

    /// Logs in now, before connecting, also if there is a login already.
    ///
    /// # Errors
    /// As [`HttpTransport::login`].
    #[cfg(feature = "auth")]
    pub fn login(&self) -> io::Result<()> {
        async_io::block_on(self.http.login())
    }

    /// Takes messages and waits for one, for at most `timeout`.
    pub(super) fn exchange(
        &mut self,
        client: &mut ClientEngine<'_>,
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        let mut done = Transferred::default();
        let Some(link) = &mut self.link else { return Ok(Transferred { ended: true, ..done }) };
        let mut timer = timeout.map_or_else(Timer::never, Timer::after);
        async_io::block_on(poll_fn(|cx| {
            done.written += link.take_posts(client);
            link.work(cx);
            if client.reads() {
                link.check()?;
                (done.read, done.ended) = (usize::from(link.has_received()), link.is_over());
            }
            let is_over = done != Transferred::default() || pin!(&mut timer).poll(cx).is_ready();
            if is_over { Poll::Ready(Ok(done)) } else { Poll::Pending }
        }))
    }

    /// Hands what was received to the client.
    pub(super) fn deliver(
        &self,
        client: &mut ClientEngine<'_>,
        now: Instant,
        driver: &mut impl Driver,
    ) {
        if let Some(link) = &self.link {
            link.deliver(client, now, driver);
        }
    }
}

impl Transport for BlockingHttpTransport {
    fn name(&self) -> String {
        self.http.url()
    }

    fn open(&mut self) -> io::Result<()> {
        self.link = Some(HttpLink::new(self.http.clone()));
        Ok(())
    }

    /// Bytes are not transferred: the client exchanges messages.
    fn transfer(&mut self, _: &[u8], _: &mut [u8], _: Option<Duration>) -> io::Result<Transferred> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        if let Some(mut link) = self.link.take() {
            let mut timer = Timer::after(CLOSE_TIMEOUT);
            async_io::block_on(poll_fn(|cx| {
                let is_closed = link.poll_end(cx).is_ready();
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
