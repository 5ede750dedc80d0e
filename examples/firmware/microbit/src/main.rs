//! An MCP server on a BBC micro:bit, on the serial line of its USB interface. Under QEMU, with the
//! line on standard input and output, any client can start it.
#![no_std]
#![no_main]

// With its path, so that its modules are beside it, as for the programs in `bin`.
#[path = "hardware.rs"]
mod hardware;

use core::mem::MaybeUninit;
use core::time::Duration;

use cortex_m_rt::entry;
use firmware_app::{App, Line, Next};

use hardware::board::Microbit;
use hardware::uart::Uart;
use hardware::*;

#[entry]
fn main() -> ! {
    // In `.bss`: not on the stack, and not in the image, which would contain a server that is built
    // at compile time byte for byte, since it refers to its configuration.
    static mut LINE: MaybeUninit<Line<Uart>> = MaybeUninit::uninit();
    static mut APP: MaybeUninit<App<Microbit>> = MaybeUninit::uninit();

    let (line, app) = open(LINE, APP);
    loop {
        // Errors need no action: the port recovers, and a message that the core rejects is not
        // sent.
        if let Ok(Next::Idle(due)) = app.run(line, clock::now()) {
            interrupts::wait(due);
        }
    }
}

/// Not inlined: the values are built on the stack first, which is freed when this returns.
#[inline(never)]
fn open<'a>(
    line: &'a mut MaybeUninit<Line<Uart>>,
    app: &'a mut MaybeUninit<App<Microbit>>,
) -> (&'a mut Line<Uart>, &'a mut App<Microbit>) {
    clock::start();
    let line = line.write(firmware_app::open(Uart::open()).line_timeout(Duration::from_secs(2)));
    let app = app.write(App::new(Microbit::open()));
    interrupts::enable();
    (line, app)
}
