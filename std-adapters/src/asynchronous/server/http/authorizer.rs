//! The check of the credentials of each request.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{self, Duration, SystemTime, UNIX_EPOCH};

use mcp_sansio::Instant;
use mcp_sansio::http::RequestHead;
use mcp_sansio_engine::PlaceLimit;
use mcp_sansio_engine::site::credentials::{self, Scheme};
use mcp_sansio_engine::site::{AuthorizationError, Holder, OwnedHead, Principal};

use super::places::{Place, SharedPlaces};
use super::shared::clock;
use crate::panics::{Panic, caught};
use crate::runtime;
use crate::runtime::timer::Timer;

/// Checks the credentials of each request, for
/// [`HttpOptions::authorize`](super::HttpOptions::authorize).
///
/// Implemented for closures that return a future. One that does not wait returns
/// [`std::future::ready`]:
///
/// ```
/// # use std::future::ready;
/// # use mcp_sansio_adapters::asynchronous::http::{
/// #     AuthorizationError, Credentials, HttpOptions, Principal,
/// # };
/// let options = HttpOptions::new().authorize(|credentials: Credentials| {
///     ready(match credentials.token() {
///         Some("ada-token") => Ok(Principal::new("https://auth.example.com", "ada")),
///         Some(_) => Err(AuthorizationError::invalid_token()),
///         None => Err(AuthorizationError::missing_token()),
///     })
/// });
/// ```
pub trait Authorizer: Send + Sync + 'static {
    /// Returns the principal of a request whose credentials were checked before and are still good,
    /// without waiting: such a request costs less. Called first, for any request, also one that is
    /// refused for another reason: it must not change anything. Default: none is known.
    fn known(&self, credentials: &Credentials) -> Option<Arc<Principal>> {
        let _ = credentials;
        None
    }

    /// Returns the principal of a request, or the reason why it is denied. Must also check that
    /// the token was issued for this server (its audience).
    ///
    /// An `Arc` that was returned before may be returned again.
    ///
    /// # Errors
    /// The response of the request.
    fn check(
        &self,
        credentials: &Credentials,
    ) -> impl Future<Output = Result<Arc<Principal>, AuthorizationError>> + Send;
}

impl<F, R, P> Authorizer for F
where
    F: Fn(Credentials) -> R + Send + Sync + 'static,
    R: Future<Output = Result<P, AuthorizationError>> + Send,
    P: Into<Arc<Principal>>,
{
    async fn check(&self, credentials: &Credentials) -> Result<Arc<Principal>, AuthorizationError> {
        self(credentials.clone()).await.map(Into::into)
    }
}

/// The credentials of a request.
#[derive(Clone)]
pub struct Credentials {
    head: OwnedHead,
    origin: Option<Arc<str>>,
    at: time::Instant,
    next_nonce: OnceLock<String>,
}

impl Credentials {
    pub(crate) fn new(head: OwnedHead, origin: Option<Arc<str>>) -> Self {
        Self { head, origin, at: runtime::now(), next_nonce: OnceLock::new() }
    }

    /// Returns the scheme and the token, if there is exactly one `Authorization` field with one.
    pub fn authorization(&self) -> Option<(Scheme, &str)> {
        let (scheme, token) = self.token_bytes()?;
        Some((scheme, std::str::from_utf8(token).ok()?))
    }

    /// Returns scheme and token as [`authorization`](Self::authorization); the token may be no
    /// text.
    pub(crate) fn token_bytes(&self) -> Option<(Scheme, &[u8])> {
        credentials::authorization(&self.head())
    }

    /// Returns the bearer token. That of another scheme is not returned: a token that is bound to a
    /// key must not be accepted without its proof (RFC 9449, 7.2).
    pub fn token(&self) -> Option<&str> {
        credentials::bearer_token(&self.head())
    }

    /// Returns the proof of a bound token, if there is exactly one `DPoP` field (RFC 9449, 4.3).
    #[cfg(any(feature = "auth", test))]
    pub(crate) fn proof(&self) -> Option<&str> {
        credentials::proof(&self.head())
    }

    /// Returns the URL of the request without its query, as in the claim `htu` of a proof: origin
    /// of the [protected resource](super::HttpOptions::protected_resource), or `http` and the host,
    /// and the path.
    pub fn url(&self) -> String {
        credentials::url(&self.head(), self.origin.as_deref())
    }

    /// Sets the nonce for the next proof, which goes out with the response to a request that is
    /// accepted (RFC 9449, 8.2). The first one stands.
    #[cfg(feature = "auth")]
    pub(crate) fn set_next_nonce(&self, nonce: String) {
        let _ = self.next_nonce.set(nonce);
    }

    /// Returns whose share the check counts in.
    pub(crate) fn holder(&self) -> Option<Holder> {
        self.head.peer_address().map(Holder::Address)
    }

