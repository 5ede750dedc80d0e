//! Rejections by HTTP: statuses, redirects, tokens.

use mcp_sansio::Json;
use mcp_sansio_adapters::asynchronous::client::{CallError, Connector, HttpError};
use serde_json::json;

use crate::scene::{Response, Seen, call, error, legacy, modern, play, play_with};
use crate::{CHUNKS, CLIENT, LEGACY, MODERN};

#[test]
fn tol_15_a_rejection_with_any_body_fails_only_its_call() {
    for (chunk, config) in CHUNKS.into_iter().flat_map(|chunk| [(chunk, &MODERN), (chunk, &LEGACY)])
    {
        for (reply, expected) in [
            (
                |_: &Seen| Response::status(500).body("<html>"),
                (0, "HTTP status 500: the server or a proxy failed, see its log"),
            ),
            (
                |_| Response::status(429),
                (0, "HTTP status 429: too many requests, wait before the next one"),
            ),
            (
                |seen| Response::error(seen, 400, &json!({"code": -32602, "message": "so not"})),
                (-32602, "so not"),
            ),
            (
                |_| {
                    Response::status(400)
                        .body(r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"whose?"}}"#)
                },
                (-32600, "whose?"),
            ),
            (
                |_| Response::status(200).field("content-type", "text/html").body("<p>"),
                (0, "the response is neither application/json nor text/event-stream"),
            ),
            (
                |_| Response::status(200).field("content-type", "application/json").body("no json"),
                (
                    0,
                    "the connection ended before the response: repeat the call unless that does harm",
                ),
            ),
            (|_| Response::status(202), (0, "request accepted (HTTP 202) without a response")),
        ] as [(fn(&Seen) -> Response, (i64, &str)); 7]
        {
            let is_modern = std::ptr::eq(config, &MODERN);
            let answer = move |seen: &Seen| match seen.body["params"]["name"].as_str() {
                Some("bad") => reply(seen),
                _ if is_modern => modern(seen),
                _ => legacy(seen),
            };
            let played = play(config, chunk, answer, async |client| {
                (
                    error(call(&client, "bad", &json!({})).await),
                    call(&client, "good", &json!({})).await.unwrap(),
                )
            });
            assert_eq!(played.result, ((expected.0, expected.1.to_owned()), "called".to_owned()));
        }
    }
}

#[test]
fn a_server_that_requires_authentication_gets_a_token() {
    for chunk in CHUNKS {
        let played = play_with(
            Connector::new(&CLIENT),
            |http| {
                http.authorize(async |challenge| {
                    challenge.contains("resource_metadata").then(|| "t-2".to_owned())
                })
            },
            chunk,
            |seen| match seen.field("authorization") {
                Some("Bearer t-2") => modern(seen),
                _ => Response::status(401)
                    .field("WWW-Authenticate", "Bearer resource_metadata=\"http://server/x\""),
            },
            async |client| call(&client, "a", &json!({})).await,
        );
        assert_eq!(played.result.unwrap(), "called");
        let tokens: Vec<_> =
            played.seen.iter().map(|seen| (seen.message(), seen.field("authorization"))).collect();
        assert_eq!(
            tokens,
            [
                ("server/discover", None),
                ("server/discover", Some("Bearer t-2")),
                ("tools/call", Some("Bearer t-2"))
            ]
        );
    }
}

#[test]
fn the_error_of_an_unauthorized_call_has_the_challenge() {
    let played = play(
        &MODERN,
        64,
        |seen| match seen.message() {
            "tools/call" => Response::status(403)
                .field("WWW-Authenticate", "Bearer error=\"insufficient_scope\", scope=\"x\""),
            _ => modern(seen),
        },
        async |client| call(&client, "a", &json!({})).await,
    );
    let Err(CallError::Http(error)) = played.result else { panic!("{:?}", played.result) };
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"x\"".to_owned();
    let said = "forbidden (HTTP status 403, Bearer error=\"insufficient_scope\", scope=\"x\"): \
                the token does not permit it";
    assert_eq!(error.to_string(), said);
    assert_eq!(error, HttpError::Unauthorized { status: 403, challenge });
}

#[test]
fn a_redirect_is_followed_within_the_origin() {
    let played = play(
        &MODERN,
        7,
        |seen| match seen.target.as_str() {
            "/mcp" => Response::status(307).field("Location", "http://server/mcp/"),
            _ => modern(seen),
        },
        async |client| call(&client, "a", &json!({})).await,
    );
    assert_eq!(played.result.unwrap(), "called");
    let expected = [
        "POST /mcp server/discover 2026-07-28 -",
        "POST /mcp/ server/discover 2026-07-28 -",
        "POST /mcp/ tools/call 2026-07-28 -",
    ];
    assert_eq!(played.trace, expected);
    assert_eq!(played.notices, ["redirected to /mcp/"]);
    for location in ["http://elsewhere/mcp", "https://server/mcp", "/mcp"] {
        let redirect = move |seen: &Seen| match seen.message() {
            "tools/call" => Response::status(308).field("Location", location),
            _ => modern(seen),
        };
        let played =
            play(&MODERN, 64, redirect, async |client| error(call(&client, "a", &json!({})).await));
        assert_eq!(played.result.0, 0, "{location}");
        assert!(played.trace.len() <= 6, "{location}");
    }
}

#[test]
fn rejected_messages_without_a_response_are_reported() {
    let played = play(
        &LEGACY,
        64,
        |seen| {
            if seen.message() == "notifications/x" { Response::status(400) } else { legacy(seen) }
        },
        async |client| {
            client.notify("notifications/x", &Json(json!({}))).await.unwrap();
            call(&client, "a", &json!({})).await
        },
    );
    assert!(played.result.is_ok());
    assert_eq!(played.notices, ["message rejected: HTTP status 400"]);
}
