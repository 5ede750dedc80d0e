//! One HTTP connection: its requests, one after the other.

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::http::server::Refusal;
use mcp_sansio::{ErrorCode, Instant, TxBuffer};
use mcp_sansio_engine::PeerAddress;
use mcp_sansio_engine::site::{ExchangeKey, Site, SiteBody};
use mcp_sansio_http1::{CONTINUE, HttpError, Part};

use super::exchange::HttpExchange;
use super::sender::Sender;
use super::server::{HttpServer, Table};
use super::shards::Servers;
use super::wire::{Head, LINGER, Next, Wire};
use crate::asynchronous::server::broadcast::{Receiver, Registration};
use crate::asynchronous::server::driver_waker::DriverWaker;
use crate::asynchronous::server::life::Live;
use crate::asynchronous::server::reply::PendingResponse;
use crate::runtime::timer::Timer;

/// Serves a connection until it ends. It counts from the call on.
pub(crate) fn serve<T: AsyncRead + AsyncWrite + Unpin, M: Live>(
    (servers, own): (&Servers, usize),
    table: &Mutex<Table<M>>,
    socket: T,
    peer: Option<PeerAddress>,
) -> impl Future<Output = io::Result<()>> {
    let server = servers.get(own);
    let (settings, options) = (server.settings(), server.options());
    let wire = Wire::new(socket, peer, settings.limits.max_line, options.read_timeout);
    let shutdown = Arc::<DriverWaker>::default();
    let receiver = Arc::downgrade(&shutdown) as Weak<dyn Receiver>;
    let registration = settings.broadcaster.register(receiver, peer);
    serve_until_end((servers, server), table, wire, shutdown, registration)
}

/// Responds to a connection for which there is no place, and closes it.
pub(crate) async fn refuse_connection<T>(server: &HttpServer, socket: T) -> io::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let time = server.options().read_timeout.min(REFUSAL_TIME);
    let mut wire = Wire::new(socket, None, 0, time);
    let turns = Arc::clone(&wire.turns);
    let mut refused = pin!(async {
        let mut sender = Sender::new(false, false, false);
        refuse(&Refusal::service_unavailable(), &mut sender, &mut wire.out);
        wire.close().await
    });
    poll_fn(|cx| {
        turns.begin();
        refused.as_mut().poll(cx)
    })
    .await
}

