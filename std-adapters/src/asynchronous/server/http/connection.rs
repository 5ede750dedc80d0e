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
use mcp_sansio_http1::{CONTINUE, MessageError, Part, ResponseWriter};

use super::exchange::HttpExchange;
use super::serve::Servers;
use super::server::{HttpServer, Table};
use super::wire::{Head, LINGER, Next, Turns, Wire, lend_output};
use crate::asynchronous::server::app::{IDLE_TIMEOUT, Settings};
use crate::asynchronous::server::broadcast::Receiver;
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
    let settings = &server.0.settings;
    let shutdown = Arc::<DriverWaker>::default();
    let receiver = Arc::downgrade(&shutdown) as Weak<dyn Receiver>;
    let registration = settings.broadcaster.register(receiver, Some(peer));
    // A block and not a function, whose arguments would be moved and take memory twice.
    async move {
        let _registration = registration;
        let (max_body, read_timeout) = (settings.limits.max_line, server.0.options.read_timeout);
        let turns = Turns::new();
        let mut wire = Wire::new(socket, peer, max_body, read_timeout, &turns);
        let mut served = pin!(serve_requests((servers, server), table, &mut wire));
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
}

/// Responds to a connection for which there is no place, and closes it.
pub(crate) async fn refuse_connection<T>(server: &HttpServer, socket: T) -> io::Result<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let time = server.0.options.read_timeout.min(REFUSAL_TIME);
    let turns = Turns::new();
    let mut wire = Wire::new(socket, None, 0, time, &turns);
    let mut refused = pin!(async {
        let mut response = ResponseWriter::new();
        refuse(&Refusal::service_unavailable(), &mut response, &mut wire.out);
        wire.close().await
    });
    poll_fn(|cx| {
        turns.begin();
        refused.as_mut().poll(cx)
    })
    .await
}

async fn serve_requests<T: AsyncRead + AsyncWrite + Unpin, M: Live>(
    (servers, server): (&Servers, &HttpServer),
    table: &Mutex<Table<M>>,
    wire: &mut Wire<'_, T>,
) -> io::Result<()> {
    let Settings { broadcaster, limits, .. } = &*server.0.settings;
    let mut idle = None;
    loop {
        let head = match wire.head(idle, || broadcaster.is_shutting_down()).await? {
            Next::Got(head) => head,
            Next::End => return wire.close().await,
            Next::Invalid(error) => {
                let mut response = ResponseWriter::new().head_only(wire.reader.is_head());
                refuse(&refusal(error), &mut response, &mut wire.out);
                return wire.close().await;
            }
        };
        idle = Some(limits.idle_timeout.unwrap_or(IDLE_TIMEOUT));
        let keeps_alive = wire.reader.keeps_alive() && !broadcaster.is_shutting_down();
        let response = ResponseWriter::new()
            .http_1_0(head.is_http_1_0)
            .keep_alive(keeps_alive)
            .head_only(wire.reader.is_head());
        // Another thread runs the handlers of a session that it has opened.
        let (server, table) = match servers.with_session(&head.head) {
            Some(other) if !Arc::ptr_eq(&other.0, &server.0) => (other, None),
            _ => (server, Some(table)),
        };
        let mut serving = Serving { server, table, wire: &mut *wire, response };
        let begun = serving.respond(head);
        // In memory that an idle connection does not have: as a local it would be kept, too.
        if let Some(rest) = begun.map(|begun| Box::pin(serving.go_on(begun))) {
            rest.await?;
        }
        let keeps_alive = serving.response.keeps_alive();
        wire.flush().await?;
        if !keeps_alive || !wire.is_whole() || !wire.reader.next_request() {
            return wire.close().await;
        }
    }
}

/// A request whose response has to wait.
enum Begun {
    /// Its body is not there.
    Head(Head),
    /// Its exchange, and the rest of the body, for which there is no room.
    Exchange(HttpExchange, Vec<u8>),
}

