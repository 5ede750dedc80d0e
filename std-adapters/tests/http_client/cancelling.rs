//! Dropped calls.

use std::time::Duration;

use futures_lite::future::poll_once;
use mcp_sansio::types::SubscriptionFilter;
use mcp_sansio::{CallOptions, RawJson};
use mcp_sansio_adapters::asynchronous::client::{Change, Client};
use serde_json::json;

use crate::scene::{Response, Seen, call, event, modern, play};
use crate::{CHUNKS, MODERN};

/// Responds to a slow call with a silent stream, or not at all.
fn slow(with_head: bool) -> impl FnMut(&Seen) -> Response {
    move |seen| match (seen.method.as_str(), seen.body["params"]["name"].as_str()) {
        (_, Some("slow")) if with_head => Response::events(": begun\n\n").hold(),
        (_, Some("slow")) => Response::silence(),
        _ => modern(seen),
    }
}

/// Starts a slow call, drops it when the server has it, and makes another one.
async fn begin_and_drop(client: Client) -> String {
    client.connected().await.unwrap();
    let mut slow = Box::pin(call(&client, "slow"));
    for _ in 0..20 {
        assert!(poll_once(&mut slow).await.is_none());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(slow);
    call(&client, "fast").await.unwrap()
}

#[test]
fn time_02_canc_14_a_modern_call_is_cancelled_by_ending_its_exchange_and_by_nothing_else() {
    for (chunk, with_head) in CHUNKS.into_iter().flat_map(|chunk| [(chunk, true), (chunk, false)]) {
        let played = play(&MODERN, chunk, slow(with_head), begin_and_drop);
        assert_eq!(played.result, "called");
        played.has("closed: POST /mcp tools/call 2026-07-28 -");
        assert!(!played.trace.iter().any(|line| line.contains("cancelled")), "{:?}", played.trace);
    }
}

#[test]
fn sub_18_a_subscription_is_an_open_exchange_and_dropping_it_closes_it() {
    for chunk in CHUNKS {
        let answer = |seen: &Seen| match seen.message() {
            "subscriptions/listen" => {
                let meta = json!({"io.modelcontextprotocol/subscriptionId": seen.body["id"]});
                let acknowledged = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {"_meta": meta, "notifications": {"toolsListChanged": true}}});
                let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": meta}});
                Response::events(
                    &[event(&acknowledged), event(&changed), ":\n\n".to_owned()].concat(),
                )
                .hold()
            }
            _ => modern(seen),
        };
        let played = play(&MODERN, chunk, answer, async |client| {
            let filter = SubscriptionFilter::new().tools_list_changed(true);
            let mut listening = client.listen(&filter, CallOptions::new()).await.unwrap();
            let change = futures_lite::StreamExt::next(&mut listening).await;
            drop(listening);
            client.request("tools/list", &RawJson::EMPTY, CallOptions::new()).await.unwrap();
            change
        });
        assert_eq!(played.result, Some(Change::Tools));
        played.has("closed: POST /mcp subscriptions/listen 2026-07-28 -");
    }
}
