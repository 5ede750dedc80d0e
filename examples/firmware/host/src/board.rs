//! A simulated board, like the emulated micro:bit: its pins are its outputs, it measures 1 g along
//! each axis, and it has no thermometer.

use firmware_app::{Board, MAX_REGISTERS, Quantity};

#[derive(Default)]
pub(crate) struct SimulatedBoard {
    outputs: u32,
}

impl Board for SimulatedBoard {
    fn measure(&mut self, quantity: Quantity) -> Option<i32> {
        (quantity != Quantity::Temperature).then_some(1000)
    }

    fn set_output(&mut self, number: u8, on: bool) {
        self.outputs = self.outputs & !(1 << number) | u32::from(on) << number;
    }

    fn pin(&mut self, number: u8) -> bool {
        self.outputs >> number & 1 == 1
    }

    fn registers(&mut self) -> [(&'static str, u32); MAX_REGISTERS] {
        let mut registers = [("", 0); MAX_REGISTERS];
        registers[0] = ("OUTPUTS", self.outputs);
        registers
    }

    fn stack(&mut self) -> (u32, u32) {
        (0, 0)
    }

    fn reset(&mut self) {
        std::process::exit(0);
    }
}