    /// Returns the head of the request.
    pub fn head(&self) -> RequestHead<'_> {
        self.head.as_head()
    }

    /// Returns the time of the request, on the clock of [`Principal::expires`]. All servers of a
    /// process have the same.
    pub(crate) fn now(&self) -> Instant {
        clock().time_of(self.at)
    }

    /// As [`now`](Self::now), on the clock of this machine.
    #[cfg(feature = "auth")]
    pub(crate) const fn at(&self) -> time::Instant {
        self.at
    }

    /// Returns a time for [`Principal::expires`], of seconds since 1970 as in the claim `exp`. One
    /// that is over is the time of the request.
    pub fn time_of(&self, unix_seconds: u64) -> Instant {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.now().saturating_add(Duration::from_secs(unix_seconds).saturating_sub(now))
    }
}

// Shows no secret.
mcp_sansio::opaque_debug!(Credentials |it| {
    scheme: it.authorization().map(|(scheme, _)| scheme), head
});

/// A request that is accepted.
pub(crate) struct Authorized {
    pub(crate) principal: Arc<Principal>,
    /// For the next proof.
    pub(crate) next_nonce: Option<String>,
}

/// The result of a check.
pub(crate) type Checked = Result<Authorized, AuthorizationError>;
pub(crate) type Checking = Pin<Box<dyn Future<Output = Checked> + Send>>;

/// An [`Authorizer`] of any type.
pub(crate) trait AnyAuthorizer: Send + Sync {
    fn known(&self, credentials: &Credentials) -> Option<Arc<Principal>>;

    fn begin(&self, credentials: Credentials) -> Checking;
}

impl<A: Authorizer> AnyAuthorizer for Arc<A> {
    fn known(&self, credentials: &Credentials) -> Option<Arc<Principal>> {
        (**self).known(credentials)
    }

    fn begin(&self, credentials: Credentials) -> Checking {
        let authorizer = Self::clone(self);
        Box::pin(async move {
            let principal = authorizer.check(&credentials).await?;
            Ok(Authorized { principal, next_nonce: credentials.next_nonce.into_inner() })
        })
    }
}

/// A check that was begun.
pub(crate) struct Check {
    future: Option<Checking>,
    /// Whose share it counts in while it waits, and the limit.
    holder: Option<Holder>,
    limit: PlaceLimit,
    /// Set once it has to wait.
    waiting: Option<(Timer, Place)>,
}

impl Check {
    pub(crate) const fn new(future: Checking, holder: Option<Holder>, limit: PlaceLimit) -> Self {
        Self { future: Some(future), holder, limit, waiting: None }
    }

    /// # Errors
    /// The check has panicked.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        timeout: Duration,
        waiting: &Arc<SharedPlaces>,
    ) -> Poll<Result<Checked, Panic>> {
        let Some(future) = &mut self.future else { return Poll::Pending };
        match caught(|| future.as_mut().poll(cx)) {
            Ok(Poll::Ready(result)) => return Poll::Ready(Ok(result)),
            Ok(Poll::Pending) => {}
            Err(panic) => return Poll::Ready(Err(panic)),
        }
        if self.waiting.is_none() {
            self.waiting = waiting
                .take(self.holder.take(), self.limit)
                .map(|place| (Timer::after(timeout), place));
        }
        let is_over = match &mut self.waiting {
            Some((timer, _)) => Pin::new(timer).poll(cx),
            None => Poll::Ready(()),
        };
        is_over.map(|()| Ok(Err(AuthorizationError::unavailable())))
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        // Code of the application, which may panic.
        let _ = caught(|| self.future.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(fields: &'static [(&'static str, &'static str)]) -> Credentials {
        let head = OwnedHead::new("POST", "/mcp?token=x", fields);
        Credentials::new(head, None)
    }

    #[test]
    fn a_token_comes_in_one_authorization_field() {
        let read = credentials(&[("Authorization", "bearer  abc ")]);
        assert_eq!(read.token(), Some("abc"));
        assert_eq!(read.authorization(), Some((Scheme::Bearer, "abc")));
        for fields in [
            &[("Authorization", "Basic abc")][..],
            &[("Authorization", "Bearer ")],
            &[("authorization", "Bearer a"), ("authorization", "Bearer a")],
            &[],
        ] {
            assert_eq!(credentials(fields).authorization(), None);
        }
    }

    #[test]
    fn auth_142_a_bound_token_is_not_a_bearer_token() {
        let bound = [("Host", "a.example"), ("Authorization", "DPoP abc"), ("DPoP", "proof")];
        let bound = credentials(Box::leak(Box::new(bound)));
        assert_eq!(bound.token(), None);
        assert_eq!(bound.authorization(), Some((Scheme::Dpop, "abc")));
        assert_eq!(bound.proof(), Some("proof"));
        assert_eq!((bound.head().method, &*bound.url()), ("POST", "http://a.example/mcp"));
        let public = Credentials { origin: Some("https://b.example".into()), ..bound };
        assert_eq!(public.url(), "https://b.example/mcp");
        assert!(!format!("{public:?}").contains("abc"));
    }

    #[test]
    fn a_time_is_on_the_clock_of_the_request() {
        let read = credentials(&[]);
        assert_eq!(read.time_of(0), read.now());
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let left = read.time_of(unix + 100).saturating_duration_since(read.now()).as_secs();
        assert!((98..=100).contains(&left), "{left}");
    }
}
