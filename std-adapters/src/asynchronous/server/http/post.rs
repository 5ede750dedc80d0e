//! POST requests in a session.

use std::future::{Future, poll_fn};
use std::io;
use std::task::Poll;

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::http::RequestHead;
use mcp_sansio::{ExchangeId, Frame, Messages};

use super::super::app::App;
use super::super::context::{BodyReservation, Context};
use super::super::reply::IntoReply;
use super::options::HttpOptions;
use super::sender::Sender;
use super::server_instance::Taken;
use super::session::Session;
use super::stateless::COMMENT;
use super::wire::Wire;

/// Processes the body and writes the response. `opened` is called after the messages have been
/// processed and before anything is written.
#[allow(clippy::too_many_arguments)] // the parts of a request
pub(super) async fn serve<H, T, F>(
    app: &App<H>,
    options: &HttpOptions,
    wire: &mut Wire<T>,
    session: &Session<F>,
    head: &RequestHead<'_>,
    body: &[u8],
    held: Option<&BodyReservation>,
    sender: &mut Sender,
    opened: impl FnOnce(&mut Sender),
) -> io::Result<()>
where
    H: Fn(Context) -> F,
    T: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output: IntoReply>,
{
    let exchange = session.open_exchange(app.max_pending, options);
    let mut messages = Messages::over_http(Frame::Complete(body), head, exchange);
    let attached = Attached { session, exchange };
    let mut taken = Taken::default();
    session.instance.take_in(app, attached.exchange, &mut messages, held, &mut taken);
    opened(sender);
    let served = poll_fn(|cx| {
        loop {
            session.instance.take_in(app, attached.exchange, &mut messages, held, &mut taken);
            let mut moved = false;
            if wire.out.is_empty() {
                moved = attached.take(taken, sender, &mut wire.out, cx.waker().clone());
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
            if wire.timer.poll(cx, silent_until)
                && sender.is_open()
                && wire.out.is_empty()
                && attached.is_between_events()
            {
                sender.chunk(COMMENT, &mut wire.out);
                moved = true;
            }
            if !moved {
                return Poll::Pending;
            }
        }
    });
    served.await
}

/// Connection of an exchange, while there is one.
struct Attached<'s, F> {
    session: &'s Session<F>,
    exchange: ExchangeId,
}

impl<F> Attached<'_, F> {
    /// Moves pending output. Returns whether there was any.
    fn take(
        &self,
        taken: Taken,
        sender: &mut Sender,
        out: &mut Vec<u8>,
        waker: std::task::Waker,
    ) -> bool {
        let inner = &self.session.instance.inner;
        let mut state = inner.lock();
        let mut streams = self.session.streams();
        let streams = &mut *streams;
        let line = streams.lines.get_mut(&self.exchange).filter(|line| !line.is_detached);
        let Some(line) = line else {
            // The session has ended, or another connection reads the stream. An event stream may
            // end without a response then; 404 would invite the client to repeat the request, which
            // may have had effects.
            sender.cut(out);
            return true;
        };
        let is_over = taken.is_all && state.server().open_requests_of(self.exchange) == 0;
        let output = state.outputs.at(self.exchange);
        let had = !output.tx.pending().is_empty();
        let is_blocked = output.is_blocked();
        let replay = &mut streams.replay;
        sender.take(&mut output.tx, is_over, out, |events| {
            replay.record(&mut line.recording, events)
        });
        if is_over && output.tx.http_response().is_none() {
            sender.empty(if taken.has_fault { 400 } else { 202 }, out);
        }
        if sender.is_done() {
            return true;
        }
        if output.is_released && sender.is_open() && !output.tx.is_mid_frame() {
            output.is_released = false;
            line.is_detached = true;
            sender.end(out);
            return true;
        }
        line.waker = Some(waker);
        if is_blocked {
            state.notify_driver();
        }
        drop(state);
        if had {
            inner.drained(self.exchange);
        }
        had
    }

    fn is_between_events(&self) -> bool {
        !self.session.instance.inner.lock().outputs.at(self.exchange).tx.is_mid_frame()
    }
}

impl<F> Drop for Attached<'_, F> {
    fn drop(&mut self) {
        self.session.leave_exchange(self.exchange);
    }
}
