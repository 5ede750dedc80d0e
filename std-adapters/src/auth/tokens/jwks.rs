//! The keys of an authorization server.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_sansio::Printable;
use mcp_sansio_oauth::{DocumentError, Jwk, KeySetError, Refusal, ServerMetadata, Url, UrlRules};

use super::memory_for;
use crate::asynchronous::client::http::fetch::{Answer, Limits, Request, fetch};
use crate::asynchronous::client::http::link::timeout;
use crate::asynchronous::client::http::{Connector, Purpose, boxed};
use crate::flights::Flights;
use crate::lock::lock;
use crate::runtime;

/// The keys with which an authorization server signs tokens (RFC 7517, 5).
///
/// They are fetched for the first token, again when they are older than [`max_age`](Self::max_age),
/// and for a token with an unknown key, at most once a minute. If that fails, the old ones stay; if
/// there are none, requests get 503, and the next attempt is made 5 s later.
///
/// A set has at most 256 KiB and 100 keys. Keys of unknown kinds, secrets, and keys that are not
/// for signatures are ignored.
#[must_use]
pub struct Jwks {
    place: KeysAt,
    /// The age at which keys are fetched again: so long a key that was withdrawn stays good, if no
    /// unknown one is seen. Default: 10 minutes.
    pub max_age: Duration,
    state: Mutex<State>,
    flights: Flights<(), Result<(), SourceError>>,
}

enum KeysAt {
    /// The `jwks_uri` of the issuer's metadata.
    Discovered,
    Url(String),
    Fixed,
}

#[derive(Default)]
struct State {
    keys: Option<Arc<KeySet>>,
    last: Option<(Instant, Attempt)>,
}

/// End of the last attempt.
#[derive(Clone, Copy, PartialEq)]
enum Attempt {
    /// None: the request that made it is gone.
    Begun,
    Succeeded,
    Failed,
}

impl Jwks {
    /// Finds the keys by the metadata of the issuer (RFC 8414; OpenID Connect Discovery 1.0).
    pub(super) fn discovered() -> Self {
        Self::at(KeysAt::Discovered)
    }

    /// Fetches the keys from a URL.
    pub fn from_url(url: impl Into<String>) -> Self {
        Self::at(KeysAt::Url(url.into()))
    }

    /// Uses these keys, a JSON Web Key Set, and never others.
    ///
    /// # Errors
    /// If the text is no set, or has no key that can be used.
    pub fn from_json(set: &str) -> Result<Self, SourceError> {
        let keys = KeySet::parse(set.as_bytes(), 1)
            .map_err(|reason| SourceError::new("key set", reason))?;
        let jwks = Self::at(KeysAt::Fixed);
        lock(&jwks.state).keys = Some(Arc::new(keys));
        Ok(jwks)
    }

    fn at(place: KeysAt) -> Self {
        Self { place, max_age: MAX_AGE, state: Mutex::default(), flights: Flights::new() }
    }

    /// Returns the URL, if the program has named it.
    pub(super) fn url(&self) -> Option<&str> {
        match &self.place {
            KeysAt::Url(url) => Some(url),
            _ => None,
        }
    }

    /// Fetches the keys now.
    pub(super) async fn fetch(&self, source: &Source) -> Result<(), SourceError> {
        if let KeysAt::Fixed = self.place {
            return Ok(());
        }
        self.refresh(source, runtime::now()).await
    }

    /// Returns the keys if it is not time to fetch them.
    pub(super) fn fresh(&self, now: Instant) -> Option<Arc<KeySet>> {
        let state = lock(&self.state);
        let is_fresh = match state.last {
            _ if matches!(self.place, KeysAt::Fixed) => true,
            None => false,
            Some((at, attempt)) => {
                let passed = now.saturating_duration_since(at);
                match attempt {
                    Attempt::Succeeded => passed < self.max_age,
                    Attempt::Failed => passed < PAUSE,
                    // The old keys are good while newer ones are on their way.
                    Attempt::Begun => passed < PAUSE_AFTER_BEGUN || !self.flights.is_empty(),
                }
            }
        };
        state.keys.clone().filter(|_| is_fresh)
    }

    /// Returns the keys, once they have been fetched.
    pub(super) async fn current(
        &self,
        source: &Source,
        now: Instant,
    ) -> Result<Arc<KeySet>, Refusal> {
        if let Some(keys) = self.fresh(now) {
            return Ok(keys);
        }
        if self.may_fetch(now, PAUSE_WITHOUT_KEYS) {
            let _ = self.refresh(source, now).await;
        }
        lock(&self.state).keys.clone().ok_or(Refusal::Unavailable)
    }

