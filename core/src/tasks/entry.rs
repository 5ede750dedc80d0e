//! What the table keeps of a task.

use core::fmt;

use super::{Stamp, TaskId};
use crate::encode::{Encode, Encoder};
use crate::json::JsonStr;
use crate::message::Id;
use crate::protocol::Revision;
use crate::rpc::inflight::Keyed;
use crate::types::{Task, TaskStatus, Text};

/// Who may see a task: a number that the program makes of the principal, of the connection, or one
/// for all. Tasks of others do not exist for a client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskOwner(pub u64);

/// A task in the table.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: TaskId,
    pub(super) owner: TaskOwner,
    pub(super) state: State,
    pub(super) created: u64,
    pub(super) updated: u64,
    pub(super) ttl_ms: u64,
    pub(super) inputs: Inputs,
    pub(super) message: Message,
}

impl Entry {
    /// Takes the place of an earlier task, without a copy of the whole on the stack.
    pub(super) const fn begin(&mut self, id: TaskId, owner: TaskOwner, now: u64, ttl_ms: u64) {
        self.id = id;
        self.owner = owner;
        self.state = State::Live;
        (self.created, self.updated) = (now, now);
        self.ttl_ms = ttl_ms;
        self.inputs = Inputs::NONE;
        self.message.len = 0;
    }
}

impl Keyed for Entry {
    const EMPTY: Self = Self {
        id: TaskId([0; 16]),
        owner: TaskOwner(0),
        state: State::Live,
        created: 0,
        updated: 0,
        ttl_ms: 0,
        inputs: Inputs::NONE,
        message: Message::EMPTY,
    };

    fn has_id(&self, id: Id<'_>) -> bool {
        id.as_str().as_bytes() == self.id.json()
    }
}

/// The state of the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Live,
    Ended(TaskEnd),
    /// Its time was over before its work.
    Expired,
}

/// How the work of a task has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskEnd {
    /// With a result.
    Completed,
    /// With a result that has `isError`: 2025-11-25 calls such a task failed.
    ToolFailed,
    /// With a JSON-RPC error.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// The open input requests of a task: numbers from 1 on, which are their keys and are never used
/// again. At most [`MAX_INPUTS`] lie between the oldest open one and the newest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inputs {
    /// The number of the first bit.
    first: u32,
    open: u32,
    pub(super) last: u32,
}

/// Largest distance between the numbers of two open input requests of a task: 32.
pub const MAX_INPUTS: u32 = u32::BITS;

impl Inputs {
    pub(super) const NONE: Self = Self { first: 0, open: 0, last: 0 };

    /// Creates these open numbers, in any order, without those too far from the lowest.
    pub(super) fn restored(open: &[u32], last: u32) -> Self {
        let first = open.iter().copied().min().unwrap_or(0);
        let bit = |number: &u32| 1u32.checked_shl(number - first).unwrap_or(0);
        Self {
            first,
            open: open.iter().map(bit).fold(0, |all, bit| all | bit),
            last: open.iter().copied().fold(last, u32::max),
        }
    }

    /// Closes all.
    pub(super) const fn clear(&mut self) {
        self.open = 0;
    }

    pub(super) const fn is_empty(self) -> bool {
        self.open == 0
    }

    pub(super) fn add(&mut self) -> Option<u32> {
        let number = self.last.checked_add(1)?;
        if self.open == 0 {
            self.first = number;
        }
        let bit = number - self.first;
        if bit >= MAX_INPUTS {
            return None;
        }
        self.open |= 1 << bit;
        self.last = number;
        Some(number)
    }

    /// Removes a number. Returns `false` if it is not open.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        let Some(bit) = number.checked_sub(self.first).filter(|bit| *bit < MAX_INPUTS) else {
            return false;
        };
        let was_open = self.open & 1 << bit != 0;
        self.open &= !(1 << bit);
        let free = self.open.trailing_zeros();
        if self.open != 0 {
            self.open >>= free;
            self.first += free;
        }
        was_open
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u32> {
        (0..MAX_INPUTS).filter(move |bit| self.open & 1 << bit != 0).map(move |bit| {
            // No overflow: the number was added.
            self.first.wrapping_add(bit)
        })
    }
}

