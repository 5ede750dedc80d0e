//! Credentials of requests: each has them, one that is refused gets others, and time stands still
//! until then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::{ClientConfig, RawJson, Revision};
use mcp_sansio_adapters::asynchronous::client::http::{HttpTransport, MAX_ONE_WAY_POSTS};
use mcp_sansio_adapters::asynchronous::client::{
    CallError, ClientLimits, ConnectError, ConnectionEnd, Connector, HttpError,
};
use tokio::time::sleep;

use crate::scene::{Response, Seen, call, legacy, modern, older, play_with};
use crate::{BOTH, CHUNKS, LEGACY, MODERN};

fn unauthorized() -> Response {
    Response::status(401).field("WWW-Authenticate", "Bearer")
}

#[test]
fn auth_92_auth_102_each_request_has_the_token_and_a_refused_stream_gets_another() {
    for chunk in CHUNKS {
        let answer = |seen: &Seen| match (seen.method.as_str(), seen.field("authorization")) {
            (_, None) => unauthorized(),
            // The stream wants a newer one.
            ("GET", Some("Bearer t-1")) => unauthorized(),
            ("GET", _) => Response::events("").hold(),
            _ => legacy(seen),
        };
        let tokens = AtomicU32::new(0);
        let played = play_with(
            Connector::new(&LEGACY),
            |http| {
                http.authorize(move |_| {
                    let token = tokens.fetch_add(1, Ordering::Relaxed) + 1;
                    async move { Some(format!("t-{token}")) }
                })
            },
            chunk,
            answer,
            async |client| {
                call(&client, "a").await?;
                sleep(Duration::from_millis(20)).await;
                call(&client, "b").await
            },
        );
        assert_eq!(played.result.unwrap(), "called");
        let tokens = |method: &str| -> Vec<_> {
            let all = played.seen.iter().filter(|seen| seen.method == method);
            all.map(|seen| seen.field("authorization").unwrap_or("none")).collect()
        };
        assert_eq!(tokens("GET"), ["Bearer t-1", "Bearer t-2"]);
        assert_eq!(tokens("DELETE"), ["Bearer t-2"]);
        assert_eq!(tokens("POST").iter().filter(|token| **token == "none").count(), 1);
        assert_eq!(tokens("POST").last(), Some(&"Bearer t-2"));
    }
}

#[test]
fn auth_89_calls_that_are_refused_at_once_ask_for_one_token() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let played = play_with(
        Connector::new(&MODERN),
        |http| {
            http.bearer("old").authorize(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
                async {
                    sleep(Duration::from_millis(20)).await;
                    Some("new".to_owned())
                }
            })
        },
        1 << 16,
        |seen| match (seen.message(), seen.field("authorization")) {
            ("tools/call", Some("Bearer old")) => unauthorized(),
            _ => modern(seen),
        },
        async |client| future::zip(call(&client, "a"), call(&client, "b")).await,
    );
    assert!(played.result.0.is_ok() && played.result.1.is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let refused = |seen: &&Seen| {
        seen.message() == "tools/call" && seen.field("authorization") == Some("Bearer old")
    };
    assert_eq!(played.seen.iter().filter(refused).count(), 2);
}

#[test]
fn auth_102_the_stream_of_a_server_of_2024_11_05_may_want_a_token() {
    static PATIENT: ClientConfig<'_> = BOTH.call_timeout(Duration::from_millis(150));
    for (chunk, token) in CHUNKS.into_iter().zip([Some("t"), Some("t"), None]) {
        let answer = |seen: &Seen| match (seen.method.as_str(), seen.target.as_str()) {
            ("POST", "/mcp") => Response::status(404),
            (_, _) if seen.field("authorization") != Some("Bearer t") => unauthorized(),
            ("GET", _) => older().hold(),
            _ => Response::status(202),
        };
        let played = play_with(
            Connector::new(&PATIENT),
            |http| {
                http.authorize(move |_| async move {
                    // The time limit of `initialize` stands still.
                    sleep(Duration::from_millis(300)).await;
                    token.map(str::to_owned)
                })
            },
            chunk,
            answer,
            async |client| client.connected().await.map(|connected| connected.revision),
        );
        match token {
            Some(_) => assert_eq!(played.result.unwrap(), Revision::V2024_11_05),
            None => {
                let Err(CallError::ConnectFailed { why: ConnectError::Http(why), .. }) =
                    played.result
                else {
                    panic!("{:?}", played.result)
                };
                assert!(matches!(why, HttpError::Unauthorized { status: 401, .. }), "{why}");
            }
        }
        let gets = played.trace.iter().filter(|line| line.starts_with("GET")).count();
        assert_eq!(gets, 1 + usize::from(token.is_some()));
    }
}

#[test]
fn a_server_is_not_unresponsive_while_a_person_logs_in() {
    let answer = |seen: &Seen| match (seen.message(), seen.field("authorization")) {
        ("notifications/x", None) => unauthorized(),
        _ => legacy(seen),
    };
    let connector = Connector::new(&LEGACY)
        .limits(ClientLimits { stall_timeout: Duration::from_millis(100), ..ClientLimits::new() });
    let login = |http: HttpTransport| {
        http.authorize(|_| async {
            sleep(Duration::from_millis(400)).await;
            Some("new".to_owned())
        })
    };
    let played = play_with(connector, login, 1 << 16, answer, async |client| {
        // More than are sent at once, and than wait for that.
        for _ in 0..MAX_ONE_WAY_POSTS + 300 {
            client.notify("notifications/x", &RawJson::EMPTY).await?;
        }
        call(&client, "a").await
    });
    assert_eq!(played.result.unwrap(), "called");
    assert!(matches!(played.end, Ok(ConnectionEnd::Closed)), "{:?}", played.end);
}
