//! Servers of 2024-11-05: one stream of the server, and an endpoint for messages.

use serde_json::json;

use mcp_sansio::{Revision, Revisions};

use crate::scene::{Response, Seen, answer, call, event, initialized, play};
use crate::{BOTH, CHUNKS, CLIENT, LEGACY};

/// A server of 2024-11-05. Its stream is written in one piece, so all of it is known beforehand.
fn old(endpoint: &'static str, refusal: u16) -> impl FnMut(&Seen) -> Response {
    move |seen| match (seen.method.as_str(), seen.target.as_str()) {
        ("GET", "/mcp") => {
            // Ids of the client: the probe was 1, and `initialize` 2.
            let result =
                event(&json!({"jsonrpc": "2.0", "id": 2, "result": initialized("2024-11-05")}));
            Response::events(&format!("event: endpoint\ndata: {endpoint}\n\n{result}")).hold()
        }
        ("POST", "/messages?id=7") => Response::status(202).body("Accepted"),
        _ => Response::status(refusal),
    }
}

#[test]
fn bc_03_bc_06_old_03_old_05_old_06_a_server_that_rejects_initialize_may_be_of_2024_11_05() {
    for (chunk, refusal) in CHUNKS.into_iter().zip([400, 404, 405]) {
        let played = play(&CLIENT, chunk, old("/messages?id=7", refusal), async |client| {
            client.connected().await.map(|opened| opened.revision)
        });
        assert_eq!(played.result.unwrap(), Revision::V2024_11_05);
        // HTTP+SSE is tried last.
        let expected = [
            "POST /mcp server/discover 2026-07-28 -",
            "POST /mcp initialize - -",
            "GET /mcp - - -",
            "POST /messages?id=7 initialize - -",
        ];
        assert_eq!(played.trace[..4], expected, "{chunk}");
        assert!(
            played.trace[4..]
                .iter()
                .all(|line| line.starts_with("POST /messages?id=7")
                    || line.starts_with("closed: GET"))
        );
    }
}

#[test]
fn bc_03_other_errors_do_not_mean_2024_11_05() {
    for status in [402, 409, 410, 415, 422, 429] {
        let answer = move |seen: &Seen| {
            assert_eq!(seen.method, "POST");
            Response::status(status)
        };
        let played = play(&LEGACY, 64, answer, async |client| client.connected().await.map(|_| ()));
        assert!(played.result.is_err());
        assert_eq!(played.trace, ["POST /mcp initialize - -"], "{status}");
    }
}

#[test]
fn bc_02_before_2025_11_25_any_error_means_legacy() {
    static OLD: mcp_sansio::ClientConfig<'_> = BOTH.revisions(
        Revisions::only(Revision::V2024_11_05).with(Revisions::only(Revision::V2025_03_26)),
    );
    for status in [402, 409, 415, 422] {
        let played = play(&OLD, 64, old("/messages?id=7", status), async |client| {
            // `initialize` was 1 here.
            futures_lite::future::or(async { client.connected().await.map(|_| true) }, async {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                Ok(false)
            })
            .await
        });
        assert_eq!(
            played.trace[..3],
            ["POST /mcp initialize - -", "GET /mcp - - -", "POST /messages?id=7 initialize - -"],
            "{status}"
        );
    }
}

#[test]
fn bc_04_a_modern_error_to_initialize_does_not_mean_2024_11_05() {
    for code in [-32020, -32021, -32022] {
        let answer = move |seen: &Seen| {
            assert_eq!(seen.method, "POST");
            Response::error(seen, 400, &json!({"code": code, "message": "no"}))
        };
        let played = play(&LEGACY, 64, answer, async |client| client.connected().await.map(|_| ()));
        assert!(played.result.is_err());
    }
}

#[test]
fn old_03_old_07_the_endpoint_must_have_the_same_origin() {
    for endpoint in [
        "/messages?id=7",
        "messages?id=7",
        "http://server/messages?id=7",
        "http://SERVER:80/messages?id=7",
        "//server/messages?id=7",
    ] {
        let played = play(&CLIENT, 64, old(endpoint, 404), async |client| {
            client.connected().await.map(|_| ())
        });
        assert!(played.result.is_ok(), "{endpoint}");
    }
    for endpoint in [
        "http://elsewhere/messages?id=7",
        "https://server/messages?id=7",
        "//elsewhere/m",
        "http://server:81/messages?id=7",
        "mailto:x",
    ] {
        let played = play(&CLIENT, 64, old(endpoint, 404), async |client| {
            client.connected().await.map(|_| ())
        });
        let said = played.result.unwrap_err().to_string();
        assert!(said.contains(endpoint), "{said}");
        assert!(
            !played
                .trace
                .iter()
                .any(|line| line.starts_with("POST /m?") || line.contains("/messages")),
            "{:?}",
            played.trace
        );
    }
}

#[test]
fn a_stream_that_does_not_start_with_an_endpoint_event_is_rejected() {
    for body in
        ["data: {}\n\n", "event: message\ndata: /messages\n\n", "event: other\ndata: x\n\n", ""]
    {
        let answer = move |seen: &Seen| {
            if seen.method == "GET" { Response::events(body) } else { Response::status(404) }
        };
        let played = play(&CLIENT, 64, answer, async |client| client.connected().await.map(|_| ()));
        assert!(played.result.is_err(), "{body:?}");
        assert_eq!(played.trace.last().unwrap(), "GET /mcp - - -");
    }
}

#[test]
fn the_end_of_its_stream_is_the_end_of_everything() {
    let mut posts = 0;
    let answer = move |seen: &Seen| match seen.method.as_str() {
        "GET" => Response::events(&format!(
            "event: endpoint\ndata: /m\n\n{}",
            event(&answer(
                &Seen { body: json!({"id": 2}), ..seen.clone() },
                &initialized("2024-11-05")
            ))
        )),
        _ => {
            posts += 1;
            Response::status(if posts < 3 { 404 } else { 202 })
        }
    };
    let played =
        play(&CLIENT, 64, answer, async |client| call(&client, "a", &json!({})).await.map(|_| ()));
    assert!(
        matches!(played.result, Err(mcp_sansio_adapters::asynchronous::client::CallError::Closed)),
        "{:?}",
        played.result
    );
    assert!(
        matches!(
            played.end,
            Ok(mcp_sansio_adapters::asynchronous::client::ConnectionEnd::ServerClosed)
        ),
        "{:?}",
        played.end
    );
}
