//! A server over HTTP, without an allocator, on any socket that implements the traits of
//! [embedded-io-async](::embedded_io_async): a device on the network.
//!
//! ```no_run
//! # macro_rules! env { ($name:literal) => { $name } }
//! use core::convert::Infallible;
//!
//! use embedded_io_async::{Read, Write};
//! use mcp_sansio::http::server::HostPolicy;
//! use mcp_sansio::typed::{AsyncToolHandler, Tools};
//! use mcp_sansio::types::Implementation;
//! use mcp_sansio::{Catalog, NoOutput, ServerConfig, ToolContext, ToolResult};
//! use mcp_sansio_adapters::embedded_async::Clock;
//! use mcp_sansio_adapters::embedded_async::http::{Access, HttpOptions, HttpServer};
//!
//! static OPTIONS: HttpOptions =
//!     HttpOptions::new(&CONFIG).catalog(&CATALOG).access(ACCESS);
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("kettle", "0.1.0"), CATALOG.features());
//! static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
//! const ACCESS: Access = Access::new()
//!     .host_policy(HostPolicy::hosts(&["kettle.local"]).addresses())
//!     .tokens(&[env!("MCP_TOKEN")]); // chosen when it is built, not in the source
//!
//! #[derive(Tools)]
//! enum Call {
//!     /// Switches the kettle on or off.
//!     Switch { on: bool },
//! }
//!
//! struct Kettle;
//!
//! impl AsyncToolHandler for Kettle {
//!     type Tools = Call;
//!     type Output<'a> = NoOutput;
//!     async fn call<'a>(&'a self, call: Call, _: ToolContext<'a>) -> ToolResult<'a> {
//!         let Call::Switch { on } = call;
//!         Ok(if on { "It is on" } else { "It is off" }.into())
//!     }
//! }
//!
//! /// Three connections, of 1,536 bytes for the longest request and 512 for output. Built by
//! /// `HttpServer::new(&OPTIONS, Kettle)`.
//! type Server = HttpServer<'static, Kettle, 3, 1536, 512>;
//!
//! /// One of the three tasks, each with a socket.
//! async fn serve(server: &Server, clock: &impl Clock) -> Infallible {
//!     loop {
//!         let (reader, writer) = accept().await;
//!         let _ = server.serve(reader, writer, clock).await;
//!     }
//! }
//! # async fn accept() -> (embedded_io_async_none::None, embedded_io_async_none::None) {
//! #     core::future::pending().await
//! # }
//! # mod embedded_io_async_none {
//! #     pub struct None;
//! #     impl embedded_io_async::ErrorType for None { type Error = core::convert::Infallible; }
//! #     impl embedded_io_async::Read for None {
//! #         async fn read(&mut self, _: &mut [u8]) -> Result<usize, Self::Error> { Ok(0) }
//! #     }
//! #     impl embedded_io_async::Write for None {
//! #         async fn write(&mut self, _: &[u8]) -> Result<usize, Self::Error> { Ok(0) }
//! #         async fn flush(&mut self) -> Result<(), Self::Error> { Ok(()) }
//! #     }
//! # }
//! ```
//!
//! Handlers are those of a [line](super): the same tools are served on both. Their futures borrow
//! from the request, which stays where it was received. A client that closes its connection drops
//! the future of its request.
//!
//! # What is served
//!
//! Clients of 2026-07-28, and older ones without sessions: each request stands alone, so no state
//! is kept between them, and any number of clients may come and go. Progress and log messages come
//! before the response, as an event stream; `subscriptions/listen` is one that stays open. There is
//! no TLS, and pages of other origins get no permission to read responses (CORS).
//!
//! # Connections
//!
//! `N` connections are served at a time, one request after the other on each. One that comes
//! beyond gets 503. While all are in use, each is closed after its response, and one that waits for
//! its next request is closed after 0.2 s. All but one may be subscribed; a further
//! `subscriptions/listen` gets 503. What a client sends ahead while its call waits is discarded,
//! and the connection closed after the response, so that its end is noticed.
//!
//! | limit | default | then |
//! | --- | --- | --- |
//! | `RX`: the longest request with its head | | 413, or 431 for a head |
//! | [`request_timeout`](HttpOptions::request_timeout): for a request to come | 10 s | 408 |
//! | [`idle_timeout`](HttpOptions::idle_timeout): until the next request | 10 s | closed |
//! | [`write_timeout`](HttpOptions::write_timeout): until the client takes a piece of output | 10 s | [`ConnectionEnd::Unresponsive`] |
//! | time between comments in an event stream | 15 s | |
//!
//! # Memory
//!
//! Each connection takes `RX`, `TX` and about a kilobyte; the socket has buffers of its own. The
//! future of [`HttpServer::serve`] contains one future of the handler. Like that of a line it stays
//! on one executor.

