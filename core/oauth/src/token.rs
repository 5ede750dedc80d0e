//! Answers of token endpoints, and the record of what they gave.

use core::fmt;

use super::arena::{Entries, Full, Key, Tag, Writer, issuers, put_entry};
use super::dpop::put_thumbprint;
use super::flow::{Authorization, Flow, Phase};
use super::metadata::{Document, document};
use mcp_sansio::{JsonStr, Printable, RawJson};

document! {
    /// The answer to a token request (RFC 6749, 5.1), borrowed from its JSON text. `Debug` does not
    /// show tokens.
    pub struct TokenResponse {
        /// Access token, or the token that was asked for by a token exchange (RFC 8693). It can
        /// stand in a header field.
        "access_token" access_token: token;
        /// The type as it was written: see [`token_type`](Self::token_type).
        "token_type" token_type_text: required;
        /// For how many seconds the token is good, if the server says so.
        "expires_in" expires_in: seconds;
        /// Refresh token, not empty.
        "refresh_token" refresh_token: filled;
        /// Scope that was granted; `None` if it is the one that was asked for.
        "scope" scope: string;
        /// Type of the token of a token exchange (RFC 8693, 2.2.1).
        "issued_token_type" issued_token_type: string;
        /// Identity token of OpenID Connect.
        "id_token" id_token: string;
    }
}

/// Scheme with which a token is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenType {
    /// `Authorization: Bearer` (RFC 6750).
    Bearer,
    /// `Authorization: DPoP`, with a proof (RFC 9449).
    Dpop,
}

impl TokenResponse<'_> {
    /// Returns how the token is sent; `None` for a type that is not known. Compared without case.
    pub fn token_type(&self) -> Option<TokenType> {
        let is =
            |name| self.token_type_text.as_plain().is_some_and(|t| t.eq_ignore_ascii_case(name));
        if is("Bearer") { Some(TokenType::Bearer) } else { is("DPoP").then_some(TokenType::Dpop) }
    }
}

mcp_sansio::opaque_debug!(TokenResponse<'_> |it| {
    token_type: it.token_type_text, expires_in, scope, has_refresh_token: it.refresh_token.is_some()
});

/// Whether an access token can stand in a header field.
fn is_access_token(token: &str) -> bool {
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
    pub fn parse(body: &'j [u8]) -> Option<Self> {
        let [error, description] = Document::parse(body, &["error", "error_description"]).ok()?.0;
        Some(Self {
            error: error.required().ok()?,
            description: description.value.and_then(RawJson::as_string),
        })
    }

    /// Whether an answer is the error with this code.
    pub(super) fn is(body: &[u8], code: &str) -> bool {
        OAuthError::parse(body).is_some_and(|error| error.code() == *code)
    }

    /// Returns the code, for example `invalid_grant`.
    pub const fn code(&self) -> JsonStr<'j> {
        self.error
    }

    /// Returns the text for developers.
    pub const fn description(&self) -> Option<JsonStr<'j>> {
        self.description
    }
}

impl fmt::Display for OAuthError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        put_bounded(self.error.chars(), 64, f)?;
        match self.description {
            Some(text) => {
                f.write_str(": ")?;
                put_bounded(text.chars(), 256, f)
            }
            None => Ok(()),
        }
    }
}

impl core::error::Error for OAuthError<'_> {}

impl fmt::Debug for OAuthError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OAuthError({self})")
    }
}

/// Writes at most so many characters of a peer's text, safe for terminals.
fn put_bounded(
    mut chars: impl Iterator<Item = char>,
    most: usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    for c in chars.by_ref().take(most) {
        fmt::Display::fmt(&Printable::new(c), f)?;
    }
    if chars.next().is_some() { f.write_str("...") } else { Ok(()) }
}

// The record, which is kept between two runs of a program.

/// Reason why a record cannot be used. Nothing of it has been taken.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// It is of a version that is not known.
    Version,
    /// It is no record, or damaged.
    Damaged,
    /// It is about another MCP server.
    OtherServer,
    /// The arena has no room for it.
    TooLarge,
}

