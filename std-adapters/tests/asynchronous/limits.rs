//! Limits of room and time: full buffers, deadlines, idle connections, shutdown.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
use mcp_sansio::types::{InputRequest, LoggingLevel, TextResult};
use mcp_sansio::{
    Json, LogMessage, OrToolError as _, OwnedJson, Progress, RawJson, Revision, RpcError,
    ServerConfig, ToolError,
};
use mcp_sansio_adapters::asynchronous::{
    App, Connection, ConnectionEnd, Context, HandlerResult, Limits,
};
use serde::{Serialize, Serializer};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::client::{Client, WIDE, call, in_session, legacy, legacy_call, modern, short, talk};
use crate::hooked::{Hooked, Operation};
use crate::pipe::pipe;
use crate::virtual_time;
use crate::{CATALOG, CONFIG, TOOLS, serving};

async fn echo(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let text = request.arguments().get("text").and_then(RawJson::as_string);
    ctx.text(&text.ok_or("text must be a string")?.to_string())
}

#[test]
fn a_request_that_times_out_gets_an_error_and_its_handler_is_dropped() {
    static HURRIED: ServerConfig<'_> = TOOLS.request_timeout(Duration::from_millis(5));
    let alive = Rc::new(());
    let app = App::new(&HURRIED, async |_: Context| {
        let _held = Rc::clone(&alive);
        pending().await
    });
    let app = app.catalog(&CATALOG);
    talk(&app, WIDE, async |mut client| {
        // There is no input meanwhile: only the timer wakes the connection.
        assert_eq!(short(&client.ask(&call(1, "wait", json!({}))).await), "1 error -32603");
        assert_eq!(Rc::strong_count(&alive), 1);
    });
}