pub use mcp_sansio_http1::Access;

use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::future::Future;
use core::pin::pin;
use core::task::{self, Poll, Waker};
use core::time::Duration;

use ::embassy_futures::select::{Either, select};
use ::embedded_io_async::{Read, Write};
use mcp_sansio::http::server::Refusal;
use mcp_sansio::{
    Catalog, Change, ErrorCode, Instant, Link, Messages, RequestHandle, SendError, Server,
    ServerConfig, ServerEvent, Tx,
};
use mcp_sansio_http1::{CONTINUE, Collected, Exchange, IncomingRequest, MAX_HEAD, RequestReader};

use super::wire::{AtEnd, Chunk, Wire, until};
use super::{Clock, ConnectionEnd, Error, Handler, Seat, handle};

/// The configuration of a server, its access rules and time limits: for a `static`, so that it is
/// in flash.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct HttpOptions<'c> {
    config: &'c ServerConfig<'c>,
    catalog: Option<Catalog<'c>>,
    access: Access<'c>,
    request_timeout: Duration,
    idle_timeout: Duration,
    write_timeout: Duration,
}

impl<'c> HttpOptions<'c> {
    /// Serves a server with this configuration to clients on the same machine: see
    /// [`access`](Self::access).
    pub const fn new(config: &'c ServerConfig<'c>) -> Self {
        Self {
            config,
            catalog: None,
            access: Access::new(),
            request_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
        }
    }

    /// Sets the catalog, which responds to list requests and unknown names. Without one, the
    /// handler gets every request.
    pub const fn catalog(self, catalog: &'c Catalog<'c>) -> Self {
        Self { catalog: Some(catalog.checked_when_read()), ..self }
    }

    /// Sets the path, the accepted hosts and the tokens. Default: `/mcp`, for clients on the same
    /// machine.
    pub const fn access(self, access: Access<'c>) -> Self {
        Self { access, ..self }
    }

    /// Sets in which time a request must come, from its first byte on. Default: 10 s.
    pub const fn request_timeout(self, timeout: Duration) -> Self {
        Self { request_timeout: timeout, ..self }
    }

    /// Sets for how long a connection may wait for its next request. Default: 10 s. It is 0.2 s
    /// while all connections are in use.
    pub const fn idle_timeout(self, timeout: Duration) -> Self {
        Self { idle_timeout: timeout, ..self }
    }

    /// Sets after which time without taking output a client is given up. Default: 10 s.
    pub const fn write_timeout(self, timeout: Duration) -> Self {
        Self { write_timeout: timeout, ..self }
    }
}

/// A server over HTTP. Parameters: `N` is the number of connections, `RX` the maximum length of a
/// request with its head and `TX` the size of the transmit buffer (at least 256), in bytes, `S` the
/// maximum number of URIs in a subscription.
///
/// The value is large: build it in a `StaticCell`. See the [module](self).
#[must_use]
pub struct HttpServer<
    'c,
    H: Handler,
    const N: usize,
    const RX: usize = 1536,
    const TX: usize = 512,
    const S: usize = 4,
