//! Connections to servers: the trait, and TCP.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::http::client::{Origin, UrlError};
use mcp_sansio_engine::{Diagnostic, HttpLimits};
#[cfg(feature = "auth")]
use mcp_sansio_oauth::{AddressKind, UrlRules};

use super::authorize::{Authorize, Bearer, Renew};
use super::link::timeout;
use crate::runtime::{self, BoxedStream, RuntimeFuture, unblock};

/// A connection to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Dial {
    /// Host name or IP address; an IPv6 address without brackets.
    pub host: String,
    /// Port number.
    pub port: u16,
    /// Whether the URL starts with `https`: the stream must use TLS then.
    pub is_secure: bool,
    /// URL of the first request on the connection.
    pub url: String,
    /// Purpose of the first request on the connection. Later ones may have another.
    pub purpose: Purpose,
    /// Addresses to which the connection may lead; `None` for the server of the application's
    /// choice, which may have any. [`TcpConnector`] obeys it. Another connector must check the
    /// addresses to which the name resolves, and connect to one of those without a second look-up.
    /// Otherwise a server can make this program reach networks that only this program can reach
    /// (2025-11-25, security best practices).
    #[cfg(feature = "auth")]
    pub rules: Option<UrlRules>,
}

/// The purpose of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Purpose {
    /// Messages to the server, and the responses to them, which may be streams; also the end of a
    /// session.
    Messages,
    /// A stream of events, which stays open: that of a session, one that is resumed, or that of
    /// HTTP+SSE (2024-11-05).
    Events,
    /// Documents of an authorization server or of a protected resource: metadata, keys.
    Metadata,
    /// Tokens, registrations and what else is asked of an authorization server.
    Token,
}

/// Makes connections. Implemented for functions: `|dial| async move { .. }`.
pub trait Connect: Send + Sync + 'static {
    /// Stream of a connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Makes a connection.
    fn connect(&self, dial: Dial) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl<D, F, S> Connect for D
where
    D: Fn(Dial) -> F + Send + Sync + 'static,
    F: Future<Output = io::Result<S>> + Send,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = S;

    fn connect(&self, dial: Dial) -> impl Future<Output = io::Result<S>> + Send {
        self(dial)
    }
}

/// Any [`Connect`].
pub(crate) type Connector = Arc<dyn Fn(Dial) -> Connecting + Send + Sync>;
pub(crate) type Connecting = Pin<Box<dyn Future<Output = io::Result<BoxedStream>> + Send>>;

pub(crate) fn boxed(connector: impl Connect) -> Connector {
    let connector = Arc::new(connector);
    Arc::new(move |dial| {
        let connector = Arc::clone(&connector);
        Box::pin(async move { Ok(Box::new(connector.connect(dial).await?) as BoxedStream) })
    })
}

/// Connects over TCP to the first address of the host that accepts, for URLs that start with
/// `http://`, by the [`Runtime`](crate::asynchronous::Runtime) that polls it. The next address is
/// tried when one has failed, and beside those that have not accepted within 250 ms (RFC 8305).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TcpConnector;

impl Connect for TcpConnector {
    type Stream = BoxedStream;

    async fn connect(&self, dial: Dial) -> io::Result<BoxedStream> {
        if dial.is_secure {
            let message = if cfg!(feature = "tls") {
                "https requires TLS: use the connector Tls"
            } else {
                "https requires TLS: enable the feature `tls` of mcp-sansio-adapters, or use \
                 HttpTransport::with_connector"
            };
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        connect_to_first(allowed(&dial, addresses(&dial).await?)?).await
    }
}

/// Connects to the first of these addresses that accepts.
async fn connect_to_first(addresses: Vec<SocketAddr>) -> io::Result<BoxedStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "host name has no address");
    let (mut addresses, mut attempts) = (addresses.into_iter(), Vec::new());
    loop {
        match addresses.next() {
            Some(address) => attempts.push(runtime::current().connect(address)),
            None if attempts.is_empty() => return Err(failed),
            None => {}
        }
        let limit = if addresses.len() > 0 { HEAD_START } else { Duration::MAX };
        match timeout(limit, next_of(&mut attempts)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failed = error,
            // It goes on beside the next one.
            Err(_) => {}
        }
    }
}

