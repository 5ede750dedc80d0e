//! Servers of one application on several threads.

use std::future::Future;
use std::io;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fmt, iter, mem, thread};

use mcp_sansio_engine::site::{OwnedHead, number_of_session};

use super::exchange::HttpExchange;
use super::options::HttpOptions;
use super::places::Counts;
use super::server::HttpServer;
use crate::asynchronous::server::app::App;
use crate::asynchronous::server::broadcast::Broadcaster;
use crate::asynchronous::server::context::Context;
use crate::asynchronous::server::reply::IntoReply;
use crate::lock::lock;
use crate::runtime;

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
