//! GET requests: the standalone stream of a session, or a stream that is resumed.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::http::server::EventId;
use mcp_sansio::http::sse::ControlEvent;
use mcp_sansio::{ExchangeId, Revision};

use super::super::broadcast::Broadcaster;
use super::options::HttpOptions;
use super::sender::Sender;
use super::session::Session;
use super::stateless::COMMENT;
use super::wire::Wire;

/// Writes events until the stream ends, another connection takes it over, or the client is gone.
pub(super) async fn serve<T, F>(
    broadcaster: &Broadcaster,
    options: &HttpOptions,
    wire: &mut Wire<T>,
    session: &Session<F>,
    after: Option<EventId>,
    sender: &mut Sender,
) -> io::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let resumed = after.and_then(|after| Some((after.stream, session.resume(after)?)));
    let mut attached = Attached::new(session);
    let (stream, mut cursor, holder) = {
        let mut streams = session.streams();
        let (stream, cursor) = resumed.unwrap_or((0, streams.own_cursor));
        if stream == 0 {
            streams.holder += 1;
            // Ends the connection that had the stream before.
            streams.readers.take().for_each(std::task::Waker::wake);
        }
        (stream, cursor, streams.holder)
    };
    // Not known after the session has ended.
    let revision = session.instance.inner.lock().server().legacy_revision();
    sender.begin_events(&mut wire.out);
    let served = poll_fn(|cx| {
        loop {
            let mut moved = false;
            if wire.out.is_empty() && !sender.is_done() {
                let mut streams = session.streams();
                let is_early = (stream == 0 && streams.holder != holder
                    || broadcaster.is_shutting_down())
                    && !cursor.is_mid_event();
                if is_early || streams.is_over {
                    drop(streams);
                    let mut piece = [0; 32];
                    let retry = ControlEvent::Retry(
                        u32::try_from(options.retry.as_millis()).unwrap_or(u32::MAX),
                    )
                    .write(&mut piece);
                    if let (true, Some(len), Some(Revision::V2025_11_25)) =
                        (is_early, retry, revision)
                    {
                        sender.chunk(piece.get(..len).unwrap_or_default(), &mut wire.out);
                    }
                    sender.end(&mut wire.out);
                    moved = true;
                } else {
                    while wire.out.len() < MOST {
                        match streams.replay.next_part(&mut cursor) {
                            Ok(Some([one, other])) => {
                                sender.chunk(one, &mut wire.out);
                                sender.chunk(other, &mut wire.out);
                                moved = true;
                            }
                            // The stream of a request ends with its response.
                            Ok(None) => {
                                if stream != 0
                                    && !streams.lines.contains_key(&ExchangeId::new(stream))
                                {
                                    sender.end(&mut wire.out);
                                    moved = true;
                                }
                                break;
                            }
                            Err(_) => {
                                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                            }
                        }
                    }
                    if stream == 0 {
                        streams.own_cursor = cursor;
                    }
                    streams.readers.wait(&mut attached.place, cx.waker());
                }
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
            let silent_until = wire.silent_until(options.keep_alive, options.read_timeout);
            if wire.timer.poll(cx, silent_until) && wire.out.is_empty() && !cursor.is_mid_event() {
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

/// Counts a connection of a session, while it exists.
struct Attached<'s, F> {
    session: &'s Session<F>,
    /// Place among the connections that wait for recorded events.
    place: Option<u64>,
}

impl<'s, F> Attached<'s, F> {
    fn new(session: &'s Session<F>) -> Self {
        session.streams().attached += 1;
        Self { session, place: None }
    }
}

impl<F> Drop for Attached<'_, F> {
    fn drop(&mut self) {
        let mut streams = self.session.streams();
        streams.attached -= 1;
        if let Some(place) = self.place {
            streams.readers.leave(place);
        }
        drop(streams);
        // Counts as activity.
        self.session.leave_exchange(ExchangeId::SESSION);
    }
}

/// Maximum number of bytes written at once.
const MOST: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::future::{Future, Ready, ready};
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Wake, Waker};

    use mcp_sansio::types::Implementation;
    use mcp_sansio::{ServerConfig, ServerFeatures};

    use super::super::super::app::App;
    use super::super::super::context;
    use super::super::super::reply::HandlerResult;
    use super::super::endpoint_state::new_id;
    use super::*;

    static CONFIG: ServerConfig<'static> =
        ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS);

    fn respond(_: context::Context) -> Ready<HandlerResult> {
        ready(Err("".into()))
    }

    /// A client that sends nothing more and reads everything.
    struct Silent;

    impl AsyncRead for Silent {
        fn poll_read(
            self: std::pin::Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut [u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Silent {
        fn poll_write(
            self: std::pin::Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    struct Counted;

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn s5_an_open_stream_keeps_one_waker_however_often_it_is_woken() {
        let app = App::new(&CONFIG, respond);
        let options = HttpOptions::new();
        let session = Session::<Ready<HandlerResult>>::new(&app, &options, new_id().unwrap(), None);
        let counted = Arc::new(Counted);
        let waker = Waker::from(Arc::clone(&counted));
        let mut cx = Context::from_waker(&waker);
        for after in [None, Some(EventId { stream: 0, number: 0 })] {
            let mut wire = Wire::new(Silent, 1000);
            let mut sender = Sender::new(false, true, Vec::new());
            let mut stream =
                pin!(serve(app.broadcaster(), &options, &mut wire, &session, after, &mut sender));
            for _ in 0..3000 {
                assert!(stream.as_mut().poll(&mut cx).is_pending());
            }
            assert_eq!(session.streams().readers.len(), 1);
            // Timers keep some wakers as well.
            assert!(Arc::strong_count(&counted) <= 10, "{}", Arc::strong_count(&counted));
        }
        let streams = session.streams();
        assert_eq!((streams.readers.len(), streams.attached), (0, 0));
    }
}