> {
    options: &'c HttpOptions<'c>,
    handler: H,
    places: [Place<RX, TX, S>; N],
    /// The changes published last: the one with number `n` is at `n % MAX_CHANGES`.
    changes: RefCell<[Option<Change<'static>>; MAX_CHANGES]>,
    /// Number of changes so far.
    published: Cell<usize>,
}

/// The place of a connection.
struct Place<const RX: usize, const TX: usize, const S: usize> {
    wire: Wire<MAX_HEAD>,
    /// Borrowed while a request is handled.
    reader: RefCell<RequestReader<[u8; RX]>>,
    /// Borrowed for a call.
    exchange: RefCell<Exchange<S, [u8; TX]>>,
    /// The handler, if it waits for room.
    waiting: RefCell<Option<Waker>>,
    /// Begin of the request, or of the wait for it.
    began: Cell<Instant>,
    /// Time at which the last output was handed to the driver.
    wrote: Cell<Instant>,
    /// End of the time for what the client is to send. `None` while a request is handled.
    deadline: Cell<Option<Instant>>,
    is_listening: Cell<bool>,
    /// Number of changes that its subscription has got.
    seen: Cell<usize>,
    /// The change of which it has got a part.
    change: Cell<Option<Change<'static>>>,
    /// Whether that part is the beginning of a frame.
    has_begun: Cell<bool>,
    /// Whether it has missed a change.
    is_cut: Cell<bool>,
}

/// The next input of a connection.
enum Received {
    Request,
    Refused(Refusal<'static>),
    End,
}

impl<const RX: usize, const TX: usize, const S: usize> Place<RX, TX, S> {
    const fn new() -> Self {
        Self {
            wire: Wire::new(),
            reader: RefCell::new(RequestReader::new([0; RX])),
            exchange: RefCell::new(Exchange::new([0; TX])),
            waiting: RefCell::new(None),
            began: Cell::new(Instant::from_millis(0)),
            wrote: Cell::new(Instant::from_millis(0)),
            deadline: Cell::new(None),
            is_listening: Cell::new(false),
            seen: Cell::new(0),
            change: Cell::new(None),
            has_begun: Cell::new(false),
            is_cut: Cell::new(false),
        }
    }

    /// Resets everything for a new connection.
    fn reset(&self) {
        self.reader.borrow_mut().clear();
        self.end_exchange();
        self.waiting.take();
        self.wire.reset();
    }

    /// Forgets the request, whose response has been written.
    fn end_exchange(&self) {
        self.exchange.borrow_mut().clear();
        self.is_listening.set(false);
        self.change.set(None);
        self.has_begun.set(false);
        self.is_cut.set(false);
    }

    /// Returns whether the client has closed the connection, or has missed a change.
    fn is_over(&self) -> bool {
        self.wire.input_ended.get() || self.is_cut.get()
    }

    /// Hands the next output to the driver.
    fn pump(&self) {
        let Ok(mut output) = self.wire.output.try_borrow_mut() else { return };
        if !output.is_empty() {
            return;
        }
        let (now, exchange) = (self.wire.now.get(), &mut *self.exchange.borrow_mut());
        let mut written = exchange.write(&mut output.bytes);
        if written == 0 && now >= self.wrote.get().saturating_add(COMMENT_INTERVAL) {
            written = exchange.write_comment(&mut output.bytes);
        }
        self.wire.has_more.set(!exchange.tx().pending().is_empty());
        if written > 0 {
            output.filled(written);
            self.is_written(now);
        }
    }

    fn is_written(&self, now: Instant) {
        self.wrote.set(now);
        self.wire.is_flushed.set(false);
        self.wire.touch();
    }
}

impl<'c, H: Handler, const N: usize, const RX: usize, const TX: usize, const S: usize>
    HttpServer<'c, H, N, RX, TX, S>
{
    /// Creates a server with these options and this application.
    // Inlined, so that it is not moved once more: it is built on the stack of the caller.
    #[inline(always)]
    pub const fn new(options: &'c HttpOptions<'c>, handler: H) -> Self {
        Self {
            options,
            handler,
            places: [const { Place::new() }; N],
            changes: RefCell::new([None; MAX_CHANGES]),
            published: Cell::new(0),
        }
    }

    /// Returns the application.
    pub const fn handler(&self) -> &H {
        &self.handler
    }

    /// Notifies all subscribers of a change as soon as there is room. A change that none of them
    /// has got yet is not queued twice. Returns `false` and does nothing if eight changes are
    /// queued.
    pub fn publish(&self, change: Change<'static>) -> bool {
        let published = self.published.get();
        let lags = || self.listening().map(|place| published.wrapping_sub(place.seen.get()));
        let (least, most) = (lags().min().unwrap_or(0), lags().max().unwrap_or(0));
        let mut changes = self.changes.borrow_mut();
        let mut unseen = (1..=least).map(|by| published.wrapping_sub(by) % MAX_CHANGES);
        if unseen.any(|at| changes.get(at) == Some(&Some(change))) {
            return true;
        }
        if most >= MAX_CHANGES {
            return false;
        }
        if let Some(place) = changes.get_mut(published % MAX_CHANGES) {
            *place = Some(change);
        }
        self.published.set(published.wrapping_add(1));
        self.listening().for_each(|place| place.wire.wake());
        true
    }

    fn listening(&self) -> impl Iterator<Item = &Place<RX, TX, S>> {
        self.places.iter().filter(|place| place.is_listening.get())
    }

    fn is_full(&self) -> bool {
        self.places.iter().all(|place| place.wire.is_in_use.get())
    }

    /// Serves a connection until it ends. The socket is to be closed then.
    ///
    /// Dropping the future drops the running request.
    ///
    /// # Errors
    /// Errors of reading and writing. [`Error::InUse`] if all connections are in use: the client
    /// gets 503.
    pub async fn serve<R: Read, W: Write>(
        &self,
        reader: R,
        mut writer: W,
        clock: &impl Clock,
    ) -> Result<ConnectionEnd, Error<R::Error, W::Error>> {
        let free = self.places.iter().find(|place| !place.wire.is_in_use.replace(true));
        let Some(place) = free else {
            let mut busy = Chunk::<{ BUSY.len() }>::new();
            busy.put(BUSY);
            busy.write_to(&mut writer).await?;
            writer.flush().await.map_err(Error::Write)?;
            return Err(Error::InUse);
        };
        if self.is_full() {
            // Those that wait for a request wait less now.
            self.places.iter().for_each(|place| place.wire.wake());
        }
        let _serving = AtEnd(|| place.reset());
        place.began.set(clock.now());
        // Pinned one by one: they are large, and a future that contains them all would be moved.
        let mut read = pin!(place.wire.read(reader, |_| false, || {}));
        let mut write = pin!(place.wire.write(writer));
        let mut sleep = pin!(place.wire.sleep(clock));
        let mut work = pin!(self.work(place));
        let round = |cx: &mut task::Context<'_>| {
            if let Poll::Ready(Err(error)) = read.as_mut().poll(cx) {
                return Some(Err(Error::Read(error)));
            }
            if let Poll::Ready(Err(error)) = write.as_mut().poll(cx) {
                return Some(Err(error));
            }
            self.step(place);
            if let Poll::Ready(end) = work.as_mut().poll(cx) {
                return Some(Ok(end));
            }
            if self.is_overdue(place) {
                return Some(Ok(ConnectionEnd::Unresponsive));
            }
            let _: Poll<Infallible> = sleep.as_mut().poll(cx);
            None
        };
        let wake = || place.waiting.borrow().iter().for_each(Waker::wake_by_ref);
        place.wire.drive(clock, Ok(ConnectionEnd::Closed), wake, round).await
    }

    /// Does what no future waits for: timeouts of requests, changes, output.
    fn step(&self, place: &Place<RX, TX, S>) {
        place.pump();
        let now = place.wire.now.get();
        let event = {
            let exchange = &mut *place.exchange.borrow_mut();
            let (mut server, tx) = exchange.parts(self.options.config);
            let is_due = server.poll_timeout().is_some_and(|due| due <= now);
            if is_due { server.handle_timeout(now, tx) } else { Ok(None) }
        };
        if let Ok(Some(event)) = event {
            place.wire.touch();
            self.handler.on_event(&event);
        }
        if place.is_listening.get() {
            self.publish_next(place);
        }
    }

    /// Notifies a subscriber of the change that waits longest, if there is room.
    fn publish_next(&self, place: &Place<RX, TX, S>) {
        let seen = place.seen.get();
        let queued = || {
            let changes = self.changes.borrow();
            changes.get(seen % MAX_CHANGES).copied()?.filter(|_| seen != self.published.get())
        };
        let Some(mut change) = place.change.get().or_else(queued) else { return };
        let (mut is_more, mut has_begun) = (false, place.has_begun.get());
        let sent = self.attempt(place, &mut has_begun, &mut |server, tx| {
            is_more = server.publish(&mut change, tx)?.is_more();
            Ok(())
        });
        place.has_begun.set(has_begun);
        let is_left = sent == Err(SendError::Full) || is_more;
        place.change.set(is_left.then_some(change));
        if !is_left {
            place.seen.set(seen.wrapping_add(1));
            place.wire.touch();
        }
    }

    /// Sets the time of the next timeout. Returns whether the client takes no output.
    fn is_overdue(&self, place: &Place<RX, TX, S>) -> bool {
        let now = place.wire.now.get();
        let is_writing = !place.wire.is_flushed.get();
        let output = if is_writing {
            Some(self.options.write_timeout)
        } else {
            place.exchange.borrow().is_streaming().then_some(COMMENT_INTERVAL)
        };
        let output = output.map(|limit| place.wrote.get().saturating_add(limit));
        let request = place.exchange.borrow_mut().parts(self.options.config).0.poll_timeout();
        let due = [output, request, place.deadline.get()].into_iter().flatten();
        // One that is due already waits for room.
        place.wire.due.set(due.filter(|due| *due > now).min());
        is_writing && output.is_some_and(|due| due <= now)
    }

    /// Serves requests, one after the other.
    async fn work(&self, place: &Place<RX, TX, S>) -> ConnectionEnd {
        loop {
            let received = until(|| self.receive(place)).await;
            place.deadline.set(None);
            match received {
                Received::Request => self.respond_whole(place).await,
                Received::Refused(refusal) => {
                    let is_head = place.reader.borrow().is_head();
                    place.exchange.borrow_mut().reject(&refusal, is_head);
                }
                Received::End => return ConnectionEnd::Closed,
            }
            if place.is_over() && !place.exchange.borrow().is_complete() {
                return ConnectionEnd::Closed;
            }
            let is_written = || place.exchange.borrow().is_done() && place.wire.is_flushed.get();
            place.wire.touch();
            until(|| is_written().then_some(())).await;
            if !place.exchange.borrow().keeps_alive() || !place.reader.borrow_mut().next_request() {
                return ConnectionEnd::Closed;
            }
            place.end_exchange();
            place.began.set(place.wire.now.get());
        }
    }

    /// Reads the next request.
    fn receive(&self, place: &Place<RX, TX, S>) -> Option<Received> {
        let (now, wire) = (place.wire.now.get(), &place.wire);
        let reader = &mut *place.reader.borrow_mut();
        loop {
            match reader.collect() {
                Ok(Collected::Part) => {}
                Ok(Collected::AwaitsContinue) => {
                    if let Ok(mut output) = wire.output.try_borrow_mut() {
                        output.put(CONTINUE);
                        place.is_written(now);
                    }
                }
                Ok(Collected::Whole) => return Some(Received::Request),
                Err(error) => return Some(Received::Refused(error.into())),
            }
            let is_first = reader.is_between_requests();
            let taken =
                wire.input.try_borrow_mut().map_or(0, |mut input| input.take(reader.spare()));
            if taken == 0 {
                break;
            }
            reader.commit(taken);
            wire.touch();
            if is_first {
                place.began.set(now);
            }
        }
        if wire.input_ended.get() {
            return Some(Received::End);
        }
        let is_between = reader.is_between_requests();
        let limit = match is_between {
            true if self.is_full() => self.options.idle_timeout.min(SHORT_WAIT),
            true => self.options.idle_timeout,
            false => self.options.request_timeout,
        };
        let deadline = place.began.get().saturating_add(limit);
        place.deadline.set(Some(deadline));
        let late = "The request is not complete in time";
        (deadline <= now).then(|| match is_between {
            true => Received::End,
            false => Received::Refused(Refusal::new(408, ErrorCode::InvalidRequest, late)),
        })
    }

    #[expect(
        clippy::await_holding_refcell_ref,
        reason = "nothing is read while a request is handled"
    )]
    async fn respond_whole(&self, place: &Place<RX, TX, S>) {
        let reader = place.reader.borrow();
        let Some((head, body)) = reader.whole() else { return };
        let begun = self.begin(place, &head, body, !reader.keeps_alive());
        let Some(messages) = begun else { return };
        let is_over = until(|| {
            // Input that is sent ahead would hide the end, unless output waits, whose time is
            // limited. The client sends it again (RFC 9112, 9.3.2).
            if place.wire.is_flushed.get() && place.wire.has_input() {
                place.wire.input.borrow_mut().filled(0);
                place.wire.poll_again();
                place.exchange.borrow_mut().close();
            }
            place.is_over().then_some(())
        });
        if let Either::Second(()) = select(is_over, self.handle_all(place, messages)).await {
            place.exchange.borrow_mut().complete();
        }
    }

    /// Begins the response.
    fn begin<'f>(
        &self,
        place: &Place<RX, TX, S>,
        request: &'f IncomingRequest<'f>,
        body: &'f [u8],
        closes: bool,
    ) -> Option<Messages<'f>> {
        let exchange = &mut *place.exchange.borrow_mut();
        let begun = exchange.begin(self.options.config, &self.options.access, request, body)?;
        if closes || self.is_full() {
            exchange.close();
        }
        // Its server has compared this field with the method.
        let method = request.as_head().fields.get("mcp-method");
        let listens = method == Some("subscriptions/listen");
        if listens && self.listening().count() + 1 >= N.max(2) {
            exchange.refuse(&Refusal::service_unavailable());
            return None;
        }
        Some(begun)
    }

    /// Handles the messages of a body, and waits for the end of a subscription.
    async fn handle_all(&self, place: &Place<RX, TX, S>, mut messages: Messages<'_>) {
        loop {
            let event = until(|| {
                let mut exchange = place.exchange.borrow_mut();
                let event =
                    exchange.next_event(self.options.config, place.wire.now.get(), &mut messages);
                let waits = event.as_ref().is_err_and(|error| *error == SendError::Full);
                (!waits).then_some(event)
            });
            // An error means that nothing can be written, not even in parts.
            let Ok(Some(event)) = event.await else { break };
            place.wire.touch();
            self.handler.on_event(&event);
            match event {
                ServerEvent::Request(request) => {
                    let seat = Chair { server: self, place };
                    handle(&self.handler, self.options.catalog.as_ref(), &request, &seat).await;
                }
                ServerEvent::Listening { .. } => {
                    place.seen.set(self.published.get());
                    place.is_listening.set(true);
                }
                _ => {}
            }
        }
        let is_open =
            || place.exchange.borrow_mut().parts(self.options.config).0.open_requests() > 0;
        until(|| (!is_open()).then_some(())).await;
    }

    /// Makes one attempt of a call.
    fn attempt(
        &self,
        place: &Place<RX, TX, S>,
        has_begun: &mut bool,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        // It is borrowed if an `Encode` of the program tries to send.
        let Ok(mut exchange) = place.exchange.try_borrow_mut() else { return Err(SendError::Full) };
        let (mut server, tx) = exchange.parts(self.options.config);
        place.wire.attempt((&mut server, tx), has_begun, call)
    }
}

