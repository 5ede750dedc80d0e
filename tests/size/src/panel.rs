//! The servers with tools share three tools with their arguments, the jobs of one of them, and the
//! loop around a connection.

use mcp_sansio::types::{Tool, ToolAnnotations};
use mcp_sansio::{
    Connection, Encode, Encoder, Instant, Progress, RawJson, RequestHandle, RxBuffer, Server,
    ServerConfig, ServerEvent, ServerState, Step, Turn, TxBuffer,
};

use crate::board;
use crate::uart::Uart;

/// Maximum number of requests in flight, and so of concurrent `blink` calls.
pub const IN_FLIGHT: usize = 4;

/// Switches the lamp.
pub const LAMP: Tool<'static> = Tool::new(
    "lamp",
    RawJson::from_static(
        r#"{"type":"object","properties":{"on":{"type":"boolean","description":"Whether it shines"}},"required":["on"]}"#,
    ),
)
.title("Lamp")
.description("Switches the lamp on or off")
.annotations(ToolAnnotations::new().destructive_hint(false).idempotent_hint(true));

/// Reads a pin.
pub const PIN: Tool<'static> = Tool::new(
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
.annotations(ToolAnnotations::new().read_only_hint(true));

/// The result of [`PIN`].
pub struct PinState {
    number: u8,
    high: bool,
}

impl PinState {
    /// Reads a pin, if there is one of this number.
    #[inline(always)]
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Some(Self { number, high: board::pin(number)? })
    }
}

impl Encode for PinState {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("number", &self.number);
        to.member("high", &self.high);
        to.end_object();
    }
}

/// Lets the lamp blink.
pub const BLINK: Tool<'static> = Tool::new(
    "blink",
    RawJson::from_static(
        r#"{"type":"object","properties":{"times":{"type":"integer","minimum":1,"maximum":255},"period":{"type":"integer","description":"Milliseconds","default":500}},"required":["times"]}"#,
    ),
)
.title("Blink")
.description("Lets the lamp blink, and answers when it is done")
.annotations(ToolAnnotations::new().destructive_hint(false));

/// A `blink` call in progress.
struct Blinking {
    request: RequestHandle,
    times: u8,
    changes: u16,
    period: u16,
    due: Instant,
}

/// The `blink` calls in progress.
pub struct Jobs([Option<Blinking>; IN_FLIGHT]);

impl Default for Jobs {
    #[inline(always)]
    fn default() -> Self {
        Self([const { None }; IN_FLIGHT])
    }
}

impl Jobs {
    /// Begins a job. There is room for as many as there are requests in flight.
    pub fn begin(&mut self, request: RequestHandle, times: u8, period: u16) {
        let changes = u16::from(times) * 2;
        if let Some(free) = self.0.iter_mut().find(|job| job.is_none()) {
            *free = Some(Blinking { request, times, changes, period, due: board::now() });
        }
    }

    pub fn cancel(&mut self, request: RequestHandle) {
        for job in &mut self.0 {
            job.take_if(|job| job.request == request);
        }
    }

    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.0.iter().any(|job| job.is_some())
    }

    /// Runs a job that is due. Returns its request and its progress, of which a job that has ended
    /// has none.
    pub fn step(&mut self, now: Instant) -> Option<(RequestHandle, Option<Progress<'static>>)> {
        let is_due = |job: &&mut Option<Blinking>| job.as_ref().is_some_and(|job| job.due <= now);
        let place = self.0.iter_mut().find(is_due)?;
        let job = place.as_mut()?;
        job.due = Instant::from_millis(now.as_millis() + u64::from(job.period / 2));
        board::set_lamp(job.changes & 1 == 0);
        let request = job.request;
        let Some(left) = job.changes.checked_sub(1) else {
            *place = None;
            return Some((request, None));
        };
        let blinked = u32::from(job.times) - u32::from(job.changes / 2);
        job.changes = left;
        Some((request, Some(Progress::of(blinked).total(u32::from(job.times)))))
    }
}

/// A server of tools with jobs.
pub trait Program {
    fn port(&mut self) -> &mut Uart;
    fn take(&mut self, event: ServerEvent<'_>, turn: &mut Turn<'_, Server<'_>>);
    /// Whether a job runs.
    fn is_busy(&self) -> bool;
    /// Runs the jobs that are due.
    fn work(&mut self, now: Instant, turn: &mut Turn<'_, Server<'_>>);
}

/// Runs a server for ever.
#[inline(always)]
pub fn serve(
    config: &'static ServerConfig<'static>,
    state: &'static mut ServerState<IN_FLIGHT, 4>,
    rx: &'static mut [u8],
    tx: &'static mut [u8],
    mut program: impl Program,
) -> ! {
    let (rx, tx) = (RxBuffer::new(rx), TxBuffer::new(tx));
    let mut connection: Connection<'_, _, _, _> = Connection::new(config, state, rx, tx);
    loop {
        let now = board::now();
        match connection.next(now) {
            Step::Event(event, mut turn) => program.take(event, &mut turn),
            Step::Io { write: [], mut read, until } => {
                // While a job runs, nothing may block.
                let busy = until.is_some() || program.is_busy();
                let (spare, port) = (read.spare(), program.port());
                let n = if busy { port.read_ready(spare) } else { port.read(spare) };
                read.commit(n);
                program.work(now, &mut connection.turn(now));
            }
            Step::Io { write, .. } => {
                let written = program.port().write(write);
                connection.wrote(written);
            }
            Step::Again | Step::Closed => {}
        }
    }
}
