//! The server as a `tower` service, for axum, hyper and other HTTP libraries.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use ::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Version, header};
use bytes::{Buf as _, Bytes};
use http_body::{Body, Frame, SizeHint};
use mcp_sansio::http::Fields;
use mcp_sansio_engine::PeerAddress;
use mcp_sansio_engine::site::OwnedHead;
use tower_service::Service;

use super::exchange::{HttpExchange, HttpResponse, Interrupted};
use super::serve::HttpShards;
use super::server::HttpServer;

type ResponseFuture =
    Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send>>;

macro_rules! service {
    ($(#[$doc:meta])* $server:ty) => {
        $(#[$doc])*
        impl<B> Service<Request<B>> for $server
        where
            B: Body<Data: Send> + Send + 'static,
        {
            type Response = Response<ResponseBody>;
            type Error = Infallible;
            type Future = ResponseFuture;

            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, request: Request<B>) -> ResponseFuture {
                call(request, |head| self.exchange(head))
            }
        }
    };
}

service! {
    /// Always ready. A request whose body has an error gets 400, and is not handled.
    ///
    /// The target of a request must be that of the client: routers that remove a prefix of it hide
    /// the [path](super::HttpOptions::path). The HTTP library limits the number of connections, the
    /// time of heads and of idle connections, and what it keeps of output that a client does not
    /// read. A response of which it takes neither 4 KiB nor all within
    /// [`read_timeout`](super::HttpOptions::read_timeout) is cut off, and its memory here is freed.
    ///
    /// A [`PeerAddress`] among the extensions of a request is where it comes from: with it, the
    /// requests of one address have a [share](crate::asynchronous::Limits::address_share).
    HttpServer
}
service! {
    /// As for [`HttpServer`].
    HttpShards
}

/// Begins the exchange of a request, and returns its response.
fn call<B: Body<Data: Send> + Send + 'static>(
    request: Request<B>,
    exchange: impl FnOnce(OwnedHead) -> HttpExchange,
) -> ResponseFuture {
    let (mut head, body) = request.into_parts();
    let mut target = head.uri.to_string();
    // HTTP/2 has the host in its target.
    if head.version >= Version::HTTP_2 {
        if !head.headers.contains_key(header::HOST)
            && let Some(authority) = head.uri.authority()
            && let Ok(host) = HeaderValue::from_str(authority.as_str())
        {
            // A full map has no host, which is refused.
            let _ = head.headers.try_insert(header::HOST, host);
        }
        target = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    }
    let peer = head.extensions.get::<PeerAddress>().copied();
    let mut head_of = OwnedHead::new(head.method.as_str(), &target, Headers(head.headers));
    if let Some(peer) = peer {
        head_of = head_of.peer(peer);
    }
    let exchange = exchange(head_of);
    Box::pin(async move { Ok(respond(exchange, body, head.version).await) })
}

async fn respond<B: Body>(
    mut exchange: HttpExchange,
    body: B,
    version: Version,
) -> Response<ResponseBody> {
    let Ok(is_read) = feed(&mut exchange, body).await else {
        let mut response = Response::new(ResponseBody { exchange: None, left: Some(0) });
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return response;
    };
    let HttpResponse { status, fields, length } = exchange.response().await;
    let left = length.map(|length| u64::try_from(length).unwrap_or(u64::MAX));
    let mut response = Response::new(ResponseBody { exchange: Some(exchange), left });
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if !is_read && version <= Version::HTTP_11 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    for (name, value) in fields {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// Feeds the body, until there is a response or it is complete. Returns whether it is.
async fn feed<B: Body>(exchange: &mut HttpExchange, body: B) -> Result<bool, B::Error> {
    let mut body = pin!(body);
    loop {
        let frame = poll_fn(|cx| match exchange.poll_wants_body(cx) {
            Poll::Ready(true) => body.as_mut().poll_frame(cx).map(Some),
            other => other.map(|_| None),
        });
        let Some(frame) = frame.await else { return Ok(body.is_end_stream()) };
        let Some(frame) = frame.transpose()? else {
            exchange.end_body();
            return Ok(true);
        };
        // The rest are trailers.
        let Ok(mut data) = frame.into_data() else { continue };
        while data.has_remaining() {
            let piece = data.chunk();
            let len = piece.len();
            exchange.feed(piece).await;
            data.advance(len);
        }
    }
}

/// The body of a response of [`HttpServer`]. Dropping it ends the exchange, as
/// [`HttpExchange`] describes.
///
/// It has an error if it cannot be completed: the HTTP library then closes the connection without
/// its end, so that the client notices.
#[derive(Debug)]
pub struct ResponseBody {
    exchange: Option<HttpExchange>,
    /// The rest of its length, if it is known.
    left: Option<u64>,
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Interrupted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Interrupted>>> {
        let Some(exchange) = &mut self.exchange else { return Poll::Ready(None) };
        let Poll::Ready(piece) = exchange.poll_next_piece(cx) else { return Poll::Pending };
        match &piece {
            Some(Ok(piece)) => {
                let len = u64::try_from(piece.len()).unwrap_or(u64::MAX);
                self.left = self.left.map(|left| left.saturating_sub(len));
            }
            _ => self.exchange = None,
        }
        Poll::Ready(piece.map(|piece| piece.map(|piece| Frame::data(Bytes::from(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.exchange.is_none() || self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

struct Headers(HeaderMap);

impl Fields for Headers {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.0.get_all(name).iter().nth(n).map(HeaderValue::as_bytes)
    }
}