/// Waits for the end of one of these, which is removed.
async fn next_of<T>(attempts: &mut Vec<RuntimeFuture<T>>) -> T {
    poll_fn(|cx| {
        for (index, attempt) in attempts.iter_mut().enumerate() {
            if let Poll::Ready(ended) = attempt.as_mut().poll(cx) {
                drop(attempts.swap_remove(index));
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    })
    .await
}

/// Time of an address before the next one of the host is tried beside it (RFC 8305, 5): a network
/// without a way to one of them may drop what is sent there, and tell nothing.
const HEAD_START: Duration = Duration::from_millis(250);

/// Returns the addresses of a host. Those of a name may take a while.
async fn addresses(dial: &Dial) -> io::Result<Vec<SocketAddr>> {
    let (host, port) = (dial.host.clone(), dial.port);
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    unblock(move || Ok((host.as_str(), port).to_socket_addrs()?.collect())).await
}

/// Returns the addresses to which the connection may lead.
fn allowed(dial: &Dial, addresses: Vec<SocketAddr>) -> io::Result<Vec<SocketAddr>> {
    #[cfg(feature = "auth")]
    if let Some(rules) = dial.rules {
        let count = addresses.len();
        let is_allowed = |address: &SocketAddr| rules.allow(AddressKind::of(address.ip()));
        let allowed: Vec<_> = addresses.into_iter().filter(is_allowed).collect();
        if allowed.is_empty() && count > 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, FORBIDDEN));
        }
        return Ok(allowed);
    }
    let _ = dial;
    Ok(addresses)
}

#[cfg(feature = "auth")]
const FORBIDDEN: &str = "the host is this computer or in an inner network, where no server may send \
     this program: if this one may, allow inner addresses";

// Configuration of the HTTP transport.

/// A server behind a URL, and the options of its connections:
/// `connector.connect(HttpTransport::new("http://127.0.0.1:8000/mcp")?)`. It connects when there is
/// a message to send.
#[derive(Clone)]
#[must_use]
pub struct HttpTransport {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_secure: bool,
    pub(crate) authority: String,
    pub(crate) target: String,
    pub(crate) connector: Connector,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) authorize: Option<Authorize>,
    pub(crate) token: Option<String>,
    pub(crate) renew: Option<Renew>,
    pub(crate) on_diagnostic: Option<OnDiagnostic>,
    pub(crate) limits: HttpLimits,
}

pub(crate) type OnDiagnostic = Arc<dyn Fn(Diagnostic) + Send + Sync>;

