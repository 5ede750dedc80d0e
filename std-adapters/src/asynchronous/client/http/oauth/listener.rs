//! The place on this machine to which a browser returns after a login.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _};
use mcp_sansio_http1::{BodyLength, HeadWriter, IncomingRequest, Part, RequestReader};
use mcp_sansio_oauth::{Host, RedirectAnswer, Url, form};

use super::super::transport_state::timeout;
use crate::runtime;

/// Listens on a loopback address for the redirect that ends a login in a browser (RFC 8252, 7.3).
///
/// It responds to one request only: a GET of its own path, with its own host and the `state` of the
/// login; to all others with 404. The path has 128 random bits, so that no web page can guess it.
/// The response is one page without scripts, whose address goes to no other site.
///
/// At most [`MAX_VISITS`] connections are open at once, each for at most 10 s.
pub struct LoopbackListener {
    listeners: Vec<TcpListener>,
    /// Host and port.
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
        let authority = format!("{host}:{port}");
        let redirect_uri = format!("http://{authority}{path}");
        Ok(Self { listeners, authority, path: path.to_owned(), redirect_uri })
    }

    /// Returns the redirect URI.
    #[must_use]
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
                    if let Poll::Ready(stream) = listener.poll_accept(cx) {
                        is_idle = false;
                        if visits.len() >= MAX_VISITS {
                            visits.pop_front();
                        }
                        visits.push_back(Box::pin(timeout(MAX_VISIT, self.visit(stream?, state))));
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

/// Omits the path, which is a secret of a kind.
impl fmt::Debug for LoopbackListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopbackListener")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

/// Returns the query of a redirect that a person has copied from the address bar of a browser on
/// another machine: the whole address, or its part behind `?`.
///
/// # Errors
/// If it is not the response to the login that has this `state`. The text says what to do.
pub fn pasted(text: &str, redirect_uri: &str, state: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let query = match text.split_once('?') {
        Some((before, query)) if before == redirect_uri => query,
        Some(_) => return Err("this address is another: copy the whole address of the last page"),
        None => text,
    };
    // Browsers show it where the page did not load, some with an empty fragment.
    let query = query.split('#').next().unwrap_or_default();
    match RedirectAnswer::parse(query) {
        Ok(answer) if answer.has_state(state) => Ok(query.to_owned()),
        _ => Err("this is not the answer to this login: copy the whole address of the last page"),
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
