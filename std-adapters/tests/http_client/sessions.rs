//! Sessions that end.

use std::time::Duration;

use mcp_sansio_adapters::asynchronous::client::http::HttpLimits;
use mcp_sansio_adapters::asynchronous::client::{ClientLimits, Connector};
use serde_json::json;

use crate::scene::{Response, call, event, legacy, modern, play_with};
use crate::{LEGACY, MODERN};

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
                async |client| call(&client, "a", &json!({})).await,
            );
            assert_eq!(played.result.unwrap(), "called");
            assert!(played.end.is_ok(), "{:?}", played.end);
        }
    }
}
