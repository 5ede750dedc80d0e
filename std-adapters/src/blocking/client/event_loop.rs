//! The event loop. All reading, writing and waiting is done here.

use std::io;
use std::time::Duration;

use mcp_sansio::{Era, Instant, Revision};
use mcp_sansio_engine::{CallError, ConnectState};

use super::{Client, ConnectionEnd, Error, Transferred};

impl Client<'_> {
    pub(super) fn connect(&mut self) -> Result<(), Error> {
        let core = self.engine.core();
        let revisions = core.config().revisions;
        let probes = core.era().is_none()
            && revisions.contains(Revision::LATEST)
            && revisions.newest_legacy().is_some();
        match self.attempt() {
            // Some legacy servers exit on an unknown method.
            Err(Error::Closed(first)) if probes => {
                self.engine.core().set_era(Some(Era::Legacy));
                self.attempt().map_err(|error| {
                    self.engine.core().set_era(None);
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

    fn attempt(&mut self) -> Result<(), Error> {
        self.transport
            .open()
            .map_err(|error| Error::Start { server: self.transport.name(), error })?;
        self.ended = None;
        let sent = self.engine.connect(self.app.now(), &mut self.app);
        sent.map_err(|error| Error::of("initialize", error))?;
        loop {
            match self.engine.connect_state() {
                ConnectState::Connecting => self.step(None).map(|_| ())?,
                ConnectState::Connected => {
                    self.connected = self.engine.connected();
                    return Ok(());
                }
                ConnectState::Failed(why) => {
                    let why = why.clone();
                    self.end();
                    return Err(Error::ConnectFailed { why, ended: self.last_end.clone() });
                }
            }
        }
    }

    /// Handles what has come since the last call before any timeout: the response may be in it.
    pub(super) fn catch_up(&mut self) {
        self.engine.begin_wait(self.app.now());
        self.app.free_input_requests();
    }

    /// Waits until at most [`ClientLimits::max_pending`](super::ClientLimits) bytes are pending.
    pub(super) fn make_room(&mut self, method: &str) -> Result<(), Error> {
        self.alive()?;
        self.catch_up();
        let until = self.app.now().saturating_add(self.engine.core().config().call_timeout);
        while self.engine.pending() > self.limits.max_pending {
            if self.app.now() >= until {
                return Err(Error::of(method, CallError::TimedOut));
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
        let due = [until, self.engine.next_timeout()].into_iter().flatten().min();
        let timeout = due.map(|due| due.saturating_duration_since(self.app.now()));
        let transferred = match self.transfer(timeout) {
            Ok(transferred) => transferred,
            Err(error) => {
                self.end();
                return Err(error.into());
            }
        };
        let now = self.app.now();
        while self.engine.step(now, &mut self.app) {}
        let moved = transferred != Transferred::default();
        let handled = self.engine.handle_timeouts(now, moved, &mut self.app);
        handled.map_err(|error| Error::of("initialize", error))?;
        if transferred.ended || self.engine.is_unresponsive() {
            self.end();
        }
        Ok(moved)
    }

    /// Closes the transport and ends all calls.
    pub(super) fn end(&mut self) {
        let ended = self.transport.close();
        self.last_end = ended.unwrap_or_else(|_| ConnectionEnd::new(self.transport.name()));
        self.ended = Some(self.last_end.clone());
        self.engine.end(&mut self.app);
    }

    /// Reads and writes once, and waits for either for at most `timeout`.
    fn transfer(&mut self, timeout: Option<Duration>) -> io::Result<Transferred> {
        #[cfg(all(feature = "http", feature = "smol"))]
        if self.transport.http().is_some() {
            return self.exchange_messages(timeout);
        }
        let done = self.engine.io(|out, into| {
            // Limited although a long line may have grown the buffer.
            let most = into.len().min(MAX_READ);
            self.transport.transfer(out, into.get_mut(..most).unwrap_or_default(), timeout)
        })?;
        self.engine.received(done.read);
        self.engine.written(done.written);
        if done.ended {
            self.engine.end_of_input();
        }
        Ok(done)
    }

    /// Does the same over HTTP, and handles the message that was received.
    #[cfg(all(feature = "http", feature = "smol"))]
    fn exchange_messages(&mut self, timeout: Option<Duration>) -> io::Result<Transferred> {
        let Some(http) = self.transport.http() else { return Ok(Transferred::default()) };
        let done = http.exchange(&mut self.engine, timeout)?;
        let now = self.app.now();
        http.deliver(&mut self.engine, now, &mut self.app);
        Ok(done)
    }
}

/// Maximum number of bytes per read.
const MAX_READ: usize = 64 << 10;
