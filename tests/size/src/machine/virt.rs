//! QEMU's RISC-V machine. It has neither pins nor a lamp: the scratch register of the serial port
//! stands in for both.

use core::ptr;

use super::read;

const UART: usize = 0x1000_0000;
const DATA: usize = UART;
const LINE_CONTROL: usize = UART + 3;
const LINE_STATUS: usize = UART + 5;
const SCRATCH: usize = UART + 7;

const CLOCK: usize = 0x0200_BFF8;

/// Opens the port without its FIFO: enabling the FIFO would discard bytes received before.
pub(crate) fn open_port() {
    write(LINE_CONTROL, 3);
}

pub(crate) fn has_byte() -> bool {
    read_byte(LINE_STATUS) & 1 != 0
}

pub(crate) fn take_byte() -> u8 {
    read_byte(DATA)
}

pub(crate) fn send_byte(byte: u8) {
    while read_byte(LINE_STATUS) & 0x20 == 0 {}
    write(DATA, byte);
}

pub(crate) fn open_board() {}

/// Returns the time in milliseconds, to a resolution of 16.
pub(crate) fn milliseconds() -> u32 {
    let (mut high, mut low);
    loop {
        (high, low) = (read(CLOCK + 4), read(CLOCK));
        if high == read(CLOCK + 4) {
            break;
        }
    }
    // Ten million ticks per second, counted in units of 256.
    (high << 24 | low >> 8) / 625 * 16
}

pub(crate) fn set_lamp(on: bool) {
    write(SCRATCH, u8::from(on));
}

pub(crate) fn pins() -> u32 {
    u32::from(read_byte(SCRATCH))
}

fn read_byte(register: usize) -> u8 {
    // SAFETY: a register of the serial port.
    unsafe { ptr::read_volatile(register as *const u8) }
}

fn write(register: usize, value: u8) {
    // SAFETY: a register of the serial port.
    unsafe { ptr::write_volatile(register as *mut u8, value) }
}
