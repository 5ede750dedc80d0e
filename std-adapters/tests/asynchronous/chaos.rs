//! Random mix of all operations: each request gets one response, or was cancelled.

use std::cell::Cell;
use std::collections::BTreeSet;

use futures_lite::future;
use mcp_sansio::types::TextResult;
use mcp_sansio::{OrToolError as _, Progress, RawJson};
use mcp_sansio_adapters::asynchronous::{ConnectionEnd, Context, HandlerResult, Limits};
use serde_json::{Value, json};

use crate::client::{call, cancel, filled_in, form, in_session, legacy};
use crate::random::Random;
use crate::serving;

/// Performs the operations in the arguments of the call.
async fn obey(ctx: Context, alive: &Cell<i32>) -> HandlerResult {
    struct Alive<'a>(&'a Cell<i32>);
    impl Drop for Alive<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() - 1);
        }
    }
    alive.set(alive.get() + 1);
    let _alive = Alive(alive);
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    let number = |name| request.arguments().get(name).and_then(RawJson::as_u64).unwrap_or(0);
    for step in 1..=number("steps") {
        tool.progress(&Progress::of(step)).await?;
        future::yield_now().await;
    }
    let long = "?".repeat(usize::try_from(number("question")).or_arguments()?);
    let question = || form(&long);
    match number("asks") {
        0 => {}
        1 => drop(tool.request_input("a", question()).await?),
        2 => drop(tool.request_inputs([("a", question()), ("b", question())]).await?),
        // Requests input, and does not always wait for the response.
        _ => {
            let soon = async {
                for _ in 0..=number("steps") {
                    future::yield_now().await;
                }
                Ok(())
            };
            future::or(async { tool.request_input("a", question()).await.map(drop) }, soon).await?;
        }
    }
    ctx.reply(&TextResult::new(&"!".repeat(usize::try_from(number("len")).or_arguments()?)))
}

#[test]
fn each_request_gets_one_response_or_was_cancelled() {
    for seed in 1..=SEEDS {
        let alive = Cell::new(0);
        let app =
            serving(|ctx| obey(ctx, &alive)).limits(Limits { max_pending: 1024, ..Limits::new() });
        let mut chance = Random(seed);
        let sizes =
            ([9, 64, 1024, 4096, 100_000][chance.below(5)], [7, 100, 100_000][chance.below(3)]);
        let ((), end) = in_session(&app, sizes, async |mut client| {
            let (mut open, mut cancelled) = (BTreeSet::new(), BTreeSet::new());
            let mut next_id = 1..41;
            loop {
                match (chance.below(4), next_id.len()) {
                    (0 | 1, 1..) => {
                        let id = next_id.next().unwrap();
                        let arguments = json!({
                            "steps": chance.below(4), "asks": chance.below(4), "question": chance.below(3) * 700, "len": chance.below(4) * 700,
                        });
                        let message = if chance.below(2) == 0 {
                            call(id, "echo", arguments)
                        } else {
                            legacy(
                                id,
                                "tools/call",
                                json!({"name": "echo", "arguments": arguments}),
                            )
                        };
                        client.send(&message).await;
                        open.insert(id);
                    }
                    (2, _) if !open.is_empty() => {
                        let id = *open.iter().nth(chance.below(open.len())).unwrap();
                        client.send(&cancel(id)).await;
                        open.remove(&id);
                        cancelled.insert(id);
                    }
                    _ if !open.is_empty() => {
                        let message = client.next().await;
                        receive(&message, &mut open, &mut cancelled);
                        if message["method"] == "elicitation/create" {
                            let answer = if chance.below(4) == 0 {
                                json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -1, "message": "no"}})
                            } else {
                                json!({"jsonrpc": "2.0", "id": message["id"], "result": filled_in("x")})
                            };
                            client.send(&answer).await;
                        }
                    }
                    (_, 0) => break,
                    _ => {}
                }
            }
            // Messages before this response belong to requests that were cancelled or dropped.
            client.send(&legacy(1000, "ping", json!({}))).await;
            loop {
                let message = client.next().await;
                if message["id"] == 1000 {
                    break;
                }
                receive(&message, &mut open, &mut cancelled);
            }
            assert_eq!(alive.get(), 0, "seed {seed}");
        });
        assert_eq!(end, ConnectionEnd::Closed, "seed {seed}");
    }
}

fn receive(message: &Value, open: &mut BTreeSet<u32>, cancelled: &mut BTreeSet<u32>) {
    if message["method"].is_string() {
        return;
    }
    let id = u32::try_from(message["id"].as_u64().unwrap_or_else(|| panic!("{message}"))).unwrap();
    // A cancelled request may have a response, but not two.
    assert!(open.remove(&id) || cancelled.remove(&id), "{message}");
}

/// Enough to use each size of the pipe a few times.
const SEEDS: u64 = 60;
