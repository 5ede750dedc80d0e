//! The person's part of a login.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use event_listener::Event;
use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _};
use mcp_sansio_http1::{BodyLength, HeadWriter, IncomingRequest, Part, RequestReader};
use mcp_sansio_oauth::{Host, RedirectAnswer, Url, form};

use crate::asynchronous::client::http::link::timeout;
use crate::lock::lock;
use crate::panics::caught;
use crate::runtime::{self, poll_accept};

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
#[must_use]
pub struct SystemBrowser {
    open: Option<Box<Open>>,
    paste: Option<Arc<Pasting>>,
    notify: Box<Notify>,
    /// The time that a person may take for a page. Default: [`LOGIN_TIME_LIMIT`].
    pub time_limit: Duration,
    /// The redirect URI of a client that was registered beforehand, or that has a metadata
    /// document: `http://` with a loopback host, and with the registered path. Its port is tried
    /// first, if it has one: authorization servers take any other port as well (RFC 8252, 7.3).
    /// Default: 127.0.0.1, with a path of its own for each registration.
    pub redirect_uri: Option<String>,
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
            redirect_uri: None,
            listeners: Mutex::default(),
        }
    }

    /// Opens pages by this function, for example [`open_in_browser`].
    pub fn opens(self, open: impl Fn(&str) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self { open: Some(Box::new(open)), ..self }
    }

    /// Takes the answer from `read`, which is called on a thread of its own and returns what a
    /// person has pasted ([`pasted`]), at most [`MAX_PASTES`] times: for a browser on another
    /// machine, where the page to which it returns cannot be loaded. It is never called twice at
    /// once: a call that outlasts its login is one of the next.
    pub fn paste(self, read: impl Fn() -> io::Result<String> + Send + Sync + 'static) -> Self {
        let pasting =
            Pasting { read: Box::new(read), state: Mutex::default(), has_read: Event::new() };
        Self { paste: Some(Arc::new(pasting)), ..self }
    }

    fn take(&self, redirect_uri: &str) -> Option<LoopbackListener> {
        let mut listeners = lock(&self.listeners);
        let at = listeners.iter().position(|it| it.redirect_uri() == redirect_uri)?;
        listeners.remove(at)
    }

    async fn pasted(&self, redirect_uri: &str, state: &str) -> io::Result<String> {
        let Some(paste) = &self.paste else { return std::future::pending().await };
        for _ in 0..MAX_PASTES {
            match pasted(&paste.next().await?, redirect_uri, state) {
                Ok(query) => return Ok(query),
                Err(why) => (self.notify)(BrowserNotice::NotTheAnswer(&why.to_string())),
            }
        }
        Err(io::Error::new(ErrorKind::InvalidInput, "what was pasted is not the answer"))
    }
}

/// The function that returns what a person has pasted. Nothing can end a call of it, so none is
/// made while another goes on: that would get what is pasted next.
struct Pasting {
    read: Box<Paste>,
    state: Mutex<PastingState>,
    /// A call has returned.
    has_read: Event,
}

#[derive(Default)]
struct PastingState {
    is_reading: bool,
    read: Option<io::Result<String>>,
}

impl Pasting {
    /// Returns what the call under way returns, or else the next one.
    async fn next(self: &Arc<Self>) -> io::Result<String> {
        loop {
            let has_read = self.has_read.listen();
            match self.take() {
                Some(read) => return read,
                None => has_read.await,
            }
        }
    }

    /// Returns what a call has returned. If none is under way, one begins, on a thread that the end
    /// of a runtime does not wait for.
    fn take(self: &Arc<Self>) -> Option<io::Result<String>> {
        let mut state = lock(&self.state);
        if state.read.is_none() && !state.is_reading {
            let pasting = Arc::clone(self);
            let thread = thread::Builder::new().name("mcp-paste".to_owned()).spawn(move || {
                let read = caught(|| (pasting.read)());
                let read = read.unwrap_or_else(|panic| Err(io::Error::other(panic.0)));
                *lock(&pasting.state) = PastingState { is_reading: false, read: Some(read) };
                pasting.has_read.notify(usize::MAX);
            });
            match thread {
                Ok(_) => state.is_reading = true,
                Err(error) => return Some(Err(error)),
            }
        }
        state.read.take()
    }
}

