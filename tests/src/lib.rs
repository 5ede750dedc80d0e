//! Shared between the integration tests.

pub mod transcript;
