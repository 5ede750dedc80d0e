//! The gauge on a BBC micro:bit, on the serial line of its USB interface.
#![no_std]
#![no_main]

#[path = "../hardware.rs"]
mod hardware;

use core::mem::MaybeUninit;

use cortex_m_rt::entry;
use firmware_gauge::{CATALOG, CONFIG, Gauge, PAGE};
use mcp_sansio::{Connection, RxBuffer, ServerEvent, ServerState, Target, TxBuffer};
use mcp_sansio_adapters::embedded::{Port, Step};

use hardware::board::Microbit;
use hardware::uart::Uart;
use hardware::*;

type Line = Port<Uart, Connection<'static, ServerState<4, 0>, [u8; 1024], [u8; 512]>>;

#[entry]
fn main() -> ! {
    static mut LINE: MaybeUninit<Line> = MaybeUninit::uninit();

    let line = open(LINE);
    let mut gauge = Gauge::new(Microbit::open());
    loop {
        match line.next(clock::now()) {
            Ok(Step::Event(ServerEvent::Request(request), mut turn)) => {
                if let Ok(Target::Resource(_)) = turn.call_tool(&CATALOG, &request, &mut gauge) {
                    let _ = turn.send(|server, tx| server.respond(request.handle, &PAGE, tx));
                }
            }
            Ok(Step::Idle(due)) => interrupts::wait(due),
            // The port recovers from errors.
            _ => {}
        }
    }
}

/// Not inlined: the value is built on the stack first, which is freed when this returns.
#[inline(never)]
fn open(line: &mut MaybeUninit<Line>) -> &mut Line {
    clock::start();
    let (rx, tx) = (RxBuffer::new([0; 1024]), TxBuffer::new([0; 512]));
    let connection = Connection::new(&CONFIG, ServerState::new(), rx, tx);
    let line = line.write(Port::new(Uart::open(), connection));
    interrupts::enable();
    line
}
