//! Stores, and the records that are kept in them.

mod directory;
mod memory;
mod records;
mod seals;
mod suite;
#[cfg(feature = "smol")]
mod threads;
