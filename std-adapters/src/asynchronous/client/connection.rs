//! Driver of one connection.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use mcp_sansio_engine::ConnectState;
use mcp_sansio_engine::internal::ClientApplication as _;

use super::inner::{Command, ConnectionInner, End, Session};
use super::transport::{Link as _, Transport};
use crate::client::ConnectError;
use crate::runtime;
use crate::runtime::timer::LazyTimer;

/// A connection to a server: a future to be awaited, spawned or [driven](Self::drive). It completes
/// when the connection ends.
///
/// Not cancel safe: dropping it closes the connection; all calls end with
/// [`CallError::Closed`](super::CallError::Closed).
#[must_use = "a connection does nothing unless it is polled"]
pub struct Connection<T: Transport> {
    link: T::Link,
    inner: Arc<ConnectionInner>,
    /// Its number.
    number: u32,
    /// While the connection works with it.
    session: Option<Box<Session>>,
    timer: LazyTimer,
    /// Start of closing.
    closing_since: Option<Instant>,
    end: Option<ConnectionEnd>,
}

/// Reason why a connection ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// The application closed it: [`Client::close`](super::Client::close), or the last client was
    /// dropped, or another connection [took its place](super::Client::reconnect).
    Closed,
    /// The server closed it.
    ServerClosed,
    /// The server did not respond to a ping
    /// ([`ClientConfig::ping_interval`](mcp_sansio::ClientConfig::ping_interval)), or reads nothing
    /// ([`ClientLimits::stall_timeout`](super::ClientLimits::stall_timeout)).
    Unresponsive,
    /// `initialize` or `server/discover` failed.
    ConnectFailed(ConnectError),
}

impl<T: Transport> Connection<T> {
    /// Takes the place of the last connection, and connects.
    pub(crate) fn new(transport: T, inner: Arc<ConnectionInner>) -> Self {
        let number = inner.connect(transport.url_for_posts());
        Self {
            link: transport.into_link(),
            inner,
            number,
            session: None,
            timer: LazyTimer::new(),
            closing_since: None,
            end: None,
        }
    }

    /// Runs the connection until `work` completes, then closes it.
    ///
    /// Not cancel safe: dropping the future drops `work` and the connection.
    pub async fn drive<R>(self, work: impl Future<Output = R>) -> R {
        let (inner, number) = (Arc::clone(&self.inner), self.number);
        let connection = pin!(self);
        let mut connection = Some(connection);
        let mut work = pin!(work);
        let result = poll_fn(|cx| {
            let result = work.as_mut().poll(cx);
            if result.is_pending()
                && connection
                    .as_mut()
                    .is_some_and(|connection| connection.as_mut().poll(cx).is_ready())
            {
                connection = None;
                // Calls have ended with the connection: `work` sees it now.
                return work.as_mut().poll(cx);
            }
            result
        });
        let result = result.await;
        if inner.is_latest(number) {
            inner.command(Command::Close);
        }
        if let Some(connection) = connection {
            let _ = connection.await;
        }
        result
    }

    /// One pass over all sources; none blocks the others.
    fn round(&mut self, session: &mut Session, cx: &mut Context<'_>) -> io::Result<bool> {
        let now = self.inner.now();
        let mut moved = self.link.read(session, cx)?;
        moved |= self.link.handle(session, now);
        while let Some((input, answer)) = session.app.poll_input(cx) {
            moved = true;
            session.engine.answer(now, input, answer, &mut session.app);
        }
        // An error is a call's own, which ends with it.
        let _ = session.engine.handle_timeout(now, true, &mut session.app);
        moved |= self.link.write(session, now, cx)?;
        moved |= self.update_end(session, cx);
        if self.end.is_none()
            && let Some(due) = self.due(session, now)
            && self.timer.poll(cx, due)
        {
            moved = true;
            let stalls_at = self.link.stalls_at(self.inner.limits.stall_timeout);
            if stalls_at.is_some_and(|at| at <= runtime::now()) {
                self.end = Some(ConnectionEnd::Unresponsive);
            }
        }
        Ok(moved)
    }

