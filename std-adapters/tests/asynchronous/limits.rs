//! Limits of room and time: full buffers, deadlines, idle connections, shutdown.

use std::cell::Cell;
use std::future::pending;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{self, Poll};
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};
use mcp_sansio::types::{Implementation, InputRequest, LoggingLevel, TextResult};
use mcp_sansio::{
    Json, LogMessage, OrToolError as _, Progress, RawJson, ServerConfig, ServerFeatures, ToolError,
};
use mcp_sansio_adapters::asynchronous::{
    App, Connection, ConnectionEnd, Context, HandlerResult, Limits,
};
use serde::{Serialize, Serializer};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::client::{Client, WIDE, call, legacy, modern, talk};
use crate::pipe::{Pipe, pipe};
use crate::virtual_time;
use crate::{CATALOG, CONFIG};

async fn echo(ctx: Context) -> HandlerResult {
    let text = ctx
        .request()?
        .arguments()
        .get("text")
        .and_then(RawJson::as_string)
        .ok_or(ToolError::invalid_arguments("text must be a string"))?;
    ctx.reply(&TextResult::new(&text.to_string()))
}

#[test]
fn a_client_that_writes_everything_before_it_reads_does_not_deadlock() {
    let app = App::new(&CONFIG, echo)
        .catalog(&CATALOG)
        .limits(Limits { max_pending: 1024, ..Limits::new() });
    let text = "x".repeat(700);
    for capacity in [1, 7, 4096] {
        talk(&app, (capacity, usize::MAX), async |mut client| {
            client.initialize().await;
            // Far more than both directions hold: the server reads on while it cannot write.
            for id in 1..=100 {
                client.send(&call(id, "echo", json!({"text": text}))).await;
            }
            client.send(&modern(101, "server/discover", json!({}))).await;
            client.stream.write_all(&[b'x'; 100]).await.unwrap();
            client.stream.write_all(b"\n").await.unwrap();
            for id in 1..=100 {
                let answer = client.next().await;
                assert_eq!(
                    (&answer["id"], &answer["result"]["content"][0]["text"]),
                    (&json!(id), &json!(text))
                );
            }
            assert_eq!(client.next().await["id"], 101);
            assert_eq!(client.next().await["error"]["code"], -32700);
        });
    }
}

#[test]
fn a_handler_that_waits_for_room_tries_again_when_there_is_much() {
    /// Counts how often it is written.
    struct Counted<'c>(&'c Cell<usize>);

    impl Serialize for Counted<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.set(self.0.get() + 1);
            serializer.serialize_str("a message")
        }
    }

    let written = Rc::new(Cell::new(0));
    let app = App::new(&CONFIG, |ctx: Context| {
        let written = written.clone();
        async move {
            for _ in 0..200 {
                ctx.tool(&ctx.request()?)
                    .log(&LogMessage::new(LoggingLevel::Error, &Json(Counted(&written))))
                    .await?;
            }
            ctx.reply(&TextResult::new("done"))
        }
    });
    let app = app.catalog(&CATALOG).limits(Limits { max_pending: 1024, ..Limits::new() });
    talk(&app, (1, 1), async |mut client| {
        client.initialize().await;
        client.send(&legacy(1, "tools/call", json!({"name": "echo"}))).await;
        while client.next().await["id"] != 1 {}
    });
    // Not once for each byte that the client reads.
    assert!(written.get() < 500, "{}", written.get());
}

#[test]
fn a_request_that_times_out_gets_an_error_and_its_handler_is_dropped() {
    static HURRIED: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS)
            .request_timeout(Duration::from_millis(5));
    let dropped = Rc::new(Cell::new(false));
    let app = App::new(&HURRIED, |_: Context| {
        let guard = Guard(dropped.clone());
        async move {
            let _guard = guard;
            pending().await
        }
    })
    .catalog(&CATALOG);
    talk(&app, WIDE, async |mut client| {
        // There is no input meanwhile: only the timer wakes the connection.
        let expired = client.ask(&call(1, "wait", json!({}))).await;
        assert_eq!(expired["error"]["code"], -32603, "{expired}");
        assert!(dropped.get());
    });
}

