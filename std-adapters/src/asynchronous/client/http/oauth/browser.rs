//! The person's part of a login.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio_oauth::{Url, form};

use super::listener::{LoopbackListener, pasted};
use super::opener::open_in_browser;
use crate::lock::lock;
use crate::runtime::unblock;

/// Shows pages of authorization servers to a person.
pub trait Browser: Send + Sync + 'static {
    /// Returns the URI to which the next page is to return. `last` is the one that the
    /// authorization server knows, if there is one: another may have to be registered first.
    ///
    /// # Errors
    /// The login fails with this error.
    fn redirect_uri(&self, last: Option<&str>) -> io::Result<String>;

    /// Shows the page at `url`, which has been checked, and returns the query with which it returns
    /// to the redirect URI. That is the last `redirect_uri` of its query; several logins may be
    /// under way. Dropping the future ends the login.
    ///
    /// # Errors
    /// The login fails with this error.
    fn show(&self, url: String) -> impl Future<Output = io::Result<String>> + Send;
}

/// The browser of this machine, which returns to a [`LoopbackListener`]; or one elsewhere, from
/// which a person copies the address that it has returned to.
///
/// Each login has a listener of its own. At most [`MAX_LOGINS`] of them wait for their page.
pub struct SystemBrowser {
    open: Option<Box<Open>>,
    paste: Option<Arc<Paste>>,
    notify: Box<Notify>,
    time_limit: Duration,
    /// Listeners of logins whose page has not been shown yet, the oldest first.
    listeners: Mutex<VecDeque<LoopbackListener>>,
}

type Open = dyn Fn(&str) -> io::Result<()> + Send + Sync;
type Paste = dyn Fn() -> io::Result<String> + Send + Sync;
type Notify = dyn Fn(BrowserNotice<'_>) + Send + Sync;

/// A message for the person during a login.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum BrowserNotice<'n> {
    /// This page is to be opened; it has not been.
    Open(&'n str),
    /// This page has been opened, as far as is known.
    Opened(&'n str),
    /// This page could not be opened, and is to be opened by the person.
    NotOpened(&'n str, &'n io::Error),
    /// The text that was pasted is not the answer, for this reason.
    NotTheAnswer(&'n str),
}

impl SystemBrowser {
    /// Creates one that opens nothing: `notify` shows the page's URL, for example on standard
    /// error.
    pub fn new(notify: impl Fn(BrowserNotice<'_>) + Send + Sync + 'static) -> Self {
        Self {
            open: None,
            paste: None,
            notify: Box::new(notify),
            time_limit: LOGIN_TIME_LIMIT,
            listeners: Mutex::default(),
        }
    }

    /// Opens pages by [`open_in_browser`].
    #[must_use]
    pub fn opens(self) -> Self {
        self.opens_with(open_in_browser)
    }

    /// Opens pages by this function.
    #[must_use]
    pub fn opens_with(self, open: impl Fn(&str) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self { open: Some(Box::new(open)), ..self }
    }

    /// Takes the answer from `read`, which is called on a thread of its own and returns what a
    /// person has pasted ([`pasted`]), at most [`MAX_PASTES`] times: for a browser on another
    /// machine, where the page to which it returns cannot be loaded.
    #[must_use]
    pub fn paste(self, read: impl Fn() -> io::Result<String> + Send + Sync + 'static) -> Self {
        Self { paste: Some(Arc::new(read)), ..self }
    }

    /// Limits the time that a person may take for a page. Default: [`LOGIN_TIME_LIMIT`].
    #[must_use]
    pub fn time_limit(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    fn take(&self, redirect_uri: &str) -> Option<LoopbackListener> {
        let mut listeners = lock(&self.listeners);
        let at = listeners.iter().position(|it| it.redirect_uri() == redirect_uri)?;
        listeners.remove(at)
    }

    async fn pasted(&self, redirect_uri: &str, state: &str) -> io::Result<String> {
        let Some(paste) = &self.paste else { return std::future::pending().await };
        for _ in 0..MAX_PASTES {
            let read = Arc::clone(paste);
            match pasted(&unblock(move || read()).await?, redirect_uri, state) {
                Ok(query) => return Ok(query),
                Err(why) => (self.notify)(BrowserNotice::NotTheAnswer(why)),
            }
        }
        Err(io::Error::new(ErrorKind::InvalidInput, "what was pasted is not the answer"))
    }
}

impl Browser for SystemBrowser {
    fn redirect_uri(&self, last: Option<&str>) -> io::Result<String> {
        let listener = LoopbackListener::bind(last)?;
        let uri = listener.redirect_uri().to_owned();
        let mut listeners = lock(&self.listeners);
        // Some logins end before their page.
        if listeners.len() >= MAX_LOGINS {
            listeners.pop_front();
        }
        listeners.push_back(listener);
        Ok(uri)
    }

    async fn show(&self, url: String) -> io::Result<String> {
        let query = Url::parse(&url).ok().and_then(Url::query).unwrap_or_default();
        // Those of the authorization server's own URL stand first.
        let parameter = |name: &str| {
            let last = form::pairs(query).filter(|(other, _)| *other == *name).last();
            last.map(|(_, value)| value.to_string()).unwrap_or_default()
        };
        let (redirect_uri, state) = (parameter("redirect_uri"), parameter("state"));
        // The second page of a login, for a client that was registered again, returns there, too.
        let again = || LoopbackListener::bind(Some(&redirect_uri)).ok();
        let listener = self.take(&redirect_uri).or_else(again);
        let listener = listener.filter(|listener| listener.redirect_uri() == redirect_uri);
        let listener = listener.ok_or(ErrorKind::NotConnected)?;
        match self.open.as_ref().map(|open| open(&url)) {
            None => (self.notify)(BrowserNotice::Open(&url)),
            Some(Ok(())) => (self.notify)(BrowserNotice::Opened(&url)),
            Some(Err(why)) => (self.notify)(BrowserNotice::NotOpened(&url, &why)),
        }
        let answer = futures_lite::future::or(
            listener.wait(&state, self.time_limit),
            self.pasted(listener.redirect_uri(), &state),
        );
        answer.await.map_err(|error| match error.kind() {
            ErrorKind::TimedOut => io::Error::new(ErrorKind::TimedOut, TIMED_OUT),
            _ => error,
        })
    }
}

impl fmt::Debug for SystemBrowser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemBrowser").finish_non_exhaustive()
    }
}

/// Default of [`SystemBrowser::time_limit`]: 10 minutes.
pub const LOGIN_TIME_LIMIT: Duration = Duration::from_secs(600);
/// Maximum number of logins of a [`SystemBrowser`] whose page has not been shown yet; a new one
/// replaces the oldest.
pub const MAX_LOGINS: usize = 16;
/// Number of texts that a person can paste.
pub const MAX_PASTES: usize = 3;
const TIMED_OUT: &str = "the browser has not come back in time: log in again";
