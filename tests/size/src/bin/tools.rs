//! A complete server of tools, for all revisions of the protocol: typed arguments, descriptions,
//! tool errors that a model can correct, and a long-running tool that can be cancelled.
#![no_std]
#![no_main]

use core::time::Duration;

use mcp_sansio::types::{Implementation, TextResult, Tool, ToolAnnotations};
use mcp_sansio::{
    Catalog, ClientState, Instant, RawJson, Request, RequestHandle, Revision, Server, ServerConfig,
    ServerEvent, ServerFeatures, ServerState, Target, Turn, TxBuffer, entries, to_slice,
};
use serde::Deserialize;
use size::panel::{BLINK, IN_FLIGHT, Jobs, LAMP, PIN, PinState, Program, serve};
use size::{RX_BYTES, TX_BYTES, board, send, uart::Uart};

size::figure!("buffer rx", RX_BYTES);
size::figure!("buffer tx", TX_BYTES);
size::figure!("size of ServerState<4, 4>", size_of::<ServerState<IN_FLIGHT, 4>>());
size::figure!("size of ServerState<1, 1>", size_of::<ServerState<1, 1>>());
size::figure!("size of ServerState<8, 8>", size_of::<ServerState<8, 8>>());
size::figure!("size of ServerState<8, 16>", size_of::<ServerState<8, 16>>());
size::figure!("size of ClientState<1>", size_of::<ClientState<1>>());
size::figure!("size of ClientState<4>", size_of::<ClientState<4>>());
size::figure!(
    "size of TxBuffer, beside its bytes",
    size_of::<TxBuffer<[u8; TX_BYTES]>>() - TX_BYTES
);
size::figure!("size of the jobs", size_of::<Jobs>());
size::figure!("size of Request (stack)", size_of::<Request<'_>>());
size::figure!("size of ServerEvent (stack)", size_of::<ServerEvent<'_>>());

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("board", "1.0.0").title("Board"), ServerFeatures::TOOLS)
        .instructions("A microcontroller with one lamp and 31 pins.")
        .request_timeout(Duration::from_secs(30));

static CATALOG: Catalog = Catalog::new()
    .tools(entries![
        LAMP,
        PIN,
        Tool::new(
            "uptime",
            RawJson::from_static(r#"{"type":"object","additionalProperties":false}"#)
        )
        .title("Uptime")
        .description("Milliseconds since the start")
        .annotations(ToolAnnotations::new().read_only_hint(true)),
        BLINK,
    ])
    .unchecked();

#[derive(Deserialize)]
struct Lamp {
    on: bool,
}

#[derive(Deserialize)]
struct Pin {
    number: u8,
}

#[derive(Deserialize)]
struct Blink {
    times: u8,
    period: Option<u16>,
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
                self.text(turn, request, &TextResult::new("Done"));
            }
        }
    }
}

impl Board {
    fn answer(&mut self, request: &Request<'_>, turn: &mut Turn<'_, Server<'_>>) {
        let target = send(&mut self.port, turn, |server, tx| CATALOG.respond(server, request, tx));
        let Ok(Target::Tool(tool)) = target else { return };
        let handle = request.handle;
        match tool.key().as_plain() {
            Some("lamp") => match request.arguments().to::<Lamp>() {
                Ok(Lamp { on }) => {
                    board::set_lamp(on);
                    let text = if on { "The lamp is on" } else { "The lamp is off" };
                    self.text(turn, handle, &TextResult::new(text));
                }
                Err(_) => self.text(turn, handle, &TextResult::error("on must be true or false")),
            },
            Some("pin") => {
                match request.arguments().to().ok().and_then(|Pin { number }| PinState::of(number))
                {
                    Some(state) => {
                        let mut data = [0; 32];
                        let Ok(data) = to_slice(&state, Revision::LATEST, &mut data) else {
                            return;
                        };
                        let _ = send(&mut self.port, turn, |server, tx| {
                            server.respond_structured(handle, data, tx)
                        });
                    }
                    None => self.text(turn, handle, &TextResult::error("number must be 0 to 30")),
                }
            }
            Some("uptime") => {
                let (now, mut digits) = (board::now().as_millis(), [0; 20]);
                let Ok(digits) = to_slice(&now, Revision::LATEST, &mut digits) else { return };
                self.text(turn, handle, &TextResult::new(digits.as_str()));
            }
            _ => match request.arguments().to::<Blink>() {
                Ok(Blink { times: times @ 1.., period }) => {
                    self.jobs.begin(handle, times, period.unwrap_or(500));
                }
                _ => {
                    let why = "times must be 1 to 255, and period a number of milliseconds";
                    self.text(turn, handle, &TextResult::error(why));
                }
            },
        }
    }

    fn text(
        &mut self,
        turn: &mut Turn<'_, Server<'_>>,
        request: RequestHandle,
        result: &TextResult<'_>,
    ) {
        let _ = send(&mut self.port, turn, |server, tx| server.respond(request, result, tx));
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
