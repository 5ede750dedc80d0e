//! Streamable HTTP for a blocking client.

use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;

use async_io::Timer;
use futures_lite::future;
use mcp_sansio_engine::ClientEngine;

use super::connector::Application;
use super::transport::{ConnectionEnd, Transferred, Transport};
use crate::asynchronous::client::http::{HttpLink, HttpTransport};
use crate::client::Changes;
use crate::panics::caught;

/// Streamable HTTP or HTTP+SSE, for a client that blocks:
/// `connector.connect(BlockingHttpTransport::new(HttpTransport::new("http://127.0.0.1:8000/mcp")?))`.
/// It needs the features `http` and `smol`.
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

    /// Returns the count of changes of the access token, if it can change.
    pub(super) fn changes(&self) -> Option<Changes> {
        self.http.token_changes()
    }

    /// Takes messages and waits for one, for at most `timeout`.
    pub(super) fn exchange(
        &mut self,
        client: &mut ClientEngine<'_>,
        app: &mut Application<'_>,
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        let mut done = Transferred::default();
        let Some(link) = &mut self.link else { return Ok(Transferred { ended: true, ..done }) };
        let exchange = poll_fn(|cx| {
            done.written += link.take_posts(client);
            link.work(cx);
            client.set_logging_in(app.now(), link.is_logging_in());
            if client.reads() {
                link.check()?;
                (done.read, done.ended) = (usize::from(link.has_received()), link.is_over());
            }
            if done == Transferred::default() { Poll::Pending } else { Poll::Ready(Ok(done)) }
        });
        let late = async {
            timeout.map_or_else(Timer::never, Timer::after).await;
            Ok(Transferred::default())
        };
        let done: io::Result<Transferred> = async_io::block_on(future::or(exchange, late));
        let done = done?;
        link.deliver(client, app.now(), app);
        Ok(done)
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
            let late = async { _ = Timer::after(CLOSE_TIMEOUT).await };
            async_io::block_on(future::or(poll_fn(|cx| link.poll_end(cx)), late));
        }
        Ok(ConnectionEnd::new(self.name()))
    }

    fn http(&mut self) -> Option<&mut BlockingHttpTransport> {
        Some(self)
    }
}

impl Drop for BlockingHttpTransport {
    fn drop(&mut self) {
        // Where a thread ends, what waits may be gone: a panic there would end the process.
        let _ = caught(|| self.close());
    }
}

/// Maximum time for ending the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
