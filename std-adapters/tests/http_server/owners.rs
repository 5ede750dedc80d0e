//! What belongs to a principal: sessions, streams, request state. Knowing an id is not enough.

use std::future::ready;

use mcp_sansio::types::Tool;
use mcp_sansio::{Catalog, RawJson, entries};
use mcp_sansio_adapters::asynchronous::http::{
    AuthorizationError, Credentials, HttpOptions, Principal,
};
use serde_json::{Value, json};

use crate::exchange::{head, send};
use crate::scopes::{Scoped, serve_app};

static CATALOG: Catalog<'_> =
    Catalog::new().tools(entries![Tool::new("ask", RawJson::from_static(r#"{"type":"object"}"#))]);

/// Tokens are an issuer and a subject.
fn options() -> HttpOptions {
    HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() }.authorize(
        |credentials: Credentials| {
            let token = credentials.token().ok_or_else(AuthorizationError::missing_token);
            ready(token.map(|token| {
                let (issuer, subject) = token.split_once('+').unwrap_or((token, ""));
                Principal::new(issuer, subject)
            }))
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

#[test]
fn auth_145_auth_151_auth_152_a_session_is_that_of_its_issuer_and_subject_on_every_path() {
    serve(async |site| {
        let id = site.open("one ada", "2025-11-25").await;
        let sent = [("Mcp-Session-Id", id.as_str())];
        for other in OTHERS {
            assert_eq!(site.send(other, &sent, &ping(2)).await.status, 404, "{other}");
            for (method, more) in [("GET", None), ("GET", Some("0-0")), ("DELETE", None)] {
                let last = more.map(|last| ("Last-Event-ID", last));
                let fields: Vec<_> = sent.into_iter().chain(last).collect();
                let mut exchange = site.begin((method, "/mcp"), other, &fields, "").await;
                assert_eq!(exchange.response().await.status, 404, "{other} {method}");
            }
        }
        // Without a token the id is worth nothing at all.
        for method in ["POST", "GET", "DELETE"] {
            let mut exchange = send(site.server, head(method, &sent), "").await;
            assert_eq!(exchange.response().await.status, 401, "{method}");
        }
        assert_eq!(site.send("one ada", &sent, &ping(3)).await.status, 200);
    });
}

#[test]
fn auth_151_a_stream_of_http_sse_takes_messages_of_its_principal_only() {
    serve(async |site| {
        let mut stream = site.begin(("GET", "/sse"), "one ada", &[], "").await;
        assert_eq!(stream.response().await.status, 200);
        let endpoint = String::from_utf8(stream.next_piece().await.unwrap().unwrap()).unwrap();
        let target = endpoint.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        for (token, status) in [("one eve", 404), ("two ada", 404), ("one ada", 202)] {
            let body = ping(1).to_string();
            let mut post = site.begin(("POST", target), token, &[], &body).await;
            assert_eq!(post.response().await.status, status, "{token}");
        }
    });
}

#[test]
fn auth_151_auth_152_mrtr_11_request_state_is_accepted_from_its_principal_only() {
    serve(async |site| {
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
    });
}
