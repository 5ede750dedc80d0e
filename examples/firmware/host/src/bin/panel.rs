//! The panel as a program for this computer, on standard input and output and a simulated board.
//!
//! Its output is that of the micro:bit, byte for byte. The tests compare them.

#[path = "../board.rs"]
mod board;

use firmware_panel::{CATALOG, CONFIG, Panel};
use mcp_sansio_adapters::blocking::{App, Error};

use board::SimulatedBoard;

fn main() -> Result<(), Error> {
    let mut panel = Panel::new(SimulatedBoard::default());
    App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| ctx.call_tool(&mut panel))
}
