//! Sessions: opened, renewed, ended.

use std::time::Duration;

use mcp_sansio::{CallOptions, TaskGone};
use mcp_sansio_engine::{CallError, HttpError};
use serde_json::json;

use crate::scene::{EVENTS, Scene, Sent};

#[test]
fn bc_01_tol_11_a_session_is_opened_used_and_ended() {
    for status in [Some(200), Some(204), Some(404), Some(405), Some(500), None] {
        let mut scene = Scene::legacy();
        let (call, sent) = scene.call("a");
        assert_eq!(sent.field("mcp-session-id"), Some("s-1"));
        assert_eq!(sent.field("mcp-protocol-version"), Some("2025-11-25"));
        scene.succeeds(call, &sent);
        let (_, unanswered) = scene.call("b");
        scene.open.push(unanswered);
        scene.close();
        let end = scene.takes("DELETE /mcp");
        assert!(!scene.http.is_closed());
        assert_eq!(end.field("mcp-session-id"), Some("s-1"));
        assert_eq!(scene.http.poll_timeout().unwrap().as_millis(), 1000);
        match status {
            Some(status) => scene.responds(&end, status, &[], ""),
            // It takes a second at most.
            None => scene.later(Duration::from_secs(1)),
        }
        assert!(scene.http.is_closed() && scene.http.has_ended());
        assert!(scene.trace.contains(&"closed: POST /mcp tools/call".to_owned()));
    }
}

#[test]
fn http_09_bat_03_http_21_http_26_http_27_sess_03_sess_07_later_requests_name_the_session() {
    let about = |sent: &Sent| {
        ["mcp-protocol-version", "mcp-session-id", "mcp-method"]
            .map(|name| sent.field(name).map(str::to_owned))
    };
    let mut scene = Scene::old();
    assert_eq!(about(&scene.open[0]), [None, None, None]);
    let opened = scene.initializes_session("s~!1");
    scene.responds(&opened, 202, &[], "");
    let (_, called) = scene.call("a");
    let get = scene.takes("GET /mcp");
    scene.heads(&get, 200, EVENTS);
    scene.open.push(get.clone());
    scene.close();
    let end = scene.takes("DELETE /mcp");
    for sent in [&opened, &called, &get, &end] {
        let named = ["2025-11-25", "s~!1"].map(|text| Some(text.to_owned()));
        assert_eq!(about(sent)[..2], named, "{sent:?}");
        assert!(sent.field("mcp-method").is_none() && sent.body.is_object(), "{sent:?}");
    }
    let stream = ["accept", "content-length", "last-event-id"].map(|name| get.field(name));
    assert_eq!(stream, [Some("text/event-stream"), None, None]);
    assert_eq!(scene.count("closed: GET /mcp"), 1);
}

#[test]
fn c1_a_server_that_ends_every_session_leaves_one_stream_open() {
    let mut scene = Scene::legacy();
    for n in 2..12 {
        let call = scene.call_without_session("a");
        let last = scene.get.take().unwrap();
        scene.open.push(last);
        scene.opens(&format!("s-{n}"));
        assert_eq!(scene.count("closed: GET /mcp"), n - 1);
        scene.answers(call);
    }
}

#[test]
fn tsk_43_a_new_session_may_hide_the_tasks_of_the_last_one() {
    let mut scene = Scene::legacy();
    let options = CallOptions::new().task(Some(Duration::from_secs(60)));
    let call = scene.calls_with("tools/call", json!({"name": "slow"}), options);
    let sent = scene.takes("POST /mcp tools/call");
    let time = "2026-01-01T00:00:00Z";
    let task = json!({"taskId": "t 1", "status": "working", "createdAt": time,
        "lastUpdatedAt": time, "ttl": null, "pollInterval": 100});
    scene.responds_with(&sent, 200, &sent.ok(json!({ "task": task })));
    scene.later(Duration::from_millis(200));
    let poll = scene.takes("POST /mcp tasks/get");
    scene.responds(&poll, 404, &[], "");
    scene.opens("s-2");
    let poll = scene.takes("POST /mcp tasks/get");
    scene.responds_with(&poll, 200, &poll.error(-32602));
    let result = scene.engine.take(call).unwrap().result;
    assert!(matches!(result, Err(CallError::TaskGone(TaskGone::NewSession))), "{result:?}");
}

