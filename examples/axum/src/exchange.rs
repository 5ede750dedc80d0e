//! A site behind a mutex, and the two ends of it: requests of axum, and tools as tasks.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use mcp_sansio::http::Fields;
use mcp_sansio::http::site::{ExchangeKey, OwnedHead, Site, SiteBody, SiteOptions, SiteStep};
use mcp_sansio::{ServerConfig, ServerEvent};
use tokio::sync::Notify;

use crate::tools::{self, Reply};

/// The site with its clock. Locked for one call at a time, never while something is awaited.
pub struct Shared {
    inner: Mutex<Inner>,
    begun: Instant,
    /// Notified when the site may have an earlier deadline.
    deadline: Notify,
}

struct Inner {
    site: Site<'static, Reply>,
    /// Those who wait for an exchange.
    wakers: HashMap<ExchangeKey, Waker>,
    until: Option<mcp_sansio::Instant>,
}

impl Shared {
    /// Creates a site, and a task that handles its deadlines.
    pub fn new(config: &'static ServerConfig<'static>, options: SiteOptions<'static>) -> Arc<Self> {
        let random = || {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).expect("the operating system has random numbers");
            bytes
        };
        let site = Site::new(config, options, random);
        let inner = Mutex::new(Inner { site, wakers: HashMap::new(), until: None });
        let this = Arc::new(Self { inner, begun: Instant::now(), deadline: Notify::new() });
        let shared = Arc::clone(&this);
        tokio::spawn(async move {
            loop {
                let until = shared.with(|_, _| ()).1;
                let due =
                    until.map(|until| shared.begun + Duration::from_millis(until.as_millis()));
                match due {
                    Some(due) => {
                        let told = shared.deadline.notified();
                        let _ = tokio::time::timeout_at(due.into(), told).await;
                    }
                    None => shared.deadline.notified().await,
                }
            }
        });
        this
    }

    /// Makes a call, and then the steps that it caused. Returns the next deadline, too.
    pub fn with<R>(
        self: &Arc<Self>,
        call: impl FnOnce(&mut Site<'static, Reply>, mcp_sansio::Instant) -> R,
    ) -> (R, Option<mcp_sansio::Instant>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = &mut *inner;
        let millis = self.begun.elapsed().as_millis();
        let now = mcp_sansio::Instant::from_millis(millis.try_into().unwrap_or(u64::MAX));
        let result = call(&mut inner.site, now);
        let mut ready = Vec::new();
        let until = loop {
            match inner.site.next(now) {
                SiteStep::Event(ServerEvent::Request(request), mut turn) => {
                    tools::handle(self, &request, &mut turn);
                }
                SiteStep::Ready(exchange) => ready.extend(inner.wakers.remove(&exchange)),
                SiteStep::Wait(until) => break until,
                _ => {}
            }
        };
        if until.is_some_and(|until| inner.until.is_none_or(|before| until < before)) {
            self.deadline.notify_one();
        }
        inner.until = until;
        ready.into_iter().for_each(Waker::wake);
        (result, until)
    }

    /// Serves a request.
    pub async fn serve(self: Arc<Self>, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let head = OwnedHead::new(parts.method.as_str(), target, Headers(parts.headers));
        let (key, _) = self.with(|site, now| site.open(now, head));
        let exchange = Exchange { shared: self, key };
        exchange.feed(body).await;
        let mut response = exchange.head().await;
        *response.body_mut() = Body::from_stream(stream::unfold(exchange, Exchange::next));
        response
    }
}

/// An exchange, which ends when it is dropped: axum drops the body of a response when the client
/// disconnects.
struct Exchange {
    shared: Arc<Shared>,
    key: ExchangeKey,
}

impl Exchange {
    /// Waits until `call` returns something.
    async fn until<R>(
        &self,
        mut call: impl FnMut(&mut Site<'static, Reply>, mcp_sansio::Instant) -> Option<R>,
    ) -> R {
        poll_fn(|cx| {
            // Before the call, so that no change between them is missed.
            let mut inner = self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner);
            inner.wakers.insert(self.key, cx.waker().clone());
            drop(inner);
            self.shared.with(&mut call).0.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Reads the body, as far as the site takes it.
    async fn feed(&self, body: Body) {
        let mut body = body.into_data_stream();
        loop {
            let key = self.key;
            let is_decided = self.until(|site, _| match site.response(key) {
                Some(_) => Some(true),
                None => site.wants_body(key).then_some(false),
            });
            if is_decided.await {
                return;
            }
            let Some(Ok(piece)) = body.next().await else { break };
            let mut fed = 0;
            self.until(|site, _| {
                fed += site.feed_body(key, &piece[fed..]);
                (fed == piece.len()).then_some(())
            })
            .await;
        }
        self.shared.with(|site, now| site.end_of_body(now, self.key));
    }

    async fn head(&self) -> Response {
        self.until(|site, _| {
            let head = site.response(self.key)?;
            let mut response = Response::builder().status(head.status());
            for (name, value) in head.fields() {
                response = response.header(name, value);
            }
            if let Some(length) = head.length().filter(|_| head.status() != 204) {
                response = response.header("content-length", length);
            }
            Some(response.body(Body::empty()).unwrap_or_default())
        })
        .await
    }

    async fn next(self) -> Option<(Result<Bytes, &'static str>, Self)> {
        let key = self.key;
        let piece = self.until(|site, now| match site.body(key) {
            SiteBody::Pending => None,
            SiteBody::Piece(piece) => {
                let bytes = Bytes::copy_from_slice(piece);
                site.wrote(now, key, bytes.len());
                Some(Some(Ok(bytes)))
            }
            SiteBody::End => Some(None),
            // An error makes axum close the connection without an end of the body.
            SiteBody::Cut => Some(Some(Err("the response cannot be completed"))),
        });
        Some((piece.await?, self))
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.shared.with(|site, now| site.close(now, self.key));
        let mut inner = self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.wakers.remove(&self.key);
    }
}

struct Headers(HeaderMap);

impl Fields for Headers {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.0.get_all(name).iter().nth(n).map(|value| value.as_bytes())
    }
}