/// Reads the key of an input request.
pub(super) fn number(key: JsonStr<'_>) -> Option<u32> {
    let digits = key.as_plain().filter(|digits| !digits.starts_with(['0', '+']))?;
    digits.parse().ok()
}

/// A status message.
#[derive(Clone, Copy)]
pub(super) struct Message {
    len: u8,
    text: [u8; MAX_STATUS_MESSAGE],
}

/// Maximum length of a status message, in bytes. A longer one is cut at a character.
pub const MAX_STATUS_MESSAGE: usize = 64;

impl Message {
    const EMPTY: Self = Self { len: 0, text: [0; MAX_STATUS_MESSAGE] };

    /// Replaces the text. Returns `false` if it is the same.
    pub(super) fn set(&mut self, text: &dyn fmt::Display) -> bool {
        let mut new = Self::EMPTY;
        // Ends with an error where it is cut.
        let _ = fmt::write(&mut new, format_args!("{text}"));
        let is_new = new.as_str() != self.as_str();
        *self = new;
        is_new
    }

    pub(super) fn as_str(&self) -> &str {
        let text = self.text.get(..usize::from(self.len)).unwrap_or_default();
        core::str::from_utf8(text).unwrap_or_default()
    }
}

impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = usize::from(self.len);
        let room = MAX_STATUS_MESSAGE.saturating_sub(start);
        let len = (0..=text.len().min(room)).rev().find(|len| text.is_char_boundary(*len));
        let (part, rest) = text.split_at_checked(len.unwrap_or(0)).unwrap_or_default();
        if let Some(place) = self.text.get_mut(start..start + part.len()) {
            place.copy_from_slice(part.as_bytes());
            self.len += part.len() as u8;
        }
        if rest.is_empty() { Ok(()) } else { Err(fmt::Error) }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A task as it was at one moment, without its result and input requests. Writes itself as the
/// [`Task`] of the peer's revision.
#[derive(Clone, Copy, Debug)]
pub struct TaskInfo {
    pub(super) id: TaskId,
    pub(super) state: State,
    pub(super) inputs: Inputs,
    pub(super) created: u64,
    pub(super) updated: u64,
    pub(super) ttl_ms: u64,
    pub(super) poll_ms: u64,
    pub(super) message: Message,
}

impl TaskInfo {
    /// Returns the id.
    pub const fn id(&self) -> TaskId {
        self.id
    }

    /// Returns the status, as this revision defines it.
    pub fn status(&self, revision: Revision) -> TaskStatus {
        match self.state {
            State::Live if self.inputs.is_empty() => TaskStatus::Working,
            State::Live => TaskStatus::InputRequired,
            State::Ended(TaskEnd::Completed) => TaskStatus::Completed,
            State::Ended(TaskEnd::ToolFailed) if revision.is_modern() => TaskStatus::Completed,
            State::Ended(TaskEnd::Cancelled) => TaskStatus::Cancelled,
            State::Ended(TaskEnd::ToolFailed | TaskEnd::Failed) | State::Expired => {
                TaskStatus::Failed
            }
        }
    }

    /// Returns how the work has ended. `None` while it goes on, and if the time of the task was
    /// over before.
    pub const fn end(&self) -> Option<TaskEnd> {
        match self.state {
            State::Ended(end) => Some(end),
            State::Live | State::Expired => None,
        }
    }

    /// Whether the work goes on.
    pub fn is_live(&self) -> bool {
        self.state == State::Live
    }

    /// Returns the status message; empty if there is none.
    pub fn message(&self) -> &str {
        self.message.as_str()
    }

