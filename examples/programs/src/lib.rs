//! Code shared by the larger programs and the example on axum: the everything server.

pub mod everything_server;
