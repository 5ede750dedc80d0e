//! Sessions: opened, renewed, ended.

use serde_json::json;

use crate::scene::{Scene, text};

#[test]
fn bc_01_tol_11_a_session_is_opened_used_and_ended() {
    for status in [200, 204, 404, 405, 500] {
        let mut scene = Scene::legacy();
        let (call, sent) = scene.call("a");
        assert_eq!(sent.field("mcp-session-id"), Some("s-1"));
        assert_eq!(sent.field("mcp-protocol-version"), Some("2025-11-25"));
        scene.responds_with(&sent, 200, &sent.ok(text("called")));
        assert_eq!(scene.result(call), "called");
        let (_, unanswered) = scene.call("b");
        scene.open.push(unanswered);
        scene.http.close(scene.now);
        scene.work();
        let end = scene.takes("DELETE /mcp");
        assert!(!scene.http.is_closed());
        assert_eq!(end.field("mcp-session-id"), Some("s-1"));
        scene.responds(&end, status, &[], "");
        assert!(scene.http.is_closed() && scene.http.has_ended());
        assert!(scene.trace.contains(&"closed: POST /mcp tools/call".to_owned()));
    }
}

#[test]
fn the_end_of_a_session_takes_a_second_at_most() {
    let mut scene = Scene::legacy();
    scene.http.close(scene.now);
    scene.work();
    let due = scene.http.next_timeout().unwrap();
    assert_eq!(due.as_millis(), 1000);
    scene.later(std::time::Duration::from_secs(1));
    assert!(scene.http.is_closed());
    assert_eq!(scene.trace.last().unwrap(), "closed: DELETE /mcp");
}

#[test]
fn sess_06_tol_09_calls_whose_session_has_ended_open_another_one_together() {
    let mut scene = Scene::legacy();
    let (one, first) = scene.call("a");
    let (two, second) = scene.call("b");
    scene.responds(&first, 404, &[], "gone");
    scene.responds(&second, 404, &[], "");
    // While the session is opened, no other call is sent.
    let late = scene.calls("tools/call", json!({"name": "c"}));
    assert_eq!(scene.trace.last().unwrap(), "POST /mcp initialize");
    scene.opens("s-2");
    assert_eq!(scene.http.sessions(), 1);
    for (call, name) in [(one, "a"), (two, "b"), (late, "c")] {
        let sent = scene.takes("POST /mcp tools/call");
        assert_eq!(sent.field("mcp-session-id"), Some("s-2"));
        assert_eq!(sent.body["params"]["name"], name);
        scene.responds_with(&sent, 200, &sent.ok(text(name)));
        assert_eq!(scene.result(call), name);
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
fn a_session_is_renewed_once_for_a_call_and_must_have_the_same_revision() {
    let mut scene = Scene::legacy();
    let (call, sent) = scene.call("a");
    scene.responds(&sent, 404, &[], "");
    scene.opens("s-2");
    let again = scene.takes("POST /mcp tools/call");
    scene.responds(&again, 404, &[], "");
    assert_eq!(scene.result(call), "HTTP status 404: check the path of the URL");

    let (call, sent) = scene.call("a");
    scene.responds(&sent, 404, &[], "");
    let initialize = scene.takes("POST /mcp initialize");
    let older = initialize.ok(crate::scene::initialized("2025-03-26"));
    scene.responds_with(&initialize, 200, &older);
    let initialized = scene.takes("POST /mcp notifications/initialized");
    scene.responds(&initialized, 202, &[], "");
    assert!(scene.result(call).contains("session ended by the server"));
}

#[test]
fn a_cancelled_call_hands_the_renewal_to_the_next() {
    let mut scene = Scene::legacy();
    let (one, first) = scene.call("a");
    let (two, second) = scene.call("b");
    scene.responds(&first, 404, &[], "");
    scene.responds(&second, 404, &[], "");
    scene.cancel(one);
    assert!(scene.trace.contains(&"closed: POST /mcp initialize".to_owned()));
    scene.opens("s-2");
    let sent = scene.takes("POST /mcp tools/call");
    scene.responds_with(&sent, 200, &sent.ok(text("b")));
    assert_eq!(scene.result(two), "b");
}

#[test]
fn closing_during_a_renewal_ends_the_calls_that_wait_for_it() {
    let mut scene = Scene::legacy();
    let (_, first) = scene.call("a");
    let (_, second) = scene.call("b");
    scene.responds(&first, 404, &[], "");
    scene.responds(&second, 404, &[], "");
    let opened =
        |scene: &Scene| scene.trace.iter().filter(|line| *line == "POST /mcp initialize").count();
    let before = opened(&scene);
    scene.http.close(scene.now);
    scene.work();
    assert_eq!(opened(&scene), before, "no other call opens a session");
    assert!(scene.http.is_closed());
}

#[test]
fn opening_another_session_takes_as_long_as_accepting_a_message() {
    let mut scene = Scene::legacy();
    let (call, sent) = scene.call("a");
    scene.responds(&sent, 404, &[], "");
    scene.later(std::time::Duration::from_secs(29));
    assert!(scene.trace.iter().all(|line| !line.starts_with("closed")));
    scene.later(std::time::Duration::from_secs(1));
    assert_eq!(scene.trace.last().unwrap(), "closed: POST /mcp initialize");
    assert!(scene.result(call).contains("timed out"));
}
