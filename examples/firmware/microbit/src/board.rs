//! The micro:bit as a `Board`.

use firmware_app::{Board, MAX_REGISTERS, OUTPUTS, Quantity};

use crate::registers::{Register, registers};
use crate::sensors::{Accelerometer, temperature};
use crate::stack;

registers! {
    0x5000_0000: OUT = 0x504, OUT_SET = 0x508, OUT_CLEAR = 0x50C, IN = 0x510, DIRECTION = 0x514
}
registers! { 0x4000_2000: UART_PIN_TX = 0x50C, UART_BAUD_RATE = 0x524 }
registers! { 0x4000_8000: TIMER_BIT_MODE = 0x508, TIMER_PRESCALER = 0x510, TIMER_CAPTURED = 0x540 }
registers! { 0x1000_0000: PAGE_BYTES = 0x010, PAGES = 0x014 }

/// The micro:bit.
pub(crate) struct Microbit {
    accelerometer: Accelerometer,
}

impl Microbit {
    pub(crate) fn open() -> Self {
        (0..OUTPUTS).for_each(|number| configure(number, INPUT));
        Self { accelerometer: Accelerometer::open() }
    }
}

impl Board for Microbit {
    fn measure(&mut self, quantity: Quantity) -> Option<i32> {
        match quantity {
            Quantity::Temperature => temperature(),
            Quantity::AccelerationX => self.accelerometer.read(0),
            Quantity::AccelerationY => self.accelerometer.read(1),
            Quantity::AccelerationZ => self.accelerometer.read(2),
        }
    }

    fn set_output(&mut self, number: u8, on: bool) {
        let bit = 1 << (number & 31);
        if on {
            OUT_SET.write(bit)
        } else {
            OUT_CLEAR.write(bit)
        }
        configure(number, OUTPUT);
    }

    fn pin(&mut self, number: u8) -> bool {
        IN.read() >> (number & 31) & 1 == 1
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

/// What a pin is. After a reset it is neither read nor driven.
fn configure(number: u8, as_what: u32) {
    // SAFETY: 32 registers PIN_CNF, one for each pin.
    unsafe { Register::at(0x5000_0000, 0x700 + usize::from(number & 31) * 4) }.write(as_what);
}

const INPUT: u32 = 0;
/// Driven, and read as well.
const OUTPUT: u32 = 1;

const SHOWN: [(&str, Register); MAX_REGISTERS] = [
    ("GPIO.OUT", OUT),
    ("GPIO.IN", IN),
    ("GPIO.DIR", DIRECTION),
    ("UART0.PSELTXD", UART_PIN_TX),
    ("UART0.BAUDRATE", UART_BAUD_RATE),
    ("TIMER0.BITMODE", TIMER_BIT_MODE),
    ("TIMER0.PRESCALER", TIMER_PRESCALER),
    ("TIMER0.CC[0]", TIMER_CAPTURED),
    ("FICR.CODEPAGESIZE", PAGE_BYTES),
    ("FICR.CODESIZE", PAGES),
];
