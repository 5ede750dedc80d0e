//! State that all exchanges of a stream share.

use std::fmt::{self, Display};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Poll, Waker};

use mcp_sansio::Printable;
use mcp_sansio::http::client::{HttpFailure, HttpSession, Origin, Post};
use mcp_sansio_http1::{BodyLength, HeadWriter};

use super::authorize::Credentials;
use super::builder::{HttpTransport, MAX_IDLE_CONNECTIONS};
use super::connector::{Connector, Dial, Purpose};
use super::inbox::{Failure, Inbox, Received};
use super::jobs::Job;
use super::tools::ToolTable;
use super::wire::Wire;
use crate::client::HttpError;
use crate::lock::lock;
use crate::panics::{caught, caught_future};
use crate::runtime::timer::Timer;

/// The part of the transport that the byte stream and its exchanges share.
pub(crate) struct TransportState {
    pub(crate) http: HttpTransport,
    state: Mutex<State>,
}

/// The state behind the mutex of the transport.
pub(crate) struct State {
    pub(crate) session: HttpSession,
    /// Number of sessions so far.
    pub(crate) generation: u32,
    /// The messages that have opened the session, to open another one with.
    pub(crate) opening: [Option<Post>; 2],
    /// Whether another session is being opened.
    pub(crate) is_renewing: bool,
    /// Number of requests that wait for an authorization.
    pub(crate) logins: usize,
    /// Of those that wait until the session is opened, or a login begins or ends.
    pub(crate) renewal_wakers: Vec<Waker>,
    /// Path and query of the server.
    pub(crate) target: String,
    /// Endpoint for messages of a server of 2024-11-05.
    pub(crate) older: Option<String>,
    pub(crate) tools: ToolTable,
    pub(crate) inbox: Inbox,
    /// Whether a message is in flight that no other may overtake.
    pub(crate) is_opening: bool,
    /// Jobs to be started.
    pub(crate) jobs: Vec<Job>,
    idle: Vec<Wire>,
    /// The error that ended the stream.
    pub(crate) failed: Option<io::Error>,
    pub(crate) has_ended: bool,
}

/// Writes a header field.
pub(crate) type Put<'p> = &'p mut dyn FnMut(&str, &dyn Display);

/// Diagnostics that belong to no call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Diagnostic<'n> {
    /// A tool was removed from a list because of invalid annotations (2026-07-28, server/tools).
    ToolDropped {
        /// Name of the tool.
        name: &'n str,
        /// The rule that is violated.
        reason: &'n str,
    },
    /// The server had ended the session, and another one was opened. Subscriptions and the log
    /// level are lost.
    SessionRenewed,
    /// The server redirected requests to this path.
    Redirected(&'n str),
    /// The server rejected a message without a response: a notification, or the response to one of
    /// its requests.
    Refused(HttpFailure<'n>),
    /// A message that is not a response was longer than
    /// [`HttpTransport::max_message`](super::HttpTransport::max_message), and is lost.
    TooLong,
}

impl Display for Diagnostic<'_> {
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
            Self::Refused(failure) => write!(f, "message rejected: {failure}"),
            Self::TooLong => f.write_str("message is longer than HttpTransport::max_message"),
        }
    }
}

impl TransportState {
    pub(crate) fn new(mut http: HttpTransport) -> Self {
        let state = State {
            session: HttpSession::new(),
            generation: 0,
            opening: [None, None],
            is_renewing: false,
            logins: 0,
            renewal_wakers: Vec::new(),
            target: std::mem::take(&mut http.target),
            older: None,
            tools: ToolTable::default(),
            inbox: Inbox::default(),
            is_opening: false,
            jobs: Vec::new(),
            idle: Vec::new(),
            failed: None,
            has_ended: false,
        };
        Self { http, state: Mutex::new(state) }
    }

