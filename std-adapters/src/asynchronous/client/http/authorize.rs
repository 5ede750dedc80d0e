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

use super::connector::HttpTransport;
use super::link::{TransportState, timeout};
#[cfg(feature = "auth")]
use crate::auth::login::{Flow, Login};
use crate::client::{Changes, HttpError};
use crate::flights::{Boxed, Flights, Stays};
use crate::lock::lock;
use crate::panics::{caught, caught_future};

/// A source of credentials.
#[derive(Clone)]
pub(crate) enum Authorize {
    Bearer(Arc<Bearer>),
    #[cfg(feature = "auth")]
    Login(Arc<Login>, Arc<Flow>),
}

impl HttpTransport {
    /// Returns the count of changes of the access token, if it can change.
    pub(crate) fn token_changes(&self) -> Option<Changes> {
        Some(match self.authorize.clone()? {
            Authorize::Bearer(bearer) => Arc::new(move || lock(&bearer.token).1),
            #[cfg(feature = "auth")]
            Authorize::Login(login, _) => Arc::new(move || login.changes()),
        })
    }
}

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
    #[cfg(feature = "auth")]
    attempts: Attempts,
}

/// A bearer token, and possibly the function of an application that returns another one.
pub(crate) struct Bearer {
    /// With its generation.
    token: Arc<Mutex<(Option<String>, u32)>>,
    renew: Option<Renew>,
    /// Questions to the application, by the generation that was refused.
    flights: Flights<u32, bool>,
}

/// Returns a token for a challenge.
pub(crate) type Renew = Arc<dyn Fn(String) -> Renewing + Send + Sync>;
type Renewing = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

impl Bearer {
    pub(crate) fn new(token: Option<String>, renew: Option<Renew>) -> Self {
        Self { token: Arc::new(Mutex::new((token, 0))), renew, flights: Flights::new() }
    }

    fn credentials(&self) -> Credentials {
        let (token, generation) = lock(&self.token).clone();
        let fields = token.map(|token| ("authorization".to_owned(), format!("Bearer {token}")));
        Credentials { fields: fields.into_iter().collect(), generation }
    }

    async fn refused(&self, refused: &Refused, is_quiet: bool, tried: &mut Tried) -> bool {
        let Some(renew) = self.renew.as_ref().filter(|_| !tried.is_asked) else { return false };
        tried.is_asked = true;
        let generation = refused.generation;
        if is_quiet {
            return lock(&self.token).1 != generation;
        }
        let begin = |_: &Stays| -> Boxed<bool> {
            let (token, renew) = (Arc::clone(&self.token), Arc::clone(renew));
            let challenges = (0..).map_while(|n| refused.fields.nth("www-authenticate", n));
            let challenges = challenges.map(|value| String::from_utf8_lossy(value));
            // As one field would have them.
            let challenge = challenges.collect::<Vec<_>>().join(", ");
            Box::pin(async move {
                // Another request has got a token meanwhile.
                if lock(&token).1 != generation {
                    return true;
                }
                let new = caught_future(caught(|| renew(challenge)).ok()).await.flatten();
                let is_new = new.is_some();
                if is_new {
                    *lock(&token) = (new, generation.wrapping_add(1));
                }
                is_new
            })
        };
        self.flights.share(generation, begin).await
    }
}

#[cfg_attr(not(feature = "auth"), expect(unused_variables, reason = "a token needs none of them"))]
impl TransportState {
    /// Returns the credentials of a request to `target`, after renewing them if that is due.
    ///
    /// # Errors
    /// [`HttpError::NotAuthorized`].
    pub(crate) async fn credentials(
        &self,
        id: HttpExchangeId,
        method: &str,
        target: &str,
    ) -> Result<Credentials, HttpError> {
        match &self.http.authorize {
            None => Ok(Credentials::default()),
            Some(Authorize::Bearer(bearer)) => Ok(bearer.credentials()),
            #[cfg(feature = "auth")]
            Some(Authorize::Login(login, flow)) => {
                let url = self.http.url_of(target);
                self.held(id, login.credentials(flow, self.is_quiet(), method, &url)).await
            }
        }
    }

    /// Takes a response with status 401 or 403. Returns whether there are other credentials, with
    /// which the request is sent again.
    ///
    /// # Errors
    /// [`HttpError::NotAuthorized`].
    pub(crate) async fn reauthorize(
        &self,
        id: HttpExchangeId,
        refused: &Refused,
        tried: &mut Tried,
    ) -> Result<bool, HttpError> {
        match &self.http.authorize {
            None => Ok(false),
            Some(Authorize::Bearer(bearer)) => {
                let is_quiet = self.is_quiet();
                self.held(id, async { Ok(bearer.refused(refused, is_quiet, tried).await) }).await
            }
            #[cfg(feature = "auth")]
            Some(Authorize::Login(login, flow)) => {
                let head = ResponseHead::new(refused.status, &refused.fields);
                let (is_quiet, attempts) = (self.is_quiet(), &mut tried.attempts);
                let challenged =
                    login.challenged(flow, &head, refused.generation, is_quiet, attempts);
                self.held(id, challenged).await
            }
        }
    }

    /// Whether a request takes only credentials that are there. The end of a connection is not
    /// worth a page, and does not wait for a renewal: given up in the middle, that would spend the
    /// refresh token for nothing.
    fn is_quiet(&self) -> bool {
        self.with(|client, _| client.is_closing())
    }

    /// Takes the head of any response, for the credentials of the next request.
    pub(crate) fn observed(&self, head: &ResponseHead<'_>) {
        #[cfg(feature = "auth")]
        if let Some(Authorize::Login(login, _)) = &self.http.authorize {
            login.observed(head);
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
