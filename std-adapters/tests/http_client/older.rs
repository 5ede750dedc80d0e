//! Servers of 2024-11-05: one stream of the server, and an endpoint for messages.

use mcp_sansio_adapters::asynchronous::client::{CallError, ConnectionEnd};
use serde_json::json;

use crate::CLIENT;
use crate::scene::{Response, Seen, answer, call, event, initialized, play};

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
    assert!(matches!(played.result, Err(CallError::Closed)), "{:?}", played.result);
    assert!(matches!(played.end, Ok(ConnectionEnd::ServerClosed)), "{:?}", played.end);
}
