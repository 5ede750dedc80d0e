//! More requests at once than run, and than the table holds.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use futures_lite::{AsyncWriteExt, future};
use mcp_sansio::types::TextResult;
use mcp_sansio::{OrToolError as _, RawJson, ServerConfig};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, Limits};
use serde_json::{Value, json};

use crate::client::{
    WIDE, call, cancel, filled_in, form, in_session, legacy, legacy_call, modern, short, talk,
};
use crate::{CATALOG, CONFIG, TOOLS, serving};

/// Yields a few times, and counts its instances.
async fn slow(ctx: Context, running: &Cell<usize>, most: &Cell<usize>) -> HandlerResult {
    running.set(running.get() + 1);
    most.set(most.get().max(running.get()));
    for _ in 0..20 {
        future::yield_now().await;
    }
    running.set(running.get() - 1);
    ctx.reply(&TextResult::new("done"))
}

#[test]
fn b1_two_hundred_calls_at_once_all_get_a_response() {
    // With the defaults, with fewer entries than calls, and with room for few bytes of parameters.
    for (in_flight, params) in [(u16::MAX, usize::MAX), (10, usize::MAX), (u16::MAX, 1)] {
        let (running, most) = (Cell::new(0), Cell::new(0));
        let app = serving(|ctx| slow(ctx, &running, &most)).limits(Limits {
            max_in_flight: in_flight,
            max_params: params,
            ..Limits::new()
        });
        for is_modern in [true, false] {
            in_session(&app, WIDE, async |mut client| {
                let lines: String = (1..=200)
                    .map(|id| {
                        let params =
                            json!({"name": "wait", "arguments": {"text": "x".repeat(100)}});
                        let request = if is_modern {
                            modern(id, "tools/call", params)
                        } else {
                            legacy(id, "tools/call", params)
                        };
                        format!("{request}\n")
                    })
                    .collect();
                // The client writes and does not read meanwhile; the output buffer has room for all
                // responses.
                client.stream.write_all(lines.as_bytes()).await.unwrap();
                let mut ids = BTreeSet::new();
                while ids.len() < 200 {
                    let answer = client.next().await;
                    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
                    assert!(ids.insert(answer["id"].as_u64().unwrap()));
                }
            });
            assert_eq!(running.get(), 0);
            let limit =
                if params == 1 { 1 } else { usize::from(in_flight).min(Limits::new().max_running) };
            assert!(
                most.get() <= limit && most.get() >= limit.min(2),
                "{most:?} {in_flight} {params}"
            );
        }
    }
}

