//! Transcripts of a client: those below `tests/transcripts/client`. The format is the same; what
//! the application does and what happens is the client's.

mod actions;
mod events;
mod play;
mod setup;

pub(super) use play::play;
