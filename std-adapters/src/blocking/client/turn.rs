//! The loop: in it all waiting is done.

use mcp_sansio::{Era, Frame, Instant, Revision, RxBuffer};

use super::conversation::{Conversation, Opening};
use super::{Client, Ended, Error, Exchanged};

impl Client<'_> {
    pub(super) fn connect(&mut self) -> Result<(), Error> {
        let machine = &self.conversation.machine;
        let revisions = machine.config().revisions;
        let probes = machine.era().is_none()
            && revisions.contains(Revision::LATEST)
            && revisions.newest_legacy().is_some();
        match self.attempt() {
            // Some legacy servers end over what they do not know. Once, that is worth another try.
            Err(Error::Ended(first)) if probes => {
                self.conversation.machine.set_era(Some(Era::Legacy));
                self.attempt().map_err(|error| {
                    self.conversation.machine.set_era(None);
                    match error {
                        Error::Start { error, .. }
                            if error.kind() == std::io::ErrorKind::Unsupported =>
                        {
                            Error::Ended(first)
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
        self.conversation.begin()?;
        loop {
            match &mut self.conversation.opening {
                Opening::Under => self.turn(None).map(|_| ())?,
                Opening::Done(about) => {
                    self.about = about.take();
                    return Ok(());
                }
                Opening::Failed(why) => {
                    let why = std::mem::take(why);
                    self.end();
                    return Err(Error::Open { why, ended: self.ended.clone().unwrap_or_default() });
                }
            }
        }
    }

    /// Nothing expires before what came while nobody looked has been looked at: an answer may be
    /// among it.
    pub(super) fn catch_up(&mut self) {
        let due = self.conversation.machine.poll_timeout();
        self.behind =
            if due.is_some_and(|due| due <= self.conversation.now()) { CATCHING_UP } else { 0 };
        self.conversation.free_questions();
    }

    /// Waits until what is to be sent is less than a great deal.
    pub(super) fn make_room(&mut self, method: &str) -> Result<(), Error> {
        self.alive()?;
        self.catch_up();
        let until =
            self.conversation.now().saturating_add(self.conversation.machine.config().call_timeout);
        while self.conversation.tx.pending().len() > MAX_PENDING {
            if self.conversation.now() >= until {
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
        self.ended.as_ref().map_or(Ok(()), |ended| Err(Error::Ended(ended.clone())))
    }

    /// Once around: writes and reads what is possible, waits no longer than `until`, and attends to
    /// what came and to what is due. `false` when nothing was written and nothing came.
    pub(super) fn turn(&mut self, until: Option<Instant>) -> Result<bool, Error> {
        self.alive()?;
        let conversation = &mut self.conversation;
        let due = if self.behind > 0 {
            Some(Instant::from_millis(0))
        } else {
            conversation.machine.poll_timeout()
        };
        let due = [until, due].into_iter().flatten().min();
        let timeout = due.map(|due| due.saturating_duration_since(conversation.now()));
        let into = if conversation.owes_too_much() { &mut [] } else { self.rx.spare() };
        // A turn reads a limited number of bytes, however much room a long line has made.
        let most = into.len().min(MOST_READ);
        let into = into.get_mut(..most).unwrap_or_default();
        self.most_pending = self.most_pending.max(conversation.tx.pending().len());
        let exchanged = match self.transport.exchange(conversation.tx.pending(), into, timeout) {
            Ok(exchanged) => exchanged,
            Err(error) => {
                self.end();
                return Err(error.into());
            }
        };
        conversation.advance(exchanged.written);
        if conversation.tx.is_idle() && self.most_pending > MAX_PENDING {
            (conversation.tx, self.most_pending) = (Conversation::empty_tx(), 0);
        }
        self.rx.commit(exchanged.read);
        if exchanged.ended
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
        while exchanged.ended || !conversation.owes_too_much() {
            let Some(frame) = self.rx.next_frame() else {
                is_through = true;
                break;
            };
            was_long |= matches!(frame, Frame::Complete(line) if line.len() > MAX_PENDING)
                || matches!(frame, Frame::Oversized { .. });
            conversation.receive(frame)?;
        }
        // What one long answer needed is not kept for ever.
        if was_long && is_through && self.rx.unfinished() == 0 {
            self.rx = RxBuffer::with_limit(Vec::new(), self.max_line);
        }
        let moved = exchanged != Exchanged::default();
        self.behind = if moved { self.behind.saturating_sub(1) } else { 0 };
        if self.behind == 0 {
            conversation.expire()?;
        }
        if exchanged.ended || conversation.unresponsive {
            self.end();
        }
        Ok(moved)
    }

    /// The connection is over.
    pub(super) fn end(&mut self) {
        let ended = self.transport.close().unwrap_or_else(|_| Ended::new(self.transport.name()));
        self.conversation.end(|| Error::Ended(ended.clone()));
        self.ended = Some(ended);
    }
}

/// Turns after a long absence in which nothing expires while there is something to read.
pub(super) const CATCHING_UP: u32 = 256;
/// Bytes that are read in one turn.
const MOST_READ: usize = 64 << 10;
/// Bytes that may wait to be sent before another request does, and that buffers keep.
const MAX_PENDING: usize = 1 << 20;
