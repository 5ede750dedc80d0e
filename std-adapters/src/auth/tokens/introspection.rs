//! Tokens that only the authorization server understands: introspection (RFC 7662).

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_sansio_engine::internal::RefusedTokens;
use mcp_sansio_engine::site::Holder;
use mcp_sansio_oauth::form::put_basic;
use mcp_sansio_oauth::{Refusal, UnixTime, form::Form};

use super::cache::TokenCache;
use super::dpop::sha256;
use super::jwks::SourceError;
use super::{Checker, Moment, Verified, Verifier, memory_for, written};
use crate::asynchronous::http::Credentials;
use crate::flights::Flights;
use crate::lock::lock;
use crate::runtime;
use crate::runtime::turns::Turns;

/// Asks the authorization server about each token (RFC 7662).
///
/// A token is accepted if the answer has `active: true`, the audience in `aud`, no other issuer in
/// `iss`, and times that fit, give or take 60 seconds. The subject of its
/// [`Principal`](crate::asynchronous::http::Principal) is `sub`; without one it is `client:` and
/// the `client_id`, since the token is that of a program. A `sub` that begins with `client:` or
/// `sub:` gets another `sub:` in front, so that no user is a program.
///
/// An answer is kept until the token expires, and no longer than
/// [`max_age`](Introspected::max_age): so long its revocation is not noticed. Known tokens are
/// kept as with [`Jwt`](super::Jwt). A token that is refused is refused for 10 s without another
/// question; 4,096 of them are remembered, with about 150 bytes each.
///
/// A token is asked about once, however many requests come with it meanwhile, and at most 64 tokens
/// at a time: others wait, as long as [`HttpOptions`](crate::asynchronous::http::HttpOptions) lets
/// a check wait. Next is the address about whose tokens the fewest questions are open, in order of
/// arrival. An answer that takes more than 5 s or 64 KiB, and every failure of the server, is 503
/// for the client, which keeps its token.
///
/// Anybody can send tokens that are none, and each leads to a question. A proxy in front should
/// limit the requests of an address.
pub type Introspection = Checker<Introspected>;

/// Asks about tokens: `introspection.verifier.max_age = Duration::from_secs(10)`.
pub struct Introspected {
    endpoint: Mutex<Option<Endpoint>>,
    authorization: String,
    /// Whether tokens whose answer has no `aud` are refused. `false` only if the authorization
    /// server issues no tokens for anything else than this server. Default: `true`.
    pub demands_audience: bool,
    /// How long an answer is kept at most. Default: 60 s.
    pub max_age: Duration,
    /// By the SHA-256 of their tokens.
    flights: Flights<[u8; 32], Result<Arc<Verified>, Refusal>>,
    /// By address.
    turns: Turns<Option<Holder>>,
    refused: Mutex<RefusedTokens<Refusal>>,
}

/// The URL for questions.
#[derive(Clone)]
struct Endpoint {
    url: String,
    /// When it was looked up; `None` if the program has named it.
    looked: Option<Instant>,
}

impl Introspection {
    /// Accepts tokens of this issuer, which were issued for this audience: the URL of the protected
    /// resource as clients know it. This server authenticates itself with `id` and `secret`
    /// (`client_secret_basic`).
    ///
    /// The endpoint is found by the metadata of the issuer, which is read again, at most once a
    /// minute, when a question to the endpoint fails. Its URL starts with `https://`, or is an
    /// `http://` URL of this machine. The feature `tls` is needed for the former.
    pub fn new(
        issuer: impl Into<String>,
        audience: impl Into<String>,
        id: &str,
        secret: &str,
    ) -> Self {
        // Each byte takes three when it is encoded, and these four in Base64.
        let length = 16 + 4 * (id.len() + secret.len());
        let introspected = Introspected {
            endpoint: Mutex::new(None),
            authorization: written(length, |out| put_basic(id, secret, out)),
            demands_audience: true,
            max_age: MAX_AGE,
            flights: Flights::new(),
            turns: Turns::new(MAX_QUESTIONS),
            refused: Mutex::default(),
        };
        Self::with(introspected, issuer.into(), audience.into(), TokenCache::new(usize::MAX))
    }