    fn update_end(&mut self, session: &mut Session, cx: &mut Context<'_>) -> bool {
        if let ConnectState::Failed(why) = session.engine.connect_state() {
            session.end(End::ConnectFailed(why.clone()));
        }
        self.end = match &session.end {
            Some(End::ConnectFailed(why)) => Some(ConnectionEnd::ConnectFailed(why.clone())),
            Some(_) => self.close(session, cx),
            None if session.engine.is_unresponsive() => Some(ConnectionEnd::Unresponsive),
            None => self.link.has_ended(session).then_some(ConnectionEnd::ServerClosed),
        };
        self.end.is_some()
    }

    /// Sends pending output, closes our side, and waits for the server to close its own. Input is
    /// read and discarded: closing a socket with unread input may reset it, and the server would
    /// lose what was sent last.
    fn close(&mut self, session: &mut Session, cx: &mut Context<'_>) -> Option<ConnectionEnd> {
        session.app.drop_inputs();
        self.link.discard(session);
        let since = *self.closing_since.get_or_insert_with(runtime::now);
        let has_ended = self.link.has_ended(session);
        let is_over = runtime::elapsed(since) >= self.inner.limits.close_timeout || has_ended;
        let is_closed = self.link.poll_close(session, cx);
        (is_over || is_closed && self.link.has_ended(session)).then_some(ConnectionEnd::Closed)
    }

    /// `now` is the time for which timeouts were handled.
    fn due(&self, session: &mut Session, now: mcp_sansio::Instant) -> Option<Instant> {
        let deadline = session.engine.poll_timeout_after(now);
        let deadline = deadline.and_then(|at| self.inner.real_time(at));
        let closed =
            self.closing_since.and_then(|since| since.checked_add(self.inner.limits.close_timeout));
        [deadline, closed, self.link.stalls_at(self.inner.limits.stall_timeout)]
            .into_iter()
            .flatten()
            .min()
    }

    fn give_back(&mut self, driver: &Waker) {
        if let Some(session) = self.session.take() {
            self.inner.put(session, driver);
        }
    }

    /// Ends the session, and gives it back to the clients.
    fn over(&mut self) {
        self.give_back(Waker::noop());
        self.inner.end(self.number);
    }
}

impl<T: Transport> Future for Connection<T> {
    type Output = io::Result<ConnectionEnd>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        // It is here already if somebody has caught a panic of the last round.
        if this.session.is_none() {
            this.session = ready!(this.inner.take(this.number, cx.waker()));
            if this.session.is_none() {
                return Poll::Ready(Ok(ConnectionEnd::Closed));
            }
        }
        for _ in 0..ROUNDS {
            let Some(mut session) = this.session.take() else { return Poll::Pending };
            let moved = catch_unwind(AssertUnwindSafe(|| this.round(&mut session, cx)));
            // After a panic, `drop` gives it back to the clients.
            this.session = Some(session);
            match moved.unwrap_or_else(|panic| resume_unwind(panic)) {
                Err(error) => {
                    this.over();
                    return Poll::Ready(Err(error));
                }
                Ok(moved) => {
                    if let Some(end) = this.end.clone() {
                        this.over();
                        return Poll::Ready(Ok(end));
                    }
                    if !moved {
                        this.give_back(cx.waker());
                        return Poll::Pending;
                    }
                }
            }
        }
        this.give_back(cx.waker());
        // Yields to other tasks.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T: Transport> Drop for Connection<T> {
    fn drop(&mut self) {
        self.over();
    }
}

mcp_sansio::opaque_debug!([T: Transport] Connection<T> { end });