    /// Returns the keys after a token had an unknown one: the same, or newer ones.
    pub(super) async fn after_unknown(
        &self,
        source: &Source,
        now: Instant,
    ) -> Result<Arc<KeySet>, Refusal> {
        if matches!(self.place, KeysAt::Fixed) {
            return Err(Refusal::Key);
        }
        if self.may_fetch(now, PAUSE) {
            let _ = self.refresh(source, now).await;
        }
        let state = lock(&self.state);
        match (&state.keys, state.last) {
            (Some(keys), Some((_, Attempt::Succeeded))) => Ok(Arc::clone(keys)),
            // The keys that cannot be had may include the one of the token.
            _ => Err(Refusal::Unavailable),
        }
    }

    /// Whether an attempt may be made or joined.
    fn may_fetch(&self, now: Instant, pause: Duration) -> bool {
        let is_due = lock(&self.state).last.is_none_or(|(at, attempt)| {
            let pause = if attempt == Attempt::Begun { PAUSE_AFTER_BEGUN } else { pause };
            now.saturating_duration_since(at) >= pause
        });
        is_due || !self.flights.is_empty()
    }

    async fn refresh(&self, source: &Source, now: Instant) -> Result<(), SourceError> {
        let attempt = async {
            lock(&self.state).last = Some((now, Attempt::Begun));
            let fetched = source.in_time(self.fetch_set(source)).await;
            let mut state = lock(&self.state);
            let next = state.keys.as_ref().map_or(1, |keys| keys.generation + 1);
            let set = fetched.and_then(|(url, body)| {
                KeySet::parse(&body, next).map_err(|reason| SourceError::new(&url, reason))
            });
            let attempt = if set.is_ok() { Attempt::Succeeded } else { Attempt::Failed };
            state.last = Some((now, attempt));
            set.map(|set| {
                if state.keys.as_ref().is_none_or(|old| old.keys != set.keys) {
                    state.keys = Some(Arc::new(set));
                }
            })
        };
        self.flights.run((), attempt).await
    }

    async fn fetch_set(&self, source: &Source) -> Result<(String, Vec<u8>), SourceError> {
        let url = match &self.place {
            KeysAt::Url(url) => url.clone(),
            _ => {
                let jwks_uri = source
                    .discover("jwks_uri", |metadata| metadata.jwks_uri.map(|url| url.to_string()));
                jwks_uri.await?
            }
        };
        let body = source.get(&url, MAX_SET).await?;
        Ok((url, body))
    }
}

mcp_sansio::opaque_debug!(Jwks |it| {
    keys: lock(&it.state).keys.as_ref().map(|set| set.keys.len())
});

/// Keys that were fetched together.
pub(super) struct KeySet {
    pub(super) keys: Vec<Jwk<String, Vec<u8>>>,
    /// Grows when the keys change.
    pub(super) generation: u64,
}

impl KeySet {
    pub(super) fn parse(body: &[u8], generation: u64) -> Result<Self, KeySetError> {
        let mut keys = Vec::new();
        Jwk::read_set(body, &mut memory_for(body), |jwk| {
            let (kid, key) = (jwk.kid.map(|kid| kid.to_string()), jwk.key.map(|it| it.to_vec()));
            keys.push(Jwk { kid, algorithm: jwk.algorithm, key });
        })?;
        Ok(Self { keys, generation })
    }
}

/// Default of [`Jwks::max_age`].
const MAX_AGE: Duration = Duration::from_secs(10 * 60);
/// Time between two attempts while there are keys.
const PAUSE: Duration = Duration::from_secs(60);
/// Time between two attempts while there are none.
const PAUSE_WITHOUT_KEYS: Duration = Duration::from_secs(5);
/// Time after an attempt whose request went away.
const PAUSE_AFTER_BEGUN: Duration = Duration::from_secs(1);
/// Longest set, in bytes.
const MAX_SET: usize = 256 << 10;

// Documents of an authorization server: its metadata, its keys, its introspection.

/// Reason why keys, or the answer of an introspection, cannot be had. It shows no secret.
#[derive(Clone)]
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

mcp_sansio::error_type!(SourceError);

/// An authorization server, and the audience of the tokens that it issues for this server.
#[derive(Clone)]
pub struct Source {
    pub(super) issuer: String,
    pub(super) audience: String,
    pub(super) connector: Connector,
    rules: UrlRules,
    /// Limit of an exchange.
    pub(super) time: Duration,
}

