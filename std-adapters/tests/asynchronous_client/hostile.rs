//! Servers that never pause, never read, or drip, beside an ordinary one on the same thread. Steps
//! are counted, not seconds.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncWrite, future};
use mcp_sansio::types::CallToolParams;
use mcp_sansio::{CallOptions, ClientConfig, Era, OwnedJson, Revisions, ServerEvent};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, Connector};

use crate::pipe::pipe;
use crate::script::{Session, call, run, serve, text};
use crate::{CLIENT, MODERN};

const SHORT: Duration = Duration::from_millis(50);

/// A server that repeats a line of text for ever.
struct Hostile {
    kind: Kind,
    said: &'static [u8],
    at: usize,
    steps: Rc<Cell<usize>>,
    /// Whether it drips now, or makes the client wait.
    drips: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    NeverPauses,
    NeverReads,
    Drips,
}

impl Hostile {
    fn new(kind: Kind, said: &'static str, steps: &Rc<Cell<usize>>) -> Self {
        Self { kind, said: said.as_bytes(), at: 0, steps: steps.clone(), drips: false }
    }

    fn say(&mut self, into: &mut [u8]) -> usize {
        for byte in into.iter_mut() {
            *byte = self.said[self.at % self.said.len()];
            self.at += 1;
        }
        into.len()
    }
}

impl AsyncRead for Hostile {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.steps.set(self.steps.get() + 1);
        match self.kind {
            Kind::NeverPauses => {
                let len = into.len().min(1024);
                Poll::Ready(Ok(self.say(&mut into[..len])))
            }
            Kind::NeverReads => Poll::Pending,
            Kind::Drips => {
                self.drips = !self.drips;
                if self.drips {
                    return Poll::Ready(Ok(self.say(&mut into[..1])));
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

impl AsyncWrite for Hostile {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.steps.set(self.steps.get() + 1);
        match self.kind {
            Kind::NeverReads => Poll::Pending,
            // One byte, without a pause.
            Kind::NeverPauses | Kind::Drips => Poll::Ready(Ok(bytes.len().min(1))),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn echo(event: &ServerEvent<'_>, session: &mut Session) {
    if let ServerEvent::Request(request) = event {
        session.text(request.handle, "here");
    }
}

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
        for (kind, said) in [Kind::NeverPauses, Kind::NeverReads, Kind::Drips]
            .into_iter()
            .flat_map(|kind| NOISE.map(|said| (kind, said)))
        {
            let steps = Rc::new(Cell::new(0));
            let connector =
                Connector::new(&CLIENT).set_era(Some(era)).close_timeout(SHORT).max_pending(1024);
            let (hostile, connection) = connector.connect(Hostile::new(kind, said, &steps));
            let hostile = async {
                // In legacy sessions none of them is ever sent: `initialize` gets no response.
                for length in [1, 10_000] {
                    let result = limited(&hostile, length).await;
                    assert!(
                        matches!(result, Err(CallError::TimedOut)),
                        "{kind:?} {said:?}: {result:?}"
                    );
                }
                hostile.close();
            };
            let (ours, theirs) = pipe(1 << 16, 1 << 16);
            let (ordinary, ordinary_connection) = Connector::new(&CLIENT).connect(ours);
            let ordinary = async {
                let (mut calls, mut most) = (0, 0);
                while calls < 100 {
                    let before = steps.get();
                    assert_eq!(text(&call(&ordinary, "a").await.unwrap()), "here");
                    most = most.max(steps.get() - before);
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
                most < 5_000,
                "{kind:?} {said:?}: {most} steps of the hostile server during one call of the other"
            );
        }
    }
}

static PROBING: ClientConfig<'_> =
    CLIENT.probe_timeout(SHORT).call_limit(SHORT).call_timeout(SHORT).revisions(Revisions::ALL);

#[test]
fn c3_connecting_to_a_hostile_server_without_a_response_times_out() {
    for (kind, said) in [Kind::NeverPauses, Kind::NeverReads, Kind::Drips]
        .into_iter()
        .flat_map(|kind| NOISE.map(|said| (kind, said)))
    {
        let steps = Rc::new(Cell::new(0));
        let connector = Connector::new(&PROBING).close_timeout(SHORT);
        let (client, connection) = connector.connect(Hostile::new(kind, said, &steps));
        let result = run(connection.drive(async { call(&client, "a").await }));
        assert!(
            matches!(result, Err(CallError::TimedOut | CallError::ConnectFailed(_))),
            "{kind:?} {said:?}: {result:?}"
        );
    }
}

#[test]
fn c3_one_poll_of_a_connection_takes_a_bounded_number_of_steps() {
    for said in NOISE {
        let steps = Rc::new(Cell::new(0));
        let connector = Connector::new(&CLIENT).set_era(Some(Era::Modern));
        let (client, connection) = connector.connect(Hostile::new(Kind::NeverPauses, said, &steps));
        let mut connection = Box::pin(connection);
        let (mut call, mut polls) = (Box::pin(limited(&client, 100_000)), 0);
        let most = run(poll_fn(|cx| {
            let before = steps.get();
            assert!(connection.as_mut().poll(cx).is_pending());
            let taken = steps.get() - before;
            let is_over = call.as_mut().poll(cx).is_ready();
            polls += 1;
            if is_over || polls == 1000 { Poll::Ready(taken) } else { Poll::Pending }
        }));
        assert!(most <= 16 * 17, "{said:?}: {most}");
    }
}
