//! The connection with async handlers, on a port that does what the test says and under an executor that
//! polls nothing that was not woken.

mod app;
mod ends;
mod handlers;
mod line;
mod mixture;
mod stage;

use embedded_io_async::ErrorKind;
use mcp_sansio_adapters::embedded_async::{ConnectionEnd, Error};

type Served = Result<ConnectionEnd, Error<ErrorKind, ErrorKind>>;
