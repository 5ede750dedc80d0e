//! Connections, played under one clock through buffers of any size, in pieces of any size.

mod chaos;
mod hosted;
mod owned;
mod pair;
mod server;
mod steps;
mod world;
