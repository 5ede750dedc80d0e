//! Server configuration, and the metadata of requests.

use mcp_sansio::types::{Implementation, ReadResourceResult, ResourceContents, meta};
use mcp_sansio::{Request, Revision, Server, ServerConfig, ServerEvent, ServerFeatures, Tx};
use mcp_sansio_tests::json::raw;
use serde_json::{Value, json};

use crate::features::support::Peer;

const CONFIG: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::RESOURCES);

#[test]
fn cap_16_cap_19_extensions_have_proper_ids_and_are_off_by_default() {
    assert!(
        CONFIG.extensions.is_none() && CONFIG.experimental.is_none() && CONFIG.methods.is_empty()
    );
    assert_eq!(CONFIG.check(), Ok(()));
    let with = |json| CONFIG.extensions(raw(json)).check().is_ok();
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
    for (json, is_good) in
        [(r#"{"anything":{}}"#, true), (r#"{"anything":1}"#, false), ("5", false)]
    {
        assert_eq!(CONFIG.experimental(raw(json)).check().is_ok(), is_good, "{json}");
    }
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
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (parent, state, baggage, expected) in [
        (
            json!(parent),
            json!("rojo=1"),
            json!("userId=alice"),
            [Some(parent), Some("rojo=1"), Some("userId=alice")],
        ),
        // Malformed, of another type, or missing: the request is served.
        (json!("00-xyz"), json!("="), json!("a b"), [None; 3]),
        (json!(5), json!({}), json!(null), [None; 3]),
    ] {
        let meta = json!({"traceparent": parent, "tracestate": state, "baggage": baggage});
        read(meta.clone(), |request, _, _| {
            let seen = [request.traceparent(), request.tracestate(), request.baggage()];
            assert_eq!(seen, expected, "{meta}");
        });
    }
    read(json!({"x": 1}), |request, _, _| assert_eq!(request.traceparent(), None));
}

#[test]
fn tol_23_a_resource_has_several_contents() {
    let contents = [
        ResourceContents::text("file:///a", "one\n\"two\""),
        ResourceContents::blob("file:///b", b"\x00\xff three"),
        ResourceContents::text("file:///c", ""),
    ];
    let sent = read(json!({}), |request, server, tx| {
        let result = ReadResourceResult::new(&contents);
        assert!(server.respond(request.handle, &result, tx).is_ok());
    });
    assert_eq!(
        sent[0]["result"]["contents"],
        json!([
            {"uri": "file:///a", "text": "one\n\"two\""},
            {"uri": "file:///b", "blob": "AP8gdGhyZWU="},
            {"uri": "file:///c", "text": ""}
        ])
    );
}

/// Handles a modern `resources/read` with these members in its `_meta`; returns the output.
fn read(
    meta: Value,
    mut handle: impl FnMut(&Request<'_>, &mut Server<'static>, &mut Tx<'_>),
) -> Vec<Value> {
    let mut peer = Peer::new(Revision::LATEST);
    let mut message = peer.request("resources/read", json!({"uri": "file:///a"}));
    let members = message["params"]["_meta"].as_object_mut().unwrap();
    members.extend(meta.as_object().unwrap().clone());
    let mut is_served = false;
    let sent = peer.say(&message, |server, event, tx| {
        let ServerEvent::Request(request) = event else { panic!("{event:?}") };
        handle(&request, server, tx);
        is_served = true;
    });
    assert!(is_served, "{message} {sent:?}");
    sent
}
