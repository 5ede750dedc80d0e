//! The client over HTTP as a value, in virtual time and without sockets: tests that read like
//! traces.
#![cfg(feature = "http")]

mod limits;
mod opening;
mod refusals;
mod scene;
mod sessions;
mod streams;
