//! Metadata of a protected resource (RFC 9728), of an authorization server (RFC 8414, OpenID
//! Connect Discovery 1.0) and of a client, and the query that a browser brings back.

use core::fmt;

use super::arena::{Object, Writer};
use super::form::{Encoded, pairs};
use super::scope;
use super::setup::Signer;
use mcp_sansio::internal::split_once;
use mcp_sansio::{JsonStr, RawJson};

/// Reason why a document is not usable.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentError {
    /// The body is no JSON object. Of metadata it means "not here": many sites answer every path
    /// with a page.
    NotAnObject,
    /// A member that must be there is missing.
    Missing(&'static str),
    /// A member has a wrong type or value.
    Invalid(&'static str),
    /// A member occurs twice: implementations differ in which of them they use.
    Doubled(&'static str),
}

/// Declares a document that is borrowed from its JSON text: for each field the member that has it,
/// and the method of [`Member`] that reads it.
macro_rules! document {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$member_meta:meta])* $member:literal $field:ident: $kind:ident;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[non_exhaustive]
        pub struct $name<'j> {
            $($(#[$member_meta])* pub $field: document!(@type $kind),)+
        }

        impl<'j> $name<'j> {
            /// Reads a document.
            ///
            /// # Errors
            /// [`DocumentError`](crate::DocumentError) if it is no object, lacks a member whose
            /// field is no `Option`, list or `bool`, or if a member that is used here has a wrong
            /// type or occurs twice.
            pub fn parse(body: &'j [u8]) -> Result<Self, crate::DocumentError> {
                let [$($field),+] = crate::metadata::Document::parse(body, &[$($member),+])?.0;
                Ok(Self { $($field: $field.$kind()?),+ })
            }
        }
    };

    (@type string) => { Option<JsonStr<'j>> };
    (@type filled) => { Option<JsonStr<'j>> };
    (@type list) => { List<'j> };
    (@type flag) => { bool };
    (@type seconds) => { Option<u64> };
    (@type end) => { Option<u64> };
    (@type $required:ident) => { JsonStr<'j> };
}
pub(super) use document;

document! {
    /// Metadata of a protected resource, borrowed from its JSON text.
    pub struct ResourceMetadata {
        /// Identifier of the resource.
        "resource" resource: required;
        /// Issuers of the authorization servers.
        "authorization_servers" authorization_servers: list;
        /// Scopes of the resource.
        "scopes_supported" scopes_supported: list;
        /// Signature algorithms of DPoP proofs (RFC 9449, 5.1).
        "dpop_signing_alg_values_supported" dpop_signing_algs: list;
        /// Whether every token must be bound to a key.
        "dpop_bound_access_tokens_required" requires_dpop: flag;
        /// Name for people.
        "resource_name" resource_name: string;
    }
}

mcp_sansio::opaque_debug!(ResourceMetadata<'_> { resource, authorization_servers });

document! {
    /// Metadata of an authorization server, borrowed from its JSON text. URLs are not checked here.
    pub struct ServerMetadata {
        /// Issuer: see [`is_of_issuer`](Self::is_of_issuer).
        "issuer" issuer: required;
        /// URL that a person opens.
        "authorization_endpoint" authorization_endpoint: string;
        /// URL of token requests.
        "token_endpoint" token_endpoint: string;
        /// URL of dynamic registration (RFC 7591).
        "registration_endpoint" registration_endpoint: string;
        /// URL of the keys with which tokens are signed (RFC 7517).
        "jwks_uri" jwks_uri: string;
        /// URL of token introspection (RFC 7662).
        "introspection_endpoint" introspection_endpoint: string;
        /// URL of token revocation (RFC 7009).
        "revocation_endpoint" revocation_endpoint: string;
        /// Scopes that can be asked for.
        "scopes_supported" scopes_supported: list;
        /// Grant types. Absent, they are `authorization_code` and `implicit`.
        "grant_types_supported" grant_types_supported: list;
        /// Methods of PKCE. Absent, the server has none.
        "code_challenge_methods_supported" code_challenge_methods_supported: list;
        /// Ways to authenticate at the token endpoint. Absent, it is `client_secret_basic`.
        "token_endpoint_auth_methods_supported" token_endpoint_auth_methods_supported: list;
        /// Signature algorithms of `private_key_jwt`.
        "token_endpoint_auth_signing_alg_values_supported" token_endpoint_auth_signing_algs: list;
        /// Signature algorithms of DPoP proofs (RFC 9449, 5.1).
        "dpop_signing_alg_values_supported" dpop_signing_algs: list;
        /// Grant profiles, for example `urn:ietf:params:oauth:grant-profile:id-jag`.
        "authorization_grant_profiles_supported" authorization_grant_profiles_supported: list;
        /// Whether a client id can be the URL of a metadata document.
        "client_id_metadata_document_supported" supports_client_id_metadata_document: flag;
        /// Whether the answer to an authorization request must name the issuer (RFC 9207, 3).
        "authorization_response_iss_parameter_supported" sends_issuer: flag;
    }
}

impl ServerMetadata<'_> {
    /// Whether the document is that of the issuer from which its URL was made: byte for byte
    /// (2026-07-28, basic/authorization/authorization-server-discovery; RFC 8414, 3.3). If not,
    /// nothing of it may be used.
    pub fn is_of_issuer(&self, issuer: &str) -> bool {
        self.issuer == *issuer
    }
}

mcp_sansio::opaque_debug!(ServerMetadata<'_> { issuer });

/// An array of strings, borrowed from JSON text. Its `Display` output has those that are scope
/// tokens, with spaces between them.
#[derive(Clone, Copy)]
pub struct List<'j>(Option<RawJson<'j>>);

impl<'j> List<'j> {
    /// Whether the document has the list, be it empty.
    pub const fn is_present(self) -> bool {
        self.0.is_some()
    }

    /// Returns the strings.
    pub fn iter(self) -> impl Iterator<Item = JsonStr<'j>> + Clone {
        self.0.unwrap_or(RawJson::NULL).elements().filter_map(RawJson::as_string)
    }

    /// Whether the list has the text.
    pub fn contains(self, text: &str) -> bool {
        self.iter().any(|other| other == *text)
    }
}

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.iter().filter_map(JsonStr::as_plain);
        scope::write_tokens(plain.filter(|token| scope::is_token(token)), f)
    }
}

impl fmt::Debug for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.unwrap_or(RawJson::NULL), f)
    }
}

