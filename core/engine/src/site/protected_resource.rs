//! Protected resource metadata (RFC 9728).

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::Serialize;

use super::challenge::OFFLINE_ACCESS;

/// Protected resource metadata: where a client gets a token for this server (RFC 9728). Serialized,
/// it is the document.
#[derive(Clone, Debug, Serialize)]
#[must_use]
pub struct ProtectedResource {
    resource: String,
    authorization_servers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_documentation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dpop_signing_alg_values_supported: Vec<String>,
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    dpop_bound_access_tokens_required: bool,
}

impl ProtectedResource {
    /// Creates the metadata. `resource` is the public URL of the endpoint, e.g.
    /// `https://mcp.example.com/mcp`; `authorization_server` is the issuer of its tokens.
    pub fn new(resource: impl Into<String>, authorization_server: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers: vec![authorization_server.into()],
            scopes_supported: Vec::new(),
            bearer_methods_supported: ["header"],
            resource_name: None,
            resource_documentation: None,
            jwks_uri: None,
            dpop_signing_alg_values_supported: Vec::new(),
            dpop_bound_access_tokens_required: false,
        }
    }

    /// Adds an authorization server. A client chooses one of them.
    pub fn authorization_server(mut self, url: impl Into<String>) -> Self {
        self.authorization_servers.push(url.into());
        self
    }

    /// Sets the supported scopes. `offline_access` is left out: it is no scope of a resource
    /// (2026-07-28, basic/authorization).
    pub fn scopes(self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let scopes = scopes.into_iter().map(Into::into);
        let scopes_supported = scopes.filter(|scope: &String| scope != OFFLINE_ACCESS).collect();
        Self { scopes_supported, ..self }
    }

    /// Sets the name for people.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { resource_name: Some(name.into()), ..self }
    }

    /// Sets the URL of a page for developers.
    pub fn documentation(self, url: impl Into<String>) -> Self {
        Self { resource_documentation: Some(url.into()), ..self }
    }

    /// Sets the URL of the keys with which the resource itself signs.
    pub fn jwks_uri(self, url: impl Into<String>) -> Self {
        Self { jwks_uri: Some(url.into()), ..self }
    }

    /// Sets the accepted algorithms of proofs of bound tokens (RFC 9449): `ES256`, `EdDSA`.
    pub fn dpop(self, algs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let algs = algs.into_iter().map(Into::into).collect();
        Self { dpop_signing_alg_values_supported: algs, ..self }
    }

    /// Tells clients that all tokens must be bound. The check has to refuse others.
    pub fn dpop_required(self) -> Self {
        Self { dpop_bound_access_tokens_required: true, ..self }
    }

    /// Returns the URL of the metadata: the well-known path, followed by path and query of the
    /// resource (RFC 9728, 3.1).
    pub fn url(&self) -> String {
        let (origin, path, query) = self.split();
        format!("{origin}{WELL_KNOWN}{path}{query}")
    }

    /// Returns the paths of the metadata, with and without the path of the resource, for the
    /// routes of a framework in front. The query is ignored, because there is only one resource.
    pub fn paths(&self) -> Vec<String> {
        let path = self.split().1;
        let mut paths = vec![WELL_KNOWN.to_owned(), format!("{WELL_KNOWN}{path}")];
        paths.dedup();
        paths
    }

    /// Returns scheme and host.
    pub fn origin(&self) -> &str {
        self.split().0
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
}