    /// Returns the time of the creation, in milliseconds since 1970-01-01 00:00 UTC.
    pub const fn created_unix_ms(&self) -> u64 {
        self.created
    }

    /// Returns the time of the last change, in milliseconds since 1970-01-01 00:00 UTC.
    pub const fn updated_unix_ms(&self) -> u64 {
        self.updated
    }

    /// Returns the time that the task is kept from its creation, in milliseconds.
    pub const fn ttl_ms(&self) -> u64 {
        self.ttl_ms
    }

    /// Returns the numbers of the open input requests.
    pub fn open_inputs(&self) -> impl Iterator<Item = u32> + use<> {
        self.inputs.iter()
    }

    /// Writes the members of a task.
    pub(super) fn write_members(&self, to: &mut Encoder<'_>) {
        let id = self.id.json();
        let (created, updated) = (Stamp::new(self.created), Stamp::new(self.updated));
        let id = core::str::from_utf8(id.get(1..33).unwrap_or_default()).unwrap_or_default();
        let status = self.status(to.revision());
        let mut task = Task::new(id, status, created.as_str(), updated.as_str(), Some(self.ttl_ms));
        task.poll_interval_ms = Some(self.poll_ms);
        let message = match (self.state, self.message.as_str()) {
            (State::Expired, _) => EXPIRED,
            (_, message) => message,
        };
        task.status_message = (!message.is_empty()).then_some(Text::new(message));
        task.write_members(to);
    }
}

impl Encode for TaskInfo {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        self.write_members(to);
        to.end_object();
    }
}

/// The error of a task whose time was over.
pub(super) const EXPIRED: &str = "The task has expired";

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString as _;
    use std::{format, vec::Vec};

    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        let id = TaskId::new(*b"\x00\x01\x7f\x80\xfe\xff0123456789");
        assert_eq!(id.to_string(), "00017f80feff30313233343536373839");
        assert_eq!(TaskId::parse(id.to_string().as_str()), Some(id));
        for wrong in [
            "",
            "00",
            "00017F80feff30313233343536373839",
            "00017f80feff3031323334353637383",
            "00017f80feff303132333435363738391",
            "+0017f80feff30313233343536373839",
        ] {
            assert_eq!(TaskId::parse(wrong), None, "{wrong}");
        }
        assert_eq!(format!("{id:?}"), "TaskId(0001..)");
    }

    #[test]
    fn numbers_of_inputs_are_never_used_again() {
        let mut inputs = Inputs::NONE;
        let open = |inputs: &Inputs| inputs.iter().collect::<Vec<_>>();
        assert_eq!((1..=32).map(|_| inputs.add()).last(), Some(Some(32)));
        assert_eq!(inputs.add(), None);
        assert!(inputs.remove(2) && !inputs.remove(2) && !inputs.remove(0) && !inputs.remove(99));
        assert_eq!(inputs.add(), None, "the first is still open");
        assert!(inputs.remove(1));
        assert_eq!((inputs.add(), inputs.add(), inputs.add()), (Some(33), Some(34), None));
        (3..=33).for_each(|number| assert!(inputs.remove(number)));
        assert_eq!(open(&inputs), [34]);
        assert!(inputs.remove(34) && inputs.is_empty());
        assert_eq!(inputs.add(), Some(35));
        let mut last = Inputs { first: 0, open: 0, last: u32::MAX };
        assert_eq!(last.add(), None);
    }

    #[test]
    fn messages_are_cut_at_a_character() {
        let mut message = Message::EMPTY;
        assert!(message.set(&"3 of 9") && !message.set(&"3 of 9"));
        assert!(message.set(&"ä".repeat(40).as_str()));
        assert_eq!(message.as_str(), "ä".repeat(32));
        assert!(message.set(&format_args!("x{}", "ä".repeat(40))));
        assert_eq!(message.as_str(), format!("x{}", "ä".repeat(31)));
    }
}