/// Rounds in a row before the task yields. A round reads once, up to 64 KiB.
const ROUNDS: usize = 16;

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use futures_lite::{AsyncRead, AsyncWrite};

    use mcp_sansio::types::Implementation;
    use mcp_sansio::{ClientConfig, ClientFeatures, Era, RawJson};

    use super::super::ClientLimits;
    use super::*;
    use crate::asynchronous::client::Connector;

    static CONFIG: ClientConfig<'_> =
        ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::ROOTS);

    /// A legacy server that cancels all its requests but the first ones, and reads little.
    struct Fickle {
        said: String,
        server_requests: usize,
        /// Number of requests that it makes.
        most: usize,
        /// Number of bytes that it still reads.
        reads: usize,
        heard: Vec<u8>,
    }

    impl AsyncRead for Fickle {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            into: &mut [u8],
        ) -> Poll<io::Result<usize>> {
            while self.said.len() < into.len() && self.server_requests < self.most {
                let id = self.server_requests;
                self.said +=
                    &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"roots/list\"}}\n");
                // The responses to the first requests fill the output buffer, and one of them stays
                // in front of all others.
                if id > LAST_KEPT {
                    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId"#;
                    self.said += &format!("{cancelled}\":{id}}}}}\n");
                }
                self.server_requests += 1;
            }
            let len = self.said.len().min(into.len());
            into[..len].copy_from_slice(&self.said.as_bytes()[..len]);
            self.said.drain(..len);
            if len == 0 { Poll::Pending } else { Poll::Ready(Ok(len)) }
        }
    }

    impl AsyncWrite for Fickle {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let len = bytes.len().min(self.reads);
            self.reads -= len;
            self.heard.extend_from_slice(&bytes[..len]);
            if len == 0 { Poll::Pending } else { Poll::Ready(Ok(len)) }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// The last request that the server does not take back.
    const LAST_KEPT: usize = 40;

    /// A server that makes this many requests, and its client.
    fn fickle(most: usize) -> (crate::asynchronous::client::Client, Connection<Fickle>) {
        let info = r#""capabilities":{},"serverInfo":{"name":"s","version":"1"}"#;
        let said = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"protocolVersion\":\"2025-11-25\",{info}}}}}\n"
        );
        let stream = Fickle { said, server_requests: 0, most, reads: 400, heard: Vec::new() };
        let connector = Connector::new(&CONFIG)
            .era(Era::Legacy)
            .limits(ClientLimits { max_pending: 1024, ..ClientLimits::new() })
            .on_input_request(async |input_request| input_request.respond(&RawJson::EMPTY));
        connector.connect(stream)
    }

    fn kept(connection: &Connection<Fickle>) -> usize {
        let taken = connection.inner.take(connection.number, Waker::noop());
        let Poll::Ready(Some(session)) = taken else { panic!() };
        let kept = session.app.open_inputs() + session.engine.unsent();
        connection.inner.put(session, Waker::noop());
        kept
    }

    #[test]
    fn c1_answers_to_what_the_server_has_taken_back_are_not_kept() {
        let (_client, mut connection) = fickle(usize::MAX);
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..50 {
            assert!(Pin::new(&mut connection).poll(&mut cx).is_pending());
            let kept = kept(&connection);
            assert!(kept <= usize::from(ClientLimits::new().max_in_flight), "{kept}");
        }
        assert!(
            connection.link.stream.server_requests
                > 10 * usize::from(ClientLimits::new().max_in_flight),
            "{}",
            connection.link.stream.server_requests
        );
    }

    #[test]
    fn answers_that_wait_for_room_are_sent_although_the_server_takes_other_requests_back() {
        let (_client, mut connection) = fickle(60);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut connection).poll(&mut cx).is_pending());
        assert!(kept(&connection) > 0);
        connection.link.stream.reads = usize::MAX;
        assert!(Pin::new(&mut connection).poll(&mut cx).is_pending());
        let heard = String::from_utf8(connection.link.stream.heard.clone()).unwrap();
        let answers = heard.lines().filter(|line| line.contains("\"result\""));
        let ids: Vec<usize> = answers.map(id).collect();
        assert_eq!(ids, (0..=LAST_KEPT).collect::<Vec<_>>());
    }

    /// Returns the id of a response.
    fn id(line: &str) -> usize {
        RawJson::parse(line).unwrap().get("id").and_then(RawJson::as_u64).unwrap() as usize
    }
}
