//! Code that the example programs share: the everything server, which `quickstart` starts as well,
//! a small application for servers without an adapter, and the connection of clients over TCP.

pub mod everything_server;
pub mod small;

use std::io;
use std::net::TcpStream;

use mcp_sansio_adapters::blocking::client::Transport;

/// A connection over TCP for the blocking client: without threads where there is `poll`, with two
/// of them elsewhere.
///
/// # Errors
/// Of connecting.
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
