//! Server-sent events: responses of more than one message (2025-03-26 and later, basic/transports),
//! and all messages of a server of HTTP+SSE (2024-11-05).

mod control;
mod reader;

pub use control::ControlEvent;
pub use reader::{Event, EventKind, EventReader, MAX_EVENT_ID};
