//! Observers of streams.

use std::future::pending;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::types::{InputRequest, TextResult};
use mcp_sansio::{ErrorCode, OrToolError as _, RpcError, ServerConfig};
use mcp_sansio_adapters::asynchronous::{App, ConnectionEnd, Context, HandlerResult, Limits};
use mcp_sansio_adapters::observer::{Event, Observer, RequestInfo};
use serde_json::{Value, json};

use crate::client::{WIDE, call, cancel, legacy, modern, talk};
use crate::recorder::Recorder;
use crate::{CONFIG, TOOLS, serving};

/// Does what the first argument says.
async fn handler(ctx: Context) -> HandlerResult {
    let how = ctx.request()?.arguments().as_json().members().next().map(|(how, _)| how.to_string());
    match how.as_deref() {
        Some("fail") => Err("no paper")?,
        Some("break") => Err("the disk is full").or_internal()?,
        Some("refuse") => Err(RpcError::new(ErrorCode::Application(7), "Busy"))?,
        Some("is_error") => ctx.reply(&TextResult::error("by hand")),
        Some("panic") => panic!("a bug"),
        Some("wait") => pending().await,
        Some("ask") => {
            ctx.tool(&ctx.request()?).request_input("roots", InputRequest::ListRoots).await?;
            ctx.reply(&TextResult::new("asked"))
        }
        _ => {
            future::yield_now().await;
            ctx.reply(&TextResult::new("said"))
        }
    }
}

fn how(id: u32, how: &str) -> Value {
    call(id, "echo", json!({how: 1}))
}

/// Sends these messages and waits for the last response. Returns what the observer is told.
fn observed(messages: &[Value]) -> Vec<String> {
    let recorder = Recorder::default();
    let app = serving(handler);
    // A backtrace takes longer than a second on a busy machine.
    let app = app.watch(Duration::from_secs(3600)).observer(recorder.clone());
    recorder.announce(app.broadcaster());
    talk(&app, WIDE, async move |mut client| {
        for message in messages {
            client.send(message).await;
        }
        client.ask(&legacy(100, "ping", json!({}))).await;
    });
    let mut lines = recorder.lines();
    assert_eq!(lines.remove(0), "connected: stream");
    assert_eq!(lines.pop().unwrap(), "disconnected: closed by the client");
    lines
}

#[test]
fn each_request_begins_and_ends_in_its_own_way() {
    for (what, end) in [
        ("say", "responded"),
        ("fail", "tool failed: no paper"),
        ("break", "error -32603: the disk is full"),
        ("refuse", "error 7: Busy"),
        ("is_error", "tool failed: by hand"),
        ("ask", "input required"),
        ("panic", "panicked: a bug"),
    ] {
        let ended = format!("1 ended: {end}");
        assert_eq!(observed(&[how(1, what)]), ["tools/call echo (id 1) began", &ended]);
    }
    let unknown = [call(1, "unknown", json!({})), modern(2, "tools/list", json!({})), json!(7)];
    assert_eq!(
        observed(&unknown),
        [
            "tools/call unknown (id 1) began",
            "1 ended: error -32602: Unknown tool",
            "tools/list (id 2) began",
            "2 ended: responded",
            "message refused: Not a request, notification or response",
        ]
    );
}

