//! A complete server of tools, for all revisions of the protocol: typed arguments, descriptions,
//! tool errors that a model can correct, and a long-running tool that can be cancelled.
#![no_std]
#![no_main]

use core::time::Duration;

use mcp_sansio::types::{Implementation, TextResult, Tool, ToolAnnotations};
use mcp_sansio::{
    Catalog, ClientState, Connection, Encode, Encoder, Instant, RawJson, Request, RequestHandle,
    Revision, RxBuffer, Server, ServerConfig, ServerEvent, ServerFeatures, ServerState, Step,
    Target, Turn, TxBuffer, entries, to_slice,
};
use serde::Deserialize;
use size::{RX_BYTES, TX_BYTES, board, send, uart::Uart};

/// Maximum number of requests in flight, and so of concurrent `blink` calls.
const IN_FLIGHT: usize = 4;

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
size::figure!("size of the jobs", size_of::<[Option<Blinking>; IN_FLIGHT]>());
size::figure!("size of Request (stack)", size_of::<Request<'_>>());
size::figure!("size of ServerEvent (stack)", size_of::<ServerEvent<'_>>());

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("board", "1.0.0").title("Board"), ServerFeatures::TOOLS)
        .instructions("A microcontroller with one lamp and 31 pins.")
        .request_timeout(Duration::from_secs(30));

static CATALOG: Catalog = Catalog::new().tools(entries![
    Tool::new(
        "lamp",
        RawJson::from_static(
            r#"{"type":"object","properties":{"on":{"type":"boolean","description":"Whether it shines"}},"required":["on"]}"#,
        ),
    )
    .title("Lamp")
    .description("Switches the lamp on or off")
    .annotations(ToolAnnotations::new().destructive_hint(false).idempotent_hint(true)),
    Tool::new(
        "pin",
        RawJson::from_static(
            r#"{"type":"object","properties":{"number":{"type":"integer","minimum":0,"maximum":30}},"required":["number"]}"#,
        ),
    )
    .title("Pin")
    .description("Reads whether a pin is high")
    .output_schema(RawJson::from_static(
        r#"{"type":"object","properties":{"number":{"type":"integer"},"high":{"type":"boolean"}},"required":["number","high"]}"#,
    ))
    .annotations(ToolAnnotations::new().read_only_hint(true)),
    Tool::new("uptime", RawJson::from_static(r#"{"type":"object","additionalProperties":false}"#))
        .title("Uptime")
        .description("Milliseconds since the start")
        .annotations(ToolAnnotations::new().read_only_hint(true)),
    Tool::new(
        "blink",
        RawJson::from_static(
            r#"{"type":"object","properties":{"times":{"type":"integer","minimum":1,"maximum":255},"period":{"type":"integer","description":"Milliseconds","default":500}},"required":["times"]}"#,
        ),
    )
    .title("Blink")
    .description("Lets the lamp blink, and answers when it is done")
    .annotations(ToolAnnotations::new().destructive_hint(false)),
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

struct PinResult {
    number: u8,
    high: bool,
}

impl Encode for PinResult {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("number", &self.number);
        to.member("high", &self.high);
        to.end_object();
    }
}

#[derive(Deserialize)]
struct Blink {
    times: u8,
    period: Option<u16>,
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
        let target = send(&mut self.port, turn, |server, tx| CATALOG.respond(server, request, tx));
        let Ok(Target::Tool(tool)) = target else { return };
        match tool.key().as_plain() {
            Some("lamp") => match request.arguments().to::<Lamp>() {
                Ok(Lamp { on }) => {
                    board::set_lamp(on);
                    self.text(
                        turn,
                        request.handle,
                        &TextResult::new(if on { "The lamp is on" } else { "The lamp is off" }),
                    );
                }
                Err(_) => {
                    self.text(turn, request.handle, &TextResult::error("on must be true or false"))
                }
            },
            Some("pin") => match request
                .arguments()
                .to::<Pin>()
                .ok()
                .and_then(|pin| Some((pin.number, board::pin(pin.number)?)))
            {
                Some((number, high)) => {
                    let mut data = [0; 32];
                    if let Ok(data) =
                        to_slice(&PinResult { number, high }, Revision::LATEST, &mut data)
                    {
                        let _ = send(&mut self.port, turn, |server, tx| {
                            server.respond_structured(request.handle, data, tx)
                        });
                    }
                }
                None => {
                    self.text(turn, request.handle, &TextResult::error("number must be 0 to 30"))
                }
            },
            Some("uptime") => {
                let mut digits = [0; 20];
                if let Ok(digits) =
                    to_slice(&board::now().as_millis(), Revision::LATEST, &mut digits)
                {
                    self.text(turn, request.handle, &TextResult::new(digits.as_str()));
                }
            }
            _ => match request.arguments().to::<Blink>() {
                Ok(Blink { times: times @ 1.., period }) => {
                    let job = Blinking {
                        request: request.handle,
                        changes: u16::from(times) * 2,
                        period: period.unwrap_or(500),
                        due: board::now(),
                    };
                    if let Some(free) = self.jobs.iter_mut().find(|job| job.is_none()) {
                        *free = Some(job);
                    }
                }
                _ => self.text(
                    turn,
                    request.handle,
                    &TextResult::error(
                        "times must be 1 to 255, and period a number of milliseconds",
                    ),
                ),
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
                    self.text(turn, request, &TextResult::new("Done"));
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
