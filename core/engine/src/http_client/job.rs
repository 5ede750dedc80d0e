//! A job of the client: a message with its response, or a stream, over as many exchanges as that
//! takes.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use mcp_sansio::http::client::{Exchange, OutgoingMessage, Post};
use mcp_sansio::http::sse::EventReader;
use mcp_sansio::{Instant, methods};

use super::tools::Listing;
use crate::{ClientEngine, Driver, HttpError};

pub(super) struct Job {
    pub(super) kind: Kind,
    /// A request of the client over HTTP itself that comes before the message is sent again. Of its
    /// messages the latest is kept.
    pub(super) errand: Option<Errand>,
    pub(super) ask: Ask,
    /// Path and query of the request.
    pub(super) target: String,
    pub(super) phase: Phase,
    pub(super) exchange: Exchange,
    pub(super) events: EventReader<Vec<u8>>,
    /// The body, as far as it was received; or, of an errand, the latest message.
    pub(super) body: Vec<u8>,
    /// Number of bytes since the last event.
    pub(super) without_event: usize,
    /// Number of the session in which the message was sent; of a response, that of its request; of
    /// a stream, its own.
    pub(super) session: u32,
    /// Whether no other message may overtake the message.
    pub(super) opens: bool,
    /// Whether there has been a stream. Without one, 404 may say that the server offers none.
    pub(super) has_streamed: bool,
    pub(super) tried: Tried,
    /// Time at which the exchange ends.
    pub(super) limit: Option<Instant>,
    /// Start of the login during which the time limit of the call stands still.
    pub(super) held: Option<Instant>,
    pub(super) is_logging_in: bool,
    /// Whether the message asks for the list of tools.
    pub(super) lists_tools: bool,
}

/// Attempts made for a message.
#[derive(Default)]
pub(super) struct Tried {
    pub(super) another_session: bool,
    pub(super) another_list: bool,
    pub(super) same_version: bool,
    pub(super) redirects: u8,
    pub(super) answers: u8,
}

pub(super) enum Kind {
    /// Sends a message in a POST, and delivers the response.
    Message(Post),
    /// Reads the GET stream of a session.
    Listen,
    /// Reads the stream of a server of 2024-11-05. `initialize` waits for its first event; without
    /// one it fails in this way.
    HttpSse(Option<(Box<Job>, HttpError)>),
    /// Ends the session, until this time.
    Delete(Instant),
}

/// Messages of the client itself.
pub(super) enum Errand {
    /// Opens another session.
    Initialize(Post),
    /// Completes that.
    Initialized(Post),
    /// Reads the list of tools again.
    Tools(Box<Listing>),
}

/// The request of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ask {
    /// The message; of [`Kind::Delete`] the end of the session.
    Message,
    /// A stream.
    Stream,
    /// The stream that was interrupted.
    Resumed,
}

/// The part of the response that has come.
pub(super) enum Phase {
    /// Nothing.
    Sending,
    /// The body is a message.
    Message,
    /// The body is an event stream.
    Events,
    /// The body says more about this status; `location` is the target of a redirection.
    Error { status: u16, location: String },
    /// The body does not matter. The response is complete, or lost.
    Rest { is_complete: bool },
    /// The body does not matter: the session has ended.
    SessionEnded,
    /// Other credentials are needed.
    Refused { status: u16, challenge: String },
    /// There is no exchange until the stream is resumed, or the message is sent again, at this
    /// time.
    Waiting(Instant),
    /// There is no exchange until another session is open.
    Renewal,
}

impl Kind {
    /// Returns the id, as JSON, of the call that waits.
    pub(super) fn call(&self) -> Option<&str> {
        match self {
            Self::Message(post) => post.message().id(),
            Self::HttpSse(Some((job, _))) => job.message()?.id(),
            Self::HttpSse(None) | Self::Listen | Self::Delete(_) => None,
        }
    }

    /// Returns the time at which a job of this kind ends.
    pub(super) const fn limit(&self) -> Option<Instant> {
        if let Self::Delete(limit) = self { Some(*limit) } else { None }
    }
}

impl Job {
    pub(super) fn new(kind: Kind, exchange: Exchange, max_message: usize) -> Self {
        Self {
            kind,
            errand: None,
            ask: Ask::Message,
            target: String::new(),
            phase: Phase::Sending,
            exchange,
            events: EventReader::with_limit(Vec::new(), max_message),
            body: Vec::new(),
            without_event: 0,
            session: 0,
            opens: false,
            has_streamed: false,
            tried: Tried::default(),
            limit: None,
            held: None,
            is_logging_in: false,
            lists_tools: false,
        }
    }

