//! Tests that play scripts with the harnesses of this crate: transcripts, random scripts, and a
//! client and a server together.

mod chaos;
mod pair;
mod tasks;
mod transcripts;
