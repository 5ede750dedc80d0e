//! Opening: the revision of the server is found out.

use std::time::Duration;

use mcp_sansio::Revision;
use mcp_sansio_engine::{ConnectState, HttpError};
use serde_json::json;

use crate::scene::{CHUNKS, JSON, Scene, event, initialized};

#[test]
fn ver_14_ver_16_bc_06_other_errors_lead_to_initialize() {
    for chunk in CHUNKS {
        for (status, body) in [
            (400, ""),
            (404, "<html>not here</html>"),
            (405, ""),
            (400, r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32600,"message":"No session"}}"#),
            (404, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"No session"}}"#),
            (200, r#"{"jsonrpc":"2.0","id":ITS,"error":{"code":-32601,"message":"no"}}"#),
            (404, r#"{"jsonrpc":"2.0","id":ITS,"error":{"code":-32601,"message":"no"}}"#),
            (200, r#"{"jsonrpc":"2.0","id":ITS,"result":{}}"#),
        ] {
            let mut scene = Scene::any();
            scene.chunk = chunk;
            let discover = scene.takes("POST /mcp server/discover");
            assert_eq!(discover.field("mcp-protocol-version"), Some("2026-07-28"));
            let body = body.replace("ITS", &discover.body["id"].to_string());
            scene.responds(&discover, status, JSON, &body);
            assert_eq!(scene.trace, ["POST /mcp server/discover", "POST /mcp initialize"]);
            assert_eq!(scene.open[0].field("mcp-protocol-version"), None);
            scene.opens("s-1");
            assert_eq!(scene.engine.core().revision(), Some(Revision::V2025_11_25));
        }
    }
}

#[test]
fn ver_14_an_error_status_counts_although_its_body_is_cut_off() {
    let mut scene = Scene::any();
    let discover = scene.takes("POST /mcp server/discover");
    scene.heads(&discover, 400, JSON);
    scene.says(&discover, r#"{"jsonrpc":"2.0","id":"server-err"#);
    scene.ends(&discover, Err(HttpError::ConnectionLost));
    assert_eq!(scene.trace, ["POST /mcp server/discover", "POST /mcp initialize"]);
}

#[test]
fn a_probe_that_timed_out_opens_nothing_when_it_ends() {
    let mut scene = Scene::any();
    scene.later(Duration::from_secs(10));
    let closed = "closed: POST /mcp server/discover";
    assert_eq!(scene.trace, ["POST /mcp server/discover", closed, "POST /mcp initialize"]);
    let opened = scene.initializes("2025-11-25");
    scene.calls("tools/call", json!({"name": "a"}));
    assert!(scene.open.is_empty());
    scene.responds(&opened, 202, &[], "");
    scene.takes("POST /mcp tools/call");
}

#[test]
fn no_call_overtakes_the_end_of_the_opening_when_its_beginning_ends_late() {
    // An event stream that goes on after the response.
    let mut scene = Scene::old();
    let initialize = scene.takes("POST /mcp initialize");
    scene.streams(&initialize, &event(&initialize.ok(initialized("2025-11-25"))));
    let opened = scene.takes("POST /mcp notifications/initialized");
    scene.calls("tools/call", json!({"name": "a"}));
    scene.ends(&initialize, Ok(()));
    assert!(scene.open.is_empty(), "{:?}", scene.open);
    scene.responds(&opened, 202, &[], "");
    scene.takes("POST /mcp tools/call");
    // A stream that is faster than the acceptance.
    let (mut scene, stream) = Scene::sse(404);
    scene.says(&stream, "event: endpoint\ndata: /m\n\n");
    let initialize = scene.takes("POST /m initialize");
    scene.says(&stream, &event(&initialize.ok(initialized("2024-11-05"))));
    let opened = scene.takes("POST /m notifications/initialized");
    scene.calls("tools/call", json!({"name": "a"}));
    scene.responds(&initialize, 202, &[], "");
    assert!(scene.open.is_empty(), "{:?}", scene.open);
    scene.responds(&opened, 202, &[], "");
    scene.takes("POST /m tools/call");
}

#[test]
fn ver_15_bc_04_a_modern_error_does_not_lead_to_initialize() {
    for (code, data) in [
        (-32022, json!({"supported": ["2030-01-01"], "requested": "2026-07-28"})),
        (-32020, json!({})),
        (-32021, json!({})),
    ] {
        // With the id of the request, and without.
        for with_id in [true, false] {
            let mut scene = Scene::any();
            let discover = scene.takes("POST /mcp server/discover");
            let mut error = discover.error(code);
            error["error"]["data"] = data.clone();
            if !with_id {
                error["id"] = json!(null);
            }
            scene.responds_with(&discover, 400, &error);
            assert!(matches!(scene.engine.connect_state(), ConnectState::Failed(_)), "{code}");
            assert_eq!(scene.trace, ["POST /mcp server/discover"], "{code}");
        }
    }
}

#[test]
fn errors_that_identify_no_era_fail_connecting() {
    for status in [401, 403, 503] {
        let mut scene = Scene::any();
        let discover = scene.takes("POST /mcp server/discover");
        scene.responds(&discover, status, &[], "");
        assert!(matches!(scene.engine.connect_state(), ConnectState::Failed(_)), "{status}");
        assert_eq!(scene.trace, ["POST /mcp server/discover"], "{status}");
    }
}

#[test]
fn a_server_that_refuses_to_hear_of_the_opened_session_is_called_all_the_same() {
    let mut scene = Scene::any();
    let discover = scene.takes("POST /mcp server/discover");
    scene.responds(&discover, 400, &[], "no session");
    let opened = scene.initializes("2025-11-25");
    scene.responds(&opened, 500, &[], "");
    let (call, sent) = scene.call("a");
    scene.succeeds(call, &sent);
}
