//! Bearer tokens and protected resource metadata: the resource server's part of the authorization
//! specification (2025-06-18 and later, basic/authorization).

use mcp_sansio::http::{RequestHead, SingleValue};
use serde::Serialize;

/// Credentials of a request.
#[derive(Debug)]
pub struct Credentials<'r> {
    /// Bearer token, if there is exactly one `Authorization` field with one.
    pub token: Option<&'r str>,
    /// Head of the request.
    pub head: &'r RequestHead<'r>,
}

impl<'r> Credentials<'r> {
    pub(super) fn of(head: &'r RequestHead<'r>) -> Self {
        let value = match head.fields.single("authorization") {
            SingleValue::Value(value) => Some(value),
            _ => None,
        };
        let token = value
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        Self {
            token: token
                .map(|(_, token)| token.trim_matches(' '))
                .filter(|token| !token.is_empty()),
            head,
        }
    }
}

/// The reason why a request is denied, and its HTTP response.
#[derive(Clone, Debug)]
pub struct AuthorizationError {
    pub(super) status: u16,
    error: Option<&'static str>,
    scope: Option<String>,
}

impl AuthorizationError {
    /// 401: authentication is required, and there is no token.
    #[must_use]
    pub fn missing_token() -> Self {
        Self { status: 401, error: None, scope: None }
    }

    /// 401: the token is unknown, issued for another server, or expired.
    #[must_use]
    pub fn invalid_token() -> Self {
        Self { status: 401, error: Some("invalid_token"), scope: None }
    }

    /// 403: the token is valid, but its scope is insufficient. `scope` is the required one, e.g.
    /// `files:read files:write`.
    #[must_use]
    pub fn insufficient_scope(scope: impl Into<String>) -> Self {
        Self { status: 403, error: Some("insufficient_scope"), scope: Some(scope.into()) }
    }

    /// 400: the credentials are malformed.
    #[must_use]
    pub fn invalid_request() -> Self {
        Self { status: 400, error: Some("invalid_request"), scope: None }
    }

    /// Sets the scope that a client should request.
    #[must_use]
    pub fn scope(self, scope: impl Into<String>) -> Self {
        Self { scope: Some(scope.into()), ..self }
    }

    /// Returns the value of `WWW-Authenticate`.
    pub(super) fn challenge(&self, resource: Option<&ProtectedResource>) -> String {
        let metadata = resource.map(ProtectedResource::url);
        let parts = [
            ("error", self.error),
            ("scope", self.scope.as_deref()),
            ("resource_metadata", metadata.as_deref()),
        ];
        let parts = parts
            .iter()
            .filter_map(|(name, value)| Some(format!("{name}=\"{}\"", quoted((*value)?))));
        let parts = parts.collect::<Vec<_>>().join(", ");
        if parts.is_empty() { "Bearer".into() } else { format!("Bearer {parts}") }
    }
}

/// Removes the characters that a quoted string cannot contain.
fn quoted(text: &str) -> String {
    text.chars().filter(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\')).collect()
}

/// Protected resource metadata: where a client gets a token for this server (RFC 9728).
#[derive(Clone, Debug, Serialize)]
pub struct ProtectedResource {
    resource: String,
    authorization_servers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
}

impl ProtectedResource {
    /// Creates the metadata. `resource` is the public URL of the endpoint, e.g.
    /// `https://mcp.example.com/mcp`; `authorization_server` is the issuer of its tokens.
    #[must_use]
    pub fn new(resource: impl Into<String>, authorization_server: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers: vec![authorization_server.into()],
            scopes_supported: Vec::new(),
            bearer_methods_supported: ["header"],
        }
    }

    /// Adds an authorization server.
    #[must_use]
    pub fn authorization_server(mut self, url: impl Into<String>) -> Self {
        self.authorization_servers.push(url.into());
        self
    }

    /// Sets the supported scopes.
    #[must_use]
    pub fn scopes(self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { scopes_supported: scopes.into_iter().map(Into::into).collect(), ..self }
    }

    /// Returns the URL of the metadata: the well-known path, followed by path and query of the
    /// resource (RFC 9728, 3.1).
    fn url(&self) -> String {
        let (origin, path, query) = self.split();
        format!("{origin}{WELL_KNOWN}{path}{query}")
    }

    /// Returns the paths of the metadata, with and without the path of the resource. The query is
    /// ignored, because there is only one resource.
    pub(super) fn paths(&self) -> Vec<String> {
        let path = self.split().1;
        let mut paths = vec![WELL_KNOWN.to_owned(), format!("{WELL_KNOWN}{path}")];
        paths.dedup();
        paths
    }

    /// Returns scheme and host, path, and query with its question mark. A path of a single slash is
    /// empty.
    fn split(&self) -> (&str, &str, &str) {
        let host = self.resource.find("://").map_or(0, |at| at + 3);
        let (url, query) =
            self.resource.split_at(self.resource.find('?').unwrap_or(self.resource.len()));
        let path =
            url.get(host..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| host + at);
        let (origin, path) = url.split_at(path);
        (origin, if path == "/" { "" } else { path }, query)
    }
}

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_says_what_is_missing_and_where_to_get_it() {
        let resource =
            ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com")
                .scopes(["a"]);
        assert_eq!(AuthorizationError::missing_token().challenge(None), "Bearer");
        assert_eq!(
            AuthorizationError::insufficient_scope("a b").challenge(Some(&resource)),
            "Bearer error=\"insufficient_scope\", scope=\"a b\", \
             resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\""
        );
        let well_known = "/.well-known/oauth-protected-resource";
        assert_eq!(resource.paths(), [well_known.to_owned(), format!("{well_known}/mcp")]);
        assert_eq!(quoted("a\"\r\nb\\"), "ab");
    }

    #[test]
    fn s8_the_url_of_the_metadata_has_path_and_query_of_the_resource() {
        let well_known = "/.well-known/oauth-protected-resource";
        for (resource, url, path) in [
            ("https://a.example/mcp?x=y", "/mcp?x=y", "/mcp"),
            ("https://a.example/mcp/", "/mcp/", "/mcp/"),
            ("https://a.example/mcp/?x=/", "/mcp/?x=/", "/mcp/"),
            ("https://a.example/?x=y", "?x=y", ""),
            ("https://a.example?x=/y", "?x=/y", ""),
            ("https://a.example/", "", ""),
            ("https://a.example", "", ""),
        ] {
            let resource = ProtectedResource::new(resource, "https://auth.example");
            assert_eq!(resource.url(), format!("https://a.example{well_known}{url}"));
            assert!(resource.paths().contains(&format!("{well_known}{path}")), "{resource:?}");
        }
    }

    #[test]
    fn a_token_comes_in_one_authorization_field() {
        let token = |fields: &[(&str, &str)]| {
            let head = RequestHead::new("POST", "/mcp?token=x", &fields);
            Credentials::of(&head).token.map(str::to_owned)
        };
        assert_eq!(token(&[("Authorization", "bearer  abc ")]).as_deref(), Some("abc"));
        for fields in [
            &[("Authorization", "Basic abc")][..],
            &[("Authorization", "Bearer ")],
            &[("authorization", "Bearer a"); 2],
            &[],
        ] {
            assert_eq!(token(fields), None);
        }
    }
}