impl Source {
    pub(super) fn new(issuer: String, audience: String) -> Self {
        #[cfg(feature = "tls")]
        let connector = boxed(crate::asynchronous::client::http::Tls::new());
        #[cfg(not(feature = "tls"))]
        let connector = boxed(crate::asynchronous::client::http::TcpConnector);
        // The operator of this server has named the issuer, which may be in an inner network.
        let rules = UrlRules::new().inner_addresses(true);
        let mut source = Self { issuer: issuer.clone(), audience, connector, rules, time: TIME };
        source.allow(&issuer);
        source
    }

    /// Allows a URL that the program has named: without TLS if it is of this machine.
    pub(super) fn allow(&mut self, url: &str) {
        if Url::parse(url).is_ok_and(|url| !url.is_secure() && url.is_loopback()) {
            self.rules = self.rules.loopback_http(true);
        }
    }

    pub(super) async fn get(&self, url: &str, bytes: usize) -> Result<Vec<u8>, SourceError> {
        self.send(self.request(url, bytes)).await
    }

    /// Sends a form, with credentials of the server itself.
    pub(super) async fn post(
        &self,
        url: &str,
        authorization: &str,
        body: String,
        bytes: usize,
    ) -> Result<Vec<u8>, SourceError> {
        let mut request = self.request(url, bytes);
        let form = "application/x-www-form-urlencoded";
        let fields = [("content-type", form), ("authorization", authorization)];
        request.fields.extend(fields.map(owned));
        request.limits.redirects = 0;
        let (method, purpose, body) = ("POST", Purpose::Token, body.into_bytes());
        self.send(Request { method, purpose, body, ..request }).await
    }

    fn request(&self, url: &str, bytes: usize) -> Request {
        Request {
            method: "GET",
            url: url.to_owned(),
            purpose: Purpose::Metadata,
            rules: self.rules,
            fields: vec![owned(("accept", "application/json"))],
            body: Vec::new(),
            limits: Limits { time: self.time, bytes, redirects: REDIRECTS },
        }
    }

    /// Limits the time of several exchanges together.
    pub(super) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, SourceError> {
        let late = |_| Err(SourceError::new(&self.issuer, "no complete response in time"));
        timeout(self.time, work).await.unwrap_or_else(late)
    }

    /// Returns a URL from the metadata of the issuer (RFC 8414, 3; OpenID Connect Discovery 1.0,
    /// 4).
    pub(super) async fn discover(
        &self,
        member: &str,
        url: impl Fn(&ServerMetadata<'_>) -> Option<String>,
    ) -> Result<String, SourceError> {
        let issuer = self.checked(&self.issuer)?;
        let mut last = None;
        for place in (0..).map_while(|place| issuer.server_metadata(place)) {
            let place = place.to_string();
            match self.get(&place, MAX_METADATA).await {
                // "Not here": the next place is tried.
                Err(error) if matches!(error.status, Some(400..500)) => last = Some(error),
                Err(error) => return Err(error),
                Ok(body) => {
                    let invalid = |reason| SourceError::new(&place, reason);
                    let metadata = match ServerMetadata::parse(&body) {
                        // Many sites answer every path with a page.
                        Err(DocumentError::NotAnObject) => {
                            last = Some(invalid("no metadata"));
                            continue;
                        }
                        other => other.map_err(|_| invalid("no metadata"))?,
                    };
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

    async fn send(&self, request: Request) -> Result<Vec<u8>, SourceError> {
        let url = &*request.url;
        self.checked(url)?;
        let answer = fetch(&self.connector, &request).await;
        match answer.map_err(|error| SourceError::new(url, error))? {
            Answer { status: 200, body, .. } => Ok(body),
            Answer { status, .. } => Err(SourceError {
                status: Some(status),
                ..SourceError::new(url, format_args!("the response has status {status}"))
            }),
        }
    }

    fn checked<'u>(&self, url: &'u str) -> Result<Url<'u>, SourceError> {
        Url::parse(url)
            .and_then(|parsed| parsed.check(self.rules).map(|()| parsed))
            .map_err(|error| SourceError::new(url, error))
    }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Default of [`Source::time`].
const TIME: Duration = Duration::from_secs(5);
/// Redirects that are followed, within an origin.
const REDIRECTS: u8 = 3;
/// Longest metadata, in bytes.
const MAX_METADATA: usize = 256 << 10;
