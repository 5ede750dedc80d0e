//! Sessions that end.

use std::time::Duration;

use mcp_sansio_adapters::asynchronous::client::http::HttpLimits;
use mcp_sansio_adapters::asynchronous::client::{ClientLimits, Connector};
use serde_json::json;

use crate::scene::{Response, Seen, call, error, initialized, legacy, modern, play, play_with};
use crate::{CHUNKS, LEGACY, MODERN};

/// A server that drops its first session after this many calls.
fn forgetful(calls: usize) -> impl FnMut(&Seen) -> Response {
    let (mut sessions, mut served) = (0, 0);
    move |seen| {
        let current = format!("s-{sessions}");
        match (seen.message(), seen.field("mcp-session-id")) {
            ("initialize", None) => {
                sessions += 1;
                Response::result(seen, &initialized("2025-11-25"))
                    .field("Mcp-Session-Id", &format!("s-{sessions}"))
            }
            ("tools/call", Some(session)) if session == current => {
                served += 1;
                if sessions == 1 && served > calls { Response::status(404) } else { legacy(seen) }
            }
            ("tools/call", _) => Response::status(404),
            _ => legacy(seen),
        }
    }
}

#[test]
fn sess_06_tol_09_a_session_that_has_ended_is_begun_again_and_the_call_made_again() {
    for chunk in CHUNKS {
        let played = play(&LEGACY, chunk, forgetful(1), async |client| {
            [
                call(&client, "a", &json!({})).await.unwrap(),
                call(&client, "b", &json!({})).await.unwrap(),
            ]
        });
        assert_eq!(played.result, ["called", "called"]);
        let posts: Vec<_> = played.trace.iter().filter(|line| line.starts_with("POST")).collect();
        assert_eq!(
            posts,
            [
                "POST /mcp initialize - -",
                "POST /mcp notifications/initialized 2025-11-25 s-1",
                "POST /mcp tools/call 2025-11-25 s-1",
                "POST /mcp tools/call 2025-11-25 s-1",
                "POST /mcp initialize - -",
                "POST /mcp notifications/initialized 2025-11-25 s-2",
                "POST /mcp tools/call 2025-11-25 s-2",
            ]
        );
        assert!(played.trace.contains(&"DELETE /mcp - 2025-11-25 s-2".to_owned()));
        assert_eq!(
            played.notices,
            ["session ended by the server; a new one was opened, without its subscriptions"]
        );
    }
}

#[test]
fn sess_06_calls_at_once_begin_one_session_together() {
    let played = play(&LEGACY, 64, forgetful(1), async |client| {
        call(&client, "a", &json!({})).await.unwrap();
        let arguments = json!({});
        let calls = (0..8).map(|_| call(&client, "b", &arguments));
        let mut calls: Vec<_> = calls.map(Box::pin).collect();
        for call in &mut calls {
            assert!(futures_lite::future::poll_once(call).await.is_none());
        }
        for call in calls {
            assert_eq!(call.await.unwrap(), "called");
        }
    });
    let initializes = played.trace.iter().filter(|line| line.contains("initialize ")).count();
    assert_eq!(initializes, 2, "{:#?}", played.trace);
}

#[test]
fn a_server_that_drops_every_session_at_once_ends_the_connection() {
    let played = play(
        &LEGACY,
        64,
        |seen| {
            if seen.message() == "tools/call" { Response::status(404) } else { legacy(seen) }
        },
        async |client| error(call(&client, "a", &json!({})).await),
    );
    assert_eq!(played.result, (0, "HTTP status 404: check the path of the URL".to_owned()));
    assert_eq!(played.trace.iter().filter(|line| line.contains("tools/call")).count(), 2);
}

#[test]
fn sess_06_without_a_session_404_is_an_error_like_any_other() {
    let answer = |seen: &Seen| match seen.message() {
        "initialize" => Response::result(seen, &initialized("2025-11-25")),
        "tools/call" => Response::status(404),
        _ => legacy(seen),
    };
    let played =
        play(&LEGACY, 64, answer, async |client| error(call(&client, "a", &json!({})).await));
    assert_eq!(played.result.1, "HTTP status 404: check the path of the URL");
    assert!(
        played.notices.is_empty() && !played.trace.iter().any(|line| line.starts_with("DELETE")),
        "{:?}",
        played.trace
    );
}

#[test]
fn tol_11_whether_the_server_lets_a_session_be_ended_makes_no_difference() {
    for status in [200, 204, 404, 405, 500] {
        let answer = move |seen: &Seen| {
            if seen.method == "DELETE" { Response::status(status) } else { legacy(seen) }
        };
        let played = play(&LEGACY, 64, answer, async |client| call(&client, "a", &json!({})).await);
        assert!(played.result.is_ok() && played.end.is_ok(), "{status}");
    }
}

#[test]
fn an_invalid_session_id_opens_no_session() {
    for name in ["a b", "\u{e9}", ""] {
        let answer = move |seen: &Seen| match seen.message() {
            "initialize" => {
                Response::result(seen, &initialized("2025-11-25")).field("Mcp-Session-Id", name)
            }
            _ => legacy(seen),
        };
        let played = play(&LEGACY, 64, answer, async |client| client.connected().await.map(|_| ()));
        let said = played.result.unwrap_err().to_string();
        assert!(said.contains("invalid Mcp-Session-Id"), "{said}");
    }
}

#[test]
fn a_modern_server_has_no_session_even_if_it_sends_an_id() {
    let answer = |seen: &Seen| modern(seen).field("Mcp-Session-Id", "s-1");
    let played = play(&MODERN, 64, answer, async |client| call(&client, "a", &json!({})).await);
    assert!(played.result.is_ok());
    assert!(
        played.seen.iter().all(|seen| seen.field("mcp-session-id").is_none()),
        "{:?}",
        played.trace
    );
}

#[test]
fn b3_closing_waits_for_no_time_limit() {
    // Longer than a test may take.
    let hour = Duration::from_secs(3600);
    for config in [&LEGACY, &MODERN] {
        let played = play_with(
            Connector::new(config).limits(ClientLimits {
                close_timeout: hour,
                stall_timeout: hour,
                ..ClientLimits::DEFAULT
            }),
            |http| {
                http.limits(HttpLimits {
                    connect_timeout: hour,
                    accept_timeout: hour,
                    ..HttpLimits::DEFAULT
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
