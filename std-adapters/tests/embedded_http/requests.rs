//! Requests and their responses, on one connection.

use mcp_sansio_adapters::embedded_async::ConnectionEnd;
use serde_json::{Value, json};

use crate::app::{FIELDS, call, events, modern, parts, post, with_clients};

/// Sends a request on a connection of its own, and returns all of the response.
fn ask(request: &str) -> String {
    with_clients(usize::MAX, 1, |_, mut net| net.exchange(0, request))
}

fn status(response: &str) -> &str {
    response.get(9..12).unwrap_or(response)
}

fn body(response: &str) -> Value {
    serde_json::from_str(&parts(response).1).unwrap_or_else(|_| panic!("{response}"))
}

#[test]
fn http_01_a_call_is_answered_whatever_the_chunks() {
    let expected = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
        content-length: 183\r\n\r\n\
        {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hot\"}],\
        \"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":\
        {\"name\":\"kettle\",\"version\":\"1.0.0\"}}}}";
    for chunk in [1, 2, 7, 63, 64, 65, usize::MAX] {
        with_clients(chunk, 1, |_, mut net| {
            // The connection stays open.
            for _ in 0..3 {
                let response = net.exchange(0, call("say", json!({"text": "hot"})));
                assert_eq!(response, expected, "{chunk}");
            }
            net.clients[0].port.end();
            net.run();
            assert_eq!(net.clients[0].end, Some(Ok(ConnectionEnd::Closed)));
        });
    }
}

#[test]
fn http_06_progress_comes_before_the_response_as_an_event_stream() {
    with_clients(50, 1, |_, mut net| {
        assert_eq!(net.exchange(0, call("boil", json!({"cups": 2}))), "");
        net.pass(1000);
        let first = net.clients[0].received();
        let (head, stream) = parts(&first);
        assert_eq!(
            head,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
             cache-control: no-cache, no-transform\r\nx-accel-buffering: no\r\n\
             transfer-encoding: chunked"
        );
        let all = events(&stream);
        assert_eq!((all.len(), &all[0]["params"]["progress"]), (1, &json!(1)));
        net.pass(1000);
        let rest = net.clients[0].received();
        assert!(rest.ends_with("\r\n0\r\n\r\n"), "{rest}");
        let all = events(&crate::app::joined(&rest));
        assert_eq!(all[0]["params"]["progress"], 2);
        assert_eq!(all[1]["result"]["content"][0]["text"], "The water boils");
        // The next request on the same connection.
        assert_eq!(status(&net.exchange(0, call("say", json!({"text": "x"})))), "200");
    });
}

#[test]
fn a_silent_call_keeps_its_event_stream_awake() {
    with_clients(50, 1, |_, mut net| {
        assert_eq!(events(&parts(&net.exchange(0, call("steep", json!({})))).1).len(), 1);
        for _ in 0..3 {
            net.pass(14_900);
            assert_eq!(net.clients[0].received(), "");
            net.pass(100);
            assert_eq!(net.clients[0].received(), "3\r\n:\n\n\r\n");
        }
        net.pass(5000);
        assert!(net.clients[0].received().contains("The tea is ready"));
    });
}

#[test]
fn a_response_is_longer_than_the_buffer() {
    for chunk in [1, 100, usize::MAX] {
        let response =
            with_clients(chunk, 1, |_, mut net| net.exchange(0, modern("tools/list", json!({}))));
        let (head, _) = parts(&response);
        assert!(
            head.ends_with("transfer-encoding: chunked") && response.ends_with("\r\n0\r\n\r\n")
        );
        let tools = body(&response)["result"]["tools"].as_array().map(Vec::len);
        assert_eq!(tools, Some(5), "{response}");
    }
}

#[test]
fn http_03_http_04_http_45_who_may_ask_where_and_how() {
    let usual = call("say", json!({"text": "x"}));
    for (from, to, expected) in [
        ("", "", "200"),
        ("Host: localhost:80", "Host: evil.example.com", "403"),
        ("Host: localhost:80", "Host: localhost\r\nOrigin: https://evil.example.com", "403"),
        ("Host: localhost:80", "Host: localhost\r\nOrigin: http://localhost", "200"),
        ("/mcp ", "/other ", "404"),
        ("/mcp ", "/mcp?a=b ", "200"),
        ("Authorization: Bearer secret-2", "X: y", "401"),
        ("Bearer secret-2", "bearer  secret-1", "200"),
        ("Bearer secret-2", "Bearer secret-3", "401"),
        ("Bearer secret-2", "Bearer secret-22", "401"),
        ("Bearer secret-2", "Basic secret-2", "401"),
        ("Bearer secret-2", "Bearer secret-2\r\nAuthorization: Bearer secret-2", "401"),
        ("application/json\r\n", "text/plain\r\n", "415"),
        ("Accept: application/json, text/event-stream", "Accept: application/json", "406"),
        ("Mcp-Name: say", "Mcp-Name: boil", "400"),
        ("Mcp-Method: tools/call", "Mcp-Method: tools/list", "400"),
        ("MCP-Protocol-Version: 2026-07-28", "MCP-Protocol-Version: 2099-01-01", "400"),
        ("POST", "GET", "405"),
        ("POST", "DELETE", "405"),
        ("POST", "HEAD", "405"),
        ("HTTP/1.1", "HTTP/2.0", "505"),
        ("Content-Length: ", "Content-Length: x", "400"),
        ("Content-Length: ", "Content-Length: 1", "413"),
    ] {
        assert!(usual.contains(from), "{from}");
        let response = ask(&usual.replacen(from, to, 1));
        assert_eq!(status(&response), expected, "{to}: {response}");
        let (head, body) = parts(&response);
        assert_eq!(head.contains("\r\nwww-authenticate: Bearer\r\n"), expected == "401", "{head}");
        assert_eq!(head.contains("\r\nallow: POST, OPTIONS\r\n"), expected == "405", "{head}");
        let has_error = body.contains("\"error\":{\"code\":-");
        assert_eq!(has_error, expected != "200" && to != "HEAD", "{response}");
    }
    let options = ask(&format!("OPTIONS /mcp HTTP/1.1\r\n{FIELDS}\r\n"));
    assert_eq!(options, "HTTP/1.1 204 No Content\r\nallow: POST, OPTIONS\r\n\r\n");
}

#[test]
fn a_header_field_of_an_argument_must_have_its_value() {
    let usual = call("warm", json!({"kettle": 3}));
    for (field, expected) in
        [("Mcp-Param-Kettle: 3\r\n", "200"), ("Mcp-Param-Kettle: 4\r\n", "400"), ("", "400")]
    {
        let response = ask(&usual.replacen("Mcp-Name", &format!("{field}Mcp-Name"), 1));
        assert_eq!(status(&response), expected, "{field}: {response}");
    }
}

#[test]
fn older_clients_are_served_without_sessions() {
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"}}});
    let response = ask(&post(FIELDS, &initialize));
    assert_eq!(body(&response)["result"]["protocolVersion"], "2025-11-25");
    assert!(!response.to_ascii_lowercase().contains("mcp-session-id"));
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let fields = format!("{FIELDS}MCP-Protocol-Version: 2025-11-25\r\n");
    let accepted = ask(&post(&fields, &initialized));
    assert_eq!(accepted, "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
    let say = |id: u32| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "say", "arguments": {"text": id.to_string()}}})
    };
    assert_eq!(body(&ask(&post(&fields, &say(5))))["result"]["content"][0]["text"], "5");
    // A batch, one message after the other.
    let fields = format!("{FIELDS}MCP-Protocol-Version: 2025-03-26\r\n");
    let response = ask(&post(&fields, &json!([say(1), initialized, say(2)])));
    let said: Vec<Value> = events(&parts(&response).1);
    let texts: Vec<_> = said.iter().map(|one| &one["result"]["content"][0]["text"]).collect();
    assert_eq!(texts, ["1", "2"], "{response}");
}

