//! Sends messages and receives those of the server.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::{fmt, io};

use mcp_sansio::http::client::Post;

use super::builder::HttpTransport;
use super::inbox::Received;
use super::jobs::{Job, Name, Running};
use super::queue::Queue;
use super::transport_state::TransportState;
use crate::runtime::tasks::Tasks;

/// The requests to a server behind a URL. They make progress in [`work`](Self::work).
pub(crate) struct HttpEngine {
    shared: Arc<TransportState>,
    tasks: Tasks<Name, Running>,
    /// Number of tasks without a response.
    shorts: usize,
    queue: Queue,
    closing: Closing,
}

/// Phase of closing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Closing {
    Open,
    /// Messages without a response are still being sent.
    Sending,
    /// The session is being ended.
    Ending,
    Closed,
}

impl HttpEngine {
    /// Returns how many sessions have begun in place of others.
    pub(crate) fn sessions(&self) -> u32 {
        self.shared.with(|state| state.generation)
    }

    pub(crate) fn new(http: HttpTransport) -> Self {
        Self {
            shared: Arc::new(TransportState::new(http)),
            tasks: Tasks::new(),
            shorts: 0,
            queue: Queue::default(),
            closing: Closing::Open,
        }
    }

    /// Polls every task that was woken, once. A task that wakes itself waits until others have run,
    /// on this stream and elsewhere.
    pub(crate) fn work(&mut self, cx: &Context<'_>) {
        self.begin();
        for _ in 0..self.tasks.ready().min(ROUNDS) {
            self.poll_one(cx);
            self.begin();
        }
        // The last poll registers the waker.
        if self.tasks.ready() > 0 || self.poll_one(cx) {
            cx.waker().wake_by_ref();
        }
    }

    /// Returns `false` if no task was woken.
    fn poll_one(&mut self, cx: &Context<'_>) -> bool {
        let polled = self.tasks.poll_next(cx);
        if let Poll::Ready(Some((Name::Short, _))) = polled {
            self.shorts -= 1;
        }
        polled.is_ready()
    }

    /// Starts the jobs that may start.
    fn begin(&mut self) {
        let Self { shared, tasks, shorts, queue, .. } = self;
        for job in shared.with(|state| std::mem::take(&mut state.jobs)) {
            let name = match &job {
                Job::Listen => {
                    // The session of the previous GET stream is over.
                    tasks.drop_where(|name| *name == Name::Listen);
                    Name::Listen
                }
                Job::Older(_) => Name::Older,
                Job::Delete | Job::Message(_) => {
                    *shorts += 1;
                    Name::Short
                }
            };
            tasks.insert(name, job.run(shared));
        }
        if !queue.is_empty() {
            shared.with(|state| queue.hold(state.logins > 0, &mut state.inbox));
        }
        while let Some(queued) = shared.with(|state| {
            let queued = queue.next(state.is_opening, *shorts)?;
            state.is_opening |= queued.opens();
            Some(queued)
        }) {
            *shorts += usize::from(queued.id.is_none());
            tasks.insert(
                queued.id.map_or(Name::Short, Name::Request),
                Job::Message(queued.post).run(shared),
            );
        }
    }

    /// Whether a request waits for an authorization: a person may be logging in.
    pub(crate) fn is_logging_in(&self) -> bool {
        self.shared.with(|state| state.logins > 0)
    }

    /// Whether the client must wait with other messages.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.is_full()
    }

    /// Sends a message as soon as it may be sent.
    pub(crate) fn send(&mut self, post: Post) {
        let message = post.message();
        // Responses are not needed any more when the client closes.
        if self.closing != Closing::Open && message.id().is_some() {
            return;
        }
        if let Some(cancelled) = message.cancelled_request() {
            self.queue.retain(|waiting| waiting.id.as_deref() != Some(cancelled));
            // In 2026-07-28 closing the exchange is the cancellation. In older revisions it is not.
            self.tasks.drop_where(|name| matches!(name, Name::Request(id) if id == cancelled));
            if message.protocol_version().is_some() {
                return;
            }
        }
        self.queue.push(post);
    }

    /// Returns what has been received. The end of the connection is `Ready(None)`.
    ///
    /// # Errors
    /// If the server cannot be used.
    pub(crate) fn poll_received(&mut self) -> Poll<io::Result<Option<Received>>> {
        let (result, wakers) = self.shared.with(|state| {
            let (item, wakers) = state.inbox.pop();
            let result = match item {
                Some(item) => Poll::Ready(Ok(Some(item))),
                None => match state.failed.take() {
                    Some(error) => Poll::Ready(Err(error)),
                    None if state.has_ended => Poll::Ready(Ok(None)),
                    None => Poll::Pending,
                },
            };
            (result, wakers)
        });
        wakers.into_iter().for_each(Waker::wake);
        result
    }

    /// Whether [`poll_received`](Self::poll_received) is ready.
    pub(crate) fn has_received(&self) -> bool {
        self.shared
            .with(|state| !state.inbox.is_empty() || state.has_ended || state.failed.is_some())
    }

    /// Whether the connection has ended, and everything has been received.
    pub(crate) fn has_ended(&self) -> bool {
        self.shared
            .with(|state| state.has_ended && state.inbox.is_empty() && state.failed.is_none())
    }

    /// Drops what has been received.
    pub(crate) fn discard(&mut self) {
        self.shared.with(|state| state.inbox.clear()).into_iter().for_each(Waker::wake);
    }

    /// Sends what needs no response, and ends the session.
    pub(crate) fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.closing == Closing::Open {
            // Responses are not needed any more.
            self.tasks.drop_where(|name| *name != Name::Short);
            self.queue.retain(|waiting| waiting.id.is_none());
            self.shared.with(|state| state.is_opening = false);
            self.closing = Closing::Sending;
        }
        loop {
            self.work(cx);
            let is_idle = self.tasks.is_empty() && self.queue.is_empty();
            match self.closing {
                Closing::Sending if is_idle => {
                    self.shared.with(|state| state.jobs.push(Job::Delete));
                    self.closing = Closing::Ending;
                }
                Closing::Ending if is_idle => {
                    self.shared.finish(None);
                    self.closing = Closing::Closed;
                }
                Closing::Closed => return Poll::Ready(()),
                _ => return Poll::Pending,
            }
        }
    }
}

impl fmt::Debug for HttpEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEngine").field("url", &self.shared.url()).finish_non_exhaustive()
    }
}

/// Number of tasks that are polled before the stream yields.
const ROUNDS: usize = 64;
