//! Streams that hold a few bytes, and requests that are longer than all buffers.

use futures_lite::future;
use mcp_sansio::types::LoggingLevel;
use mcp_sansio::{Json, LogMessage, OwnedJson, RawJson, ServerEvent, Violation};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, ClientLimits, Connector};
use serde_json::json;

use crate::pipe::pipe;
use crate::script::{Session, play_on, serve, text};
use crate::{CLIENT, LEGACY, MODERN};

/// Returns the argument.
fn echo(event: &ServerEvent<'_>, session: &mut Session) {
    if let ServerEvent::Request(request) = event {
        let said = request.arguments().get("say").and_then(RawJson::as_string).unwrap().to_string();
        session.text(request.handle, &said);
    }
}

async fn say(client: &Client, what: &str) -> Result<OwnedJson, CallError> {
    client.call_tool("echo", &Json(json!({"say": what}))).await
}

#[test]
fn a_server_that_writes_before_it_reads_on_is_no_deadlock_however_little_the_stream_holds() {
    let long = "x".repeat(5_000);
    for (capacity, chunk) in [(1, 1), (7, 3), (64, 64)] {
        for config in [&MODERN, &LEGACY] {
            // Another message precedes each response, so that both sides have more to write than
            // fits.
            let script = |event: &ServerEvent<'_>, session: &mut Session| {
                if matches!(event, ServerEvent::Request(_))
                    && std::ptr::eq(config, &raw const LEGACY)
                {
                    let message = LogMessage::new(LoggingLevel::Error, &long);
                    let _ = session.server.log_unrelated(&message, &mut session.tx).unwrap();
                }
                echo(event, session);
            };
            let server = |pipe| serve(pipe, config, script);
            let connector = Connector::new(&CLIENT)
                .limits(ClientLimits { max_pending: 1024, ..ClientLimits::new() });
            play_on(connector, pipe(capacity, chunk), server, async |client| {
                let both = future::zip(say(&client, &long), say(&client, "short"));
                let ((first, second), third) = future::zip(both, say(&client, &long)).await;
                let said = [first, second, third].map(|result| text(&result.unwrap()));
                assert!(said == [long.as_str(), "short", long.as_str()]);
            });
        }
    }
}

#[test]
fn a_response_longer_than_the_longest_line_ends_only_its_call() {
    let server = |pipe| serve(pipe, &MODERN, echo);
    let connector =
        Connector::new(&CLIENT).limits(ClientLimits { max_line: 4096, ..ClientLimits::new() });
    play_on(connector, pipe(1000, 1000), server, async |client| {
        let long = "x".repeat(10_000);
        let (first, second) = future::zip(say(&client, &long), say(&client, "short")).await;
        assert!(matches!(first, Err(CallError::Invalid(Violation::TooLong))), "{first:?}");
        assert_eq!(text(&second.unwrap()), "short");
    });
}
