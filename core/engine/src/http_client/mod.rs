//! A client over HTTP as a value, without I/O and without a clock: which requests are sent when,
//! and what their responses mean.

mod exchange;
mod job;
mod tools;

pub use job::{AUTHORIZATION_LIMIT, MAX_ONE_WAY_POSTS, Received};

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use mcp_sansio::http::client::{Exchange, HttpSession, Origin, Post, UrlError};
use mcp_sansio::{Instant, Printable, Revision};

use crate::{ClientEngine, HttpError};
use job::{Ask, Job, Kind, Phase};
use job::{Inbox, Queue, hold, outlives_calls};
use tools::ToolTable;

/// A client over Streamable HTTP (2025-03-26 and later), or HTTP+SSE (2024-11-05), whichever the
/// server supports, beside a [`ClientEngine`]. Any loop drives it:
///
/// 1. It [takes the posts](Self::take_posts) of the client.
/// 2. It takes each [step](Self::next_step). For a [`HttpStep::Send`] it gets credentials if it
///    needs any, takes the [request](Self::request), writes it to a connection, and passes the
///    head of the [response](Self::response), the pieces of its [body](Self::body), and the
///    [end](Self::end) of either, or the error. [`reading`](Self::reading) says after each of
///    these what is wanted next; exchanges run at the same time.
/// 3. It hands to the client what was [received](Self::next_received), when the client
///    [reads](ClientEngine::reads).
/// 4. It calls [`handle_timeout`](Self::handle_timeout) when
///    [`poll_timeout`](Self::poll_timeout) has come.
///
/// Connections, TLS and credentials are those of the loop. Calls with an id that is over do
/// nothing.
///
/// # Memory
///
/// | kept | limit |
/// | --- | --- |
/// | messages that wait to be sent | 256, or 1 MiB and one message; then [`is_full`](Self::is_full) |
/// | requests in flight | those of the client, 16 messages without a response, one GET stream; each with its message, and up to [`HttpLimits::max_message`] of its response |
/// | messages that were received | 1 MiB and one message; then [`has_room`](Self::has_room) is false |
/// | input schemas whose annotations are mirrored in header fields | 10,000 tools, 4 MiB in all; other tools are called without |
/// | messages that open another session | 2 |
#[must_use]
pub struct HttpClient {
    /// Scheme and authority.
    origin: String,
    limits: HttpLimits,
    session: HttpSession,
    /// The session that has ended, while another one is being opened.
    ended: Option<HttpSession>,
    /// Number of sessions so far.
    sessions: u32,
    /// Number of those that the client knows of.
    known_sessions: u32,
    /// The messages that have opened the session, to open another one with.
    opening: [Option<Post>; 2],
    /// The revision of that session, which each other must have.
    revision: Option<Revision>,
    /// Whether a message is in flight that no other may overtake.
    is_opening: bool,
    /// Whether another session is being opened.
    is_renewing: bool,
    /// Path and query of the server.
    target: String,
    /// Endpoint for messages of a server of 2024-11-05.
    endpoint: Option<String>,
    tools: ToolTable,
    queue: Queue,
    jobs: BTreeMap<HttpExchangeId, Box<Job>>,
    /// The times of the jobs that have one.
    due: BTreeSet<(Instant, HttpExchangeId)>,
    last_id: u64,
    /// Number of jobs without a response.
    one_way: usize,
    /// Number of jobs that wait for an authorization.
    logins: usize,
    steps: VecDeque<HttpStep>,
    inbox: Inbox,
    closing: Closing,
    has_ended: bool,
    /// The error that ended the stream of a server of 2024-11-05.
    failed: Option<HttpError>,
}

