//! Server-sent events: what servers answer with when there is more than one message to come
//! (2025-03-26 and later, basic/transports), and all that a server of 2024-11-05 says.

mod control;
mod reader;

pub use control::ControlEvent;
pub use reader::{Event, EventKind, EventReader, MAX_EVENT_ID};
