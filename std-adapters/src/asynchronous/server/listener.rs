//! Accept loop.

use std::future::{Future, poll_fn, ready};
use std::io;
use std::net::IpAddr;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncWrite, future};
use mcp_sansio_engine::{PeerAddress, PlaceLimit};

use super::app::{App, Limits};
use super::connection::Incoming;
use super::context::Context;
use super::reply::IntoReply;
use crate::observer::Transport;
use crate::runtime::poll_accept;
use crate::runtime::tasks::Tasks;
use crate::runtime::timer::Timer;

/// A source of connections.
pub trait Listener {
    /// Stream of a connection.
    type Stream: AsyncRead + AsyncWrite + Unpin;

    /// Polls for the next connection. The address of its client, if it is known, has a
    /// [share](Limits::address_share) of the connections.
    ///
    /// # Errors
    /// I/O errors of the operating system.
    fn poll_accept(&self, cx: &mut task::Context<'_>) -> Poll<io::Result<Accepted<Self::Stream>>>;
}

/// A stream, and the address of its client, if it is known.
pub type Accepted<S> = (S, Option<IpAddr>);

impl<L: Listener + ?Sized> Listener for &L {
    type Stream = L::Stream;

    fn poll_accept(&self, cx: &mut task::Context<'_>) -> Poll<io::Result<Accepted<Self::Stream>>> {
        (**self).poll_accept(cx)
    }
}

/// Accepts the next connection, to be [served](Incoming::serve). Those beyond the limits of
/// connections are closed at once. Returns `None` when the application shuts down.
///
/// For applications that spawn their connections:
///
/// ```
/// use std::sync::Arc;
/// # use mcp_sansio_adapters::asynchronous::{App, Context, IntoReply, Listener, accept};
/// # async fn serve<H, F>(app: Arc<App<H>>, listener: impl Listener<Stream: Send + 'static>)
/// # -> std::io::Result<()>
/// # where H: Fn(Context) -> F + Send + Sync + 'static,
/// # F: Future<Output: IntoReply> + Send + 'static {
/// while let Some(connection) = accept(Arc::clone(&app), &listener).await? {
///     smol::spawn(connection.serve()).detach();
/// }
/// # Ok(())
/// # }
/// ```
///
/// Cancel safe: no connection is lost when the future is dropped.
///
/// # Errors
/// I/O errors of the operating system. Lack of resources is only an error while there are no
/// connections; otherwise it is retried. A client that has gone while it waited is no error.
pub async fn accept<A, H, L>(app: A, listener: L) -> io::Result<Option<Incoming<A, L::Stream>>>
where
    A: Deref<Target = App<H>>,
    L: Listener,
{
    loop {
        match accept_stream(&app, &listener).await? {
            None => return Ok(None),
            Some(Place::Served(stream, peer)) => {
                return Ok(Some(Incoming::new(app, stream, Transport::Stream, Some(peer))));
            }
            Some(Place::Refused(_)) => future::yield_now().await,
        }
    }
}

/// A stream that was accepted.
enum Place<S> {
    /// With the address of its client.
    Served(S, Option<PeerAddress>),
    /// There is no place for it.
    Refused(S),
}

/// Accepts the next stream: see [`accept`].
async fn accept_stream<H, L: Listener>(
    app: &App<H>,
    listener: &L,
) -> io::Result<Option<Place<L::Stream>>> {
    let (mut shutdown, mut pause) = (app.broadcaster().shutdown(), None);
    poll_fn(|cx| {
        // Polled before the state is read, so that no change is missed.
        let _ = Pin::new(&mut shutdown).poll(cx);
        poll_stream(app, listener, &mut pause, cx)
    })
    .await
}

/// Accepts connections and serves all of them in the returned future. It completes when the
/// application [shuts down](super::Broadcaster::shut_down) and the last connection has ended.
///
/// Not cancel safe: dropping the future closes all connections and drops their handlers.
///
/// # Errors
/// As [`accept`].
pub async fn serve<A, H, L, F>(app: A, listener: L) -> io::Result<()>
where
    A: Deref<Target = App<H>> + Clone,
    H: Fn(Context) -> F,
    L: Listener,
    F: Future<Output: IntoReply>,
{
    let serve =
        |stream, peer| Incoming::new(app.clone(), stream, Transport::Stream, Some(peer)).serve();
    serve_streams(&app, listener, serve, |_| ready(()), ready(())).await
}

/// Accepts streams, and runs the futures that serve them, and those that refuse them, beside
/// `runner`. Completes when the application shuts down, and `runner` and all that are served have
/// ended.
pub(crate) async fn serve_streams<H, L: Listener, S: Future, R: Future>(
    app: &App<H>,
    listener: L,
    serve: impl Fn(L::Stream, Option<PeerAddress>) -> S,
    refuse: impl Fn(L::Stream) -> R,
    runner: impl Future,
) -> io::Result<()> {
    // It ends when no more connections are accepted, so that nobody waits for that in vain.
    let accept = async |listener: L| (accept_stream(app, &listener).await, listener);
    let mut connections = Tasks::new();
    let mut refused = Tasks::new();
    // Tasks as well, so that they are only polled when they were woken.
    let mut acceptor = Tasks::new();
    acceptor.insert((), accept(listener));
    let mut handlers = Tasks::new();
    handlers.insert((), runner);
    poll_fn(|cx| {
        for _ in 0..POLLS {
            let opened = acceptor.poll_next(cx);
            let mut is_still = opened.is_pending();
            match opened {
                Poll::Ready(Some(((), Ok((Err(error), _))))) => return Poll::Ready(Err(error)),
                Poll::Ready(Some(((), Err(panic)))) => {
                    return Poll::Ready(Err(io::Error::other(panic.0)));
                }
                Poll::Ready(Some(((), Ok((Ok(Some(accepted)), listener))))) => {
                    match accepted {
                        Place::Served(stream, peer) => {
                            connections.insert((), serve(stream, peer));
                        }
                        Place::Refused(stream) if refused.len() < MAX_REFUSED => {
                            refused.insert((), refuse(stream));
                        }
                        Place::Refused(_) => {}
                    }
                    acceptor.insert((), accept(listener));
                }
                _ => {}
            }
            // Several in a row, since the others are rarely woken.
            for _ in 0..CONNECTIONS {
                let Poll::Ready(served) = connections.poll_next(cx) else { break };
                is_still = false;
                // The result of one connection does not matter to the others.
                if let Some(((), Err(panic))) = served {
                    app.settings.tell(|hooks| hooks.panicked(&panic));
                }
            }
            is_still &= refused.poll_next(cx).is_pending();
            let ran = handlers.poll_next(cx);
            is_still &= ran.is_pending();
            if let Poll::Ready(Some(((), Err(panic)))) = ran {
                return Poll::Ready(Err(io::Error::other(panic.0)));
            }
            let is_over = acceptor.is_empty() && connections.is_empty() && refused.is_empty();
            if is_over && handlers.is_empty() {
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

fn poll_stream<H, L: Listener>(
    app: &App<H>,
    listener: &L,
    pause: &mut Option<Timer>,
    cx: &mut task::Context<'_>,
) -> Poll<io::Result<Option<Place<L::Stream>>>> {
    let broadcaster = app.broadcaster();
    if broadcaster.is_shutting_down() {
        // The operating system has accepted these already. It would reset them.
        let accepted = match poll_accept(listener, cx) {
            Poll::Ready(Ok((stream, _))) => Some(Place::Refused(stream)),
            _ => None,
        };
        return Poll::Ready(Ok(accepted));
    }
    if let Some(timer) = pause {
        if Pin::new(timer).poll(cx).is_pending() {
            return Poll::Pending;
        }
        *pause = None;
    }
    match poll_accept(listener, cx) {
        // Out of file descriptors or memory. Some may be free once a connection has ended.
        Poll::Ready(Err(_)) if broadcaster.connections() > 0 => {
            let mut timer = Timer::after(PAUSE);
            // Polled once, so that the timer wakes this task.
            let _ = Pin::new(&mut timer).poll(cx);
            *pause = Some(timer);
            Poll::Pending
        }
        accepted => accepted.map_ok(|(stream, peer)| {
            let peer = peer.map(PeerAddress::from);
            let Limits { max_connections, address_share, .. } = app.settings.limits;
            let limit = PlaceLimit::percent(max_connections, address_share);
            Some(match broadcaster.has_room(peer, limit) {
                true => Place::Served(stream, peer),
                false => Place::Refused(stream),
            })
        }),
    }
}

/// Number of rounds in a row before other tasks of the thread run.
const POLLS: usize = 8;
/// Number of connections that are polled in a round.
const CONNECTIONS: usize = 8;
/// Number of connections beyond the limit that get a response at a time. Others are closed.
const MAX_REFUSED: usize = 64;
/// Time without accepting after the operating system ran out of resources.
const PAUSE: Duration = Duration::from_millis(100);