impl Browser for SystemBrowser {
    fn redirect_uri(&self, last: Option<&str>) -> io::Result<String> {
        let own = self.redirect_uri.as_deref();
        let place = |uri| Url::parse(uri).ok().map(|url| (url.host(), url.path()));
        // The last port saves a registration, but an older registration may have another path.
        let last = last.filter(|last| own.is_none_or(|own| place(own) == place(last)));
        let listener = LoopbackListener::bind(last.or(own))?;
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

mcp_sansio::opaque_debug!(SystemBrowser {});

/// Default of [`SystemBrowser::time_limit`]: 10 minutes.
pub const LOGIN_TIME_LIMIT: Duration = Duration::from_secs(600);
/// Maximum number of logins of a [`SystemBrowser`] whose page has not been shown yet; a new one
/// replaces the oldest.
pub const MAX_LOGINS: usize = 16;
/// Number of texts that a person can paste.
pub const MAX_PASTES: usize = 3;
const TIMED_OUT: &str = "the browser has not come back in time: log in again";

// The place on this machine to which a browser returns after a login.

/// Listens on a loopback address for the redirect that ends a login in a browser (RFC 8252, 7.3).
///
/// It responds to one request only: a GET of its own path, with its own host and the `state` of the
/// login; to all others with 404. Unless it is given, the path has 128 random bits, so that no web
/// page can guess it. The response is one page without scripts, whose address goes to no other
/// site.
///
/// At most [`MAX_VISITS`] connections are open at once, each for at most 10 s.
pub struct LoopbackListener {
    listeners: Vec<TcpListener>,
    /// The field `Host` of a browser.
    authority: String,
    path: String,
    redirect_uri: String,
}

/// Maximum number of connections to a [`LoopbackListener`]. A new one replaces the oldest.
pub const MAX_VISITS: usize = 16;

impl LoopbackListener {
    /// Listens on 127.0.0.1, or on `[::1]` on a machine without IPv4, on a port that the system
    /// chooses.
    ///
    /// `last` is the redirect URI that the authorization server knows, if it knows one: then host
    /// and path are those of it, and its port is tried first. Loopback ports may differ from the
    /// registered one (RFC 8252, 7.3), but not all servers know that.
    ///
    /// # Errors
    /// Those of the operating system; [`ErrorKind::InvalidInput`] if `last` is not
    /// `http://` and a loopback host.
    pub fn bind(last: Option<&str>) -> io::Result<Self> {
        let Some(last) = last else {
            let mut random = [0; 16];
            getrandom::fill(&mut random).map_err(io::Error::other)?;
            let path: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
            let (v4, v6) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
            let path = format!("/{path}");
            return Self::on(&[v4], "127.0.0.1", 0, &path)
                .or_else(|_| Self::on(&[v6], "[::1]", 0, &path));
        };
        let invalid = || io::Error::new(ErrorKind::InvalidInput, "no loopback redirect URI");
        let url = Url::parse(last).ok().filter(|url| !url.is_secure() && url.is_loopback());
        let url = url.ok_or_else(invalid)?;
        let addresses: &[IpAddr] = match url.host() {
            Host::Address(address) => &[address],
            // Browsers try both.
            Host::Name(_) => &[Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        };
        let authority = url.origin().authority;
        let host = authority.strip_suffix(&format!(":{}", url.origin().port));
        let path = if url.path().is_empty() { "/" } else { url.path() };
        let on = |port| Self::on(addresses, host.unwrap_or(authority), port, path);
        match host {
            Some(_) => on(url.origin().port).or_else(|_| on(0)),
            None => on(0),
        }
    }

    /// Listens on the first address, and on the others if that is possible.
    fn on(addresses: &[IpAddr], host: &str, port: u16, path: &str) -> io::Result<Self> {
        let (mut listeners, mut port) = (Vec::new(), port);
        for address in addresses {
            match TcpListener::bind(SocketAddr::new(*address, port)) {
                Ok(listener) => {
                    listener.set_nonblocking(true)?;
                    port = listener.local_addr()?.port();
                    listeners.push(listener);
                }
                Err(error) if listeners.is_empty() => return Err(error),
                Err(_) => {}
            }
        }
        let redirect_uri = format!("http://{host}:{port}{path}");
        // Browsers leave out the port of `http`.
        let authority = if port == 80 { host.to_owned() } else { format!("{host}:{port}") };
        Ok(Self { listeners, authority, path: path.to_owned(), redirect_uri })
    }

    /// Returns the redirect URI.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Waits until a browser brings the response to the login that has this `state`, and returns
    /// its query.
    ///
    /// Cancel safe: the listener can wait again.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] after `limit`, and errors of the operating system.
    pub async fn wait(&self, state: &str, limit: Duration) -> io::Result<String> {
        let listeners: Vec<_> = self
            .listeners
            .iter()
            .map(|listener| runtime::current().listen(listener.try_clone()?))
            .collect::<io::Result<_>>()?;
        let mut visits = VecDeque::new();
        let accept = poll_fn(|cx| {
            for _ in 0..MAX_VISITS {
                let mut is_idle = true;
                for listener in &listeners {
                    if let Poll::Ready(accepted) = poll_accept(&**listener, cx) {
                        is_idle = false;
                        if visits.len() >= MAX_VISITS {
                            visits.pop_front();
                        }
                        let (stream, _) = accepted?;
                        visits.push_back(Box::pin(timeout(MAX_VISIT, self.visit(stream, state))));
                    }
                }
                let mut found = None;
                visits.retain_mut(|visit: &mut Pin<Box<_>>| match visit.as_mut().poll(cx) {
                    Poll::Pending => true,
                    Poll::Ready(visited) => {
                        found = found.take().or(visited.ok().flatten());
                        false
                    }
                });
                if let Some(query) = found {
                    return Poll::Ready(Ok(query));
                }
                if is_idle {
                    return Poll::Pending;
                }
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        timeout(limit, accept).await?
    }

    /// Serves a connection. Returns the query if it has brought the response to the login.
    async fn visit<T>(&self, mut stream: T, state: &str) -> Option<String>
    where
        T: futures_lite::AsyncRead + futures_lite::AsyncWrite + Unpin,
    {
        let mut reader = RequestReader::with_limit(vec![0; 2048], MAX_HEAD);
        let query = loop {
            match reader.next_part() {
                Ok(Some(Part::Head(head))) => break self.query(&head, state),
                Ok(Some(_)) | Err(_) => break None,
                Ok(None) => {}
            }
            match stream.read(reader.spare()).await {
                Ok(0) | Err(_) => return None,
                Ok(read) => reader.commit(read),
            }
        };
        // The login goes on also if the browser does not want the page any more.
        let _ = stream.write_all(&page(query.as_deref())).await;
        let _ = stream.flush().await;
        let _ = stream.close().await;
        query
    }

    /// Returns the query of a request if it is the response to the login.
    fn query(&self, head: &IncomingRequest<'_>, state: &str) -> Option<String> {
        let (path, query) = head.target.split_once('?')?;
        let host = head.as_head().fields.get("host")?;
        let is_ours = head.method == "GET"
            && path == self.path
            && host.eq_ignore_ascii_case(&self.authority)
            && RedirectAnswer::parse(query).is_ok_and(|answer| answer.has_state(state));
        is_ours.then(|| query.to_owned())
    }
}

// Omits the path, which is a secret of a kind.
mcp_sansio::opaque_debug!(LoopbackListener { authority });

/// Returns the query of a redirect that a person has copied from the address bar of a browser on
/// another machine: the whole address, or its part behind `?`.
///
/// # Errors
/// `InvalidInput` if it is not the response to the login that has this `state`. The text says what
/// to do.
pub fn pasted(text: &str, redirect_uri: &str, state: &str) -> io::Result<String> {
    let other = |why| Err(io::Error::new(ErrorKind::InvalidInput, why));
    let text = text.trim();
    let query = match text.split_once('?') {
        Some((before, query)) if before == redirect_uri => query,
        Some(_) => {
            return other("this address is another: copy the whole address of the last page");
        }
        None => text,
    };
    // Browsers show it where the page did not load, some with an empty fragment.
    let query = query.split('#').next().unwrap_or_default();
    match RedirectAnswer::parse(query) {
        Ok(answer) if answer.has_state(state) => Ok(query.to_owned()),
        _ => other("this is not the answer to this login: copy the whole address of the last page"),
    }
}

/// Returns the whole response.
fn page(query: Option<&str>) -> Vec<u8> {
    let is_error = |query| form::pairs(query).any(|(name, _)| name == *"error");
    let (status, text) = match query {
        None => (404, "There is nothing here."),
        Some(query) if is_error(query) => {
            (200, "The login has failed. The program says why. You can close this page.")
        }
        Some(_) => (200, "The program has your answer. You can close this page."),
    };
    let body = format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>Login</title>\
         <p>{text}</p></html>"
    );
    let mut head = [0; 512];
    let len = HeadWriter::response(&mut head, status)
        .field("content-type", "text/html; charset=utf-8")
        .field("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
        .field("referrer-policy", "no-referrer")
        .field("x-content-type-options", "nosniff")
        .field("cache-control", "no-store")
        .field("connection", "close")
        .finish(BodyLength::Known(body.len() as u64))
        .unwrap_or(0);
    [head.get(..len).unwrap_or_default(), body.as_bytes()].concat()
}

/// Maximum length of the head of a request, in bytes.
const MAX_HEAD: usize = 32 << 10;
/// Maximum time of a connection.
const MAX_VISIT: Duration = Duration::from_secs(10);

// Opening a page in the browser of the person.

/// Opens a URL in the browser that the operating system has for it: with `xdg-open`, `open` on
/// macOS, `rundll32` on Windows. The URL is one argument of a program; no shell reads it.
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput) unless it is an `https` URL, or an `http` URL of
/// this machine; [`Unsupported`](io::ErrorKind::Unsupported) on Unix without a display; errors of
/// starting the program. That it has started does not mean that a page is shown.
pub fn open_in_browser(url: &str) -> io::Result<()> {
    open_with(opener(std::env::var_os)?, url)
}

/// Returns the program that opens pages, and its first arguments.
fn opener(
    environment: impl Fn(&'static str) -> Option<OsString>,
) -> io::Result<&'static [&'static str]> {
    if cfg!(windows) {
        return Ok(&["rundll32", "url.dll,FileProtocolHandler"]);
    }
    if cfg!(target_vendor = "apple") {
        return Ok(&["open"]);
    }
    if cfg!(unix) && ["DISPLAY", "WAYLAND_DISPLAY"].map(environment).iter().all(Option::is_none) {
        return Err(io::Error::new(ErrorKind::Unsupported, "there is no display"));
    }
    Ok(&["xdg-open"])
}

/// Opens a URL with a program: its name and first arguments.
///
/// # Errors
/// As [`open_in_browser`].
pub fn open_with(program: &[&str], url: &str) -> io::Result<()> {
    let invalid = |why| io::Error::new(ErrorKind::InvalidInput, why);
    let is_safe = |url: &Url<'_>| url.is_secure() || url.is_loopback();
    if !Url::parse(url).is_ok_and(|url| is_safe(&url)) {
        return Err(invalid("only https URLs, and http URLs of this machine, are opened"));
    }
    let (name, arguments) = program.split_first().ok_or_else(|| invalid("no program"))?;
    let mut child = Command::new(name)
        .args(arguments)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // It may run as long as the browser does.
    thread::spawn(move || child.wait());
    Ok(())
}

#[cfg(all(test, unix, not(target_vendor = "apple")))]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_opened_where_there_is_a_display() {
        for display in ["DISPLAY", "WAYLAND_DISPLAY"] {
            let program = opener(|name| (name == display).then(|| ":0".into()));
            assert_eq!(program.unwrap(), ["xdg-open"]);
        }
        let refused = opener(|_| None).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        assert_eq!(refused.to_string(), "there is no display");
    }
}