struct Guard(Rc<Cell<bool>>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[test]
fn silence_ends_a_connection_unless_a_request_is_in_flight() {
    let (release, gate) = smol::channel::bounded::<()>(1);
    let app = App::new(&CONFIG, |ctx: Context| {
        let gate = gate.clone();
        async move {
            gate.recv().await.or_internal()?;
            ctx.reply(&Json(json!({"content": []})))
        }
    })
    .catalog(&CATALOG)
    .limits(Limits { idle_timeout: Some(Duration::from_millis(200)), ..Limits::new() });
    let (kept, end) = talk(&app, WIDE, async move |mut client| {
        client.send(&call(1, "wait", json!({}))).await;
        // Long after the last activity.
        sleep(Duration::from_secs(3600)).await;
        release.send(()).await.unwrap();
        assert_eq!(client.next().await["id"], 1);
        assert_eq!(client.line().await, None, "the connection was closed");
        client
    });
    assert_eq!(end, ConnectionEnd::Idle);
    drop(kept);
}

#[test]
fn a_client_that_does_not_read_is_ended_by_the_silence_too() {
    // The second has more output than there is room for, so its request stays in flight.
    for len in [100, 100_000] {
        let app = App::new(&CONFIG, echo).catalog(&CATALOG).limits(Limits {
            idle_timeout: Some(Duration::from_millis(10)),
            max_pending: 1024,
            ..Limits::new()
        });
        let (server, mut client) = pipe(64, 64);
        let written = async move {
            let line = format!("{}\n", call(1, "echo", json!({"text": "x".repeat(len)})));
            // On a busy machine the connection may end in the middle.
            let _ = client.write_all(line.as_bytes()).await;
            client
        };
        let connection = async { Connection::new(&app, server).await.unwrap() };
        let (end, _client) = virtual_time::block_on(future::zip(connection, written));
        assert_eq!(end, ConnectionEnd::Idle);
    }
}

#[test]
fn ping_06_an_unresponsive_client_is_disconnected() {
    static WATCHFUL: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS)
            .ping_interval(Duration::from_millis(5))
            .ping_timeout(Duration::from_millis(5));
    let app = App::new(&WATCHFUL, echo).catalog(&CATALOG);
    let (kept, end) = talk(&app, WIDE, async move |mut client| {
        client.initialize().await;
        assert_eq!(client.next().await["method"], "ping");
        while client.line().await.is_some() {}
        client
    });
    assert_eq!(end, ConnectionEnd::Unresponsive);
    drop(kept);
}

#[test]
fn a_connection_without_anything_in_flight_ends_at_once_when_all_are_shut_down() {
    let app = App::new(&CONFIG, echo).catalog(&CATALOG);
    let (server, client) = pipe(64, 64);
    let mut client = Client::new(client);
    let mut connection = Connection::new(&app, server);
    virtual_time::block_on(async {
        // The handler waits.
        assert!(future::poll_once(&mut connection).await.is_none());
        app.broadcaster().shut_down();
        assert_eq!(connection.await.unwrap(), ConnectionEnd::ShutDown);
        assert_eq!(client.line().await, None);
    });
}

/// A stream whose flush never completes, and once takes longer than the next deadline.
struct SlowToFlush {
    pipe: Pipe,
    /// Time of the first deadline, and a time after the second.
    from: Rc<Cell<Option<(Instant, Instant)>>>,
    flushes: u32,
}

impl AsyncRead for SlowToFlush {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
        to: &mut [u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_read(cx, to)
    }
}

impl AsyncWrite for SlowToFlush {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
        from: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write(cx, from)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        _: &mut task::Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        if let Some((_, second)) = self.from.get().filter(|(first, _)| *first <= Instant::now()) {
            self.flushes += 1;
            // At first the timer has not been polled. The second time nothing is due yet, but will
            // be at the end of this call.
            if self.flushes == 2 {
                let passes = second.saturating_duration_since(Instant::now());
                virtual_time::pass(passes);
            }
        }
        Poll::Pending
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn p1_a_time_limit_that_passes_while_a_connection_is_polled_is_not_forgotten() {
    const LIMIT: Duration = Duration::from_millis(100);
    static HURRIED: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS)
            .request_timeout(LIMIT);
    let (release, gate) = smol::channel::bounded::<()>(1);
    let app = App::new(&HURRIED, |ctx: Context| {
        let gate = gate.clone();
        async move {
            if ctx.name() == "wait" {
                pending::<()>().await;
            }
            gate.recv().await.or_internal()?;
            ctx.reply(&TextResult::new("in time"))
        }
    })
    .catalog(&CATALOG);
    let (server, client) = pipe(1 << 20, 1 << 20);
    let from = Rc::new(Cell::new(None));
    let connection =
        Connection::new(&app, SlowToFlush { pipe: server, from: from.clone(), flushes: 0 });
    let conversation = async {
        let mut client = Client::new(client);
        let first = Instant::now();
        client.send(&call(1, "echo", json!({}))).await;
        sleep(Duration::from_millis(40)).await;
        let second = Instant::now();
        client.send(&call(2, "wait", json!({}))).await;
        future::yield_now().await;
        // Its deadline stays behind, and is earlier than that of the second.
        release.send(()).await.unwrap();
        assert_eq!(client.next().await["id"], 1);
        let margin = Duration::from_millis(20);
        from.set(Some((first + LIMIT, second + LIMIT + margin)));
        let late = async {
            sleep(Duration::from_secs(20)).await;
            panic!("the second deadline is lost");
        };
        let expired = future::or(client.next(), late).await;
        assert_eq!(
            (&expired["id"], &expired["error"]["code"]),
            (&json!(2), &json!(-32603)),
            "{expired}"
        );
    };
    let connection = async {
        let _ = connection.await;
        pending().await
    };
    virtual_time::block_on(future::or(conversation, connection));
}

