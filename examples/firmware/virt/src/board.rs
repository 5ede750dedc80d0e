//! QEMU's `virt` as a `Board`. It has a calendar clock, and neither sensors nor outputs.

use core::sync::atomic::{AtomicU32, Ordering};

use firmware_app::{Board, MAX_REGISTERS, Quantity};

use crate::stack;
use registers::{Register, registers};

registers! { u32, 0x0010_0000: POWER = 0 }
registers! { u32, 0x0010_1000: CALENDAR = 0x0, CALENDAR_HIGH = 0x4 }
registers! {
    u32, 0x0200_0000: COMPARED = 0x4000, COMPARED_HIGH = 0x4004, TIME = 0xBFF8, TIME_HIGH = 0xBFFC
}
registers! { u32, 0x0C00_0000: PRIORITY = 0x28, ENABLED = 0x2000, THRESHOLD = 0x20_0000 }

/// The board.
#[derive(Debug)]
pub struct Virt;

/// State of the outputs, which are not connected. The pins read it back.
static OUTPUTS: AtomicU32 = AtomicU32::new(0);

impl Board for Virt {
    fn measure(&mut self, _: Quantity) -> Option<i32> {
        None
    }

    fn set_output(&mut self, number: u8, on: bool) {
        let bit = 1 << (number & 31);
        let before = OUTPUTS.load(Ordering::Relaxed);
        OUTPUTS.store(if on { before | bit } else { before & !bit }, Ordering::Relaxed);
    }

    fn pin(&mut self, number: u8) -> bool {
        OUTPUTS.load(Ordering::Relaxed) >> (number & 31) & 1 == 1
    }

    fn registers(&mut self) -> [(&'static str, u32); MAX_REGISTERS] {
        let mut shown = SHOWN.map(|(name, register)| (name, register.read()));
        shown[0].1 = OUTPUTS.load(Ordering::Relaxed);
        shown
    }

    fn stack(&mut self) -> (u32, u32) {
        stack::measure()
    }

    fn reset(&mut self) {
        reset()
    }
}

/// Resets the board.
pub fn reset() -> ! {
    loop {
        POWER.write(0x7777);
    }
}

const SHOWN: [(&str, Register<u32>); MAX_REGISTERS] = [
    ("(outputs)", THRESHOLD),
    ("CLINT.MTIME", TIME),
    ("CLINT.MTIMEH", TIME_HIGH),
    ("CLINT.MTIMECMP", COMPARED),
    ("CLINT.MTIMECMPH", COMPARED_HIGH),
    ("PLIC.PRIORITY[10]", PRIORITY),
    ("PLIC.ENABLE", ENABLED),
    ("PLIC.THRESHOLD", THRESHOLD),
    ("RTC.TIME_LOW", CALENDAR),
    ("RTC.TIME_HIGH", CALENDAR_HIGH),
];
