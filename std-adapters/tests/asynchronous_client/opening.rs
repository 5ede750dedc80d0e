//! Connecting, and its failures.

use futures_lite::io::BufReader;
use futures_lite::{AsyncBufReadExt, AsyncWriteExt};
use mcp_sansio::{Revision, ServerEvent, ServerFeatures};
use mcp_sansio_adapters::asynchronous::client::{
    CallError, ConnectError, ConnectionEnd, Connector,
};
use serde_json::{Value, json};

use crate::pipe::{Pipe, pipe};
use crate::script::{Session, call, play, play_on};
use crate::{CLIENT, LEGACY, MODERN};

fn echo(event: &ServerEvent<'_>, session: &mut Session) {
    if let ServerEvent::Request(request) = event {
        session.text(request.handle, "echo");
    }
}

/// A server whose responses are written by hand.
async fn by_hand(pipe: Pipe, mut answer: impl FnMut(&Value) -> Option<Value>) {
    let mut lines = BufReader::new(pipe);
    let mut line = String::new();
    while lines.read_line(&mut line).await.unwrap() > 0 {
        let message: Value = serde_json::from_str(&line).unwrap();
        line.clear();
        if let Some(mut answer) = answer(&message) {
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = message["id"].clone();
            if lines.get_mut().write_all(format!("{answer}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

#[test]
fn the_servers_era_is_found_out_and_can_be_kept() {
    for (config, revision) in [(&MODERN, Revision::LATEST), (&LEGACY, Revision::V2025_11_25)] {
        let (era, end) = play(Connector::new(&CLIENT), config, echo, async |client| {
            assert_eq!(client.era(), None);
            let opened = client.connected().await.unwrap();
            assert_eq!(opened.revision, revision);
            assert!(opened.capabilities.unwrap().contains(ServerFeatures::TOOLS));
            assert_eq!(client.connected().await.unwrap().revision, revision);
            client.era()
        });
        assert_eq!(era, Some(revision.era()));
        assert!(matches!(end, ConnectionEnd::Closed), "{end:?}");
    }
}

#[test]
fn if_connecting_fails_all_calls_and_the_connection_end_with_the_reason() {
    let refusing = async |pipe| {
        by_hand(pipe, |_| Some(json!({"error": {"code": -32603, "message": "not today"}}))).await;
    };
    let ((), end) =
        play_on(Connector::new(&CLIENT), pipe(1 << 16, 1 << 16), refusing, async |client| {
            let (first, second) =
                futures_lite::future::zip(call(&client, "a"), client.connected()).await;
            for error in [
                first.map(drop).unwrap_err(),
                second.map(drop).unwrap_err(),
                call(&client, "b").await.map(drop).unwrap_err(),
            ] {
                let CallError::ConnectFailed { why: ConnectError::Refused(refusal), .. } = &error
                else {
                    panic!("{error:?}")
                };
                assert_eq!((refusal.code, refusal.message.as_str()), (-32603, "not today"));
                assert_eq!(
                    error.to_string(),
                    "cannot connect: the server rejected the connection: not today (code -32603)"
                );
            }
        });
    assert!(matches!(end, ConnectionEnd::ConnectFailed(ConnectError::Refused(_))), "{end:?}");
}
