//! Transcripts of a client: those below `tests/transcripts/client`. The format is the same, with
//! actions and events of a client.

mod actions;
mod events;
mod play;
mod setup;

pub(super) use play::play;