async fn serve_until_end<T: AsyncRead + AsyncWrite + Unpin, M: Live>(
    (servers, server): (&Servers, &HttpServer),
    table: &Mutex<Table<M>>,
    wire: Wire<T>,
    shutdown: Arc<DriverWaker>,
    _registration: Registration,
) -> io::Result<()> {
    let settings = server.settings();
    let turns = Arc::clone(&wire.turns);
    let mut served = pin!(serve_requests((servers, server), table, wire));
    let mut end = None;
    poll_fn(|cx| {
        shutdown.register(cx.waker());
        if settings.broadcaster.is_shutting_down() {
            let limit = settings.limits.shutdown_timeout;
            let end = end.get_or_insert_with(|| Timer::after(limit.saturating_add(LINGER)));
            if Pin::new(end).poll(cx).is_ready() {
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
        }
        turns.begin();
        served.as_mut().poll(cx)
    })
    .await
}

async fn serve_requests<T: AsyncRead + AsyncWrite + Unpin, M: Live>(
    (servers, server): (&Servers, &HttpServer),
    table: &Mutex<Table<M>>,
    mut wire: Wire<T>,
) -> io::Result<()> {
    let broadcaster = &server.settings().broadcaster;
    loop {
        let head = match wire.head(|| broadcaster.is_shutting_down()).await? {
            Next::Got(head) => head,
            Next::End => return wire.close().await,
            Next::HttpError(error) => {
                let mut sender = Sender::new(false, false, wire.reader.is_head());
                refuse(&refusal(error), &mut sender, &mut wire.out);
                return wire.close().await;
            }
        };
        let keeps_alive = wire.reader.keeps_alive() && !broadcaster.is_shutting_down();
        let mut sender = Sender::new(head.is_http_1_0, keeps_alive, wire.reader.is_head());
        // Another thread runs the handlers of a session that it has opened.
        let (server, table) = match servers.with_session(&head.head) {
            Some(other) if !other.is(server) => (other, None),
            _ => (server, Some(table)),
        };
        respond(server, table, &mut wire, head, &mut sender).await?;
        wire.flush().await?;
        if !sender.keeps_alive() || !wire.is_whole() || !wire.reader.next_request() {
            return wire.close().await;
        }
    }
}

/// Reads the body of a request, and writes its response.
async fn respond<T: AsyncRead + AsyncWrite + Unpin, M: Live>(
    server: &HttpServer,
    table: Option<&Mutex<Table<M>>>,
    wire: &mut Wire<T>,
    head: Head,
    sender: &mut Sender,
) -> io::Result<()> {
    let own_table = table.filter(|_| wire.reader.has_whole_body());
    let exchange = if let Some(own_table) = own_table {
        let body = match wire.reader.next_part() {
            Ok(Some(Part::Body(body))) => body,
            _ => &[],
        };
        let (mut exchange, mut fed) =
            server.serve_whole(own_table, head.head, body, |site, now, key| {
                output(site, now, key, sender, &mut wire.out);
                sender.is_done()
            });
        // It waits for the check of its credentials, or for room.
        if fed < body.len() {
            poll_fn(|cx| server.attend(table, || exchange.poll_feed(cx, body, &mut fed, true)))
                .await;
        }
        wire.end_body();
        exchange
    } else {
        let (mut exchange, wants_body) = server.open(head.head);
        if wants_body || exchange.wants_body().await {
            wire.begin_body(head.content_length);
            if head.expects_continue {
                wire.out.extend_from_slice(CONTINUE);
                wire.flush().await?;
            }
            let failed = feed(server, table, wire, &mut exchange, head.content_length).await?;
            if let Some(error) = failed {
                refuse(&refusal(error), sender, &mut wire.out);
                return Ok(());
            }
        }
        exchange
    };
    // The connection is closed after the response, unless an unread body has been received.
    if !wire.skip_body() {
        sender.close();
    }
    let mut exchange = exchange;
    let responded = poll_fn(|cx| {
        loop {
            let mut moved = false;
            if wire.out.is_empty() && !sender.is_done() {
                moved = poll_output(&mut exchange, sender, &mut wire.out, cx);
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
            if moved {
                continue;
            }
            // Not before all output is seen: a client with a whole response sends its next request.
            if wire.poll_gone(cx) || wire.poll_stuck(cx) {
                return Poll::Ready(Err(ErrorKind::ConnectionAborted.into()));
            }
            if !wire.is_whole() {
                sender.close();
            }
            return Poll::Pending;
        }
    });
    let result = responded.await;
    if !exchange.is_closed {
        server.attend(table, || drop(exchange));
    }
    result
}

/// Feeds the body, until it is complete or there is a response.
async fn feed<T: AsyncRead + AsyncWrite + Unpin, M: Live>(
    server: &HttpServer,
    table: Option<&Mutex<Table<M>>>,
    wire: &mut Wire<T>,
    exchange: &mut HttpExchange,
    length: Option<usize>,
) -> io::Result<Option<HttpError>> {
    let (mut total, mut has_ended) = (0, false);
    loop {
        match wire.reader.next_part() {
            Ok(Some(Part::Body(piece))) => {
                total += piece.len();
                has_ended = length == Some(total);
                let mut fed = 0;
                let mut feed =
                    |cx: &mut Context<'_>| exchange.poll_feed(cx, piece, &mut fed, has_ended);
                poll_fn(|cx| if has_ended { server.attend(table, || feed(cx)) } else { feed(cx) })
                    .await;
                continue;
            }
            Ok(Some(Part::End)) => {
                wire.end_body();
                if !has_ended {
                    server.attend(table, || exchange.end_body());
                }
                return Ok(None);
            }
            Ok(_) => {}
            Err(error) => return Ok(Some(error)),
        }
        let read = poll_fn(|cx| {
            if let Poll::Ready(false) = exchange.poll_wants_body(cx) {
                return Poll::Ready(Ok(None));
            }
            wire.poll_read(cx).map_ok(Some)
        });
        match read.await? {
            None => return Ok(None),
            Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Some(_) => {}
        }
    }
}

/// Moves output of an exchange. Returns whether there was any.
fn poll_output(
    exchange: &mut HttpExchange,
    sender: &mut Sender,
    out: &mut Vec<u8>,
    cx: &mut Context<'_>,
) -> bool {
    let key = exchange.key();
    let moved = exchange.poll(cx, |site, now| {
        output(site, now, key, sender, out);
        (!out.is_empty() || sender.is_done()).then_some(())
    });
    moved.is_ready()
}

/// Moves the output that an exchange has.
fn output(
    site: &mut Site<'static, PendingResponse>,
    now: Instant,
    key: ExchangeKey,
    sender: &mut Sender,
    out: &mut Vec<u8>,
) {
    if sender.is_new() {
        let Some(head) = site.response(key) else { return };
        sender.head(head.status(), head.fields(), head.length(), out);
    }
    while out.len() < MOST && !sender.is_done() {
        match site.body(key) {
            SiteBody::Pending => break,
            SiteBody::Piece(piece) => {
                sender.piece(piece, out);
                let len = piece.len();
                site.wrote(now, key, len);
            }
            SiteBody::End => sender.end(out),
            SiteBody::Cut => sender.cut(),
        }
    }
}

/// Returns the response to a request that is not HTTP, or whose body is not.
fn refusal(error: HttpError) -> Refusal<'static> {
    match error.status() {
        413 => Refusal::content_too_large(),
        status => Refusal::new(status, ErrorCode::InvalidRequest, error.reason()),
    }
}

/// Sends a response after which the connection is closed.
fn refuse(refusal: &Refusal<'_>, sender: &mut Sender, out: &mut Vec<u8>) {
    let mut tx = TxBuffer::for_http_response(Vec::new(), 4096);
    sender.close();
    if refusal.write(&mut tx).is_ok()
        && let Some(head) = tx.http_response()
    {
        let later = (head.status == 503).then_some(("retry-after", "5"));
        sender.head(head.status, head.fields().chain(later), Some(tx.pending().len()), out);
        sender.piece(tx.pending(), out);
    }
    sender.end(out);
}

/// Number of bytes of output after which they are written before more are taken.
const MOST: usize = 64 << 10;
/// Maximum time in which a connection without a place takes its response.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
