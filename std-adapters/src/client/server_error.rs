//! Error response of a server.

use std::fmt;

use mcp_sansio::{OwnedJson, PeerError, Printable};

/// Error response of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServerError {
    /// Error code, see [`ErrorCode`](mcp_sansio::ErrorCode).
    pub code: i64,
    /// Error message.
    pub message: String,
    /// Additional data.
    pub data: Option<OwnedJson>,
}

impl From<PeerError<'_>> for ServerError {
    fn from(error: PeerError<'_>) -> Self {
        let message = error.message().map(|message| message.to_string()).unwrap_or_default();
        Self { code: error.code(), message, data: error.data().map(OwnedJson::from) }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", Printable::new(&self.message), self.code)
    }
}

impl std::error::Error for ServerError {}
