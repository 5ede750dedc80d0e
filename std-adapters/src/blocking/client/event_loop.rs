//! The event loop. All waiting is done here.

use mcp_sansio::{Era, Frame, Instant, Revision, RxBuffer};

use super::driver::{ConnectState, Driver};
use super::{Client, ConnectionEnd, Error, Transferred};

impl Client<'_> {
    pub(super) fn connect(&mut self) -> Result<(), Error> {
        let core = self.driver.core();
        let revisions = core.config().revisions;
        let probes = core.era().is_none()
            && revisions.contains(Revision::LATEST)
            && revisions.newest_legacy().is_some();
        match self.attempt() {
            // Some legacy servers exit on an unknown method.
            Err(Error::Closed(first)) if probes => {
                self.driver.core().set_era(Some(Era::Legacy));
                self.attempt().map_err(|error| {
                    self.driver.core().set_era(None);
                    match error {
                        Error::Start { error, .. }
                            if error.kind() == std::io::ErrorKind::Unsupported =>
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
        self.ended = None;
        self.rx = RxBuffer::with_limit(Vec::new(), self.max_line);
        self.driver.start_connection()?;
        loop {
            match &mut self.driver.connect_state {
                ConnectState::Connecting => self.step(None).map(|_| ())?,
                ConnectState::Connected(about) => {
                    self.connect_result = about.take();
                    return Ok(());
                }
                ConnectState::Failed(why) => {
                    let why = std::mem::take(why);
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
        let due = self.driver.core().poll_timeout();
        self.catch_up_steps =
            if due.is_some_and(|due| due <= self.driver.now()) { CATCH_UP_STEPS } else { 0 };
        self.driver.free_input_requests();
    }

    /// Waits until at most [`MAX_PENDING`] bytes are pending.
    pub(super) fn make_room(&mut self, method: &str) -> Result<(), Error> {
        self.alive()?;
        self.catch_up();
        let until = self.driver.now().saturating_add(self.driver.core().config().call_timeout);
        while self.driver.tx.pending().len() > MAX_PENDING {
            if self.driver.now() >= until {
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
        let driver = &mut self.driver;
        let due = if self.catch_up_steps > 0 {
            Some(Instant::from_millis(0))
        } else {
            driver.core().poll_timeout()
        };
        let due = [until, due].into_iter().flatten().min();
        let timeout = due.map(|due| due.saturating_duration_since(driver.now()));
        let into = if driver.must_wait_for_reads() { &mut [] } else { self.rx.spare() };
        // Limited although a long line may have grown the buffer.
        let most = into.len().min(MAX_READ);
        let into = into.get_mut(..most).unwrap_or_default();
        self.most_pending = self.most_pending.max(driver.tx.pending().len());
        let transferred = match self.transport.transfer(driver.tx.pending(), into, timeout) {
            Ok(transferred) => transferred,
            Err(error) => {
                self.end();
                return Err(error.into());
            }
        };
        driver.advance(transferred.written);
        if driver.tx.is_idle() && self.most_pending > MAX_PENDING {
            (driver.tx, self.most_pending) = (Driver::empty_tx(), 0);
        }
        self.rx.commit(transferred.read);
        if transferred.ended {
            self.rx.end_of_input();
        }
        let mut was_long = false;
        let mut is_through = false;
        // Further lines stay in the buffer while the server does not read its responses. At the end
        // of the input all of them are handled.
        while transferred.ended || !driver.must_wait_for_reads() {
            let Some(frame) = self.rx.next_frame() else {
                is_through = true;
                break;
            };
            was_long |= matches!(frame, Frame::Complete(line) if line.len() > MAX_PENDING)
                || matches!(frame, Frame::Oversized { .. });
            driver.receive(frame)?;
        }
        // Frees the memory that a long line needed.
        if was_long && is_through && self.rx.unfinished() == 0 {
            self.rx = RxBuffer::with_limit(Vec::new(), self.max_line);
        }
        let moved = transferred != Transferred::default();
        self.catch_up_steps = if moved { self.catch_up_steps.saturating_sub(1) } else { 0 };
        if self.catch_up_steps == 0 {
            driver.handle_timeouts()?;
        }
        if transferred.ended || driver.unresponsive {
            self.end();
        }
        Ok(moved)
    }

    /// Closes the transport and ends all calls.
    pub(super) fn end(&mut self) {
        let ended =
            self.transport.close().unwrap_or_else(|_| ConnectionEnd::new(self.transport.name()));
        self.driver.end(|| Error::Closed(ended.clone()));
        self.ended = Some(ended);
    }
}

/// Number of iterations after a long pause in which no timeout is handled while there are bytes to
/// read.
pub(super) const CATCH_UP_STEPS: u32 = 256;
/// Maximum number of bytes per read.
const MAX_READ: usize = 64 << 10;
/// Maximum number of pending bytes before a new request waits, and of bytes that idle buffers keep.
const MAX_PENDING: usize = 1 << 20;
