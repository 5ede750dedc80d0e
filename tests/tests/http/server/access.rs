//! Rules that depend only on the head.

use mcp_sansio::http::server::HostPolicy;
use serde_json::json;

use super::host::{
    CONFIG, Host, PING, bare, initialize, initialize_body, modern, modern_call, post,
};

#[test]
fn http_01_http_02_one_path_serves_all_revisions_in_any_chunking() {
    for chunk in [1, 3, 7, usize::MAX] {
        let mut host = Host::new();
        host.chunk = chunk;
        let answer = host.send(&modern_call("echo"));
        assert_eq!(
            answer.trace(),
            "200\ncontent-type: application/json\n\n{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\
             \"resultType\":\"complete\"}}"
        );
        for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
            let session = host.open(version);
            assert_eq!(host.tool(&session, 2, "echo").status, 200);
            assert_eq!(host.send(&bare("GET", &[("Mcp-Session-Id", &session)])).status, 200);
            assert_eq!(host.delete(&session), 204);
        }
    }
}

#[test]
fn http_42_other_methods_are_not_allowed_and_invalid_json_is_a_parse_error() {
    let mut host = Host::new();
    let mut heads = vec![Vec::new(), vec![("MCP-Protocol-Version", "2026-07-28".to_owned())]];
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = ("Mcp-Session-Id", host.open(version));
        heads.push(vec![session, ("MCP-Protocol-Version", version.to_owned())]);
    }
    for fields in &heads {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
        for method in ["PUT", "HEAD", "PATCH", "post", "TRACE"] {
            let answer = host.send(&bare(method, &fields));
            let allowed = (answer.status, answer.field("allow"));
            assert_eq!(allowed, (405, Some("POST, GET, DELETE, OPTIONS")), "{method} {fields:?}");
        }
        for body in
            ["", "{", "nonsense", "\u{7f}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x"]
        {
            let answer = host.send(&post(&fields, body));
            assert_eq!(answer.error(), (400, -32700), "{body:?} {fields:?}");
            assert!(!answer.body.contains("\"id\""), "{answer:?}");
        }
    }
    let options = host.send(&bare("OPTIONS", &[]));
    assert_eq!((options.status, options.field("allow")), (204, Some("POST, GET, DELETE, OPTIONS")));
}

#[test]
fn content_is_negotiated_before_anything_else_is_looked_at() {
    let mut host = Host::new();
    let body = initialize_body("2025-11-25");
    for (name, value, status) in [
        ("Accept", "application/json", 406),
        ("Accept", "text/event-stream", 406),
        ("Accept", "text/html", 406),
        ("Accept", "application/json;q=0, text/event-stream", 406),
        ("Accept", "*/*", 200),
        ("Accept", "application/*, text/*", 200),
        ("Accept", "text/event-stream;q=0.1,application/json", 200),
        ("Content-Type", "text/plain", 415),
        ("Content-Type", "application/jsonl", 415),
        ("Content-Type", "multipart/form-data", 415),
        ("Content-Type", "Application/JSON; charset=utf-8", 200),
    ] {
        assert_eq!(host.send(&post(&[(name, value)], &body)).status, status, "{name}: {value}");
    }
    let session = host.open("2025-11-25");
    let get = bare("GET", &[("Mcp-Session-Id", &session), ("Accept", "application/json")]);
    assert_eq!(host.send(&get).status, 406);
}

