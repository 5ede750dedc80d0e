//! The tools, and the structured content of their results.

use mcp_sansio::JsonStr;
use mcp_sansio::typed::{Output, Tools};
use mcp_sansio::types::Text;

use crate::board::{OUTPUTS, Quantity};
use crate::outputs::Switch;

/// A call of a tool.
#[derive(Tools)]
pub(crate) enum Call<'a> {
    /// Reads a sensor: the temperature of the chip, or the acceleration along one of its axes
    #[tool(title = "Measure", read_only, open_world = false, returns = Measured)]
    Measure { quantity: Quantity },
    /// Reads whether a pin is high
    #[tool(title = "Read a pin", read_only, open_world = false, returns = Pin)]
    ReadPin {
        #[arg(range = 0..=LAST)]
        number: u8,
    },
    /// Inverts one output after the other, and answers when it is done. Reports progress; can be
    /// cancelled.
    #[tool(title = "Sweep", destructive = false, open_world = false, returns = Swept)]
    Sweep {
        #[arg(range = 1..=1000)]
        steps: u16,
        /// Milliseconds between two steps
        #[arg(range = 1..=60000, default = 100)]
        period: u16,
    },
    /// Calls the board by another name, at most 24 bytes of UTF-8
    #[tool(title = "Rename", destructive = false, idempotent, open_world = false)]
    Rename {
        #[arg(length = 1..=24)]
        name: JsonStr<'a>,
    },
    /// Says what it is told, to try the line
    #[tool(title = "Echo", read_only, open_world = false)]
    Echo { text: Text<'a> },
    /// How good the line is: messages that could not be read, and errors of the receiver, since
    /// the board started
    #[tool(title = "Line", read_only, open_world = false, returns = Line)]
    Line,
    /// Memory that the stack has, and the most of it that was ever in use, in bytes
    #[tool(title = "Stack", read_only, open_world = false, returns = Stack)]
    Stack,
    /// Milliseconds since the board started
    #[tool(title = "Uptime", read_only, open_world = false, returns = Uptime)]
    Uptime,
    /// Answers, and then starts the board again
    #[tool(title = "Reset", destructive, open_world = false)]
    Reset,
    #[tool(flatten)]
    Switch(Switch),
}

/// Structured content of any tool.
#[derive(Output, Clone, Copy, Debug)]
#[output(untagged)]
pub(crate) enum Data {
    Measured(Measured),
    Pin(Pin),
    Outputs(Outputs),
    Switched(Switched),
    Swept(Swept),
    Line(Line),
    Stack(Stack),
    Uptime(Uptime),
}

#[derive(Output, Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) quantity: Quantity,
    pub(crate) value: i32,
    pub(crate) unit: &'static str,
}

#[derive(Output, Clone, Copy, Debug)]
pub(crate) struct Pin {
    pub(crate) number: u8,
    pub(crate) high: bool,
}

#[derive(Output, Clone, Copy, Debug)]
pub(crate) struct Outputs {
    pub(crate) mask: u32,
}

#[derive(Output, Clone, Copy, Debug)]
pub(crate) struct Switched {
    pub(crate) output: u8,
    pub(crate) on: bool,
    /// Before the call
    pub(crate) was: bool,
}

#[derive(Output, Clone, Copy, Debug)]
pub(crate) struct Swept {
    pub(crate) steps: u16,
}

#[derive(Output, Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) refused: u32,
    pub(crate) faults: u32,
}

#[derive(Output, Clone, Copy, Debug)]
pub(crate) struct Stack {
    pub(crate) size: u32,
    pub(crate) deepest: u32,
}

#[derive(Output, Clone, Copy, Debug)]
pub(crate) struct Uptime {
    pub(crate) milliseconds: u64,
}

/// Number of the last output and pin.
const LAST: u8 = OUTPUTS - 1;
