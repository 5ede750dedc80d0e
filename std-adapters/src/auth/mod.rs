//! Authorization over HTTP: clients that log in, and servers that check access tokens.

pub mod login;
pub mod tokens;
