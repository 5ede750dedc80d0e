//! A job of the client: a message with its response, or a stream, over as many exchanges as that
//! takes.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use mcp_sansio::Instant;
use mcp_sansio::http::client::{Exchange, OutgoingMessage, Post};
use mcp_sansio::http::sse::EventReader;

use super::tools::Listing;
use crate::HttpError;

pub(super) struct Job {
    pub(super) kind: Kind,
    /// A request of the client itself that comes before the message is sent again.
    pub(super) errand: Option<Errand>,
    pub(super) ask: Ask,
    pub(super) phase: Phase,
    pub(super) exchange: Exchange,
    pub(super) events: EventReader<Vec<u8>>,
    /// The body, as far as it was received; or, of an errand, the latest message.
    pub(super) body: Vec<u8>,
    /// Number of bytes since the last event.
    pub(super) without_event: usize,
    /// Number of the session in which the message was sent.
    pub(super) session: u32,
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
    Initialized { post: Post, has_response: bool },
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
    /// There is no exchange until the stream is resumed at this time.
    Waiting(Instant),
    /// There is no exchange until another session is open.
    Renewal,
}

/// Destination of messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Client,
    /// The client; the response is a list of tools, which is filtered.
    ClientAsTools,
    /// The client over HTTP itself, which sent the request: the latest message is kept.
    Us,
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
            phase: Phase::Sending,
            exchange,
            events: EventReader::with_limit(Vec::new(), max_message),
            body: Vec::new(),
            without_event: 0,
            session: 0,
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
            (Some(Errand::Initialize(post) | Errand::Initialized { post, .. }), _) => Some(post),
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

    /// Whether the job completes before the client closes: a message without a response, or the end
    /// of the session.
    pub(super) fn is_one_way(&self) -> bool {
        matches!(self.kind, Kind::Delete(_))
            || self.message().is_some_and(|message| message.id().is_none())
    }

    pub(super) fn is_handshake(&self) -> bool {
        matches!(self.kind, Kind::HttpSse(Some(_)))
            || self.message().is_some_and(|message| message.is_handshake())
    }

    /// Whether the job opens another session.
    pub(super) const fn renews(&self) -> bool {
        matches!(self.errand, Some(Errand::Initialize(_) | Errand::Initialized { .. }))
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

    pub(super) fn to(&self) -> To {
        if self.errand.is_some() {
            To::Us
        } else if self.exchange.is_modern() && self.lists_tools {
            To::ClientAsTools
        } else {
            To::Client
        }
    }

    /// Returns the time at which something is to be done.
    pub(super) fn due(&self) -> Option<Instant> {
        let resumes = if let Phase::Waiting(at) = self.phase { Some(at) } else { None };
        [self.limit, resumes].into_iter().flatten().min()
    }
}
