//! The event loop. All reading, writing and waiting is done here.

use std::io;
use std::time::Duration;

#[cfg(all(feature = "http", feature = "smol"))]
use mcp_sansio::Messages;
use mcp_sansio::{
    Client as CoreClient, Era, Frame, Instant, Revision, RxBuffer, SendError, Step, Tx, TxBuffer,
};

use super::application::ConnectState;
use super::calls::Peer;
use super::{Client, ConnectionEnd, Direction, Error, Transferred, Transport};
#[cfg(all(feature = "http", feature = "smol"))]
use crate::asynchronous::client::http::Received;
use crate::panics::caught;

impl Client<'_> {
    pub(super) fn connect(&mut self) -> Result<(), Error> {
        let core = self.core();
        let revisions = core.config().revisions;
        let probes = core.era().is_none()
            && revisions.contains(Revision::LATEST)
            && revisions.newest_legacy().is_some();
        match self.attempt() {
            // Some legacy servers exit on an unknown method.
            Err(Error::Closed(first)) if probes => {
                self.core().set_era(Some(Era::Legacy));
                self.attempt().map_err(|error| {
                    self.core().set_era(None);
                    match error {
                        Error::Start { error, .. }
                            if error.kind() == io::ErrorKind::Unsupported =>
                        {
                            Error::Closed(first)
                        }
                        error => error,
                    }
                })
            }
            attempted => attempted,
        }
    }

    pub(super) fn attempt(&mut self) -> Result<(), Error> {
        self.transport
            .open()
            .map_err(|error| Error::Start { server: self.transport.name(), error })?;
        self.start_connection()?;
        loop {
            match &mut self.app.connect_state {
                ConnectState::Connecting => self.step(None).map(|_| ())?,
                ConnectState::Connected(about) => {
                    self.connect_result = about.take();
                    self.read_peer();
                    return Ok(());
                }
                ConnectState::Failed(why) => {
                    let why = why.clone();
                    self.end();
                    return Err(Error::ConnectFailed {
                        why,
                        ended: self.ended.clone().unwrap_or_default(),
                    });
                }
            }
        }
    }

    /// Handles what has come since the last call before any timeout: the response may be in it.
    pub(super) fn catch_up(&mut self) {
        let due = self.next_timeout();
        self.catch_up_steps =
            if due.is_some_and(|due| due <= self.app.now()) { CATCH_UP_STEPS } else { 0 };
        self.app.free_input_requests();
    }

    /// Waits until at most [`MAX_PENDING`] bytes are pending.
    pub(super) fn make_room(&mut self, method: &str) -> Result<(), Error> {
        self.alive()?;
        self.catch_up();
        let until = self.app.now().saturating_add(self.core().config().call_timeout);
        while self.pending() > MAX_PENDING {
            if self.app.now() >= until {
                return Err(Error::TimedOut { method: method.to_owned() });
            }
            self.step(Some(until))?;
        }
        Ok(())
    }

    /// Writes without blocking. The rest is written by later iterations.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.catch_up();
        self.step(Some(Instant::from_millis(0))).map(|_| ())
    }

    fn alive(&self) -> Result<(), Error> {
        self.ended.as_ref().map_or(Ok(()), |ended| Err(Error::Closed(ended.clone())))
    }

    /// Runs one iteration: reads and writes what is possible, waits until `until` at most, and
    /// handles the messages that came and the timeouts that are due. Returns `false` if no byte was
    /// read or written.
    pub(super) fn step(&mut self, until: Option<Instant>) -> Result<bool, Error> {
        self.alive()?;
        let due = if self.catch_up_steps > 0 {
            Some(Instant::from_millis(0))
        } else {
            self.next_timeout()
        };
        let due = [until, due].into_iter().flatten().min();
        let timeout = due.map(|due| due.saturating_duration_since(self.app.now()));
        let transferred = match self.transfer(timeout) {
            Ok(transferred) => transferred,
            Err(error) => {
                self.end();
                return Err(error.into());
            }
        };
        self.receive(transferred.ended);
        let moved = transferred != Transferred::default();
        self.catch_up_steps = if moved { self.catch_up_steps.saturating_sub(1) } else { 0 };
        if self.catch_up_steps == 0 {
            self.handle_timeouts()?;
        }
        if transferred.ended || self.app.unresponsive {
            self.end();
        }
        Ok(moved)
    }

    fn next_timeout(&mut self) -> Option<Instant> {
        let due = self.core().poll_timeout();
        [due, self.app.calls.next_task()].into_iter().flatten().min()
    }

    fn read_peer(&mut self) {
        let core = self.core();
        let (revision, era) = (core.revision(), core.era());
        self.peer = Peer { revision, era, capabilities: core.server_capabilities() };
    }

    /// Closes the transport and ends all calls.
    pub(super) fn end(&mut self) {
        let ended =
            self.transport.close().unwrap_or_else(|_| ConnectionEnd::new(self.transport.name()));
        while self.core().close().is_some() {}
        self.app.calls.end(|| Error::Closed(ended.clone()));
        self.read_peer();
        self.ended = Some(ended);
    }

    /// Returns the core's client.
    pub(super) fn core(&mut self) -> mcp_sansio::Client<'_> {
        self.connection.machine()
    }

    /// Returns the number of bytes that wait to be written.
    pub(super) fn pending(&mut self) -> usize {
        #[cfg(all(feature = "http", feature = "smol"))]
        let posts: usize = self.app.posts.iter().map(|post| post.body().len()).sum();
        #[cfg(not(all(feature = "http", feature = "smol")))]
        let posts = 0;
        posts + self.connection.tx().pending().len()
    }

    /// Returns whether the server reads its responses, so that more of it can be read.
    fn reads(&mut self) -> bool {
        self.unread_responses = self.unread_responses.min(self.pending());
        self.unread_responses <= MAX_UNREAD_RESPONSES
    }

    /// Starts a new connection. Only the pending calls of the last one are kept.
    fn start_connection(&mut self) -> Result<(), Error> {
        self.ended = None;
        self.connection.reset();
        #[cfg(all(feature = "http", feature = "smol"))]
        self.app.posts.clear();
        self.is_traced = false;
        let app = &mut self.app;
        (app.hosted = crate::client::HostedTasks::new(super::IN_FLIGHT));
        (app.traced, app.unresponsive, app.connect_state) = (0, false, ConnectState::Connecting);
        self.send(|core, now, tx| core.connect(now, tx))?;
        if self.core().is_open() {
            self.app.connect_state = ConnectState::Connected(None);
        }
        Ok(())
    }

    /// Makes any call of the core's client, and traces what it writes.
    pub(super) fn send<R>(
        &mut self,
        call: impl FnOnce(&mut CoreClient<'_>, Instant, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        self.app.send(&mut self.connection.turn(self.app.now()), call)
    }

    /// Reads and writes once, and waits for either for at most `timeout`. Nothing is read while the
    /// server leaves too many responses unread.
    fn transfer(&mut self, timeout: Option<Duration>) -> io::Result<Transferred> {
        #[cfg(all(feature = "http", feature = "smol"))]
        if self.transport.http().is_some() {
            return self.exchange_messages(timeout);
        }
        let reads = self.reads();
        let mut turn = self.connection.turn(self.app.now());
        let (out, read) = turn.io();
        // Limited although a long line may have grown the buffer.
        let most = if reads { read.spare().len().min(MAX_READ) } else { 0 };
        let into = read.spare().get_mut(..most).unwrap_or_default();
        self.most_pending = self.most_pending.max(out.len());
        let done = self.transport.transfer(out, into, timeout)?;
        read.commit(done.read);
        turn.wrote(done.written);
        self.app.traced = self.app.traced.saturating_sub(done.written);
        // Frees the memory that a long message needed.
        if self.connection.tx().is_idle() && self.most_pending > MAX_KEPT {
            (*self.connection.tx(), self.most_pending) = (empty_tx(&mut *self.transport), 0);
        }
        if done.ended {
            self.connection.rx().end_of_input();
        }
        Ok(done)
    }

    /// Does the same over HTTP, and handles the message that was received.
    #[cfg(all(feature = "http", feature = "smol"))]
    fn exchange_messages(&mut self, timeout: Option<Duration>) -> io::Result<Transferred> {
        let reads = self.reads();
        self.most_pending = self.most_pending.max(self.pending());
        let Some(http) = self.transport.http() else { return Ok(Transferred::default()) };
        let (done, received) = http.exchange(&mut self.app.posts, reads, timeout)?;
        (self.app.tasks.sessions = http.sessions());
        // Frees the memory that a long message needed.
        if self.most_pending > MAX_KEPT {
            (*self.connection.tx(), self.most_pending) = (empty_tx(&mut *self.transport), 0);
        }
        let before = self.pending();
        let mut turn = self.connection.turn(self.app.now());
        match received {
            Some(Received::Message(message)) => {
                if let Some(trace) = &mut self.app.trace {
                    let _ = caught(|| trace(Direction::Received, &message));
                }
                let mut messages = Messages::new(Frame::Complete(&message));
                while let Ok(Some(event)) = self
                    .app
                    .send(&mut turn, |core, now, tx| core.next_event(now, &mut messages, tx))
                {
                    self.app.handle_event(&event, &mut turn);
                }
            }
            Some(Received::Postponed(id, by)) => turn.parts().0.postpone(&id, by),
            Some(Received::BroughtForward(id, by)) => turn.parts().0.bring_forward(&id, by),
            Some(Received::Failed { id, failure }) => {
                let failure = failure.as_core();
                let failed =
                    self.app.send(&mut turn, |core, now, tx| core.fail(now, &id, failure, tx));
                if let Ok(Some(event)) = failed {
                    self.app.handle_event(&event, &mut turn);
                }
            }
            None => {}
        }
        self.unread_responses += self.pending().saturating_sub(before);
        Ok(done)
    }

    /// Handles what was received. Lines stay in the buffer while the server does not read its
    /// responses. At the end of the input all of them are handled.
    fn receive(&mut self, has_ended: bool) {
        while has_ended || self.reads() {
            self.trace_received();
            let before = self.pending();
            let is_through = match self.connection.catch_up(self.app.now()) {
                Step::Event(event, mut turn) => {
                    self.app.handle_event(&event, &mut turn);
                    false
                }
                Step::Again => false,
                Step::Io { .. } | Step::Closed => true,
            };
            self.app.trace_sent(self.connection.tx().pending());
            self.unread_responses += self.pending().saturating_sub(before);
            let rx = self.connection.rx();
            self.is_traced &= rx.is_mid_frame();
            if is_through {
                // Frees the memory that a long line needed.
                if rx.unfinished() == 0 && rx.spare().len() > MAX_KEPT {
                    *rx = empty_rx(self.max_line);
                }
                return;
            }
        }
    }

    fn trace_received(&mut self) {
        if let Some(trace) = &mut self.app.trace
            && !self.is_traced
            && let Some(messages) = self.connection.rx().next_messages()
        {
            let (Frame::Complete(line) | Frame::Oversized { prefix: line, .. }) = messages.frame();
            let _ = caught(|| trace(Direction::Received, line));
            self.is_traced = true;
        }
    }

    /// Handles all timeouts that are due.
    fn handle_timeouts(&mut self) -> Result<(), Error> {
        let mut turn = self.connection.turn(self.app.now());
        while let Some(event) =
            self.app.send(&mut turn, |core, now, tx| core.handle_timeout(now, tx))?
        {
            self.app.handle_event(&event, &mut turn);
        }
        self.app.handle_task_timeouts(&mut turn);
        Ok(())
    }
}

pub(super) fn empty_rx(max_line: usize) -> RxBuffer<Vec<u8>> {
    RxBuffer::with_limit(Vec::new(), max_line)
}

pub(super) fn empty_tx(transport: &mut dyn Transport) -> TxBuffer<Vec<u8>> {
    let (storage, limit) = (Vec::new(), isize::MAX as usize);
    #[cfg(all(feature = "http", feature = "smol"))]
    if transport.http().is_some() {
        return TxBuffer::for_http_requests(storage, limit);
    }
    let _ = transport;
    TxBuffer::with_limit(storage, limit)
}

/// Number of iterations after a long pause in which no timeout is handled while there are bytes to
/// read.
pub(super) const CATCH_UP_STEPS: u32 = 256;
/// Maximum number of pending bytes before a new request waits.
const MAX_PENDING: usize = 1 << 20;
/// Maximum number of bytes of responses for a server that does not read them.
const MAX_UNREAD_RESPONSES: usize = 1 << 20;
/// Maximum number of bytes per read.
const MAX_READ: usize = 64 << 10;
/// Maximum number of bytes that idle buffers keep.
const MAX_KEPT: usize = 1 << 20;
