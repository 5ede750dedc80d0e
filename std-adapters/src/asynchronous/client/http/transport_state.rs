//! What all exchanges of a stream share.

use std::fmt::{self, Display};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};

use async_io::Timer;
use mcp_sansio::Printable;
use mcp_sansio::http::client::{HttpFailure, HttpSession, Origin};
use mcp_sansio::http::codec::{BodyLength, HeadWriter};

use super::builder::{HttpTransport, MAX_IDLE_CONNECTIONS};
use super::connector::Connect;
use super::inbox::Inbox;
use super::jobs::Job;
use super::queue::Queue;
use super::tools::ToolTable;
use super::wire::Wire;
use crate::asynchronous::panics::{caught, caught_future};

pub(super) struct TransportState<D: Connect> {
    pub(super) http: HttpTransport<D>,
    state: Mutex<State<D::Stream>>,
}

pub(super) struct State<S> {
    pub(super) session: HttpSession,
    /// How many sessions there have been.
    pub(super) generation: u32,
    /// The messages that have opened the session, to open another one with.
    pub(super) opening: [Option<Vec<u8>>; 2],
    /// Somebody is opening another session.
    pub(super) is_renewing: bool,
    pub(super) renewal_wakers: Vec<Waker>,
    /// Path and query of the server.
    pub(super) target: String,
    /// Where a server of 2024-11-05 wants its messages.
    pub(super) older: Option<String>,
    pub(super) token: Option<String>,
    pub(super) tools: ToolTable,
    pub(super) inbox: Inbox,
    /// Messages that wait to be sent.
    pub(super) queue: Queue,
    /// Whether a message is on its way that no other may overtake.
    pub(super) is_opening: bool,
    /// What is to be begun beside the messages.
    pub(super) jobs: Vec<Job<S>>,
    idle: Vec<Wire<S>>,
    /// Why there is nothing any more, if that is an error.
    pub(super) failed: Option<io::Error>,
    pub(super) has_ended: bool,
}

/// Takes a field.
type Put<'p> = &'p mut dyn FnMut(&str, &dyn Display);