impl HttpTransport {
    /// Creates a transport for the server at this URL, over TCP; with the feature `tls` over
    /// `Tls` if the URL starts with `https://`.
    ///
    /// # Errors
    /// If the URL does not start with `http://` or `https://`, or names no valid host.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        #[cfg(feature = "tls")]
        return Self::with_connector(url, super::Tls::new());
        #[cfg(not(feature = "tls"))]
        Self::with_connector(url, TcpConnector)
    }

    /// Creates a transport for the server at this URL, over connections that `connector` makes.
    ///
    /// # Errors
    /// As [`new`](HttpTransport::new).
    pub fn with_connector(url: &str, connector: impl Connect) -> Result<Self, UrlError> {
        let (origin, target) = Origin::parse(url)?;
        Ok(Self {
            host: origin.host.to_owned(),
            port: origin.port,
            is_secure: origin.is_secure,
            authority: origin.authority.to_owned(),
            target: target.to_owned(),
            connector: boxed(connector),
            fields: Vec::new(),
            authorize: None,
            token: None,
            renew: None,
            on_diagnostic: None,
            limits: HttpLimits::new(),
        })
    }

    /// Adds a header field to every request, e.g. for a gateway in front of the server.
    pub fn field(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.fields.push((name.into(), value.into()));
        self
    }

    /// Sets the bearer token of every request: `Authorization: Bearer ...`.
    pub fn bearer(self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self }.with_bearer()
    }

    /// Sets the function that obtains a token when a server responds with 401 or 403. It gets all
    /// fields `WWW-Authenticate`, joined by commas, empty if there is none
    /// ([`challenges`](mcp_sansio::http::client::challenges) parses it), and returns a token, with
    /// which the request is sent once more. With `None` the request fails. The time limits of
    /// this call and of those that wait for it stand still meanwhile, up to
    /// [`AUTHORIZATION_LIMIT`](super::AUTHORIZATION_LIMIT).
    pub fn authorize<F>(self, authorize: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        let renew: Renew = Arc::new(move |challenge| Box::pin(authorize(challenge)));
        Self { renew: Some(renew), ..self }.with_bearer()
    }

    fn with_bearer(self) -> Self {
        let bearer = Bearer::new(self.token.clone(), self.renew.clone());
        Self { authorize: Some(Authorize::Bearer(Arc::new(bearer))), ..self }
    }

    /// Sets the function that gets diagnostics that belong to no call.
    pub fn on_diagnostic(self, on_diagnostic: impl Fn(Diagnostic) + Send + Sync + 'static) -> Self {
        Self { on_diagnostic: Some(Arc::new(on_diagnostic)), ..self }
    }

    /// Sets the limits.
    pub fn limits(self, limits: HttpLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        self.url_of(&self.target)
    }

    pub(crate) fn url_of(&self, target: &str) -> String {
        format!("{}://{}{target}", if self.is_secure { "https" } else { "http" }, self.authority)
    }
}

// Omits fields and tokens, which may be secrets.
mcp_sansio::opaque_debug!(HttpTransport { host, port, target });

/// Maximum number of connections that are kept for the next request.
pub const MAX_IDLE_CONNECTIONS: usize = 8;

#[cfg(all(test, feature = "tokio"))]
mod order {
    use std::future::pending;
    use std::net::Ipv4Addr;
    use std::sync::Mutex;
    use std::time::Instant;

    use futures_lite::io::Cursor;

    use super::*;
    use crate::runtime::{Runtime, within};

