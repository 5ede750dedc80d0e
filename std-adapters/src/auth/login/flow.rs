//! The steps of a flow: what they ask of the network, of the store and of the person.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use mcp_sansio::Printable;
use mcp_sansio_oauth::{self as oauth, AuthorizationState, Lost, Step, UnixTime};

use super::settings::key;
use super::{Login, MEMORY};
use crate::asynchronous::client::http::connector::Purpose;
use crate::asynchronous::client::http::fetch::{FetchError, Limits, Request, fetch};
use crate::lock::lock;
use crate::runtime;
use crate::runtime::timer::Timer;
use crate::store::{self, Lease, Store, StoreError};

/// A step that does not end the flow, without its borrows.
enum OwnedStep {
    Send(Request),
    Lock,
    Redirect(Option<String>),
    Show(String),
    AskAssertion { audience: String, token_endpoint: String },
    Keep,
    Forget,
}

impl Login {
    /// Takes steps until there is a token: with `is_login` a new one.
    pub(super) async fn run(&self, stays: &AtomicBool, is_login: bool) -> io::Result<()> {
        // The flow ends also when nothing waits for it any more.
        let _cancel = Cancel(self);
        let known = self.stored().await?;
        let is_new = self.is_new(&known);
        self.with(|machine| {
            // Another program has tokens already: the person is not asked for them.
            if is_new {
                machine.load_newer(&known);
            }
            if is_login {
                machine.begin();
            }
        });
        let mut lease = None;
        let done = self.steps(stays, known, &mut lease).await;
        release(&mut lease).await;
        done
    }

    /// `known` is the record that the store has.
    async fn steps(
        &self,
        stays: &AtomicBool,
        mut known: Vec<u8>,
        lease: &mut Option<Held>,
    ) -> io::Result<()> {
        let browser = self.oauth.parts.browser.as_deref();
        let browser = || browser.ok_or_else(|| io::Error::other("a person has to log in"));
        // The error of the last request, if it has no answer.
        let mut lost = None;
        loop {
            let Some(step) = self.step(&lost)? else { return Ok(()) };
            // A refresh token is spent once it is sent: its answer has to be read and saved.
            let stay = match &step {
                OwnedStep::Send(request) => request.purpose == Purpose::Token,
                step => matches!(step, OwnedStep::Keep),
            };
            stays.store(stay, Ordering::Relaxed);
            match step {
                OwnedStep::Send(request) => {
                    renew(lease).await?;
                    lost = self.send(request).await;
                }
                OwnedStep::Lock => {
                    *lease = self.acquire().await?;
                    known = self.stored().await?;
                    let is_new = lease.is_some() && self.is_new(&known);
                    self.with(|machine| machine.locked(is_new.then_some(&*known)));
                }
                OwnedStep::Keep => {
                    known = self.keep(known, lease.is_some()).await?;
                    self.see(&known);
                    release(lease).await;
                }
                OwnedStep::Forget => {
                    self.on_store(|store, key| store.remove(&key)).await?;
                    release(lease).await;
                }
                OwnedStep::Redirect(last) => {
                    // A person takes longer than others should wait.
                    release(lease).await;
                    let uri = (browser()?.redirect_uri)(last.as_deref())?;
                    self.with(|machine| machine.redirect_uri(&uri));
                }
                OwnedStep::Show(url) => {
                    let query = (browser()?.show)(url).await?;
                    self.with(|machine| machine.redirected(&query));
                }
                OwnedStep::AskAssertion { audience, token_endpoint } => {
                    let assertion = self.oauth.parts.assertion.as_ref();
                    let assertion = assertion.ok_or_else(|| {
                        io::Error::other("an assertion is needed: set OAuth::assertion")
                    })?;
                    // The platform may take longer than others should wait.
                    release(lease).await;
                    let jwt = assertion(audience, token_endpoint).await?;
                    self.with(|machine| machine.assertion(&jwt));
                }
            }
        }
    }
}

/// Requests of a flow to the network and to the store.
impl Login {
    /// Returns the next step; `None` once there is a token.
    fn step(&self, lost: &Option<String>) -> io::Result<Option<OwnedStep>> {
        let mut random = self.random();
        let step = self.with(|machine| {
            Ok(Some(match machine.step(now(), &mut |out| random.fill(out)) {
                Step::Ready => return Ok(None),
                Step::Send(request) => OwnedStep::Send(self.request(&request)),
                Step::Lock => OwnedStep::Lock,
                Step::Redirect { last } => OwnedStep::Redirect(last.map(str::to_owned)),
                Step::Show(url) => OwnedStep::Show(url.to_owned()),
                Step::AskClient { issuer } => {
                    return Err(format!(
                        "this client is not registered at {}: register it there, and configure \
                         its id",
                        Printable::new(issuer)
                    ));
                }
                Step::AskAssertion { audience, token_endpoint } => OwnedStep::AskAssertion {
                    audience: audience.to_owned(),
                    token_endpoint: token_endpoint.to_owned(),
                },
                Step::Keep => OwnedStep::Keep,
                Step::Forget => OwnedStep::Forget,
                Step::Failed(mut failure) => {
                    failure.answer = failure.answer.or(lost.as_deref());
                    return Err(failure.to_string());
                }
            }))
        });
        random.check()?;
        step.map_err(io::Error::other)
    }

