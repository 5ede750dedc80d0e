//! Configuration of the HTTP transport.

use std::future::Future;
use std::sync::Arc;

use mcp_sansio::http::client::{Origin, UrlError};
use mcp_sansio_engine::{Diagnostic, HttpLimits};

use super::authorize::{Authorize, Bearer, Renew};
use super::connector::{Connect, Connector, boxed};

/// A server behind a URL, and the options of its connections:
/// `connector.connect(HttpTransport::new("http://127.0.0.1:8000/mcp")?)`. It connects when there is
/// a message to send.
#[derive(Clone)]
#[must_use]
pub struct HttpTransport {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_secure: bool,
    pub(crate) authority: String,
    pub(crate) target: String,
    pub(crate) connector: Connector,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) authorize: Option<Authorize>,
    pub(crate) token: Option<String>,
    pub(crate) renew: Option<Renew>,
    pub(crate) on_diagnostic: Option<OnDiagnostic>,
    pub(crate) limits: HttpLimits,
}

pub(crate) type OnDiagnostic = Arc<dyn Fn(Diagnostic) + Send + Sync>;

impl HttpTransport {
    /// Creates a transport for the server at this URL, over TCP; with the feature `tls` over
    /// `Tls` if the URL starts with `https://`.
    ///
    /// # Errors
    /// If the URL does not start with `http://` or `https://`, or names no valid host.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        #[cfg(feature = "tls")]
        return Self::with_connector(url, super::Tls::new());
        #[cfg(not(feature = "tls"))]
        Self::with_connector(url, super::TcpConnector)
    }
}

impl HttpTransport {
    /// Creates a transport for the server at this URL, over connections that `connector` makes.
    ///
    /// # Errors
    /// As [`new`](HttpTransport::new).
    pub fn with_connector(url: &str, connector: impl Connect) -> Result<Self, UrlError> {
        let (origin, target) = Origin::parse(url)?;
        Ok(Self {
            host: origin.host.to_owned(),
            port: origin.port,
            is_secure: origin.is_secure,
            authority: origin.authority.to_owned(),
            target: target.to_owned(),
            connector: boxed(connector),
            fields: Vec::new(),
            authorize: None,
            token: None,
            renew: None,
            on_diagnostic: None,
            limits: HttpLimits::new(),
        })
    }

    /// Adds a header field to every request, e.g. for a gateway in front of the server.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Sets the bearer token of every request: `Authorization: Bearer ...`.
    pub fn bearer(self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self }.with_bearer()
    }

    /// Sets the function that obtains a token when a server responds with 401 or 403. It gets all
    /// fields `WWW-Authenticate`, joined by commas, empty if there is none
    /// ([`challenges`](mcp_sansio::http::client::challenges) parses it), and returns a token, with
    /// which the request is sent once more. With `None` the request fails. The time limits of
    /// this call and of those that wait for it stand still meanwhile, up to
    /// [`AUTHORIZATION_LIMIT`](super::AUTHORIZATION_LIMIT).
    pub fn authorize<F>(self, authorize: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        let renew: Renew = Arc::new(move |challenge| Box::pin(authorize(challenge)));
        Self { renew: Some(renew), ..self }.with_bearer()
    }

    fn with_bearer(self) -> Self {
        let bearer = Bearer::new(self.token.clone(), self.renew.clone());
        Self { authorize: Some(Authorize::Bearer(Arc::new(bearer))), ..self }
    }

    /// Sets the function that gets diagnostics that belong to no call.
    pub fn on_diagnostic(self, on_diagnostic: impl Fn(Diagnostic) + Send + Sync + 'static) -> Self {
        Self { on_diagnostic: Some(Arc::new(on_diagnostic)), ..self }
    }

    /// Sets the limits.
    pub fn limits(self, limits: HttpLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        self.url_of(&self.target)
    }

    pub(crate) fn url_of(&self, target: &str) -> String {
        format!("{}://{}{target}", if self.is_secure { "https" } else { "http" }, self.authority)
    }
}

// Omits fields and tokens, which may be secrets.
mcp_sansio::opaque_debug!(HttpTransport { host, port, target });

/// Maximum number of connections that are kept for the next request.
pub const MAX_IDLE_CONNECTIONS: usize = 8;
