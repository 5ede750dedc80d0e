//! Answers of token endpoints.

use core::fmt;

use super::metadata::{Document, DocumentError, seconds};
use crate::json::{JsonStr, RawJson};
use crate::printable::Printable;

/// The answer to a token request (RFC 6749, 5.1), borrowed from its JSON text. `Debug` does not
/// show tokens.
#[derive(Clone, Copy)]
pub struct TokenResponse<'j> {
    access_token: JsonStr<'j>,
    token_type: JsonStr<'j>,
    expires_in: Option<u64>,
    refresh_token: Option<JsonStr<'j>>,
    scope: Option<JsonStr<'j>>,
    issued_token_type: Option<JsonStr<'j>>,
    id_token: Option<JsonStr<'j>>,
}

/// Scheme with which a token is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenType {
    /// `Authorization: Bearer` (RFC 6750).
    Bearer,
    /// `Authorization: DPoP`, with a proof (RFC 9449).
    Dpop,
}

impl<'j> TokenResponse<'j> {
    /// Reads an answer.
    ///
    /// # Errors
    /// [`DocumentError`] if it is no object, has no `access_token` that can stand in a header field
    /// or no `token_type`, or a member that is used here has a wrong type or occurs twice.
    pub fn parse(body: &'j [u8]) -> Result<Self, DocumentError> {
        const NAMES: [&str; 7] = [
            "access_token",
            "token_type",
            "expires_in",
            "refresh_token",
            "scope",
            "issued_token_type",
            "id_token",
        ];
        let [access, kind, expires, refresh, scope, issued, id] = Document::parse(body, &NAMES)?.0;
        let access_token = access.required()?;
        let mut chars = access_token.chars();
        if access_token.inner().is_empty() || !chars.all(|c| c.is_ascii_graphic()) {
            return Err(DocumentError::Invalid(access.name));
        }
        Ok(Self {
            access_token,
            token_type: kind.required()?,
            expires_in: seconds(expires)?,
            refresh_token: refresh.string()?.filter(|token| !token.inner().is_empty()),
            scope: scope.string()?,
            issued_token_type: issued.string()?,
            id_token: id.string()?,
        })
    }

    /// Returns the access token, or the token that was asked for by a token exchange (RFC 8693).
    #[must_use]
    pub const fn access_token(&self) -> JsonStr<'j> {
        self.access_token
    }

    /// Returns how the token is sent; `None` for a type that is not known. Compared without case.
    #[must_use]
    pub fn token_type(&self) -> Option<TokenType> {
        let is = |name| self.token_type.as_plain().is_some_and(|t| t.eq_ignore_ascii_case(name));
        if is("Bearer") { Some(TokenType::Bearer) } else { is("DPoP").then_some(TokenType::Dpop) }
    }

    /// Returns the type as it was written.
    #[must_use]
    pub const fn token_type_text(&self) -> JsonStr<'j> {
        self.token_type
    }

    /// Returns for how many seconds the token is good, if the server says so.
    #[must_use]
    pub const fn expires_in(&self) -> Option<u64> {
        self.expires_in
    }

    /// Returns the refresh token.
    #[must_use]
    pub const fn refresh_token(&self) -> Option<JsonStr<'j>> {
        self.refresh_token
    }

    /// Returns the scope that was granted; `None` if it is the one that was asked for.
    #[must_use]
    pub const fn scope(&self) -> Option<JsonStr<'j>> {
        self.scope
    }

    /// Returns the type of the token of a token exchange (RFC 8693, 2.2.1).
    #[must_use]
    pub const fn issued_token_type(&self) -> Option<JsonStr<'j>> {
        self.issued_token_type
    }

    /// Returns the identity token of OpenID Connect.
    #[must_use]
    pub const fn id_token(&self) -> Option<JsonStr<'j>> {
        self.id_token
    }
}

impl fmt::Debug for TokenResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenResponse")
            .field("token_type", &self.token_type)
            .field("expires_in", &self.expires_in)
            .field("scope", &self.scope)
            .field("has_refresh_token", &self.refresh_token.is_some())
            .finish_non_exhaustive()
    }
}

/// Whether an access token can stand in a header field.
pub(super) fn is_access_token(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())
}

/// An error of a token endpoint or of a registration (RFC 6749, 5.2; RFC 7591, 3.2.2). Its
/// `Display` output has at most 64 characters of the code and 256 of the description, and is safe
/// for terminals.
#[derive(Clone, Copy)]
pub struct OAuthError<'j> {
    error: JsonStr<'j>,
    description: Option<JsonStr<'j>>,
}

