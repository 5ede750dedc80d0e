//! What the application wants of a board.

/// A board: one sensor or more, outputs, pins, registers to look into.
pub trait Board {
    /// Measures. `None`: the sensor does not answer.
    fn measure(&mut self, quantity: Quantity) -> Option<i32>;

    /// Switches an output, 0 to [`OUTPUTS`] - 1.
    fn set_output(&mut self, number: u8, on: bool);

    /// Whether a pin is high, 0 to [`OUTPUTS`] - 1.
    fn pin(&mut self, number: u8) -> bool;

    /// Registers as they are now, by name. An empty name ends the list.
    fn registers(&mut self) -> [(&'static str, u32); MAX_REGISTERS];

    /// Memory for the stack and the most of it that was ever in use, in bytes.
    fn stack(&mut self) -> (u32, u32);

    /// Starts again, as if switched off and on.
    fn reset(&mut self);
}

/// What can be measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// In hundredths of a degree Celsius.
    Temperature,
    /// In thousandths of g.
    AccelerationX,
    /// The same.
    AccelerationY,
    /// The same.
    AccelerationZ,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Temperature, Self::AccelerationX, Self::AccelerationY, Self::AccelerationZ];

    /// As clients call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::AccelerationX => "acceleration_x",
            Self::AccelerationY => "acceleration_y",
            Self::AccelerationZ => "acceleration_z",
        }
    }

    /// What the numbers count.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Temperature => "0.01 °C",
            _ => "0.001 g",
        }
    }
}

/// How many outputs, and pins, a board has.
pub const OUTPUTS: u8 = 31;
/// How many of a board's registers are shown, at most.
pub const MAX_REGISTERS: usize = 10;
