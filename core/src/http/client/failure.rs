//! Requests that failed in HTTP.

use core::fmt;

use crate::json::RawJson;
use crate::printable::Printable;

/// Why a JSON-RPC request got no response over HTTP. The client receives a [JSON-RPC
/// error](Self::json_rpc_response) instead, with the code [`HTTP_FAILURE_CODE`] or that of the
/// server.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum HttpFailure<'e> {
    /// An HTTP error status.
    Status(u16),
    /// Status 401 or 403, with the value of `WWW-Authenticate`, which becomes the `data` of the
    /// error.
    Unauthorized {
        /// 401: authentication required; 403: insufficient permissions.
        status: u16,
        /// The challenges; empty if the server sent none.
        challenge: &'e str,
    },
    /// An HTTP error status whose body is this JSON-RPC error.
    JsonRpc(RawJson<'e>),
    /// The connection ended before the response.
    ConnectionLost,
    /// The response is invalid, or the request cannot be sent.
    Invalid(&'e str),
}

impl<'e> HttpFailure<'e> {
    /// Returns the error response to the request with this id, as JSON in one line.
    #[must_use]
    pub fn json_rpc_response(self, id: &'e str) -> impl fmt::Display + use<'e> {
        ErrorResponse { id, failure: self }
    }
}

impl fmt::Display for HttpFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "HTTP status {status}"),
            Self::Unauthorized { status: 401, .. } => {
                f.write_str("authentication required (HTTP status 401)")
            }
            Self::Unauthorized { status, .. } => {
                write!(f, "forbidden (HTTP status {status})")
            }
            Self::JsonRpc(error) => Printable::new(error).fmt(f),
            Self::ConnectionLost => f.write_str("the connection ended before the response"),
            Self::Invalid(reason) => Printable::new(reason).fmt(f),
        }
    }
}

struct ErrorResponse<'e> {
    id: &'e str,
    failure: HttpFailure<'e>,
}

impl fmt::Display for ErrorResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, failure } = self;
        write!(f, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":")?;
        if let HttpFailure::JsonRpc(error) = failure {
            // Line breaks between tokens are only white space.
            error.as_str().split(['\n', '\r']).try_for_each(|line| f.write_str(line))?;
            return f.write_str("}");
        }
        write!(f, "{{\"code\":{HTTP_FAILURE_CODE},\"message\":\"")?;
        fmt::Write::write_fmt(&mut Escaped(f), format_args!("{failure}"))?;
        f.write_str("\"")?;
        match failure {
            HttpFailure::Status(status) => write!(f, ",\"data\":{{\"status\":{status}}}")?,
            HttpFailure::Unauthorized { status, challenge } => {
                write!(f, ",\"data\":{{\"status\":{status},\"wwwAuthenticate\":\"")?;
                fmt::Write::write_str(&mut Escaped(f), challenge)?;
                f.write_str("\"}")?;
            }
            _ => {}
        }
        f.write_str("}}")
    }
}

/// Escapes text for a JSON string.
struct Escaped<'o, 'f>(&'o mut fmt::Formatter<'f>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| match c {
            '"' | '\\' => write!(self.0, "\\{c}"),
            c if c < ' ' => self.0.write_char(' '),
            c => self.0.write_char(c),
        })
    }
}

/// The code of errors that stand for an HTTP failure; never sent.
pub const HTTP_FAILURE_CODE: i64 = -32000;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString as _;

    use super::*;

    #[test]
    fn a_failure_becomes_an_error_response() {
        let error = RawJson::from_static("{\"code\":-32020,\n \"message\":\"no\"}");
        for (failure, expected) in [
            (
                HttpFailure::Status(503),
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"HTTP status 503","data":{"status":503}}}"#,
            ),
            (
                HttpFailure::Unauthorized { status: 401, challenge: "Bearer scope=\"x\"" },
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"authentication required (HTTP status 401)","data":{"status":401,"wwwAuthenticate":"Bearer scope=\"x\""}}}"#,
            ),
            (
                HttpFailure::JsonRpc(error),
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32020, "message":"no"}}"#,
            ),
            (
                HttpFailure::ConnectionLost,
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"the connection ended before the response"}}"#,
            ),
            (
                HttpFailure::Invalid("a \"b\"\n\\"),
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"a \"b\"\\n\\"}}"#,
            ),
        ] {
            let response = failure.json_rpc_response("7").to_string();
            assert_eq!(response, expected);
            assert!(RawJson::parse(&response).is_ok());
        }
    }
}