    fn request(&self, request: &oauth::Request<'_>) -> Request {
        let mut fields = Vec::new();
        request.fields(&mut |name, value: &dyn Display| {
            fields.push((name.to_owned(), value.to_string()));
        });
        Request {
            method: request.method(),
            url: request.url().to_owned(),
            purpose: match request.purpose() {
                oauth::Purpose::Metadata => Purpose::Metadata,
                oauth::Purpose::Registration | oauth::Purpose::Token => Purpose::Token,
            },
            rules: self.oauth.rules,
            fields,
            body: request.body().to_owned(),
            limits: Limits {
                time: TIME_LIMIT,
                bytes: request.max_response(),
                redirects: request.max_redirects(),
            },
        }
    }

    /// Returns the reason why there is no answer.
    async fn send(&self, request: Request) -> Option<String> {
        let answer = fetch(&self.connector, &request).await;
        self.with(|machine| match &answer {
            Ok(answer) => machine.response(now(), &answer.as_head(), &answer.body),
            Err(FetchError::TimedOut) => machine.failed(Lost::TimedOut),
            Err(FetchError::TooLarge) => machine.failed(Lost::TooLarge),
            Err(FetchError::Forbidden | FetchError::Redirected) => machine.failed(Lost::Forbidden),
            Err(_) => machine.failed(Lost::Network),
        });
        match answer {
            Err(FetchError::Network(error)) => {
                Some(error.to_string().chars().take(MAX_REASON).collect())
            }
            _ => None,
        }
    }

    /// Calls the store on a thread where that may wait.
    async fn on_store<T: Send + Default + 'static>(
        &self,
        call: impl FnOnce(Arc<dyn Store>, String) -> Result<T, StoreError> + Send + 'static,
    ) -> io::Result<T> {
        let Some(store) = self.oauth.parts.store.clone() else { return Ok(T::default()) };
        let key = key(&self.url);
        store::run(store.blocks(), || call(store, key)).await.map_err(io::Error::other)
    }

    /// Returns the record that the store has; empty without one.
    pub(super) async fn stored(&self) -> io::Result<Vec<u8>> {
        Ok(self.on_store(|store, key| store.get(&key)).await?.unwrap_or_default())
    }

    /// Whether another program has changed the record. Else its tokens are those of the machine, or
    /// older than them, if they could not be saved: its refresh token must not be sent again.
    fn is_new(&self, known: &[u8]) -> bool {
        lock(&self.seen).as_deref() != Some(known)
    }

    fn see(&self, known: &[u8]) {
        *lock(&self.seen) = Some(known.to_vec());
    }

    /// Saves the record in place of the `known` one, and returns what the store then has, as far as
    /// is known. Other programs do not wait for the lock when they register, log in or log out. If
    /// one has done so, a renewal (`is_locked`) gives way to its log-out and to its tokens, tokens
    /// that a person permitted are saved, and a registration alone is not.
    async fn keep(&self, mut known: Vec<u8>, is_locked: bool) -> io::Result<Vec<u8>> {
        if self.oauth.parts.store.is_none() {
            return Ok(known);
        }
        let mut record = vec![0; MEMORY + self.url.len() + 64];
        let len = self.with(|machine| machine.record(&mut record)).map_err(io::Error::other)?;
        record.truncate(len);
        loop {
            self.see(&known);
            let (old, new) = (known.clone(), record.clone());
            let put = move |store: Arc<dyn Store>, key: String| {
                let old = Some(&*old).filter(|old| !old.is_empty());
                store.compare_and_put(&key, old, &new, None)
            };
            if self.on_store(put).await? {
                return Ok(record);
            }
            let found = self.stored().await?;
            if is_locked && (found.is_empty() || self.has_newer(&known, &found)) {
                self.with(|machine| {
                    machine.forget();
                    let _ = machine.load(&found);
                });
                return Ok(found);
            }
            // The flow goes on: there are no new tokens yet.
            if self.with(|machine| machine.is_running()) {
                return Ok(known);
            }
            known = found;
        }
    }

    /// Whether the record that was `found` has another access token than the `known` one.
    fn has_newer(&self, known: &[u8], found: &[u8]) -> bool {
        let mut memory = AuthorizationState::new(vec![0; MEMORY]);
        self.oauth.with_setup(&self.url, |setup| {
            let mut machine = memory.open(setup);
            let _ = machine.load(known);
            machine.load_newer(found)
        })
    }

    /// Waits until no other program renews the tokens. The lease of one that was killed ends by
    /// itself.
    async fn acquire(&self) -> io::Result<Option<Held>> {
        if self.oauth.parts.store.is_none() {
            return Ok(None);
        }
        loop {
            let since = runtime::now();
            let acquire = move |store, key: String| {
                let lease = Lease::acquire(store, &format!("lock/{key}"), LEASE)?;
                Ok(lease.map(|lease| Held { lease: Some(lease), since }))
            };
            if let Some(held) = self.on_store(acquire).await? {
                return Ok(Some(held));
            }
            Timer::after(POLL).await;
        }
    }
}

