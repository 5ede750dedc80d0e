//! HTTP as the input and output of a connection.

use std::io;
use std::task::{Context, Poll};
use std::time::{Duration, Instant as SystemInstant};

use mcp_sansio::Instant;

use super::builder::HttpTransport;
use super::engine::HttpEngine;
use crate::asynchronous::client::inner::Session;
use crate::asynchronous::client::transport::{Link, Transport};
use crate::runtime;

impl Transport for HttpTransport {
    type Link = HttpLink;

    fn url_for_posts(&self) -> Option<String> {
        Some(self.url())
    }

    fn into_link(self) -> HttpLink {
        HttpLink {
            engine: HttpEngine::new(self),
            has_ended: false,
            failed: None,
            waits_since: None,
        }
    }
}

/// Messages over HTTP.
#[doc(hidden)]
#[derive(Debug)]
pub struct HttpLink {
    engine: HttpEngine,
    has_ended: bool,
    failed: Option<io::Error>,
    /// Start of the time in which messages were pending and none was accepted.
    waits_since: Option<SystemInstant>,
}

impl Link for HttpLink {
    fn read(&mut self, session: &mut Session, cx: &mut Context<'_>) -> io::Result<bool> {
        self.engine.work(cx);
        // Before the next responses: tasks may be unknown in another session.
        session.engine.set_session(self.engine.sessions());
        self.failed.take().map_or(Ok(false), Err)
    }

    fn handle(&mut self, session: &mut Session, now: Instant) -> bool {
        let Session { engine, app, .. } = session;
        let mut moved = engine.step(now, app);
        // The rest is handled in the next round. The responses to the messages need room.
        for _ in 0..MESSAGES {
            if self.has_ended || !engine.reads() {
                return moved;
            }
            let received = match self.engine.poll_received() {
                Poll::Ready(Ok(Some(received))) => received,
                Poll::Ready(Ok(None)) => {
                    self.has_ended = true;
                    return true;
                }
                Poll::Ready(Err(error)) => {
                    self.failed = Some(error);
                    return true;
                }
                Poll::Pending => return moved,
            };
            moved = true;
            received.hand_to(engine, now, app);
        }
        moved
    }

    fn write(
        &mut self,
        session: &mut Session,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> io::Result<bool> {
        let mut moved = false;
        while !self.engine.is_full()
            && let Some(post) = session.engine.posts().pop_front()
        {
            self.engine.send(post);
            moved = true;
        }
        let is_logging_in = self.engine.is_logging_in();
        session.engine.set_logging_in(now, is_logging_in);
        let is_waiting = !session.engine.posts().is_empty();
        self.waits_since = match self.waits_since {
            _ if moved || !is_waiting || is_logging_in => None,
            Some(since) => Some(since),
            None => Some(runtime::now()),
        };
        self.engine.work(cx);
        let has_more = self.engine.has_received() && !self.has_ended;
        Ok(moved || has_more && session.engine.reads())
    }

    fn has_ended(&self, _: &mut Session) -> bool {
        self.failed.is_none() && (self.has_ended || self.engine.has_ended())
    }

    fn discard(&mut self, _: &mut Session) {
        self.engine.discard();
    }

    fn poll_close(&mut self, session: &mut Session, cx: &mut Context<'_>) -> bool {
        session.engine.posts().is_empty() && self.engine.poll_close(cx).is_ready()
    }

    fn stalls_at(&self, timeout: Duration) -> Option<SystemInstant> {
        self.waits_since?.checked_add(timeout)
    }
}

/// Messages in a row before the other sources are processed.
const MESSAGES: usize = 256;
