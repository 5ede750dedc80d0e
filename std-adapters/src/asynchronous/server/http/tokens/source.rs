//! Documents of an authorization server: its metadata, its keys, its introspection.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::Printable;
use mcp_sansio_oauth::{Place, ServerMetadata, Url, UrlRules};

use crate::asynchronous::client::http::fetch::{Answer, Limits, Request, fetch};
use crate::asynchronous::client::http::{Connect, Connector, Purpose, boxed};
use crate::runtime::timer::Timer;

/// Reason why keys, or the answer of an introspection, cannot be had. It shows no secret.
#[derive(Clone, Debug)]
pub struct SourceError {
    url: String,
    reason: String,
    status: Option<u16>,
}

impl SourceError {
    pub(super) fn new(url: &str, reason: impl fmt::Display) -> Self {
        Self { url: url.to_owned(), reason: reason.to_string(), status: None }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Printable::new(&self.url), Printable::new(&self.reason))
    }
}

impl std::error::Error for SourceError {}

/// An authorization server.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) issuer: String,
    connector: Connector,
    rules: UrlRules,
    /// Limit of an exchange.
    pub(super) time: Duration,
}

impl Source {
    pub(super) fn new(issuer: String) -> Self {
        #[cfg(feature = "tls")]
        let connector = boxed(crate::asynchronous::client::http::Tls::new());
        #[cfg(not(feature = "tls"))]
        let connector = boxed(crate::asynchronous::client::http::TcpConnector);
        // The operator of this server has named the issuer, which may be in an inner network.
        let rules = UrlRules::new().inner_addresses(true);
        let mut source = Self { issuer: issuer.clone(), connector, rules, time: TIME };
        source.allow(&issuer);
        source
    }

    pub(super) fn set_connector(&mut self, connector: impl Connect) {
        self.connector = boxed(connector);
    }

    /// Allows a URL that the program has named: without TLS if it is of this machine.
    pub(super) fn allow(&mut self, url: &str) {
        if Url::parse(url).is_ok_and(|url| !url.is_secure() && url.is_loopback()) {
            self.rules = self.rules.loopback_http(true);
        }
    }

    pub(super) async fn get(&self, url: &str, bytes: usize) -> Result<Vec<u8>, SourceError> {
        let fields = &[("accept", "application/json")];
        let purpose = Purpose::Metadata;
        let request = Request { method: "GET", url, purpose, rules: self.rules, fields, body: b"" };
        let answer = self.send(&request, bytes, REDIRECTS).await?;
        ok(url, answer)
    }

    /// Sends a form, with credentials of the server itself.
    pub(super) async fn post(
        &self,
        url: &str,
        authorization: &str,
        body: &[u8],
        bytes: usize,
    ) -> Result<Vec<u8>, SourceError> {
        let fields = &[
            ("accept", "application/json"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("authorization", authorization),
        ];
        let purpose = Purpose::Token;
        let request = Request { method: "POST", url, purpose, rules: self.rules, fields, body };
        ok(url, self.send(&request, bytes, 0).await?)
    }

    /// Limits the time of several exchanges together.
    pub(super) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, SourceError> {
        let late = async {
            Timer::after(self.time).await;
            Err(SourceError::new(&self.issuer, "no complete response in time"))
        };
        future::or(work, late).await
    }

    /// Returns a URL from the metadata of the issuer (RFC 8414, 3; OpenID Connect Discovery 1.0,
    /// 4).
    pub(super) async fn discover(
        &self,
        member: &str,
        url: impl Fn(&ServerMetadata<'_>) -> Option<String>,
    ) -> Result<String, SourceError> {
        let issuer = self.checked(&self.issuer)?;
        let has_path = !matches!(issuer.path(), "" | "/");
        let places =
            [(OAUTH, Place::Inserted), (OPENID, Place::Inserted), (OPENID, Place::Appended)];
        let mut last = None;
        for (suffix, place) in places.into_iter().take(if has_path { 3 } else { 2 }) {
            let place = issuer.well_known(suffix, place).to_string();
            match self.get(&place, MAX_METADATA).await {
                // "Not here": the next place is tried.
                Err(error) if matches!(error.status, Some(400..500)) => last = Some(error),
                Err(error) => return Err(error),
                Ok(body) => {
                    let invalid = |reason| SourceError::new(&place, reason);
                    let metadata =
                        ServerMetadata::parse(&body).map_err(|_| invalid("no metadata"))?;
                    if !metadata.is_of_issuer(&self.issuer) {
                        return Err(invalid("the metadata is of another issuer"));
                    }
                    let missing = || format!("the metadata has no `{member}`");
                    return url(&metadata).ok_or_else(|| SourceError::new(&place, missing()));
                }
            }
        }
        Err(last.unwrap_or_else(|| SourceError::new(&self.issuer, "no metadata")))
    }

    async fn send(
        &self,
        request: &Request<'_>,
        bytes: usize,
        redirects: u8,
    ) -> Result<Answer, SourceError> {
        self.checked(request.url)?;
        let limits = Limits { time: self.time, bytes, redirects };
        let answer = fetch(&self.connector, request, limits).await;
        answer.map_err(|error| SourceError::new(request.url, error))
    }

    fn checked<'u>(&self, url: &'u str) -> Result<Url<'u>, SourceError> {
        Url::parse(url)
            .and_then(|parsed| parsed.check(self.rules).map(|()| parsed))
            .map_err(|error| SourceError::new(url, error))
    }
}

fn ok(url: &str, answer: Answer) -> Result<Vec<u8>, SourceError> {
    match answer.status {
        200 => Ok(answer.body),
        status => Err(SourceError {
            status: Some(status),
            ..SourceError::new(url, format_args!("the response has status {status}"))
        }),
    }
}

const OAUTH: &str = "oauth-authorization-server";
const OPENID: &str = "openid-configuration";
/// Default of [`Source::time`].
const TIME: Duration = Duration::from_secs(5);
/// Redirects that are followed, within an origin.
const REDIRECTS: u8 = 3;
/// Longest metadata, in bytes.
const MAX_METADATA: usize = 256 << 10;
