//! Presents HTTP as a byte stream to the client.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::http::client::OutgoingMessage;

use super::jobs::{Job, Name, Running};
use super::transport_state::TransportState;
use crate::asynchronous::tasks::Tasks;

/// Messages to and from a server behind a URL, one a line. It makes progress while it is read.
pub struct HttpStream {
    shared: Arc<TransportState>,
    tasks: Tasks<Name, Running>,
    /// Number of tasks without a response.
    shorts: usize,
    /// An incomplete line.
    line: Vec<u8>,
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

impl HttpStream {
    pub(super) fn new(shared: Arc<TransportState>) -> Self {
        Self { shared, tasks: Tasks::new(), shorts: 0, line: Vec::new(), closing: Closing::Open }
    }

    /// Polls every task that was woken, once. A task that wakes itself waits until others have run,
    /// on this stream and elsewhere.
    fn work(&mut self, cx: &Context<'_>) {
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
        let Self { shared, tasks, shorts, .. } = self;
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
        while let Some(queued) = shared.with(|state| {
            let queued = state.queue.next(state.is_opening, *shorts)?;
            state.is_opening |= queued.opens();
            Some(queued)
        }) {
            *shorts += usize::from(queued.id.is_none());
            tasks.insert(
                queued.id.map_or(Name::Short, Name::Request),
                Job::Message(queued.message).run(shared),
            );
        }
    }

    /// Handles a line that the client has written.
    fn submit(&mut self, mut line: Vec<u8>) {
        line.truncate(line.trim_ascii_end().len());
        let Some(post) = OutgoingMessage::parse(&line) else { return };
        if let Some(cancelled) = post.cancelled_request() {
            let cancelled = cancelled.to_owned();
            let is_modern = self.shared.with(|state| {
                state.queue.retain(|waiting| waiting.id.as_ref() != Some(&cancelled));
                state.session.revision().is_none() && state.older.is_none()
            });
            // In 2026-07-28 closing the exchange is the cancellation. In older revisions it is not.
            self.tasks.drop_where(|name| matches!(name, Name::Request(id) if *id == cancelled));
            if is_modern {
                return;
            }
        }
        self.shared.with(|state| state.queue.push(line));
    }

    /// Takes lines until the queue is full. Returns the number of bytes.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.shared.with(|state| state.queue.is_full()) {
                break;
            }
            taken += part.len();
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.submit(line);
            }
        }
        taken
    }
}

impl AsyncRead for HttpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.work(cx);
        let (result, wakers) = this.shared.with(|state| {
            if !state.inbox.is_empty() {
                let (read, wakers) = state.inbox.take(into);
                return (Poll::Ready(Ok(read)), wakers);
            }
            if let Some(error) = state.failed.take() {
                return (Poll::Ready(Err(error)), Vec::new());
            }
            if state.has_ended {
                return (Poll::Ready(Ok(0)), Vec::new());
            }
            state.inbox.wait_for_bytes(cx.waker());
            (Poll::Pending, Vec::new())
        });
        wakers.into_iter().for_each(Waker::wake);
        result
    }
}

impl AsyncWrite for HttpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.closing != Closing::Open {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let mut taken = this.take(bytes);
        if taken == 0 && !bytes.is_empty() {
            this.work(cx);
            taken = this.take(bytes);
            if taken == 0 {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(taken))
    }

    /// Written lines are sent without a flush; this makes progress.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().work(cx);
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.closing == Closing::Open {
            // Responses are not needed any more.
            this.tasks.drop_where(|name| *name != Name::Short);
            this.shared.with(|state| {
                state.queue.retain(|waiting| waiting.id.is_none());
                state.is_opening = false;
            });
            this.closing = Closing::Sending;
        }
        loop {
            this.work(cx);
            let is_idle = this.tasks.is_empty() && this.shared.with(|state| state.queue.is_empty());
            match this.closing {
                Closing::Sending if is_idle => {
                    this.shared.with(|state| state.jobs.push(Job::Delete));
                    this.closing = Closing::Ending;
                }
                Closing::Ending if is_idle => {
                    this.shared.finish(None);
                    this.closing = Closing::Closed;
                }
                Closing::Closed => return Poll::Ready(Ok(())),
                _ => return Poll::Pending,
            }
        }
    }
}

impl fmt::Debug for HttpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpStream")
            .field("url", &self.shared.url())
            .field("closing", &self.closing)
            .finish_non_exhaustive()
    }
}

/// Number of tasks that are polled before the stream yields.
const ROUNDS: usize = 64;