    /// A network that accepts or refuses after some milliseconds of tokio's clock, by the last byte
    /// of the address.
    struct Network(&'static [Fate], Mutex<Vec<u8>>);

    #[derive(Clone, Copy)]
    enum Fate {
        Silent,
        Refuses(u64),
        Accepts(u64),
    }
    use Fate::{Accepts, Refuses, Silent};

    impl Runtime for Network {
        fn sleep_until(&self, at: Instant) -> RuntimeFuture<()> {
            Box::pin(tokio::time::sleep_until(at.into()))
        }

        fn now(&self) -> Instant {
            tokio::time::Instant::now().into_std()
        }

        fn connect(&self, address: SocketAddr) -> RuntimeFuture<io::Result<BoxedStream>> {
            let IpAddr::V4(ip) = address.ip() else { return Box::pin(pending()) };
            let index = ip.octets()[3];
            self.1.lock().unwrap().push(index);
            let wait = async |ms| tokio::time::sleep(Duration::from_millis(ms)).await;
            match self.0[usize::from(index)] {
                Silent => Box::pin(pending()),
                Refuses(ms) => Box::pin(async move {
                    wait(ms).await;
                    Err(io::ErrorKind::ConnectionRefused.into())
                }),
                Accepts(ms) => Box::pin(async move {
                    wait(ms).await;
                    Ok(Box::new(Cursor::new(Vec::new())) as BoxedStream)
                }),
            }
        }
    }

    #[test]
    fn the_next_address_is_tried_beside_those_that_do_not_answer() {
        let scenes: [(&'static [Fate], _, _); 8] = [
            (&[Accepts(10), Accepts(0)], Some(10), 1),
            (&[Accepts(249), Accepts(0)], Some(249), 1),
            (&[Refuses(10), Accepts(10)], Some(20), 2),
            (&[Silent, Accepts(10)], Some(260), 2),
            (&[Silent, Silent, Refuses(1), Accepts(1)], Some(502), 4),
            (&[Accepts(600), Silent, Silent], Some(600), 3),
            (&[Accepts(900), Refuses(10)], Some(900), 2),
            (&[Refuses(300), Refuses(10)], None, 2),
        ];
        for (fates, accepted, tried) in scenes {
            let network: &'static Network = Box::leak(Box::new(Network(fates, Mutex::default())));
            let addresses = (0..fates.len() as u8)
                .map(|index| SocketAddr::new(Ipv4Addr::new(192, 0, 2, index).into(), 80));
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build();
            let connected = runtime.unwrap().block_on(async {
                let begun = tokio::time::Instant::now();
                let connecting = within(network, connect_to_first(addresses.collect()));
                let connected = tokio::time::timeout(Duration::from_secs(30), connecting).await;
                connected.ok()?.ok().map(|_| begun.elapsed().as_millis())
            });
            let expected: Vec<u8> = (0..tried).collect();
            assert_eq!((connected, &*network.1.lock().unwrap()), (accepted, &expected));
        }
    }
}

#[cfg(all(test, feature = "auth"))]
mod tests {
    #[cfg(feature = "smol")]
    use std::net::TcpListener;

    use super::*;

    #[cfg(feature = "smol")]
    const NAMES: [&str; 5] = ["localhost", "127.0.0.1", "127.1", "0x7f000001", "2130706433"];

    fn dial(host: &str, port: u16, rules: Option<UrlRules>) -> Dial {
        let (host, url) = (host.to_owned(), format!("http://{host}:{port}/"));
        Dial { host, port, is_secure: false, url, purpose: Purpose::Metadata, rules }
    }

    #[cfg(feature = "smol")]
    #[test]
    fn auth_109_a_name_of_an_inner_address_is_not_connected_to() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connect = |dial: Dial| async_io::block_on(TcpConnector.connect(dial)).map(drop);
        #[cfg(feature = "tokio")]
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for name in NAMES {
            let refused = connect(dial(name, port, Some(UrlRules::new()))).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{name}: {refused}");
            #[cfg(feature = "tokio")]
            {
                let dial = dial(name, port, Some(UrlRules::new()));
                let refused = runtime.block_on(TcpConnector.connect(dial)).map(drop).unwrap_err();
                assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{name}: {refused}");
            }
        }
        assert!(listener.accept().is_err(), "a connection was made");
        for rules in [None, Some(UrlRules::new().loopback_http(true))] {
            connect(dial("localhost", port, rules)).unwrap();
            listener.accept().unwrap();
        }
    }

    #[test]
    fn auth_109_of_several_addresses_those_of_the_internet_are_left() {
        let addresses = ["10.0.0.1:80", "1.1.1.1:80", "[::ffff:10.0.0.1]:80", "[2606:4700::1]:80"];
        let addresses: Vec<SocketAddr> = addresses.map(|it| it.parse().unwrap()).to_vec();
        let checked = |rules| allowed(&dial("mixed.example", 80, rules), addresses.clone());
        let public = vec![addresses[1], addresses[3]];
        assert_eq!(checked(Some(UrlRules::new())).unwrap(), public);
        assert_eq!(checked(Some(UrlRules::new().loopback_http(true))).unwrap(), public);
        assert_eq!(checked(Some(UrlRules::new().inner_addresses(true))).unwrap(), addresses);
        assert_eq!(checked(None).unwrap(), addresses);
    }
}
