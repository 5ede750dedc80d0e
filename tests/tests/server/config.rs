//! Server configuration, and the metadata of requests.

use mcp_sansio::types::{Implementation, ReadResourceResult, ResourceContents, meta};
use mcp_sansio::{
    Frame, Instant, Messages, RawJson, Server, ServerConfig, ServerEvent, ServerFeatures, TxBuffer,
};
use mcp_sansio_tests::memory::new_server;

const CONFIG: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::RESOURCES);

#[test]
fn cap_16_cap_19_extensions_have_proper_ids_and_are_off_by_default() {
    assert!(
        CONFIG.extensions.is_none() && CONFIG.experimental.is_none() && CONFIG.methods.is_empty()
    );
    assert_eq!(CONFIG.check(), Ok(()));
    let with = |json| CONFIG.extensions(RawJson::parse(json).expect("JSON")).check().is_ok();
    for good in [
        r#"{}"#,
        r#"{"org.example/x":{}}"#,
        r#"{"io.modelcontextprotocol/tasks":{},"a/b.c-d_e":{"x":[1]}}"#,
    ] {
        assert!(with(good), "{good}");
    }
    for bad in [
        r#"[]"#,
        r#"{"x":{}}"#,
        r#"{"/x":{}}"#,
        r#"{"org.example/":{}}"#,
        r#"{"org..example/x":{}}"#,
        r#"{"org.example/x":true}"#,
        r#"{"org.example/x":{},"-org/x":{}}"#,
        r#"{"org.example\/x":{}}"#,
    ] {
        assert!(!with(bad), "{bad}");
    }
    let experimental =
        |json| CONFIG.experimental(RawJson::parse(json).expect("JSON")).check().is_ok();
    assert!(
        experimental(r#"{"anything":{}}"#)
            && !experimental(r#"{"anything":1}"#)
            && !experimental("5")
    );
}

#[test]
fn meta_05_the_keys_of_the_protocol_are_in_reverse_dns_order() {
    let with_prefix = [
        meta::PROTOCOL_VERSION,
        meta::CLIENT_CAPABILITIES,
        meta::CLIENT_INFO,
        meta::LOG_LEVEL,
        meta::SERVER_INFO,
        meta::SUBSCRIPTION_ID,
        meta::RELATED_TASK,
    ];
    for key in with_prefix {
        assert!(key.starts_with("io.modelcontextprotocol/") && meta::is_valid_key(key), "{key}");
    }
    for key in [meta::PROGRESS_TOKEN, meta::TRACEPARENT, meta::TRACESTATE, meta::BAGGAGE] {
        assert!(!key.contains('/') && meta::is_valid_key(key), "{key}");
    }
}

#[test]
fn meta_17_a_trace_context_is_handed_over_where_it_is_well_formed() {
    let good = r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"rojo=1","baggage":"userId=alice""#;
    let seen = trace(good);
    assert_eq!(
        seen,
        ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "rojo=1", "userId=alice"]
    );
    // Malformed, of another type, or missing: the request is served.
    assert_eq!(
        trace(r#""traceparent":"00-xyz","tracestate":"=","baggage":"a b""#),
        ["-", "-", "-"]
    );
    assert_eq!(trace(r#""traceparent":5,"tracestate":{},"baggage":null"#), ["-", "-", "-"]);
    assert_eq!(trace(r#""x":1"#), ["-", "-", "-"]);
}

fn trace(members: &str) -> [String; 3] {
    let mut seen = None;
    exchange(members, |request, _, _| {
        let text = |part: Option<&str>| part.unwrap_or("-").to_owned();
        seen = Some([
            text(request.traceparent()),
            text(request.tracestate()),
            text(request.baggage()),
        ]);
    });
    seen.expect("a request")
}

#[test]
fn tol_23_a_resource_has_several_contents() {
    let (mut sent, contents) = (
        String::new(),
        [
            ResourceContents::text("file:///a", "one\n\"two\""),
            ResourceContents::blob("file:///b", b"\x00\xff three"),
            ResourceContents::text("file:///c", ""),
        ],
    );
    exchange(r#""x":1"#, |request, server, tx| {
        let result = ReadResourceResult::new(&contents);
        assert!(server.respond(request.handle, &result, tx).is_ok());
        sent = String::from_utf8(tx.pending().to_vec()).expect("UTF-8");
    });
    let sent: serde_json::Value = serde_json::from_str(&sent).expect("JSON");
    assert_eq!(
        sent["result"]["contents"],
        serde_json::json!([
            {"uri": "file:///a", "text": "one\n\"two\""},
            {"uri": "file:///b", "blob": "AP8gdGhyZWU="},
            {"uri": "file:///c", "text": ""}
        ])
    );
}

/// A modern `resources/read` with these members in its `_meta`.
fn exchange(
    members: &str,
    mut handle: impl FnMut(&mcp_sansio::Request<'_>, &mut Server<'_>, &mut TxBuffer<[u8; 1024]>),
) {
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"file:///a","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},{members}}}}}}}"#
    );
    let (mut server, mut tx) = (new_server::<8, 8>(&CONFIG), TxBuffer::new([0; 1024]));
    let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
    let event = server.next_event(Instant::from_millis(0), &mut messages, &mut tx);
    let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
    handle(&request, &mut server, &mut tx);
}
