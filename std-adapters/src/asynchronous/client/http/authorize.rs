//! Credentials of requests, and the answer to a server that wants others.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};

use futures_lite::future::poll_once;
use mcp_sansio::http::{Fields, ResponseHead};
use mcp_sansio_engine::{AUTHORIZATION_LIMIT, HttpExchangeId};
use mcp_sansio_http1::OwnedFields;
#[cfg(feature = "auth")]
use mcp_sansio_oauth::Attempts;

use super::exchange::{TransportState, timeout};
#[cfg(feature = "auth")]
use crate::auth::login::Login;
use crate::client::HttpError;
use crate::lock::lock;
use crate::panics::{caught, caught_future};

/// A source of credentials.
pub(crate) trait Authorize: Send + Sync {
    /// Returns the credentials of a request, after renewing them if that is due.
    fn credentials<'a>(&'a self, method: &'a str, url: &'a str) -> Waiting<'a, Credentials>;

    /// Takes the head of any response.
    fn observed(&self, _: &ResponseHead<'_>) {}

    /// Takes a response with status 401 or 403. Returns whether there are other credentials, with
    /// which the request is sent again.
    fn refused<'a>(&'a self, refused: &'a Refused, tried: &'a mut Tried) -> Waiting<'a, bool>;
}

pub(crate) type Waiting<'a, R> = Pin<Box<dyn Future<Output = io::Result<R>> + Send + 'a>>;

/// Header fields of one request.
#[derive(Default)]
pub(crate) struct Credentials {
    pub(crate) fields: Vec<(String, String)>,
    /// Another number for each token.
    pub(crate) generation: u32,
}

/// A response with status 401 or 403.
pub(crate) struct Refused {
    #[cfg(feature = "auth")]
    pub(crate) status: u16,
    pub(crate) fields: OwnedFields,
    /// Of the credentials of the request.
    pub(crate) generation: u32,
}

/// Attempts for one request.
#[derive(Default)]
pub(crate) struct Tried {
    is_asked: bool,
    /// Whether no person is asked.
    is_quiet: bool,
    #[cfg(feature = "auth")]
    attempts: Attempts,
}

impl Tried {
    /// Of a request with this method.
    pub(crate) fn of(method: &str) -> Self {
        Self { is_quiet: is_quiet(method), ..Self::default() }
    }
}

/// Whether no person is asked for credentials of a request with this method. The end of a session
/// is not worth a page: an application that closes its connection waits for nothing.
pub(crate) fn is_quiet(method: &str) -> bool {
    method == "DELETE"
}

impl Refused {
    /// Returns all challenges, as one field would have them.
    fn challenge(&self) -> String {
        let challenges = (0..).map_while(|n| self.fields.nth("www-authenticate", n));
        let challenges = challenges.map(|value| String::from_utf8_lossy(value));
        challenges.collect::<Vec<_>>().join(", ")
    }
}

/// A bearer token, and possibly the function of an application that returns another one.
pub(crate) struct Bearer {
    token: Mutex<(Option<String>, u32)>,
    renew: Option<Renew>,
}

/// Returns a token for a challenge.
pub(crate) type Renew = Arc<dyn Fn(String) -> Renewing + Send + Sync>;
type Renewing = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

impl Bearer {
    pub(crate) fn new(token: Option<String>, renew: Option<Renew>) -> Self {
        Self { token: Mutex::new((token, 0)), renew }
    }

    fn with<R>(&self, call: impl FnOnce(&mut (Option<String>, u32)) -> R) -> R {
        call(&mut lock(&self.token))
    }
}

impl Authorize for Bearer {
    fn credentials<'a>(&'a self, _: &'a str, _: &'a str) -> Waiting<'a, Credentials> {
        let (token, generation) = self.with(|state| state.clone());
        let fields = token.map(|token| ("authorization".to_owned(), format!("Bearer {token}")));
        let credentials = Credentials { fields: fields.into_iter().collect(), generation };
        Box::pin(std::future::ready(Ok(credentials)))
    }

    fn refused<'a>(&'a self, refused: &'a Refused, tried: &'a mut Tried) -> Waiting<'a, bool> {
        Box::pin(async move {
            let Some(renew) = self.renew.as_ref().filter(|_| !tried.is_asked) else {
                return Ok(false);
            };
            tried.is_asked = true;
            // Another request has got a token meanwhile.
            if self.with(|state| state.1) != refused.generation {
                return Ok(true);
            }
            // The function may ask a person.
            if tried.is_quiet {
                return Ok(false);
            }
            let token = caught_future(caught(|| renew(refused.challenge())).ok()).await.flatten();
            Ok(token.is_some_and(|token| {
                self.with(|state| *state = (Some(token), state.1.wrapping_add(1)));
                true
            }))
        })
    }
}

#[cfg(feature = "auth")]
impl Authorize for Arc<Login> {
    fn credentials<'a>(&'a self, method: &'a str, url: &'a str) -> Waiting<'a, Credentials> {
        Box::pin(async move {
            let (fields, generation) = self.fields(method, url).await?;
            Ok(Credentials { fields, generation })
        })
    }

    fn observed(&self, head: &ResponseHead<'_>) {
        Login::observed(self, head);
    }

    fn refused<'a>(&'a self, refused: &'a Refused, tried: &'a mut Tried) -> Waiting<'a, bool> {
        Box::pin(async move {
            let head = ResponseHead::new(refused.status, &refused.fields);
            let Tried { is_quiet, attempts, .. } = tried;
            self.challenged(&head, refused.generation, *is_quiet, attempts).await
        })
    }
}

impl TransportState {
    /// Returns the credentials of a request to `target`.
    ///
    /// # Errors
    /// [`HttpError::NotAuthorized`].
    pub(crate) async fn credentials(
        &self,
        id: HttpExchangeId,
        method: &str,
        target: &str,
    ) -> Result<Credentials, HttpError> {
        let Some(authorize) = &self.http.authorize else { return Ok(Credentials::default()) };
        let url = self.http.url_of(target);
        self.held(id, authorize.credentials(method, &url)).await
    }

    /// Whether a request that was refused is sent again, with other credentials.
    ///
    /// # Errors
    /// [`HttpError::NotAuthorized`].
    pub(crate) async fn reauthorize(
        &self,
        id: HttpExchangeId,
        refused: &Refused,
        tried: &mut Tried,
    ) -> Result<bool, HttpError> {
        let Some(authorize) = &self.http.authorize else { return Ok(false) };
        self.held(id, authorize.refused(refused, tried)).await
    }

    /// Takes the head of any response, for the credentials of the next request.
    pub(crate) fn observed(&self, head: &ResponseHead<'_>) {
        if let Some(authorize) = &self.http.authorize {
            authorize.observed(head);
        }
    }

    /// Awaits `future`, while the time limits of calls stand still: a person may be logging in.
    async fn held<R>(
        &self,
        id: HttpExchangeId,
        future: impl Future<Output = io::Result<R>>,
    ) -> Result<R, HttpError> {
        let mut future = pin!(future);
        let result = match poll_once(&mut future).await {
            Some(result) => result,
            None => {
                self.with(|client, now| client.begin_login(now, id));
                let result = timeout(AUTHORIZATION_LIMIT, future).await;
                self.with(|client, now| client.end_login(now, id));
                result.and_then(|result| result)
            }
        };
        result.map_err(|error| {
            HttpError::NotAuthorized(match error.kind() {
                ErrorKind::TimedOut if error.get_ref().is_none() => TOO_LONG.to_owned(),
                _ => error.to_string(),
            })
        })
    }
}

const TOO_LONG: &str = "no login within 10 minutes: call again, and log in";
