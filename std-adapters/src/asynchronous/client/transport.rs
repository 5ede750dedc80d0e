//! The input and output of a connection: lines of a stream, or messages over HTTP.

use std::io;
use std::task::Context;
use std::time::{Duration, Instant};

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::ClientEvent;

use super::incoming::Incoming;
use super::inner::ConnectionInner;
use super::outgoing::Outgoing;

/// The transport of a client: any stream (one message a line), or an `HttpTransport`.
pub trait Transport: 'static {
    #[doc(hidden)]
    type Link: Link;
    /// Returns the URL of the server, if messages are sent in POST requests.
    #[doc(hidden)]
    fn url_for_posts(&self) -> Option<String>;

    #[doc(hidden)]
    fn into_link(self, max_line: usize) -> Self::Link;
}

/// The input and output of a connection.
#[doc(hidden)]
pub trait Link: Unpin {
    /// Reads. Returns whether there is something new.
    fn read(&mut self, cx: &mut Context<'_>) -> io::Result<bool>;

    /// Handles messages; `dispatch` gets the events that belong to no call. Returns whether there
    /// were any.
    fn take_events(
        &mut self,
        inner: &ConnectionInner,
        dispatch: &mut dyn FnMut(&ClientEvent<'_>),
    ) -> bool;

    /// Writes. Returns whether something was written.
    fn write(&mut self, inner: &ConnectionInner, cx: &mut Context<'_>) -> io::Result<bool>;

    /// Returns whether the input has ended and everything is processed.
    fn has_ended(&self) -> bool;

    /// Discards the input.
    fn discard(&mut self);

    /// Closes our side. Returns whether nothing is left to do.
    fn poll_close(&mut self, inner: &ConnectionInner, cx: &mut Context<'_>) -> bool;

    /// Returns how many sessions have begun in place of others.
    fn sessions(&self) -> u32 {
        0
    }

    /// Returns the time at which the server counts as unresponsive.
    fn stalls_at(&self, timeout: Duration) -> Option<Instant>;
}

impl<T: AsyncRead + AsyncWrite + Unpin + 'static> Transport for T {
    type Link = Lines<T>;

    fn url_for_posts(&self) -> Option<String> {
        None
    }

    fn into_link(self, max_line: usize) -> Lines<T> {
        Lines { stream: self, incoming: Incoming::new(max_line), outgoing: Outgoing::new() }
    }
}

/// A stream with one message a line.
#[doc(hidden)]
pub struct Lines<T> {
    pub(crate) stream: T,
    incoming: Incoming,
    outgoing: Outgoing,
}

impl<T: AsyncRead + AsyncWrite + Unpin + 'static> Link for Lines<T> {
    fn read(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        self.incoming.read(&mut self.stream, cx)
    }

    fn take_events(
        &mut self,
        inner: &ConnectionInner,
        dispatch: &mut dyn FnMut(&ClientEvent<'_>),
    ) -> bool {
        self.incoming.take_events(inner, dispatch)
    }

    fn write(&mut self, inner: &ConnectionInner, cx: &mut Context<'_>) -> io::Result<bool> {
        self.outgoing.write(&mut self.stream, inner, cx)
    }

    fn has_ended(&self) -> bool {
        self.incoming.has_ended()
    }

    fn discard(&mut self) {
        self.incoming.discard();
    }

    fn poll_close(&mut self, inner: &ConnectionInner, cx: &mut Context<'_>) -> bool {
        self.outgoing.is_done(inner) && self.outgoing.poll_close(&mut self.stream, cx)
    }

    fn stalls_at(&self, timeout: Duration) -> Option<Instant> {
        self.outgoing.stalls_at(timeout)
    }
}
