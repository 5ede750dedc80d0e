//! A thermometer: three tools on a serial line. [`serve`] is its main loop with `embedded-io`,
//! [`serve_async`] its task with `embedded-io-async`.
#![no_std]
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::time::Duration;

use embedded_io::{Read, ReadReady, Write};
use mcp_sansio::typed::{AsyncToolHandler, Output, Tools};
use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Catalog, Connection, Instant, Progress, RxBuffer, ServerConfig, ServerEvent, ServerState,
    ToolContext, ToolOutput, ToolResult, TxBuffer,
};
use mcp_sansio_adapters::embedded::{Error, Port, Step};
use mcp_sansio_adapters::embedded_async::{self, Clock, ConnectionEnd};

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("thermometer", "1.0.0"), CATALOG.features())
        .peer_can_reconnect(true);
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
pub enum Call {
    /// Measures the temperature
    #[tool(read_only, returns = Readings)]
    Measure,
    /// Measures again and again
    #[tool(read_only, returns = Readings)]
    Watch {
        #[arg(range = 1..=100)]
        count: u32,
        /// Seconds between two measurements
        #[arg(range = 1..=3600, default = 1)]
        interval: u32,
    },
    /// Sets what is added to each measurement
    #[tool(idempotent, destructive = false)]
    Calibrate {
        #[arg(range = -200..=200)]
        offset: i16,
    },
}

#[derive(Output, Clone, Copy)]
pub struct Readings {
    /// Tenths of a degree Celsius, the newest last
    recent: [i16; 100],
}

/// The board beside its serial line.
pub trait Board: Clock + 'static {
    /// Returns tenths of a degree Celsius.
    fn temperature(&self) -> i16;
    /// Waits for the next interrupt. Returns the time.
    fn wait(&self) -> Instant;
}

struct Thermometer<B> {
    board: B,
    offset: Cell<i16>,
    readings: Cell<Readings>,
}

impl<B: Board> Thermometer<B> {
    fn new(board: B) -> Self {
        let readings = Cell::new(Readings { recent: [board.temperature(); 100] });
        Self { board, offset: Cell::new(0), readings }
    }

    fn measure(&self) {
        let Readings { mut recent } = self.readings.get();
        recent.rotate_left(1);
        recent[99] = self.board.temperature().saturating_add(self.offset.get());
        self.readings.set(Readings { recent });
    }
}

impl<B: Board> AsyncToolHandler for Thermometer<B> {
    type Tools = Call;
    type Output<'a> = Readings;

    async fn call<'a>(&'a self, call: Call, ctx: ToolContext<'a>) -> ToolResult<'a, Readings> {
        match call {
            Call::Measure => self.measure(),
            Call::Watch { count, interval } => {
                for done in 0..count {
                    ctx.progress(&Progress::of(done).total(count)).await?;
                    let pause = Duration::from_secs(interval.into());
                    self.board.sleep_until(self.board.now().saturating_add(pause)).await;
                    self.measure();
                }
            }
            Call::Calibrate { offset } => {
                self.offset.set(offset);
                return Ok("The offset is set".into());
            }
        }
        Ok(ToolOutput::Structured(self.readings.get()))
    }
}

pub fn serve<U: Read + ReadReady + Write>(io: U, board: impl Board) -> Result<(), Error<U::Error>> {
    let (rx, tx) = (RxBuffer::new([0; 1024]), TxBuffer::new([0; 256]));
    let state: ServerState<4, 0> = ServerState::new();
    let mut port = Port::new(io, Connection::<_, _, _>::new(&CONFIG, state, rx, tx));
    let tools = Thermometer::new(board);
    loop {
        match port.next(tools.board.now())? {
            Step::Event(ServerEvent::Request(request), mut turn) => {
                turn.call_async_tool(&CATALOG, &request, &tools, || tools.board.wait())?;
            }
            Step::Event(..) | Step::Again | Step::ReadError(_) => {}
            Step::Closed => return Ok(()),
            Step::Idle(_) => drop(tools.board.wait()),
        }
    }
}

pub async fn serve_async<R: embedded_io_async::Read, W: embedded_io_async::Write>(
    reader: R,
    writer: W,
    board: impl Board + Copy,
) -> Result<ConnectionEnd, embedded_async::Error<R::Error, W::Error>> {
    let thermometer = Thermometer::new(board);
    let connection = embedded_async::Connection::<_, 1024, 256>::new(&CONFIG, thermometer);
    connection.catalog(&CATALOG).serve(reader, writer, &board).await
}
