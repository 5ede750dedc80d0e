//! Logging in.

pub(crate) mod browser;
pub(crate) mod flow;
pub(crate) mod settings;

pub use browser::{
    Browser, BrowserNotice, LOGIN_TIME_LIMIT, LoopbackListener, MAX_LOGINS, MAX_PASTES, MAX_VISITS,
    SystemBrowser, open_in_browser, open_with, pasted,
};
pub use settings::{OAuth, OAuthClient};

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};

use mcp_sansio::http::ResponseHead;
use mcp_sansio_oauth::{Attempts, Authorization, AuthorizationState, NotReady, Reaction};

use crate::asynchronous::client::http::authorize::is_quiet;
use crate::asynchronous::client::http::builder::HttpTransport;
use crate::asynchronous::client::http::connector::Connector;
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
    /// The flow that runs.
    flight: Mutex<Weak<Flight>>,
    is_loaded: Mutex<bool>,
    fill: Fill,
}

impl HttpTransport {
    /// Logs in by `oauth` when the server asks for it (2025-03-26 and later, basic/authorization).
    #[must_use]
    pub fn oauth(self, oauth: OAuth) -> Self {
        let login = Arc::new(Login::new(oauth, &self.url(), Arc::clone(&self.connector)));
        Self { authorize: Some(Arc::new(Arc::clone(&login))), login: Some(login), ..self }
    }

    /// Logs in now, also if there is a login already.
    ///
    /// Cancel safe: dropping the future ends the login.
    ///
    /// # Errors
    /// The reason, for the person. [`ErrorKind::Unsupported`] without [`oauth`](Self::oauth).
    pub async fn login(&self) -> io::Result<()> {
        let none = || io::Error::new(ErrorKind::Unsupported, "no HttpTransport::oauth");
        self.login.as_ref().ok_or_else(none)?.log_in().await
    }
}

impl Login {
    pub(crate) fn new(oauth: OAuth, url: &str, connector: Connector) -> Self {
        Self {
            oauth,
            url: endpoint(url),
            connector,
            machine: Mutex::new(AuthorizationState::new(vec![0; MEMORY].into())),
            flight: Mutex::default(),
            is_loaded: Mutex::default(),
            fill: getrandom::fill,
        }
    }

