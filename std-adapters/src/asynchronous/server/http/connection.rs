//! One HTTP connection: its requests, one after the other.

use std::future::{Future, poll_fn};
use std::io;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::http::codec::HttpError;
use mcp_sansio::http::server::{Rejection, Route};
use mcp_sansio::http::sse::ControlEvent;
use mcp_sansio::http::{RequestHead, SingleValue};
use mcp_sansio::{ErrorCode, ExchangeId, Frame, Json, Messages, OwnedJson, Revision, TxBuffer};

use super::super::app::App;
use super::super::broadcast::Receiver;
use super::super::context::{BodyReservation, Context};
use super::super::inner::ConnectionInner;
use super::super::reply::IntoReply;
use super::auth::AuthorizationError;
use super::bodies::BodyShare;
use super::endpoint_state::{EndpointState, ShutdownSignal, new_id};
use super::head::Head;
use super::legacy_sse::{LegacyStream, endpoint};
use super::sender::Sender;
use super::server_instance::{ServerInstance, Taken};
use super::session::Session;
use super::wire::{Next, Wire};
use super::{post, stateless, stream};
use crate::asynchronous::timer::later;

/// Serves a connection until it ends.
pub(super) async fn serve<A, H, T, F>(shared: &EndpointState<A, F>, socket: T) -> io::Result<()>
where
    A: Deref<Target = App<H>>,
    H: Fn(Context) -> F,
    T: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output: IntoReply>,
{
    let wire = Wire::new(socket, shared.bodies.max_body());
    let turns = Arc::clone(&wire.turns);
    let mut served = pin!(serve_requests(shared, wire));
    poll_fn(|cx| {
        turns.begin();
        served.as_mut().poll(cx)
    })
    .await
}

async fn serve_requests<A, H, T, F>(
    shared: &EndpointState<A, F>,
    mut wire: Wire<T>,
) -> io::Result<()>
where
    A: Deref<Target = App<H>>,
    H: Fn(Context) -> F,
    T: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output: IntoReply>,
{
    let broadcaster = shared.app.broadcaster();
    let shutdown = Arc::new(ShutdownSignal::default());
    let _registration = broadcaster.register({
        let shutdown: Arc<dyn Receiver> = Arc::<ShutdownSignal>::clone(&shutdown);
        Arc::downgrade(&shutdown)
    });
    let read_timeout = shared.options.read_timeout;
    loop {
        let stop = |cx: &mut std::task::Context<'_>| {
            shutdown.set(cx.waker());
            broadcaster.is_shutting_down()
        };
        let head = match wire.head(read_timeout, stop).await? {
            Next::Got(head) => head,
            Next::End | Next::Busy => return wire.close(read_timeout).await,
            Next::HttpError(error) => {
                let mut sender = Sender::new(false, false, Vec::new());
                sender.answers_head(wire.reader.is_head());
                refuse(&rejection_of(error), &mut sender, &mut wire.out);
                return wire.close(read_timeout).await;
            }
        };
        let keeps_alive = wire.reader.keeps_alive() && !broadcaster.is_shutting_down();
        let mut sender = Sender::new(head.is_http_1_0, keeps_alive, Vec::new());
        sender.answers_head(wire.reader.is_head());
        Exchange { shared, wire: &mut wire, head: &head, sender: &mut sender }.respond().await?;
        wire.flush(read_timeout).await?;
        if !sender.keeps_alive() || !wire.is_whole() || !wire.reader.next_request() {
            return wire.close(read_timeout).await;
        }
    }
}

/// One request and its response.
struct Exchange<'x, A, T, F> {
    shared: &'x EndpointState<A, F>,
    wire: &'x mut Wire<T>,
    head: &'x Head,
    sender: &'x mut Sender,
}

