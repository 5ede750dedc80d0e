//! What calls are waiting for, from its event until they look at it.

use std::collections::VecDeque;
use std::task::Waker;

use mcp_sansio::{Call, ClientEvent, Outcome, OwnedJson};

use super::error::{CallError, ServerError};
use super::listen::{Change, Wants};

/// The mailboxes of all calls. Each has a number as long as somebody waits at it.
#[derive(Default)]
pub(super) struct Mail {
    boxes: Vec<Mailbox>,
    free: Vec<usize>,
    /// By the place of the call in the core's table.
    by_call: Vec<Option<(Call, usize)>>,
}

#[derive(Default)]
struct Mailbox {
    is_used: bool,
    /// As long as it is in flight.
    call: Option<Call>,
    /// A `listen` to a legacy server, who is not asked: to be told of these.
    wants: Option<Wants>,
    letters: VecDeque<Letter>,
    /// The bytes of the progress reports and changes among them.
    bytes: usize,
    waker: Option<Waker>,
}

pub(super) enum Letter {
    Progress(OwnedJson),
    /// A `listen` has begun, with what the server honours of it.
    Listening(OwnedJson),
    Change(Change),
    Ended(Ended),
}

/// How a call ended: an [`Outcome`] that is kept.
pub(super) enum Ended {
    Result(OwnedJson),
    InputRequired {
        result: OwnedJson,
        round: u8,
    },
    /// A `listen`, by the server.
    ByServer,
    Error(CallError),
}

impl Mail {
    /// A mailbox for this call, or for one that needs none.
    pub(super) fn open(&mut self, call: Option<Call>) -> usize {
        let number = self.free.pop().unwrap_or_else(|| {
            self.boxes.push(Mailbox::default());
            self.boxes.len() - 1
        });
        if let Some(mailbox) = self.boxes.get_mut(number) {
            mailbox.is_used = true;
            mailbox.call = call;
        }
        if let Some(call) = call {
            if self.by_call.len() <= call.index() {
                self.by_call.resize(call.index() + 1, None);
            }
            if let Some(place) = self.by_call.get_mut(call.index()) {
                *place = Some((call, number));
            }
        }
        number
    }

    /// Nobody waits any more. The call, if it is in flight.
    pub(super) fn close(&mut self, number: usize) -> Option<Call> {
        let mailbox = self.boxes.get_mut(number).filter(|mailbox| mailbox.is_used)?;
        mailbox.is_used = false;
        mailbox.letters.clear();
        mailbox.bytes = 0;
        mailbox.waker = None;
        mailbox.wants = None;
        let call = mailbox.call.take();
        self.free.push(number);
        if let Some(place) = call.and_then(|call| self.by_call.get_mut(call.index())) {
            *place = None;
        }
        call
    }

    /// Has a mailbox take in what a legacy server tells all.
    pub(super) fn want(&mut self, number: usize, wants: Wants) {
        if let Some(mailbox) = self.boxes.get_mut(number) {
            mailbox.wants = Some(wants);
        }
    }

