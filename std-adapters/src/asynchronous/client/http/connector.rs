//! Connections to servers: the trait, and TCP.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;

use futures_lite::{AsyncRead, AsyncWrite};
#[cfg(feature = "auth")]
use mcp_sansio_oauth::{AddressKind, UrlRules};

use crate::runtime::{self, BoxedStream, unblock};

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
/// `http://`, by the [`Runtime`](crate::asynchronous::Runtime) that polls it.
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
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "host name has no address");
        for address in allowed(&dial, addresses(&dial).await?)? {
            match runtime::current().connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }
}

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
