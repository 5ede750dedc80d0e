//! Limits of numbers, bytes and times; cancellation.

use std::time::Duration;

use mcp_sansio_engine::{HttpError, HttpLimits, MAX_ONE_WAY_POSTS, Reading};
use serde_json::json;

use crate::scene::{CHUNKS, EVENTS, Scene, event, text};

#[test]
fn c1_so_many_messages_without_a_response_are_in_flight_and_calls_go_on() {
    let mut scene = Scene::modern();
    for _ in 0..300 {
        scene.notify("notifications/x");
    }
    assert_eq!(scene.open.len(), MAX_ONE_WAY_POSTS);
    let (call, sent) = {
        // The queue is full of 256 messages until some are accepted.
        assert!(scene.http.is_full());
        for _ in 0..100 {
            let sent = scene.takes("POST /mcp notifications/x");
            scene.responds(&sent, 202, &[], "");
        }
        scene.call("a")
    };
    assert_eq!(scene.open.len(), MAX_ONE_WAY_POSTS);
    scene.succeeds(call, &sent);
}

#[test]
fn a_message_that_is_not_accepted_in_time_counts_as_rejected() {
    let mut scene = Scene::modern();
    scene.notify("notifications/x");
    scene.later(Duration::from_secs(20));
    let sent = scene.takes("POST /mcp notifications/x");
    scene.heads(&sent, 400, &[]);
    scene.later(Duration::from_secs(29));
    assert_eq!(scene.http.reading(sent.id), Reading::Body, "another 30 s for the response");
    scene.later(Duration::from_secs(1));
    assert_eq!(scene.http.reading(sent.id), Reading::Over);
    assert!(scene.trace[1].starts_with("message rejected: "), "{:?}", scene.trace);
    assert!(scene.trace[1].contains("timed out"), "{:?}", scene.trace);
    // The client limits the time of its calls.
    let (_, sent) = scene.call("a");
    assert!(scene.http.poll_timeout().is_none());
    scene.ends(&sent, Err(HttpError::ConnectionLost));
}

#[test]
fn canc_13_time_02_canc_14_a_cancellation_ends_the_exchange_and_is_sent_before_2026_07_28() {
    let mut scene = Scene::modern();
    let (call, sent) = scene.call("slow");
    scene.heads(&sent, 200, EVENTS);
    scene.open.push(sent);
    scene.cancel(call);
    assert_eq!(scene.trace, ["POST /mcp tools/call", "closed: POST /mcp tools/call"]);

    let mut scene = Scene::legacy();
    let (call, sent) = scene.call("slow");
    scene.open.push(sent);
    scene.cancel(call);
    assert_eq!(scene.trace.len(), 3);
    assert!(scene.trace.contains(&"POST /mcp notifications/cancelled".to_owned()));
}

#[test]
fn canc_10_a_task_is_cancelled_although_the_client_closes() {
    for steps in 0..3 {
        let mut scene = Scene::legacy();
        scene.engine.cancel_task(scene.now, "t-1".to_owned(), &mut scene.nobody);
        match steps {
            0 => {}
            1 => assert_eq!(scene.http.take_posts(scene.now, &mut scene.engine), 1),
            _ => scene.work(),
        }
        scene.close();
        let cancel = scene.takes("POST /mcp tasks/cancel");
        scene.responds_with(&cancel, 200, &cancel.ok(json!({})));
        scene.takes("DELETE /mcp");
    }
}

#[test]
fn messages_that_are_too_long_are_lost_alone() {
    for chunk in CHUNKS {
        let limits = HttpLimits { max_message: 1024, ..HttpLimits::new() };
        let mut scene = Scene::modern_with(limits);
        scene.chunk = chunk;
        let long = "x".repeat(2000);
        let (call, sent) = scene.call("a");
        scene.heads(&sent, 200, &[("content-type", "application/json")]);
        scene.says(&sent, &sent.ok(text(&long)).to_string());
        assert_eq!(scene.http.reading(sent.id), Reading::Over);
        assert!(scene.result(call).contains("longer than"));

        let (call, sent) = scene.call("a");
        scene.heads(&sent, 200, EVENTS);
        let message = json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": long}});
        scene.says(&sent, &event(&message));
        assert!(scene.trace.last().unwrap().starts_with("message is longer"), "{:?}", scene.trace);
        scene.says(&sent, &event(&sent.ok(text("called"))));
        assert_eq!(scene.result(call), "called");
    }
}

#[test]
fn c3_a_stream_without_events_ends() {
    let limits = HttpLimits { max_message: 1024, ..HttpLimits::new() };
    let mut scene = Scene::modern_with(limits);
    let (call, sent) = scene.call("a");
    scene.heads(&sent, 200, EVENTS);
    scene.chunk = 100;
    scene.says(&sent, &": comment\n".repeat(17 * 103));
    assert_eq!(scene.http.reading(sent.id), Reading::Over);
    assert!(scene.result(call).starts_with("the connection ended before the response"));
}

#[test]
fn c2_a_megabyte_waits_for_the_client_and_then_the_streams_and_is_given_back() {
    let mut scene = Scene::modern();
    let (_, sent) = scene.call("a");
    scene.heads(&sent, 200, EVENTS);
    let params = json!({"progressToken": sent.body["id"], "progress": 1, "x": "x".repeat(1000)});
    let message = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
    for is_taken in [true, true, false] {
        let mut passed = 0;
        while !scene.http.waits_for_room(sent.id) {
            scene.http.body(scene.now, sent.id, event(&message).as_bytes());
            passed += message.to_string().len();
        }
        assert!(!scene.http.has_room());
        assert!((900 << 10..1 << 20).contains(&passed), "{passed}");
        // Exchanges whose body is not delivered go on, too.
        if is_taken {
            scene.work()
        } else {
            scene.http.discard()
        }
        assert!(scene.http.has_room() && !scene.http.waits_for_room(sent.id));
    }
}
