//! The trait of boards.

use mcp_sansio::typed::{Input, Output};

/// A board with sensors, outputs, pins and registers.
pub trait Board {
    /// Reads a sensor. Returns `None` if the sensor does not respond.
    fn measure(&mut self, quantity: Quantity) -> Option<i32>;

    /// Switches an output, number 0 to [`OUTPUTS`] - 1.
    fn set_output(&mut self, number: u8, on: bool);

    /// Returns whether a pin is high, number 0 to [`OUTPUTS`] - 1.
    fn pin(&mut self, number: u8) -> bool;

    /// Returns names and current values of registers. An empty name ends the list.
    fn registers(&mut self) -> [(&'static str, u32); MAX_REGISTERS];

    /// Returns the size of the stack and the maximum that was ever in use, in bytes.
    fn stack(&mut self) -> (u32, u32);

    /// Resets the board.
    fn reset(&mut self);
}

/// A quantity to measure.
#[derive(Input, Output, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// In hundredths of a degree Celsius.
    Temperature,
    /// In thousandths of g, along the x axis.
    AccelerationX,
    /// In thousandths of g, along the y axis.
    AccelerationY,
    /// In thousandths of g, along the z axis.
    AccelerationZ,
}

impl Quantity {
    /// Returns the unit of the values.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Temperature => "0.01 °C",
            _ => "0.001 g",
        }
    }
}

/// Number of outputs and of pins of a board.
pub const OUTPUTS: u8 = 31;
/// Maximum number of registers that a board reports.
pub const MAX_REGISTERS: usize = 10;
