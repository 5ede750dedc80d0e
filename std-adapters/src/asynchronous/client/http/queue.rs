//! Messages that wait to be sent.

use std::collections::VecDeque;
use std::time::Instant;

use mcp_sansio::http::client::Post;

use super::authorize::AUTHORIZATION_LIMIT;
use super::inbox::{Inbox, Received};
use crate::runtime;

/// Up to [`MAX_MESSAGES`] messages or [`MAX_BYTES`], and the one that exceeds that.
#[derive(Default)]
pub(crate) struct Queue {
    messages: VecDeque<Queued>,
    bytes: usize,
}

pub(crate) struct Queued {
    pub(crate) post: Post,
    /// Id of a request, as JSON.
    pub(crate) id: Option<String>,
    /// Whether it opens a session: only responses may be sent at the same time.
    opens: bool,
    is_answer: bool,
    /// Start of the login during which its time limit stands still.
    held: Option<Instant>,
}

impl Queue {
    /// Returns whether a limit is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.messages.len() >= MAX_MESSAGES || self.bytes >= MAX_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) fn push(&mut self, post: Post) {
        let message = post.message();
        let (id, opens, is_answer) =
            (message.id().map(str::to_owned), message.is_handshake(), message.method().is_none());
        self.bytes += post.body().len();
        self.messages.push_back(Queued { post, id, opens, is_answer, held: None });
    }

    /// Takes the next message that may be sent. `shorts` is the number of those in flight without a
    /// response. A message that opens a session goes first; it may wait for a response in the
    /// queue.
    pub(crate) fn next(&mut self, is_opening: bool, shorts: usize) -> Option<Queued> {
        let may_go = |queued: &Queued| {
            queued.opens
                || (!is_opening || queued.is_answer)
                    && (queued.id.is_some() || shorts < MAX_ONE_WAY_POSTS)
        };
        let at = self.messages.iter().position(may_go)?;
        let queued = self.messages.remove(at)?;
        self.bytes -= queued.post.body().len();
        Some(queued)
    }

    /// Stops the time limits of the requests that wait, or lets them go on.
    pub(crate) fn hold(&mut self, is_logging_in: bool, inbox: &mut Inbox) {
        for queued in &mut self.messages {
            let Some(id) = queued.id.as_ref() else { continue };
            match queued.held {
                None if is_logging_in => {
                    queued.held = Some(runtime::now());
                    inbox.push(Received::Postponed(id.clone(), AUTHORIZATION_LIMIT));
                }
                Some(since) if !is_logging_in => {
                    queued.held = None;
                    let unused = AUTHORIZATION_LIMIT.saturating_sub(runtime::elapsed(since));
                    inbox.push(Received::BroughtForward(id.clone(), unused));
                }
                _ => {}
            }
        }
    }

    /// Keeps the messages for which `keep` returns true.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Queued) -> bool) {
        self.messages.retain(keep);
        self.bytes = self.messages.iter().map(|queued| queued.post.body().len()).sum();
    }
}

impl Queued {
    pub(crate) const fn opens(&self) -> bool {
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
    use mcp_sansio::types::Implementation;
    use mcp_sansio::{
        CallOptions, ClientConfig, ClientFeatures, ClientState, Era, Instant, TxBuffer,
    };

    use super::*;

    static CONFIG: ClientConfig<'_> =
        ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::NONE);

    /// Returns a request or a notification with parameters of this length.
    fn post(is_request: bool, length: usize) -> Post {
        let mut state: ClientState = ClientState::new();
        let mut client = state.client(&CONFIG);
        client.set_era(Some(Era::Modern));
        let mut tx = TxBuffer::for_http_requests(Vec::new(), 1 << 20);
        let now = Instant::from_millis(0);
        client.connect(now, &mut tx).unwrap();
        let params = std::collections::BTreeMap::from([("x", "x".repeat(length))]);
        if is_request {
            client
                .request(now, "y", &mcp_sansio::Json(&params), CallOptions::new(), &mut tx)
                .unwrap();
        } else {
            client.notify("y", &mcp_sansio::Json(&params), &mut tx).unwrap();
        }
        tx.take_post().unwrap()
    }

    fn fill(queue: &mut Queue, length: usize) -> usize {
        let mut pushed = 0;
        while !queue.is_full() {
            queue.push(post(false, length));
            pushed += 1;
        }
        pushed
    }

    #[test]
    fn c1_the_queue_is_full_with_so_many_messages_or_so_many_bytes() {
        let mut queue = Queue::default();
        assert_eq!(fill(&mut queue, 1), MAX_MESSAGES);
        queue.retain(|_| false);
        let length = post(false, 100_000).body().len();
        assert_eq!(fill(&mut queue, 100_000), MAX_BYTES.div_ceil(length));
        let mut taken = 0;
        while queue.next(false, 0).is_some() {
            taken += 1;
            assert!(!queue.is_full());
        }
        assert_eq!((taken, queue.bytes), (11, 0));
    }

    #[test]
    fn c1_messages_without_a_response_wait_for_others_to_be_accepted_and_requests_do_not() {
        let mut queue = Queue::default();
        queue.push(post(false, 1));
        queue.push(post(true, 1));
        let first = queue.next(false, MAX_ONE_WAY_POSTS).and_then(|queued| queued.id);
        assert_eq!(first.as_deref(), Some("1"));
        assert!(queue.next(false, MAX_ONE_WAY_POSTS).is_none());
        // While a session is being opened, only responses are sent.
        assert!(queue.next(true, MAX_ONE_WAY_POSTS - 1).is_none());
        assert!(queue.next(false, MAX_ONE_WAY_POSTS - 1).is_some());
    }
}
