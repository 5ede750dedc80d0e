//! Shared between the integration tests.

pub mod chaos;
pub mod transcript;