#[test]
fn b1_handlers_begin_in_the_order_of_their_requests_and_no_more_than_may_run() {
    let begun = RefCell::new(Vec::new());
    let (release, gate) = smol::channel::unbounded::<()>();
    let app = serving(async |ctx: Context| {
        let number = ctx.request()?.arguments().get("n").and_then(RawJson::as_u64);
        begun.borrow_mut().push(number.unwrap());
        gate.recv().await.or_internal()?;
        ctx.reply(&TextResult::new("done"))
    })
    .limits(Limits { max_running: 2, ..Limits::new() });
    in_session(&app, WIDE, async |mut client| {
        for id in 1..=6 {
            client.send(&call(id, "wait", json!({"n": id}))).await;
        }
        // A request that has not started is cancelled, and never starts. A listen does not count as
        // running.
        client.send(&cancel(4)).await;
        let listen =
            modern(7, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
        assert!(client.ask(&listen).await["method"].is_string());
        assert_eq!(*begun.borrow(), [1, 2]);
        for id in [1, 2, 3, 5, 6] {
            release.send(()).await.unwrap();
            assert_eq!(client.next().await["id"], id);
        }
        assert_eq!(*begun.borrow(), [1, 2, 3, 5, 6]);
        assert_eq!(client.ask(&legacy(8, "ping", json!({}))).await["id"], 8);
    });
}

/// Requests input for one tool, and otherwise never completes.
async fn ask_or_wait(ctx: Context) -> HandlerResult {
    if ctx.name() == "wait" {
        pending::<()>().await;
    }
    ctx.tool(&ctx.request()?).request_input("name", form("Name?")).await?;
    ctx.reply(&TextResult::new("answered"))
}

#[test]
fn b1_the_response_to_an_input_request_never_waits_behind_a_request_without_a_slot() {
    let app = serving(ask_or_wait).limits(Limits { max_in_flight: 2, ..Limits::new() });
    in_session(&app, WIDE, async move |mut client| {
        client.send(&legacy_call(1, "wait")).await;
        let question = client.ask(&legacy_call(2, "ask")).await;
        assert_eq!(question["method"], "elicitation/create");
        // The table is full, and the response is behind another request.
        client.send(&legacy_call(3, "ask")).await;
        client.respond(&question, filled_in("x")).await;
        let refused = client.next().await;
        assert_eq!(short(&refused), "3 error -32603");
        let answered = client.next().await;
        assert_eq!(short(&answered), "2 answered");
    });
}

#[test]
fn b1_a_cancellation_frees_a_slot_also_behind_a_request_without_one() {
    let app = serving(ask_or_wait).limits(Limits {
        max_in_flight: 2,
        full_timeout: Duration::from_millis(50),
        ..Limits::new()
    });
    in_session(&app, WIDE, async move |mut client| {
        // At the front it is processed at once, and the next request finds room.
        for message in [
            call(1, "wait", json!({})),
            call(2, "wait", json!({})),
            cancel(1),
            call(3, "wait", json!({})),
        ] {
            client.send(&message).await;
        }
        assert_eq!(client.ask(&legacy(4, "ping", json!({}))).await["id"], 4);
        // Behind a request without room, it waits until that is rejected.
        for message in [call(5, "wait", json!({})), cancel(2), call(6, "ask", json!({}))] {
            client.send(&message).await;
        }
        let refused = client.next().await;
        assert_eq!(short(&refused), "5 error -32603");
        assert_eq!(client.next().await["id"], 6);
    });
}

#[test]
fn b1_a_pong_never_waits_behind_a_request_that_has_no_place() {
    static WATCHFUL: ServerConfig<'_> =
        TOOLS.ping_interval(Duration::from_millis(50)).ping_timeout(Duration::from_secs(3600));
    let app = App::new(&WATCHFUL, ask_or_wait)
        .limits(Limits { max_in_flight: 2, full_timeout: Duration::MAX, ..Limits::new() })
        .catalog(&CATALOG);
    in_session(&app, WIDE, async move |mut client| {
        for id in 1..=3 {
            client.send(&legacy_call(id, "wait")).await;
        }
        // While the third waits nothing is read, so the client is pinged; then the third is
        // rejected.
        let (mut ping, mut refused) = (Value::Null, Value::Null);
        while ping.is_null() || refused.is_null() {
            let message = client.next().await;
            if message["method"] == "ping" { ping = message } else { refused = message }
        }
        assert_eq!(short(&refused), "3 error -32603");
        client.respond(&ping, json!({})).await;
        assert_eq!(client.ask(&legacy(4, "ping", json!({}))).await["id"], 4);
    });
}

#[test]
fn b1_a_full_table_ends_with_its_client() {
    let alive = Rc::new(());
    let app = App::new(&CONFIG, async |_: Context| {
        let _held = Rc::clone(&alive);
        pending().await
    })
    .limits(Limits { max_in_flight: 2, full_timeout: Duration::MAX, ..Limits::new() })
    .catalog(&CATALOG);
    talk(&app, WIDE, async move |mut client| {
        for id in 1..=5 {
            client.send(&call(id, "wait", json!({}))).await;
        }
        client.stream.close().await.unwrap();
        // Admitted requests are dropped, the others rejected: nothing is left to wait for.
        for id in 3..=5 {
            assert_eq!(client.next().await["id"], id);
        }
        assert_eq!(client.line().await, None);
    });
    drop(app);
    assert_eq!(Rc::strong_count(&alive), 1);
}
