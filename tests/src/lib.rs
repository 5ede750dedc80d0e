//! Shared between the integration tests.