/// The lock of this program. Released also if the flow is dropped, which does not wait for it: it
/// is made, and moves, within the calls of the store.
struct Held {
    lease: Option<Lease<Arc<dyn Store>>>,
    since: Instant,
}

impl Held {
    fn blocks(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.store.blocks())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take() {
            // It ends by itself otherwise.
            store::run_apart(lease.store.blocks(), || drop(lease.release()));
        }
    }
}

/// Extends the lock before a request that may take longer than what is left of it.
async fn renew(held: &mut Option<Held>) -> io::Result<()> {
    if let Some(mut old) = held.take_if(|held| runtime::elapsed(held.since) > LEASE - TIME_LIMIT) {
        old.since = runtime::now();
        let renewed = store::run(old.blocks(), move || {
            let is_ours = old.lease.as_ref().is_some_and(|it| it.renew(LEASE).unwrap_or(false));
            is_ours.then_some(old)
        });
        // A refresh token that two programs send is taken for stolen.
        let lost = || io::Error::other("another program renews the tokens: try again");
        *held = Some(renewed.await.ok_or_else(lost)?);
    }
    Ok(())
}

async fn release(held: &mut Option<Held>) {
    if let Some(mut held) = held.take() {
        store::run(held.blocks(), move || drop(held.lease.take().map(Lease::release))).await;
    }
}

/// Ends the flow when it is dropped. Does nothing after its end.
struct Cancel<'l>(&'l Login);

impl Drop for Cancel<'_> {
    fn drop(&mut self) {
        self.0.with(|machine| machine.cancel());
    }
}

pub(super) fn now() -> Option<UnixTime> {
    SystemTime::UNIX_EPOCH.elapsed().ok().map(|since| UnixTime::from_secs(since.as_secs()))
}

/// The random bytes of one call of the machine.
pub(super) struct Random {
    fill: Fill,
    failed: Option<getrandom::Error>,
}

/// Fills memory with random bytes.
pub(super) type Fill = fn(&mut [u8]) -> Result<(), getrandom::Error>;

impl Random {
    pub(super) const fn new(fill: Fill) -> Self {
        Self { fill, failed: None }
    }

    pub(super) fn fill(&mut self, out: &mut [u8]) {
        self.failed = (self.fill)(out).err().or(self.failed);
    }

    /// Fails if there were none: then the result of the call could be guessed, and is not used.
    pub(super) fn check(self) -> io::Result<()> {
        let no_random = |error| Err(io::Error::other(format!("no random numbers: {error}")));
        self.failed.map_or(Ok(()), no_random)
    }
}

