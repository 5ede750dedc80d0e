//! A panic ends only the operation that caused it.

use std::cell::RefCell;
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll};

use futures_lite::future;
use mcp_sansio::types::{LoggingLevel, TextResult};
use mcp_sansio::{Json, LogMessage};
use mcp_sansio_adapters::asynchronous::{
    Accepted, App, ConnectionEnd, Context, HandlerResult, serve,
};
use mcp_sansio_adapters::observer::{Ended, Event, MAX_TEXT, Observer};
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::client::{Client, WIDE, call, cancel, legacy, talk};
use crate::pipe::Pipe;
use crate::virtual_time;
use crate::{CATALOG, CONFIG};

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
    let app = App::new(&CONFIG, handler).catalog(&CATALOG).observer(Told(told.clone()));
    let ((), end) = talk(&app, WIDE, async move |mut client| {
        client.initialize().await;
        for (id, tool) in (1..).zip(["fail", "steps", "ask"]) {
            let failed = client.ask(&call(id, tool, json!({}))).await;
            assert_eq!(
                (&failed["id"], &failed["error"]["code"]),
                (&json!(id), &json!(-32603)),
                "{failed}"
            );
            assert_eq!(
                failed["error"]["message"], "The handler panicked",
                "clients do not get the panic message"
            );
        }
        // In the middle of a message of its own, which is discarded.
        let failed = client.ask(&legacy(4, "tools/call", json!({"name": "change"}))).await;
        assert_eq!(
            (&failed["id"], &failed["error"]["code"]),
            (&json!(4), &json!(-32603)),
            "{failed}"
        );
        // While its future is dropped.
        client.send(&call(5, "wait", json!({}))).await;
        client.send(&cancel(5)).await;
        // Other requests continue.
        assert_eq!(
            client.ask(&call(6, "echo", json!({}))).await["result"]["content"][0]["text"],
            "fine"
        );
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

/// A listener with a queue of streams.
struct Door(RefCell<Vec<Breaking>>);

/// A stream that can panic in the middle of a connection.
struct Breaking(Pipe, bool);

impl mcp_sansio_adapters::asynchronous::Listener for &Door {
    type Stream = Breaking;

    fn poll_accept(&self, _: &mut TaskContext<'_>) -> Poll<std::io::Result<Accepted<Breaking>>> {
        self.0.borrow_mut().pop().map_or(Poll::Pending, |stream| Poll::Ready(Ok((stream, None))))
    }
}

impl futures_lite::AsyncRead for Breaking {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        to: &mut [u8],
    ) -> Poll<std::io::Result<usize>> {
        assert!(!self.1, "a stream that breaks");
        Pin::new(&mut self.0).poll_read(cx, to)
    }
}

impl futures_lite::AsyncWrite for Breaking {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        from: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

#[test]
fn f9_a_connection_that_panics_ends_alone() {
    let told = Rc::new(RefCell::new(Vec::new()));
    let (one, _one_end) = crate::pipe::pipe(1024, 1024);
    let (two, two_end) = crate::pipe::pipe(1024, 1024);
    let door = Door(RefCell::new(vec![Breaking(two, false), Breaking(one, true)]));
    let app = App::new(&CONFIG, handler).catalog(&CATALOG);
    let mut client = Client::new(two_end);
    let hub = app.broadcaster().clone();
    let clients = async {
        assert_eq!(
            client.ask(&call(1, "echo", json!({}))).await["result"]["content"][0]["text"],
            "fine"
        );
        told.borrow_mut().push(hub.connections());
        hub.shut_down();
    };
    let (ended, ()) = virtual_time::block_on(future::zip(serve(&app, &door), clients));
    ended.unwrap();
    assert_eq!(*told.borrow(), [1]);
}