    /// Returns the post that is sent now.
    pub(super) fn post(&self) -> Option<&Post> {
        match (&self.errand, &self.kind) {
            (Some(Errand::Initialize(post) | Errand::Initialized(post)), _) => Some(post),
            (Some(Errand::Tools(listing)), _) => Some(&listing.post),
            (None, Kind::Message(post)) => Some(post),
            (None, Kind::Listen | Kind::HttpSse(_) | Kind::Delete(_)) => None,
        }
    }

    /// Returns the message that the job is about.
    pub(super) fn message(&self) -> Option<OutgoingMessage<'_>> {
        if let Kind::Message(post) = &self.kind { Some(post.message()) } else { None }
    }

    pub(super) fn call(&self) -> Option<&str> {
        self.kind.call()
    }

    /// Whether the job is a message without a response, or the end of the session.
    pub(super) fn is_one_way(&self) -> bool {
        matches!(self.kind, Kind::Delete(_))
            || self.message().is_some_and(|message| message.id().is_none())
    }

    /// Whether the message is the response to a request of the server.
    pub(super) fn is_answer(&self) -> bool {
        self.message().is_some_and(|message| message.method().is_none())
    }

    /// Whether the job opens another session.
    pub(super) const fn renews(&self) -> bool {
        matches!(self.errand, Some(Errand::Initialize(_) | Errand::Initialized(_)))
    }

    /// Whether the time of sending is limited: the client limits that of its calls only.
    pub(super) fn is_limited(&self) -> bool {
        self.renews() || self.errand.is_none() && self.message().is_some() && self.is_one_way()
    }

    pub(super) fn method(&self) -> &'static str {
        match (self.ask, &self.kind) {
            (Ask::Stream | Ask::Resumed, _) => "GET",
            (Ask::Message, Kind::Delete(_)) => "DELETE",
            (Ask::Message, _) => "POST",
        }
    }

    /// Returns the time at which something is to be done.
    pub(super) fn due(&self) -> Option<Instant> {
        let resumes = if let Phase::Waiting(at) = self.phase { Some(at) } else { None };
        [self.limit, resumes].into_iter().flatten().min()
    }
}

/// Whether a message is sent before the client closes: nobody waits for a response to it. A server
/// learns of a call that was dropped, and is a task, in no other way.
pub(super) fn outlives_calls(message: &OutgoingMessage<'_>) -> bool {
    message.id().is_none() || message.has_method(methods::TASKS_CANCEL)
}

// Messages that wait to be sent, and those that were received.

/// Up to [`MAX_MESSAGES`] messages or [`MAX_BYTES`], and the one that exceeds that.
#[derive(Default)]
pub(super) struct Queue {
    messages: VecDeque<Queued>,
    bytes: usize,
}

pub(super) struct Queued {
    pub(super) post: Post,
    /// Id of a request, as JSON.
    pub(super) id: Option<String>,
    /// Whether it opens a session: only responses may be sent at the same time.
    pub(super) opens: bool,
    is_answer: bool,
    /// Number of the session in which it was written.
    pub(super) session: u32,
    /// Start of the login during which its time limit stands still.
    pub(super) held: Option<Instant>,
}

