//! Tasks of a server, in both dialects, under a clock that the test sets.

mod access;
mod catalog;
mod extension;
mod life;
mod limits;
mod rig;
mod session;