/// Maximum time of a request to an authorization server.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Maximum time of a lock: longer than the request under it.
const LEASE: Duration = Duration::from_secs(40);
/// Maximum length of the reason why a request has no answer, in characters: parts of it may be the
/// server's.
const MAX_REASON: usize = 300;
const POLL: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use futures_lite::future::{block_on, pending, poll_once};

    use std::sync::Mutex;
    use std::sync::mpsc::{Sender, channel};
    use std::thread::{self, ThreadId};

    use super::*;
    use crate::asynchronous::JoinedIo;
    use crate::asynchronous::client::http::connector::{Dial, boxed};
    use crate::asynchronous::client::http::fetch::tests::server;
    use crate::auth::login::{Browser, Flow, OAuth};
    use crate::runtime::{Runtime, RuntimeFuture, within};
    use crate::store::MemoryStore;

    const MINUTE: Duration = Duration::from_secs(60);

    /// A store that tells on which threads it waits.
    struct Threads(MemoryStore, Sender<ThreadId>);

    impl Store for Threads {
        fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
            self.0.get(key)
        }

        fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
            self.0.put(key, bytes, ttl)
        }

        fn compare_and_put(
            &self,
            key: &str,
            expected: Option<&[u8]>,
            bytes: &[u8],
            ttl: Option<Duration>,
        ) -> Result<bool, StoreError> {
            self.1.send(thread::current().id()).unwrap();
            self.0.compare_and_put(key, expected, bytes, ttl)
        }

        fn remove(&self, key: &str) -> Result<(), StoreError> {
            self.0.remove(key)
        }

        fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
            self.0.keys(prefix)
        }
    }

    #[test]
    fn a_flow_that_is_dropped_does_not_wait_for_the_store() {
        let (threads, called) = channel();
        let store: Arc<dyn Store> = Arc::new(Threads(MemoryStore::new(1 << 10), threads));
        let lease = Lease::acquire(store, "lock", LEASE).unwrap();
        assert_eq!(called.recv().unwrap(), thread::current().id());
        drop(Held { lease, since: runtime::now() });
        assert_ne!(called.recv().unwrap(), thread::current().id());
    }

    /// A runtime whose calls that may block are made when the test does so.
    struct Later(Mutex<Option<Box<dyn FnOnce() + Send>>>);

    impl Runtime for Later {
        fn sleep_until(&self, _: Instant) -> RuntimeFuture<()> {
            panic!("no timers")
        }

        fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) -> RuntimeFuture<()> {
            *lock(&self.0) = Some(work);
            Box::pin(pending())
        }
    }

    #[test]
    fn auth_89_a_lock_is_released_if_its_flow_is_dropped_while_the_store_is_called() {
        let (threads, called) = channel();
        let store: Arc<dyn Store> = Arc::new(Threads(MemoryStore::new(1 << 10), threads));
        let oauth = OAuth::new("client").store(Arc::clone(&store));
        let login = Login::new(oauth, "https://a/mcp", server(&[]).0);
        static LATER: Later = Later(Mutex::new(None));
        let here = thread::current().id();

        let acquiring = within(&LATER, login.acquire());
        assert!(block_on(poll_once(acquiring)).is_none());
        // The store is called when the flow is gone already.
        lock(&LATER.0).take().unwrap()();
        assert_eq!(called.recv().unwrap(), here);
        assert_ne!(called.recv_timeout(MINUTE).unwrap(), here);

        let lease = Lease::acquire(store, "lock", LEASE).unwrap();
        assert_eq!(called.recv().unwrap(), here);
        let mut held = Some(Held { lease, since: runtime::now() });
        assert!(block_on(poll_once(within(&LATER, release(&mut held)))).is_none());
        // The runtime does not begin what nobody waits for any more.
        drop(lock(&LATER.0).take());
        assert_ne!(called.recv_timeout(MINUTE).unwrap(), here);
    }

    struct Person;

    impl Browser for Person {
        fn redirect_uri(&self, _: Option<&str>) -> io::Result<String> {
            Ok("http://127.0.0.1:4000/callback".into())
        }

        async fn show(&self, url: String) -> io::Result<String> {
            panic!("{url}")
        }
    }

    #[test]
    fn without_random_numbers_there_is_no_login() {
        let answers = [
            r#"{"resource":"https://a/mcp","authorization_servers":["https://a"]}"#,
            r#"{"issuer":"https://a","authorization_endpoint":"https://a/authorize","token_endpoint":"https://a/token","registration_endpoint":"https://a/register","response_types_supported":["code"],"code_challenge_methods_supported":["S256"]}"#,
            r#"{"client_id":"c"}"#,
        ];
        let answers = answers.map(|body| {
            let length = body.len();
            Some(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"))
        });
        let (connector, sent) = server(&answers);
        let oauth = OAuth::new("client").browser(Person);
        let mut login = Login::new(oauth, "https://a/mcp", connector);
        login.fill = |_| Err(getrandom::Error::UNSUPPORTED);
        let failed = block_on(Arc::new(login).log_in(&Flow::new())).unwrap_err().to_string();
        assert!(failed.starts_with("no random numbers: "), "{failed}");
        assert_eq!(sent.lock().unwrap().len(), answers.len());
    }

    #[test]
    fn a_login_without_a_connection_says_why_there_is_none() {
        let reason = format!("refused\u{1b}{}", "x".repeat(400));
        let connector = boxed(move |_: Dial| {
            let error = io::Error::other(reason.clone());
            async move { io::Result::<JoinedIo<piper::Reader, piper::Writer>>::Err(error) }
        });
        let login = Login::new(OAuth::new("client"), "https://a/mcp", connector);
        let failed = block_on(Arc::new(login).log_in(&Flow::new())).unwrap_err().to_string();
        let place = "https://a/.well-known/oauth-protected-resource/mcp";
        let reason = format!("refused\\u001b{}", "x".repeat(292));
        assert_eq!(failed, format!("no connection ({place}): {reason}; try again later"));
    }
}
