//! Metadata of a protected resource (RFC 9728) and of an authorization server (RFC 8414, OpenID
//! Connect Discovery 1.0).

use core::fmt;

use super::scope;
use crate::bytes::split_once;
use crate::json::{JsonStr, RawJson};

/// Reason why a document is not usable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

/// Metadata of a protected resource, borrowed from its JSON text.
#[derive(Clone, Copy)]
pub struct ResourceMetadata<'j> {
    resource: JsonStr<'j>,
    authorization_servers: List<'j>,
    scopes_supported: List<'j>,
    dpop_signing_algs: List<'j>,
    dpop_bound_access_tokens_required: bool,
    resource_name: Option<JsonStr<'j>>,
}

impl<'j> ResourceMetadata<'j> {
    /// Reads a document.
    ///
    /// # Errors
    /// [`DocumentError`] if it is no object, has no `resource`, or a member that is used here has a
    /// wrong type or occurs twice.
    pub fn parse(body: &'j [u8]) -> Result<Self, DocumentError> {
        const NAMES: [&str; 6] = [
            "resource",
            "authorization_servers",
            "scopes_supported",
            "dpop_signing_alg_values_supported",
            "dpop_bound_access_tokens_required",
            "resource_name",
        ];
        let [resource, servers, scopes, dpop_algs, dpop_required, name] =
            Document::parse(body, &NAMES)?.0;
        Ok(Self {
            resource: resource.required()?,
            authorization_servers: servers.list()?,
            scopes_supported: scopes.list()?,
            dpop_signing_algs: dpop_algs.list()?,
            dpop_bound_access_tokens_required: dpop_required.flag()?,
            resource_name: name.string()?,
        })
    }

    /// Returns the identifier of the resource.
    #[must_use]
    pub const fn resource(&self) -> JsonStr<'j> {
        self.resource
    }

    /// Returns the issuers of the authorization servers.
    #[must_use]
    pub const fn authorization_servers(&self) -> List<'j> {
        self.authorization_servers
    }

    /// Returns the scopes of the resource.
    #[must_use]
    pub const fn scopes_supported(&self) -> List<'j> {
        self.scopes_supported
    }

    /// Returns the signature algorithms of DPoP proofs (RFC 9449, 5.1).
    #[must_use]
    pub const fn dpop_signing_algs(&self) -> List<'j> {
        self.dpop_signing_algs
    }

    /// Whether every token must be bound to a key.
    #[must_use]
    pub const fn requires_dpop(&self) -> bool {
        self.dpop_bound_access_tokens_required
    }

    /// Returns the name for people.
    #[must_use]
    pub const fn resource_name(&self) -> Option<JsonStr<'j>> {
        self.resource_name
    }
}