#[test]
fn a_client_that_writes_everything_before_it_reads_does_not_deadlock() {
    let app = serving(echo).limits(Limits { max_pending: 1024, ..Limits::new() });
    let text = "x".repeat(700);
    for capacity in [1, 7, 4096] {
        in_session(&app, (capacity, usize::MAX), async |mut client| {
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

    let written = Cell::new(0);
    let app = App::new(&CONFIG, async |ctx: Context| {
        for _ in 0..200 {
            let message = Json(Counted(&written));
            let message = LogMessage::new(LoggingLevel::Error, &message);
            ctx.tool(&ctx.request()?).log(&message).await?;
        }
        ctx.reply(&TextResult::new("done"))
    });
    let app = app.catalog(&CATALOG).limits(Limits { max_pending: 1024, ..Limits::new() });
    in_session(&app, (1, 1), async |mut client| {
        client.send(&legacy_call(1, "echo")).await;
        while client.next().await["id"] != 1 {}
    });
    // Not once for each byte that the client reads.
    assert!(written.get() < 500, "{}", written.get());
}

#[test]
fn silence_ends_a_connection_unless_a_request_is_in_flight() {
    let (release, gate) = smol::channel::bounded::<()>(1);
    let app = serving(async |ctx: Context| {
        gate.recv().await.or_internal()?;
        ctx.reply(&Json(json!({"content": []})))
    })
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
        let app = serving(echo).limits(Limits {
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
        TOOLS.ping_interval(Duration::from_millis(5)).ping_timeout(Duration::from_millis(5));
    let app = App::new(&WATCHFUL, echo).catalog(&CATALOG);
    let (kept, end) = in_session(&app, WIDE, async move |mut client| {
        assert_eq!(client.next().await["method"], "ping");
        while client.line().await.is_some() {}
        client
    });
    assert_eq!(end, ConnectionEnd::Unresponsive);
    drop(kept);
}

#[test]
fn a_connection_without_anything_in_flight_ends_at_once_when_all_are_shut_down() {
    let app = serving(echo);
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

#[test]
fn p1_a_time_limit_that_passes_while_a_connection_is_polled_is_not_forgotten() {
    const LIMIT: Duration = Duration::from_millis(100);
    static HURRIED: ServerConfig<'_> = TOOLS.request_timeout(LIMIT);
    let (release, gate) = smol::channel::bounded::<()>(1);
    let app = App::new(&HURRIED, async |ctx: Context| {
        if ctx.name() == "wait" {
            pending::<()>().await;
        }
        gate.recv().await.or_internal()?;
        ctx.reply(&TextResult::new("in time"))
    });
    let app = app.catalog(&CATALOG);
    let (server, client) = pipe(1 << 20, 1 << 20);
    // Time of the first deadline, and a time after the second.
    let from = Rc::new(Cell::new(None::<(Instant, Instant)>));
    let (slow, mut flushes) = (from.clone(), 0);
    // No flush completes, and one takes longer than the next deadline.
    let connection = Connection::new(
        &app,
        Hooked(server, move |operation| {
            let is_late = slow.get().filter(|(first, _)| *first <= Instant::now());
            if operation == Operation::Flush
                && let Some((_, second)) = is_late
            {
                flushes += 1;
                // At first the timer has not been polled. The second time nothing is due yet, but
                // will be at the end of this call.
                if flushes == 2 {
                    virtual_time::pass(second.saturating_duration_since(Instant::now()));
                }
            }
            (operation == Operation::Flush).then_some(Poll::Pending)
        }),
    );
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
        assert_eq!(short(&expired), "2 error -32603");
    };
    let connection = async {
        let _ = connection.await;
        pending().await
    };
    virtual_time::block_on(future::or(conversation, connection));
}

#[test]
fn d4_single_bytes_do_not_keep_a_connection() {
    let app =
        serving(|ctx: Context| async move { ctx.reply(&TextResult::new(&"x".repeat(100_000))) })
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
    static PATIENT: ServerConfig<'_> = TOOLS
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
    in_session(&app, (64, 64), async move |mut client| {
        let question = client.ask(&legacy_call(1, "ask")).await;
        assert_eq!(question["method"], "roots/list", "{question}");
        let answered = client
            .ask(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}))
            .await;
        assert_eq!(answered["id"], 1);
        for id in 2..10 {
            client.send(&legacy_call(id, "echo")).await;
        }
        for id in 2..10 {
            assert_eq!(client.next().await["id"], id);
        }
    });
}

#[test]
fn m1_results_that_are_not_read_have_a_limit() {
    const CALLS: u32 = 100;
    for kind in 0..3 {
        let begun = Cell::new(0);
        let app = serving(async |ctx: Context| {
            begun.set(begun.get() + 1);
            let text = "x".repeat(64 << 10);
            let data = OwnedJson::new(&*text, Revision::LATEST).unwrap();
            match kind {
                0 => ctx.text(&text),
                1 => Err(ToolError::from(text)),
                _ => {
                    Err(ToolError::from(RpcError::internal("no").data(data.as_json())).into_owned())
                }
            }
        })
        .limits(Limits { max_pending: 64 << 10, ..Limits::new() });
        in_session(&app, (64 << 10, usize::MAX), async |mut client| {
            for id in 1..=CALLS {
                client.send(&legacy_call(id, "echo")).await;
            }
            sleep(Duration::from_secs(1)).await;
            // One is being written, and those of all handlers that may run wait.
            let most = u32::try_from(Limits::new().max_running).unwrap() + 1;
            assert!((10..=most).contains(&begun.get()), "{begun:?}");
            // Requests without a handler do not wait for them, and reading lets them go on.
            client.send(&legacy(CALLS + 1, "ping", json!({}))).await;
            let mut ids: Vec<_> = Vec::new();
            for _ in 0..=CALLS {
                ids.push(client.next().await["id"].as_u64().unwrap());
            }
            ids.sort_unstable();
            assert!(ids.into_iter().eq(1..=u64::from(CALLS) + 1));
            assert_eq!(begun.get(), CALLS);
        });
    }
}

/// Limits on memory may have any value without an arithmetic overflow, and leave room for a call.
#[test]
fn s8_the_largest_limits_are_no_limits_and_the_smallest_serve_a_call() {
    for most in [usize::MAX, 0] {
        let app = serving(echo).limits(Limits {
            max_in_flight: u16::try_from(most).unwrap_or(u16::MAX),
            max_subscriptions: most.min(Limits::new().max_subscriptions),
            max_running: most,
            max_params: most,
            max_connections: most.max(1),
            max_line: most.min(Limits::new().max_line),
            max_pending: most.min(Limits::new().max_pending),
            ..Limits::new()
        });
        talk(&app, WIDE, async move |mut client| {
            assert_eq!(short(&client.ask(&call(1, "echo", json!({"text": "x"}))).await), "1 x");
        });
    }
}
