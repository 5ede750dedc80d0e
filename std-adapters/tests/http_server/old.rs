//! HTTP+SSE (2024-11-05).

use mcp_sansio::Change;
use mcp_sansio_adapters::asynchronous::http::HttpOptions;

use crate::site::{Client, Site, request};

fn old() -> Site {
    Site::with(HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() })
}

/// Opens a stream, and returns the target for messages.
fn open(site: &Site) -> (Client, String) {
    let mut stream = site.connect();
    stream.write(&request("GET", "/sse", &[("Accept", "text/event-stream")], ""));
    let head = stream.head();
    assert_eq!((head.status, head.field("content-type")), (200, Some("text/event-stream")));
    let first = stream.chunk().unwrap();
    let endpoint = first
        .strip_prefix("event: endpoint\ndata: ")
        .and_then(|rest| rest.strip_suffix("\n\n"))
        .unwrap()
        .to_owned();
    (stream, endpoint)
}

#[test]
pub(crate) fn old_01_old_02_old_04_old_08_a_stream_starts_with_the_endpoint_and_carries_the_responses()
 {
    let site = old();
    let (mut stream, endpoint) = open(&site);
    assert!(endpoint.starts_with("/sse?session="), "{endpoint}");
    let send = |body: &str| {
        let answer = site.send(&request("POST", &endpoint, &[("Accept", "*/*")], body));
        assert_eq!((answer.status, answer.body.as_str()), (202, ""), "{body}");
    };
    send(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    );
    let answer = stream.chunk().unwrap();
    assert!(
        answer.starts_with(
            "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2024-11-05\""
        ),
        "{answer}"
    );
    send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    send(
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"steps","_meta":{"progressToken":"p"}}}"#,
    );
    let mut all = String::new();
    while !all.contains("\"result\"") {
        all += &stream.chunk().unwrap();
    }
    assert_eq!(all.matches("data: ").count(), 4);
    assert!(!all.contains("id: ") && all.contains("\"done\""), "{all}");
    // Invalid messages get an error on the stream as well.
    send("nonsense");
    assert!(stream.chunk().unwrap().contains("-32700"));
    site.hub.publish(Change::tools());
    assert!(stream.chunk().unwrap().contains("list_changed"));
    // The end of the stream ends everything.
    send(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait"}}"#);
    site.wait_for(2, 1);
    drop(stream);
    site.wait_for(2, 2);
    assert_eq!(site.send(&request("POST", &endpoint, &[], "{}")).status, 404);
}

#[test]
pub(crate) fn old_05_old_06_bc_05_streams_are_independent_and_only_available_if_enabled() {
    let site = old();
    let (mut first, to_first) = open(&site);
    let (mut second, to_second) = open(&site);
    assert_ne!(to_first, to_second);
    let ping = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    site.send(&request("POST", &to_second, &[], &ping(2)));
    site.send(&request("POST", &to_first, &[], &ping(1)));
    assert!(first.chunk().unwrap().contains("\"id\":1"));
    assert!(second.chunk().unwrap().contains("\"id\":2"));
    for target in
        ["/sse", "/sse?session=", "/sse?session=x", "/sse?x=1", &to_first[..to_first.len() - 1]]
    {
        assert_eq!(site.send(&request("POST", target, &[], &ping(1))).status, 404, "{target}");
    }
    assert_eq!(site.send(&request("PUT", "/sse", &[], "")).status, 405);
    let foreign = [("Host", "evil.example.com")];
    assert_eq!(site.send(&request("GET", "/sse", &foreign, "")).status, 403);
    assert_eq!(site.send(&request("POST", &to_first, &foreign, &ping(1))).status, 403);
    // Off by default.
    assert_eq!(Site::new().send(&request("GET", "/sse", &[], "")).status, 404);
}