    /// Calls the machine.
    fn with<R>(&self, call: impl FnOnce(&mut Authorization<'_>) -> R) -> R {
        self.oauth.with_setup(&self.url, |setup| call(&mut lock(&self.machine).open(setup)))
    }

    /// Returns the fields of a request, and the generation of its token; none without a token.
    /// Renews a token that is about to end, and waits for a login that runs.
    pub(crate) async fn fields(
        self: &Arc<Self>,
        method: &str,
        url: &str,
    ) -> io::Result<(Vec<(String, String)>, u32)> {
        self.load().await?;
        let is_quiet = is_quiet(method);
        if self.with(|machine| machine.is_due(now())) {
            // The token is used to its end.
            let _ = self.fly(is_quiet).await;
        }
        for _ in 0..MAX_WAITS {
            let (mut fields, mut random) = (Vec::new(), self.random());
            let put = &mut |name: &str, value: &dyn std::fmt::Display| {
                fields.push((name.to_owned(), value.to_string()));
            };
            let (done, generation) = self.with(|machine| {
                (
                    machine.fields(now(), &mut |out| random.fill(out), method, url, put),
                    machine.generation(),
                )
            });
            random.check()?;
            match done {
                Ok(()) => return Ok((fields, generation)),
                Err(NotReady::Authorizing) => self.fly(is_quiet).await?,
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
    /// whether the request is to be sent again, with new fields. If it `is_quiet`, no person is
    /// asked.
    pub(crate) async fn challenged(
        self: &Arc<Self>,
        head: &ResponseHead<'_>,
        generation: u32,
        is_quiet: bool,
        attempts: &mut Attempts,
    ) -> io::Result<bool> {
        match self.with(|machine| machine.challenged(head, generation, attempts)) {
            Reaction::SendAgain => Ok(true),
            Reaction::Authorize => self.fly(is_quiet).await.map(|()| true),
            Reaction::Report => Ok(false),
        }
    }

    pub(crate) async fn log_in(self: &Arc<Self>) -> io::Result<()> {
        self.load().await?;
        self.with(|machine| machine.begin());
        self.fly(false).await
    }

    /// Takes what the store has, before the first request.
    async fn load(&self) -> io::Result<()> {
        if *lock(&self.is_loaded) {
            return Ok(());
        }
        let record = self.stored().await?;
        let mut is_loaded = lock(&self.is_loaded);
        if !std::mem::replace(&mut *is_loaded, true)
            && let Some(record) = record
        {
            // One that cannot be used is as none: the person logs in again.
            let _ = self.with(|machine| machine.load(&record));
        }
        Ok(())
    }

    /// Forgets everything, and takes what the store has.
    async fn load_anew(&self) -> io::Result<()> {
        let record = self.stored().await?;
        *lock(&self.machine) = AuthorizationState::new(vec![0; MEMORY].into());
        if let Some(record) = record {
            let _ = self.with(|machine| machine.load(&record));
        }
        Ok(())
    }

    const fn random(&self) -> Random {
        Random::new(self.fill)
    }

    /// Takes steps until there is a token, or waits for those who do. If it `is_quiet`, no person
    /// is asked.
    async fn fly(self: &Arc<Self>, is_quiet: bool) -> io::Result<()> {
        loop {
            let flight = {
                let mut present = lock(&self.flight);
                present.upgrade().filter(|flight| !flight.is_over()).unwrap_or_else(|| {
                    let login = Arc::clone(self);
                    let flow = async move {
                        let panicked =
                            || Err(io::Error::other("the program panicked in the login"));
                        caught_future(Some(login.run(is_quiet))).await.unwrap_or_else(panicked)
                    };
                    let flight = Arc::new(Flight::new(is_quiet, flow));
                    *present = Arc::downgrade(&flight);
                    flight
                })
            };
            match flight.wait().await {
                // Those who may ask a person begin their own.
                Err(_) if flight.is_quiet && !is_quiet => {}
                result => return result.map_err(io::Error::other),
            }
        }
    }
}

/// Memory of an authorization, in bytes.
const MEMORY: usize = 16 << 10;
/// A request waits for this many logins.
const MAX_WAITS: usize = 3;

// One future that several others wait for.

/// A future that is polled by all who wait for it, and dropped with the last of them. They get the
/// same result, an error as text.
struct Flight {
    /// Whether it asks no person.
    is_quiet: bool,
    inner: Mutex<Inner>,
    waiting: Arc<Waiting>,
}

enum Inner {
    Running(Pin<Box<dyn Future<Output = io::Result<()>> + Send>>),
    Over(Result<(), Arc<str>>),
}

impl Flight {
    fn new(is_quiet: bool, future: impl Future<Output = io::Result<()>> + Send + 'static) -> Self {
        let inner = Mutex::new(Inner::Running(Box::pin(future)));
        Self { is_quiet, inner, waiting: Arc::default() }
    }

    fn is_over(&self) -> bool {
        matches!(*lock(&self.inner), Inner::Over(_))
    }

    async fn wait(&self) -> Result<(), String> {
        let over = poll_fn(|cx| {
            let mut inner = lock(&self.inner);
            let future = match &mut *inner {
                Inner::Running(future) => future,
                Inner::Over(result) => return Poll::Ready(result.clone()),
            };
            self.waiting.add(cx.waker());
            let waker = Waker::from(Arc::clone(&self.waiting));
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            let Poll::Ready(result) = polled else { return Poll::Pending };
            let result = result.map_err(|error| error.to_string().into());
            *inner = Inner::Over(result.clone());
            drop(inner);
            self.waiting.wake_by_ref();
            Poll::Ready(result)
        });
        over.await.map_err(|error: Arc<str>| error.to_string())
    }
}

/// The tasks that wait.
#[derive(Default)]
struct Waiting(Mutex<Vec<Waker>>);

impl Waiting {
    fn add(&self, waker: &Waker) {
        let mut wakers = lock(&self.0);
        if !wakers.iter().any(|other| other.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let wakers = std::mem::take(&mut *lock(&self.0));
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_lite::future::{block_on, poll_once, yield_now, zip};

    use super::*;

    /// A flight that takes some polls, and what counts those polls and its end.
    fn flight(result: Result<(), &'static str>) -> (Flight, Arc<AtomicUsize>) {
        struct Count(Arc<AtomicUsize>);
        impl Drop for Count {
            fn drop(&mut self) {
                self.0.fetch_add(100, Ordering::Relaxed);
            }
        }
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Count(Arc::clone(&count));
        let flight = Flight::new(false, async move {
            for _ in 0..3 {
                counted.0.fetch_add(1, Ordering::Relaxed);
                yield_now().await;
            }
            result.map_err(io::Error::other)
        });
        (flight, count)
    }

    #[test]
    fn auth_89_all_who_wait_get_the_result_of_one_flow() {
        for result in [Ok(()), Err("denied")] {
            let (flight, count) = flight(result);
            let expected = result.map_err(str::to_owned);
            let both = block_on(zip(flight.wait(), flight.wait()));
            assert_eq!(both, (expected.clone(), expected.clone()));
            assert!(flight.is_over());
            assert_eq!(block_on(flight.wait()), expected);
            assert_eq!(
                count.load(Ordering::Relaxed),
                103,
                "it runs once, and is dropped at its end"
            );
        }
    }

    #[test]
    fn a_flow_goes_on_when_who_began_it_is_gone_and_ends_with_the_last() {
        let (flight, count) = flight(Ok(()));
        let flight = Arc::new(flight);
        {
            let mut first = pin!(flight.wait());
            assert!(block_on(poll_once(first.as_mut())).is_none());
        }
        assert_eq!(block_on(flight.wait()), Ok(()));
        assert_eq!(count.load(Ordering::Relaxed), 103);

        let (flight, count) = self::flight(Ok(()));
        {
            let mut only = pin!(flight.wait());
            assert!(block_on(poll_once(only.as_mut())).is_none());
        }
        assert!(!flight.is_over());
        drop(flight);
        assert_eq!(count.load(Ordering::Relaxed), 101);
    }
}
