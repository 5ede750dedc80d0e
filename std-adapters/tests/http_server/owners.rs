//! What belongs to a principal: sessions, streams, request state. Knowing an id is not enough.

use std::future::ready;
use std::time::Duration;

use mcp_sansio::types::Tool;
use mcp_sansio::{Catalog, RawJson, entries};
use mcp_sansio_adapters::asynchronous::http::{
    AuthorizationError, Credentials, HttpExchange, HttpOptions, OwnedHead, Principal,
};
use serde_json::{Value, json};

use crate::exchange::Fields;
use crate::scopes::{Scoped, serve_app};

static CATALOG: Catalog<'_> =
    Catalog::new().tools(entries![Tool::new("ask", RawJson::from_static(r#"{"type":"object"}"#))]);

/// Tokens are an issuer, a subject and perhaps milliseconds until they expire.
fn options() -> HttpOptions {
    HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() }.authorize(
        |credentials: Credentials| {
            let Some(token) = credentials.token() else {
                return ready(Err(AuthorizationError::missing_token()));
            };
            let mut parts = token.split('+');
            let mut part = || parts.next().unwrap_or_default();
            let mut principal = Principal::new(part(), part());
            let life = part().parse().ok().map(Duration::from_millis);
            principal.expires = life.map(|life| credentials.time_of(0).saturating_add(life));
            ready(Ok(principal))
        },
    )
}

fn serve(clients: impl AsyncFnOnce(Scoped<'_>)) {
    serve_app(options(), |app| app.catalog(&CATALOG), clients);
}

const OTHERS: [&str; 3] = ["one eve", "two ada", "oneada "];

fn ping(id: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
}

fn begin(
    site: &Scoped<'_>,
    method: &str,
    target: &str,
    token: &str,
    more: &[(&'static str, String)],
) -> HttpExchange {
    let mut fields = vec![
        ("Host", "localhost".to_owned()),
        ("Accept", "application/json, text/event-stream".to_owned()),
        ("Authorization", format!("Bearer {}", token.replace(' ', "+"))),
    ];
    fields.extend_from_slice(more);
    let mut exchange = site.server.exchange(OwnedHead::new(method, target, Fields(fields)));
    exchange.end_body();
    exchange
}

#[test]
fn auth_145_auth_151_auth_152_a_session_is_that_of_its_issuer_and_subject_on_every_path() {
    serve(async |site| {
        let id = site.open("one ada", "2025-11-25").await;
        let own = [("Mcp-Session-Id", id.clone())];
        let sent = [("Mcp-Session-Id", id.as_str())];
        for other in OTHERS {
            assert_eq!(site.send(other, &sent, &ping(2)).await.status, 404, "{other}");
            for (method, more) in [("GET", None), ("GET", Some("0-0")), ("DELETE", None)] {
                let last = more.map(|last| ("Last-Event-ID", last.to_owned()));
                let fields: Vec<_> = own.iter().cloned().chain(last).collect();
                let mut exchange = begin(&site, method, "/mcp", other, &fields);
                assert_eq!(exchange.response().await.status, 404, "{other} {method}");
            }
        }
        // Without a token the id is worth nothing at all.
        for method in ["POST", "GET", "DELETE"] {
            let fields = [("Host", "localhost".to_owned()), own[0].clone()];
            let fields = Fields(fields.to_vec());
            let mut exchange = site.server.exchange(OwnedHead::new(method, "/mcp", fields));
            exchange.end_body();
            assert_eq!(exchange.response().await.status, 401, "{method}");
        }
        assert_eq!(site.send("one ada", &sent, &ping(3)).await.status, 200);
    });
}

#[test]
fn auth_151_a_stream_of_http_sse_takes_messages_of_its_principal_only() {
    serve(async |site| {
        let mut stream = begin(&site, "GET", "/sse", "one ada", &[]);
        assert_eq!(stream.response().await.status, 200);
        let endpoint = String::from_utf8(stream.next_piece().await.unwrap().unwrap()).unwrap();
        let target = endpoint.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        for (token, status) in [("one eve", 404), ("two ada", 404), ("one ada", 202)] {
            let fields = [("Content-Type", "application/json".to_owned())];
            let mut post = {
                let mut all = vec![
                    ("Host", "localhost".to_owned()),
                    ("Authorization", format!("Bearer {}", token.replace(' ', "+"))),
                ];
                all.extend(fields);
                site.server.exchange(OwnedHead::new("POST", target, Fields(all)))
            };
            post.feed(ping(1).to_string().as_bytes()).await;
            post.end_body();
            assert_eq!(post.response().await.status, status, "{token}");
        }
    });
}

#[test]
fn auth_151_auth_152_mrtr_11_request_state_is_accepted_from_its_principal_only() {
    serve_app(
        options(),
        |app| app.catalog(&CATALOG),
        async |site| {
            let asked = site.modern("one ada", "tools/call", json!({ "name": "ask" })).await;
            let asked: Value = serde_json::from_str(&asked.body).unwrap();
            let state = asked["result"]["requestState"].as_str().unwrap();
            let again = json!({
                "name": "ask",
                "requestState": state,
                "inputResponses": { "who": { "action": "accept", "content": {} } },
            });
            for other in OTHERS {
                let refused = site.modern(other, "tools/call", again.clone()).await;
                assert!(refused.body.contains("Invalid requestState"), "{other}: {refused:?}");
            }
            let done = site.modern("one ada", "tools/call", again).await;
            assert!(done.body.contains("done"), "{done:?}");
        },
    );
}