impl Queue {
    /// Returns whether a limit is reached.
    pub(super) fn is_full(&self) -> bool {
        self.messages.len() >= MAX_MESSAGES || self.bytes >= MAX_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn push(&mut self, post: Post, session: u32) {
        let message = post.message();
        let (id, opens, is_answer) =
            (message.id().map(str::to_owned), message.is_handshake(), message.method().is_none());
        self.bytes += post.body().len();
        self.messages.push_back(Queued { post, id, opens, is_answer, session, held: None });
    }

    /// Takes the next message that may be sent. `one_way` is the number of those in flight without
    /// a response. A message that opens a session goes first; it may wait for a response in the
    /// queue.
    pub(super) fn next(&mut self, is_opening: bool, one_way: usize) -> Option<Queued> {
        let may_go = |queued: &Queued| {
            queued.opens
                || (!is_opening || queued.is_answer)
                    && (queued.id.is_some() || one_way < MAX_ONE_WAY_POSTS)
        };
        let at = self.messages.iter().position(may_go)?;
        let queued = self.messages.remove(at)?;
        self.bytes -= queued.post.body().len();
        Some(queued)
    }

    /// Stops the time limits of the requests that wait, or lets them go on.
    pub(super) fn hold(&mut self, is_logging_in: bool, now: Instant, inbox: &mut Inbox) {
        for queued in &mut self.messages {
            hold(&mut queued.held, queued.id.as_deref(), is_logging_in, now, inbox);
        }
    }

    /// Keeps the messages for which `keep` returns true.
    pub(super) fn retain(&mut self, keep: impl Fn(&Queued) -> bool) {
        self.messages.retain(keep);
        self.bytes = self.messages.iter().map(|queued| queued.post.body().len()).sum();
    }
}

/// Stops the time limit of the call with this id, or lets it go on. `held` is the time at which it
/// was stopped.
pub(super) fn hold(
    held: &mut Option<Instant>,
    id: Option<&str>,
    is_logging_in: bool,
    now: Instant,
    inbox: &mut Inbox,
) {
    let Some(id) = id else { return };
    match *held {
        None if is_logging_in => {
            *held = Some(now);
            inbox.push(Received::Postponed(id.to_owned(), AUTHORIZATION_LIMIT));
        }
        Some(since) if !is_logging_in => {
            *held = None;
            let used = now.saturating_duration_since(since);
            let unused = AUTHORIZATION_LIMIT.saturating_sub(used);
            inbox.push(Received::BroughtForward(id.to_owned(), unused));
        }
        _ => {}
    }
}

/// A message, or the failure of a request, for the client.
#[derive(Clone, Debug)]
pub enum Received {
    /// A message of the server, or a batch.
    Message(Vec<u8>),
    /// The session has ended, and another one was opened: the next messages are of that.
    SessionRenewed,
    /// The request with this id failed.
    Failed {
        /// The id, as JSON.
        id: String,
        /// The reason.
        error: HttpError,
    },
    /// The request with this id waits for an authorization, and has this much more time.
    Postponed(String, Duration),
    /// It has used less of it, by this much.
    BroughtForward(String, Duration),
}

/// Messages and failures until the client handles them: up to [`ENOUGH`] bytes and one message.
#[derive(Default)]
pub(super) struct Inbox {
    items: VecDeque<Received>,
    bytes: usize,
}

impl Inbox {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns whether another message may be added.
    pub(super) fn has_room(&self) -> bool {
        self.bytes < ENOUGH
    }

    pub(super) fn push(&mut self, item: Received) {
        self.bytes += item.bytes();
        self.items.push_back(item);
    }

    /// Takes the oldest.
    pub(super) fn pop(&mut self) -> Option<Received> {
        let item = self.items.pop_front();
        self.bytes -= item.as_ref().map_or(0, Received::bytes);
        item
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Received {
    /// Hands it to the client.
    pub fn hand_to(self, client: &mut ClientEngine<'_>, now: Instant, driver: &mut impl Driver) {
        match self {
            Self::Message(message) => client.message(now, &message, driver),
            Self::SessionRenewed => client.session_renewed(driver),
            Self::Failed { id, error } => client.fail(now, &id, error.as_core(), driver),
            Self::Postponed(id, by) => client.core().postpone(&id, by),
            Self::BroughtForward(id, by) => client.core().bring_forward(&id, by),
        }
    }

    fn bytes(&self) -> usize {
        let text = match self {
            Self::Message(message) => message.len(),
            Self::SessionRenewed => 0,
            Self::Failed { id, .. } | Self::Postponed(id, _) | Self::BroughtForward(id, _) => {
                id.len()
            }
        };
        text + size_of::<Self>()
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
/// Time for getting other credentials, a person's login included. The time limits of calls stand
/// still meanwhile.
pub const AUTHORIZATION_LIMIT: Duration = Duration::from_secs(600);
/// Number of bytes that may wait before another message is added.
const ENOUGH: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use alloc::format;

    use mcp_sansio::Revision;

    use super::*;

    /// Returns a notification with parameters of this length.
    fn post(length: usize) -> Post {
        let params = format!(r#"{{"x":"{}"}}"#, "x".repeat(length));
        let message = format!(r#"{{"jsonrpc":"2.0","method":"y","params":{params}}}"#);
        Post::new(message.into_bytes(), Revision::LATEST)
    }

    fn fill(queue: &mut Queue, length: usize) -> usize {
        let mut pushed = 0;
        while !queue.is_full() {
            queue.push(post(length), 0);
            pushed += 1;
        }
        pushed
    }

    #[test]
    fn c1_the_queue_is_full_with_so_many_messages_or_so_many_bytes() {
        let mut queue = Queue::default();
        assert_eq!(fill(&mut queue, 1), MAX_MESSAGES);
        queue.retain(|_| false);
        let length = post(100_000).body().len();
        assert_eq!(fill(&mut queue, 100_000), MAX_BYTES.div_ceil(length));
        let mut taken = 0;
        while queue.next(false, 0).is_some() {
            taken += 1;
            assert!(!queue.is_full());
        }
        assert_eq!((taken, queue.bytes), (11, 0));
    }
}