#[test]
fn http_1_1_has_many_forms() {
    let usual = call("say", json!({"text": "hot"}));
    let expected = ask(&usual);
    let (head, sent) = usual.split_once("\r\n\r\n").unwrap();
    // Chunks of a body are put together in place.
    let head = head.rsplit_once("\r\n").unwrap().0;
    let mut chunked = format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n");
    for piece in sent.as_bytes().chunks(29) {
        chunked.push_str(&format!(
            "{:x};a=b\r\n{}\r\n",
            piece.len(),
            str::from_utf8(piece).unwrap()
        ));
    }
    chunked.push_str("0\r\nTrailer: x\r\n\r\n");
    for chunk in [1, 50, usize::MAX] {
        with_clients(chunk, 1, |_, mut net| {
            assert_eq!(net.exchange(0, &chunked), expected);
            // Two requests at once.
            assert_eq!(net.exchange(0, [&*chunked, &usual].concat()), expected.repeat(2));
            // An empty line before a request, and a client that waits for permission.
            let expects = usual.replacen("Host", "Expect: 100-continue\r\nHost", 1);
            let (head, body) = expects.split_once("\r\n\r\n").unwrap();
            let response = net.exchange(0, format!("\r\n{head}\r\n\r\n"));
            assert_eq!(response, "HTTP/1.1 100 Continue\r\n\r\n");
            assert_eq!(net.exchange(0, body), expected);
            // The client closes after this one.
            let closing = usual.replacen("Host", "Connection: close\r\nHost", 1);
            let response = net.exchange(0, closing);
            assert_eq!(response.replacen("connection: close\r\n", "", 1), expected);
            assert_eq!(net.clients[0].end, Some(Ok(ConnectionEnd::Closed)));
        });
    }
    let old = ask(&usual.replacen("HTTP/1.1", "HTTP/1.0", 1));
    assert_eq!(old.replacen("connection: close\r\n", "", 1), expected);
}

#[test]
fn what_does_not_fit_is_refused_and_the_connection_closed() {
    let long = "x".repeat(1200);
    let chunked =
        format!("POST /mcp HTTP/1.1\r\n{FIELDS}Transfer-Encoding: chunked\r\n\r\n500\r\n{long}");
    for (request, expected) in [
        (call("say", json!({"text": long})), "413"),
        (chunked, "413"),
        (format!("POST /mcp HTTP/1.1\r\nX: {long}\r\n"), "431"),
        (format!("POST /{long} HTTP/1.1\r\n"), "414"),
    ] {
        for chunk in [1, 100, usize::MAX] {
            with_clients(chunk, 1, |_, mut net| {
                let response = net.exchange(0, &request);
                assert_eq!(status(&response), expected, "{response}");
                assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
                assert_eq!(net.clients[0].end, Some(Ok(ConnectionEnd::Closed)));
            });
        }
    }
}
