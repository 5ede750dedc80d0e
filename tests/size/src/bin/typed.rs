//! The server `tools` with arguments and results as types: all arguments are checked, and all that
//! is wrong with them is said.
#![no_std]
#![no_main]

use core::time::Duration;

use mcp_sansio::typed::{Called, Output, Tools};
use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Catalog, Connection, Instant, Outcome as _, Request, RequestHandle, RxBuffer, Server,
    ServerConfig, ServerEvent, ServerFeatures, ServerState, Step, ToolOutput, ToolResult, Turn,
    TxBuffer,
};
use size::{RX_BYTES, TX_BYTES, board, send, uart::Uart};

/// Maximum number of requests in flight, and so of concurrent `blink` calls.
const IN_FLIGHT: usize = 4;

size::figure!("buffer rx", RX_BYTES);
size::figure!("buffer tx", TX_BYTES);

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("board", "1.0.0").title("Board"), ServerFeatures::TOOLS)
        .instructions("A microcontroller with one lamp and 31 pins.")
        .request_timeout(Duration::from_secs(30));

static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Switches the lamp on or off
    #[tool(title = "Lamp", destructive = false, idempotent)]
    Lamp {
        /// Whether it shines
        on: bool,
    },
    /// Reads whether a pin is high
    #[tool(title = "Pin", read_only, returns = Pin)]
    Pin {
        #[arg(range = 0..=30)]
        number: u8,
    },
    /// Time since the start
    #[tool(title = "Uptime", read_only, returns = Uptime)]
    Uptime,
    /// Lets the lamp blink, and answers when it is done
    #[tool(title = "Blink", destructive = false)]
    Blink {
        #[arg(range = 1..)]
        times: u8,
        /// Milliseconds
        #[arg(default = 500)]
        period: u16,
    },
}

#[derive(Output)]
struct Pin {
    number: u8,
    high: bool,
}

#[derive(Output)]
struct Uptime {
    milliseconds: u64,
}

/// The structured results.
#[derive(Output)]
#[output(untagged)]
enum Data {
    Pin(Pin),
    Uptime(Uptime),
}

/// A `blink` call in progress.
struct Blinking {
    request: RequestHandle,
    changes: u16,
    period: u16,
    due: Instant,
}

struct Board {
    port: Uart,
    jobs: [Option<Blinking>; IN_FLIGHT],
}

impl Board {
    // Its locals are not alive while the connection reads.
    #[inline(never)]
    fn take(&mut self, event: ServerEvent<'_>, turn: &mut Turn<'_, Server<'_>>) {
        match event {
            ServerEvent::Request(request) => self.answer(&request, turn),
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                for job in &mut self.jobs {
                    job.take_if(|job| job.request == request);
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, request: &Request<'_>, turn: &mut Turn<'_, Server<'_>>) {
        let called = send(&mut self.port, turn, |server, tx| CATALOG.call(server, request, tx));
        let Ok(Called::Call(call)) = called else { return };
        let result = match call {
            Call::Lamp { on } => {
                board::set_lamp(on);
                Ok(if on { "The lamp is on" } else { "The lamp is off" }.into())
            }
            Call::Pin { number } => match board::pin(number) {
                Some(high) => Ok(ToolOutput::Structured(Pin { number, high }.into())),
                None => Err("There is no such pin".into()),
            },
            Call::Uptime => {
                let milliseconds = board::now().as_millis();
                Ok(ToolOutput::Structured(Uptime { milliseconds }.into()))
            }
            Call::Blink { times, period } => {
                let job = Blinking {
                    request: request.handle,
                    changes: u16::from(times) * 2,
                    period,
                    due: board::now(),
                };
                if let Some(free) = self.jobs.iter_mut().find(|job| job.is_none()) {
                    *free = Some(job);
                }
                return;
            }
        };
        self.send(turn, request.handle, result);
    }

    fn send(
        &mut self,
        turn: &mut Turn<'_, Server<'_>>,
        request: RequestHandle,
        result: ToolResult<'_, Data>,
    ) {
        let _ = send(&mut self.port, turn, |server, tx| result.send(server, request, tx));
    }

    /// Runs the jobs that are due.
    fn work(&mut self, now: Instant, turn: &mut Turn<'_, Server<'_>>) {
        for place in 0..IN_FLIGHT {
            let Some(Some(job)) = self.jobs.get_mut(place) else { continue };
            if job.due > now {
                continue;
            }
            job.due = Instant::from_millis(now.as_millis() + u64::from(job.period / 2));
            board::set_lamp(job.changes & 1 == 0);
            match job.changes.checked_sub(1) {
                Some(left) => job.changes = left,
                None => {
                    let request = job.request;
                    if let Some(done) = self.jobs.get_mut(place) {
                        *done = None;
                    }
                    self.send(turn, request, Ok("Done".into()));
                }
            }
        }
    }
}

#[size::entry]
fn main() -> ! {
    static mut RX: [u8; RX_BYTES] = [0; RX_BYTES];
    static mut TX: [u8; TX_BYTES] = [0; TX_BYTES];
    static mut STATE: ServerState<IN_FLIGHT, 4> = ServerState::new();

    board::open();
    let mut board = Board { port: Uart::open(), jobs: [const { None }; IN_FLIGHT] };
    let (rx, tx) = (RxBuffer::new(RX.as_mut_slice()), TxBuffer::new(TX.as_mut_slice()));
    let mut connection: Connection<_, _, _> = Connection::new(&CONFIG, STATE, rx, tx);
    loop {
        let now = board::now();
        match connection.next(now) {
            Step::Event(event, mut turn) => board.take(event, &mut turn),
            Step::Io { write: [], mut read, until } => {
                // While a job runs, nothing may block.
                let busy = until.is_some() || board.jobs.iter().any(|job| job.is_some());
                let spare = read.spare();
                let n = if busy { board.port.read_ready(spare) } else { board.port.read(spare) };
                read.commit(n);
                board.work(now, &mut connection.turn(now));
            }
            Step::Io { write, .. } => {
                let written = board.port.write(write);
                connection.wrote(written);
            }
            Step::Again | Step::Closed => {}
        }
    }
}
