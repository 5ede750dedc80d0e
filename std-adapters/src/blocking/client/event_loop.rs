//! The loop: in it all waiting is done.

use mcp_sansio::{Era, Frame, Instant, Revision, RxBuffer};

use super::driver::{ConnectState, Driver};
use super::{Client, ConnectionEnd, Error, Transferred};

impl Client<'_> {
    pub(super) fn connect(&mut self) -> Result<(), Error> {
        let machine = &self.driver.machine;
        let revisions = machine.config().revisions;
        let probes = machine.era().is_none()
            && revisions.contains(Revision::LATEST)
            && revisions.newest_legacy().is_some();
        match self.attempt() {
            // Some legacy servers end over what they do not know. Once, that is worth another try.
            Err(Error::Closed(first)) if probes => {
                self.driver.machine.set_era(Some(Era::Legacy));
                self.attempt().map_err(|error| {
                    self.driver.machine.set_era(None);
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
        self.driver.begin()?;
        loop {
            match &mut self.driver.connect_state {
                ConnectState::Connecting => self.turn(None).map(|_| ())?,
                ConnectState::Connected(about) => {
                    self.about = about.take();
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

    /// Nothing expires before what came while nobody looked has been looked at: an answer may be
    /// among it.
    pub(super) fn catch_up(&mut self) {
        let due = self.driver.machine.poll_timeout();
        self.behind = if due.is_some_and(|due| due <= self.driver.now()) { CATCHING_UP } else { 0 };
        self.driver.free_questions();
    }

    /// Waits until what is to be sent is less than a great deal.
    pub(super) fn make_room(&mut self, method: &str) -> Result<(), Error> {
        self.alive()?;
        self.catch_up();
        let until = self.driver.now().saturating_add(self.driver.machine.config().call_timeout);
        while self.driver.tx.pending().len() > MAX_PENDING {
            if self.driver.now() >= until {
                return Err(Error::TimedOut { method: method.to_owned() });
            }
            self.turn(Some(until))?;
        }
        Ok(())
    }

    /// Sends what the server takes at once. The rest goes with the next turn.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.catch_up();
        self.turn(Some(Instant::from_millis(0))).map(|_| ())
    }

    fn alive(&self) -> Result<(), Error> {
        self.ended.as_ref().map_or(Ok(()), |ended| Err(Error::Closed(ended.clone())))
    }

    /// Once around: writes and reads what is possible, waits no longer than `until`, and attends to
    /// what came and to what is due. `false` when nothing was written and nothing came.
    pub(super) fn turn(&mut self, until: Option<Instant>) -> Result<bool, Error> {
        self.alive()?;
        let driver = &mut self.driver;
        let due = if self.behind > 0 {
            Some(Instant::from_millis(0))
        } else {
            driver.machine.poll_timeout()
        };
        let due = [until, due].into_iter().flatten().min();
        let timeout = due.map(|due| due.saturating_duration_since(driver.now()));
        let into = if driver.owes_too_much() { &mut [] } else { self.rx.spare() };
        // A turn reads a limited number of bytes, however much room a long line has made.
        let most = into.len().min(MOST_READ);
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
        if transferred.ended
            && let Some(byte) = self.rx.spare().first_mut()
        {
            // A last line without an end is a line.
            *byte = b'\n';
            self.rx.commit(1);
        }
        let mut was_long = false;
        let mut is_through = false;
        // Lines that a server sends and whose answers it does not read stay where they are; those
        // before the end are all looked at.
        while transferred.ended || !driver.owes_too_much() {
            let Some(frame) = self.rx.next_frame() else {
                is_through = true;
                break;
            };
            was_long |= matches!(frame, Frame::Complete(line) if line.len() > MAX_PENDING)
                || matches!(frame, Frame::Oversized { .. });
            driver.receive(frame)?;
        }
        // What one long answer needed is not kept for ever.
        if was_long && is_through && self.rx.unfinished() == 0 {
            self.rx = RxBuffer::with_limit(Vec::new(), self.max_line);
        }
        let moved = transferred != Transferred::default();
        self.behind = if moved { self.behind.saturating_sub(1) } else { 0 };
        if self.behind == 0 {
            driver.expire()?;
        }
        if transferred.ended || driver.unresponsive {
            self.end();
        }
        Ok(moved)
    }

    /// The connection is over.
    pub(super) fn end(&mut self) {
        let ended =
            self.transport.close().unwrap_or_else(|_| ConnectionEnd::new(self.transport.name()));
        self.driver.end(|| Error::Closed(ended.clone()));
        self.ended = Some(ended);
    }
}

/// Turns after a long absence in which nothing expires while there is something to read.
pub(super) const CATCHING_UP: u32 = 256;
/// Bytes that are read in one turn.
const MOST_READ: usize = 64 << 10;
/// Bytes that may wait to be sent before another request does, and that buffers keep.
const MAX_PENDING: usize = 1 << 20;
