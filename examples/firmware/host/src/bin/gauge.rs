//! The gauge as a program for this computer, on standard input and output and a simulated board.

#[path = "../board.rs"]
mod board;

use firmware_gauge::{CATALOG, CONFIG, Gauge, PAGE};
use mcp_sansio::Target;
use mcp_sansio_adapters::blocking::{App, Error};

use board::SimulatedBoard;

fn main() -> Result<(), Error> {
    let mut gauge = Gauge::new(SimulatedBoard::default());
    App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| match ctx.target() {
        Target::Resource(_) => ctx.respond(&PAGE),
        _ => ctx.call_tool(&mut gauge),
    })
}
