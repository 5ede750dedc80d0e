//! The panel with the adapter for embedded-io-async, on standard input and output and a simulated
//! board. Its output is that of the micro:bit, byte for byte.

#[path = "../board.rs"]
mod board;
#[path = "../port.rs"]
mod port;

use std::future::{Future, poll_fn};
use std::io;
use std::task::Poll;
use std::time::{Duration, Instant as Time};

use embedded_io::{ErrorType, Read, ReadReady};
use firmware_panel::{CATALOG, CONFIG, Panel};
use mcp_sansio::Instant;
use mcp_sansio::typed::SyncTools;
use mcp_sansio_adapters::embedded_async::{Clock, Connection, ConnectionEnd, Error};

use board::SimulatedBoard;
use port::Stdio;

fn main() -> Result<(), Error<io::Error, io::Error>> {
    let panel = SyncTools::new(Panel::new(SimulatedBoard::default()));
    let connection = Connection::<_, 1024, 512, 4, 0>::new(&CONFIG, panel).catalog(&CATALOG);
    let clock = StdClock(Time::now());
    let served = connection.serve(Input(Stdio::open()), Output, &clock);
    embassy_futures::block_on(served).map(|_: ConnectionEnd| ())
}

struct Input(Stdio);
struct Output;
struct StdClock(Time);

impl ErrorType for Input {
    type Error = io::Error;
}

impl ErrorType for Output {
    type Error = io::Error;
}

impl embedded_io_async::Read for Input {
    async fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        poll_fn(|_| match self.0.read_ready() {
            Ok(true) => Poll::Ready(self.0.read(into)),
            Ok(false) => {
                // The executor polls again and again.
                self.0.wait(Duration::from_millis(1));
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error)),
        })
        .await
    }
}

impl embedded_io_async::Write for Output {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut io::stdout(), bytes)
    }

    async fn flush(&mut self) -> io::Result<()> {
        io::Write::flush(&mut io::stdout())
    }
}

impl Clock for StdClock {
    fn now(&self) -> Instant {
        Instant::from_millis(self.0.elapsed().as_millis() as u64)
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> {
        poll_fn(move |_| if self.now() >= at { Poll::Ready(()) } else { Poll::Pending })
    }
}
