//! Bytes and messages: what is read, what waits to be written, and the memory of both.

#[cfg(feature = "http")]
use alloc::collections::VecDeque;
use alloc::vec::Vec;

#[cfg(feature = "http")]
use mcp_sansio::http::client::{HttpFailure, Post};
#[cfg(feature = "http")]
use mcp_sansio::internal::BodyPosition;
use mcp_sansio::{Frame, Instant, RxBuffer, Tx, TxBuffer};

use super::{ClientEngine, Driver, MAX_KEPT, MAX_UNREAD, State};
#[cfg(feature = "http")]
use super::{HostedTasks, Purpose};

impl ClientEngine<'_> {
    /// Calls a function with the bytes to write, and the memory to read into, which is empty while
    /// the server leaves too many responses unread.
    pub fn io<R>(&mut self, io: impl FnOnce(&[u8], &mut [u8]) -> R) -> R {
        let reads = self.reads();
        let mut turn = self.core.turn(Instant::from_millis(0));
        let (output, spare) = turn.io();
        io(output, if reads { spare.spare() } else { &mut [] })
    }

    /// Records that the first `n` bytes of the output were written.
    pub fn written(&mut self, n: usize) {
        self.core.wrote(n);
        self.state.traced = self.state.traced.saturating_sub(n);
        self.give_back();
    }

    /// Records that `n` bytes were read into the input.
    pub fn received(&mut self, n: usize) {
        self.core.rx().commit(n);
    }

    /// Records that nothing more can be read. An unterminated last line is taken for a line.
    pub fn end_of_input(&mut self) {
        self.core.rx().end_of_input();
        self.state.input_ended = true;
    }

    /// Drops what was read and not handled, of a server that is not needed any more.
    pub fn discard(&mut self) {
        self.core.rx().clear();
        #[cfg(feature = "http")]
        {
            self.state.batch = None;
        }
    }

    /// Whether a message, or a part of one, was read and not handled.
    pub fn has_input(&mut self) -> bool {
        #[cfg(feature = "http")]
        if self.state.batch.is_some() {
            return true;
        }
        self.core.rx().is_mid_frame()
    }

    /// Returns the number of responses and cancellations that wait for room in the output: at most
    /// as many as there are open requests and calls.
    pub fn unsent(&self) -> usize {
        self.state.unsent.len()
    }

    /// Whether there is nothing to write.
    pub fn is_idle(&mut self) -> bool {
        self.core.tx().is_idle() && self.pending() == 0
    }

    /// Frees the memory that a long message needed.
    pub(super) fn give_back(&mut self) {
        let Self { core, state } = self;
        if core.tx().is_idle() && state.most_pending > MAX_KEPT {
            (*core.tx(), state.most_pending) = (state.empty_tx(), 0);
        }
        let rx = core.rx();
        if rx.unfinished() == 0 && rx.spare().len() > MAX_KEPT {
            *rx = RxBuffer::with_limit(Vec::new(), state.limits.max_line);
        }
    }

    /// Returns the number of bytes that wait to be written, or to be posted.
    pub fn pending(&mut self) -> usize {
        self.state.posted() + self.core.tx().pending().len()
    }

    /// Whether the server reads its responses, so that more of it can be read.
    pub fn reads(&mut self) -> bool {
        #[cfg(feature = "http")]
        if self.state.batch.is_some() {
            return false;
        }
        self.is_read()
    }

    fn is_read(&mut self) -> bool {
        self.state.unread = self.state.unread.min(self.pending());
        self.state.unread <= MAX_UNREAD && self.state.has_room()
    }

    pub(super) fn trace_received(&mut self, driver: &mut impl Driver) {
        if driver.traces()
            && !self.state.is_traced
            && let Some(messages) = self.core.rx().next_messages()
        {
            let (Frame::Complete(line) | Frame::Oversized { prefix: line, .. }) = messages.frame();
            driver.frame(false, line);
            self.state.is_traced = true;
        }
    }
}