/// A request of a connection, and its response.
struct Serving<'c, 'w, T, M: Live> {
    server: &'c HttpServer,
    /// `None` if another thread runs its handler.
    table: Option<&'c Mutex<Table<M>>>,
    wire: &'c mut Wire<'w, T>,
    response: ResponseWriter,
}

impl<T: AsyncRead + AsyncWrite + Unpin, M: Live> Serving<'_, '_, T, M> {
    /// Writes the response to a request, or returns what is left to do.
    fn respond(&mut self, head: Head) -> Option<Begun> {
        let Self { server, table, wire, response } = self;
        let Some(table) = table.filter(|_| wire.reader.has_whole_body()) else {
            return Some(Begun::Head(head));
        };
        let body = match wire.reader.next_part() {
            Ok(Some(Part::Body(body))) => body,
            _ => &[],
        };
        let (exchange, fed) = server.serve_whole(table, head.head, body, |site, now, key| {
            output(site, now, key, response, &mut wire.out);
            response.is_done()
        });
        let rest = body.get(fed..).unwrap_or_default();
        let begun = (!exchange.is_closed).then(|| Begun::Exchange(exchange, rest.to_vec()));
        wire.end_body();
        // Its end, too.
        wire.skip_body();
        begun
    }

    /// Reads the rest of the body of a request, and writes its response.
    async fn go_on(&mut self, begun: Begun) -> io::Result<()> {
        let mut exchange = match begun {
            Begun::Exchange(mut exchange, rest) => {
                // It waits for the check of its credentials, or for room.
                if !rest.is_empty() {
                    self.feed_rest(&mut exchange, rest, true).await;
                }
                exchange
            }
            Begun::Head(head) => {
                let (mut exchange, mut wants_body) = self.server.open(head.head);
                if !wants_body {
                    self.wire.return_input();
                    wants_body = exchange.wants_body().await;
                }
                if wants_body {
                    if head.expects_continue {
                        self.wire.out.extend_from_slice(CONTINUE);
                        self.wire.flush().await?;
                    }
                    if let Some(error) = self.feed(&mut exchange, head.content_length).await? {
                        refuse(&refusal(error), &mut self.response, &mut self.wire.out);
                        return Ok(());
                    }
                }
                exchange
            }
        };
        let Self { server, table, wire, response } = self;
        // The connection is closed after the response, unless an unread body has been received.
        if !wire.skip_body() {
            response.close();
        }
        let key = exchange.key;
        let responded = poll_fn(|cx| {
            loop {
                let mut moved = false;
                if wire.out.is_empty() && !response.is_done() {
                    let polled = exchange.poll(cx, |site, now| {
                        output(site, now, key, response, &mut wire.out);
                        (!wire.out.is_empty() || response.is_done()).then_some(())
                    });
                    moved = polled.is_ready();
                }
                let had = !wire.out.is_empty();
                if let Poll::Ready(written) = wire.poll_write(cx) {
                    written?;
                    // There is room for more.
                    moved |= had;
                    if response.is_done() && wire.out.is_empty() {
                        return Poll::Ready(Ok(()));
                    }
                }
                if moved {
                    continue;
                }
                // Not before all output is seen: a client with a whole response sends its next
                // request.
                if wire.poll_gone(cx) || wire.poll_stuck(cx) {
                    return Poll::Ready(Err(ErrorKind::ConnectionAborted.into()));
                }
                if !wire.is_whole() {
                    response.close();
                }
                return Poll::Pending;
            }
        });
        let result = responded.await;
        if !exchange.is_closed {
            server.attend(*table, || drop(exchange));
        }
        result
    }