/// Metadata of an authorization server, borrowed from its JSON text. URLs are not checked here.
#[derive(Clone, Copy)]
pub struct ServerMetadata<'j> {
    issuer: JsonStr<'j>,
    urls: [Option<JsonStr<'j>>; 6],
    lists: [List<'j>; 7],
    client_id_metadata_document: bool,
    authorization_response_iss: bool,
}

impl<'j> ServerMetadata<'j> {
    /// Reads a document.
    ///
    /// # Errors
    /// [`DocumentError`] if it is no object, has no `issuer`, or a member that is used here has a
    /// wrong type or occurs twice.
    pub fn parse(body: &'j [u8]) -> Result<Self, DocumentError> {
        const NAMES: [&str; 16] = [
            "issuer",
            "authorization_endpoint",
            "token_endpoint",
            "registration_endpoint",
            "jwks_uri",
            "introspection_endpoint",
            "revocation_endpoint",
            "scopes_supported",
            "grant_types_supported",
            "code_challenge_methods_supported",
            "token_endpoint_auth_methods_supported",
            "token_endpoint_auth_signing_alg_values_supported",
            "dpop_signing_alg_values_supported",
            "authorization_grant_profiles_supported",
            "client_id_metadata_document_supported",
            "authorization_response_iss_parameter_supported",
        ];
        let [issuer, a, t, r, j, i, v, scopes, grants, pkce, auth, algs, dpop, profiles, id, iss] =
            Document::parse(body, &NAMES)?.0;
        Ok(Self {
            issuer: issuer.required()?,
            urls: [a.string()?, t.string()?, r.string()?, j.string()?, i.string()?, v.string()?],
            lists: [
                scopes.list()?,
                grants.list()?,
                pkce.list()?,
                auth.list()?,
                algs.list()?,
                dpop.list()?,
                profiles.list()?,
            ],
            client_id_metadata_document: id.flag()?,
            authorization_response_iss: iss.flag()?,
        })
    }

    /// Returns the issuer.
    #[must_use]
    pub const fn issuer(&self) -> JsonStr<'j> {
        self.issuer
    }

    /// Whether the document is that of the issuer from which its URL was made: byte for byte
    /// (2026-07-28, basic/authorization/authorization-server-discovery; RFC 8414, 3.3). If not,
    /// nothing of it may be used.
    #[must_use]
    pub fn is_of_issuer(&self, issuer: &str) -> bool {
        self.issuer == *issuer
    }

    /// Returns the URL that a person opens.
    #[must_use]
    pub const fn authorization_endpoint(&self) -> Option<JsonStr<'j>> {
        self.urls[0]
    }

    /// Returns the URL of token requests.
    #[must_use]
    pub const fn token_endpoint(&self) -> Option<JsonStr<'j>> {
        self.urls[1]
    }

    /// Returns the URL of dynamic registration (RFC 7591).
    #[must_use]
    pub const fn registration_endpoint(&self) -> Option<JsonStr<'j>> {
        self.urls[2]
    }

    /// Returns the URL of the keys with which tokens are signed (RFC 7517).
    #[must_use]
    pub const fn jwks_uri(&self) -> Option<JsonStr<'j>> {
        self.urls[3]
    }

    /// Returns the URL of token introspection (RFC 7662).
    #[must_use]
    pub const fn introspection_endpoint(&self) -> Option<JsonStr<'j>> {
        self.urls[4]
    }

    /// Returns the URL of token revocation (RFC 7009).
    #[must_use]
    pub const fn revocation_endpoint(&self) -> Option<JsonStr<'j>> {
        self.urls[5]
    }

    /// Returns the scopes that can be asked for.
    #[must_use]
    pub const fn scopes_supported(&self) -> List<'j> {
        self.lists[0]
    }

    /// Returns the grant types. Absent, they are `authorization_code` and `implicit`.
    #[must_use]
    pub const fn grant_types_supported(&self) -> List<'j> {
        self.lists[1]
    }

    /// Returns the methods of PKCE. Absent, the server has none.
    #[must_use]
    pub const fn code_challenge_methods_supported(&self) -> List<'j> {
        self.lists[2]
    }

    /// Returns the ways to authenticate at the token endpoint. Absent, it is
    /// `client_secret_basic`.
    #[must_use]
    pub const fn token_endpoint_auth_methods_supported(&self) -> List<'j> {
        self.lists[3]
    }

    /// Returns the signature algorithms of `private_key_jwt`.
    #[must_use]
    pub const fn token_endpoint_auth_signing_algs(&self) -> List<'j> {
        self.lists[4]
    }

    /// Returns the signature algorithms of DPoP proofs (RFC 9449, 5.1).
    #[must_use]
    pub const fn dpop_signing_algs(&self) -> List<'j> {
        self.lists[5]
    }

    /// Returns the grant profiles, for example `urn:ietf:params:oauth:grant-profile:id-jag`.
    #[must_use]
    pub const fn authorization_grant_profiles_supported(&self) -> List<'j> {
        self.lists[6]
    }

    /// Whether a client id can be the URL of a metadata document.
    #[must_use]
    pub const fn supports_client_id_metadata_document(&self) -> bool {
        self.client_id_metadata_document
    }

    /// Whether the answer to an authorization request must name the issuer (RFC 9207, 3).
    #[must_use]
    pub const fn sends_issuer(&self) -> bool {
        self.authorization_response_iss
    }
}

/// An array of strings, borrowed from JSON text. Its `Display` output has those that are scope
/// tokens, with spaces between them.
#[derive(Clone, Copy)]
pub struct List<'j>(Option<RawJson<'j>>);

