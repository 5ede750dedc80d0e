//! One request and its response, for any HTTP library.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use mcp_sansio::Instant;
use mcp_sansio_engine::site::{ExchangeKey, Site, SiteBody};

use super::authorizer::Check;
use super::server::HttpServer;
use super::shared::{Shared, State, denied};
use crate::asynchronous::server::life::Work;
use crate::asynchronous::server::reply::PendingResponse;

/// An exchange of an [`HttpServer`]: takes the body of the request, and gives the response.
///
/// Dropping it tells the server that the response is sent, or that the connection is lost. A
/// request of 2026-07-28 is cancelled then; one of a session goes on, and its client can resume the
/// stream. It can be moved to other threads.
pub struct HttpExchange {
    server: HttpServer,
    pub(super) key: ExchangeKey,
    /// The check of its credentials, until it has a result.
    check: Option<Check>,
    /// Whether its response is complete, and the site has forgotten it.
    pub(crate) is_closed: bool,
}

/// The head of a response.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The header fields, with names in lower case, without those that frame the body.
    pub fields: Vec<(&'static str, String)>,
    /// The length of the body in bytes, if it is known. Other bodies are chunked.
    pub length: Option<usize>,
}

/// The body of a response cannot be completed: close the connection without ending the body, so
/// that the client notices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Interrupted;

impl HttpExchange {
    pub(crate) const fn new(server: HttpServer, key: ExchangeKey, check: Option<Check>) -> Self {
        Self { server, key, check, is_closed: false }
    }

    /// Makes progress with the check, without which the exchange waits. Returns whether it has
    /// ended, and the body is wanted.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>) -> bool {
        let Shared { options, counts, .. } = &*self.server.0;
        let Some(check) = &mut self.check else { return false };
        let polled = check.poll(cx, options.authorize_timeout, &counts.checks);
        let Poll::Ready(result) = polled else { return false };
        self.check = None;
        let key = self.key;
        self.server.0.with(|State { site, work, observed, .. }, now| {
            if observed.is_some() {
                let told = denied(&result, site.peer_address(key), |_| ());
                work.extend(told.map(Work::Tell));
            }
            let result = options.result(result).map(|authorized| {
                if let Some(nonce) = authorized.next_nonce {
                    site.add_field(key, "dpop-nonce", nonce);
                }
                authorized.principal
            });
            site.authorized(now, key, result);
            site.wants_body(key)
        })
    }

    /// Polls the exchange until `call` returns something.
    pub(crate) fn poll<R>(
        &mut self,
        cx: &mut Context<'_>,
        call: impl FnOnce(&mut Site<'static, PendingResponse>, Instant) -> Option<R>,
    ) -> Poll<R> {
        self.drive(cx);
        self.server.0.with(|state, now| {
            let result = call(&mut state.site, now);
            if result.is_none() {
                // Before the steps, so that no change is missed.
                state.watch(self.key, cx);
            }
            result.map_or(Poll::Pending, Poll::Ready)
        })
    }

    /// Waits until more of the body can be fed, and returns `true`, or until there is a response
    /// without it, and returns `false`. Cancel safe.
    pub async fn wants_body(&mut self) -> bool {
        poll_fn(|cx| self.poll_wants_body(cx)).await
    }

    /// Returns whether more of the body is wanted, or `Pending`. In any case the task is woken when
    /// that changes.
    pub(crate) fn poll_wants_body(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        self.drive(cx);
        self.server.0.with(|state, _| {
            state.watch(self.key, cx);
            match state.site.wants_body(self.key) {
                true => Poll::Ready(true),
                false if state.site.response(self.key).is_some() => Poll::Ready(false),
                false => Poll::Pending,
            }
        })
    }

    /// Feeds a piece of the body. Waits while the [budget](super::HttpOptions::body_budget) has no
    /// room. Pieces that the response does not need are dropped.
    ///
    /// Not cancel safe: a part of the piece may have been fed.
    pub async fn feed(&mut self, piece: &[u8]) {
        let mut fed = 0;
        poll_fn(|cx| self.poll_feed(cx, piece, &mut fed, false)).await;
    }

    /// Feeds the rest of a piece, and ends the body if it is the last one.
    pub(crate) fn poll_feed(
        &mut self,
        cx: &mut Context<'_>,
        piece: &[u8],
        fed: &mut usize,
        is_last: bool,
    ) -> Poll<()> {
        let key = self.key;
        self.poll(cx, |site, now| {
            *fed += site.feed_body(key, piece.get(*fed..).unwrap_or_default());
            if *fed < piece.len() {
                return None;
            }
            if is_last {
                site.end_of_body(now, key);
            }
            Some(())
        })
    }

    /// Ends the body, after which the request is handled. Call it also if there is no body, even
    /// while the exchange waits for authorization.
    pub fn end_body(&mut self) {
        self.server.with(|site, now| site.end_of_body(now, self.key));
    }

    /// Waits for the head of the response. Cancel safe.
    pub async fn response(&mut self) -> HttpResponse {
        let key = self.key;
        poll_fn(|cx| {
            self.poll(cx, |site, _| {
                let head = site.response(key)?;
                Some(HttpResponse {
                    status: head.status(),
                    fields: head.fields().map(|(name, value)| (name, value.to_owned())).collect(),
                    length: head.length().filter(|_| head.status() != 204),
                })
            })
        })
        .await
    }

    /// Waits for the next piece of the response's body. `None` at its end. Cancel safe.
    pub async fn next_piece(&mut self) -> Option<Result<Vec<u8>, Interrupted>> {
        poll_fn(|cx| self.poll_next_piece(cx)).await
    }

    /// Polls for the next piece of the response's body: [`next_piece`](Self::next_piece).
    pub(crate) fn poll_next_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Vec<u8>, Interrupted>>> {
        let key = self.key;
        self.poll(cx, |site, now| match site.body(key) {
            SiteBody::Pending => None,
            SiteBody::Piece(piece) => {
                let piece = piece.to_vec();
                site.wrote(now, key, piece.len());
                Some(Some(Ok(piece)))
            }
            SiteBody::End => Some(None),
            SiteBody::Cut => Some(Some(Err(Interrupted))),
        })
    }
}

impl Drop for HttpExchange {
    fn drop(&mut self) {
        if !self.is_closed {
            self.server.0.with(|state, now| {
                state.exchanges.remove(&self.key);
                state.site.close(now, self.key);
            });
        }
    }
}

mcp_sansio::opaque_debug!(HttpExchange { key });

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the response cannot be completed")
    }
}

mcp_sansio::error_type!(Interrupted);
