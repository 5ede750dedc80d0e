//! Connections to servers: the trait, and TCP.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use futures_lite::{AsyncRead, AsyncWrite};

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

/// A stream of any type.
pub type BoxedStream = Box<dyn ReadWrite>;

/// Both halves of a stream, for [`BoxedStream`].
pub trait ReadWrite: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> ReadWrite for T {}

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

/// Connects over TCP, for URLs that start with `http://`: with tokio, if it is polled in a tokio
/// runtime; otherwise with async-io.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TcpConnector;

impl Connect for TcpConnector {
    type Stream = BoxedStream;

    async fn connect(&self, dial: Dial) -> io::Result<BoxedStream> {
        let Dial { host, port, is_secure, .. } = dial;
        if is_secure {
            let message = if cfg!(feature = "tls") {
                "https requires TLS: use the connector Tls"
            } else {
                "https requires TLS: enable the feature `tls` of mcp-sansio-adapters, or use \
                 HttpTransport::with_connector"
            };
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        #[cfg(all(feature = "smol", feature = "tokio"))]
        if tokio::runtime::Handle::try_current().is_err() {
            return with_async_io(host, port).await;
        }
        #[cfg(feature = "tokio")]
        return with_tokio(host, port).await;
        #[cfg(not(feature = "tokio"))]
        with_async_io(host, port).await
    }
}

#[cfg(feature = "tokio")]
async fn with_tokio(host: String, port: u16) -> io::Result<BoxedStream> {
    let stream = tokio::net::TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(Box::new(crate::asynchronous::TokioStream::new(stream)))
}

#[cfg(feature = "smol")]
async fn with_async_io(host: String, port: u16) -> io::Result<BoxedStream> {
    use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};

    let addresses: Vec<SocketAddr> =
        blocking::unblock(move || (host.as_str(), port).to_socket_addrs().map(Iterator::collect))
            .await?;
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "host name has no address");
    for address in addresses {
        match async_io::Async::<TcpStream>::connect(address).await {
            Ok(stream) => {
                stream.get_ref().set_nodelay(true)?;
                return Ok(Box::new(stream));
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