impl<'j> List<'j> {
    /// Whether the document has the list, be it empty.
    #[must_use]
    pub const fn is_present(self) -> bool {
        self.0.is_some()
    }

    /// Returns the strings.
    pub fn iter(self) -> impl Iterator<Item = JsonStr<'j>> + Clone {
        self.0.unwrap_or(RawJson::NULL).elements().filter_map(RawJson::as_string)
    }

    /// Whether the list has the text.
    #[must_use]
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

impl fmt::Debug for ResourceMetadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers = &self.authorization_servers;
        f.debug_struct("ResourceMetadata")
            .field("resource", &self.resource)
            .field("authorization_servers", servers)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerMetadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerMetadata").field("issuer", &self.issuer).finish_non_exhaustive()
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
        let mut found = names.map(|name| Member { name, value: None });
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

    pub(super) fn flag(self) -> Result<bool, DocumentError> {
        Ok(self.read(RawJson::as_bool)?.unwrap_or(false))
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

/// Reads seconds. Some servers write the number as a string, and some with a fraction, which is cut
/// off. They are not read as `f64`: its parser and its tables are 18 KB of flash.
pub(super) fn seconds(member: Member<'_>) -> Result<Option<u64>, DocumentError> {
    let Some(value) = member.value else { return Ok(None) };
    let text = value.as_string().map_or(value.as_str(), JsonStr::inner);
    let (whole, fraction) = split_once(text, '.').unwrap_or((text, "0"));
    // An exponent would change what is before the point.
    let is_plain = [whole, fraction].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let seconds = if is_plain { whole.parse().ok() } else { None };
    seconds.map(Some).ok_or(DocumentError::Invalid(member.name))
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

impl core::error::Error for DocumentError {}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString as _;

    use super::*;

    #[test]
    fn auth_24_documents_of_both_kinds_are_read() {
        let metadata = ServerMetadata::parse(
            br#" {"issuer":"https:\/\/as.test","token_endpoint":"https://as.test/t",
            "code_challenge_methods_supported":["plain","S256"],"scopes_supported":["a",1,"b c","d"],
            "authorization_response_iss_parameter_supported":true,"registration_endpoint":null,
            "x":{"issuer":"https://evil.test"}} "#,
        )
        .unwrap();
        assert!(metadata.is_of_issuer("https://as.test"));
        assert_eq!(metadata.token_endpoint().unwrap(), "https://as.test/t");
        assert!(metadata.registration_endpoint().is_none());
        assert!(metadata.authorization_endpoint().is_none());
        assert!(metadata.code_challenge_methods_supported().contains("S256"));
        assert!(!metadata.code_challenge_methods_supported().contains("s256"));
        assert!(metadata.sends_issuer() && !metadata.supports_client_id_metadata_document());
        assert!(!metadata.grant_types_supported().is_present());
        assert_eq!(metadata.scopes_supported().to_string(), "a d");
        let resource = ResourceMetadata::parse(
            br#"{"resource":"https://rs.test/mcp","authorization_servers":[],"resource_name":"R",
            "dpop_bound_access_tokens_required":true,"dpop_signing_alg_values_supported":["ES256"]}"#,
        )
        .unwrap();
        assert_eq!(resource.resource(), "https://rs.test/mcp");
        let servers = resource.authorization_servers();
        assert!(servers.is_present() && servers.iter().next().is_none());
        assert!(!resource.scopes_supported().is_present());
        assert!(resource.requires_dpop() && resource.dpop_signing_algs().contains("ES256"));
        assert_eq!(resource.resource_name().unwrap(), "R");
    }

    #[test]
    fn auth_29_auth_30_an_issuer_is_compared_byte_for_byte() {
        let metadata = ServerMetadata::parse(br#"{"issuer":"https://as.test/a"}"#).unwrap();
        for other in [
            "https://as.test/a/",
            "https://AS.test/a",
            "https://as.test:443/a",
            "https://as.test",
            "https://as.test/%61",
            "",
            "http://as.test/a",
        ] {
            assert!(!metadata.is_of_issuer(other), "{other}");
        }
        assert!(metadata.is_of_issuer("https://as.test/a"));
    }

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