/// The members of an object that have one of `N` names, in the order of the names.
pub(super) struct Document<'j, const N: usize>(pub(super) [Member<'j>; N]);

impl<'j, const N: usize> Document<'j, N> {
    /// Reads the members in one pass. `null` is as good as nothing.
    pub(super) fn parse(body: &'j [u8], names: &[&'static str; N]) -> Result<Self, DocumentError> {
        let text = core::str::from_utf8(body).map_err(|_| DocumentError::NotAnObject)?;
        let json = RawJson::parse(text).map_err(|_| DocumentError::NotAnObject)?;
        if !json.is_object() {
            return Err(DocumentError::NotAnObject);
        }
        // Filled in place: `map` would hold the array twice on the stack.
        let mut found = [Member { name: "", value: None }; N];
        for (member, name) in found.iter_mut().zip(names) {
            member.name = name;
        }
        for (key, value) in json.members() {
            if let Some(member) = found.iter_mut().find(|member| key == *member.name)
                && member.value.replace(value).is_some()
            {
                return Err(DocumentError::Doubled(member.name));
            }
        }
        for member in &mut found {
            member.value = member.value.filter(|value| !value.is_null());
        }
        Ok(Self(found))
    }
}

/// A member of a [`Document`].
#[derive(Clone, Copy)]
pub(super) struct Member<'j> {
    pub(super) name: &'static str,
    pub(super) value: Option<RawJson<'j>>,
}