/// Limits of an [`HttpClient`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HttpLimits {
    /// Maximum length of a received message, in bytes, at least 1024. Buffers grow as messages need
    /// it. Default: 16 MiB.
    pub max_message: usize,
    /// Maximum time in which the server accepts a message without a response (a notification, or
    /// the response to one of its requests), or opens another session. After it the message counts
    /// as [rejected](Diagnostic::Refused). Requests have time limits of their own
    /// ([`CallOptions`](mcp_sansio::CallOptions)). `Duration::MAX`: no limit. Default: 30 s.
    pub accept_timeout: Duration,
    /// Maximum time in which the loop connects. `Duration::MAX`: no limit. Default: 10 s.
    pub connect_timeout: Duration,
}

impl HttpLimits {
    /// Creates the default limits.
    pub const fn new() -> Self {
        Self {
            max_message: 16 << 20,
            accept_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
        }
    }
}

mcp_sansio::default_is_new!(HttpLimits);

/// Identifies one HTTP request and its response.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HttpExchangeId(u64);

/// A step of the loop.
#[derive(Clone)]
pub enum HttpStep {
    /// Take the [request](HttpClient::request), and send it.
    Send {
        /// The exchange that begins.
        exchange: HttpExchangeId,
        /// `POST`, `GET` or `DELETE`.
        method: &'static str,
        /// Path and query.
        target: String,
    },
    /// Close the connection of this exchange: the exchange is over.
    Close(HttpExchangeId),
    /// Tell the application.
    Report(Diagnostic),
}

/// Omits paths, which may be secrets.
impl fmt::Debug for HttpStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { exchange, method, .. } => {
                f.debug_tuple("Send").field(exchange).field(method).finish()
            }
            Self::Close(exchange) => f.debug_tuple("Close").field(exchange).finish(),
            Self::Report(diagnostic) => f.debug_tuple("Report").field(diagnostic).finish(),
        }
    }
}

/// A request: the driver adds `Host`, `Authorization` and the length of the body.
pub struct HttpRequest<'c> {
    /// Header fields: names, and values, which may be invalid if the server chose them.
    pub fields: Vec<(String, String)>,
    /// The body; `None` for a method without one.
    pub body: Option<&'c [u8]>,
}

// Omits values, which may be secrets.
mcp_sansio::opaque_debug!(HttpRequest<'_> |it| {
    fields: it.fields.iter().map(|(name, _)| name).collect::<Vec<_>>()
});

/// The part of a response that an exchange waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// The head of the response, after the request.
    Head,
    /// More of the body, or its end.
    Body,
    /// The end only: skip the rest of the body to keep the connection, or close it; then call
    /// [`end`](HttpClient::end).
    Rest,
    /// The server has responded with 401 or 403. The rest of the body is not needed. With other
    /// credentials call [`authorized`](HttpClient::authorized), and send the request again;
    /// otherwise [`end`](HttpClient::end).
    Refused,
    /// Nothing, the exchange is over. If the body has not ended, close the connection.
    Over,
}

/// Diagnostics that belong to no call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Diagnostic {
    /// A tool was removed from a list because of invalid annotations (2026-07-28, server/tools).
    ToolDropped {
        /// Name of the tool.
        name: String,
        /// The rule that is violated.
        reason: &'static str,
    },
    /// The server had ended the session, and another one was opened. Subscriptions and the log
    /// level are lost.
    SessionRenewed,
    /// The server redirected requests to this path.
    Redirected(String),
    /// The server rejected a message without a response: a notification, or the response to one of
    /// its requests.
    Refused(HttpError),
    /// A message that is not a response was longer than [`HttpLimits::max_message`], and is lost.
    TooLong,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ToolDropped { name, reason } => {
                write!(
                    f,
                    "tool `{}` removed from the list: {}",
                    Printable::new(name),
                    Printable::new(reason)
                )
            }
            Self::SessionRenewed => f.write_str(
                "session ended by the server; a new one was opened, without its subscriptions",
            ),
            Self::Redirected(target) => write!(f, "redirected to {}", Printable::new(target)),
            Self::Refused(error) => write!(f, "message rejected: {error}"),
            Self::TooLong => f.write_str("message is longer than HttpLimits::max_message"),
        }
    }
}

