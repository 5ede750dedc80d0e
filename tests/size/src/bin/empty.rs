//! The baseline: start-up code and a serial port that echoes its input. The difference of the other
//! programs is the size of the library.
#![no_std]
#![no_main]

use size::uart::Uart;

#[size::entry]
fn main() -> ! {
    let mut port = Uart::open();
    let mut bytes = [0; 16];
    loop {
        let read = port.read(&mut bytes);
        port.write(bytes.get(..read).unwrap_or_default());
    }
}
