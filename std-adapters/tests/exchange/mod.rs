//! Exchanges with a server without sockets.

use std::future::{Future, pending};

use futures_lite::future;
use mcp_sansio_adapters::asynchronous::http::{HttpExchange, HttpOptions, HttpServer, OwnedHead};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use serde_json::Value;

use crate::virtual_time;

/// Runs a server until its clients are done, in virtual time.
#[allow(dead_code, reason = "not all tests need it")]
pub(crate) fn serve<F: Future<Output = HandlerResult>, T>(
    app: &App<impl Fn(Context) -> F>,
    options: HttpOptions,
    clients: impl AsyncFnOnce(&HttpServer) -> T,
) -> T {
    let server = HttpServer::new(app, options).unwrap();
    let served = async {
        server.run(app).await;
        pending().await
    };
    virtual_time::block_on(future::or(served, clients(&server)))
}

struct Fields(Vec<(&'static str, String)>);

impl mcp_sansio::http::Fields for Fields {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        let mut all = self.0.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        all.nth(n).map(|(_, value)| value.as_bytes())
    }
}

/// Returns the head of a request with the usual fields and more.
pub(crate) fn head(method: &str, more: &[(&'static str, &str)]) -> OwnedHead {
    head_to(method, "/mcp", more)
}

#[allow(dead_code, reason = "not all tests need it")]
pub(crate) fn head_to(method: &str, target: &str, more: &[(&'static str, &str)]) -> OwnedHead {
    let usual = [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let all = usual.iter().chain(more).map(|(name, value)| (*name, (*value).to_owned()));
    OwnedHead::new(method, target, Fields(all.collect()))
}

/// Sends a request, with its body in small pieces.
pub(crate) async fn send(server: &HttpServer, head: OwnedHead, body: &str) -> HttpExchange {
    let mut exchange = server.exchange(head);
    for piece in body.as_bytes().chunks(7) {
        exchange.feed(piece).await;
    }
    exchange.end_body();
    exchange
}

/// Returns the id of the session that a response opens.
pub(crate) async fn session_of(exchange: &mut HttpExchange) -> String {
    let fields = exchange.response().await.fields;
    let id = fields.into_iter().find(|(name, _)| *name == "mcp-session-id").unwrap().1;
    rest(exchange).await;
    id
}

/// Returns what is left of the body of a response.
pub(crate) async fn rest(exchange: &mut HttpExchange) -> String {
    let mut text = Vec::new();
    while let Some(piece) = exchange.next_piece().await {
        text.extend(piece.unwrap());
    }
    String::from_utf8(text).unwrap()
}

/// Returns the messages of a response: one, or those of a stream.
#[allow(dead_code, reason = "not all tests need it")]
pub(crate) async fn messages(exchange: &mut HttpExchange) -> Vec<Value> {
    let text = rest(exchange).await;
    let lines = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let messages = lines.filter(|line| line.starts_with('{'));
    messages.map(|json| serde_json::from_str(json).unwrap()).collect()
}

/// Reads a stream until it has this text.
pub(crate) async fn read_until(exchange: &mut HttpExchange, text: &str) -> String {
    let mut read = String::new();
    while !read.contains(text) {
        let piece = exchange.next_piece().await.unwrap_or_else(|| panic!("{read}")).unwrap();
        read.push_str(str::from_utf8(&piece).unwrap());
    }
    read
}