/// Messages in place of bytes.
#[cfg(feature = "http")]
impl ClientEngine<'_> {
    /// Returns the messages to be sent, each as a POST request, for the driver to take.
    pub const fn posts(&mut self) -> &mut VecDeque<Post> {
        &mut self.state.posts
    }

    /// Handles a message that came in the body of a response, or in an event. If it is a batch
    /// (2025-03-26) whose responses find no room, the rest is kept, and handled by
    /// [`step`](Self::step) when there is room; until then the client does not
    /// [read](Self::reads).
    pub fn message(&mut self, now: Instant, message: &[u8], driver: &mut impl Driver) {
        if driver.traces() {
            driver.frame(false, message);
        }
        let mut position = BodyPosition::default();
        if !self.handle_message(now, message, &mut position, driver) {
            self.state.batch = Some((message.to_vec(), position));
        }
    }

    /// Goes on with a batch if there is room. Returns whether it did.
    pub(super) fn handle_batch(&mut self, now: Instant, driver: &mut impl Driver) -> bool {
        if !self.is_read() {
            return false;
        }
        let Some((batch, mut position)) = self.state.batch.take() else { return false };
        if !self.handle_message(now, &batch, &mut position, driver) {
            self.state.batch = Some((batch, position));
        }
        true
    }

    /// Handles a message from this position on. Returns `false` if there is no room for the
    /// responses to the rest.
    fn handle_message(
        &mut self,
        now: Instant,
        message: &[u8],
        position: &mut BodyPosition,
        driver: &mut impl Driver,
    ) -> bool {
        let before = self.pending();
        let Self { core, state } = self;
        let most = MAX_UNREAD.saturating_sub(state.unread).saturating_add(before);
        let most = most.min(state.limits.max_output);
        let (mut messages, mut pending) = (position.messages(message, None), before);
        let is_whole = loop {
            let waiting = state.posts.len();
            let (mut client, tx) = core.parts();
            let event = client.next_event(now, &mut messages, tx);
            state.sent(tx, driver);
            let Ok(Some(event)) = event else { break true };
            state.turn(driver).event(now, &event);
            // Counted as they come: the sum of all would be taken again for each of them.
            pending += state.posts.range(waiting..).map(|post| post.body().len()).sum::<usize>();
            if pending >= most || state.posts.len() >= state.limits.max_posts {
                break messages.is_done();
            }
        };
        self.after_message(now, before, driver);
        is_whole
    }

    /// Handles the failure of a request with this JSON-RPC id.
    pub fn fail(
        &mut self,
        now: Instant,
        id: &str,
        failure: HttpFailure<'_>,
        driver: &mut impl Driver,
    ) {
        let before = self.pending();
        let Self { core, state } = self;
        let (mut client, tx) = core.parts();
        let event = client.fail(now, id, failure, tx);
        state.sent(tx, driver);
        if let Ok(Some(event)) = event {
            state.turn(driver).event(now, &event);
        }
        self.after_message(now, before, driver);
    }

    fn after_message(&mut self, now: Instant, before: usize, driver: &mut impl Driver) {
        let pending = self.pending();
        self.state.unread += pending.saturating_sub(before);
        self.flush(now, driver);
        self.give_back();
    }

    /// Lets the time of all calls that were not sent stand still, or go on: a person logs in.
    pub fn set_logging_in(&mut self, now: Instant, is_logging_in: bool) {
        let state = &mut self.state;
        match state.login {
            None if is_logging_in => state.login = Some(now),
            Some(since) if !is_logging_in => {
                state.login = None;
                state.calls.postpone(since, now);
            }
            _ => {}
        }
    }

    /// Goes on in another session with the server: it has none of the requests of the last, whose
    /// questions are withdrawn, and may not know the tasks.
    pub(crate) fn session_renewed(&mut self, driver: &mut impl Driver) {
        self.core().forget_requests();
        let state = &mut self.state;
        // A request of this session may have the same id.
        state.posts.retain(|post| post.message().method().is_some());
        state.hosted = HostedTasks::new(state.limits.max_in_flight);
        let tasks = state.calls.iter_mut().filter_map(|pending| pending.task.as_mut());
        tasks.for_each(|task| task.poll.session_changed());
        state.turn(driver).withdraw_where(|purpose| !matches!(purpose, Purpose::Call(_)));
    }
}

impl State {
    /// Whether another message may be written: over HTTP so many wait to be posted.
    pub(super) fn has_room(&self) -> bool {
        #[cfg(feature = "http")]
        if !self.posts.is_empty() {
            let has_place = self.posts.len() < self.limits.max_posts;
            return has_place && self.posted() < self.limits.max_output;
        }
        true
    }

    /// Returns the number of bytes that wait to be posted.
    fn posted(&self) -> usize {
        #[cfg(feature = "http")]
        return self.posts.iter().map(|post| post.body().len()).sum();
        #[cfg(not(feature = "http"))]
        0
    }

    pub(super) fn empty_tx(&self) -> TxBuffer<Vec<u8>> {
        #[cfg(feature = "http")]
        if self.is_http {
            // A body is sent as a whole.
            return TxBuffer::for_http_requests(Vec::new(), isize::MAX as usize);
        }
        TxBuffer::with_limit(Vec::new(), self.limits.max_output)
    }

    /// Traces what was written, and takes it if it is a POST request.
    pub(super) fn sent(&mut self, tx: &mut Tx<'_>, driver: &mut impl Driver) {
        let pending = tx.pending();
        if driver.traces() {
            let fresh = pending.get(self.traced..).unwrap_or_default();
            for line in fresh.split_inclusive(|byte| *byte == b'\n') {
                driver.frame(true, line.strip_suffix(b"\n").unwrap_or(line));
            }
        }
        self.traced = pending.len();
        self.most_pending = self.most_pending.max(pending.len());
        #[cfg(feature = "http")]
        if self.is_http
            && let Some(post) = tx.take_post()
        {
            self.posts.push_back(post);
            self.traced = 0;
        }
    }
}
