//! Detection of the server's revision and transport.

use std::time::Duration;

use mcp_sansio::Revision;
use mcp_sansio_adapters::asynchronous::client::{CallError, ConnectError, ConnectionEnd};
use serde_json::json;
use tokio::time::Instant;

use crate::scene::{Response, Seen, answer, call, event, legacy, modern, play};
use crate::{CHUNKS, CLIENT, LEGACY};

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
fn ver_14_ver_16_bc_06_other_errors_lead_to_initialize() {
    for chunk in CHUNKS {
        for refuse in [
            |_| Response::status(400),
            |_| Response::status(404).body("<html>not here</html>"),
            |_| Response::status(405),
            |_| {
                Response::status(400)
                    .body(r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}"#)
            },
            |_| {
                Response::status(404).body(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#)
            },
            |seen| {
                Response::error(seen, 200, &json!({"code": -32601, "message": "no such method"}))
            },
            |seen| {
                Response::error(seen, 404, &json!({"code": -32601, "message": "no such method"}))
            },
            |seen| Response::result(seen, &json!({})),
        ] as [fn(&Seen) -> Response; 8]
        {
            let answer = move |seen: &Seen| {
                if seen.message() == "server/discover" { refuse(seen) } else { legacy(seen) }
            };
            let played = play(&CLIENT, chunk, answer, async |client| {
                client.connected().await.map(|opened| opened.revision)
            });
            assert_eq!(played.result.unwrap(), Revision::V2025_11_25);
            assert_eq!(
                played.trace[..2],
                ["POST /mcp server/discover 2026-07-28 -", "POST /mcp initialize - -"],
                "{chunk}"
            );
        }
    }
}

#[test]
fn ver_15_bc_04_a_modern_error_does_not_lead_to_initialize() {
    for (code, data) in [
        (-32022, json!({"supported": ["2030-01-01"], "requested": "2026-07-28"})),
        (-32020, json!({})),
        (-32021, json!({})),
    ] {
        // With the id of the request, and without.
        for with_id in [true, false] {
            let data = data.clone();
            let played = play(
                &CLIENT,
                7,
                move |seen| {
                    let error = json!({"code": code, "message": "no", "data": data});
                    let id = if with_id { seen.body["id"].clone() } else { json!(null) };
                    Response::status(400)
                        .body(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string())
                },
                async |client| client.connected().await.map(|_| ()),
            );
            assert!(
                matches!(played.result, Err(CallError::ConnectFailed { .. })),
                "{code} {:?}",
                played.result
            );
            assert_eq!(played.trace, ["POST /mcp server/discover 2026-07-28 -"], "{code}");
        }
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
fn a_server_that_refuses_to_hear_of_the_opened_session_is_called_all_the_same() {
    let answer = |seen: &Seen| match seen.message() {
        "notifications/initialized" => Response::status(500),
        _ => legacy(seen),
    };
    let played =
        play(&LEGACY, 1 << 16, answer, async |client| call(&client, "a", &json!({})).await);
    assert_eq!(played.result.unwrap(), "called");
    assert_eq!(
        played.trace[..3],
        [
            "POST /mcp initialize - -",
            "POST /mcp notifications/initialized 2025-11-25 s-1",
            "POST /mcp tools/call 2025-11-25 s-1",
        ]
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
