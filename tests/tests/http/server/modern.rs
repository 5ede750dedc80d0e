//! Requests of 2026-07-28, which are stateless.

use mcp_sansio::Change;

use super::host::{Host, bare, cancelled, listen, modern, modern_call, modern_of, post};

#[test]
fn http_14_http_35_http_18_http_20_prog_11_log_04_the_first_frame_decides_the_kind_of_response() {
    let mut host = Host::new();
    let answer = host.send(&modern_call("progress"));
    assert_eq!(
        answer.trace(),
        "200\ncontent-type: text/event-stream\ncache-control: no-cache, no-transform\nx-accel-buffering: no\n\n\
         data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"p\",\"progress\":1}}\n\n\
         data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"half\"}}\n\n\
         data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"resultType\":\"complete\"}}\n\n"
    );
    let answer = host.send(&modern("tools/list", "{}", &[]));
    assert_eq!((answer.status, answer.field("content-type")), (200, Some("application/json")));
    assert_eq!(answer.json()["result"]["tools"][0]["name"], "echo");
}

#[test]
fn http_12_http_13_notifications_are_accepted_or_refused_without_a_body() {
    let mut host = Host::new();
    let version = ("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(host.send(&post(&[version], &cancelled(7))).trace(), "202\n\n");
    for body in [
        r#"{"jsonrpc":"1.0","method":"notifications/x"}"#,
        r#"{"jsonrpc":"2.0","method":1}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
    ] {
        assert_eq!(host.send(&post(&[version], body)).status, 400, "{body}");
    }
}

#[test]
fn meta_12_cap_15_ver_04_http_34_http_44_http_43_errors_have_the_status_that_is_tied_to_them() {
    let mut host = Host::new();
    let mut check = |request: &str, status: u16, code: i64| {
        let answer = host.send(request);
        assert_eq!(answer.error(), (status, code), "{request}\n{answer:?}");
        assert_eq!(answer.json()["id"], 7);
        assert_eq!(answer.field("content-type"), Some("application/json"));
    };
    check(&modern_call("needs"), 400, -32021);
    check(&modern_of("1999-01-01", "tools/list", "{}", &[]), 400, -32022);
    check(&modern("unknown/method", "{}", &[]), 404, -32601);
    check(&modern("completion/complete", "{}", &[]), 404, -32601);
    check(&modern_call("fails"), 200, -32603);
    check(&modern_call("nobody"), 200, -32602);
    check(&modern("tools/list", r#"{"cursor":"nonsense"}"#, &[]), 200, -32602);
    let version = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover")];
    for meta in [
        "",
        r#","params":{}"#,
        r#","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
        r#","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"server/discover"{meta}}}"#);
        check(&post(&version, &body), 400, -32602);
    }
}

#[test]
fn ver_18_ping_08_cap_20_removed_methods_are_not_found() {
    let mut host = Host::new();
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "completion/complete",
    ] {
        let answer = host.send(&modern(method, r#"{"uri":"u:x","level":"info"}"#, &[]));
        assert_eq!(answer.error(), (404, -32601), "{method}");
    }
    assert_eq!(host.site.sessions(), 0);
}

#[test]
fn ver_17_a_request_with_modern_metadata_is_modern_in_a_session_too() {
    let (mut host, session) = Host::opened("2025-11-25");
    let answer = host.send(&modern(
        "tools/call",
        r#"{"name":"echo"}"#,
        &[("Mcp-Name", "echo"), ("Mcp-Session-Id", &session)],
    ));
    assert_eq!(answer.json()["result"]["resultType"], "complete");
    let answer = host.tool(&session, 2, "echo");
    assert!(answer.json()["result"].get("resultType").is_none());
    // The session does not know the id of the other request.
    assert_eq!(host.tool(&session, 7, "echo").status, 200);
}

#[test]
fn canc_16_canc_18_a_request_whose_connection_is_lost_is_cancelled() {
    let mut host = Host::new();
    let answer = host.send(&modern_call("slow"));
    let request = host.open.remove(0);
    host.site.close(host.now, answer.exchange.unwrap());
    host.run();
    assert_eq!(host.ended, [request.server]);
    assert!(host.site.turn(host.now, request.server).is_none());
    // A late response goes nowhere, and the place may be taken by another request.
    let answer = host.send(&modern_call("slow"));
    host.finish(request);
    assert_eq!(host.rest(answer.exchange.unwrap()).body, "");
}

#[test]
fn sub_18_a_subscription_is_a_stream_that_ends_with_its_result() {
    let mut host = Host::new();
    let begun = host.send(&listen());
    host.site.publish(&Change::prompts());
    host.site.publish(&Change::tools());
    host.site.publish(&Change::tools());
    let told = host.rest(begun.exchange.unwrap());
    host.site.shut_down(host.now.saturating_add(std::time::Duration::from_secs(1)));
    let last = host.rest(begun.exchange.unwrap());
    let id = "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":7}";
    assert_eq!(
        format!("{}{}{}", begun.body.trim_end_matches("(open)"), told.body, last.body),
        format!(
            "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{{\"notifications\":{{\"toolsListChanged\":true}},{id}}}}}\n\n\
             data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{{{id}}}}}\n\n\
             data: {{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"resultType\":\"complete\",{id}}}}}\n\n"
        )
    );
    assert!(last.exchange.is_none() && host.site.is_over() && host.site.exchanges() == 0);
    let mut host = Host::new();
    // An invalid filter gets an error, not a stream.
    let answer = host.send(&modern("subscriptions/listen", r#"{"notifications":1}"#, &[]));
    assert_eq!(answer.error(), (200, -32602));
}

#[test]
fn two_clients_may_use_one_id_at_once() {
    let mut host = Host::new();
    let request = modern_call("slow");
    let first = host.send(&request).exchange.unwrap();
    let second = host.send(&request).exchange.unwrap();
    for (exchange, request) in [(second, host.open[1]), (first, host.open[0])] {
        host.finish(request);
        assert!(host.rest(exchange).body.starts_with("{\"jsonrpc\":\"2.0\",\"id\":7,"));
    }
    assert_eq!(host.site.exchanges(), 0);
}

#[test]
fn the_error_for_a_request_without_version_and_session_names_both_ways_to_start() {
    let mut host = Host::new();
    let answer = host.send(&post(&[], r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#));
    assert_eq!(answer.error(), (400, -32600));
    assert_eq!(answer.json()["id"], 7);
    for part in ["initialize", "2026-07-28"] {
        assert!(answer.body.contains(part), "{answer:?}");
    }
    for method in ["GET", "DELETE"] {
        assert_eq!(host.send(&bare(method, &[])).status, 405);
        assert_eq!(host.send(&bare(method, &[("MCP-Protocol-Version", "2025-11-25")])).status, 400);
    }
}
