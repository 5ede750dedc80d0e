//! Detection of the server's revision and transport.

use std::time::Duration;

use mcp_sansio_adapters::asynchronous::client::{ConnectError, ConnectionEnd};
use serde_json::json;
use tokio::time::Instant;

use crate::scene::{Response, Seen, answer, call, event, modern, play};
use crate::{CHUNKS, CLIENT};

#[test]
fn http_07_http_10_http_15_http_30_a_modern_server_is_probed_and_then_called() {
    for (chunk, as_events) in CHUNKS.into_iter().flat_map(|chunk| [(chunk, false), (chunk, true)]) {
        let played = play(
            &CLIENT,
            chunk,
            move |seen| {
                let result = match seen.message() {
                    "tools/call" => crate::scene::text("called"),
                    _ => {
                        json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
                    }
                };
                if as_events {
                    Response::events(&event(&answer(seen, &result)))
                } else {
                    Response::result(seen, &result)
                }
            },
            async |client| call(&client, "greet", &json!({})).await,
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
fn errors_that_identify_no_era_fail_connecting() {
    let fail = |answer: fn(&Seen) -> Response| {
        let played = play(&CLIENT, 7, answer, async |client| client.connected().await.map(|_| ()));
        assert_eq!(played.trace.len(), 1, "{:?}", played.trace);
        assert!(matches!(played.end, Ok(ConnectionEnd::ConnectFailed(ConnectError::Http(_)))));
        played.result.unwrap_err().to_string()
    };
    assert_eq!(
        fail(|_| Response::status(503)),
        "cannot connect to `http://server/mcp`: HTTP status 503: the server is busy or cannot be reached, try again later"
    );
    let challenged = fail(|_| {
        Response::status(401)
            .field("WWW-Authenticate", "Bearer resource_metadata=\"http://server/m\"")
    });
    assert_eq!(
        challenged,
        "cannot connect to `http://server/mcp`: authentication required (HTTP status 401, \
         Bearer resource_metadata=\"http://server/m\"): log in, or set another token"
    );
}

#[test]
fn a_stream_that_stays_open_after_the_result_of_the_probe_delays_no_call() {
    let server = |seen: &Seen| match seen.message() {
        "server/discover" => {
            let result = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}});
            Response::events(&event(&answer(seen, &result))).hold()
        }
        _ => modern(seen),
    };
    let played = play(&CLIENT, 64, server, async |client| {
        let began = Instant::now();
        (call(&client, "a", &json!({})).await, began.elapsed())
    });
    assert_eq!((played.result.0.unwrap().as_str(), played.result.1), ("called", Duration::ZERO));
}
