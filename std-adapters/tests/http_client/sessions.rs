//! Sessions that end.

use std::time::Duration;

use mcp_sansio_adapters::asynchronous::client::http::HttpLimits;
use mcp_sansio_adapters::asynchronous::client::{ClientLimits, Connector};
use serde_json::json;

use crate::scene::{Response, call, legacy, modern, play_with};
use crate::{LEGACY, MODERN};

#[test]
fn b3_closing_waits_for_no_time_limit() {
    // Longer than a test may take.
    let hour = Duration::from_secs(3600);
    for config in [&LEGACY, &MODERN] {
        let played = play_with(
            Connector::new(config).limits(ClientLimits {
                close_timeout: hour,
                stall_timeout: hour,
                ..ClientLimits::new()
            }),
            |http| {
                http.limits(HttpLimits {
                    connect_timeout: hour,
                    accept_timeout: hour,
                    ..HttpLimits::new()
                })
            },
            1 << 16,
            |seen| match seen.method.as_str() {
                "GET" => Response::events("").hold(),
                _ if seen.message() == "server/discover" => modern(seen),
                _ => legacy(seen),
            },
            async |client| {
                call(&client, "a", &json!({})).await.unwrap();
            },
        );
        assert!(played.end.is_ok(), "{:?}", played.end);
    }
}
