#![doc = include_str!("../README.md")]

#[cfg(feature = "bus")]
pub mod bus;
pub mod store;