    /// Locks the state; never held across an await.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut State) -> R) -> R {
        call(&mut lock(&self.state))
    }

    pub(crate) fn report(&self, diagnostic: Diagnostic<'_>) {
        if let Some(on_diagnostic) = &self.http.on_diagnostic {
            let _ = caught(|| on_diagnostic(diagnostic));
        }
    }

    /// Returns the URL, the prefix of error messages.
    pub(crate) fn url(&self) -> String {
        self.with(|state| self.http.url_of(&state.target))
    }

    pub(crate) fn origin(&self) -> Origin<'_> {
        let http = &self.http;
        Origin {
            is_secure: http.is_secure,
            authority: &http.authority,
            host: &http.host,
            port: http.port,
        }
    }

    /// Returns the head of a request.
    ///
    /// # Errors
    /// [`HttpError::Invalid`], if a field that the application has set is invalid.
    pub(crate) fn head(
        &self,
        method: &str,
        target: &str,
        body: BodyLength,
        credentials: &Credentials,
        fields: &mut dyn FnMut(Put<'_>) -> bool,
    ) -> Result<Vec<u8>, HttpError> {
        let invalid = |reason: &str| Err(HttpError::Invalid(reason.to_owned()));
        let mut head = vec![0; HEAD];
        loop {
            let mut writer =
                HeadWriter::request(&mut head, method, target).field("host", &self.http.authority);
            for (name, value) in &self.http.fields {
                writer = writer.field(name, value);
            }
            for (name, value) in &credentials.fields {
                writer.push_field(name, value);
            }
            if !fields(&mut |name, value| writer.push_field(name, value)) {
                return invalid(
                    "argument with x-mcp-header is neither a string nor a boolean nor an integer within ±(2^53 - 1)",
                );
            }
            match writer.finish(body) {
                Ok(len) => {
                    head.truncate(len);
                    return Ok(head);
                }
                Err(mcp_sansio::SendError::TooLarge) => head.resize(head.len() * 2, 0),
                Err(_) => return invalid("invalid character in a header field of the request"),
            }
        }
    }

    /// Sends a request, on an idle connection or on a new one.
    pub(crate) async fn send(
        &self,
        method: &str,
        head: &[u8],
        body: &[u8],
    ) -> Result<Wire, HttpError> {
        let purpose = if method == "GET" { Purpose::Events } else { Purpose::Messages };
        // A stream of events takes one, too: while it is dialled, calls would overtake it, and
        // servers drop notifications for which there is no stream.
        while let Some(mut wire) = self.with(|state| state.idle.pop()) {
            if wire.is_fresh() && wire.send(method, head, body).await.is_ok() {
                return Ok(wire);
            }
        }
        let http = &self.http;
        let dial = Dial {
            host: http.host.clone(),
            port: http.port,
            is_secure: http.is_secure,
            url: self.with(|state| {
                let older = state.older.as_ref().filter(|_| purpose == Purpose::Messages);
                http.url_of(older.unwrap_or(&state.target))
            }),
            purpose,
            #[cfg(feature = "auth")]
            rules: None,
        };
        let connected = connect(&http.connector, dial, http.connect_timeout).await;
        let mut wire = connected.map_err(|error| HttpError::NotConnected(error.to_string()))?;
        wire.send(method, head, body).await?;
        Ok(wire)
    }

    /// Wakes all that wait until another session is opened, or for a login to begin or to end.
    pub(crate) fn wake_renewals(&self) {
        let wakers = self.with(|state| std::mem::take(&mut state.renewal_wakers));
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Keeps a connection whose response has been read.
    pub(crate) fn release(&self, mut wire: Wire) {
        if wire.rest() {
            self.with(|state| {
                if state.idle.len() >= MAX_IDLE_CONNECTIONS {
                    state.idle.remove(0);
                }
                state.idle.push(wire);
            });
        }
    }

    /// Reads the rest of a response and keeps the connection, if the rest is short.
    pub(crate) async fn drain(&self, mut wire: Wire) {
        if let Ok(Ok((_, false))) = timeout(LINGER, wire.body(MAX_DRAINED)).await {
            self.release(wire);
        }
    }

    /// Delivers a message to the client, as soon as there is room.
    pub(crate) async fn deliver(&self, message: Vec<u8>) {
        poll_fn(|cx| {
            self.with(|state| {
                if state.inbox.has_room() {
                    return Poll::Ready(());
                }
                state.inbox.wait_for_room(cx.waker());
                Poll::Pending
            })
        })
        .await;
        self.with(|state| state.inbox.push(Received::Message(message)));
    }

    /// Ends the call with this id.
    pub(crate) fn call_failed(&self, id: &str, failure: Failure) {
        // There is one for each call, so that it needs no room.
        let id = id.to_owned();
        self.with(|state| state.inbox.push(Received::Failed { id, failure }));
    }

    /// Ends the stream.
    pub(crate) fn finish(&self, error: Option<io::Error>) {
        self.with(|state| {
            state.failed = state.failed.take().or(error);
            state.has_ended = true;
        });
    }
}

/// Makes a connection within this time.
pub(crate) async fn connect(
    connector: &Connector,
    dial: Dial,
    limit: std::time::Duration,
) -> io::Result<Wire> {
    let connecting = caught(|| connector(dial)).ok();
    let connecting = async {
        caught_future(connecting)
            .await
            .unwrap_or_else(|| Err(io::Error::other("connector panicked")))
    };
    within(limit, connecting).await.map(Wire::new)
}

/// Limits the time of a future; `Duration::MAX` is no limit.
pub(crate) async fn timeout<R>(
    limit: std::time::Duration,
    future: impl Future<Output = R>,
) -> Result<R, io::Error> {
    let (mut future, mut timer) = (pin!(future), Timer::after(limit));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(Ok(result)),
        Poll::Pending => pin!(&mut timer).poll(cx).map(|_| Err(io::ErrorKind::TimedOut.into())),
    })
    .await
}

/// As [`timeout`], for a fallible future.
pub(crate) async fn within<R, E: From<io::Error>>(
    limit: std::time::Duration,
    future: impl Future<Output = Result<R, E>>,
) -> Result<R, E> {
    timeout(limit, future).await?
}

/// Initial size of the head of a request.
const HEAD: usize = 1024;
/// Maximum number of bytes of an unneeded response that are read to keep its connection.
const MAX_DRAINED: usize = 64 << 10;
/// Maximum time for that.
pub(crate) const LINGER: std::time::Duration = std::time::Duration::from_secs(1);