impl<'j> Member<'j> {
    pub(super) fn required(self) -> Result<JsonStr<'j>, DocumentError> {
        self.string()?.ok_or(DocumentError::Missing(self.name))
    }

    pub(super) fn string(self) -> Result<Option<JsonStr<'j>>, DocumentError> {
        self.read(RawJson::as_string)
    }

    /// A string; an empty one counts as absent.
    pub(super) fn filled(self) -> Result<Option<JsonStr<'j>>, DocumentError> {
        Ok(self.string()?.filter(|text| !text.inner().is_empty()))
    }

    fn id(self) -> Result<JsonStr<'j>, DocumentError> {
        let id = self.required()?;
        if id.inner().is_empty() { Err(DocumentError::Invalid(self.name)) } else { Ok(id) }
    }

    /// A token that can stand in a header field.
    pub(super) fn token(self) -> Result<JsonStr<'j>, DocumentError> {
        let token = self.id()?;
        let is_valid = token.chars().all(|c| c.is_ascii_graphic());
        if is_valid { Ok(token) } else { Err(DocumentError::Invalid(self.name)) }
    }

    fn flag(self) -> Result<bool, DocumentError> {
        Ok(self.read(RawJson::as_bool)?.unwrap_or(false))
    }

    /// Reads seconds. Some servers write the number as a string, and some with a fraction, which is
    /// cut off. They are not read as `f64`: its parser and its tables are 18 KB of flash.
    pub(super) fn seconds(self) -> Result<Option<u64>, DocumentError> {
        let Some(value) = self.value else { return Ok(None) };
        let text = value.as_string().map_or(value.as_str(), JsonStr::inner);
        let (whole, fraction) = split_once(text, '.').unwrap_or((text, "0"));
        // An exponent would change what is before the point.
        let is_plain =
            [whole, fraction].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
        let seconds = if is_plain { whole.parse().ok() } else { None };
        seconds.map(Some).ok_or(DocumentError::Invalid(self.name))
    }

    /// A time, where zero is none.
    fn end(self) -> Result<Option<u64>, DocumentError> {
        Ok(self.seconds()?.filter(|at| *at > 0))
    }

    pub(super) fn list(self) -> Result<List<'j>, DocumentError> {
        self.read(|value| value.is_array().then_some(value)).map(List)
    }

    fn read<T>(
        self,
        read: impl FnOnce(RawJson<'j>) -> Option<T>,
    ) -> Result<Option<T>, DocumentError> {
        self.value.map(|value| read(value).ok_or(DocumentError::Invalid(self.name))).transpose()
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnObject => f.write_str("the body is no JSON object"),
            Self::Missing(name) => write!(f, "the member `{name}` is missing"),
            Self::Invalid(name) => write!(f, "the member `{name}` has a wrong type or value"),
            Self::Doubled(name) => write!(f, "the member `{name}` occurs twice"),
        }
    }
}

mcp_sansio::error_type!(DocumentError);

/// Client metadata, in a request for registration or in a client id metadata document.
///
/// ```
/// # use mcp_sansio_oauth::{ClientMetadata, Writer};
/// let mut memory = [0; 512];
/// let mut out = Writer::new(&mut memory);
/// ClientMetadata::new("Inspector", &["http://127.0.0.1/callback"]).put(&mut out);
/// assert_eq!(
///     out.finish().unwrap(),
///     r#"{"client_name":"Inspector","redirect_uris":["http://127.0.0.1/callback"],"#.to_owned()
///         + r#""application_type":"native","grant_types":["authorization_code","refresh_token"],"#
///         + r#""response_types":["code"],"token_endpoint_auth_method":"none"}"#
/// );
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct ClientMetadata<'s> {
    client_name: &'s str,
    redirect_uris: &'s [&'s str],
    document: Option<&'s str>,
    application_type: &'s str,
    refresh_token: bool,
    token_endpoint_auth_method: &'s str,
    scope: Option<&'s str>,
    key: Option<&'s dyn Signer>,
}

