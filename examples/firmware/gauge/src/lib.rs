//! A sensor that draws its own dial: the page of its tool is a constant in flash (MCP Apps).
//!
//! `host/src/bin/gauge.rs` serves it on standard input and output, `microbit/src/bin/gauge.rs` on
//! the serial line of a micro:bit. A host without pages shows the text of the results.
#![no_std]
#![forbid(unsafe_code)]

use firmware_app::{Board, Quantity};
use mcp_sansio::typed::{Output, ToolHandler, Tools};
use mcp_sansio::types::ui::{self, ResourceMeta, ToolMeta, ToolVisibility};
use mcp_sansio::types::{Implementation, ReadResourceResult, Resource, ResourceContents};
use mcp_sansio::{
    Catalog, RawJson, ServerConfig, ToolContext, ToolOutput, ToolResult, entries, ui_meta,
};

/// The configuration of the server.
pub static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("gauge", "1.0.0"), CATALOG.features())
        .extensions(ui::SERVER_EXTENSIONS)
        .peer_can_reconnect(true);
/// The tools and the page.
pub static CATALOG: Catalog = Catalog::new()
    .tools_of::<Call>()
    .resources(entries![Resource::new(DIAL, "dial").mime_type(ui::MIME_TYPE).meta(LOOK)]);
/// The result of reading the only resource.
pub static PAGE: ReadResourceResult =
    ReadResourceResult::new(&[ResourceContents::text(DIAL, include_str!("dial.html"))
        .mime_type(ui::MIME_TYPE)
        .meta(LOOK)]);

const DIAL: &str = "ui://gauge/dial";
/// The page needs no origins and no permissions: its policy is the strictest.
const LOOK: RawJson = ui_meta!(ResourceMeta::new().prefers_border(true));

/// A call of a tool.
#[derive(Tools, Debug)]
pub enum Call {
    /// Measures the acceleration along the x axis
    #[tool(read_only, returns = Reading, ui = ToolMeta::new().resource_uri(DIAL))]
    Measure,
    /// Takes the present acceleration as zero, for the button of the page
    #[tool(
        idempotent,
        destructive = false,
        returns = Reading,
        ui = ToolMeta::new().visibility(&[ToolVisibility::App]),
    )]
    SetZero,
}

/// What the dial shows.
#[derive(Output, Debug)]
pub struct Reading {
    /// Thousandths of g
    acceleration: i32,
}

/// The tools on a board, and their state.
#[derive(Debug)]
pub struct Gauge<B> {
    board: B,
    zero: i32,
}

impl<B: Board> Gauge<B> {
    /// Creates the gauge in the state after a reset.
    pub const fn new(board: B) -> Self {
        Self { board, zero: 0 }
    }
}

impl<B: Board> ToolHandler for Gauge<B> {
    type Tools = Call;
    type Output<'a> = Reading;

    fn call<'a>(&mut self, call: Call, _: ToolContext<'a>) -> ToolResult<'a, Reading> {
        let measured = self.board.measure(Quantity::AccelerationX);
        let measured = measured.ok_or("The sensor does not answer")?;
        if let Call::SetZero = call {
            self.zero = measured;
        }
        let acceleration = measured.saturating_sub(self.zero);
        Ok(ToolOutput::Structured(Reading { acceleration }))
    }
}
