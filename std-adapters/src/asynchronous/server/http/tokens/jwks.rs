//! The keys of an authorization server.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use mcp_sansio::RawJson;

use super::flight::Flights;
use super::jws::{Header, object};
use super::key::{Algorithm, PublicKey};
use super::refusal::Refusal;
use super::source::{Source, SourceError};
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
pub struct Jwks {
    place: Place,
    max_age: Duration,
    state: Mutex<State>,
    flights: Flights<(), Result<(), SourceError>>,
}

enum Place {
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
    #[must_use]
    pub fn discovered() -> Self {
        Self::at(Place::Discovered)
    }

    /// Fetches the keys from a URL.
    #[must_use]
    pub fn from_url(url: impl Into<String>) -> Self {
        Self::at(Place::Url(url.into()))
    }

    /// Uses these keys, a JSON Web Key Set, and never others.
    ///
    /// # Errors
    /// If the text is no set, or has no key that can be used.
    pub fn from_json(set: &str) -> Result<Self, SourceError> {
        let keys = KeySet::parse(set.as_bytes(), 1)
            .map_err(|reason| SourceError::new("key set", reason))?;
        let jwks = Self::at(Place::Fixed);
        jwks.lock().keys = Some(Arc::new(keys));
        Ok(jwks)
    }

    fn at(place: Place) -> Self {
        Self { place, max_age: MAX_AGE, state: Mutex::default(), flights: Flights::new() }
    }

    /// Sets the age at which keys are fetched again: so long a key that was withdrawn stays good,
    /// if no unknown one is seen. Default: 10 minutes.
    #[must_use]
    pub fn max_age(self, max_age: Duration) -> Self {
        Self { max_age, ..self }
    }

    /// Returns the URL, if the program has named it.
    pub(super) fn url(&self) -> Option<&str> {
        match &self.place {
            Place::Url(url) => Some(url),
            _ => None,
        }
    }

    /// Fetches the keys now.
    pub(super) async fn fetch(&self, source: &Source) -> Result<(), SourceError> {
        if let Place::Fixed = self.place {
            return Ok(());
        }
        self.refresh(source, runtime::now()).await
    }

    /// Returns the keys if it is not time to fetch them.
    fn fresh(&self, now: Instant) -> Option<Arc<KeySet>> {
        self.fresh_of(&self.lock(), now).cloned()
    }

    /// Returns the [generation](KeySet::generation) of these keys.
    pub(super) fn fresh_generation(&self, now: Instant) -> Option<u64> {
        Some(self.fresh_of(&self.lock(), now)?.generation)
    }

    fn fresh_of<'s>(&self, state: &'s State, now: Instant) -> Option<&'s Arc<KeySet>> {
        let is_fresh = match state.last {
            _ if matches!(self.place, Place::Fixed) => true,
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
        state.keys.as_ref().filter(|_| is_fresh)
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
        self.lock().keys.clone().ok_or(Refusal::Unavailable)
    }

    /// Returns the keys after a token had an unknown one: the same, or newer ones.
    pub(super) async fn after_unknown(
        &self,
        source: &Source,
        now: Instant,
    ) -> Result<Arc<KeySet>, Refusal> {
        if matches!(self.place, Place::Fixed) {
            return Err(Refusal::Key);
        }
        if self.may_fetch(now, PAUSE) {
            let _ = self.refresh(source, now).await;
        }
        let state = self.lock();
        match (&state.keys, state.last) {
            (Some(keys), Some((_, Attempt::Succeeded))) => Ok(Arc::clone(keys)),
            // The keys that cannot be had may include the one of the token.
            _ => Err(Refusal::Unavailable),
        }
    }

    /// Whether an attempt may be made or joined.
    fn may_fetch(&self, now: Instant, pause: Duration) -> bool {
        let is_due = self.lock().last.is_none_or(|(at, attempt)| {
            let pause = if attempt == Attempt::Begun { PAUSE_AFTER_BEGUN } else { pause };
            now.saturating_duration_since(at) >= pause
        });
        is_due || !self.flights.is_empty()
    }

    async fn refresh(&self, source: &Source, now: Instant) -> Result<(), SourceError> {
        let attempt = async {
            self.lock().last = Some((now, Attempt::Begun));
            let fetched = source.in_time(self.fetch_set(source)).await;
            let mut state = self.lock();
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
            Place::Url(url) => url.clone(),
            _ => {
                let jwks_uri = source.discover("jwks_uri", |metadata| {
                    metadata.jwks_uri().map(|url| url.to_string())
                });
                jwks_uri.await?
            }
        };
        let body = source.get(&url, MAX_SET).await?;
        Ok((url, body))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl fmt::Debug for Jwks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.lock().keys.as_ref().map(|set| set.keys.len());
        f.debug_struct("Jwks").field("keys", &keys).finish_non_exhaustive()
    }
}

/// Keys that were fetched together.
pub(super) struct KeySet {
    keys: Vec<Key>,
    /// Grows when the keys change.
    pub(super) generation: u64,
}

#[derive(PartialEq)]
struct Key {
    kid: Option<String>,
    /// The only algorithm of the key, if the set says so.
    algorithm: Option<Algorithm>,
    key: PublicKey,
}

impl KeySet {
    fn parse(body: &[u8], generation: u64) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(body).map_err(|_| "no key set")?;
        let set = object(text).map_err(|_| "no key set")?;
        let keys = set.get("keys").filter(|keys| keys.is_array()).ok_or("no key set")?;
        let keys = keys.elements().take(MAX_KEYS).filter_map(Key::parse).collect::<Vec<_>>();
        if keys.is_empty() {
            return Err("no key of the set is for RS256, PS256, ES256 or EdDSA");
        }
        Ok(Self { keys, generation })
    }

    /// Returns the key of a token. Without a key id there must be no choice.
    pub(super) fn find(&self, header: &Header<'_>) -> Option<&PublicKey> {
        let mut fitting = self.keys.iter().filter(|key| {
            let names = key.algorithm.is_none_or(|algorithm| algorithm == header.algorithm);
            names && key.key.fits(header.algorithm)
        });
        let found = match header.kid {
            Some(kid) => fitting.find(|key| key.kid.as_deref() == Some(kid)),
            None => fitting.next().filter(|_| fitting.next().is_none()),
        };
        found.map(|key| &key.key)
    }
}

impl Key {
    /// Returns `None` for what is not a public key for signatures of ours.
    fn parse(jwk: RawJson<'_>) -> Option<Self> {
        let jwk = object(jwk.as_str()).ok()?;
        let is = |name: &str, text: &str| {
            jwk.get(name).is_none_or(|value| value.as_string().is_some_and(|value| value == *text))
        };
        let verifies = jwk.get("key_ops").is_none_or(|all| {
            all.elements().any(|one| one.as_string().is_some_and(|one| one == *"verify"))
        });
        let algorithm = match jwk.get("alg") {
            None => None,
            Some(name) => Some(Algorithm::named(name.as_string()?.as_plain()?)?),
        };
        let kid = match jwk.get("kid") {
            None => None,
            Some(kid) => Some(kid.as_string()?.to_string()),
        };
        let key = PublicKey::from_jwk(jwk).filter(|_| is("use", "sig") && verifies)?;
        Some(Self { kid, algorithm, key })
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
/// Keys that are read from a set.
const MAX_KEYS: usize = 100;
