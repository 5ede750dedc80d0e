//! Accept loop.

use std::future::{Future, poll_fn};
use std::io;
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use super::connection;
use super::options::HttpOptions;
use super::server::{HttpServer, Table};
use crate::asynchronous::server::app::App;
use crate::asynchronous::server::context::Context;
use crate::asynchronous::server::life::live;
use crate::asynchronous::server::listener::{Accepted, Listener, accept_stream};
use crate::asynchronous::server::reply::IntoReply;
use crate::observer::Telling;
use crate::runtime::tasks::Tasks;

/// Serves an application over HTTP: accepts connections, and serves all of them in the returned
/// future. It completes when the application [shuts
/// down](crate::asynchronous::Broadcaster::shut_down) and the last connection and the last request
/// have ended, at most one second after [`App::shutdown_timeout`].
///
/// Not cancel safe: dropping the future closes all connections and ends all sessions.
///
/// # Errors
/// As [`HttpServer::new`], and I/O errors of the operating system while accepting. Lack of
/// resources is only an error while there are no connections; otherwise it is retried.
pub async fn serve<A, H, L, F>(app: A, listener: L, options: HttpOptions) -> io::Result<()>
where
    A: Deref<Target = App<H>>,
    H: Fn(Context) -> F,
    L: Listener,
    F: Future<Output: IntoReply>,
{
    let settings = &app.settings;
    let options = options.with_connections(settings.max_connections);
    // Connections measure themselves what their clients read.
    let server = HttpServer::with_write_timeout(&app, options, Duration::MAX)?;
    let source = server.source();
    let live = |request| live(&app, request, Arc::clone(&source));
    let table = Mutex::new(Table::new(live));
    let mut connections = Tasks::new();
    // Connections without a place, which are told so.
    let mut refused = Tasks::new();
    // Tasks as well, so that they are only polled when they were woken.
    let mut acceptor = Tasks::new();
    acceptor.insert((), accept_stream(&app, &listener));
    let mut runner = pin!(server.drive(&table));
    let mut handlers = Tasks::new();
    handlers.insert((), poll_fn(move |cx| runner.as_mut().poll(cx)));
    poll_fn(|cx| {
        for _ in 0..POLLS {
            let opened = acceptor.poll_next(cx);
            let mut is_still = opened.is_pending();
            match opened {
                Poll::Ready(Some(((), Ok(Err(error))))) => return Poll::Ready(Err(error)),
                Poll::Ready(Some(((), Err(panic)))) => {
                    return Poll::Ready(Err(io::Error::other(panic.0)));
                }
                Poll::Ready(Some(((), Ok(Ok(Some(accepted)))))) => {
                    match accepted {
                        Accepted::Served(stream, peer) => {
                            connections
                                .insert((), connection::serve(&server, &table, stream, peer));
                        }
                        Accepted::Refused(stream) if refused.len() < MAX_REFUSED => {
                            refused.insert((), connection::refuse_connection(&server, stream));
                        }
                        Accepted::Refused(_) => {}
                    }
                    acceptor.insert((), accept_stream(&app, &listener));
                }
                _ => {}
            }
            // The result of one connection does not matter to the others.
            let served = connections.poll_next(cx);
            is_still &= served.is_pending();
            if let Poll::Ready(Some(((), Err(panic)))) = served {
                settings.tell(Telling::Panicked(None, panic));
            }
            is_still &= refused.poll_next(cx).is_pending();
            is_still &= handlers.poll_next(cx).is_pending();
            if acceptor.is_empty() && connections.is_empty() && handlers.is_empty() {
                return Poll::Ready(Ok(()));
            }
            if is_still {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Number of polls in a row before other tasks of the thread run.
const POLLS: usize = 64;
/// Number of connections beyond the limit that get a response at a time. Others are closed.
const MAX_REFUSED: usize = 64;
