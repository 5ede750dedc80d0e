//! Authorization over HTTP: clients that log in, and servers that check access tokens.

pub(crate) mod flights;
pub mod login;
pub mod tokens;
