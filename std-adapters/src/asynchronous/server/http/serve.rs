//! Connections of listeners.

use std::future::Future;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fmt, io, iter, mem};

use mcp_sansio_engine::site::{OwnedHead, number_of_session};

use super::connection;
use super::exchange::HttpExchange;
use super::options::HttpOptions;
use super::places::Counts;
use super::server::{HttpServer, Table};
use crate::asynchronous::server::app::App;
use crate::asynchronous::server::broadcast::Broadcaster;
use crate::asynchronous::server::context::Context;
use crate::asynchronous::server::life::live;
use crate::asynchronous::server::listener::{Listener, serve_streams};
use crate::asynchronous::server::reply::IntoReply;
use crate::lock::lock;
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

// Servers of one application on several threads.

/// The servers of one application, in the order of the numbers in the ids of their sessions.
#[derive(Clone)]
pub(crate) struct Servers {
    first: HttpServer,
    all: Arc<[HttpServer]>,
}

impl Servers {
    pub(crate) fn new<H>(
        app: &App<H>,
        options: HttpOptions,
        write_timeout: Duration,
        count: NonZeroU32,
    ) -> io::Result<Self> {
        let (options, counts, count) = (Arc::new(options), Counts::default(), count.get());
        let server = |number| {
            HttpServer::create(app, &options, write_timeout, counts.clone(), (number, count))
        };
        let first = server(0)?;
        let others = (1..count).map(server);
        let all: Arc<[_]> =
            iter::once(Ok(first.clone())).chain(others).collect::<Result<_, _>>()?;
        counts.set_servers(&all.iter().map(|server| Arc::downgrade(&server.0)).collect());
        Ok(Self { first, all })
    }

    /// Returns the server of this number, or of its remainder.
    pub(crate) fn get(&self, number: usize) -> &HttpServer {
        let at = number.checked_rem(self.all.len());
        at.and_then(|at| self.all.get(at)).unwrap_or(&self.first)
    }

    /// Returns the server with the session that a request names. `None` if it names none.
    pub(crate) fn with_session(&self, head: &OwnedHead) -> Option<&HttpServer> {
        let HttpOptions { has_sessions, sse_path, .. } = &*self.first.0.options;
        if self.all.len() == 1 || !has_sessions && sse_path.is_none() {
            return None;
        }
        let number = number_of_session(&head.as_head(), *sse_path)?;
        Some(self.get(usize::try_from(number).ok()?))
    }
}

/// An application over HTTP on several threads, for any HTTP library: each thread runs the handlers
/// of the requests that begin there, which need not be `Send`. A session stays with the thread that
/// has opened it, wherever its requests arrive; all limits and shares are of the threads together.
/// Clones are the same servers.
///
/// Handlers have the timers and sockets of the runtime that has started this, such as tokio's with
/// many threads. With the feature `tower` it is a service, as [`HttpServer`] is:
///
/// ```
/// # use std::num::NonZeroU32;
/// # use std::sync::Arc;
/// # use mcp_sansio_adapters::asynchronous::http::{HttpOptions, HttpShards};
/// # use mcp_sansio_adapters::asynchronous::{App, Context, IntoReply};
/// # fn start<H, F>(app: App<H>) -> std::io::Result<()>
/// # where H: Fn(Context) -> F + Send + Sync + 'static, F: Future<Output: IntoReply> {
/// let app = Arc::new(app);
/// let shards = HttpShards::start(&app, NonZeroU32::MIN.saturating_add(3), HttpOptions::new())?;
/// // axum::Router::new().route_service("/mcp", shards.clone()), and after the shutdown of `app`:
/// shards.join()
/// # }
/// ```
///
/// The threads end when the application has [shut
/// down](crate::asynchronous::Broadcaster::shut_down): see [`join`](Self::join).
#[derive(Clone)]
pub struct HttpShards {
    servers: Servers,
    next: Arc<AtomicUsize>,
    threads: Arc<Mutex<Vec<JoinHandle<io::Result<()>>>>>,
}

impl HttpShards {
    /// Starts so many threads, each with a server of the application.
    ///
    /// # Errors
    /// As [`HttpServer::new`], and if the operating system has no more threads: then the
    /// application is shut down, and the threads that have begun end.
    pub fn start<H, F>(
        app: &Arc<App<H>>,
        threads: NonZeroU32,
        options: HttpOptions,
    ) -> io::Result<Self>
    where
        H: Fn(Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoReply>,
    {
        let write_timeout = options.read_timeout;
        let servers = Servers::new(app, options, write_timeout, threads)?;
        let run = |server: &HttpServer| {
            let (app, server, poll) = (Arc::clone(app), server.clone(), runtime::poll_on_thread());
            named_thread().spawn(move || {
                let _others = EndOfAll(app.broadcaster(), &server);
                poll(Box::pin(server.run(&app)))
            })
        };
        let started = servers.all.iter().map(run).collect::<Result<_, _>>();
        let threads = started.inspect_err(|_| app.broadcaster().shut_down())?;
        Ok(Self { servers, next: Arc::default(), threads: Arc::new(Mutex::new(threads)) })
    }

    /// Begins the exchange of a request: see [`HttpServer::exchange`]. Requests without a
    /// session take turns with the threads.
    pub fn exchange(&self, head: OwnedHead) -> HttpExchange {
        let next = || self.servers.get(self.next.fetch_add(1, Ordering::Relaxed));
        self.servers.with_session(&head).unwrap_or_else(next).exchange(head)
    }

    /// Blocks until the threads have ended, after the application has [shut
    /// down](crate::asynchronous::Broadcaster::shut_down). Returns at once the second time. In a
    /// runtime call it where it may block, such as in tokio's `spawn_blocking`, and before the end
    /// of the runtime, whose timers the handlers have.
    ///
    /// # Errors
    /// If the operating system had not what the runtime needs, or a thread has panicked.
    pub fn join(&self) -> io::Result<()> {
        let threads = mem::take(&mut *lock(&self.threads));
        threads.into_iter().map(|thread| result_of(thread.join())).fold(Ok(()), Result::and)
    }
}

/// Shuts an application down when one of its threads ends, for whatever reason: sessions of its
/// clients are there. What waits for this thread ends at once.
pub(crate) struct EndOfAll<'a>(pub(crate) &'a Broadcaster, pub(crate) &'a HttpServer);

impl Drop for EndOfAll<'_> {
    fn drop(&mut self) {
        self.0.shut_down();
        self.1.end_now();
    }
}

pub(crate) fn named_thread() -> thread::Builder {
    thread::Builder::new().name("mcp-server".to_owned())
}

/// Returns the result of a thread.
pub(crate) fn result_of(joined: thread::Result<io::Result<()>>) -> io::Result<()> {
    joined.unwrap_or_else(|_| Err(io::Error::other("a thread of the server has panicked")))
}

impl fmt::Debug for HttpShards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.servers.all.iter()).finish()
    }
}