#[test]
fn d4_single_bytes_do_not_keep_a_connection() {
    let app = App::new(&CONFIG, |ctx: Context| async move {
        ctx.reply(&TextResult::new(&"x".repeat(100_000)))
    })
    .catalog(&CATALOG)
    .limits(Limits {
        idle_timeout: Some(Duration::from_millis(50)),
        max_pending: 1024,
        ..Limits::new()
    });
    // One client never ends its line, and one never finishes reading its response.
    for request in [None, Some(call(1, "echo", json!({})))] {
        let (dripped, end) = talk(&app, (64, 64), async |mut client| {
            if let Some(request) = &request {
                client.send(request).await;
            }
            for byte in 0..2_000 {
                sleep(Duration::from_millis(5)).await;
                let is_open = match request {
                    None => client.stream.write_all(b"x").await.is_ok(),
                    Some(_) => client.stream.read(&mut [0]).await.is_ok_and(|read| read > 0),
                };
                if !is_open {
                    return byte;
                }
            }
            2_000
        });
        assert_eq!(end, ConnectionEnd::Idle);
        assert!(dripped < 2_000);
    }
}

#[test]
fn s8_the_longest_time_limits_mean_never() {
    static PATIENT: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS)
            .request_timeout(Duration::MAX)
            .call_timeout(Duration::MAX)
            .ping_interval(Duration::MAX)
            .ping_timeout(Duration::MAX)
            .progress_interval(Duration::MAX);
    let app = App::new(&PATIENT, |ctx: Context| async move {
        let request = ctx.request()?;
        let tool = ctx.tool(&request);
        tool.progress(&Progress::of(1)).await?;
        if ctx.name() == "ask" {
            tool.request_input("roots", InputRequest::ListRoots).await?;
        }
        ctx.reply(&TextResult::new("done"))
    })
    .catalog(&CATALOG)
    .limits(Limits {
        idle_timeout: Some(Duration::MAX),
        full_timeout: Duration::MAX,
        max_in_flight: 1,
        ..Limits::new()
    });
    talk(&app, (64, 64), async move |mut client| {
        client.initialize().await;
        let question = client.ask(&legacy(1, "tools/call", json!({"name": "ask"}))).await;
        assert_eq!(question["method"], "roots/list", "{question}");
        let answered = client
            .ask(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}))
            .await;
        assert_eq!(answered["id"], 1);
        for id in 2..10 {
            client.send(&legacy(id, "tools/call", json!({"name": "echo"}))).await;
        }
        for id in 2..10 {
            assert_eq!(client.next().await["id"], id);
        }
    });
}

/// Limits on memory may have any value without an arithmetic overflow.
#[test]
fn s8_the_largest_limits_are_no_limits() {
    let app = App::new(&CONFIG, echo).catalog(&CATALOG).limits(Limits {
        max_in_flight: u16::MAX,
        max_running: usize::MAX,
        max_params: usize::MAX,
        max_connections: usize::MAX,
        ..Limits::new()
    });
    talk(&app, WIDE, async move |mut client| {
        assert_eq!(client.ask(&call(1, "echo", json!({"text": "x"}))).await["id"], 1);
    });
}

#[test]
fn the_smallest_limits_still_serve_a_call() {
    let app = App::new(&CONFIG, echo).catalog(&CATALOG).limits(Limits {
        max_in_flight: 0,
        max_subscriptions: 0,
        max_running: 0,
        max_params: 0,
        max_line: 0,
        max_pending: 0,
        ..Limits::new()
    });
    talk(&app, WIDE, async move |mut client| {
        assert_eq!(client.ask(&call(1, "echo", json!({"text": "x"}))).await["id"], 1);
    });
}