impl<A, H, T, F> Exchange<'_, A, T, F>
where
    A: Deref<Target = App<H>>,
    H: Fn(Context) -> F,
    T: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output: IntoReply>,
{
    async fn respond(self) -> io::Result<()> {
        let head = self.head.as_head();
        let options = &self.shared.options;
        if let Err(refused) = options.host_policy.check(&head) {
            return self.refuse(&refused);
        }
        if let SingleValue::Value(origin) = head.fields.single("origin") {
            // The origin was checked.
            self.sender.add("access-control-allow-origin", origin.to_owned());
            self.sender
                .add("access-control-expose-headers", "mcp-session-id, www-authenticate".into());
            self.sender.add("vary", "origin".into());
        }
        let path = head.path();
        if let Some(resource) = options
            .resource
            .as_ref()
            .filter(|resource| resource.is_at(path) && matches!(head.method, "GET" | "HEAD"))
        {
            self.wire.skip_body();
            let json =
                OwnedJson::new(&Json(resource), Revision::LATEST).map_err(io::Error::other)?;
            self.sender.json(200, json.as_raw().as_str().as_bytes(), &mut self.wire.out);
            return Ok(());
        }
        if options.sse_path.as_deref() == Some(path) {
            return self.answer_old(&head).await;
        }
        if path != options.path {
            return self.refuse(&Rejection::new(404, ErrorCode::InvalidRequest, "Not found"));
        }
        if head.method == "OPTIONS" {
            // A preflight: browsers send it without credentials.
            return self.preflight(&head);
        }
        // Checked before anything else, so that a client without a token always gets 401.
        let principal = match options.check(&head) {
            Ok(principal) => principal.map(Arc::<str>::from),
            Err(denied) => return self.deny(&denied),
        };
        if let Err(refused) = self.shared.endpoint.check_head(&head) {
            return self.refuse(&refused);
        }
        let mut reserve_params = BodyShare::new(&self.shared.bodies);
        let body =
            match self.wire.body(self.head, options.read_timeout, &mut reserve_params).await? {
                Next::Got(body) => body,
                Next::End => return Err(io::ErrorKind::UnexpectedEof.into()),
                Next::HttpError(error) => return self.refuse(&rejection_of(error)),
                Next::Busy => return self.refuse(&Rejection::service_unavailable()),
            };
        let held = &reserve_params.into_held();
        let messages = Messages::over_http(Frame::Complete(&body), &head, ExchangeId::new(1));
        match self.shared.endpoint.route(&head, &messages) {
            Route::Stateless => self.alone(messages, held, principal).await,
            Route::StatelessRevision(revision) => {
                self.alone_as(revision, messages, held, principal).await
            }
            Route::NewSession => self.open_session(&head, &body, held, principal).await,
            Route::Session(id) => match self.shared.sessions.find(id, principal.as_deref()) {
                Some(session) => self.post(&session, &head, &body, held).await,
                None => self.refuse(&Rejection::session_not_found()),
            },
            Route::Stream { session, last_event_id } => {
                match self.shared.sessions.find(session, principal.as_deref()) {
                    Some(session) => {
                        let broadcaster = self.shared.app.broadcaster();
                        stream::serve(
                            broadcaster,
                            options,
                            self.wire,
                            &session,
                            last_event_id,
                            self.sender,
                        )
                        .await
                    }
                    None => self.refuse(&Rejection::session_not_found()),
                }
            }
            Route::DeleteSession(id) => match self.shared.sessions.find(id, principal.as_deref()) {
                Some(session) => {
                    self.shared.sessions.forget(session.id);
                    session.end();
                    self.sender.empty(204, &mut self.wire.out);
                    Ok(())
                }
                None => self.refuse(&Rejection::session_not_found()),
            },
            Route::Rejected(refused) => self.refuse(&refused),
            _ => self.preflight(&head),
        }
    }

    /// Serves a request without a session. Its server instance sees only this request, or this
    /// batch in older revisions.
    async fn alone(
        self,
        messages: Messages<'_>,
        held: &Option<BodyReservation>,
        principal: Option<Arc<str>>,
    ) -> io::Result<()> {
        let instance = self.instance(principal);
        self.alone_on(&instance, messages, held).await
    }

    async fn alone_as(
        self,
        revision: Revision,
        messages: Messages<'_>,
        held: &Option<BodyReservation>,
        principal: Option<Arc<str>>,
    ) -> io::Result<()> {
        let instance = self.instance(principal);
        instance.inner.lock().server().start_legacy(revision);
        self.alone_on(&instance, messages, held).await
    }

    fn instance(&self, principal: Option<Arc<str>>) -> ServerInstance<F> {
        let app = &*self.shared.app;
        ServerInstance::new(
            app,
            TxBuffer::for_http_response(Vec::new(), app.max_pending),
            principal,
        )
    }

    async fn alone_on(
        self,
        instance: &ServerInstance<F>,
        messages: Messages<'_>,
        held: &Option<BodyReservation>,
    ) -> io::Result<()> {
        stateless::serve(
            &*self.shared.app,
            &self.shared.options,
            self.wire,
            instance,
            Some(messages),
            held.as_ref(),
            self.sender,
        )
        .await
    }

    async fn open_session(
        self,
        head: &RequestHead<'_>,
        body: &[u8],
        held: &Option<BodyReservation>,
        principal: Option<Arc<str>>,
    ) -> io::Result<()> {
        let shared = self.shared;
        if !shared.sessions.has_room(&principal, &shared.options) {
            return self.refuse(&Rejection::service_unavailable());
        }
        let session = Arc::new(Session::new(&*shared.app, &shared.options, new_id()?, principal));
        let opened = |sender: &mut Sender| {
            if session.instance.inner.lock().server().legacy_revision().is_none() {
                return;
            }
            session.instance.join();
            sender.add("mcp-session-id", session.id.as_str().to_owned());
            shared.sessions.open(&session, &shared.options);
        };
        post::serve(
            &*shared.app,
            &shared.options,
            self.wire,
            &session,
            head,
            body,
            held.as_ref(),
            self.sender,
            opened,
        )
        .await
    }

    async fn post(
        self,
        session: &Session<F>,
        head: &RequestHead<'_>,
        body: &[u8],
        held: &Option<BodyReservation>,
    ) -> io::Result<()> {
        let shared = self.shared;
        post::serve(
            &*shared.app,
            &shared.options,
            self.wire,
            session,
            head,
            body,
            held.as_ref(),
            self.sender,
            |_| {},
        )
        .await
    }

    /// Serves HTTP+SSE: GET opens the stream, POST sends messages.
    async fn answer_old(self, head: &RequestHead<'_>) -> io::Result<()> {
        let (shared, options) = (self.shared, &self.shared.options);
        if head.method == "OPTIONS" {
            return self.preflight(head);
        }
        let principal = match options.check(head) {
            Ok(principal) => principal.map(Arc::<str>::from),
            Err(denied) => return self.deny(&denied),
        };
        match head.method {
            "GET" if shared.legacy.is_full(&principal, options) => {
                self.refuse(&Rejection::service_unavailable())
            }
            "GET" => {
                let id = new_id()?;
                let tx = TxBuffer::for_http_response(Vec::new(), shared.app.max_pending)
                    .event_stream_only();
                let instance = Arc::new(ServerInstance::new(&*shared.app, tx, principal.clone()));
                let _open = shared
                    .legacy
                    .open(id, LegacyStream { instance: Arc::clone(&instance), principal });
                self.sender.begin_events(&mut self.wire.out);
                let uri = endpoint(head.path(), id);
                let mut event = vec![0; uri.len() + 64];
                let len = ControlEvent::Endpoint(&uri).write(&mut event).unwrap_or(0);
                self.sender.chunk(event.get(..len).unwrap_or_default(), &mut self.wire.out);
                stateless::serve(
                    &*shared.app,
                    options,
                    self.wire,
                    &instance,
                    None,
                    None,
                    self.sender,
                )
                .await
            }
            "POST" => {
                let mut reserve_params = BodyShare::new(&shared.bodies);
                let body = match self
                    .wire
                    .body(self.head, options.read_timeout, &mut reserve_params)
                    .await?
                {
                    Next::Got(body) => body,
                    Next::End => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Next::HttpError(error) => return self.refuse(&rejection_of(error)),
                    Next::Busy => return self.refuse(&Rejection::service_unavailable()),
                };
                let held = reserve_params.into_held();
                let Some(instance) = shared.legacy.find(head.query(), principal.as_deref()) else {
                    return self.refuse(&Rejection::session_not_found());
                };
                let mut messages = Messages::new(Frame::Complete(&body));
                let mut taken = Taken::default();
                let mut waiting = WaitForRoom::new(&instance.inner);
                let due = later(Instant::now(), options.read_timeout);
                // There is room once the stream has been written; if its client does not read, this
                // request times out.
                let took = poll_fn(|cx| {
                    instance.take_in(
                        &shared.app,
                        ExchangeId::SESSION,
                        &mut messages,
                        held.as_ref(),
                        &mut taken,
                    );
                    if taken.is_all {
                        return Poll::Ready(Ok::<_, io::Error>(true));
                    }
                    instance.inner.wait(&mut waiting.place, cx.waker());
                    instance.inner.wait_for_capacity(cx.waker());
                    if self.wire.poll_gone(cx) {
                        return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                    }
                    if self.wire.timer.poll(cx, due) {
                        Poll::Ready(Ok(false))
                    } else {
                        Poll::Pending
                    }
                });
                if !took.await? {
                    return self.refuse(&Rejection::service_unavailable());
                }
                self.sender.empty(202, &mut self.wire.out);
                Ok(())
            }
            _ => self.refuse(&Rejection::new(405, ErrorCode::InvalidRequest, "Method not allowed")),
        }
    }

    fn preflight(mut self, head: &RequestHead<'_>) -> io::Result<()> {
        let allow = self.shared.endpoint.allowed_methods();
        self.sender.add("allow", allow.into());
        if head.fields.nth("origin", 0).is_some() {
            self.sender.add("access-control-allow-methods", allow.into());
            if let SingleValue::Value(fields) = head.fields.single("access-control-request-headers")
            {
                self.sender.add("access-control-allow-headers", fields.to_owned());
            }
            self.sender.add("access-control-max-age", "86400".into());
        }
        self.leave_body();
        self.sender.empty(204, &mut self.wire.out);
        Ok(())
    }

    fn deny(self, denied: &AuthorizationError) -> io::Result<()> {
        let options = &self.shared.options;
        self.sender.add("www-authenticate", denied.challenge(options.resource.as_ref()));
        let message =
            if denied.status == 403 { "Insufficient scope" } else { "Authentication required" };
        self.refuse(&Rejection::new(denied.status, ErrorCode::InvalidRequest, message))
    }

    fn refuse(mut self, refused: &Rejection<'_>) -> io::Result<()> {
        if refused.status() == 405 {
            self.sender.add("allow", self.shared.endpoint.allowed_methods().into());
        }
        if refused.status() == 503 {
            self.sender.add("retry-after", RETRY_AFTER.into());
        }
        self.leave_body();
        refuse(refused, self.sender, &mut self.wire.out);
        Ok(())
    }

    /// Closes the connection after the response, unless an unread body has been received
    /// completely.
    fn leave_body(&mut self) {
        if !self.wire.skip_body() {
            self.sender.close();
        }
    }
}

fn refuse(refused: &Rejection<'_>, sender: &mut Sender, out: &mut Vec<u8>) {
    let mut tx = TxBuffer::for_http_response(Vec::new(), 4096);
    if refused.write(&mut tx).is_ok() {
        sender.take(&mut tx, true, out, |_| {});
    }
}

fn rejection_of(error: HttpError) -> Rejection<'static> {
    match error.status() {
        413 => Rejection::content_too_large(),
        status => Rejection::new(status, ErrorCode::InvalidRequest, error.reason()),
    }
}

/// `Retry-After` of requests that were rejected for lack of room, in seconds.
const RETRY_AFTER: &str = "5";

/// The place of a future that waits for room, which it gives up when it is dropped.
struct WaitForRoom<'a> {
    connection: &'a ConnectionInner,
    place: Option<u64>,
}

impl<'a> WaitForRoom<'a> {
    const fn new(connection: &'a ConnectionInner) -> Self {
        Self { connection, place: None }
    }
}

impl Drop for WaitForRoom<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.connection.leave(place);
        }
    }
}