/// Phase of closing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Closing {
    Open,
    /// Messages whose responses nobody needs are still being sent.
    Sending,
    /// The session is being ended.
    Ending,
}

impl HttpClient {
    /// Creates the client of the server with this origin, path and query, as [`Origin::parse`]
    /// returns them.
    pub fn new(origin: &Origin<'_>, target: &str, limits: HttpLimits) -> Self {
        let scheme = if origin.is_secure { "https" } else { "http" };
        Self {
            origin: format!("{scheme}://{}", origin.authority),
            limits: HttpLimits { max_message: limits.max_message.max(1024), ..limits },
            session: HttpSession::new(),
            ended: None,
            sessions: 0,
            known_sessions: 0,
            opening: [None, None],
            revision: None,
            is_opening: false,
            is_renewing: false,
            target: target.to_owned(),
            endpoint: None,
            tools: ToolTable::default(),
            queue: Queue::default(),
            jobs: BTreeMap::new(),
            due: BTreeSet::new(),
            last_id: 0,
            one_way: 0,
            logins: 0,
            steps: VecDeque::new(),
            inbox: Inbox::default(),
            closing: Closing::Open,
            has_ended: false,
            failed: None,
        }
    }

    /// Returns path and query of the server, as the last redirection has them.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether so many messages wait that others must not be sent.
    pub fn is_full(&self) -> bool {
        self.queue.is_full()
    }

    /// Sends a message as soon as it may be sent. A cancellation ends the exchange of its request.
    pub fn send(&mut self, now: Instant, post: Post) {
        let message = post.message();
        // Responses are not needed any more when the client closes.
        if self.closing != Closing::Open && !outlives_calls(&message) {
            return;
        }
        if let Some(cancelled) = message.cancelled_request() {
            self.queue.retain(|waiting| waiting.id.as_deref() != Some(cancelled));
            // In 2026-07-28 closing the exchange is the cancellation. In older revisions it is not.
            self.drop_where(now, |job| job.call() == Some(cancelled));
            if message.protocol_version().is_some() {
                return;
            }
        }
        self.queue.push(post, self.known_sessions);
    }

    /// [Sends](Self::send) the [posts](ClientEngine::posts) of the client, while the queue is not
    /// [full](Self::is_full). Returns their number.
    pub fn take_posts(&mut self, now: Instant, client: &mut ClientEngine<'_>) -> usize {
        let before = client.posts().len();
        while !self.is_full()
            && let Some(post) = client.posts().pop_front()
        {
            self.send(now, post);
        }
        before - client.posts().len()
    }

    /// Returns the next step.
    pub fn next_step(&mut self, now: Instant) -> Option<HttpStep> {
        while let Some(mut queued) = self.queue.next(self.is_opening, self.one_way) {
            hold(&mut queued.held, queued.id.as_deref(), false, now, &mut self.inbox);
            if queued.opens {
                // A probe that timed out, or an `initialize` that was not accepted before its
                // response: its end would let other messages go.
                self.drop_where(now, |job| job.opens);
                self.is_opening = true;
            }
            let (kind, exchange) = (Kind::Message(queued.post), Exchange::http_sse());
            let id = self.start(kind, exchange, Ask::Message);
            if let Some(job) = self.jobs.get_mut(&id) {
                (job.session, job.opens) = (queued.session, queued.opens);
            }
        }
        if self.logins > 0 {
            self.queue.hold(true, now, &mut self.inbox);
        }
        if self.closing == Closing::Sending && self.jobs.is_empty() && self.queue.is_empty() {
            self.closing = Closing::Ending;
            if let Some(exchange) = self.session.begin_delete() {
                let kind = Kind::Delete(now.saturating_add(LINGER));
                self.start(kind, exchange, Ask::Message);
            }
        }
        self.has_ended |= self.is_closed();
        self.steps.pop_front()
    }

