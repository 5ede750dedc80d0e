//! The client as a value, in virtual time: tests that read like traces.

mod calls;
mod listening;
#[cfg(feature = "http")]
mod posts;
mod questions;
mod room;
mod scene;
mod tasks;
