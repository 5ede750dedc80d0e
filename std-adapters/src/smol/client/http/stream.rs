//! The stream of messages that all of it is, seen from the client.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::http::client::Post;

use super::builder::Http;
use super::dial::{Dial, Tcp};
use super::jobs::{Job, Name, Running};
use super::shared::Shared;
use crate::smol::tasks::Tasks;

/// Messages to and from a server behind a URL, a line each. It works while it is read.
pub struct Stream<D: Dial = Tcp> {
    shared: Arc<Shared<D>>,
    tasks: Tasks<Name, Running>,
    /// A line that has not ended.
    line: Vec<u8>,
    closing: Closing,
}

/// How far closing has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Closing {
    Open,
    /// What has no answer is still being sent.
    Sending,
    /// The session is being ended.
    Ending,
    Closed,
}

impl<D: Dial> Stream<D> {
    pub(super) fn new(shared: Arc<Shared<D>>) -> Self {
        Self { shared, tasks: Tasks::new(), line: Vec::new(), closing: Closing::Open }
    }

    /// Lets everything under way go on as far as it can.
    fn work(&mut self, cx: &Context<'_>) {
        // Others want their turn, too.
        for _ in 0..ROUNDS {
            self.begin();
            if self.tasks.poll_next(cx).is_pending() {
                // A task may have left something to begin.
                if !self.begin() {
                    return;
                }
            }
        }
        cx.waker().wake_by_ref();
    }

    /// Begins what may begin.
    fn begin(&mut self) -> bool {
        let Self { shared, tasks, .. } = self;
        let mut begun = false;
        let mut insert = |name, job: Job<D::Stream>| {
            tasks.insert(name, job.run(shared));
            begun = true;
        };
        for job in shared.with(|state| std::mem::take(&mut state.jobs)) {
            insert(if matches!(job, Job::Delete) { Name::Short } else { Name::Endless }, job);
        }
        while let Some(message) = shared.with(|state| {
            // What opens a session goes first. An answer may be what that waits for.
            let may_go = |message: &Vec<u8>| Post::read(message).is_none_or(|post| post.opens() || post.method().is_none());
            let at = if state.is_opening { state.queue.iter().position(may_go)? } else { 0 };
            let message = state.queue.remove(at)?;
            state.is_opening |= Post::read(&message).is_some_and(|post| post.opens());
            Some(message)
        }) {
            let id = Post::read(&message).and_then(|post| post.id().map(str::to_owned));
            insert(id.map_or(Name::Short, Name::Request), Job::Message(message));
        }
        begun
    }

    /// Takes a line that the client has written.
    fn submit(&mut self, mut line: Vec<u8>) {
        line.truncate(line.trim_ascii_end().len());
        let Some(post) = Post::read(&line) else { return };
        if let Some(cancelled) = post.cancels() {
            let cancelled = cancelled.to_owned();
            let is_modern = self.shared.with(|state| {
                state.queue.retain(|waiting| Post::read(waiting).and_then(|post| post.id()) != Some(&cancelled));
                state.session.revision().is_none() && state.older.is_none()
            });
            // Ending the exchange is all that there is to do in 2026-07-28. Before, it was nothing.
            self.tasks.drop_where(|name| matches!(name, Name::Request(id) if *id == cancelled));
            if is_modern {
                return;
            }
        }
        self.shared.with(|state| state.queue.push_back(line));
    }
}

impl<D: Dial> AsyncRead for Stream<D> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
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

impl<D: Dial> AsyncWrite for Stream<D> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.closing != Closing::Open {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if this.shared.with(|state| state.queue.len() >= MAX_QUEUE) {
            this.work(cx);
            if this.shared.with(|state| state.queue.len() >= MAX_QUEUE) {
                return Poll::Pending;
            }
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            this.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut this.line);
                this.submit(line);
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    /// What was written is on its way; this helps it along.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().work(cx);
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.closing == Closing::Open {
            // Nobody waits for answers any more.
            this.tasks.drop_where(|name| *name != Name::Short);
            this.shared.with(|state| {
                state.queue.retain(|message| Post::read(message).is_some_and(|post| post.id().is_none()));
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

impl<D: Dial> fmt::Debug for Stream<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Http { address, .. } = &self.shared.http;
        f.debug_struct("Stream").field("address", address).field("closing", &self.closing).finish_non_exhaustive()
    }
}

/// How often in a row a stream goes on before others have their turn.
const ROUNDS: usize = 64;
/// Messages that may wait to be sent.
const MAX_QUEUE: usize = 256;