    /// Returns the next time at which [`handle_timeout`](Self::handle_timeout) must be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Ends the exchanges whose time is over, and goes on with the streams and the responses to the
    /// server whose time has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, id)) = self.due.first().copied().filter(|(at, _)| *at <= now)
            && let Some(job) = self.take(id)
        {
            if job.limit.is_some_and(|limit| limit <= now) {
                self.steps.push_back(HttpStep::Close(id));
                self.failed(job, HttpError::Invalid("timed out".to_owned()), now);
            } else {
                let ask = if job.is_answer() { Ask::Message } else { Ask::Resumed };
                self.ask(job, ask);
            }
        }
    }

    /// Takes the oldest message or failure for the client.
    pub fn next_received(&mut self) -> Option<Received> {
        let received = self.inbox.pop();
        self.known_sessions += u32::from(matches!(received, Some(Received::SessionRenewed)));
        received
    }

    /// Whether something was [received](Self::next_received), or the connection has
    /// [failed](Self::take_failure).
    pub fn has_received(&self) -> bool {
        !self.inbox.is_empty() || self.failed.is_some()
    }

    /// Whether there is room for another message. While there is none, the pieces and ends of
    /// bodies that [wait for it](Self::waits_for_room) must not be passed.
    pub fn has_room(&self) -> bool {
        self.inbox.has_room()
    }

    /// Drops what has been received.
    pub fn discard(&mut self) {
        self.inbox.clear();
    }

    /// Whether the connection has ended, and all of it was taken: it was closed, or the stream of a
    /// server of 2024-11-05 is over.
    pub fn has_ended(&self) -> bool {
        self.has_ended && self.inbox.is_empty() && self.failed.is_none()
    }

    /// Takes the error with which that stream ended, after all that was received.
    pub fn take_failure(&mut self) -> Option<HttpError> {
        self.failed.take_if(|_| self.inbox.is_empty())
    }

    /// Whether an exchange waits for an authorization: a person may be logging in.
    pub const fn is_logging_in(&self) -> bool {
        self.logins > 0
    }

    /// Begins to close: exchanges that wait for responses end, what needs no response is sent, as
    /// are cancellations of tasks, and the session is ended. The client is
    /// [closed](Self::is_closed) when these steps are done.
    pub fn close(&mut self, now: Instant) {
        if self.closing == Closing::Open {
            self.closing = Closing::Sending;
            // Responses are not needed any more, and nothing is sent again.
            let is_sent = |job: &Job| job.message().is_some_and(|it| outlives_calls(&it));
            self.drop_where(now, |job| !is_sent(job) || matches!(job.phase, Phase::Waiting(_)));
            self.queue.retain(|waiting| outlives_calls(&waiting.post.message()));
            self.is_opening = false;
        }
    }

    /// Whether the client has begun to [close](Self::close).
    pub fn is_closing(&self) -> bool {
        self.closing != Closing::Open
    }

    /// Whether everything has been sent after [`close`](Self::close).
    pub fn is_closed(&self) -> bool {
        self.closing == Closing::Ending && self.jobs.is_empty()
    }

    // Jobs.

    /// Begins a job.
    fn start(&mut self, kind: Kind, exchange: Exchange, ask: Ask) -> HttpExchangeId {
        let mut job = Box::new(Job::new(kind, exchange, self.limits.max_message));
        job.session = self.sessions;
        self.one_way += usize::from(job.is_one_way());
        self.ask(job, ask)
    }

    /// Sends a request of this job, in an exchange of its own.
    fn ask(&mut self, mut job: Box<Job>, ask: Ask) -> HttpExchangeId {
        (job.ask, job.phase) = (ask, Phase::Sending);
        if ask != Ask::Resumed {
            job.limit = job.kind.limit();
        }
        self.last_id += 1;
        let exchange = HttpExchangeId(self.last_id);
        let method = job.method();
        let target = match (&self.endpoint, method) {
            (Some(endpoint), "POST") => endpoint,
            _ => &self.target,
        };
        job.target.clone_from(target);
        self.steps.push_back(HttpStep::Send { exchange, method, target: target.clone() });
        self.put(exchange, job);
        exchange
    }

    fn take(&mut self, id: HttpExchangeId) -> Option<Box<Job>> {
        let job = self.jobs.remove(&id)?;
        if let Some(due) = job.due() {
            self.due.remove(&(due, id));
        }
        Some(job)
    }

    fn put(&mut self, id: HttpExchangeId, job: Box<Job>) {
        if let Some(due) = job.due() {
            self.due.insert((due, id));
        }
        self.jobs.insert(id, job);
    }

    /// Ends a job.
    fn over(&mut self, mut job: Box<Job>, now: Instant) {
        self.end_of_login(&mut job, now);
        self.one_way -= usize::from(job.is_one_way());
        self.is_opening &= !job.opens;
        if job.renews() {
            self.end_of_renewal(now);
        }
    }

    fn drop_where(&mut self, now: Instant, is_over: impl Fn(&Job) -> bool) {
        let over = self.jobs.iter().filter(|(_, job)| is_over(job));
        let over: Vec<_> = over.map(|(id, _)| *id).collect();
        // All are taken first: the end of one lets others go on, under other ids.
        let over: Vec<_> = over.into_iter().filter_map(|id| Some((id, self.take(id)?))).collect();
        for (id, job) in over {
            self.steps.push_back(HttpStep::Close(id));
            self.over(job, now);
        }
    }

    /// Opens the GET stream of the session. There is one: that of the latest session.
    fn listen(&mut self, now: Instant) {
        self.drop_where(now, |job| matches!(job.kind, Kind::Listen));
        if self.closing == Closing::Open
            && let Some(exchange) = self.session.begin_get()
        {
            self.start(Kind::Listen, exchange, Ask::Stream);
        }
    }

    /// Resolves a reference of the server, beside this path, to a path of the same origin.
    fn resolve(&self, base: &str, reference: &str) -> Result<String, UrlError> {
        let (origin, _) = Origin::parse(&self.origin)?;
        Ok(origin.resolve(base, reference)?.to_string())
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.steps.push_back(HttpStep::Report(diagnostic));
    }

    // Logins.

    /// Records that credentials of this exchange take time: a person may be logging in. The time
    /// limit of its call stands still, as those of the calls that wait for it.
    pub fn begin_login(&mut self, now: Instant, id: HttpExchangeId) {
        if let Some(job) = self.jobs.get_mut(&id)
            && !core::mem::replace(&mut job.is_logging_in, true)
        {
            self.logins += 1;
            let Job { held, kind, .. } = &mut **job;
            hold(held, kind.call(), true, now, &mut self.inbox);
            self.hold_others(now);
        }
    }

    /// Records that the credentials are there, or will not be.
    pub fn end_login(&mut self, now: Instant, id: HttpExchangeId) {
        if let Some(mut job) = self.take(id) {
            self.end_of_login(&mut job, now);
            self.put(id, job);
        }
    }

    fn end_of_login(&mut self, job: &mut Job, now: Instant) {
        hold(&mut job.held, job.kind.call(), false, now, &mut self.inbox);
        if core::mem::take(&mut job.is_logging_in) {
            self.logins -= 1;
            self.hold_others(now);
        }
    }

    /// Lets the time of the calls stand still that wait for a session, if there is a first login,
    /// or go on after the last.
    fn hold_others(&mut self, now: Instant) {
        let is_logging_in = self.logins > 0;
        if self.logins <= 1 {
            self.queue.hold(is_logging_in, now, &mut self.inbox);
            for job in self.jobs.values_mut().filter(|job| matches!(job.phase, Phase::Renewal)) {
                let Job { held, kind, .. } = &mut **job;
                hold(held, kind.call(), is_logging_in, now, &mut self.inbox);
            }
        }
    }
}

// The session is a secret.
mcp_sansio::opaque_debug!(HttpClient { origin, target, session });

/// Maximum time of the end of a session.
const LINGER: Duration = Duration::from_secs(1);
