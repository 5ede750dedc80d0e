//! The parts of the board, which each program has at its root.

pub(crate) mod board;
pub(crate) mod clock;
pub(crate) mod fault;
pub(crate) mod interrupts;
pub(crate) mod registers;
pub(crate) mod ring;
pub(crate) mod sensors;
pub(crate) mod stack;
pub(crate) mod uart;
