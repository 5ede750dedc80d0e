//! A panic ends only the operation that caused it.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use futures_lite::future;
use mcp_sansio::types::{LoggingLevel, TextResult};
use mcp_sansio::{Json, LogMessage};
use mcp_sansio_adapters::asynchronous::{ConnectionEnd, Context, HandlerResult, serve};
use mcp_sansio_adapters::observer::{Ended, Event, MAX_TEXT, Observer};
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::client::{Client, WIDE, call, cancel, in_session, legacy, legacy_call, short};
use crate::door::Door;
use crate::hooked::{Hooked, Operation};
use crate::pipe::pipe;
use crate::serving;
use crate::virtual_time;

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("{}", self.0);
        }
    }
}

/// Panics when it is serialized.
struct Unspeakable;

impl Serialize for Unspeakable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("not said")
    }
}

/// Panics as the tool's name says. Not an `async fn`, so that it can panic before it returns a
/// future.
fn handler(ctx: Context) -> Pin<Box<dyn Future<Output = HandlerResult>>> {
    match ctx.name() {
        "fail" => panic!("before \u{1b}[31m\u{9b}31m\u{202e}\n{}", "x".repeat(1000)),
        "steps" => Box::pin(async move {
            future::yield_now().await;
            let nothing: [u8; 0] = [];
            ctx.reply(&Json(
                json!({"content": nothing[ctx.request()?.params.as_json().as_str().len()]}),
            ))
        }),
        "change" => Box::pin(async move {
            ctx.tool(&ctx.request()?)
                .log(&LogMessage::new(LoggingLevel::Error, &Json(Unspeakable)))
                .await?;
            ctx.reply(&Json(json!({"content": []})))
        }),
        "wait" => Box::pin(async move {
            let _bomb = Bomb("while it is dropped");
            pending::<()>().await;
            ctx.reply(&Json(json!({"content": []})))
        }),
        "ask" => Box::pin(async move {
            // Its payload panics as well.
            std::panic::panic_any(Bomb("payload"));
        }),
        _ => Box::pin(async move { ctx.reply(&TextResult::new("fine")) }),
    }
}

/// Keeps the panics, and panics in everything else.
struct Told(Arc<Mutex<Vec<(String, String, String)>>>);

impl Observer for Told {
    fn on(&self, event: Event<'_>) {
        if let Event::Ended { request, how: Ended::Panicked, error, .. } = event {
            let message = error.unwrap_or_default().to_owned();
            let told = (request.method.clone(), request.name.clone(), message);
            self.0.lock().unwrap().push(told);
        }
        panic!("observer");
    }
}

#[test]
fn f9_a_handler_that_panics_ends_its_own_call() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let app = serving(handler).observer(Told(told.clone()));
    let ((), end) = in_session(&app, WIDE, async move |mut client| {
        for (id, tool) in (1..).zip(["fail", "steps", "ask"]) {
            let failed = client.ask(&call(id, tool, json!({}))).await;
            assert_eq!(short(&failed), format!("{id} error -32603"));
            assert_eq!(
                failed["error"]["message"], "The handler panicked",
                "clients do not get the panic message"
            );
        }
        // In the middle of a message of its own, which is discarded.
        let failed = client.ask(&legacy_call(4, "change")).await;
        assert_eq!(short(&failed), "4 error -32603");
        // While its future is dropped.
        client.send(&call(5, "wait", json!({}))).await;
        client.send(&cancel(5)).await;
        // Other requests continue.
        assert_eq!(short(&client.ask(&call(6, "echo", json!({}))).await), "6 fine");
        // While its connection ends.
        client.send(&call(7, "wait", json!({}))).await;
        assert_eq!(client.ask(&legacy(8, "ping", json!({}))).await["id"], 8);
    });
    assert_eq!(end, ConnectionEnd::Closed);
    let told = told.lock().unwrap();
    let names: Vec<_> =
        told.iter().map(|(method, name, _)| (method.as_str(), name.as_str())).collect();
    let expected = ["fail", "steps", "ask", "change", "wait", "wait"];
    assert_eq!(names, expected.map(|name| ("tools/call", name)));
    assert_eq!(
        told[0].2,
        format!("before \u{1b}[31m\u{9b}31m\u{202e}\n{}", "x".repeat(MAX_TEXT - 18))
    );
    assert!(told[1].2.starts_with("index out of bounds"));
    assert_eq!(
        (told[2].2.as_str(), told[3].2.as_str(), told[4].2.as_str()),
        ("", "not said", "while it is dropped")
    );
}

#[test]
fn f9_a_connection_that_panics_ends_alone() {
    let (one, _one_end) = pipe(1024, 1024);
    let (two, two_end) = pipe(1024, 1024);
    let door = Door::default();
    for (pipe, breaks) in [(one, true), (two, false)] {
        let hook = move |operation| {
            assert!(operation != Operation::Read || !breaks, "a stream that breaks");
            None
        };
        door.enter(Hooked(pipe, hook), None);
    }
    let app = serving(handler);
    let mut client = Client::new(two_end);
    let hub = app.broadcaster().clone();
    let clients = async {
        assert_eq!(short(&client.ask(&call(1, "echo", json!({}))).await), "1 fine");
        assert_eq!(hub.connections(), 1);
        hub.shut_down();
    };
    let (ended, ()) = virtual_time::block_on(future::zip(serve(&app, &door), clients));
    ended.unwrap();
}