    /// Sets the URL of the endpoint.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        let url = url.into();
        self.source.allow(&url);
        self.verifier.endpoint = Mutex::new(Some(Endpoint { url, looked: None }));
        self
    }

    async fn ask(&self, token: &str, now: Instant) -> Result<Vec<u8>, SourceError> {
        let known = lock(&self.verifier.endpoint).clone();
        let url = match known {
            Some(known) => known.url,
            None => self.find_endpoint(now).await?,
        };
        let body = || {
            // Each byte of the token takes three when it is encoded.
            written(3 * token.len() + 64, |out| {
                Form::new(out).pair("token", token).pair("token_type_hint", "access_token");
            })
        };
        let post = |url| self.source.post(url, &self.verifier.authorization, body(), MAX_ANSWER);
        let answer = post(&url).await;
        if answer.is_ok() || !self.may_look_again(now) {
            return answer;
        }
        match self.find_endpoint(now).await {
            Ok(other) if other != url => post(&other).await,
            _ => answer,
        }
    }

    async fn find_endpoint(&self, now: Instant) -> Result<String, SourceError> {
        let found = self.source.discover("introspection_endpoint", |metadata| {
            metadata.introspection_endpoint.map(|url| url.to_string())
        });
        let url = found.await?;
        let found = Endpoint { url: url.clone(), looked: Some(now) };
        *lock(&self.verifier.endpoint) = Some(found);
        Ok(url)
    }

    /// Returns whether the endpoint, which does not answer, may be looked up again, and notes that.
    fn may_look_again(&self, now: Instant) -> bool {
        let mut endpoint = lock(&self.verifier.endpoint);
        let looked = endpoint.as_mut().and_then(|endpoint| endpoint.looked.as_mut());
        let looked = looked.filter(|at| now.saturating_duration_since(**at) >= LOOK_UP_PAUSE);
        looked.map(|at| *at = now).is_some()
    }

    /// Returns what an answer says, and until when it may be kept.
    fn read(
        &self,
        answer: &[u8],
        credentials: &Credentials,
        now: Moment,
    ) -> Result<(Verified, u64), Refusal> {
        let rules = self.rules().demands_audience(self.verifier.demands_audience);
        let token = rules.check_introspection(answer, now.time(), &mut memory_for(answer))?;
        // Not longer than that (RFC 7662, 2.2): the difference of the clocks is not added.
        let expires = token.expires.map_or(u64::MAX, UnixTime::as_secs);
        let until = expires.min(now.unix.saturating_add(self.verifier.max_age.as_secs()));
        Ok((self.verified(&token, credentials), until))
    }
}

impl Verifier for Introspected {
    fn generation(&self, _: Instant) -> Option<u64> {
        Some(GENERATION)
    }

    async fn verify(
        checker: &Introspection,
        token: &str,
        credentials: &Credentials,
        now: Moment,
    ) -> Result<Arc<Verified>, Refusal> {
        let Self { flights, turns, refused, .. } = &checker.verifier;
        let hash = sha256(token.as_bytes());
        if let Some(refusal) = lock(refused).get(&hash, now.unix) {
            return Err(refusal);
        }
        let asking = async {
            let _turn = turns.take(Some(credentials.holder())).await;
            let answer = checker.source.in_time(checker.ask(token, now.instant)).await;
            let answer = answer.map_err(|_| Refusal::Unavailable)?;
            let read = checker.read(&answer, credentials, now);
            let (verified, until) = read.inspect_err(|refusal| {
                if *refusal != Refusal::Unavailable {
                    let waited = runtime::elapsed(credentials.at()).as_secs();
                    lock(refused).insert(hash, *refusal, now.unix.saturating_add(waited));
                }
            })?;
            Ok(checker.remember(token, GENERATION, until, verified))
        };
        flights.run(hash, asking).await
    }
}

// Omits the credentials.
mcp_sansio::opaque_debug!(Introspected {});

/// Default of [`Introspected::max_age`].
const MAX_AGE: Duration = Duration::from_secs(60);
/// Tokens that are asked about at a time.
const MAX_QUESTIONS: usize = 64;
/// Time between two look-ups of an endpoint that does not answer.
const LOOK_UP_PAUSE: Duration = Duration::from_secs(60);
/// Longest answer, in bytes.
const MAX_ANSWER: usize = 64 << 10;
/// There is one: answers do not depend on keys.
const GENERATION: u64 = 0;
