//! The transports, which the application does not depend on.

use std::io;
use std::net::{SocketAddr, TcpListener};

use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
use mcp_sansio_adapters::asynchronous::serve;
use smol::Async;

/// Serves standard input and output until the input ends.
///
/// # Errors
/// Errors of reading or writing.
pub fn serve_stdio() -> io::Result<()> {
    smol::block_on(super::app().serve_stdio())
}

/// The same without 2026-07-28: a server of before, for clients and gateways to be tried with.
///
/// # Errors
/// Errors of reading or writing.
pub fn serve_legacy_stdio() -> io::Result<()> {
    smol::block_on(super::app_of(&super::LEGACY).serve_stdio())
}

/// Serves every connection to `address`. Calls `ready` with the bound address, which matters for
/// port 0, before accepting.
///
/// # Errors
/// Errors of listening and accepting.
pub fn serve_tcp(address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let listener = listen(address)?;
    ready(listener.get_ref().local_addr()?);
    smol::block_on(serve(&super::app(), listener))
}

/// Returns a listener, or an error that names the address.
fn listen(address: SocketAddr) -> io::Result<Async<TcpListener>> {
    Async::<TcpListener>::bind(address)
        .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))
}

/// Serves Streamable HTTP at `/mcp` and HTTP+SSE at `/sse` to programs on this machine. `ready` as
/// in [`serve_tcp`].
///
/// # Errors
/// Errors of listening and accepting.
pub fn serve_http(address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let listener = listen(address)?;
    ready(listener.get_ref().local_addr()?);
    let app = super::app();
    let options = HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() };
    smol::block_on(http::serve(&app, listener, options))
}

/// Serves every connection to a Unix socket. Replaces a socket that an ended process left at
/// `path`.
///
/// # Errors
/// Errors of listening and accepting.
#[cfg(unix)]
pub fn serve_unix(path: &std::path::Path, ready: impl FnOnce(&std::path::Path)) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    let is_socket = path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
    // No process listens on the socket any more.
    if is_socket
        && UnixStream::connect(path)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        std::fs::remove_file(path)?;
    }
    let listener = Async::<UnixListener>::bind(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    ready(path);
    smol::block_on(serve(&super::app(), listener))
}
