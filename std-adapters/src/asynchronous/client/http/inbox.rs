//! Received messages and failures, until the client handles them.

use std::collections::VecDeque;
use std::task::Waker;
use std::time::Duration;

use mcp_sansio::http::client::HttpFailure;
use mcp_sansio::{Instant, OwnedJson};
use mcp_sansio_engine::{ClientEngine, Driver};

use crate::client::HttpError;

/// A message, or the failure of a request, for the client.
pub(crate) enum Received {
    /// A message of the server, or a batch.
    Message(Vec<u8>),
    /// The request with this id failed.
    Failed { id: String, failure: Failure },
    /// The request with this id waits for an authorization, and has this much more time.
    Postponed(String, Duration),
    /// It has used less of it, by this much.
    BroughtForward(String, Duration),
}

/// An owned [`HttpFailure`].
pub(crate) enum Failure {
    Http(HttpError),
    JsonRpc(OwnedJson),
}

impl Failure {
    pub(crate) fn as_core(&self) -> HttpFailure<'_> {
        match self {
            Self::Http(error) => error.as_core(),
            Self::JsonRpc(error) => HttpFailure::JsonRpc(error.as_raw()),
        }
    }
}

/// A bounded queue; writers wait for room first. It holds up to [`ENOUGH`] bytes and one message.
#[derive(Default)]
pub(crate) struct Inbox {
    items: VecDeque<Received>,
    bytes: usize,
    writers: Vec<Waker>,
}

impl Inbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns whether another message may be added.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < ENOUGH
    }

    pub(crate) fn wait_for_room(&mut self, waker: &Waker) {
        if !self.writers.iter().any(|writer| writer.will_wake(waker)) {
            self.writers.push(waker.clone());
        }
    }

    pub(crate) fn push(&mut self, item: Received) {
        self.bytes += item.bytes();
        self.items.push_back(item);
    }

    /// Takes the oldest. Returns the wakers of writers that wait for room.
    pub(crate) fn pop(&mut self) -> (Option<Received>, Vec<Waker>) {
        let item = self.items.pop_front();
        self.bytes -= item.as_ref().map_or(0, Received::bytes);
        let wakers = if self.has_room() { std::mem::take(&mut self.writers) } else { Vec::new() };
        (item, wakers)
    }

    pub(crate) fn clear(&mut self) -> Vec<Waker> {
        self.items.clear();
        self.bytes = 0;
        std::mem::take(&mut self.writers)
    }
}

impl Received {
    /// Hands it to the client.
    pub(crate) fn hand_to(
        self,
        engine: &mut ClientEngine<'_>,
        now: Instant,
        driver: &mut impl Driver,
    ) {
        match self {
            Self::Message(message) => engine.message(now, &message, driver),
            Self::Failed { id, failure } => engine.fail(now, &id, failure.as_core(), driver),
            Self::Postponed(id, by) => engine.postpone(&id, by),
            Self::BroughtForward(id, by) => engine.bring_forward(&id, by),
        }
    }

    fn bytes(&self) -> usize {
        let text = match self {
            Self::Message(message) => message.len(),
            Self::Failed { id, .. } | Self::Postponed(id, _) | Self::BroughtForward(id, _) => {
                id.len()
            }
        };
        text + size_of::<Self>()
    }
}

/// Number of bytes that may wait before another message is added.
const ENOUGH: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c2_a_message_has_no_room_when_enough_waits_and_memory_is_given_back() {
        let mut inbox = Inbox::default();
        for _ in 0..3 {
            let mut messages = 0;
            while inbox.has_room() {
                inbox.push(Received::Message(vec![b'x'; 1023]));
                messages += 1;
            }
            let each = 1023 + size_of::<Received>();
            assert_eq!(messages, ENOUGH.div_ceil(each));
            inbox.wait_for_room(Waker::noop());
            assert_eq!(inbox.pop().1.len(), 1);
            while let (Some(_), _) = inbox.pop() {}
            assert_eq!(inbox.bytes, 0);
        }
        inbox.push(Received::Message(Vec::new()));
        inbox.clear();
        assert!(inbox.is_empty() && inbox.pop().0.is_none());
    }
}