#[test]
fn sess_06_tol_09_calls_whose_session_has_ended_open_another_one_together() {
    let mut scene = Scene::legacy();
    let [one, two] = scene.calls_without_session(["a", "b"]);
    // While the session is opened, no other call is sent.
    let late = scene.calls("tools/call", json!({"name": "c"}));
    assert_eq!(scene.trace.last().unwrap(), "POST /mcp initialize");
    scene.opens("s-2");
    for (call, name) in [(one, "a"), (two, "b"), (late, "c")] {
        let sent = scene.answers(call);
        assert_eq!(sent.field("mcp-session-id"), Some("s-2"));
        assert_eq!(sent.body["params"]["name"], name);
    }
    assert_eq!(
        scene.trace,
        [
            "POST /mcp tools/call",
            "POST /mcp tools/call",
            "POST /mcp initialize",
            "POST /mcp notifications/initialized",
            "GET /mcp",
            "session ended by the server; a new one was opened, without its subscriptions",
            "POST /mcp tools/call",
            "POST /mcp tools/call",
            "POST /mcp tools/call",
        ]
    );
}

#[test]
fn sess_06_a_request_that_gets_credentials_while_a_session_is_opened_waits_for_it() {
    let mut scene = Scene::legacy();
    let (one, first) = scene.call("a");
    let (two, second) = scene.call("b");
    scene.heads(&second, 401, &[("www-authenticate", "Bearer")]);
    scene.responds(&first, 404, &[], "");
    scene.http.authorized(second.id);
    assert!(scene.http.request(scene.now, second.id).is_none());
    scene.opens("s-2");
    for (call, name) in [(one, "a"), (two, "b")] {
        let sent = scene.answers(call);
        assert_eq!(sent.field("mcp-session-id"), Some("s-2"));
        assert_eq!(sent.body["params"]["name"], name);
    }
}

#[test]
fn a_session_is_renewed_once_for_a_call_and_must_have_the_same_revision() {
    let mut scene = Scene::legacy();
    let call = scene.call_without_session("a");
    scene.opens("s-2");
    let again = scene.takes("POST /mcp tools/call");
    scene.responds(&again, 404, &[], "");
    assert_eq!(scene.result(call), "HTTP status 404: check the path of the URL");

    let call = scene.call_without_session("a");
    let opened = scene.initializes("2025-03-26");
    scene.responds(&opened, 202, &[], "");
    assert!(scene.result(call).contains("session ended by the server"));
}

#[test]
fn sess_03_sess_06_the_call_after_a_renewal_that_failed_opens_a_session() {
    let fails: [fn(&mut Scene); 4] = [
        |scene| {
            let initialize = scene.takes("POST /mcp initialize");
            scene.ends(&initialize, Err(HttpError::ConnectionLost));
        },
        |scene| {
            let initialize = scene.takes("POST /mcp initialize");
            scene.responds(&initialize, 502, &[], "");
        },
        // It takes as long as accepting a message.
        |scene| {
            scene.later(Duration::from_secs(29));
            assert!(scene.trace.iter().all(|line| !line.starts_with("closed")));
            scene.later(Duration::from_secs(1));
            assert_eq!(scene.trace.last().unwrap(), "closed: POST /mcp initialize");
        },
        |scene| {
            let opened = scene.initializes_session("lost");
            scene.responds(&opened, 503, &[], "");
        },
    ];
    for fails in fails {
        let mut scene = Scene::legacy();
        let call = scene.call_without_session("a");
        fails(&mut scene);
        assert!(scene.engine.take(call).unwrap().result.is_err());
        let (call, sent) = scene.call("b");
        assert_eq!(sent.field("mcp-session-id"), Some("s-1"));
        scene.responds(&sent, 404, &[], "");
        scene.opens("s-2");
        let sent = scene.answers(call);
        assert_eq!(sent.field("mcp-session-id"), Some("s-2"));
    }
}

#[test]
fn a_cancelled_call_hands_the_renewal_to_the_next() {
    let mut scene = Scene::legacy();
    let [one, two] = scene.calls_without_session(["a", "b"]);
    scene.cancel(one);
    assert!(scene.trace.contains(&"closed: POST /mcp initialize".to_owned()));
    scene.opens("s-2");
    scene.answers(two);
}

#[test]
fn closing_during_a_renewal_ends_the_calls_that_wait_for_it() {
    let mut scene = Scene::legacy();
    scene.calls_without_session(["a", "b"]);
    let before = scene.count("POST /mcp initialize");
    scene.close();
    assert_eq!(scene.count("POST /mcp initialize"), before, "no other call opens a session");
    assert!(scene.http.is_closed());
}
