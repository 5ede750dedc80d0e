//! Event streams: resumed, lost, and those of 2024-11-05.

use std::time::Duration;

use mcp_sansio::CallOptions;
use mcp_sansio_engine::{ConnectState, HttpError, Reading};
use serde_json::json;

use crate::scene::{CHUNKS, EVENTS, Scene, Sent, event, initialized, text};

#[test]
fn sse_03_sse_05_sse_08_sse_09_sse_10_tol_13_a_stream_is_resumed_after_the_time_asked_for() {
    for chunk in CHUNKS {
        let mut scene = Scene::legacy();
        scene.chunk = chunk;
        let (call, sent) = scene.call("slow");
        scene.streams(&sent, "id: e-1\nretry: 250\ndata: \n\ndata: half a mess");
        scene.ends(&sent, Err(HttpError::ConnectionLost));
        assert_eq!(scene.http.poll_timeout().unwrap().as_millis(), 250);
        scene.later(Duration::from_millis(249));
        assert!(scene.trace.iter().all(|line| line != "GET /mcp"));
        scene.later(Duration::from_millis(1));
        let get = scene.takes("GET /mcp");
        assert_eq!(get.field("last-event-id"), Some("e-1"));
        assert_eq!(get.field("mcp-session-id"), Some("s-1"));
        assert_eq!(get.field("mcp-protocol-version"), Some("2025-11-25"));
        scene.streams(&get, &event(&sent.ok(text("at last"))));
        assert_eq!(scene.http.reading(get.id), Reading::Rest);
        assert_eq!(scene.result(call), "at last");
        scene.ends(&get, Ok(()));
        assert_eq!(scene.http.reading(get.id), Reading::Over);
    }
}

#[test]
fn tol_08_tol_14_progress_arrives_before_the_response_on_several_streams_at_once() {
    for mut scene in [Scene::modern(), Scene::legacy()] {
        let options = CallOptions::new().progress(true);
        let calls = [1, 2, 3].map(|_| {
            let call = scene.calls_with("tools/call", json!({"name": "a"}), options);
            let sent = scene.takes("POST /mcp tools/call");
            scene.heads(&sent, 200, EVENTS);
            (call, sent)
        });
        for n in [1, 2] {
            for (_, sent) in &calls {
                let token = &sent.body["params"]["_meta"]["progressToken"];
                let params = json!({"progressToken": token, "progress": n});
                scene.says(sent, &event(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})));
            }
        }
        let told = std::mem::take(&mut scene.nobody.reports);
        assert!(told.into_iter().eq([&calls, &calls].into_iter().flatten().map(|(call, _)| *call)));
        for (call, sent) in &calls {
            assert!(scene.engine.take(*call).is_none());
            scene.says(sent, &event(&sent.ok(text("done"))));
            scene.ends(sent, Ok(()));
            assert_eq!(scene.result(*call), "done");
        }
    }
}

#[test]
fn tol_12_a_stream_that_cannot_be_resumed_is_tried_less_and_less_often_and_then_lost() {
    let mut scene = Scene::legacy();
    let (call, sent) = scene.call("slow");
    scene.responds(&sent, 200, EVENTS, "id: 1\ndata:\n\n");
    let mut waits = Vec::new();
    while scene.http.poll_timeout().is_some() {
        waits.push(scene.until_due().as_secs());
        let get = scene.takes("GET /mcp");
        scene.ends(&get, Err(HttpError::NotConnected("no route".to_owned())));
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 32, 32]);
    assert!(scene.result(call).starts_with("the connection ended before the response"));
    // Without an id, or where the server does not resume it, it is lost at once.
    for (body, resumes) in [("retry: 1\ndata:\n\n", false), ("id: 1\nretry: 1\ndata:\n\n", true)] {
        let (call, sent) = scene.call("slow");
        scene.streams(&sent, body);
        scene.ends(&sent, Err(HttpError::ConnectionLost));
        scene.later(Duration::from_secs(1));
        if resumes {
            let get = scene.takes("GET /mcp");
            scene.responds(&get, 400, &[], "");
        }
        assert!(scene.result(call).starts_with("the connection ended before the response"));
    }
}

