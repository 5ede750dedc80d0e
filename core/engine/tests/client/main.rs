//! The client as a value, in virtual time: tests that read like traces.

mod calls;
mod listening;
mod middleware;
mod pages;
#[cfg(feature = "http")]
mod posts;
mod questions;
mod room;
mod scene;
mod tasks;