impl Authorization<'_> {
    /// Takes a record that was kept. Its form is checked, and that a token can stand in a header
    /// field. A program that can change it can give the client tokens and credentials, so keep it
    /// where only its owner can write.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn load(&mut self, record: &[u8]) -> Result<(), RecordError> {
        let entries = self.read(record)?;
        self.arena.clear();
        for (key, text) in entries.iter().filter(|(key, _)| *key != Tag::Endpoint.into()) {
            let text = core::str::from_utf8(text).unwrap_or_default();
            // There is room: the record is not longer than the arena.
            let _ = self.arena.set(key, &text);
        }
        self.flow.tokens = issuer_of_tokens(self.arena.entries());
        // No proof is one for tokens that are bound to another key than the setup's.
        if self.is_another_key(self.arena.get(Tag::TokenKey.of(self.flow.tokens))) {
            self.drop_tokens(self.flow.tokens);
        }
        self.flow.by_refresh = false;
        self.flow.generation = self.flow.generation.wrapping_add(1).max(1);
        self.restart(Phase::Idle);
        Ok(())
    }

    /// Forgets tokens, credentials and all that is known of authorization servers, as after a
    /// log-out, and ends the flow. Generations count on, so that late answers to requests with an
    /// old token are told apart.
    pub fn forget(&mut self) {
        self.arena.clear();
        *self.flow = Flow { generation: self.flow.generation, ..Flow::default() };
    }

    /// Writes what is to be kept: tokens, credentials of this client, and what is known of the
    /// authorization servers. It has secrets. Returns the length: at most that of the arena and of
    /// the server's URL, and 9 bytes.
    ///
    /// # Errors
    /// [`Full`] if `out` has no room for it.
    pub fn record(&self, out: &mut [u8]) -> Result<usize, Full> {
        let (head, rest) = out.split_first_chunk_mut::<RECORD_HEAD>().ok_or(Full)?;
        let endpoint = self.setup.endpoint.as_bytes();
        let start = put_entry(Tag::Endpoint.into(), endpoint, rest).ok_or(Full)?;
        let rest = rest.get_mut(start..).ok_or(Full)?;
        let len = self.arena.entries().copy_kept(rest).ok_or(Full)?;
        let [a, b, c, d] = u32::try_from(start + len).map_err(|_| Full)?.to_le_bytes();
        *head = [RECORD_VERSION, a, b, c, d];
        Ok(RECORD_HEAD + start + len)
    }

    /// Checks a record, and returns its entries.
    fn read<'r>(&self, record: &'r [u8]) -> Result<Entries<'r>, RecordError> {
        if record.first().is_some_and(|version| *version != RECORD_VERSION) {
            return Err(RecordError::Version);
        }
        let (head, rest) = record.split_first_chunk::<RECORD_HEAD>().ok_or(RecordError::Damaged)?;
        let [_, a, b, c, d] = *head;
        let len = u32::from_le_bytes([a, b, c, d]);
        if usize::try_from(len) != Ok(rest.len()) {
            return Err(RecordError::Damaged);
        }
        let entries = Entries::of_record(rest);
        let is_text = |(key, text): (Key, &[u8])| {
            key.is_valid_in_record()
                // Without it no client of the issuer would be found.
                && (key.group == 0 || entries.get(Tag::Issuer.of(key.group)).is_some())
                && core::str::from_utf8(text).is_ok_and(|text| {
                    // It goes into a header field as it is.
                    !key.is_within(Tag::AccessToken, Tag::AccessToken) || is_access_token(text)
                })
        };
        if !entries.is_complete() || !entries.iter().all(is_text) {
            return Err(RecordError::Damaged);
        }
        if entries.get(Tag::Endpoint) != Some(self.setup.endpoint) {
            return Err(RecordError::OtherServer);
        }
        if rest.len() > self.arena.capacity() {
            return Err(RecordError::TooLarge);
        }
        Ok(entries)
    }

    fn is_another_key(&self, thumbprint: Option<&str>) -> bool {
        let mut own = [0; THUMBPRINT];
        let mut own = Writer::new(&mut own);
        if let Some(key) = self.setup.dpop {
            put_thumbprint(key, &mut own);
        }
        thumbprint.is_some_and(|kept| kept != own.as_str())
    }

    /// Erases what another program has removed from the record: the tokens, by a log-out, or a
    /// refresh token that was refused. Authorization servers take its second use for a theft.
    pub(super) fn drop_removed(&mut self, record: &[u8]) {
        let (entries, number) = (self.read(record).ok(), self.flow.issuer);
        let is_kept = |tag: Tag| {
            let own = self.arena.get(tag.of(number));
            let is_own = |other: u8| entries.and_then(|it| it.get(tag.of(other))) == own;
            own.is_some() && issuers().any(is_own)
        };
        match (is_kept(Tag::AccessToken), is_kept(Tag::RefreshToken)) {
            (_, true) => {}
            (true, false) => self.arena.remove(Tag::RefreshToken.of(number)),
            (false, false) => self.drop_tokens(number),
        }
    }

    /// Takes a record if it has another access token that is of use with this setup's key: another
    /// program has logged in, or renewed it. That ends the flow. Returns whether the record was
    /// taken.
    pub fn load_newer(&mut self, record: &[u8]) -> bool {
        let is_newer = self.read(record).is_ok_and(|entries| {
            let number = issuer_of_tokens(entries);
            let token = entries.get(Tag::AccessToken.of(number));
            token.is_some()
                && token != self.arena.get(Tag::AccessToken.of(self.flow.tokens))
                && !self.is_another_key(entries.get(Tag::TokenKey.of(number)))
        });
        is_newer && self.load(record).is_ok()
    }
}

/// Returns the number of the issuer whose tokens are used; 0 without tokens.
fn issuer_of_tokens(entries: Entries<'_>) -> u8 {
    let has = |tag: Tag, number| entries.get(tag.of(number)).is_some();
    let has_token = |n: &u8| has(Tag::AccessToken, *n) || has(Tag::RefreshToken, *n);
    issuers().find(has_token).unwrap_or(0)
}

mcp_sansio::error_type!(RecordError {
    Version => "the record has an unknown version: log in again",
    Damaged => "the record is damaged: log in again",
    OtherServer => "the record is about another server",
    TooLarge => "the memory for the authorization has no room for the record",
});

/// Length of a thumbprint.
const THUMBPRINT: usize = 43;
/// The first byte of a record.
const RECORD_VERSION: u8 = 1;
/// Length of what stands before the texts: the version, and the length of all texts.
const RECORD_HEAD: usize = 5;

// Time of the day, which tokens, assertions and proofs name.

/// Seconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnixTime(u64);

impl UnixTime {
    /// Creates the time `secs` seconds after 1970-01-01 00:00 UTC.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs)
    }

    /// Returns the seconds since 1970-01-01 00:00 UTC.
    pub const fn as_secs(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;
    use std::string::ToString as _;

    use super::*;

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
