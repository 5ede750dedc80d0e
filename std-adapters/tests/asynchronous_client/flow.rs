//! Streams that hold a few bytes, and requests that are longer than all buffers.

use std::cell::Cell;

use futures_lite::future;
use mcp_sansio::types::{CallToolParams, LoggingLevel};
use mcp_sansio::{
    CallOptions, ClientRequest, Json, LogMessage, OwnedJson, RawJson, Revision, ServerEvent,
    Violation,
};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, ClientLimits, Connector};
use serde_json::json;

use crate::pipe::pipe;
use crate::script::{NOW, Session, play_on, serve, text};
use crate::{CLIENT, LEGACY, MODERN};

/// Returns the argument.
fn echo(event: &ServerEvent<'_>, session: &mut Session) {
    if let ServerEvent::Request(request) = event {
        let said = request.arguments().get("say").and_then(RawJson::as_string).unwrap().to_string();
        session.text(request.handle, &said);
    }
}

async fn say(client: &Client, what: &str) -> Result<OwnedJson, CallError> {
    let arguments = OwnedJson::new(&Json(json!({"say": what})), Revision::LATEST).unwrap();
    client
        .request(
            "tools/call",
            &CallToolParams::new("echo").arguments(arguments.as_raw()),
            CallOptions::new(),
        )
        .await
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
                .limits(ClientLimits { max_pending: 1024, ..ClientLimits::DEFAULT });
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
fn long_requests_made_at_once_go_out_in_pieces_and_one_after_the_other() {
    let server = |pipe| serve(pipe, &MODERN, echo);
    let connector =
        Connector::new(&CLIENT).limits(ClientLimits { max_pending: 1024, ..ClientLimits::DEFAULT });
    play_on(connector, pipe(100, 100), server, async |client| {
        let executor = smol::LocalExecutor::new();
        let calls: Vec<_> = ["a", "b", "c", "d"]
            .iter()
            .map(|letter| {
                let (client, what) = (client.clone(), letter.repeat(10_000));
                executor.spawn(async move { text(&say(&client, &what).await.unwrap()) == what })
            })
            .collect();
        for call in calls {
            assert!(executor.run(call).await);
        }
    });
}

#[test]
fn a_long_request_that_is_dropped_half_sent_leaves_the_line_free() {
    for config in [&MODERN, &LEGACY] {
        let faults = Cell::new(0);
        let script = |event: &ServerEvent<'_>, session: &mut Session| match event {
            ServerEvent::Violation(Violation::NotJson) => faults.set(faults.get() + 1),
            event => echo(event, session),
        };
        let server = |pipe| serve(pipe, config, script);
        let connector = Connector::new(&CLIENT)
            .limits(ClientLimits { max_pending: 1024, ..ClientLimits::DEFAULT });
        play_on(connector, pipe(100, 100), server, async |client| {
            client.connected().await.unwrap();
            let long = "x".repeat(100_000);
            // Time to write a part of it.
            let a_while = async {
                for _ in 0..20 {
                    future::yield_now().await;
                }
            };
            future::or(async { drop(say(&client, &long).await) }, a_while).await;
            // The id of the request that was cut off is not used again: an error response to it is
            // ignored.
            for _ in 0..3 {
                assert_eq!(text(&say(&client, "next").await.unwrap()), "next");
            }
        });
        assert_eq!(faults.get(), 1);
    }
}

#[test]
fn a_queued_request_that_is_dropped_is_not_sent() {
    let requests = Cell::new(0);
    let script = |event: &ServerEvent<'_>, session: &mut Session| {
        requests.set(requests.get() + usize::from(matches!(event, ServerEvent::Request(_))));
        echo(event, session);
    };
    let server = |pipe| serve(pipe, &MODERN, script);
    let connector =
        Connector::new(&CLIENT).limits(ClientLimits { max_pending: 1024, ..ClientLimits::DEFAULT });
    play_on(connector, pipe(100, 100), server, async |client| {
        let long = "x".repeat(50_000);
        // The second waits behind the first, and is dropped before that is sent; the third is not
        // held up by it.
        let dropped = future::or(async { drop(say(&client, "never").await) }, async {
            for _ in 0..20 {
                future::yield_now().await;
            }
        });
        let ((first, ()), third) =
            future::zip(future::zip(say(&client, &long), dropped), say(&client, "third")).await;
        assert!(text(&first.unwrap()) == long);
        assert_eq!(text(&third.unwrap()), "third");
    });
    assert_eq!(requests.get(), 2);
}

#[test]
fn a_ping_gets_a_response_while_a_long_request_is_sent() {
    let pongs = Cell::new(0);
    let script = |event: &ServerEvent<'_>, session: &mut Session| match event {
        ServerEvent::Request(_) => {
            session.server.request(NOW, ClientRequest::ping(), &mut session.tx).unwrap();
            echo(event, session);
        }
        ServerEvent::CallFinished { outcome, .. } => {
            outcome.result().unwrap();
            pongs.set(pongs.get() + 1);
        }
        _ => {}
    };
    let server = |pipe| serve(pipe, &LEGACY, script);
    let connector =
        Connector::new(&CLIENT).limits(ClientLimits { max_pending: 1024, ..ClientLimits::DEFAULT });
    play_on(connector, pipe(100, 100), server, async |client| {
        let long = "x".repeat(10_000);
        let (first, second) = future::zip(say(&client, "short"), say(&client, &long)).await;
        assert_eq!(text(&first.unwrap()), "short");
        assert!(text(&second.unwrap()) == long);
        // The response to the last ping has arrived as well.
        while pongs.get() < 2 {
            future::yield_now().await;
        }
    });
}

#[test]
fn a_response_longer_than_the_longest_line_ends_only_its_call() {
    let server = |pipe| serve(pipe, &MODERN, echo);
    let connector =
        Connector::new(&CLIENT).limits(ClientLimits { max_line: 4096, ..ClientLimits::DEFAULT });
    play_on(connector, pipe(1000, 1000), server, async |client| {
        let long = "x".repeat(10_000);
        let (first, second) = future::zip(say(&client, &long), say(&client, "short")).await;
        assert!(matches!(first, Err(CallError::Invalid(Violation::TooLong))), "{first:?}");
        assert_eq!(text(&second.unwrap()), "short");
    });
}
