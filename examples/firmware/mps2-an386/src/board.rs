//! The MPS2 as a `Board`. It has two LEDs and two buttons, and no sensors.

use core::sync::atomic::{AtomicU32, Ordering};

use firmware_app::{Board, MAX_REGISTERS, Quantity};

use crate::stack;
use registers::{Register, registers};

registers! {
    u32, 0x4002_8000: LAMPS = 0x000, BUTTONS = 0x008, CLOCK_1_HZ = 0x010, CLOCK_100_HZ = 0x014,
    COUNTER = 0x018, PRESCALE = 0x01C, MISC = 0x04C
}
registers! { u32, 0x4000_4000: UART_CONTROL = 0x8, UART_BAUD_DIVIDER = 0x10 }
registers! { u32, 0xE000_ED00: PROCESSOR = 0x0 }

/// The board.
pub(crate) struct Mps2;

/// State of the outputs, most of which are not connected. The pins read it back.
static OUTPUTS: AtomicU32 = AtomicU32::new(0);

impl Board for Mps2 {
    fn measure(&mut self, _: Quantity) -> Option<i32> {
        None
    }

    fn set_output(&mut self, number: u8, on: bool) {
        let bit = 1 << (number & 31);
        let before = OUTPUTS.load(Ordering::Relaxed);
        let outputs = if on { before | bit } else { before & !bit };
        OUTPUTS.store(outputs, Ordering::Relaxed);
        LAMPS.write(outputs & 0b11);
    }

    fn pin(&mut self, number: u8) -> bool {
        OUTPUTS.load(Ordering::Relaxed) >> (number & 31) & 1 == 1
    }

    fn registers(&mut self) -> [(&'static str, u32); MAX_REGISTERS] {
        SHOWN.map(|(name, register)| (name, register.read()))
    }

    fn stack(&mut self) -> (u32, u32) {
        stack::measure()
    }

    fn reset(&mut self) {
        cortex_m::peripheral::SCB::sys_reset()
    }
}

const SHOWN: [(&str, Register<u32>); MAX_REGISTERS] = [
    ("FPGAIO.LED0", LAMPS),
    ("FPGAIO.BUTTON", BUTTONS),
    ("FPGAIO.CLK1HZ", CLOCK_1_HZ),
    ("FPGAIO.CLK100HZ", CLOCK_100_HZ),
    ("FPGAIO.COUNTER", COUNTER),
    ("FPGAIO.PRESCALE", PRESCALE),
    ("FPGAIO.MISC", MISC),
    ("UART0.CTRL", UART_CONTROL),
    ("UART0.BAUDDIV", UART_BAUD_DIVIDER),
    ("SCB.CPUID", PROCESSOR),
];