#[test]
fn http_40_a_stream_of_2026_07_28_is_not_resumed_and_the_next_call_has_another_id() {
    let mut scene = Scene::modern();
    let (call, sent) = scene.call("slow");
    scene.responds(&sent, 200, EVENTS, "id: 1\ndata:\n\n");
    assert!(scene.http.poll_timeout().is_none());
    assert!(scene.result(call).starts_with("the connection ended before the response"));
    assert_ne!(scene.call("slow").1.body["id"], sent.body["id"]);
}

#[test]
fn tol_10_messages_arrive_on_the_get_stream_for_as_long_as_the_server_resumes_it() {
    let mut scene = Scene::legacy();
    let changed = event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    let get = scene.get.clone().unwrap();
    scene.says(&get, &format!("id: 7\n{changed}"));
    scene.ends(&get, Ok(()));
    for n in 1..=20 {
        assert_eq!(scene.nobody.changes, n);
        scene.until_due();
        let get = scene.takes("GET /mcp");
        assert_eq!(get.field("last-event-id"), Some("7"));
        scene.streams(&get, &changed);
        scene.ends(&get, Err(HttpError::ConnectionLost));
    }
    scene.until_due();
    let get = scene.takes("GET /mcp");
    scene.responds(&get, 405, &[], "");
    assert!(scene.http.poll_timeout().is_none());
}

#[test]
fn sess_06_a_get_stream_whose_session_has_ended_opens_another_one() {
    let mut scene = Scene::legacy();
    let get = resumed_get(&mut scene);
    scene.responds(&get, 404, &[], "");
    scene.opens("s-2");
    let ended = "session ended by the server; a new one was opened, without its subscriptions";
    let opened = ["POST /mcp initialize", "POST /mcp notifications/initialized", "GET /mcp", ended];
    assert_eq!(scene.trace[1..], opened);
    let (call, sent) = scene.call("a");
    assert_eq!(sent.field("mcp-session-id"), Some("s-2"));
    scene.succeeds(call, &sent);

    // There is one stream, too, if a call opens the session meanwhile.
    let get = resumed_get(&mut scene);
    let call = scene.call_without_session("a");
    scene.responds(&get, 404, &[], "");
    scene.opens("s-3");
    scene.answers(call);
    assert!(scene.open.is_empty() && scene.http.poll_timeout().is_none());

    // Where none can be opened, the next call tries.
    let get = resumed_get(&mut scene);
    scene.responds(&get, 404, &[], "");
    let initialize = scene.takes("POST /mcp initialize");
    scene.responds(&initialize, 503, &[], "");
    assert!(scene.open.is_empty() && scene.http.poll_timeout().is_none());
    let (_, sent) = scene.call("a");
    assert_eq!(sent.field("mcp-session-id"), Some("s-3"));
    scene.responds(&sent, 404, &[], "");
    scene.opens("s-4");
}

/// Ends the GET stream of the session, and returns the request that resumes it.
fn resumed_get(scene: &mut Scene) -> Sent {
    let get = scene.get.take().unwrap();
    scene.ends(&get, Ok(()));
    scene.trace.clear();
    scene.later(Duration::from_secs(1));
    scene.takes("GET /mcp")
}

/// A client in a session, and its first request for the GET stream.
fn first_get() -> (Scene, Sent) {
    let mut scene = Scene::old();
    let get = scene.opens_up_to_get("s-1");
    (scene, get)
}

#[test]
fn a_server_without_a_get_stream_keeps_its_session_and_is_not_asked_again() {
    for status in [400, 404, 405, 500] {
        let (mut scene, get) = first_get();
        scene.responds(&get, status, &[], "");
        assert!(scene.open.is_empty() && scene.http.poll_timeout().is_none(), "{status}");
        assert_eq!(scene.call("a").1.field("mcp-session-id"), Some("s-1"));
    }
}

