//! Code shared by the example programs: the everything server, a small application for servers
//! without an adapter, and TCP connections for clients.

pub mod everything_server;
pub mod small;

use std::io;
use std::net::TcpStream;

use mcp_sansio_adapters::blocking::client::Transport;

/// Connects the blocking client over TCP: without threads where `poll` is available, with two
/// threads elsewhere.
///
/// # Errors
/// Errors of connecting.
pub fn tcp(address: &str) -> io::Result<impl Transport + use<>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    #[cfg(unix)]
    return mcp_sansio_adapters::blocking::client::PolledStreams::new(
        address,
        stream.try_clone()?,
        stream,
    );
    #[cfg(not(unix))]
    Ok(mcp_sansio_adapters::blocking::client::ThreadedStreams::new(
        address,
        stream.try_clone()?,
        stream,
    ))
}
