//! Errors of the server: other credentials, other places, other heads.

use std::time::Duration;

use mcp_sansio_engine::{HttpError, Reading};
use serde_json::{Value, json};

use crate::scene::{EVENTS, Scene, event, text};

#[test]
fn a_request_that_is_refused_is_sent_again_with_other_credentials() {
    let mut scene = Scene::modern();
    let (call, sent) = scene.call("a");
    scene.heads(&sent, 401, &[("www-authenticate", "Bearer"), ("www-authenticate", "DPoP")]);
    assert_eq!(scene.http.reading(sent.id), Reading::Refused);
    scene.says(&sent, "log in");
    scene.http.authorized(sent.id);
    assert_eq!(scene.http.reading(sent.id), Reading::Head);
    let again = scene.http.request(sent.id, scene.now).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(again.body.unwrap()).unwrap(), sent.body);
    scene.responds_with(&sent, 200, &sent.ok(text("called")));
    assert_eq!(scene.result(call), "called");

    let (call, sent) = scene.call("a");
    let challenges = [("www-authenticate", "Bearer"), ("www-authenticate", "DPoP")];
    scene.responds(&sent, 401, &challenges, "log in");
    let error = scene.result(call);
    assert!(error.contains("HTTP status 401, Bearer, DPoP"), "{error}");
    let (call, sent) = scene.call("a");
    scene.heads(&sent, 403, &[]);
    scene.ends(&sent, Err(HttpError::NotAuthorized("nobody is there".to_owned())));
    assert_eq!(scene.result(call), "not authorized: nobody is there");
}

#[test]
fn time_limits_stand_still_during_a_login() {
    let mut scene = Scene::legacy();
    let (one, first) = scene.call("a");
    let (two, second) = scene.call("b");
    scene.responds(&first, 404, &[], "");
    scene.responds(&second, 404, &[], "");
    let initialize = scene.takes("POST /mcp initialize");
    // The limit of the calls is 1000 s.
    scene.later(Duration::from_secs(25));
    scene.heads(&initialize, 401, &[]);
    let waits = scene.calls("tools/call", json!({"name": "c"}));
    scene.http.begin_login(initialize.id, scene.now);
    assert!(scene.http.is_logging_in());
    scene.work();
    scene.later(Duration::from_secs(500));
    scene.http.end_login(initialize.id, scene.now);
    scene.http.authorized(initialize.id);
    scene.http.request(initialize.id, scene.now).unwrap();
    assert!(!scene.http.is_logging_in());
    scene.open.push(initialize);
    scene.opens("s-2");
    // Of the 1000 s the first two have used 25.
    scene.later(Duration::from_secs(974));
    for call in [one, two, waits] {
        assert!(scene.engine.take(call).is_none());
    }
    scene.later(Duration::from_secs(1));
    for call in [one, two] {
        assert!(scene.result(call).starts_with("no response came in time"));
    }
    assert!(scene.engine.take(waits).is_none());
    scene.later(Duration::from_secs(25));
    assert!(scene.result(waits).starts_with("no response came in time"));
}

#[test]
fn redirections_are_followed_within_the_origin_and_four_times() {
    let mut scene = Scene::modern();
    let (call, sent) = scene.call("a");
    scene.responds(&sent, 307, &[("location", "/moved/mcp")], "");
    let sent = scene.takes("POST /moved/mcp tools/call");
    scene.responds_with(&sent, 200, &sent.ok(text("called")));
    assert_eq!(scene.result(call), "called");
    assert_eq!(scene.http.target(), "/moved/mcp");
    assert_eq!(scene.trace[1], "redirected to /moved/mcp");

    let call = scene.calls("tools/call", json!({"name": "a"}));
    for _ in 0..5 {
        let sent = scene.takes("POST /moved/mcp tools/call");
        scene.responds(&sent, 308, &[("location", "mcp")], "");
    }
    assert_eq!(scene.result(call), "HTTP status 308");
    let call = scene.calls("tools/call", json!({"name": "a"}));
    let sent = scene.takes("POST /moved/mcp tools/call");
    scene.responds(&sent, 307, &[("location", "http://elsewhere/mcp")], "");
    assert!(scene.result(call).contains("redirected to `http://elsewhere/mcp`"));
}

#[test]
fn a_version_that_is_supported_after_all_is_tried_once_more() {
    let mut scene = Scene::modern();
    let error = json!({"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}});
    let (call, mut sent) = scene.call("a");
    for _ in 0..2 {
        let error = json!({"jsonrpc": "2.0", "id": sent.body["id"], "error": error});
        scene.responds_with(&sent, 400, &error);
        sent = match scene.open.pop() {
            Some(again) => again,
            None => break,
        };
    }
    assert_eq!(scene.trace, ["POST /mcp tools/call"; 2]);
    assert!(scene.result(call).contains("-32022"));
}

/// A tool with an argument that is mirrored in this header field.
fn tool(name: &str, header: &str) -> Value {
    let property = json!({"type": "string", "x-mcp-header": header});
    json!({"name": name, "inputSchema": {"type": "object", "properties": {"a": property}}})
}

fn list(tools: &[Value]) -> Value {
    json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"})
}

#[test]
fn tools_with_invalid_annotations_are_left_out_and_arguments_mirrored() {
    let mut scene = Scene::modern();
    let call = scene.calls("tools/list", json!({}));
    let sent = scene.takes("POST /mcp tools/list");
    let tools = list(&[tool("good", "Word"), tool("bad", "not a token")]);
    scene.responds(&sent, 200, EVENTS, &event(&sent.ok(tools)));
    let result = scene.engine.take(call).unwrap().result.unwrap();
    let result = result.as_raw().as_str().to_owned();
    assert!(result.contains("good") && !result.contains("bad"), "{result}");
    assert!(scene.trace[1].starts_with("tool `bad` removed"), "{:?}", scene.trace);
    let (_, sent) = scene.call("good");
    assert_eq!(sent.field("mcp-param-word"), Some("x"), "{:?}", sent.fields);
    assert_eq!(
        (sent.field("mcp-name"), sent.field("mcp-method")),
        (Some("good"), Some("tools/call"))
    );
}

#[test]
fn a_head_that_does_not_match_is_corrected_by_the_whole_list() {
    for complete in [true, false] {
        let mut scene = Scene::modern();
        let (call, sent) = scene.call("good");
        assert_eq!(sent.field("mcp-param-word"), None);
        let error = json!({"code": -32020, "message": "head"});
        let error = json!({"jsonrpc": "2.0", "id": sent.body["id"], "error": error});
        scene.responds_with(&sent, 400, &error);
        let first = scene.takes("POST /mcp tools/list");
        assert_eq!(first.body["id"], "tools-0");
        let mut page = list(&[tool("other", "Other")]);
        page["nextCursor"] = json!("c");
        scene.responds_with(&first, 200, &first.ok(page.clone()));
        let second = scene.takes("POST /mcp tools/list");
        assert_eq!(second.body["params"]["cursor"], "c");
        if complete {
            scene.responds_with(&second, 200, &second.ok(list(&[tool("good", "Word")])));
            let sent = scene.takes("POST /mcp tools/call");
            assert_eq!(sent.field("mcp-param-word"), Some("x"));
            scene.responds_with(&sent, 200, &sent.ok(text("called")));
            assert_eq!(scene.result(call), "called");
        } else {
            // The same cursor again: the list has no end.
            scene.responds_with(&second, 200, &second.ok(page));
            assert!(scene.result(call).contains("-32020"));
        }
    }
}
