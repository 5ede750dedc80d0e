//! Servers that never pause, never read, or drip, beside an ordinary one on the same thread. Steps
//! are counted, not seconds.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::types::CallToolParams;
use mcp_sansio::{CallOptions, ClientConfig, Era, OwnedJson, Revisions};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, ClientLimits, Connector};

use crate::hostile_stream::{Counts, Hostile, Manner};
use crate::pipe::pipe;
use crate::script::{call, echo, run, serve, text};
use crate::{CLIENT, MODERN};

const SHORT: Duration = Duration::from_millis(50);

/// Makes a call that is longer than the output buffer, with a time limit.
async fn limited(client: &Client, length: usize) -> Result<OwnedJson, CallError> {
    let name = "x".repeat(length);
    client.request("tools/call", &CallToolParams::new(&name), CallOptions::new().limit(SHORT)).await
}

const NOISE: [&str; 4] = [
    // No line ends.
    "x",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n",
    "\n",
];

#[test]
fn c3_calls_of_hostile_servers_end_in_time_and_those_of_another_go_on() {
    for era in [Era::Modern, Era::Legacy] {
        for (kind, noise) in
            Manner::ALL.into_iter().flat_map(|kind| NOISE.map(|noise| (kind, noise)))
        {
            let steps = Arc::new(Counts::default());
            let connector = Connector::new(&CLIENT).era(era).limits(ClientLimits {
                close_timeout: SHORT,
                max_pending: 1024,
                ..ClientLimits::new()
            });
            let (hostile, connection) = connector.connect(Hostile::new(kind, "", noise, &steps));
            let hostile = async {
                // In legacy sessions none of them is ever sent: `initialize` gets no response.
                for length in [1, 10_000] {
                    let result = limited(&hostile, length).await;
                    assert!(
                        matches!(result, Err(CallError::TimedOut)),
                        "{kind:?} {noise:?}: {result:?}"
                    );
                }
                hostile.close();
            };
            let (ours, theirs) = pipe(1 << 16, 1 << 16);
            let (ordinary, ordinary_connection) = Connector::new(&CLIENT).connect(ours);
            let ordinary = async {
                let (mut calls, mut most) = (0, 0);
                while calls < 100 {
                    let before = steps.steps();
                    assert_eq!(text(&call(&ordinary, "a").await.unwrap()), "a");
                    most = most.max(steps.steps() - before);
                    calls += 1;
                }
                drop(ordinary);
                most
            };
            // One future: all of them are polled in every round.
            let ordinary = future::zip(
                future::zip(ordinary, ordinary_connection),
                serve(theirs, &MODERN, echo),
            );
            let (((most, end), ()), _) =
                run(future::zip(ordinary, future::zip(hostile, connection)));
            end.unwrap();
            // A call takes some rounds of the executor, and in each the hostile server gets a few
            // dozen reads and writes.
            assert!(
                most < 2_500,
                "{kind:?} {noise:?}: {most} steps of the hostile server during one call of the other"
            );
        }
    }
}

static PROBING: ClientConfig<'_> =
    CLIENT.probe_timeout(SHORT).call_limit(SHORT).call_timeout(SHORT).revisions(Revisions::ALL);

#[test]
fn c3_connecting_to_a_hostile_server_without_a_response_times_out() {
    for (kind, noise) in Manner::ALL.into_iter().flat_map(|kind| NOISE.map(|noise| (kind, noise))) {
        let steps = Arc::new(Counts::default());
        let connector = Connector::new(&PROBING)
            .limits(ClientLimits { close_timeout: SHORT, ..ClientLimits::new() });
        let (client, connection) = connector.connect(Hostile::new(kind, "", noise, &steps));
        let result = run(connection.drive(async { call(&client, "a").await }));
        assert!(
            matches!(result, Err(CallError::TimedOut | CallError::ConnectFailed { .. })),
            "{kind:?} {noise:?}: {result:?}"
        );
    }
}

#[test]
fn c3_one_poll_of_a_connection_takes_a_bounded_number_of_steps() {
    for noise in NOISE {
        let steps = Arc::new(Counts::default());
        let connector = Connector::new(&CLIENT).era(Era::Modern);
        let (client, connection) =
            connector.connect(Hostile::new(Manner::NEVER_PAUSES, "", noise, &steps));
        let mut connection = Box::pin(connection);
        let (mut call, mut polls) = (Box::pin(limited(&client, 100_000)), 0);
        let most = run(poll_fn(|cx| {
            let before = steps.steps();
            assert!(connection.as_mut().poll(cx).is_pending());
            let taken = steps.steps() - before;
            let is_over = call.as_mut().poll(cx).is_ready();
            polls += 1;
            if is_over || polls == 1000 { Poll::Ready(taken) } else { Poll::Pending }
        }));
        assert!(most <= 16 * 17, "{noise:?}: {most}");
    }
}
