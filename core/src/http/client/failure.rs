//! Requests that failed in HTTP.

use core::fmt;

use crate::json::RawJson;
use crate::printable::Printable;

/// The reason why a request got no JSON-RPC response over HTTP, for
/// [`Client::fail`](crate::Client::fail). `Display` says what happened and what to do.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum HttpFailure<'e> {
    /// An HTTP error status.
    Status(u16),
    /// Status 401 or 403.
    Unauthorized {
        /// 401: authentication required; 403: insufficient permissions.
        status: u16,
        /// The value of `WWW-Authenticate`; empty if the server sent none.
        /// [`challenges`](super::challenges) parses the field.
        challenge: &'e str,
    },
    /// The client could not get the permission that the server asks for, for this reason.
    NotAuthorized(&'e str),
    /// An HTTP error status whose body is this JSON-RPC error. It is the response of the server:
    /// the call ends with it.
    JsonRpc(RawJson<'e>),
    /// There is no connection, for this reason. Nothing was sent.
    NotConnected(&'e str),
    /// The connection ended before the response.
    ConnectionLost,
    /// The response is invalid, or the request cannot be sent.
    Invalid(&'e str),
}

impl fmt::Display for HttpFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => {
                write!(f, "HTTP status {status}")?;
                f.write_str(match status {
                    404 => ": check the path of the URL",
                    429 => ": too many requests, wait before the next one",
                    502..=504 => ": the server is busy or cannot be reached, try again later",
                    500..=599 => ": the server or a proxy failed, see its log",
                    _ => "",
                })
            }
            Self::Unauthorized { status, challenge } => {
                let (what, advice) = match status {
                    401 => ("authentication required", "log in, or set another token"),
                    _ => ("forbidden", "the token does not permit it"),
                };
                write!(f, "{what} (HTTP status {status}")?;
                if !challenge.is_empty() {
                    let end = challenge.char_indices().nth(MAX_CHALLENGE);
                    let shown = end.and_then(|(at, _)| challenge.get(..at)).unwrap_or(challenge);
                    write!(f, ", {}", Printable::new(shown))?;
                }
                write!(f, "): {advice}")
            }
            Self::NotAuthorized(reason) => write!(f, "not authorized: {}", Printable::new(reason)),
            Self::JsonRpc(error) => Printable::new(error).fmt(f),
            Self::NotConnected(reason) => {
                write!(f, "no connection: {}; nothing was sent", Printable::new(reason))
            }
            Self::ConnectionLost => f.write_str(
                "the connection ended before the response: repeat the call unless that does harm",
            ),
            Self::Invalid(reason) => Printable::new(reason).fmt(f),
        }
    }
}

impl core::error::Error for HttpFailure<'_> {}

/// Maximum length of a challenge in an error text, in characters.
const MAX_CHALLENGE: usize = 300;
