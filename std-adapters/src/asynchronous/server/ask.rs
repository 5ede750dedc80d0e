//! Questions to a legacy client: requests of ours that a handler waits for.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use mcp_sansio::{Call, Instant, OwnedJson, RequestHandle, SendError};

use super::link::State;
use super::reply::Failure;
use super::voice::Voice;

/// All questions of a connection. They are sent by the connection and not by their futures, which
/// may be dropped in the middle of a frame.
#[derive(Default)]
pub(super) struct Asks {
    asks: Vec<Ask>,
    made: u64,
}

struct Ask {
    ticket: u64,
    parent: RequestHandle,
    question: OwnedJson,
    stage: Stage,
    /// Nobody waits for the answer any more.
    is_dropped: bool,
    waker: Option<Waker>,
}

enum Stage {
    Waiting,
    /// A part of it has been written.
    Begun,
    Open(Call),
    Done(Result<OwnedJson, Failure>),
}

impl Asks {
    pub(super) fn is_empty(&self) -> bool {
        self.asks.is_empty()
    }

    /// An answer has come, or none will.
    pub(super) fn answered(&mut self, call: Call, answer: Result<OwnedJson, Failure>) {
        let is_it = |ask: &&mut Ask| matches!(ask.stage, Stage::Open(open) if open == call);
        if let Some(ask) = self.asks.iter_mut().find(is_it) {
            ask.end(answer);
        }
        self.asks.retain(|ask| !(ask.is_dropped && matches!(ask.stage, Stage::Done(_))));
    }

    /// No answer will come to any of them.
    pub(super) fn close(&mut self) {
        self.asks.iter_mut().for_each(|ask| ask.end(Err(Failure::GONE)));
    }

    pub(super) fn begin(&mut self, parent: RequestHandle, question: OwnedJson) -> u64 {
        self.made += 1;
        let ask = Ask {
            ticket: self.made,
            parent,
            question,
            stage: Stage::Waiting,
            is_dropped: false,
            waker: None,
        };
        self.asks.push(ask);
        self.made
    }

    /// The answer, if there is one. `Pending` has the waker called when there is.
    pub(super) fn poll(
        &mut self,
        ticket: u64,
        cx: &mut task::Context<'_>,
    ) -> Poll<Result<OwnedJson, Failure>> {
        let Some(at) = self.position(ticket) else { return Poll::Ready(Err(Failure::GONE)) };
        match self.asks.get_mut(at) {
            Some(Ask { stage: Stage::Done(_), .. }) => match self.asks.remove(at).stage {
                Stage::Done(answer) => Poll::Ready(answer),
                _ => Poll::Ready(Err(Failure::GONE)),
            },
            Some(ask) => {
                ask.waker = Some(cx.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(Err(Failure::GONE)),
        }
    }

    fn position(&self, ticket: u64) -> Option<usize> {
        self.asks.iter().position(|ask| ask.ticket == ticket)
    }
}

impl Ask {
    fn end(&mut self, answer: Result<OwnedJson, Failure>) {
        self.stage = Stage::Done(answer);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl<const N: usize, const S: usize> State<N, S> {
    /// Sends what has yet to be sent, as far as there is room: questions, and that nobody waits for
    /// an answer any more.
    pub(super) fn send_asks(&mut self, now: Instant) {
        let mut at = 0;
        let mut asks = std::mem::take(&mut self.asks.asks);
        while let Some(ask) = asks.get_mut(at) {
            let (server, outlet) = match ask.stage {
                Stage::Open(call) => self.at_call(call),
                _ => self.at(ask.parent),
            };
            at += 1;
            if outlet.is_blocked() {
                continue;
            }
            let was_mid_frame = outlet.tx.is_mid_frame();
            let sent = match ask.stage {
                // Two of one handler and method could not be told apart in the middle of a frame.
                Stage::Waiting if was_mid_frame => Err(SendError::Full),
                Stage::Waiting | Stage::Begun => {
                    let sent = match ask.question.to() {
                        Ok(question) => {
                            server.request_input(now, ask.parent, &question, &mut outlet.tx)
                        }
                        Err(_) => Err(SendError::Value),
                    };
                    sent.map(|call| ask.stage = Stage::Open(call))
                }
                Stage::Open(call) if ask.is_dropped => server
                    .cancel_call(now, call, &mut outlet.tx)
                    .map(|_| ask.end(Err(Failure::GONE))),
                Stage::Open(_) | Stage::Done(_) => Ok(()),
            };
            match sent {
                Err(error) if error.is_full() => {
                    if matches!(ask.stage, Stage::Waiting)
                        && !was_mid_frame
                        && outlet.tx.is_mid_frame()
                    {
                        ask.stage = Stage::Begun;
                    }
                    outlet.block();
                }
                Err(error) => ask.end(Err(Failure::invalid_input_response(format!(
                    "The client cannot be asked now: {error}"
                )))),
                // Sent meanwhile, but nobody waits: once more, to take it back.
                Ok(()) if ask.is_dropped && matches!(ask.stage, Stage::Open(_)) => at -= 1,
                Ok(()) => {}
            }
        }
        asks.retain(|ask| !(ask.is_dropped && matches!(ask.stage, Stage::Done(_))));
        self.asks.asks = asks;
    }

    /// Nobody waits for the answer any more.
    pub(super) fn drop_question(&mut self, ticket: u64) {
        let Some(at) = self.asks.position(ticket) else { return };
        let Some(ask) = self.asks.asks.get_mut(at) else { return };
        match ask.stage {
            // The server takes back by itself what belongs to a request that has ended.
            Stage::Open(call) if !self.server.is_call_open(call) => drop(self.asks.asks.remove(at)),
            Stage::Waiting | Stage::Done(_) => drop(self.asks.asks.remove(at)),
            Stage::Begun | Stage::Open(_) => {
                ask.is_dropped = true;
                self.touch();
            }
        }
    }
}

/// Waits for the answer to a question. Dropped, it takes the question back.
pub(super) struct Asking {
    voice: Arc<dyn Voice>,
    ticket: u64,
}

impl Asking {
    pub(super) fn new(voice: Arc<dyn Voice>, parent: RequestHandle, question: OwnedJson) -> Self {
        let ticket = voice.ask(parent, question);
        Self { voice, ticket }
    }
}

impl Future for Asking {
    type Output = Result<OwnedJson, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.voice.poll_answer(self.ticket, cx)
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.voice.drop_question(self.ticket);
    }
}
