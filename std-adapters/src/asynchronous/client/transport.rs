//! The input and output of a connection: lines of a stream, or messages over HTTP.

use std::io;
use std::task::Context;
use std::time::{Duration, Instant as SystemInstant};

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::Instant;

use super::inner::Session;
use super::lines::Lines;

/// The transport of a client: any stream (one message a line), or an `HttpTransport`.
pub trait Transport: 'static {
    #[doc(hidden)]
    type Link: Link;
    /// Returns the URL of the server, if messages are sent in POST requests.
    #[doc(hidden)]
    fn url_for_posts(&self) -> Option<String>;

    #[doc(hidden)]
    fn into_link(self) -> Self::Link;
}

/// The input and output of a connection.
#[doc(hidden)]
pub trait Link: Unpin {
    /// Reads. Returns whether there is something new.
    fn read(&mut self, session: &mut Session, cx: &mut Context<'_>) -> io::Result<bool>;

    /// Handles messages. Returns whether there were any.
    fn handle(&mut self, session: &mut Session, now: Instant) -> bool;

    /// Writes. Returns whether something was written.
    fn write(
        &mut self,
        session: &mut Session,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> io::Result<bool>;

    /// Returns whether the input has ended and everything is handled.
    fn has_ended(&self, session: &mut Session) -> bool;

    /// Discards the input.
    fn discard(&mut self, session: &mut Session);

    /// Closes our side. Returns whether nothing is left to do.
    fn poll_close(&mut self, session: &mut Session, cx: &mut Context<'_>) -> bool;

    /// Returns the time at which the server counts as unresponsive.
    fn stalls_at(&self, timeout: Duration) -> Option<SystemInstant>;
}

impl<T: AsyncRead + AsyncWrite + Unpin + 'static> Transport for T {
    type Link = Lines<T>;

    fn url_for_posts(&self) -> Option<String> {
        None
    }

    fn into_link(self) -> Lines<T> {
        Lines::new(self)
    }
}
