//! Connections to an address: the trait, and TCP.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};

use async_io::Async;
use futures_lite::{AsyncRead, AsyncWrite};

/// Address of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Address {
    /// Host name or IP address; an IPv6 address without brackets.
    pub host: String,
    /// Port number.
    pub port: u16,
    /// Whether the URL starts with `https`: the stream must use TLS then.
    pub is_secure: bool,
}

/// Makes connections. Implemented for functions: `|address| async move { .. }`.
pub trait Connect: Send + Sync + 'static {
    /// Stream of a connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Connects to an address.
    fn connect(&self, address: Address) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl<D, F, S> Connect for D
where
    D: Fn(Address) -> F + Send + Sync + 'static,
    F: Future<Output = io::Result<S>> + Send,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = S;

    fn connect(&self, address: Address) -> impl Future<Output = io::Result<S>> + Send {
        self(address)
    }
}

/// Connects over TCP, for URLs that start with `http://`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TcpConnector;

impl Connect for TcpConnector {
    type Stream = Async<TcpStream>;

    async fn connect(&self, address: Address) -> io::Result<Async<TcpStream>> {
        if address.is_secure {
            let message = "https requires TLS: use HttpTransport::with_connector";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        let Address { host, port, .. } = address;
        let addresses: Vec<SocketAddr> = blocking::unblock(move || {
            (host.as_str(), port).to_socket_addrs().map(Iterator::collect)
        })
        .await?;
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "host name has no address");
        for address in addresses {
            match Async::<TcpStream>::connect(address).await {
                Ok(stream) => {
                    stream.get_ref().set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }
}
