//! What becomes of a request that HTTP did not answer.

use core::fmt;

use crate::json::RawJson;
use crate::printable::Printable;

/// Why there is no answer to a request. Its [message](Self::json_rpc_response) takes the answer's place: to
/// the client it is an error of the code [`HTTP_FAILURE_CODE`], or the server's.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum HttpFailure<'e> {
    /// Refused with this status.
    Status(u16),
    /// Refused with 401 or 403, and with these words in `WWW-Authenticate`. They are in the data of
    /// the error.
    Unauthorized {
        /// 401: nobody is authorized; 403: not for this.
        status: u16,
        /// Empty where there are none.
        challenge: &'e str,
    },
    /// Refused with a status, and with this error of the protocol's.
    JsonRpc(RawJson<'e>),
    /// The connection ended before it came.
    ConnectionLost,
    /// The response cannot be used, or the request not be sent.
    Invalid(&'e str),
}

impl<'e> HttpFailure<'e> {
    /// What the answer with this id would have been, as JSON in one line.
    #[must_use]
    pub fn json_rpc_response(self, id: &'e str) -> impl fmt::Display + use<'e> {
        Answer { id, failure: self }
    }
}

impl fmt::Display for HttpFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "the server answered with the HTTP status {status}"),
            Self::Unauthorized { status: 401, .. } => {
                f.write_str("the server wants to be told who asks (HTTP status 401)")
            }
            Self::Unauthorized { status, .. } => {
                write!(f, "the server does not allow it (HTTP status {status})")
            }
            Self::JsonRpc(error) => Printable::new(error).fmt(f),
            Self::ConnectionLost => f.write_str("the connection ended before the answer came"),
            Self::Invalid(reason) => Printable::new(reason).fmt(f),
        }
    }
}

struct Answer<'e> {
    id: &'e str,
    failure: HttpFailure<'e>,
}

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, failure } = self;
        write!(f, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":")?;
        if let HttpFailure::JsonRpc(error) = failure {
            // It may have come in several lines; between tokens that is white space.
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

/// The inside of a JSON string.
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

/// The code of what HTTP has not answered: none of the protocol's, and never on the wire.
pub const HTTP_FAILURE_CODE: i64 = -32000;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString as _;

    use super::*;

    #[test]
    fn a_failure_is_an_answer() {
        let error = RawJson::from_static("{\"code\":-32020,\n \"message\":\"no\"}");
        for (failure, expected) in [
            (
                HttpFailure::Status(503),
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"the server answered with the HTTP status 503","data":{"status":503}}}"#,
            ),
            (
                HttpFailure::Unauthorized { status: 401, challenge: "Bearer scope=\"x\"" },
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"the server wants to be told who asks (HTTP status 401)","data":{"status":401,"wwwAuthenticate":"Bearer scope=\"x\""}}}"#,
            ),
            (
                HttpFailure::JsonRpc(error),
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32020, "message":"no"}}"#,
            ),
            (
                HttpFailure::ConnectionLost,
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"the connection ended before the answer came"}}"#,
            ),
            (
                HttpFailure::Invalid("a \"b\"\n\\"),
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"a \"b\"\\n\\"}}"#,
            ),
        ] {
            let answer = failure.json_rpc_response("7").to_string();
            assert_eq!(answer, expected);
            assert!(RawJson::parse(&answer).is_ok());
        }
    }
}