mcp_sansio::opaque_debug!(
    [H: Handler, const N: usize, const RX: usize, const TX: usize, const S: usize]
    HttpServer<'_, H, N, RX, TX, S> { options }
);

/// Where the request of a connection is handled.
struct Chair<'s, 'c, H: Handler, const N: usize, const RX: usize, const TX: usize, const S: usize> {
    server: &'s HttpServer<'c, H, N, RX, TX, S>,
    place: &'s Place<RX, TX, S>,
}

impl<H: Handler, const N: usize, const RX: usize, const TX: usize, const S: usize> Link
    for Chair<'_, '_, H, N, RX, TX, S>
{
    fn now(&self) -> Instant {
        self.place.wire.now.get()
    }

    fn poll_send(
        &self,
        cx: &mut task::Context<'_>,
        _: RequestHandle,
        place: &mut Option<u64>,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Poll<Result<(), SendError>> {
        let sent = self.server.attempt(self.place, &mut false, call);
        if sent != Err(SendError::Full) {
            return Poll::Ready(sent);
        }
        let other = self.place.waiting.replace(Some(cx.waker().clone()));
        // Another future of the same handler waits, too.
        if let Some(other) = other.filter(|other| !other.will_wake(cx.waker())) {
            other.wake();
        }
        *place = Some(0);
        Poll::Pending
    }

    fn leave(&self, _: u64) {
        self.place.waiting.borrow_mut().take().into_iter().for_each(Waker::wake);
    }

    /// A change of a resource borrows its URI, so it cannot wait: a subscriber without room is
    /// disconnected, and looks anew when it has subscribed again.
    fn publish(&self, change: &Change<'_>) -> bool {
        let lists = [Change::tools(), Change::prompts(), Change::resources()];
        match lists.into_iter().find(|list| list == change) {
            Some(list) if self.server.publish(list) => {}
            _ => self.server.listening().for_each(|place| {
                let mut change = *change;
                let mut is_more = true;
                while is_more && !place.is_cut.get() {
                    let sent = self.server.attempt(place, &mut false, &mut |server, tx| {
                        is_more = server.publish(&mut change, tx)?.is_more();
                        Ok(())
                    });
                    place.is_cut.set(sent.is_err());
                }
                place.wire.wake();
            }),
        }
        true
    }
}

impl<H: Handler, const N: usize, const RX: usize, const TX: usize, const S: usize> Seat
    for Chair<'_, '_, H, N, RX, TX, S>
{
    fn is_open(&self, request: RequestHandle) -> bool {
        let mut exchange = self.place.exchange.borrow_mut();
        exchange.parts(self.server.options.config).0.is_request_open(request)
    }

    async fn respond(
        &self,
        request: RequestHandle,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Result<(), SendError> {
        let mut has_begun = false;
        until(|| {
            if !has_begun && !self.is_open(request) {
                return Some(Ok(()));
            }
            let sent = self.server.attempt(self.place, &mut has_begun, call);
            (sent != Err(SendError::Full)).then_some(sent)
        })
        .await
    }
}

/// The response to a connection for which there is no place.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
/// Time that a connection waits for its next request while all are in use: a client that sends one
/// then finds it closed, so it must be longer than the way of a response and of that request.
const SHORT_WAIT: Duration = Duration::from_millis(200);
/// Time without output after which an event stream gets a comment.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
/// Maximum number of queued changes: a power of two, so that their numbers may wrap around.
const MAX_CHANGES: usize = 8;
