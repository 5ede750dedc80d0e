//! HTTP as the input and output of a connection.

use std::io;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use mcp_sansio::{ClientEvent, Frame, Messages};

use super::builder::HttpTransport;
use super::engine::HttpEngine;
use super::inbox::Received;
use crate::asynchronous::client::inner::ConnectionInner;
use crate::asynchronous::client::transport::{Link, Transport};
use crate::runtime;

impl Transport for HttpTransport {
    type Link = HttpLink;

    fn url_for_posts(&self) -> Option<String> {
        Some(self.url())
    }

    fn into_link(self, _: usize) -> HttpLink {
        HttpLink {
            engine: HttpEngine::new(self),
            has_ended: false,
            failed: None,
            waits_since: None,
            is_logging_in: false,
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
    waits_since: Option<Instant>,
    is_logging_in: bool,
}

impl Link for HttpLink {
    fn sessions(&self) -> u32 {
        self.engine.sessions()
    }

    fn read(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        self.engine.work(cx);
        self.failed.take().map_or(Ok(false), Err)
    }

    fn take_events(
        &mut self,
        inner: &ConnectionInner,
        dispatch: &mut dyn FnMut(&ClientEvent<'_>),
    ) -> bool {
        let now = inner.now();
        let mut moved = false;
        // The rest is processed in the next round.
        for _ in 0..MESSAGES {
            // The responses to the messages need room.
            if self.has_ended || !inner.with(|state| state.has_room()) {
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
            match received {
                Received::Message(message) => {
                    let mut messages = Messages::new(Frame::Complete(&message));
                    // The buffer is empty before each message, and takes one of any length.
                    while let Ok(Some(event)) = inner.with(|state| {
                        let event =
                            state.call(|client, tx| client.next_event(now, &mut messages, tx))?;
                        Ok::<_, mcp_sansio::SendError>(
                            event.map(|event| (state.take(&event), event)),
                        )
                    }) {
                        if let (false, event) = event {
                            dispatch(&event);
                        }
                    }
                }
                Received::Postponed(id, by) => {
                    inner.with(|state| state.client().postpone(&id, by));
                }
                Received::BroughtForward(id, by) => {
                    inner.with(|state| state.client().bring_forward(&id, by));
                }
                Received::Failed { id, failure } => {
                    let event = inner.with(|state| {
                        let failure = failure.as_core();
                        let event = state.call(|client, tx| client.fail(now, &id, failure, tx));
                        event.ok().flatten().filter(|event| !state.take(event))
                    });
                    if let Some(event) = event {
                        dispatch(&event);
                    }
                }
            }
        }
        moved
    }

    fn write(&mut self, inner: &ConnectionInner, cx: &mut Context<'_>) -> io::Result<bool> {
        let mut moved = false;
        let mut is_waiting = false;
        loop {
            if self.engine.is_full() {
                is_waiting = inner.with(|state| !state.posts.is_empty());
                break;
            }
            let Some(post) = inner.with(|state| {
                let post = state.posts.pop_front();
                if post.is_some() {
                    state.wake_next();
                }
                post
            }) else {
                break;
            };
            self.engine.send(post);
            moved = true;
        }
        let is_logging_in = self.engine.is_logging_in();
        if std::mem::replace(&mut self.is_logging_in, is_logging_in) != is_logging_in {
            inner.with(|state| state.set_logging_in(is_logging_in));
        }
        self.waits_since = match self.waits_since {
            _ if moved || !is_waiting || is_logging_in => None,
            Some(since) => Some(since),
            None => Some(runtime::now()),
        };
        self.engine.work(cx);
        let has_more = self.engine.has_received() && !self.has_ended;
        Ok(moved || has_more && inner.with(|state| state.has_room()))
    }

    fn has_ended(&self) -> bool {
        self.failed.is_none() && (self.has_ended || self.engine.has_ended())
    }

    fn discard(&mut self) {
        self.engine.discard();
    }

    fn poll_close(&mut self, inner: &ConnectionInner, cx: &mut Context<'_>) -> bool {
        inner.with(|state| state.posts.is_empty()) && self.engine.poll_close(cx).is_ready()
    }

    fn stalls_at(&self, timeout: Duration) -> Option<Instant> {
        self.waits_since?.checked_add(timeout)
    }
}

/// Messages in a row before the other sources are processed.
const MESSAGES: usize = 256;