#[test]
fn http_03_http_04_http_45_foreign_hosts_and_origins_are_forbidden_for_every_request() {
    let (mut host, session) = Host::opened("2025-11-25");
    let with = |field: (&'static str, &'static str)| {
        let own = ("Mcp-Session-Id", session.as_str());
        [
            post(&[field, own], PING),
            bare("GET", &[field, own]),
            bare("DELETE", &[field, own]),
            bare("OPTIONS", &[field]),
            bare("PUT", &[field]),
        ]
    };
    for field in [
        ("Host", "evil.example.com"),
        ("Origin", "http://evil.example.com"),
        ("Origin", "null"),
        ("Host", "localhost.evil.com"),
    ] {
        for request in with(field) {
            let answer = host.send(&request);
            assert_eq!(answer.error(), (403, -32600), "{request}");
            assert!(!answer.body.contains("\"id\""));
        }
    }
    assert_eq!(host.site.sessions(), 1, "no session was opened");
    let local = [("Origin", "http://localhost:3000"), ("Mcp-Session-Id", &session)];
    assert_eq!(host.send(&post(&local, PING)).status, 200);

    let mut public = Host::of(&CONFIG, |options| {
        options.host_policy =
            HostPolicy::hosts(&["mcp.example.com"]).origins(&["https://a.example"]);
    });
    assert_eq!(public.send(&initialize("2025-11-25")).status, 403);
    for (origin, status) in
        [("https://a.example", 200), ("https://b.example", 403), ("https://mcp.example.com", 200)]
    {
        let request = post(
            &[("Host", "mcp.example.com"), ("Origin", origin)],
            &initialize_body("2025-11-25"),
        );
        assert_eq!(public.send(&request).status, status, "{origin}");
    }
}

#[test]
fn a_page_of_an_allowed_origin_may_read_responses() {
    let mut host = Host::of(&CONFIG, |options| {
        options.host_policy = HostPolicy::LOOPBACK.origins(&["https://chat.example.com"]);
    });
    let origin = ("Origin", "https://chat.example.com");
    let asks = ("Access-Control-Request-Headers", "mcp-method, content-type");
    let preflight = host.send(&bare("OPTIONS", &[origin, asks]));
    assert_eq!(preflight.status, 204);
    for (name, value) in [
        ("access-control-allow-origin", origin.1),
        ("access-control-allow-methods", "POST, GET, DELETE, OPTIONS"),
        ("access-control-allow-headers", asks.1),
    ] {
        assert_eq!(preflight.field(name), Some(value));
    }
    let answer = host.send(&modern("tools/list", "{}", &[origin]));
    assert_eq!((answer.status, answer.field("access-control-allow-origin")), (200, Some(origin.1)));
    let exposed = "mcp-session-id, www-authenticate, dpop-nonce";
    assert_eq!(answer.field("access-control-expose-headers"), Some(exposed));
}

#[test]
fn ver_16_a_legacy_server_answers_a_modern_request_without_a_modern_error() {
    let mut host = Host::legacy_only();
    assert_eq!(host.send(&modern_call("echo")).error(), (400, -32600));
    assert_eq!(host.send(&initialize("2025-11-25")).status, 200);
}

#[test]
fn http_37_http_38_http_39_http_33_ver_07_a_modern_server_knows_neither_sessions_nor_streams() {
    let mut host = Host::modern_only();
    for method in ["GET", "DELETE"] {
        let answer = host.send(&bare(method, &[("Mcp-Session-Id", "x"), ("Last-Event-ID", "1-1")]));
        let allowed = (answer.status, answer.field("allow"));
        assert_eq!(allowed, (405, Some("POST, OPTIONS")), "{method}");
    }
    let more = [("Mcp-Name", "echo"), ("Mcp-Session-Id", "x"), ("Last-Event-ID", "1-1")];
    let answer = host.send(&modern("tools/call", r#"{"name":"echo"}"#, &more));
    assert_eq!((answer.status, answer.field("mcp-session-id")), (200, None));
    // Without mirrored header fields it is not a modern request.
    let answer = host.send(&initialize("2025-11-25"));
    assert_eq!(answer.error(), (400, -32020));
    assert!(answer.body.contains("2026-07-28") && answer.json()["id"] == 1, "{answer:?}");
    // VER-07: one with the field of its own version learns which there are.
    let version = [("MCP-Protocol-Version", "2025-11-25")];
    let answer = host.send(&post(&version, &initialize_body("2025-11-25")));
    assert_eq!(answer.error(), (400, -32602));
    assert_eq!(answer.json()["error"]["data"]["supported"], json!(["2026-07-28"]));
    for body in [&format!("[{PING}]"), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#] {
        assert_eq!(host.send(&post(&[], body)).error(), (400, -32600), "{body}");
    }
}