/// What would go unseen otherwise.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Diagnostic<'n> {
    /// A tool was taken out of the list, for its annotations break a rule (2026-07-28,
    /// server/tools).
    ToolDropped {
        /// Its name.
        name: &'n str,
        /// The rule.
        reason: &'n str,
    },
    /// The server had ended the session; another one has been begun. What was subscribed to, and
    /// the level of the log, is gone.
    SessionRenewed,
    /// The server has redirected us to this path.
    Redirected(&'n str),
    /// The server does not take something that has no answer: a notification, or the answer to a
    /// question of its own.
    Refused(HttpFailure<'n>),
    /// A message that is no answer was longer than what is read, and is lost.
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

impl<D: Connect> TransportState<D> {
    pub(super) fn new(mut http: HttpTransport<D>) -> Self {
        let state = State {
            session: HttpSession::new(),
            generation: 0,
            opening: [None, None],
            is_renewing: false,
            renewal_wakers: Vec::new(),
            target: std::mem::take(&mut http.target),
            older: None,
            token: http.token.take(),
            tools: ToolTable::default(),
            inbox: Inbox::default(),
            queue: Queue::default(),
            is_opening: false,
            jobs: Vec::new(),
            idle: Vec::new(),
            failed: None,
            has_ended: false,
        };
        Self { http, state: Mutex::new(state) }
    }

    /// Borrows the state, never across an await.
    pub(super) fn with<R>(&self, call: impl FnOnce(&mut State<D::Stream>) -> R) -> R {
        call(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn report(&self, diagnostic: Diagnostic<'_>) {
        if let Some(on_diagnostic) = &self.http.on_diagnostic {
            let _ = caught(|| on_diagnostic(diagnostic));
        }
    }

    /// What errors begin with.
    pub(super) fn url(&self) -> String {
        self.with(|state| self.http.url_of(&state.target))
    }

    pub(super) fn origin(&self) -> Origin<'_> {
        let address = &self.http.address;
        Origin {
            is_secure: address.is_secure,
            authority: &self.http.authority,
            host: &address.host,
            port: address.port,
        }
    }

    /// The head of a request. `None` when it cannot be written: what the application has set is no
    /// field.
    pub(super) fn head(
        &self,
        state: &State<D::Stream>,
        method: &str,
        target: &str,
        body: BodyLength,
        fields: &mut dyn FnMut(Put<'_>) -> bool,
    ) -> Result<Vec<u8>, &'static str> {
        let mut head = vec![0; HEAD];
        loop {
            let mut writer =
                HeadWriter::request(&mut head, method, target).field("host", &self.http.authority);
            for (name, value) in &self.http.fields {
                writer = writer.field(name, value);
            }
            if let Some(token) = &state.token {
                writer.push_field("authorization", &format_args!("Bearer {token}"));
            }
            if !fields(&mut |name, value| writer.push_field(name, value)) {
                return Err(
                    "argument with x-mcp-header is neither a string nor a boolean nor an integer within ±(2^53 - 1)",
                );
            }
            match writer.finish(body) {
                Ok(len) => {
                    head.truncate(len);
                    return Ok(head);
                }
                Err(mcp_sansio::SendError::TooLarge) => head.resize(head.len() * 2, 0),
                Err(_) => {
                    return Err("invalid character in a header field of the request");
                }
            }
        }
    }

    /// Sends a request, on a connection that waits for one or on a new one.
    pub(super) async fn send(
        &self,
        method: &str,
        head: &[u8],
        body: &[u8],
    ) -> io::Result<Wire<D::Stream>> {
        while let Some(mut wire) = self.with(|state| state.idle.pop()) {
            if wire.is_fresh() && wire.send(method, head, body).await.is_ok() {
                return Ok(wire);
            }
        }
        let connecting = caught(|| self.http.connector.connect(self.http.address.clone())).ok();
        let connecting = async {
            caught_future(connecting)
                .await
                .unwrap_or_else(|| Err(io::Error::other("connector panicked")))
        };
        let stream = within(self.http.connect_timeout, connecting).await;
        let at =
            |error: io::Error| io::Error::new(error.kind(), format!("cannot connect: {error}"));
        let mut wire = Wire::new(stream.map_err(at)?);
        wire.send(method, head, body).await?;
        Ok(wire)
    }

    /// A connection whose response has been read may be used again.
    pub(super) fn release(&self, mut wire: Wire<D::Stream>) {
        if wire.rest() {
            self.with(|state| {
                if state.idle.len() >= MAX_IDLE_CONNECTIONS {
                    state.idle.remove(0);
                }
                state.idle.push(wire);
            });
        }
    }

    /// Reads what is left of a response and keeps the connection, if that is not much.
    pub(super) async fn drain(&self, mut wire: Wire<D::Stream>) {
        if let Ok(Ok((_, false))) = timeout(LINGER, wire.body(MAX_DRAINED)).await {
            self.release(wire);
        }
    }

    /// Hands a message to the client, as soon as there is room.
    pub(super) async fn deliver(&self, message: &[u8]) {
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
        let waker = self.with(|state| state.inbox.put(message));
        waker.into_iter().for_each(Waker::wake);
    }

    /// There is no way to go on.
    pub(super) fn fail(&self, error: io::Error) {
        self.finish(Some(error));
    }

    /// There is nothing more to come.
    pub(super) fn finish(&self, error: Option<io::Error>) {
        let waker = self.with(|state| {
            state.failed = state.failed.take().or(error);
            state.has_ended = true;
            state.inbox.wake_reader()
        });
        waker.into_iter().for_each(Waker::wake);
    }
}

/// The same, but no longer than that; `Duration::MAX` is no limit.
pub(super) async fn timeout<R>(
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

/// The same of something that can fail.
pub(super) async fn within<R>(
    limit: std::time::Duration,
    future: impl Future<Output = io::Result<R>>,
) -> io::Result<R> {
    timeout(limit, future).await.and_then(|result| result)
}

/// What the head of a request takes at first.
const HEAD: usize = 1024;
/// What is read of a response that nobody wants, in bytes, to keep its connection.
const MAX_DRAINED: usize = 64 << 10;
/// How long that may take.
pub(super) const LINGER: std::time::Duration = std::time::Duration::from_secs(1);