impl<'j> OAuthError<'j> {
    /// Reads an answer; `None` if it does not have the form of an error.
    #[must_use]
    pub fn parse(body: &'j [u8]) -> Option<Self> {
        let [error, description] = Document::parse(body, &["error", "error_description"]).ok()?.0;
        Some(Self {
            error: error.required().ok()?,
            description: description.value.and_then(RawJson::as_string),
        })
    }

    /// Returns the code, for example `invalid_grant`.
    #[must_use]
    pub const fn code(&self) -> JsonStr<'j> {
        self.error
    }

    /// Returns the text for developers.
    #[must_use]
    pub const fn description(&self) -> Option<JsonStr<'j>> {
        self.description
    }
}

impl fmt::Display for OAuthError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Bounded(self.error.chars(), 64).fmt_to(f)?;
        match self.description {
            Some(text) => {
                f.write_str(": ")?;
                Bounded(text.chars(), 256).fmt_to(f)
            }
            None => Ok(()),
        }
    }
}

impl fmt::Debug for OAuthError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OAuthError({self})")
    }
}

/// At most as many characters of a peer's text, safe for terminals.
pub(super) struct Bounded<I>(pub(super) I, pub(super) usize);

impl<I: Iterator<Item = char>> Bounded<I> {
    pub(super) fn fmt_to(mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for _ in 0..self.1 {
            match self.0.next() {
                Some(c) => fmt::Display::fmt(&Printable::new(c), f)?,
                None => return Ok(()),
            }
        }
        if self.0.next().is_some() { f.write_str("...") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;
    use std::string::ToString as _;

    use super::*;

    #[test]
    fn auth_82_auth_83_auth_84_a_token_response_is_read() {
        for (members, token_type, expires_in, scope) in [
            (r#""token_type":"bearer""#, Some(TokenType::Bearer), None, None),
            (
                r#""token_type":"DPOP","expires_in":3600,"scope":"a b""#,
                Some(TokenType::Dpop),
                Some(3600),
                Some("a b"),
            ),
            (r#""token_type":"MAC","expires_in":"60""#, None, Some(60), None),
            (r#""token_type":"N_A","expires_in":null,"scope":"""#, None, None, Some("")),
        ] {
            let body = format!(r#"{{"access_token":"t","refresh_token":"",{members}}}"#);
            let token = TokenResponse::parse(body.as_bytes()).unwrap();
            assert_eq!(token.token_type(), token_type, "{body}");
            assert_eq!(token.expires_in(), expires_in, "{body}");
            assert_eq!(token.scope().map(|scope| scope.to_string()).as_deref(), scope);
            assert!(token.refresh_token().is_none());
        }
    }

    #[test]
    fn auth_114_a_token_that_cannot_stand_in_a_field_is_refused() {
        for token in ["", "a b", r"a\r\nX: y", r"a\u0000", "\u{e9}", r"\u007f"] {
            let body = format!(r#"{{"access_token":"{token}","token_type":"Bearer"}}"#);
            assert_eq!(
                TokenResponse::parse(body.as_bytes()).unwrap_err(),
                DocumentError::Invalid("access_token"),
                "{token}"
            );
        }
        for (body, error) in [
            (r#"{"token_type":"Bearer"}"#, DocumentError::Missing("access_token")),
            (r#"{"access_token":"a"}"#, DocumentError::Missing("token_type")),
            (
                r#"{"access_token":"a","access_token":"b","token_type":"Bearer"}"#,
                DocumentError::Doubled("access_token"),
            ),
        ] {
            assert_eq!(TokenResponse::parse(body.as_bytes()).unwrap_err(), error);
        }
    }

    #[test]
    fn auth_93_tokens_are_not_shown() {
        let body = br#"{"access_token":"s3","refresh_token":"s3","id_token":"s3",
            "token_type":"Bearer"}"#;
        let shown = format!("{:?}", TokenResponse::parse(body).unwrap());
        assert!(shown.contains("Bearer") && !shown.contains("s3"), "{shown}");
    }

    #[test]
    fn auth_43_an_error_is_told_in_bounds_and_is_harmless() {
        let long: std::string::String = (0..1000).map(|_| 'x').collect();
        let body =
            format!(r#"{{"error":"bad\u001b[2J","error_description":"a\r\nb{long}","x":1}}"#);
        let error = OAuthError::parse(body.as_bytes()).unwrap();
        let shown = error.to_string();
        assert!(
            shown.starts_with(r"bad\u001b[2J: a\r\nbxxx") && shown.ends_with("x..."),
            "{shown}"
        );
        assert!(shown.len() < 350);
        assert_eq!(error.code(), "bad\u{1b}[2J");
        for body in [&b"oops"[..], b"{}", br#"{"error":1}"#, br#"{"error":"a","error":"b"}"#] {
            assert!(OAuthError::parse(body).is_none());
        }
    }
}