impl<'s> ClientMetadata<'s> {
    /// Creates a native client that authenticates with nothing and wants refresh tokens.
    pub const fn new(client_name: &'s str, redirect_uris: &'s [&'s str]) -> Self {
        Self {
            client_name,
            redirect_uris,
            document: None,
            application_type: "native",
            refresh_token: true,
            token_endpoint_auth_method: "none",
            scope: None,
            key: None,
        }
    }

    /// Makes it a metadata document, which is served at this URL: `https`, with a path (2025-11-25
    /// and later, basic/authorization, client id metadata documents).
    pub const fn document(self, url: &'s str) -> Self {
        Self { document: Some(url), ..self }
    }

    /// Sets `application_type`: `native` for loopback redirects, `web` for those to a server
    /// (2026-07-28, basic/authorization/client-registration).
    pub const fn application_type(self, application_type: &'s str) -> Self {
        Self { application_type, ..self }
    }

    /// Whether the client wants refresh tokens.
    pub const fn refresh_token(self, refresh_token: bool) -> Self {
        Self { refresh_token, ..self }
    }

    /// Sets how the client authenticates at the token endpoint, for example
    /// `client_secret_basic`.
    pub const fn token_endpoint_auth_method(self, method: &'s str) -> Self {
        Self { token_endpoint_auth_method: method, ..self }
    }

    /// Sets the scope that the client can ask for.
    pub const fn scope(self, scope: &'s str) -> Self {
        Self { scope: Some(scope), ..self }
    }

    /// Names the public key of `private_key_jwt`.
    pub const fn key(self, key: &'s dyn Signer) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Writes the JSON text.
    pub fn put(&self, out: &mut Writer<'_>) {
        let grants: &[&str] = if self.refresh_token {
            &["authorization_code", "refresh_token"]
        } else {
            &["authorization_code"]
        };
        let mut object = Object::begin(out);
        object
            .text_if("client_id", self.document)
            .text("client_name", self.client_name)
            .texts("redirect_uris", self.redirect_uris)
            .text("application_type", self.application_type)
            .texts("grant_types", grants)
            .texts("response_types", &["code"])
            .text("token_endpoint_auth_method", self.token_endpoint_auth_method)
            .text_if("scope", self.scope);
        if let Some(key) = self.key {
            object.member("jwks", |out| {
                let _ = out.write_str("{\"keys\":[");
                let mut jwk = Object::begin(out);
                key.jwk(&mut |name, value| {
                    jwk.text(name, value);
                });
                jwk.text_if("kid", key.key_id()).text("alg", key.alg()).text("use", "sig").end();
                let _ = out.write_str("]}");
            });
        }
        object.end();
    }
}

mcp_sansio::opaque_debug!(ClientMetadata<'_> { client_name, redirect_uris });

document! {
    /// The answer to a registration (RFC 7591, 3.2.1), borrowed from its JSON text. `Debug` does
    /// not show the secret.
    pub struct RegistrationResponse {
        /// Client id, not empty.
        "client_id" client_id: id;
        /// Secret, not empty.
        "client_secret" client_secret: filled;
        /// When the secret ends, in seconds since 1970; `None` if it does not.
        "client_secret_expires_at" client_secret_expires_at: end;
        /// How the client authenticates at the token endpoint.
        "token_endpoint_auth_method" token_endpoint_auth_method: string;
    }
}

mcp_sansio::opaque_debug!(RegistrationResponse<'_> { client_id, token_endpoint_auth_method });

// The query with which the browser returns from the authorization server.

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
#[derive(Clone, Copy, PartialEq, Eq)]
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

mcp_sansio::error_type!(RedirectError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auth_28_a_page_is_no_document_and_a_bad_document_is_an_error() {
        for page in [&b"<!doctype html>"[..], b"", b"[]", b"\"x\"", b"{} {}", b"{\"a\":", b"\xff{}"]
        {
            assert_eq!(ServerMetadata::parse(page).unwrap_err(), DocumentError::NotAnObject);
            assert_eq!(ResourceMetadata::parse(page).unwrap_err(), DocumentError::NotAnObject);
        }
        for (document, error) in [
            (r#"{}"#, DocumentError::Missing("issuer")),
            (r#"{"issuer":null}"#, DocumentError::Missing("issuer")),
            (r#"{"issuer":1}"#, DocumentError::Invalid("issuer")),
            (r#"{"issuer":["a"]}"#, DocumentError::Invalid("issuer")),
            (r#"{"issuer":"a","issuer":"b"}"#, DocumentError::Doubled("issuer")),
            (r#"{"issuer":"a","\u0069ssuer":null}"#, DocumentError::Doubled("issuer")),
            (r#"{"issuer":"a","jwks_uri":{}}"#, DocumentError::Invalid("jwks_uri")),
            (
                r#"{"issuer":"a","scopes_supported":"b"}"#,
                DocumentError::Invalid("scopes_supported"),
            ),
        ] {
            let read = ServerMetadata::parse(document.as_bytes());
            assert_eq!(read.unwrap_err(), error, "{document}");
        }
        assert_eq!(ResourceMetadata::parse(b"{}").unwrap_err(), DocumentError::Missing("resource"));
    }
}
