//! Opening: the server's revision and transport are found out. Closing waits for nothing.

use std::time::Duration;

use mcp_sansio::Json;
use mcp_sansio_adapters::asynchronous::client::http::HttpLimits;
use mcp_sansio_adapters::asynchronous::client::{ClientLimits, Connector};
use serde_json::json;
use tokio::time::Instant;

use crate::scene::{Response, Seen, call, event, legacy, modern, play, play_with};
use crate::{CHUNKS, CLIENT, LEGACY, MODERN};

#[test]
fn http_07_http_10_http_15_http_30_a_modern_server_is_probed_and_then_called() {
    for (chunk, as_events) in CHUNKS.into_iter().flat_map(|chunk| [(chunk, false), (chunk, true)]) {
        let played = play(
            &CLIENT,
            chunk,
            move |seen| if as_events { modern(seen).into_event() } else { modern(seen) },
            async |client| call(&client, "greet").await,
        );
        assert_eq!(played.result.unwrap(), "called");
        let expected =
            ["POST /mcp server/discover 2026-07-28 -", "POST /mcp tools/call 2026-07-28 -"];
        assert_eq!(played.trace, expected, "{chunk} {as_events}");
        // 2026-07-28 has no sessions, so there is nothing to end.
        assert_eq!(played.dials.len(), 1, "{chunk} {as_events}");
    }
}

#[test]
fn arguments_that_are_longer_than_the_output_buffer_are_posted() {
    for (config, server) in [(&LEGACY, legacy as fn(&Seen) -> Response), (&MODERN, modern)] {
        let server = move |seen: &Seen| {
            let text = seen.body["params"]["arguments"]["text"].as_str();
            assert!(seen.message() != "tools/call" || text.unwrap().len() == 3 << 20);
            server(seen)
        };
        let played = play(config, 1 << 16, server, async |client| {
            let arguments = Json(json!({"text": "x".repeat(3 << 20)}));
            client.call_tool("greet", &arguments).await.map(|_| ())
        });
        assert!(played.result.is_ok(), "{:?}", played.result);
    }
}

#[test]
fn a_stream_that_stays_open_after_the_result_of_the_probe_delays_no_call() {
    let server = |seen: &Seen| match seen.message() {
        "server/discover" => modern(seen).into_event().hold(),
        _ => modern(seen),
    };
    let played = play(&CLIENT, 64, server, async |client| {
        let began = Instant::now();
        (call(&client, "a").await, began.elapsed())
    });
    assert_eq!((played.result.0.unwrap().as_str(), played.result.1), ("called", Duration::ZERO));
}

#[test]
fn b3_s8_closing_waits_for_no_time_limit_and_the_longest_never_passes() {
    // An hour is longer than a test may take.
    for limit in [Duration::from_secs(3600), Duration::MAX] {
        for (config, holds) in [(&LEGACY, true), (&LEGACY, false), (&MODERN, true)] {
            let limits =
                ClientLimits { close_timeout: limit, stall_timeout: limit, ..ClientLimits::new() };
            let of_http =
                HttpLimits { connect_timeout: limit, accept_timeout: limit, ..HttpLimits::new() };
            let told = event(&json!({"jsonrpc": "2.0", "method": "notifications/x"}));
            let played = play_with(
                Connector::new(config).limits(limits),
                |http| http.limits(of_http),
                1 << 16,
                move |seen| match seen.method.as_str() {
                    "GET" if holds => Response::events("").hold(),
                    "GET" => Response::events(&format!("retry: 99999999999999999999\n{told}")),
                    _ if seen.message() == "server/discover" => modern(seen),
                    _ => legacy(seen),
                },
                async |client| call(&client, "a").await,
            );
            assert_eq!(played.result.unwrap(), "called");
            assert!(played.end.is_ok(), "{:?}", played.end);
        }
    }
}