    /// The oldest letter. Without one, the waker is kept.
    pub(super) fn take(&mut self, number: usize, waker: &Waker) -> Option<Letter> {
        let mailbox = self.boxes.get_mut(number)?;
        let letter = mailbox.pop();
        if letter.is_none() && !mailbox.waker.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            mailbox.waker = Some(waker.clone());
        }
        letter
    }

    /// Puts an event where it is waited for. `false` when it is for nobody here.
    pub(super) fn deliver(&mut self, event: &ClientEvent<'_>, wakers: &mut Vec<Waker>) -> bool {
        let (call, letter) = match event {
            ClientEvent::CallFinished { call, outcome } => {
                (*call, Letter::Ended(Ended::from(*outcome)))
            }
            ClientEvent::Progress { call, params } => (*call, Letter::Progress((*params).into())),
            ClientEvent::Listening { call, filter } => (*call, Letter::Listening((*filter).into())),
            ClientEvent::Changed { listen: Some(call), what } => {
                (*call, Letter::Change(Change::from(*what)))
            }
            ClientEvent::Changed { listen: None, what } => {
                let change = Change::from(*what);
                for mailbox in self
                    .boxes
                    .iter_mut()
                    .filter(|mailbox| mailbox.wants.is_some_and(|wants| wants.has(&change)))
                {
                    wakers.extend(mailbox.put(Letter::Change(change.clone())));
                }
                return false;
            }
            _ => return false,
        };
        let Some(place) = self
            .by_call
            .get_mut(call.index())
            .filter(|place| place.is_some_and(|(known, _)| known == call))
        else {
            // Given up meanwhile.
            return true;
        };
        let Some(mailbox) = place.and_then(|(_, number)| self.boxes.get_mut(number)) else {
            return true;
        };
        if matches!(letter, Letter::Ended(_)) {
            mailbox.call = None;
            *place = None;
        }
        wakers.extend(mailbox.put(letter));
        true
    }

    /// The connection is over: what no call of the core's stands for ends as well.
    pub(super) fn end_all(&mut self, wakers: &mut Vec<Waker>) {
        for mailbox in self.boxes.iter_mut().filter(|mailbox| mailbox.wants.is_some()) {
            mailbox.wants = None;
            wakers.extend(mailbox.put(Letter::Ended(Ended::Error(CallError::Closed))));
        }
    }
}

impl Mailbox {
    fn pop(&mut self) -> Option<Letter> {
        let letter = self.letters.pop_front()?;
        self.bytes -= letter.bytes();
        Some(letter)
    }

    fn put(&mut self, letter: Letter) -> Option<Waker> {
        let bytes = letter.bytes();
        match &letter {
            // The latest says all.
            Letter::Progress(_) => {
                while self.is_full(bytes)
                    && matches!(self.letters.front(), Some(Letter::Progress(_)))
                {
                    self.pop();
                }
            }
            Letter::Change(change) => {
                let is_told = |kept: &Letter| matches!(kept, Letter::Change(kept) if kept == change || *kept == Change::Missed);
                if self.letters.iter().any(is_told) {
                    return None;
                }
                if self.is_full(bytes) {
                    self.letters.retain(|letter| !matches!(letter, Letter::Change(_)));
                    self.bytes = self.letters.iter().map(Letter::bytes).sum();
                    self.letters.push_back(Letter::Change(Change::Missed));
                    return self.waker.take();
                }
            }
            _ => {}
        }
        self.bytes += bytes;
        self.letters.push_back(letter);
        self.waker.take()
    }

    /// Whether there is no room for as many bytes more.
    fn is_full(&self, bytes: usize) -> bool {
        self.letters.len() >= LETTERS || self.bytes + bytes > LETTER_BYTES
    }
}

impl Letter {
    /// The bytes of an event of a kind that there can be many of.
    fn bytes(&self) -> usize {
        match self {
            Self::Progress(params) => params.as_raw().as_str().len(),
            Self::Change(Change::Resource(uri)) => uri.len(),
            _ => 0,
        }
    }
}

impl Ended {
    /// Of a call that has not come to what it was made for.
    pub(super) fn into_error(self) -> CallError {
        if let Self::Error(error) = self { error } else { CallError::Closed }
    }
}

impl From<Outcome<'_>> for Ended {
    fn from(outcome: Outcome<'_>) -> Self {
        Self::Error(match outcome {
            Outcome::Result(result) => return Self::Result(result.into()),
            Outcome::InputRequired(input) => {
                return Self::InputRequired {
                    result: input.as_json().into(),
                    round: input.round(),
                };
            }
            Outcome::EndedByServer => return Self::ByServer,
            Outcome::Error(error) => CallError::Server(ServerError::from(error)),
            Outcome::Invalid(violation) => CallError::Invalid(violation),
            Outcome::TimedOut => CallError::TimedOut,
            _ => CallError::Closed,
        })
    }
}

/// Letters that are kept for one call; older progress goes, and changes become one
/// [`Change::Missed`].
const LETTERS: usize = 64;
/// Bytes of them. The latest report of progress is kept even if it is longer.
const LETTER_BYTES: usize = 64 << 10;
