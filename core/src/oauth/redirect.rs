//! The query with which the browser returns from the authorization server.

use core::fmt;

use super::form::{Encoded, pairs};

/// The parameters of an authorization response (RFC 6749, 4.1.2; RFC 9207), borrowed from the
/// query.
#[derive(Clone, Copy, Debug)]
pub struct RedirectAnswer<'q> {
    state: Option<Encoded<'q>>,
    code: Option<Encoded<'q>>,
    error: Option<Encoded<'q>>,
    error_description: Option<Encoded<'q>>,
    iss: Option<Encoded<'q>>,
}

/// Content of an authorization response that passed its checks.
#[derive(Clone, Copy, Debug)]
pub enum RedirectOutcome<'q> {
    /// The authorization code, a secret.
    Code(Encoded<'q>),
    /// The request was refused.
    Error {
        /// The code of the error, for example `access_denied`.
        error: Encoded<'q>,
        /// The text for developers.
        description: Option<Encoded<'q>>,
    },
}

/// Reason why an authorization response is dropped. None of its text may be used or shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RedirectError {
    /// A parameter occurs twice.
    Doubled(&'static str),
    /// `state` is missing or another: it is no response to this request.
    State,
    /// `iss` names another authorization server.
    OtherIssuer,
    /// `iss` is missing although the authorization server says that it sends it.
    NoIssuer,
    /// There is neither a code nor an error, or both.
    Incomplete,
}

impl<'q> RedirectAnswer<'q> {
    /// Reads a query, without its `?`.
    ///
    /// # Errors
    /// [`RedirectError::Doubled`].
    pub fn parse(query: &'q str) -> Result<Self, RedirectError> {
        const NAMES: [&str; 5] = ["state", "code", "error", "error_description", "iss"];
        let mut found = NAMES.map(|name| (name, None));
        for (name, value) in pairs(query) {
            if let Some((known, place)) = found.iter_mut().find(|(known, _)| name == **known)
                && place.replace(value).is_some()
            {
                return Err(RedirectError::Doubled(known));
            }
        }
        let [state, code, error, error_description, iss] = found.map(|(_, value)| value);
        Ok(Self { state, code, error, error_description, iss })
    }

    /// Whether it is a response to the request with this state. Takes the same time for each wrong
    /// state of a length.
    #[must_use]
    pub fn has_state(&self, state: &str) -> bool {
        self.state.is_some_and(|other| other.equals_secret(state))
    }

    /// Returns what the response says if it comes from `issuer`, compared byte for byte after
    /// decoding (2026-07-28, basic/authorization; RFC 9207, 2.4). The state is checked first, then
    /// the issuer, and then only code and error are looked at.
    ///
    /// `sends_issuer` is [`ServerMetadata::sends_issuer`](super::ServerMetadata::sends_issuer).
    ///
    /// # Errors
    /// [`RedirectError`]: the response must be dropped.
    pub fn check(
        &self,
        state: &str,
        issuer: &str,
        sends_issuer: bool,
    ) -> Result<RedirectOutcome<'q>, RedirectError> {
        if !self.has_state(state) {
            return Err(RedirectError::State);
        }
        match self.iss {
            Some(iss) if iss != *issuer => return Err(RedirectError::OtherIssuer),
            None if sends_issuer => return Err(RedirectError::NoIssuer),
            _ => {}
        }
        match (self.code, self.error) {
            (Some(code), None) if !code.is_empty() => Ok(RedirectOutcome::Code(code)),
            (None, Some(error)) => {
                Ok(RedirectOutcome::Error { error, description: self.error_description })
            }
            _ => Err(RedirectError::Incomplete),
        }
    }
}

impl fmt::Display for RedirectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Doubled(name) => return write!(f, "the parameter `{name}` occurs twice"),
            Self::State => "the answer belongs to another login: its `state` is not ours",
            Self::OtherIssuer => "the answer names another authorization server in `iss`",
            Self::NoIssuer => "the answer does not name its authorization server in `iss`",
            Self::Incomplete => "the answer has neither a code nor an error",
        })
    }
}

impl core::error::Error for RedirectError {}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::{String, ToString as _};

    use super::*;

    fn check(query: &str, sends_issuer: bool) -> Result<String, RedirectError> {
        let answer = RedirectAnswer::parse(query)?;
        answer.check("st", "https://as.test/a", sends_issuer).map(|outcome| match outcome {
            RedirectOutcome::Code(code) => code.to_string(),
            RedirectOutcome::Error { error, description } => {
                std::format!("{error}: {}", description.unwrap_or(Encoded::new("")))
            }
        })
    }

    #[test]
    fn auth_72_auth_73_auth_74_auth_75_the_issuer_is_compared_byte_for_byte() {
        use RedirectError::{NoIssuer, OtherIssuer};
        let rows: [(&str, [Result<&str, RedirectError>; 2]); 9] = [
            // Advertised, and not.
            ("iss=https%3A%2F%2Fas.test%2Fa", [Ok("c"), Ok("c")]),
            ("iss=https://as.test/a", [Ok("c"), Ok("c")]),
            ("x=y", [Err(NoIssuer), Ok("c")]),
            ("iss=https://as.test/a/", [Err(OtherIssuer); 2]),
            ("iss=https://AS.test/a", [Err(OtherIssuer); 2]),
            ("iss=https://as.test:443/a", [Err(OtherIssuer); 2]),
            ("iss=https://as.test/%2561", [Err(OtherIssuer); 2]),
            ("iss=https://evil.test/a", [Err(OtherIssuer); 2]),
            ("iss=", [Err(OtherIssuer); 2]),
        ];
        for (parameter, expected) in rows {
            let query = std::format!("code=c&state=st&{parameter}");
            for (sends_issuer, expected) in [true, false].into_iter().zip(expected) {
                assert_eq!(check(&query, sends_issuer), expected.map(String::from), "{query}");
            }
        }
    }

    #[test]
    fn auth_61_auth_77_auth_78_state_comes_first_then_the_issuer_then_the_rest() {
        for (query, expected) in [
            ("code=c&state=other&iss=https://evil.test", RedirectError::State),
            ("code=c", RedirectError::State),
            ("code=c&state=", RedirectError::State),
            ("code=c&state=st+", RedirectError::State),
            ("error=e&state=other", RedirectError::State),
            ("error=e&state=st&iss=https://evil.test", RedirectError::OtherIssuer),
            ("state=st", RedirectError::Incomplete),
            ("state=st&code=", RedirectError::Incomplete),
            ("state=st&code=c&error=e", RedirectError::Incomplete),
            ("state=st&code=c&code=d", RedirectError::Doubled("code")),
            ("state=st&%63ode=c&code=c", RedirectError::Doubled("code")),
            ("state=st&state=st&code=c", RedirectError::Doubled("state")),
            ("state=st&code=c&iss=a&iss=b", RedirectError::Doubled("iss")),
            ("", RedirectError::State),
        ] {
            assert_eq!(check(query, false), Err(expected), "{query}");
        }
    }

    #[test]
    fn auth_79_an_error_is_told_with_its_code() {
        assert_eq!(
            check("error=access_denied&error_description=no+thanks&state=st", false).as_deref(),
            Ok("access_denied: no thanks")
        );
    }
}
