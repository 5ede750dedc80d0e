//! Tools of a board, without an adapter: `main` decides where they are served.
//!
//! `host/src/bin/panel.rs` serves them on standard input and output, with the blocking adapter and
//! the standard library; `panel_async.rs` beside it with the adapter for embedded-io-async;
//! `microbit/src/bin/panel.rs` on the serial line of a micro:bit.
#![no_std]
#![forbid(unsafe_code)]

use firmware_app::{Board, OUTPUTS};
use mcp_sansio::typed::{Input, Output, ToolHandler, Tools};
use mcp_sansio::types::{Implementation, Text};
use mcp_sansio::{
    Catalog, Encode, Encoder, ServerConfig, ServerFeatures, ToolContext, ToolOutput, ToolResult,
};

/// The configuration of the server.
pub static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("panel", "1.0.0"), ServerFeatures::TOOLS)
        .peer_can_reconnect(true);
/// The tools.
pub static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

/// A call of a tool.
#[derive(Tools, Debug)]
pub enum Call<'a> {
    /// Measures a quantity once
    #[tool(read_only, returns = Measurement)]
    Measure { quantity: Quantity },
    /// Reads whether a pin is high
    #[tool(read_only, returns = Pin)]
    ReadPin {
        #[arg(range = 0..=LAST)]
        number: u8,
    },
    /// Switches an output on or off
    #[tool(destructive = false, idempotent, returns = Switched)]
    SetOutput {
        #[arg(range = 0..=LAST)]
        number: u8,
        on: bool,
    },
    /// Says what it is told, to try the line
    #[tool(read_only)]
    Echo { text: Text<'a> },
    /// Number of calls since the start
    #[tool(read_only, returns = Total)]
    CountCalls,
}

/// What can be measured.
#[derive(Input, Clone, Copy, Debug)]
pub enum Quantity {
    Temperature,
    Acceleration,
}

#[derive(Output, Debug)]
pub struct Measurement {
    value: i32,
    unit: &'static str,
}

#[derive(Output, Debug)]
pub struct Pin {
    number: u8,
    high: bool,
}

#[derive(Output, Debug)]
pub struct Switched {
    number: u8,
    on: bool,
    /// Whether it was on before
    was: bool,
}

#[derive(Output, Debug)]
pub struct Total {
    calls: u32,
}

/// The structured results of all tools.
#[derive(Debug)]
pub enum Data {
    Measurement(Measurement),
    Pin(Pin),
    Switched(Switched),
    Total(Total),
}

impl Encode for Data {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Measurement(data) => data.encode(to),
            Self::Pin(data) => data.encode(to),
            Self::Switched(data) => data.encode(to),
            Self::Total(data) => data.encode(to),
        }
    }
}

/// The tools on a board, and their state.
#[derive(Debug)]
pub struct Panel<B> {
    board: B,
    outputs: u32,
    calls: u32,
}

impl<B: Board> Panel<B> {
    /// Creates the panel in the state after a reset.
    pub const fn new(board: B) -> Self {
        Self { board, outputs: 0, calls: 0 }
    }

    fn measure(&mut self, quantity: Quantity) -> Option<Measurement> {
        let quantity = match quantity {
            Quantity::Temperature => firmware_app::Quantity::Temperature,
            Quantity::Acceleration => firmware_app::Quantity::AccelerationX,
        };
        let value = self.board.measure(quantity)?;
        Some(Measurement { value, unit: quantity.unit() })
    }

    fn set_output(&mut self, number: u8, on: bool) -> Switched {
        let bit = 1 << (number & 31);
        let was = self.outputs & bit != 0;
        self.outputs = if on { self.outputs | bit } else { self.outputs & !bit };
        self.board.set_output(number, on);
        Switched { number, on, was }
    }
}

impl<B: Board> ToolHandler for Panel<B> {
    type Tools = Call<'static>;
    type Output<'a> = Data;

    fn call<'a>(&mut self, call: Call<'a>, _: ToolContext<'a>) -> ToolResult<'a, Data> {
        self.calls = self.calls.saturating_add(1);
        let data = match call {
            Call::Measure { quantity } => {
                Data::Measurement(self.measure(quantity).ok_or("The sensor does not answer")?)
            }
            Call::ReadPin { number } => Data::Pin(Pin { number, high: self.board.pin(number) }),
            Call::SetOutput { number, on } => Data::Switched(self.set_output(number, on)),
            Call::Echo { text } => return Ok(ToolOutput::Text(text)),
            Call::CountCalls => Data::Total(Total { calls: self.calls }),
        };
        Ok(ToolOutput::Structured(data))
    }
}

/// Number of the last output and pin.
const LAST: u8 = OUTPUTS - 1;
