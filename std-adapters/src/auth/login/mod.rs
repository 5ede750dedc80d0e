//! Logging in.

pub(crate) mod browser;
pub(crate) mod flow;
pub(crate) mod settings;

pub use browser::{
    Browser, BrowserNotice, LOGIN_TIME_LIMIT, LoopbackListener, MAX_LOGINS, MAX_PASTES, MAX_VISITS,
    SystemBrowser, open_in_browser, open_with, pasted,
};
pub use settings::{OAuth, OAuthClient, OAuthGrant};

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use mcp_sansio::http::ResponseHead;
use mcp_sansio_oauth::{Attempts, Authorization, AuthorizationState, NotReady, Reaction};

use crate::asynchronous::client::http::authorize::{Authorize, Credentials};
use crate::asynchronous::client::http::connector::{Connector, HttpTransport};
use crate::flights::{Boxed, Flights, Stays};
use crate::lock::lock;
use crate::panics::caught_future;
use flow::{Fill, Random, now};
use settings::endpoint;

// A client's authorization at one server: what requests ask of it, and the one flow for all.

/// The authorization at one server.
pub(crate) struct Login {
    oauth: OAuth,
    url: String,
    connector: Connector,
    machine: Mutex<AuthorizationState<Box<[u8]>>>,
    /// Number of changes of the token. The generation is 0 again after each login that is over, and
    /// a signature may keep the machine busy.
    changes: AtomicU32,
    /// The record that this program has read from the store, or written to it, last. `None` before.
    seen: Mutex<Option<Vec<u8>>>,
    fill: Fill,
}

impl HttpTransport {
    /// Logs in by `oauth` when the server asks for it (2025-03-26 and later, basic/authorization).
    pub fn oauth(self, oauth: OAuth) -> Self {
        let login = Arc::new(Login::new(oauth, &self.url(), Arc::clone(&self.connector)));
        Self { authorize: Some(Authorize::Login(login, Arc::new(Flow::new()))), ..self }
    }

    /// Logs in now, also if there is a login already.
    ///
    /// Cancel safe: dropping the future ends the login, unless the authorization server has been
    /// asked for the token. The next login or request that needs one takes that.
    ///
    /// # Errors
    /// The reason, for the person. [`ErrorKind::Unsupported`] without [`oauth`](Self::oauth).
    pub async fn login(&self) -> io::Result<()> {
        match &self.authorize {
            Some(Authorize::Login(login, flow)) => login.log_in(flow).await,
            _ => Err(io::Error::new(ErrorKind::Unsupported, "no HttpTransport::oauth")),
        }
    }
}

impl Login {
    pub(crate) fn new(oauth: OAuth, url: &str, connector: Connector) -> Self {
        Self {
            oauth,
            url: endpoint(url),
            connector,
            machine: Mutex::new(AuthorizationState::new(vec![0; MEMORY].into())),
            changes: AtomicU32::new(0),
            seen: Mutex::default(),
            fill: getrandom::fill,
        }
    }

