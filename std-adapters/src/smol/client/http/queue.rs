//! Messages that wait to be posted.

use std::collections::VecDeque;

use mcp_sansio::http::client::Post;

/// Up to [`MAX_MESSAGES`] messages or [`MAX_BYTES`], and the one that exceeds that.
#[derive(Default)]
pub(super) struct Queue {
    messages: VecDeque<Queued>,
    bytes: usize,
}

pub(super) struct Queued {
    pub(super) message: Vec<u8>,
    /// The id of a request, as it is written.
    pub(super) id: Option<String>,
    /// Whether it opens a session: nothing else but answers may be on its way then.
    opens: bool,
    is_answer: bool,
}

impl Queue {
    /// Whether it takes no more.
    pub(super) fn is_full(&self) -> bool {
        self.messages.len() >= MAX_MESSAGES || self.bytes >= MAX_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn push(&mut self, message: Vec<u8>) {
        let Some(post) = Post::read(&message) else { return };
        let (id, opens, is_answer) = (post.id().map(str::to_owned), post.opens(), post.method().is_none());
        self.bytes += message.len();
        self.messages.push_back(Queued { message, id, opens, is_answer });
    }

    /// The next that may go. `shorts` are under way that have no answer. What opens a session goes first; an answer may be what that waits for.
    pub(super) fn next(&mut self, is_opening: bool, shorts: usize) -> Option<Queued> {
        let may_go =
            |queued: &Queued| queued.opens || (!is_opening || queued.is_answer) && (queued.id.is_some() || shorts < MAX_SHORTS);
        let at = self.messages.iter().position(may_go)?;
        let queued = self.messages.remove(at)?;
        self.bytes -= queued.message.len();
        Some(queued)
    }

    /// Keeps those only.
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

/// Messages that may wait to be posted. With as many, the client has to wait, and with it the server.
const MAX_MESSAGES: usize = 256;
/// Their bytes.
const MAX_BYTES: usize = 1 << 20;
/// Posts under way that have no answer: notifications, and answers to what the server asks. Requests are limited by the table of the client.
pub const MAX_SHORTS: usize = 16;