#[test]
fn a_line_that_cannot_be_read_is_shown() {
    let recorder = Recorder::default();
    let app = serving(handler).observer(recorder.clone());
    talk(&app, WIDE, async move |mut client| {
        let refused = client.ask_text(r#"{"jsonrpc": "2.0","#).await;
        assert_eq!(refused["error"]["code"], -32700);
    });
    assert_eq!(
        recorder.lines()[1],
        r#"Parse error: the message is not JSON: on a stream it takes one line (byte 18 of "{"jsonrpc": "2.0",")"#
    );
}

#[test]
fn a_call_ends_when_it_is_cancelled_and_when_its_client_is_gone() {
    assert_eq!(
        observed(&[how(1, "wait"), how(2, "wait"), cancel(1)]),
        [
            "tools/call echo (id 1) began",
            "tools/call echo (id 2) began",
            "1 ended: cancelled",
            "2 ended: connection ended",
        ]
    );
}

#[test]
fn a_call_that_waits_for_its_turn_ends_as_one_that_runs() {
    let recorder = Recorder::default();
    let app = App::new(&CONFIG, handler)
        .observer(recorder.clone())
        .limits(Limits { max_running: 1, ..Limits::new() });
    talk(&app, WIDE, async |mut client| {
        for id in 1..=3 {
            client.send(&how(id, "wait")).await;
        }
        client.send(&cancel(2)).await;
        client.ask(&legacy(100, "ping", json!({}))).await;
    });
    assert_eq!(
        recorder.lines_with("ended"),
        ["2 ended: cancelled", "1 ended: connection ended", "3 ended: connection ended"]
    );
}

#[test]
fn timeouts_limits_and_shutdown_are_told() {
    static LIMITED: ServerConfig = TOOLS.request_timeout(Duration::from_millis(50));
    let recorder = Recorder::default();
    let app = App::new(&LIMITED, handler).observer(recorder.clone());
    let app = app.limits(Limits {
        max_in_flight: 2,
        max_params: 1,
        full_timeout: Duration::ZERO,
        ..Limits::new()
    });
    let ((), end) = talk(&app, WIDE, async |mut client| {
        client.send(&how(1, "wait")).await;
        assert_eq!(client.ask(&how(2, "say")).await["id"], 2);
        assert_eq!(client.next().await["id"], 1);
        client.send(&how(3, "say")).await;
        assert_eq!(client.next().await["id"], 3);
        app.broadcaster().shut_down();
        assert_eq!(client.line().await, None);
    });
    assert_eq!(end, ConnectionEnd::ShutDown);
    assert_eq!(
        recorder.lines(),
        [
            "connected: stream",
            "tools/call echo (id 1) began",
            "tools/call echo (id 2) began",
            "2 ended: refused: too many requests in flight",
            "1 ended: timed out",
            "tools/call echo (id 3) began",
            "3 ended: responded",
            "disconnected: shut down",
        ]
    );
}

#[test]
fn requests_beyond_the_table_and_after_a_shutdown_are_refused() {
    let recorder = Recorder::default();
    let app = App::new(&CONFIG, handler).observer(recorder.clone());
    let app =
        app.limits(Limits { max_in_flight: 1, full_timeout: Duration::ZERO, ..Limits::new() });
    talk(&app, WIDE, async |mut client| {
        client.send(&how(1, "wait")).await;
        assert_eq!(client.ask(&how(2, "say")).await["id"], 2);
    });
    assert_eq!(recorder.lines()[2], "message refused: too many requests in flight");
    let app = App::new(&CONFIG, handler).observer(recorder.clone());
    talk(&app, WIDE, async |mut client| {
        client.send(&how(1, "wait")).await;
        client.ask(&legacy(100, "ping", json!({}))).await;
        app.broadcaster().shut_down();
        assert_eq!(client.ask(&how(2, "say")).await["id"], 2);
    });
    assert_eq!(recorder.lines()[3..4], ["2 ended: refused: shutting down"]);
}

#[test]
fn a_handler_runs_inside_of_the_observer_each_time_it_is_polled() {
    /// Counts the times that each request runs.
    struct Runs(Arc<Mutex<Vec<String>>>);

    impl Observer for Runs {
        fn on(&self, _: Event<'_>) {}

        fn run(&self, request: &RequestInfo, handler: &mut dyn FnMut()) {
            self.0.lock().unwrap().push(request.id.clone());
            handler();
        }
    }

    let runs = Arc::default();
    let app = App::new(&CONFIG, handler).observer(Runs(Arc::clone(&runs)));
    talk(&app, WIDE, async |mut client| {
        client.ask(&how(1, "say")).await;
        client.ask(&how(2, "fail")).await;
    });
    // The call that makes the future, and one for each poll.
    assert_eq!(*runs.lock().unwrap(), ["1", "1", "1", "2", "2"]);
}

#[test]
fn a_handler_that_never_yields_is_told_while_it_runs() {
    /// Lets the handler go on.
    struct Rescue(SyncSender<String>);

    impl Observer for Rescue {
        fn on(&self, event: Event<'_>) {
            if let Event::Stalled { request, .. } = event {
                self.0.send(request.to_string()).unwrap();
            }
        }
    }

    let (sender, receiver): (_, Receiver<String>) = sync_channel(0);
    let handler = |ctx: Context| {
        let told = receiver.recv_timeout(Duration::from_secs(10));
        async move { ctx.reply(&TextResult::new(&told.unwrap())) }
    };
    let app = serving(handler);
    let app = app.observer(Rescue(sender)).watch(Duration::from_millis(20));
    talk(&app, WIDE, async |mut client| {
        for id in 1..=2 {
            let answer = client.ask(&how(id, "say")).await;
            let text = format!("tools/call echo (id {id})");
            assert_eq!(answer["result"]["content"][0]["text"], text);
        }
    });
}
