//! Stores, and the records that are kept in them.

mod memory;
mod records;
mod seals;
mod suite;
#[cfg(feature = "smol")]
mod threads;
