//! Accept loop.

use std::future::{Future, poll_fn};
use std::io;
use std::ops::Deref;
use std::task::Poll;

use super::super::app::App;
use super::super::context::Context;
use super::super::listener::{Listener, accept_stream};
use super::super::reply::IntoReply;
use super::super::tasks::Tasks;
use super::connection;
use super::endpoint_state::EndpointState;
use super::options::HttpOptions;

/// Serves an application over HTTP: accepts connections, and serves all of them in the returned
/// future. It completes when the application [shuts down](super::super::Broadcaster::shut_down) and
/// the last connection has ended.
///
/// Not cancel safe: dropping the future closes all connections and ends all sessions.
///
/// # Errors
/// I/O errors of the operating system while accepting. Lack of resources is only an error while
/// there are no connections; otherwise it is retried.
pub async fn serve<A, H, L, F>(app: A, listener: L, options: HttpOptions) -> io::Result<()>
where
    A: Deref<Target = App<H>>,
    H: Fn(Context) -> F,
    L: Listener,
    F: Future<Output: IntoReply>,
{
    let shared = &EndpointState::new(app, options);
    let mut connections = Tasks::new();
    let mut sessions = Tasks::new();
    // A task as well, so that the listener is only polled when it was woken.
    let mut acceptor = Tasks::new();
    acceptor.insert((), accept_stream(&shared.app, &listener));
    poll_fn(|cx| {
        for _ in 0..POLLS {
            let opened = acceptor.poll_next(cx);
            let mut is_still = opened.is_pending();
            match opened {
                Poll::Ready(Some(((), Ok(Err(error))))) => return Poll::Ready(Err(error)),
                Poll::Ready(Some(((), Err(panic)))) => {
                    return Poll::Ready(Err(io::Error::other(panic.0)));
                }
                Poll::Ready(Some(((), Ok(Ok(Some(stream)))))) => {
                    connections.insert((), connection::serve(shared, stream));
                    acceptor.insert((), accept_stream(&shared.app, &listener));
                }
                _ => {}
            }
            // The result of one connection does not matter to the others.
            let served = connections.poll_next(cx);
            is_still &= served.is_pending();
            if let Poll::Ready(Some(((), Err(panic)))) = &served {
                shared.app.panicked("", "", panic);
            }
            for session in shared.sessions.fresh() {
                let id = session.id;
                sessions
                    .insert(id, async move { session.drive(&shared.app, &shared.options).await });
                is_still = false;
            }
            let driven = sessions.poll_next(cx);
            is_still &= driven.is_pending();
            if let Poll::Ready(Some((id, driven))) = driven {
                if let Err(panic) = driven {
                    shared.app.panicked("", "", &panic);
                }
                shared.sessions.forget(id);
            }
            if acceptor.is_empty() && connections.is_empty() {
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
