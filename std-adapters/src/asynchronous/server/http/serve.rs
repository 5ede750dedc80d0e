//! Connections of listeners.

use std::future::Future;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{io, thread};

use super::connection;
use super::options::HttpOptions;
use super::server::Table;
use super::shards::{EndOfAll, Servers, named_thread, result_of};
use crate::asynchronous::server::app::App;
use crate::asynchronous::server::context::Context;
use crate::asynchronous::server::life::live;
use crate::asynchronous::server::listener::{Listener, serve_streams};
use crate::asynchronous::server::reply::IntoReply;
use crate::runtime::{self, within};

/// Serves an application over HTTP: accepts connections, and serves all of them in the returned
/// future. It completes when the application [shuts
/// down](crate::asynchronous::Broadcaster::shut_down) and the last connection and the last request
/// have ended, at most one second after
/// [`Limits::shutdown_timeout`](crate::asynchronous::Limits::shutdown_timeout).
///
/// Not cancel safe: dropping the future closes all connections and ends all sessions.
///
/// # Errors
/// As [`HttpServer::new`](super::HttpServer::new), and I/O errors of the operating system while
/// accepting. Lack of resources is only an error while there are no connections; otherwise it is
/// retried.
pub async fn serve<A, H, L, F>(app: A, listener: L, options: HttpOptions) -> io::Result<()>
where
    A: Deref<Target = App<H>>,
    H: Fn(Context) -> F,
    L: Listener,
    F: Future<Output: IntoReply>,
{
    let servers = servers(&app, options, NonZeroU32::MIN)?;
    serve_shard(&app, &servers, 0, listener).await
}

/// Serves an application over HTTP on all cores: as [`serve`], with a thread, a listener and a
/// runtime for each. Blocks until the application has [shut
/// down](crate::asynchronous::Broadcaster::shut_down).
///
/// Handlers need not be `Send`: each runs on the thread at which its request has arrived, or, in a
/// session, at which that was opened. All limits and shares are of the threads together. Of two
/// runtimes (`smol` and `tokio`) this takes tokio where it is called within tokio, for example in
/// `spawn_blocking`; a runtime of your own needs [`Runtime::listen`](crate::asynchronous::Runtime).
///
/// ```no_run
/// # use mcp_sansio::{ServerConfig, ServerFeatures, types::Implementation};
/// # use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, http};
/// # static CONFIG: ServerConfig =
/// #     ServerConfig::new(Implementation::new("x", "1"), ServerFeatures::TOOLS);
/// # async fn greet(ctx: Context) -> HandlerResult { Err("".into()) }
/// # fn main() -> std::io::Result<()> {
/// let app = App::new(&CONFIG, greet);
/// http::serve_on_all_cores(&app, ("127.0.0.1", 8080), http::HttpOptions::new())
/// # }
/// ```
///
/// On Linux the threads have sockets of one port (`SO_REUSEPORT`), to which the kernel spreads new
/// connections; programs of the same user can join them later. Elsewhere they accept from one.
///
/// # Errors
/// As [`serve`], if the address is in use, and if the operating system lacks threads. An error of
/// one thread shuts the application down.
pub fn serve_on_all_cores<H, F>(
    app: &App<H>,
    address: impl ToSocketAddrs,
    options: HttpOptions,
) -> io::Result<()>
where
    H: Fn(Context) -> F + Sync,
    F: Future<Output: IntoReply>,
{
    serve_on_threads(app, listeners(address, thread::available_parallelism()?)?, options)
}

/// Serves an application over HTTP: as [`serve_on_all_cores`], with a thread for each of these
/// [`listeners`].
///
/// # Errors
/// As [`serve_on_all_cores`].
pub fn serve_on_threads<H, F>(
    app: &App<H>,
    listeners: Vec<TcpListener>,
    options: HttpOptions,
) -> io::Result<()>
where
    H: Fn(Context) -> F + Sync,
    F: Future<Output: IntoReply>,
{
    let count = u32::try_from(listeners.len()).ok().and_then(NonZeroU32::new);
    let Some(count) = count else { return Ok(()) };
    let (servers, runtime) = (&servers(app, options, count)?, runtime::current());
    let serve = |own: usize, listener: TcpListener| {
        let _others = EndOfAll(app.broadcaster(), servers.get(own));
        let mut served = Ok(());
        let serving = async {
            let serve = async || {
                listener.set_nonblocking(true)?;
                serve_shard(app, servers, own, &*runtime.listen(listener)?).await
            };
            served = serve().await;
        };
        runtime.block_on(Box::pin(within(runtime, serving)))?;
        served
    };
    thread::scope(|scope| {
        let start =
            |(own, listener)| named_thread().spawn_scoped(scope, move || serve(own, listener));
        let threads = listeners.into_iter().enumerate().map(start);
        let started = threads.collect::<io::Result<Vec<_>>>();
        let threads = started.inspect_err(|_| app.broadcaster().shut_down())?;
        threads.into_iter().map(|thread| result_of(thread.join())).fold(Ok(()), Result::and)
    })
}

/// Creates the servers of connections.
fn servers<H>(app: &App<H>, mut options: HttpOptions, count: NonZeroU32) -> io::Result<Servers> {
    options.max_exchanges = options.max_exchanges.min(app.settings.limits.max_connections);
    // Connections measure themselves what their clients read.
    Servers::new(app, options, Duration::MAX, count)
}

/// Serves the connections of one of the servers.
async fn serve_shard<H, L, F>(
    app: &App<H>,
    servers: &Servers,
    own: usize,
    listener: L,
) -> io::Result<()>
where
    H: Fn(Context) -> F,
    L: Listener,
    F: Future<Output: IntoReply>,
{
    let server = servers.get(own);
    let source = server.source();
    let live = |request| live(app, request, Arc::clone(&source));
    let table = Mutex::new(Table::new(live));
    let serve = |stream, peer| connection::serve((servers, own), &table, stream, peer);
    let refuse = |stream| connection::refuse_connection(server, stream);
    serve_streams(app, listener, serve, refuse, server.drive(&table)).await
}

/// Returns listeners at one address, for [`serve_on_threads`]: as those of [`serve_on_all_cores`].
///
/// # Errors
/// If the address is in use, and other errors of the operating system, which begin with the
/// address.
pub fn listeners(address: impl ToSocketAddrs, count: NonZeroUsize) -> io::Result<Vec<TcpListener>> {
    let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    // It fails if another program listens there, which sockets of one port would not.
    let first = TcpListener::bind(&addresses[..]).map_err(|error| {
        let tried: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        io::Error::new(error.kind(), format!("{}: {error}", tried.join(", ")))
    });
    at_address_of(first?, count)
}

#[cfg(target_os = "linux")]
fn at_address_of(first: TcpListener, count: NonZeroUsize) -> io::Result<Vec<TcpListener>> {
    use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

    let address = first.local_addr()?;
    drop(first);
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let listen = |_| {
        let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        sockopt::set_socket_reuseport(&socket, true)?;
        net::bind(&socket, &address)?;
        net::listen(&socket, BACKLOG)?;
        Ok(socket.into())
    };
    (0..count.get()).map(listen).collect()
}

#[cfg(not(target_os = "linux"))]
fn at_address_of(first: TcpListener, count: NonZeroUsize) -> io::Result<Vec<TcpListener>> {
    (0..count.get()).map(|_| first.try_clone()).collect()
}

/// Number of connections that wait to be accepted by a thread; the operating system has a limit of
/// its own.
#[cfg(target_os = "linux")]
const BACKLOG: i32 = 4096;
