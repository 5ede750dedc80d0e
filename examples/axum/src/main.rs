//! Streamable HTTP in an axum application, without an adapter or this library's HTTP/1.1: `cargo
//! run -- 127.0.0.1:8080`
//!
//! Each POST gets a server of its own, a value of a few hundred bytes. No state is kept between
//! requests, as 2026-07-28 permits, so any number of processes can share the work. Older clients
//! are served without sessions. The output of a slow tool is an event stream; axum drops it when
//! the client disconnects, and the tool with it.
//!
//! # What is missing
//!
//! A client of 2025-11-25 or older cancels with `notifications/cancelled`, a POST of its own. Its
//! server knows no such request and responds with 202; the tool continues until its connection or
//! its work ends. To pass a cancellation on, keep sessions with their servers, as
//! `mcp_sansio_adapters::asynchronous::http` does. In 2026-07-28 closing the stream cancels the
//! request.

mod exchange;

use std::io;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::any;
use exchange::Exchange;
use mcp_sansio::http::server::{Endpoint, OutgoingResponse, Rejection, Route};
use mcp_sansio::http::{Fields, RequestHead};
use mcp_sansio::{Frame, Messages, Revisions, TxBuffer};
use tokio::net::TcpListener;

/// Maximum length of a body, in bytes.
const MAX_BODY: usize = 1 << 20;

struct Headers<'h>(&'h HeaderMap);

impl Fields for Headers<'_> {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.0.get_all(name).iter().nth(n).map(|value| value.as_bytes())
    }
}

async fn mcp(request: Request) -> Response {
    let endpoint = Endpoint::new(Revisions::ALL).without_sessions();
    let (parts, body) = request.into_parts();
    let fields = Headers(&parts.headers);
    let head = RequestHead::new(parts.method.as_str(), parts.uri.path(), &fields);
    if let Err(refused) = endpoint.check_head(&head) {
        return refuse(&refused, &endpoint);
    }
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return refuse(&Rejection::content_too_large(), &endpoint);
    };
    let mut messages = Messages::over_http(Frame::Complete(&body), &head, Exchange::ID);
    let exchange = match endpoint.route(&head, &messages) {
        Route::Stateless => Exchange::new(None),
        Route::StatelessRevision(revision) => Exchange::new(Some(revision)),
        Route::Options => return respond(OutgoingResponse::empty(204), Body::empty(), &endpoint),
        Route::Rejected(refused) => return refuse(&refused, &endpoint),
        _ => return refuse(&Rejection::session_not_found(), &endpoint),
    };
    match exchange.begin(&mut messages).await {
        Ok((reply, body)) => respond(reply, body, &endpoint),
        Err(error) => {
            eprintln!("axum-server: {error}");
            respond(OutgoingResponse::empty(500), Body::empty(), &endpoint)
        }
    }
}

fn respond(reply: OutgoingResponse, body: Body, endpoint: &Endpoint<'_>) -> Response {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.fields() {
        response = response.header(name, value);
    }
    if matches!(reply.status, 204 | 405) {
        response = response.header("Allow", endpoint.allowed_methods());
    }
    response.body(body).unwrap_or_default()
}

fn refuse(refused: &Rejection<'_>, endpoint: &Endpoint<'_>) -> Response {
    let mut tx = TxBuffer::for_http_response(Vec::new(), 4096);
    let _ = refused.write(&mut tx); // it fits
    respond(
        tx.http_response().unwrap_or(OutgoingResponse::empty(refused.status())),
        Body::from(tx.pending().to_vec()),
        endpoint,
    )
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("axum-server: listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, Router::new().route("/mcp", any(mcp))).await
}
