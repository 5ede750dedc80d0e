//! The firmware on a network that is made up, on this computer: stacks of embassy-net at both ends.

mod board;
mod http;
mod lan;
mod names;
