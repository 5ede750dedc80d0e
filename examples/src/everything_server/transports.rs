//! How the application is reached. It does not know.

use std::io;
use std::net::{SocketAddr, TcpListener};

use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
use mcp_sansio_adapters::asynchronous::{Connection, JoinedIo, serve};
use smol::{Async, Unblock};

/// Serves this process's standard input and output until the input ends.
///
/// # Errors
/// Of reading or writing.
pub fn serve_stdio() -> io::Result<()> {
    // Threads do the reading and writing: the descriptors may be files, or shared with others who
    // expect them to block.
    let stdio = JoinedIo::new(Unblock::new(io::stdin()), Unblock::new(io::stdout()));
    smol::block_on(Connection::new(&super::app(), stdio)).map(|_| ())
}

/// Serves everybody who connects to `address`. `ready` is told which it is, before the first is
/// served: port 0 stands for any.
///
/// # Errors
/// Of listening and accepting.
pub fn serve_tcp(address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let listener = Async::<TcpListener>::bind(address)?;
    ready(listener.get_ref().local_addr()?);
    smol::block_on(serve(&super::app(), listener))
}

/// Serves Streamable HTTP at `/mcp`, and HTTP+SSE at `/sse`, to programs on this machine. `ready`
/// as above.
///
/// # Errors
/// Of listening and accepting.
pub fn serve_http(address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let listener = Async::<TcpListener>::bind(address)?;
    ready(listener.get_ref().local_addr()?);
    let app = super::app();
    smol::block_on(http::serve(&app, listener, HttpOptions::new().sse_path("/sse")))
}

/// Serves everybody who connects to a Unix socket. A socket that an earlier process has left behind
/// at `path` is replaced.
///
/// # Errors
/// Of listening and accepting.
#[cfg(unix)]
pub fn serve_unix(path: &std::path::Path, ready: impl FnOnce(&std::path::Path)) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    let is_socket = path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
    // Nobody answers there any more.
    if is_socket
        && UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        std::fs::remove_file(path)?;
    }
    let listener = Async::<UnixListener>::bind(path)?;
    ready(path);
    smol::block_on(serve(&super::app(), listener))
}
