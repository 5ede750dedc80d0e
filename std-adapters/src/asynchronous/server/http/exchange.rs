//! One request and its response, for any HTTP library.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use mcp_sansio::Instant;
use mcp_sansio_engine::site::{ExchangeKey, Site, SiteBody};

use super::authorizer::Check;
use super::server::HttpServer;
use crate::asynchronous::server::reply::PendingResponse;

/// An exchange of an [`HttpServer`]: takes the body of the request, and gives the response.
///
/// Dropping it tells the server that the response is sent, or that the connection is lost. A
/// request of 2026-07-28 is cancelled then; one of a session goes on, and its client can resume the
/// stream. It can be moved to other threads.
pub struct HttpExchange {
    server: HttpServer,
    key: ExchangeKey,
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
        if let Some(check) = &mut self.check
            && let Poll::Ready(wants_body) = self.server.poll_check(self.key, check, cx)
        {
            self.check = None;
            return wants_body;
        }
        false
    }

    /// Polls the output: see [`HttpServer::poll_exchange`].
    pub(crate) fn poll<R>(
        &mut self,
        cx: &mut Context<'_>,
        call: impl FnOnce(&mut Site<'static, PendingResponse>, Instant) -> Option<R>,
    ) -> Poll<R> {
        self.drive(cx);
        self.server.poll_exchange(self.key, cx, call)
    }

    pub(crate) const fn key(&self) -> ExchangeKey {
        self.key
    }

    /// Waits until more of the body can be fed, and returns `true`, or until there is a response
    /// without it, and returns `false`. Cancel safe.
    pub async fn wants_body(&mut self) -> bool {
        poll_fn(|cx| match self.drive(cx) {
            true => Poll::Ready(true),
            false => self.server.poll_wants_body(self.key, cx),
        })
        .await
    }

    pub(crate) fn poll_wants_body(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        self.drive(cx);
        self.server.poll_wants_body(self.key, cx)
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
            self.server.close(self.key);
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
