//! Errors of the server: other credentials, other places, other heads.

use std::time::Duration;

use mcp_sansio::RawJson;
use mcp_sansio_engine::{CallError, HttpError};
use serde_json::{Value, json};

use crate::scene::{EVENTS, JSON, Scene, Sent, event, text};

#[test]
fn a_request_that_is_refused_is_sent_again_with_other_credentials() {
    let mut scene = Scene::modern();
    let (call, sent) = scene.call("a");
    scene.authorizes(sent);
    scene.answers(call);

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

/// Lets the server ask whether the client is there. Returns the POST with the response.
fn answers(scene: &mut Scene) -> Sent {
    scene.pings(7);
    scene.takes("POST /mcp")
}

fn answering() -> (Scene, Sent) {
    let mut scene = Scene::legacy();
    let sent = answers(&mut scene);
    (scene, sent)
}

type Lose = fn(&mut Scene, &Sent);
/// Ways of losing a message that is valid.
const LOSSES: [Lose; 4] = [
    |scene, sent| scene.ends(sent, Err(HttpError::ConnectionLost)),
    // The server has closed the connection that was kept.
    |scene, sent| scene.ends(sent, Ok(())),
    |scene, sent| scene.responds_with(sent, 503, &sent.error(-32603)),
    |scene, sent| scene.responds(sent, 502, &[], "Bad Gateway"),
];

#[test]
fn a_response_to_a_request_of_the_server_is_sent_again_when_it_is_lost() {
    for lost in LOSSES {
        let (mut scene, mut sent) = answering();
        for pause in [250, 500, 1000, 2000, 4000] {
            lost(&mut scene, &sent);
            scene.later(Duration::from_millis(pause - 1));
            assert!(scene.open.is_empty(), "{pause}: {:?}", scene.trace);
            scene.later(Duration::from_millis(1));
            let again = scene.takes("POST /mcp");
            assert_eq!(again.body, sent.body);
            sent = again;
        }
        assert_eq!(scene.trace, ["POST /mcp"; 6]);
        lost(&mut scene, &sent);
        assert!(scene.trace[6].starts_with("message rejected: "), "{:?}", scene.trace);
        // The next one is sent as often.
        let sent = answers(&mut scene);
        lost(&mut scene, &sent);
        scene.later(Duration::from_millis(250));
        let sent = scene.takes("POST /mcp");
        scene.responds(&sent, 202, &[], "");
        scene.later(Duration::from_secs(60));
        assert_eq!(scene.trace[7..], ["POST /mcp"; 2]);
    }
}

#[test]
fn a_response_to_a_request_of_a_session_that_has_ended_is_not_sent_in_the_next() {
    let never = |scene: &mut Scene, others: usize| {
        assert_eq!(scene.count("POST /mcp"), others, "{:?}", scene.trace);
        let rejected = "message rejected: the session of the request has ended";
        assert!(scene.trace.iter().any(|line| line.contains(rejected)), "{:?}", scene.trace);
    };
    // It says itself that the session has ended.
    let (mut scene, sent) = answering();
    scene.responds(&sent, 404, &[], "");
    scene.opens("s-2");
    never(&mut scene, 1);
    // It learns that later than a call.
    let (mut scene, sent) = answering();
    scene.call_without_session("a");
    scene.opens("s-2");
    scene.responds(&sent, 404, &[], "");
    never(&mut scene, 1);
    // It waits for another attempt.
    let (mut scene, sent) = answering();
    scene.ends(&sent, Err(HttpError::ConnectionLost));
    scene.call_without_session("a");
    scene.opens("s-2");
    scene.later(Duration::from_millis(250));
    never(&mut scene, 1);
    // It waits for others to be accepted.
    let mut scene = Scene::legacy();
    for _ in 0..16 {
        let sent = answers(&mut scene);
        scene.open.push(sent);
    }
    scene.pings(8);
    scene.call_without_session("a");
    for _ in 0..16 {
        let sent = scene.takes("POST /mcp");
        scene.responds(&sent, 202, &[], "");
    }
    scene.opens("s-2");
    never(&mut scene, 16);
    // A session is being opened.
    let mut scene = Scene::legacy();
    scene.call_without_session("a");
    scene.pings(8);
    scene.opens("s-2");
    never(&mut scene, 0);
    // It is handled after the next session has begun.
    let mut scene = Scene::legacy();
    scene.call_without_session("a");
    let opened = scene.initializes("2025-11-25");
    scene.heads(&opened, 202, &[]);
    let ping = event(&json!({"jsonrpc": "2.0", "id": 8, "method": "ping"}));
    scene.http.body(scene.now, scene.get.as_ref().unwrap().id, ping.as_bytes());
    scene.ends(&opened, Ok(()));
    assert!(scene.trace.iter().all(|line| line != "POST /mcp"), "{:?}", scene.trace);
}

#[test]
fn an_answer_to_a_question_of_a_session_that_has_ended_is_not_sent_in_the_next() {
    let asks = |scene: &mut Scene, on: &Sent, id: u32, task: Value| {
        let mut params = json!({"message": "Who?", "requestedSchema": {"type": "object"}});
        if task.is_object() {
            params["task"] = task;
        }
        let method = "elicitation/create";
        let asks = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        scene.says(on, &event(&asks));
    };
    let mut scene = Scene::legacy();
    let get = scene.get.clone().unwrap();
    asks(&mut scene, &get, 7, Value::Null);
    asks(&mut scene, &get, 8, json!({}));
    let task = scene.takes("POST /mcp");
    scene.responds(&task, 202, &[], "");
    let (slow, stream) = scene.call("b");
    scene.heads(&stream, 200, EVENTS);
    scene.call_without_session("a");
    scene.opens("s-2");
    assert_eq!(scene.nobody.withdrawn, scene.nobody.asked);
    // A stream of the last session goes on.
    asks(&mut scene, &stream, 9, Value::Null);
    let invalid = json!({"jsonrpc": "1.0", "id": 9, "method": "ping"});
    scene.says(&stream, &event(&invalid));
    scene.says(&stream, &event(&stream.ok(text("late"))));
    assert_eq!(scene.result(slow), "late");
    let get = scene.get.clone().unwrap();
    asks(&mut scene, &get, 7, Value::Null);
    let asked = scene.nobody.asked.clone();
    assert_eq!(asked.len(), 3, "a new question with an old id");
    scene.takes("POST /mcp tools/call");
    for (input, sent) in [(asked[0], 0), (asked[1], 0), (asked[2], 1)] {
        let answer = Ok(RawJson::from_static(r#"{"action":"decline"}"#).into());
        scene.engine.answer(scene.now, input, answer, &mut scene.nobody);
        scene.work();
        assert_eq!(scene.open.len(), sent, "{:?}", scene.open);
    }
}

#[test]
fn nothing_else_is_sent_again_and_no_response_that_the_server_rejects_or_nobody_waits_for() {
    for lost in LOSSES {
        // A call may have had its effect.
        let mut scene = Scene::legacy();
        let (call, sent) = scene.call("a");
        lost(&mut scene, &sent);
        assert_ne!(scene.result(call), "called");
        scene.notify("notifications/x");
        let sent = scene.takes("POST /mcp notifications/x");
        lost(&mut scene, &sent);
        scene.later(Duration::from_secs(60));
        assert_eq!(scene.trace.len(), 3, "{:?}", scene.trace);
        // The client closes while one waits.
        let sent = answers(&mut scene);
        lost(&mut scene, &sent);
        scene.close();
        scene.takes("DELETE /mcp");
        scene.later(Duration::from_secs(60));
        assert!(scene.open.is_empty(), "{:?}", scene.open);
        // Another session has no such request.
        let (mut scene, sent) = answering();
        scene.call_without_session("a");
        scene.opens("s-2");
        lost(&mut scene, &sent);
        scene.later(Duration::from_secs(60));
        assert!(scene.open.iter().all(|sent| sent.line != "POST /mcp"), "{:?}", scene.open);
    }
    // The request that opens another session is not sent again, for calls wait for it.
    let (mut scene, sent) = answering();
    scene.responds(&sent, 404, &[], "");
    let initialize = scene.takes("POST /mcp initialize");
    scene.ends(&initialize, Err(HttpError::ConnectionLost));
    assert!(scene.trace[2].starts_with("message rejected: "), "{:?}", scene.trace);
    let (mut scene, sent) = answering();
    scene.responds(&sent, 400, &[], "");
    scene.later(Duration::from_secs(60));
    assert!(scene.trace[1].starts_with("message rejected: "), "{:?}", scene.trace);
    assert_eq!(scene.trace.len(), 2);
}

#[test]
fn auth_102_a_new_session_and_a_list_may_want_other_credentials() {
    // The session is opened again.
    let mut scene = Scene::legacy();
    let call = scene.call_without_session("a");
    let initialize = scene.takes("POST /mcp initialize");
    scene.authorizes(initialize);
    scene.opens("s-2");
    scene.answers(call);
    // The list that says what the head of a call needs.
    let mut scene = Scene::modern();
    let (call, sent) = scene.call("good");
    scene.responds_with(&sent, 400, &sent.error(-32020));
    let listed = scene.takes("POST /mcp tools/list");
    scene.authorizes(listed);
    let listed = scene.takes("POST /mcp tools/list");
    scene.responds_with(&listed, 200, &listed.ok(list(&[tool("good", "Word")])));
    scene.answers(call);
}

#[test]
fn auth_102_a_call_says_that_its_stream_or_its_session_is_refused() {
    for resumes in [true, false] {
        let mut scene = Scene::legacy();
        let (call, sent) = scene.call("a");
        let refused = if resumes {
            scene.responds(&sent, 200, EVENTS, "id: 1\nretry: 0\ndata:\n\n");
            scene.later(Duration::from_secs(1));
            scene.takes("GET /mcp")
        } else {
            scene.responds(&sent, 404, &[], "");
            scene.takes("POST /mcp initialize")
        };
        scene.responds(&refused, 401, &[("www-authenticate", "Bearer")], "");
        let result = scene.engine.take(call).unwrap().result;
        let Err(CallError::Http(HttpError::Unauthorized { status: 401, challenge })) = result
        else {
            panic!("{resumes}: {result:?}")
        };
        assert_eq!(challenge, "Bearer");
    }
}

#[test]
fn time_limits_stand_still_during_a_login() {
    let mut scene = Scene::legacy();
    let [one, two] = scene.calls_without_session(["a", "b"]);
    let initialize = scene.takes("POST /mcp initialize");
    // The limit of the calls is 1000 s.
    scene.later(Duration::from_secs(25));
    scene.heads(&initialize, 401, &[]);
    let waits = scene.calls("tools/call", json!({"name": "c"}));
    scene.http.begin_login(scene.now, initialize.id);
    assert!(scene.http.is_logging_in());
    scene.work();
    scene.later(Duration::from_secs(500));
    scene.http.end_login(scene.now, initialize.id);
    scene.http.authorized(initialize.id);
    scene.http.request(scene.now, initialize.id).unwrap();
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
    scene.succeeds(call, &sent);
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
fn a_relative_redirection_is_beside_the_path_of_its_request() {
    let mut scene = Scene::modern();
    let calls = ["a", "b"].map(|name| scene.call(name));
    for (call, sent) in calls {
        scene.responds(&sent, 307, &[("location", "v2/mcp")], "");
        let sent = scene.takes("POST /v2/mcp tools/call");
        scene.succeeds(call, &sent);
    }
}

#[test]
fn ver_15_a_version_that_is_supported_after_all_is_tried_once_more() {
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
    with_arguments(name, json!({"a": mirrored("string", header)}))
}

fn mirrored(kind: &str, header: &str) -> Value {
    json!({"type": kind, "x-mcp-header": header})
}

fn with_arguments(name: &str, properties: Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
}

fn list(tools: &[Value]) -> Value {
    json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"})
}

#[test]
fn hdr_20_hdr_21_tools_with_invalid_annotations_are_left_out_and_arguments_mirrored() {
    let mut scene = Scene::modern();
    let call = scene.calls("tools/list", json!({}));
    let sent = scene.takes("POST /mcp tools/list");
    let word = |properties| with_arguments("bad", properties);
    let bad = [
        (tool("bad", "not a token"), "x-mcp-header must be a token of"),
        (tool("bad", ""), "x-mcp-header must be a token of"),
        (
            word(json!({"a": mirrored("number", "A")})),
            "x-mcp-header is allowed only on properties of type string, integer or boolean",
        ),
        (
            word(json!({"a": mirrored("string", "A"), "b": mirrored("string", "a")})),
            "two x-mcp-header names of the schema are equal",
        ),
        (
            word(json!({"a": {"type": "array", "items": mirrored("string", "A")}})),
            "x-mcp-header is allowed only under `properties`",
        ),
    ];
    let mut tools = vec![tool("good", "Word")];
    tools.extend(bad.iter().map(|(tool, _)| tool.clone()));
    let tools = list(&tools);
    scene.responds(&sent, 200, EVENTS, &event(&sent.ok(tools)));
    let result = scene.engine.take(call).unwrap().result.unwrap();
    let result = result.as_json().as_str().to_owned();
    assert!(result.contains("good") && !result.contains("bad"), "{result}");
    assert_eq!(scene.trace.len(), 1 + bad.len());
    for ((_, reason), told) in bad.iter().zip(&scene.trace[1..]) {
        let expected = format!("tool `bad` removed from the list: {reason}");
        assert!(told.starts_with(&expected), "{told}");
    }
    let (_, sent) = scene.call("good");
    assert_eq!(sent.field("mcp-param-word"), Some("x"), "{:?}", sent.fields);
    let named = ["mcp-name", "mcp-method"].map(|name| sent.field(name));
    assert_eq!(named, [Some("good"), Some("tools/call")]);
}

#[test]
fn hdr_04_hdr_05_hdr_06_hdr_07_hdr_08_hdr_09_hdr_10_hdr_30_hdr_31_hdr_35_headers_mirror_arguments()
{
    let weather = json!({
        "city": mirrored("string", "City"),
        "days": mirrored("integer", "Days"),
        "wind": mirrored("boolean", "Wind"),
        "note": {"type": "string"},
        "where": {"type": "object", "properties": {"region": mirrored("string", "Method")}},
    });
    let weather = with_arguments("weather", weather);
    let mut scene = Scene::modern();
    let mut first = list(&[tool("other", "A")]);
    first["nextCursor"] = json!("2");
    for (params, page) in [(json!({}), first), (json!({"cursor": "2"}), list(&[weather]))] {
        scene.calls("tools/list", params);
        let sent = scene.takes("POST /mcp tools/list");
        scene.responds_with(&sent, 200, &sent.ok(page));
    }
    let bern = json!({"city": "Bern", "days": 3, "wind": true, "note": "x"});
    let cold = json!({"city": "Z\u{fc}rich", "days": -7, "wind": false});
    for (arguments, expected) in [
        (bern, &["City: Bern", "Days: 3", "Wind: true"][..]),
        (cold, &["City: =?base64?WsO8cmljaA==?=", "Days: -7", "Wind: false"]),
        (json!({"city": "", "days": null}), &["City: "]),
        (json!({"city": " a\r\nX-Evil: b"}), &["City: =?base64?IGENClgtRXZpbDogYg==?="]),
        (json!({"city": "=?base64?YQ==?="}), &["City: =?base64?PT9iYXNlNjQ/WVE9PT89?="]),
        (json!({"city": "=?BASE64?YQ==?="}), &["City: =?BASE64?YQ==?="]),
        (json!({"where": {"region": "us-west1"}}), &["Method: us-west1"]),
        (json!({"note": "x"}), &[]),
    ] {
        scene.calls("tools/call", json!({"name": "weather", "arguments": arguments}));
        let sent = scene.takes("POST /mcp tools/call");
        let mirrored = |(name, value): &(String, String)| {
            Some(format!("{}: {value}", name.strip_prefix("Mcp-Param-")?))
        };
        let params: Vec<_> = sent.fields.iter().filter_map(mirrored).collect();
        assert_eq!(params, expected, "{arguments}");
    }
}

#[test]
fn hdr_22_a_head_that_does_not_match_is_corrected_by_the_whole_list() {
    for complete in [true, false] {
        let mut scene = Scene::modern();
        let (call, sent) = scene.call("good");
        assert_eq!(sent.field("mcp-param-word"), None);
        scene.responds_with(&sent, 400, &sent.error(-32020));
        let first = scene.takes("POST /mcp tools/list");
        assert_eq!(first.body["id"], "tools-0");
        let mut page = list(&[tool("other", "Other")]);
        page["nextCursor"] = json!("c");
        scene.responds_with(&first, 200, &first.ok(page.clone()));
        let second = scene.takes("POST /mcp tools/list");
        assert_eq!(second.body["params"]["cursor"], "c");
        // The lists are requested with the capabilities of the call.
        let about = |sent: &Sent| {
            sent.body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"].clone()
        };
        assert!(about(&first) == about(&sent) && about(&second) == about(&sent));
        if complete {
            scene.responds_with(&second, 200, &second.ok(list(&[tool("good", "Word")])));
            let sent = scene.takes("POST /mcp tools/call");
            assert_eq!(sent.field("mcp-param-word"), Some("x"));
            scene.succeeds(call, &sent);
            // A server that keeps rejecting is believed the second time.
            let (call, mut sent) = scene.call("good");
            for _ in 0..2 {
                scene.responds_with(&sent, 400, &sent.error(-32020));
                let Some(list_again) = scene.open.pop() else { break };
                let tools = list(&[tool("good", "Word")]);
                scene.responds_with(&list_again, 200, &list_again.ok(tools));
                sent = scene.takes("POST /mcp tools/call");
            }
            assert!(scene.open.is_empty());
            assert!(scene.result(call).contains("-32020"));
        } else {
            // The same cursor again: the list has no end.
            scene.responds_with(&second, 200, &second.ok(page));
            assert!(scene.result(call).contains("-32020"));
        }
    }
}

#[test]
fn hdr_20_before_2026_07_28_annotations_are_ignored() {
    let mut scene = Scene::legacy();
    let call = scene.calls("tools/list", json!({}));
    let sent = scene.takes("POST /mcp tools/list");
    let tools = list(&[tool("bad", "not a token"), tool("good", "Word")]);
    scene.responds_with(&sent, 200, &sent.ok(tools));
    let result = scene.engine.take(call).unwrap().result.unwrap();
    assert!(result.as_json().as_str().contains("bad"));
    let (_, sent) = scene.call("good");
    assert_eq!(sent.field("mcp-param-word"), None);
    assert_eq!(scene.trace, ["POST /mcp tools/list", "POST /mcp tools/call"]);
}

#[test]
fn tol_15_a_rejection_with_any_body_fails_only_its_call() {
    const HTML: &[(&str, &str)] = &[("content-type", "text/html")];
    let whose = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"whose?"}}"#;
    for mut scene in [Scene::modern(), Scene::legacy()] {
        for (status, fields, body, said) in [
            (500, HTML, "<html>", "HTTP status 500: the server or a proxy failed, see its log"),
            (429, &[], "", "HTTP status 429: too many requests, wait before the next one"),
            (400, JSON, "so not", "HTTP status 400"),
            (400, &[], whose, "whose? (code -32600)"),
            (200, HTML, "<p>", "the response is neither application/json nor text/event-stream"),
            (
                200,
                JSON,
                "no json",
                "the connection ended before the response: repeat the call unless that does harm",
            ),
            (202, &[], "", "request accepted (HTTP 202) without a response"),
        ] {
            let (call, sent) = scene.call("bad");
            scene.responds(&sent, status, fields, body);
            let result = scene.result(call);
            assert!(result.contains(said), "{result}");
            let (call, sent) = scene.call("good");
            scene.succeeds(call, &sent);
        }
        let (call, sent) = scene.call("bad");
        scene.responds_with(&sent, 400, &sent.error(-32602));
        assert!(scene.result(call).contains("-32602"));
    }
}
