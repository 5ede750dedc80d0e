//! A client on a microcontroller: connects to the server on its first serial line, lists its tools,
//! calls those that it knows, and reports on the second line.
#![no_std]
#![no_main]

mod clock;
mod report;
#[path = "../../microbit/src/ring.rs"]
mod ring;
mod tour;
mod uart;

use core::fmt::Write as _;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use core::time::Duration;

use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures};
use mcp_sansio_adapters::embedded::Client;

use report::Report;
use tour::Visitor;
use uart::Uart;

static CONFIG: ClientConfig<'static> = ClientConfig::new(
    Implementation::new("firmware-client", "1.0.0").title("A microcontroller"),
    ClientFeatures::NONE,
)
// A server on a busy computer may start slowly.
.probe_timeout(Duration::from_secs(30));

/// Maximum length of a line, and size of the transmit buffer, in bytes.
const RX_BYTES: usize = 16 * 1024;
const TX_BYTES: usize = 512;

type Server = Client<'static, Uart, Visitor, RX_BYTES, TX_BYTES>;

#[entry]
fn main() -> ! {
    // In `.bss`: neither on the stack nor in the image.
    static mut CLIENT: MaybeUninit<Server> = MaybeUninit::uninit();

    clock::start();
    let client = CLIENT.write(Client::new(Uart::open(), &CONFIG, clock::now, Visitor::default()));
    let mut report = Report::open();
    let visited = tour::visit(client, &mut report);
    let _ = match &visited {
        Ok(calls) => writeln!(report, "done: {calls} calls, {} ms", clock::now().as_millis()),
        Err(failure) => writeln!(report, "FAILED: {failure}"),
    };
    end(visited.is_ok())
}

/// Ends the emulator.
fn end(success: bool) -> ! {
    loop {
        exit(if success { EXIT_SUCCESS } else { EXIT_FAILURE });
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let _ = writeln!(Report::open(), "PANIC: {info}");
    end(false)
}
