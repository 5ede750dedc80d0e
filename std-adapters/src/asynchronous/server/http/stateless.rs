//! Server instances that live as long as one connection: stateless requests, and HTTP+SSE streams.

use std::future::{Future, poll_fn};
use std::io;
use std::task::{self, Poll};
use std::time::Instant;

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::{ExchangeId, Messages};

use super::super::app::App;
use super::super::context::{BodyReservation, Context};
use super::super::reply::IntoReply;
use super::options::HttpOptions;
use super::sender::Sender;
use super::server_instance::{ServerInstance, Taken};
use super::wire::Wire;
use crate::asynchronous::timer::LazyTimer;

/// Serves an instance until all output is written, or the client is gone.
///
/// `messages` are those of a stateless request; without any it is a stream, which ends only with
/// the connection or the application.
#[allow(clippy::too_many_arguments)] // the parts of a request
pub(super) async fn serve<H, T, F>(
    app: &App<H>,
    options: &HttpOptions,
    wire: &mut Wire<T>,
    instance: &ServerInstance<F>,
    mut messages: Option<Messages<'_>>,
    held: Option<&BodyReservation>,
    sender: &mut Sender,
) -> io::Result<()>
where
    H: Fn(Context) -> F,
    T: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output: IntoReply>,
{
    let mut taken = Taken { is_all: messages.is_none(), ..Taken::default() };
    let is_endless = messages.is_none();
    let mut is_first = messages.is_some();
    let served = poll_fn(|cx| {
        instance.inner.driver.begin_round();
        loop {
            if let Some(messages) = &mut messages {
                instance.take_in(app, ExchangeId::new(1), messages, held, &mut taken);
            }
            let is_first = std::mem::take(&mut is_first);
            // Processing messages includes a round.
            let mut moved = !(is_first && taken.is_all) && instance.round(app);
            if wire.out.is_empty() {
                let has_to_end = instance.dispatcher().is_over(is_endless);
                let mut state = instance.inner.lock();
                let is_over = has_to_end
                    || taken.is_all && !is_endless && state.server().open_requests() == 0;
                let tx = &mut state.outputs.own().tx;
                let had = !tx.pending().is_empty();
                sender.take(tx, is_over && !had, &mut wire.out, |_| {});
                if is_over && !had {
                    sender.empty(if taken.has_fault { 400 } else { 202 }, &mut wire.out);
                    if sender.is_open() {
                        sender.end(&mut wire.out);
                    }
                }
                moved |= had;
                drop(state);
                if had {
                    instance.inner.drained(ExchangeId::SESSION);
                }
            }
            if !sender.is_done() {
                // Before the client gets any output, so that it misses no change after it.
                moved |= instance.join();
            }
            let had = !wire.out.is_empty();
            if let Poll::Ready(written) = wire.poll_write(cx) {
                written?;
                // There is room for more.
                moved |= had;
                if sender.is_done() && wire.out.is_empty() {
                    return Poll::Ready(Ok(()));
                }
            }
            if wire.poll_gone(cx) || wire.is_stuck(options.read_timeout) {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            if !wire.is_whole() {
                sender.close();
            }
            let silent_until = wire.silent_until(options.keep_alive, options.read_timeout);
            moved |= poll_timer(app, &mut wire.timer, cx, instance, silent_until);
            if sender.is_open()
                && wire.out.is_empty()
                && wire.wrote_at.elapsed() >= options.keep_alive
            {
                let mut state = instance.inner.lock();
                if !state.outputs.own().tx.is_mid_frame() {
                    sender.chunk(COMMENT, &mut wire.out);
                    moved = true;
                }
            }
            if !moved && instance.inner.driver.register(cx.waker()) {
                return Poll::Pending;
            }
        }
    });
    served.await
}

/// Sets the timer to the next deadline. Returns whether one is due. A deadline that was handled
/// already waits for room, not for time; one that has passed since is due.
pub(super) fn poll_timer<H, F>(
    app: &App<H>,
    timer: &mut LazyTimer,
    cx: &mut task::Context<'_>,
    instance: &ServerInstance<F>,
    also: Instant,
) -> bool {
    let dispatcher = instance.dispatcher();
    let (timeouts_checked_at, full_until) =
        (dispatcher.timeouts_checked_at, dispatcher.full_until(app));
    drop(dispatcher);
    let due = instance
        .inner
        .lock()
        .server()
        .poll_timeout()
        .filter(|at| *at > timeouts_checked_at)
        .and_then(|at| instance.inner.real_time(at));
    let timeouts_checked_at = instance.inner.real_time(timeouts_checked_at);
    let full_until = full_until.filter(|at| {
        timeouts_checked_at.is_none_or(|timeouts_checked_at| *at > timeouts_checked_at)
    });
    let also = Some(also).filter(|at| *at > Instant::now());
    let Some(due) = [due, full_until, also].into_iter().flatten().min() else { return false };
    timer.poll(cx, due)
}

/// SSE comment, sent as a keep-alive.
pub(super) const COMMENT: &[u8] = b":\n\n";