#[test]
fn tol_10_a_get_that_is_lost_or_comes_at_a_bad_time_is_sent_again() {
    let lost: [fn(&mut Scene, &Sent); 5] = [
        |scene, get| scene.ends(get, Err(HttpError::ConnectionLost)),
        |scene, get| scene.ends(get, Err(HttpError::NotConnected("no route".to_owned()))),
        |scene, get| scene.responds(get, 502, &[], "<html>bad gateway</html>"),
        |scene, get| scene.responds(get, 503, EVENTS, ""),
        |scene, get| scene.responds(get, 504, &[], ""),
    ];
    for is_first in [true, false] {
        let (mut scene, mut get) = first_get();
        if !is_first {
            scene.heads(&get, 200, EVENTS);
            scene.get = Some(get);
            get = resumed_get(&mut scene);
        }
        for lost in lost {
            lost(&mut scene, &get);
            assert!(scene.until_due() >= Duration::from_secs(1));
            get = scene.takes("GET /mcp");
            assert_eq!(get.field("mcp-session-id"), Some("s-1"));
        }
        scene.heads(&get, 200, EVENTS);
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        scene.says(&get, &event(&changed));
        assert_eq!(scene.nobody.changes, 1);
    }
    // So is the one that resumes the response to a call.
    let mut scene = Scene::legacy();
    let (call, sent) = scene.call("slow");
    scene.responds(&sent, 200, EVENTS, "id: 1\ndata:\n\n");
    for (wait, lost) in [1, 2, 4, 8, 16].into_iter().zip(lost) {
        scene.later(Duration::from_secs(wait));
        let get = scene.takes("GET /mcp");
        lost(&mut scene, &get);
    }
    scene.later(Duration::from_secs(32));
    let get = scene.takes("GET /mcp");
    scene.responds(&get, 200, EVENTS, &event(&sent.ok(text("at last"))));
    assert_eq!(scene.result(call), "at last");
}

#[test]
fn bc_03_bc_06_old_03_old_05_old_06_a_server_of_2024_11_05_names_its_endpoint_first() {
    for (chunk, refusal) in CHUNKS.into_iter().zip([400, 404, 405]) {
        let (mut scene, stream) = Scene::sse(refusal);
        scene.chunk = chunk;
        scene.says(&stream, ": hello\n\nevent: endpoint\ndata: /messages?id=7\n\n");
        let initialize = scene.takes("POST /messages?id=7 initialize");
        scene.responds(&initialize, 202, &[], "Accepted");
        scene.says(&stream, &event(&initialize.ok(initialized("2024-11-05"))));
        assert!(matches!(scene.engine.connect_state(), ConnectState::Connected));
        let opened = scene.takes("POST /messages?id=7 notifications/initialized");
        scene.responds(&opened, 202, &[], "");
        let call = scene.calls("tools/call", json!({"name": "a"}));
        let sent = scene.takes("POST /messages?id=7 tools/call");
        scene.responds(&sent, 202, &[], "");
        scene.says(&stream, &event(&sent.ok(text("called"))));
        assert_eq!(scene.result(call), "called");
        assert!(!scene.http.has_ended());
        scene.ends(&stream, Ok(()));
        assert!(scene.http.has_ended() && scene.http.take_failure().is_none());
    }
}

#[test]
fn the_endpoint_of_a_server_of_2024_11_05_redirects_within_its_origin() {
    let (mut scene, stream) = Scene::sse(404);
    scene.says(&stream, "event: endpoint\ndata: /sse/messages?id=7\n\n");
    let initialize = scene.takes("POST /sse/messages?id=7 initialize");
    scene.responds(&initialize, 307, &[("location", "messages/?id=7")], "");
    let initialize = scene.takes("POST /sse/messages/?id=7 initialize");
    scene.responds(&initialize, 202, &[], "");
    scene.says(&stream, &event(&initialize.ok(initialized("2024-11-05"))));
    scene.takes("POST /sse/messages/?id=7 notifications/initialized");
    assert!(matches!(scene.engine.connect_state(), ConnectState::Connected));
    assert_eq!(scene.http.target(), "/mcp");
}

#[test]
fn c3_old_07_without_an_endpoint_the_first_error_counts() {
    for (body, wanted) in [
        ("data: {}\n\n", "HTTP status 404"),
        ("", "HTTP status 404"),
        ("event: message\ndata: /messages\n\n", "HTTP status 404"),
        ("event: endpoint\ndata: http://elsewhere/m\n\n", "invalid endpoint event"),
    ] {
        let (mut scene, stream) = Scene::sse(404);
        scene.says(&stream, body);
        scene.ends(&stream, Ok(()));
        let ConnectState::Failed(why) = scene.engine.connect_state() else { panic!("{body}") };
        assert!(why.to_string().contains(wanted), "{why}");
        assert_eq!(scene.http.reading(stream.id), Reading::Over);
    }
    // Comments are no event.
    let (mut scene, stream) = Scene::sse(404);
    scene.chunk = 1024;
    scene.says(&stream, &":\n".repeat(33 << 10));
    assert!(matches!(scene.engine.connect_state(), ConnectState::Failed(_)));
}
