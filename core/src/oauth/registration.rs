//! Client metadata, for dynamic registration (RFC 7591) and for metadata documents.

use core::fmt;

use super::metadata::{Document, DocumentError, seconds};
use super::object::Object;
use super::signer::Signer;
use super::writer::Writer;
use crate::json::JsonStr;

/// Client metadata, in a request for registration or in a client id metadata document.
///
/// ```
/// # use mcp_sansio::oauth::{ClientMetadata, Writer};
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
    #[must_use]
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
    #[must_use]
    pub const fn document(self, url: &'s str) -> Self {
        Self { document: Some(url), ..self }
    }

    /// Sets `application_type`: `native` for loopback redirects, `web` for those to a server
    /// (2026-07-28, basic/authorization/client-registration).
    #[must_use]
    pub const fn application_type(self, application_type: &'s str) -> Self {
        Self { application_type, ..self }
    }

    /// Whether the client wants refresh tokens.
    #[must_use]
    pub const fn refresh_token(self, refresh_token: bool) -> Self {
        Self { refresh_token, ..self }
    }

    /// Sets how the client authenticates at the token endpoint, for example
    /// `client_secret_basic`.
    #[must_use]
    pub const fn token_endpoint_auth_method(self, method: &'s str) -> Self {
        Self { token_endpoint_auth_method: method, ..self }
    }

    /// Sets the scope that the client can ask for.
    #[must_use]
    pub const fn scope(self, scope: &'s str) -> Self {
        Self { scope: Some(scope), ..self }
    }

    /// Names the public key of `private_key_jwt`.
    #[must_use]
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

impl fmt::Debug for ClientMetadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientMetadata")
            .field("client_name", &self.client_name)
            .field("redirect_uris", &self.redirect_uris)
            .finish_non_exhaustive()
    }
}

/// The answer to a registration (RFC 7591, 3.2.1), borrowed from its JSON text. `Debug` does not
/// show the secret.
#[derive(Clone, Copy)]
pub struct RegistrationResponse<'j> {
    client_id: JsonStr<'j>,
    client_secret: Option<JsonStr<'j>>,
    client_secret_expires_at: Option<u64>,
    token_endpoint_auth_method: Option<JsonStr<'j>>,
}

impl<'j> RegistrationResponse<'j> {
    /// Reads an answer.
    ///
    /// # Errors
    /// [`DocumentError`] if it is no object, has no `client_id`, or a member that is used here has
    /// a wrong type or occurs twice.
    pub fn parse(body: &'j [u8]) -> Result<Self, DocumentError> {
        const NAMES: [&str; 4] = [
            "client_id",
            "client_secret",
            "client_secret_expires_at",
            "token_endpoint_auth_method",
        ];
        let [id, secret, expires_at, method] = Document::parse(body, &NAMES)?.0;
        let client_id = id.required()?;
        if client_id.inner().is_empty() {
            return Err(DocumentError::Invalid(id.name));
        }
        Ok(Self {
            client_id,
            client_secret: secret.string()?.filter(|secret| !secret.inner().is_empty()),
            client_secret_expires_at: seconds(expires_at)?.filter(|at| *at > 0),
            token_endpoint_auth_method: method.string()?,
        })
    }

    /// Returns the client id.
    #[must_use]
    pub const fn client_id(&self) -> JsonStr<'j> {
        self.client_id
    }

    /// Returns the secret.
    #[must_use]
    pub const fn client_secret(&self) -> Option<JsonStr<'j>> {
        self.client_secret
    }

    /// Returns when the secret ends, in seconds since 1970; `None` if it does not.
    #[must_use]
    pub const fn client_secret_expires_at(&self) -> Option<u64> {
        self.client_secret_expires_at
    }

    /// Returns how the client authenticates at the token endpoint.
    #[must_use]
    pub const fn token_endpoint_auth_method(&self) -> Option<JsonStr<'j>> {
        self.token_endpoint_auth_method
    }
}

impl fmt::Debug for RegistrationResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistrationResponse")
            .field("client_id", &self.client_id)
            .field("token_endpoint_auth_method", &self.token_endpoint_auth_method)
            .finish_non_exhaustive()
    }
}
