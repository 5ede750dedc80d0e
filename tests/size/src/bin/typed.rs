//! The server `tools` with arguments and results as types: all arguments are checked, and all that
//! is wrong with them is said.
#![no_std]
#![no_main]

use core::time::Duration;

use mcp_sansio::typed::{Called, Output, Tools};
use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Catalog, Instant, Outcome as _, Request, RequestHandle, Server, ServerConfig, ServerEvent,
    ServerFeatures, ServerState, ToolOutput, ToolResult, Turn,
};
use size::panel::{IN_FLIGHT, Jobs, Program, serve};
use size::{RX_BYTES, TX_BYTES, board, send, uart::Uart};

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

struct Board {
    port: Uart,
    jobs: Jobs,
}

impl Program for Board {
    fn port(&mut self) -> &mut Uart {
        &mut self.port
    }

    // Its locals are not alive while the connection reads.
    #[inline(never)]
    fn take(&mut self, event: ServerEvent<'_>, turn: &mut Turn<'_, Server<'_>>) {
        match event {
            ServerEvent::Request(request) => self.answer(&request, turn),
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => self.jobs.cancel(request),
            _ => {}
        }
    }

    fn is_busy(&self) -> bool {
        self.jobs.is_busy()
    }

    fn work(&mut self, now: Instant, turn: &mut Turn<'_, Server<'_>>) {
        while let Some((request, progress)) = self.jobs.step(now) {
            if progress.is_none() {
                self.respond(turn, request, Ok("Done".into()));
            }
        }
    }
}

impl Board {
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
                return self.jobs.begin(request.handle, times, period);
            }
        };
        self.respond(turn, request.handle, result);
    }

    fn respond(
        &mut self,
        turn: &mut Turn<'_, Server<'_>>,
        request: RequestHandle,
        result: ToolResult<'_, Data>,
    ) {
        let _ = send(&mut self.port, turn, |server, tx| result.send(server, request, tx));
    }
}

#[size::entry]
fn main() -> ! {
    static mut RX: [u8; RX_BYTES] = [0; RX_BYTES];
    static mut TX: [u8; TX_BYTES] = [0; TX_BYTES];
    static mut STATE: ServerState<IN_FLIGHT, 4> = ServerState::new();

    board::open();
    let board = Board { port: Uart::open(), jobs: Jobs::default() };
    serve(&CONFIG, STATE, RX, TX, board)
}
