//! Messages that wait to be sent.

use std::collections::VecDeque;

use mcp_sansio::http::client::OutgoingMessage;

/// Up to [`MAX_MESSAGES`] messages or [`MAX_BYTES`], and the one that exceeds that.
#[derive(Default)]
pub(super) struct Queue {
    messages: VecDeque<Queued>,
    bytes: usize,
}

pub(super) struct Queued {
    pub(super) message: Vec<u8>,
    /// Id of a request, as JSON.
    pub(super) id: Option<String>,
    /// Whether it opens a session: only responses may be sent at the same time.
    opens: bool,
    is_answer: bool,
}

impl Queue {
    /// Returns whether a limit is reached.
    pub(super) fn is_full(&self) -> bool {
        self.messages.len() >= MAX_MESSAGES || self.bytes >= MAX_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn push(&mut self, message: Vec<u8>) {
        let Some(post) = OutgoingMessage::parse(&message) else { return };
        let (id, opens, is_answer) =
            (post.id().map(str::to_owned), post.is_handshake(), post.method().is_none());
        self.bytes += message.len();
        self.messages.push_back(Queued { message, id, opens, is_answer });
    }

    /// Takes the next message that may be sent. `shorts` is the number of those in flight without a
    /// response. A message that opens a session goes first; it may wait for a response in the
    /// queue.
    pub(super) fn next(&mut self, is_opening: bool, shorts: usize) -> Option<Queued> {
        let may_go = |queued: &Queued| {
            queued.opens
                || (!is_opening || queued.is_answer)
                    && (queued.id.is_some() || shorts < MAX_ONE_WAY_POSTS)
        };
        let at = self.messages.iter().position(may_go)?;
        let queued = self.messages.remove(at)?;
        self.bytes -= queued.message.len();
        Some(queued)
    }

    /// Keeps the messages for which `keep` returns true.
    pub(super) fn retain(&mut self, keep: impl Fn(&Queued) -> bool) {
        self.messages.retain(keep);
        self.bytes = self.messages.iter().map(|queued| queued.message.len()).sum();
    }
}

impl Queued {
    pub(super) const fn opens(&self) -> bool {
        self.opens
    }
}

/// Maximum number of messages that wait to be sent. At the limit the client waits, and the server
/// with it.
const MAX_MESSAGES: usize = 256;
/// Maximum number of bytes of them.
const MAX_BYTES: usize = 1 << 20;
/// Maximum number of POST requests in flight without a response: notifications, and responses to
/// the server's requests. Requests are limited by the table of the client.
pub const MAX_ONE_WAY_POSTS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn response(length: usize) -> Vec<u8> {
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{}"}}}}"#, "x".repeat(length))
            .into_bytes()
    }

    fn fill(queue: &mut Queue, length: usize) -> usize {
        let mut pushed = 0;
        while !queue.is_full() {
            queue.push(response(length));
            pushed += 1;
        }
        pushed
    }

    #[test]
    fn c1_the_queue_is_full_with_so_many_messages_or_so_many_bytes() {
        let mut queue = Queue::default();
        assert_eq!(fill(&mut queue, 1), MAX_MESSAGES);
        queue.retain(|_| false);
        assert_eq!(fill(&mut queue, 100_000), MAX_BYTES.div_ceil(response(100_000).len()));
        let mut taken = 0;
        while queue.next(false, 0).is_some() {
            taken += 1;
            assert!(!queue.is_full());
        }
        assert_eq!((taken, queue.bytes), (11, 0));
    }

    #[test]
    fn c1_answers_wait_for_others_to_be_taken_and_requests_do_not() {
        let mut queue = Queue::default();
        queue.push(response(1));
        queue.push(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#.to_vec());
        assert_eq!(
            queue.next(false, MAX_ONE_WAY_POSTS).and_then(|queued| queued.id).as_deref(),
            Some("7")
        );
        assert!(queue.next(false, MAX_ONE_WAY_POSTS).is_none());
        // Opening may wait for a response.
        assert!(queue.next(true, MAX_ONE_WAY_POSTS - 1).is_some());
    }
}