    /// Calls the machine.
    fn with<R>(&self, call: impl FnOnce(&mut Authorization<'_>) -> R) -> R {
        self.oauth.with_setup(&self.url, |setup| {
            let mut state = lock(&self.machine);
            let machine = &mut state.open(setup);
            let before = machine.generation();
            let result = call(machine);
            if machine.generation() != before {
                self.changes.fetch_add(1, Ordering::Relaxed);
            }
            result
        })
    }

    /// Returns the number of changes of the token so far.
    pub(crate) fn changes(&self) -> u32 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Returns the credentials of a request, without fields if there is no token.
    /// Renews a token that is about to end, and waits for a login that runs.
    pub(crate) async fn credentials(
        self: &Arc<Self>,
        flow: &Flow,
        is_quiet: bool,
        method: &str,
        url: &str,
    ) -> io::Result<Credentials> {
        self.load().await?;
        if !is_quiet && self.with(|machine| machine.is_due(now())) {
            // The token is used to its end.
            let _ = self.fly(flow, false).await;
        }
        for _ in 0..MAX_WAITS {
            let (mut fields, mut random) = (Vec::new(), self.random());
            let put = &mut |name: &str, value: &dyn std::fmt::Display| {
                fields.push((name.to_owned(), value.to_string()));
            };
            let done = self.with(|machine| {
                machine.fields(now(), &mut |out| random.fill(out), method, url, put)?;
                Ok(machine.generation())
            });
            random.check()?;
            match done {
                Ok(generation) => return Ok(Credentials { fields, generation }),
                Err(NotReady::Authorizing) if !is_quiet => self.fly(flow, false).await?,
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Err(io::Error::other(NotReady::Authorizing))
    }

    /// Takes the head of any response of the server.
    pub(crate) fn observed(&self, head: &ResponseHead<'_>) {
        self.with(|machine| machine.observed(head));
    }

    /// Takes a response with status 401 or 403 to a request with fields of this generation. Returns
    /// whether the request is to be sent again, with new fields. If it `is_quiet`, no flow begins.
    pub(crate) async fn challenged(
        self: &Arc<Self>,
        flow: &Flow,
        head: &ResponseHead<'_>,
        generation: u32,
        is_quiet: bool,
        attempts: &mut Attempts,
    ) -> io::Result<bool> {
        let reaction = self.with(|machine| {
            let runs = machine.is_running();
            let reaction = machine.challenged(head, generation, attempts);
            if is_quiet && !runs {
                machine.cancel();
            }
            reaction
        });
        match reaction {
            Reaction::SendAgain => Ok(true),
            Reaction::Authorize if !is_quiet => self.fly(flow, false).await.map(|()| true),
            Reaction::Authorize | Reaction::Report => Ok(false),
        }
    }

    pub(crate) async fn log_in(self: &Arc<Self>, flow: &Flow) -> io::Result<()> {
        self.load().await?;
        self.fly(flow, true).await
    }

    /// Takes what the store has, before the first request.
    async fn load(&self) -> io::Result<()> {
        if lock(&self.seen).is_some() {
            return Ok(());
        }
        let record = self.stored().await?;
        let mut seen = lock(&self.seen);
        if seen.is_none() {
            // One that cannot be used is as none: the person logs in again.
            let _ = self.with(|machine| machine.load(&record));
            *seen = Some(record);
        }
        Ok(())
    }

    const fn random(&self) -> Random {
        Random::new(self.fill)
    }

    /// Takes steps until there is a token, with `is_login` a new one, or waits for those who do.
    async fn fly(self: &Arc<Self>, flow: &Flow, is_login: bool) -> io::Result<()> {
        let generation = || self.with(|machine| machine.generation());
        let before = generation();
        let begin = |stays: &Stays| -> Boxed<Outcome> {
            let (login, stays) = (Arc::clone(self), Arc::clone(stays));
            Box::pin(async move {
                let panicked = || Err(io::Error::other("the program panicked in the login"));
                let result = caught_future(Some(login.run(&stays, is_login))).await;
                let result = result.unwrap_or_else(panicked);
                Outcome { is_login, result: result.map_err(|error| error.to_string()) }
            })
        };
        loop {
            match flow.share((), begin).await {
                // A renewal before the end of a token may have left it as it is.
                Outcome { is_login: false, result: Ok(()) }
                    if is_login && generation() == before => {}
                Outcome { result, .. } => return result.map_err(io::Error::other),
            }
        }
    }
}

/// The flow that runs. It has the login, which must not have it: one that stays would keep itself.
pub(crate) type Flow = Flights<(), Outcome>;

/// The end of a flow.
#[derive(Clone)]
pub(crate) struct Outcome {
    /// Whether it was to bring a new token.
    is_login: bool,
    result: Result<(), String>,
}

/// Memory of an authorization, in bytes.
const MEMORY: usize = 16 << 10;
/// A request waits for this many logins.
const MAX_WAITS: usize = 3;
