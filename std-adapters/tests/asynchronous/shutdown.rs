//! Calls when the application shuts down, or the input ends.

use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Poll, Wake, Waker};
use std::time::Duration;

use futures_lite::future;
use futures_lite::io::{AsyncReadExt as _, AsyncWriteExt as _, Cursor};
use mcp_sansio::ServerConfig;
use mcp_sansio::types::TextResult;
use mcp_sansio_adapters::asynchronous::{
    App, Connection, ConnectionEnd, Context, HandlerResult, JoinedIo, Limits, accept,
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::TOOLS;
use crate::client::call;
use crate::door::Door;
use crate::pipe::pipe;
use crate::virtual_time::block_on;

static CONFIG: ServerConfig<'_> = TOOLS;

const LIMIT: Duration = Duration::from_millis(300);

/// Ends after a third of the limit, or never, or with a long text.
async fn handle(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let params = request.params.as_json().as_str();
    if params.contains("long") {
        return ctx.text(&"x".repeat(10_000));
    }
    match params.contains("slow") {
        true => sleep(LIMIT / 3).await,
        false => future::pending().await,
    }
    ctx.reply(&TextResult::new("done"))
}

fn calls(tools: &[&str]) -> String {
    (0..).zip(tools).map(|(id, tool)| format!("{}\n", call(id, tool, json!({})))).collect()
}

/// Returns the output of a future, and when it had it.
async fn timed<R>(future: impl Future<Output = R>) -> (R, Duration) {
    let began = Instant::now();
    (future.await, began.elapsed())
}

struct Woken;

impl Wake for Woken {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn nothing_is_kept_of_a_future_that_has_accepted() {
    let (app, woken) = (App::new(&CONFIG, handle), Arc::new(Woken));
    for _ in 0..3 {
        let door = Door::default();
        door.enter(Cursor::new(Vec::new()), None);
        let waker = Waker::from(Arc::clone(&woken));
        let mut accepting = pin!(accept(&app, &door));
        let accepted = accepting.as_mut().poll(&mut task::Context::from_waker(&waker));
        assert!(matches!(accepted, Poll::Ready(Ok(Some(_)))));
    }
    assert_eq!(Arc::strong_count(&woken), 1);
}

#[test]
fn at_the_end_of_the_input_calls_finish_until_the_limit() {
    let app =
        App::new(&CONFIG, handle).limits(Limits { end_of_input_timeout: LIMIT, ..Limits::new() });
    for (tools, lasts) in [(&["slow"][..], LIMIT / 3), (&["slow", "never"], LIMIT)] {
        let mut output = Vec::new();
        let stream = JoinedIo::new(Cursor::new(calls(tools)), &mut output);
        let (end, took) = block_on(timed(Connection::new(&app, stream)));
        assert_eq!((end.unwrap(), took), (ConnectionEnd::Closed, lasts));
        let lines = String::from_utf8(output).unwrap();
        assert!(lines.lines().count() == 1 && lines.contains("done"), "{lines}");
    }
}

#[test]
fn after_a_shutdown_calls_finish_until_the_limit() {
    let wait = LIMIT / 10;
    for (tools, lasts) in [(&["slow"][..], LIMIT / 3), (&["slow", "never"], wait + LIMIT)] {
        let app =
            App::new(&CONFIG, handle).limits(Limits { shutdown_timeout: LIMIT, ..Limits::new() });
        let (stream, mut client) = pipe(4096, 4096);
        let work = async {
            client.write_all(calls(tools).as_bytes()).await.unwrap();
            sleep(wait).await;
            app.broadcaster().shut_down();
            let late = calls(tools).replace(r#""id":"#, r#""id":1"#);
            client.write_all(late.as_bytes()).await.unwrap();
            let mut lines = String::new();
            client.read_to_string(&mut lines).await.unwrap();
            lines
        };
        let ((end, took), lines) =
            block_on(future::zip(timed(Connection::new(&app, stream)), work));
        assert_eq!((end.unwrap(), took), (ConnectionEnd::ShutDown, lasts));
        let count = |text| lines.lines().filter(|line| line.contains(text)).count();
        assert_eq!((count("done"), count("shutting down")), (1, tools.len()), "{lines}");
    }
}

#[test]
fn after_a_shutdown_a_client_that_does_not_read_is_waited_for_until_the_limit() {
    let (wait, grace) = (LIMIT * 10, Duration::from_millis(500));
    // The end of the input alone cuts nobody off who reads slowly.
    for (has_input, how) in [(true, ConnectionEnd::ShutDown), (false, ConnectionEnd::Closed)] {
        let app =
            App::new(&CONFIG, handle).limits(Limits { shutdown_timeout: LIMIT, ..Limits::new() });
        let (stream, mut client) = pipe(4096, 4096);
        let work = async {
            client.write_all(calls(&["long"]).as_bytes()).await.unwrap();
            if !has_input {
                client.close().await.unwrap();
            }
            sleep(wait).await;
            app.broadcaster().shut_down();
            sleep(LIMIT * 10).await;
            panic!("it is still served");
        };
        let (end, took) = block_on(future::or(timed(Connection::new(&app, stream)), work));
        assert_eq!((end.unwrap(), took), (how, wait + LIMIT + grace));
    }
}
