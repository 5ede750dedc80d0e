//! Header fields of requests.

use mcp_sansio_adapters::asynchronous::client::Connector;

use crate::scene::{Response, Seen, call, legacy, modern, play, play_with};
use crate::{CLIENT, LEGACY, MODERN};

#[test]
fn sess_08_the_sessions_name_and_the_token_are_not_shown() {
    let session = format!("{:?}", mcp_sansio::http::client::HttpSession::new());
    assert!(session.contains("has_id: false"), "{session}");
    let http =
        mcp_sansio_adapters::asynchronous::client::http::HttpTransport::new("http://server/mcp")
            .unwrap()
            .bearer("secret");
    assert!(!format!("{http:?}").contains("secret"));
}

#[test]
fn tokens_and_fields_of_the_applications_are_in_every_head() {
    let played = play_with(
        Connector::new(&LEGACY),
        |http| http.bearer("t-1").field("X-Api-Key", "k"),
        7,
        |seen| if seen.method == "GET" { Response::events("").hold() } else { legacy(seen) },
        async |client| {
            call(&client, "a").await?;
            call(&client, "b").await
        },
    );
    played.result.unwrap();
    assert!(
        played.seen.iter().any(|seen| seen.method == "GET")
            && played.seen.iter().any(|seen| seen.method == "DELETE")
    );
    for seen in &played.seen {
        assert_eq!(
            (seen.field("authorization"), seen.field("x-api-key")),
            (Some("Bearer t-1"), Some("k")),
            "{seen:?}"
        );
    }
}

#[test]
fn a_head_has_room_for_a_long_token() {
    // Tokens with many claims are longer than other heads.
    let token = "t".repeat(16 << 10);
    let bearer = format!("Bearer {token}");
    let played = play_with(
        Connector::new(&MODERN),
        |http| http.bearer(token).field("X-Last", "still there"),
        1 << 16,
        modern,
        async |client| call(&client, "a").await,
    );
    assert_eq!(played.result.unwrap(), "called");
    let [_, called] = &played.seen[..] else { panic!("{:?}", played.seen) };
    assert_eq!(called.field("authorization"), Some(&*bearer));
    assert_eq!(called.field("x-last"), Some("still there"));
    assert_eq!(called.body["params"]["name"], "a");
}

#[test]
fn a_connection_serves_one_request_after_the_other() {
    for answer in [modern as fn(&Seen) -> Response, legacy] {
        let played = play(&CLIENT, 1 << 16, answer, async |client| {
            for _ in 0..20 {
                call(&client, "a").await.unwrap();
            }
        });
        assert!(played.dials.len() <= 2, "{:?}", played.dials);
    }
}

#[test]
fn a_connector_is_told_what_the_first_request_of_each_connection_is_for() {
    for (closes, dials) in [
        // The stream of events takes the connection of the handshake.
        (false, ["Messages http://server/mcp", "Messages http://server/mcp"]),
        (true, ["Messages http://server/mcp", "Events http://server/mcp"]),
    ] {
        let played = play(
            &LEGACY,
            1 << 16,
            move |seen| match seen.method.as_str() {
                "GET" => Response::events("").hold(),
                _ if closes => legacy(seen).field("Connection", "close"),
                _ => legacy(seen),
            },
            async |client| call(&client, "a").await,
        );
        assert_eq!(played.result.unwrap(), "called");
        assert!(dials.iter().all(|dial| played.dials.iter().any(|made| made == dial)));
        assert_eq!(played.dials.iter().any(|dial| dial.starts_with("Events")), closes);
    }
}