    /// Feeds the body, until it is complete or there is a response.
    async fn feed(
        &mut self,
        exchange: &mut HttpExchange,
        length: Option<usize>,
    ) -> io::Result<Option<MessageError>> {
        let (mut total, mut has_ended) = (0, false);
        loop {
            let Self { server, table, wire, .. } = self;
            match wire.reader.next_part() {
                Ok(Some(Part::Body(piece))) => {
                    total += piece.len();
                    has_ended = length == Some(total);
                    let mut fed = 0;
                    let table = table.filter(|_| has_ended);
                    let mut feed = |cx: &mut Context<'_>| {
                        server.attend(table, || exchange.poll_feed(cx, piece, &mut fed, has_ended))
                    };
                    if !poll_fn(|cx| Poll::Ready(feed(cx).is_ready())).await {
                        let rest = piece.get(fed..).unwrap_or_default().to_vec();
                        self.feed_rest(exchange, rest, has_ended).await;
                    }
                    continue;
                }
                Ok(Some(Part::End)) => {
                    wire.end_body();
                    if !has_ended {
                        server.attend(*table, || exchange.end_body());
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

    /// Feeds a piece of the body that has to wait.
    async fn feed_rest(&mut self, exchange: &mut HttpExchange, piece: Vec<u8>, is_last: bool) {
        self.wire.return_input();
        let (mut fed, table) = (0, self.table.filter(|_| is_last));
        poll_fn(|cx| {
            self.server.attend(table, || exchange.poll_feed(cx, &piece, &mut fed, is_last))
        })
        .await;
    }
}

/// Moves the output that an exchange has.
fn output(
    site: &mut Site<'static, PendingResponse>,
    now: Instant,
    key: ExchangeKey,
    response: &mut ResponseWriter,
    out: &mut Vec<u8>,
) {
    if out.capacity() == 0 {
        *out = lend_output();
    }
    if response.is_new() {
        let Some(head) = site.response(key) else { return };
        let length = head.length().map(|length| length as u64);
        push_head(response, head.status(), head.fields(), length, out);
    }
    while out.len() < MOST && !response.is_done() {
        match site.body(key) {
            SiteBody::Pending => break,
            SiteBody::Piece(piece) => {
                push_piece(response, piece, out);
                let len = piece.len();
                site.wrote(now, key, len);
            }
            SiteBody::End => out.extend_from_slice(response.end()),
            SiteBody::Cut => response.cut(),
        }
    }
}

/// Writes a head. Without a length, the body is chunked.
fn push_head<'h>(
    response: &mut ResponseWriter,
    status: u16,
    fields: impl Iterator<Item = (&'static str, &'h str)> + Clone,
    length: Option<u64>,
    out: &mut Vec<u8>,
) {
    if response.push_head(status, fields, length, out).is_err() {
        // Cannot happen: values from clients are checked before they are written.
        response.cut();
    }
}

fn push_piece(response: &mut ResponseWriter, bytes: &[u8], out: &mut Vec<u8>) {
    response.piece(bytes).parts().iter().for_each(|part| out.extend_from_slice(part));
}

/// Returns the response to a request that is not HTTP, or whose body is not.
fn refusal(error: MessageError) -> Refusal<'static> {
    match error.status() {
        413 => Refusal::content_too_large(),
        status => Refusal::new(status, ErrorCode::InvalidRequest, error.reason()),
    }
}

/// Sends a response after which the connection is closed.
fn refuse(refusal: &Refusal<'_>, response: &mut ResponseWriter, out: &mut Vec<u8>) {
    let mut tx = TxBuffer::for_http_response(Vec::new(), 4096);
    response.close();
    if refusal.write(&mut tx).is_ok()
        && let Some(head) = tx.http_response()
    {
        let later = (head.status == 503).then_some(("retry-after", "5"));
        let length = Some(tx.pending().len() as u64);
        push_head(response, head.status, head.fields().chain(later), length, out);
        push_piece(response, tx.pending(), out);
    }
    out.extend_from_slice(response.end());
}

/// Number of bytes of output after which they are written before more are taken.
const MOST: usize = 64 << 10;
/// Maximum time in which a connection without a place takes its response.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
