//! The connection with async handlers, on a scripted port and under an executor that polls only
//! woken futures.

mod app;
mod dma;
mod ends;
mod handlers;
mod line;
mod mixture;
mod port;
#[path = "../random/mod.rs"]
mod random;
#[path = "../embedded/received.rs"]
mod received;
mod stage;
mod tools;

use embedded_io_async::ErrorKind;
use mcp_sansio_adapters::embedded_async::{ConnectionEnd, Error};

type Served = Result<ConnectionEnd, Error<ErrorKind, ErrorKind>>;
