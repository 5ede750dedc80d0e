//! `ToolContext`: everything that the handler of a tool does beside returning its result.

#[cfg(feature = "alloc")]
use alloc::borrow::ToOwned as _;
#[cfg(feature = "alloc")]
use alloc::format;
#[cfg(feature = "alloc")]
use alloc::string::String;
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::cell::RefCell;
#[cfg(any(feature = "alloc", feature = "tasks"))]
use core::fmt;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll, Waker};

#[cfg(feature = "alloc")]
use super::OrToolError as _;
use super::ToolError;
use crate::buffers::rx::Spare;
use crate::buffers::tx::Tx;
use crate::connection::{Outcome, Turn};
use crate::encode::Encode;
#[cfg(feature = "alloc")]
use crate::encode::OwnedJson;
#[cfg(all(feature = "alloc", feature = "http"))]
use crate::http::{Principal, RequestHead};
#[cfg(feature = "alloc")]
use crate::json::RawJson;
use crate::progress::Progress;
#[cfg(feature = "alloc")]
use crate::protocol::ClientFeatures;
#[cfg(feature = "alloc")]
use crate::protocol::error::InvalidPayload;
use crate::protocol::error::{SendError, SendResult};
#[cfg(feature = "alloc")]
use crate::rpc::RpcError;
use crate::rpc::inflight::{Delivery, RequestHandle};
use crate::server::{Change, LogMessage, Request, Server};
use crate::time::Instant;
#[cfg(feature = "alloc")]
use crate::typed::{InputObject, OutputObject};
#[cfg(feature = "alloc")]
use crate::types::InputRequest;
#[cfg(feature = "tasks")]
use crate::types::task::TaskId;
#[cfg(feature = "alloc")]
use serde::Deserialize;

/// A call of a tool and the connection that it came on: the same type in every adapter, which the
/// parameter is only for themselves. Copies refer to the same call.
///
/// The methods are futures, which complete at once where writing blocks. Dropping one sends its
/// message whole or not at all, except [`publish`](Self::publish): a notification that is longer
/// than the output buffer may be broken off.
pub struct ToolContext<'a, L: ?Sized = dyn Link + 'a> {
    request: &'a Request<'a>,
    link: &'a L,
    #[cfg(feature = "alloc")]
    inputs: &'a dyn InputLink,
}

impl<L: ?Sized> Clone for ToolContext<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: ?Sized> Copy for ToolContext<'_, L> {}

/// The connection of a [`ToolContext`], implemented by adapters. It has one way to send, so that a
/// program links only what its tools do send.
pub trait Link {
    /// Returns the time since an arbitrary zero.
    fn now(&self) -> Instant;

    /// Makes a call of the server that writes a whole frame or none, or one of
    /// [`ToolContext::publish`], which may write it in parts. If there is no room
    /// ([`SendError::Full`]), it is made again when there is: at once if writing blocks, otherwise
    /// after waking the task. `place` identifies the caller meanwhile; it begins as `None`.
    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        request: RequestHandle,
        place: &mut Option<u64>,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> SendResult,
    ) -> Poll<SendResult>;

    /// Called when a caller that has a place stops waiting.
    fn leave(&self, place: u64) {
        let _ = place;
    }

    /// Notifies the subscribers on all connections of the program. Returns `false` where there is
    /// only this one.
    fn publish(&self, change: &Change<'_>) -> bool {
        let _ = change;
        false
    }

    /// Closes the connection on which the client waits, if it can ask for the response later.
    fn release_connection(&self, request: RequestHandle) -> bool {
        let _ = request;
        false
    }

    /// Returns the task that the call has become, if it has.
    #[cfg(feature = "tasks")]
    fn task(&self) -> Option<TaskId> {
        None
    }

    /// Sets the status message of the task.
    #[cfg(feature = "tasks")]
    fn set_status(&self, message: &dyn fmt::Display) {
        let _ = message;
    }

    /// Sets the progress of the task, and its status message to it. Returns whether a notification
    /// is to be sent, too (2025-11-25).
    #[cfg(feature = "tasks")]
    fn set_progress(&self, progress: &Progress<'_>) -> bool {
        let _ = progress;
        false
    }

    /// Returns who made the request.
    #[cfg(all(feature = "alloc", feature = "http"))]
    fn principal(&self) -> Option<&Principal> {
        None
    }

    /// Returns the head of the HTTP request.
    #[cfg(all(feature = "alloc", feature = "http"))]
    fn http_head(&self) -> Option<RequestHead<'_>> {
        None
    }
}

/// The way of a [`ToolContext`] to input of the client, implemented by adapters: in rounds of the
/// call, or by requests to an older client. It is `Sync`, so that contexts may be sent if their
/// links may be.
#[cfg(feature = "alloc")]
pub trait InputLink: Sync {
    /// Returns the text that an earlier round of the call kept.
    fn request_state(&self) -> Option<&str> {
        None
    }

    /// Keeps a text for the next round of the call. Returns `false` where there is none, because
    /// input cannot be requested.
    fn set_request_state(&self, state: String) -> bool {
        let _ = state;
        false
    }

    /// Requests input from the client, or returns its response, which waits where it is a message
    /// of its own. `place` identifies the input request meanwhile; it begins as `None`.
    fn poll_input(
        &self,
        cx: &mut Context<'_>,
        request: &Request<'_>,
        key: &str,
        input_request: &InputRequest<'_>,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        let _ = (cx, request, key, input_request, place);
        Poll::Ready(Err(ToolError::internal("The adapter cannot request input")))
    }

    /// Called when an input request that has a place is over: withdraws it unless it has a
    /// response.
    fn leave_input(&self, place: u64) {
        let _ = place;
    }
}

/// Input cannot be requested.
#[cfg(feature = "alloc")]
impl InputLink for () {}

impl<'a, L: Link + ?Sized> ToolContext<'a, L> {
    /// Creates a context. For adapters, and for tests of tools.
    pub const fn new(request: &'a Request<'a>, link: &'a L) -> Self {
        Self {
            request,
            link,
            #[cfg(feature = "alloc")]
            inputs: &(),
        }
    }

    /// Sets how input is requested. Without, the tool cannot.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub const fn inputs(self, inputs: &'a dyn InputLink) -> Self {
        Self { inputs, ..self }
    }

    /// Returns the request: the revision, the capabilities of the client, `_meta`.
    pub const fn request(&self) -> &'a Request<'a> {
        self.request
    }

    /// Returns who made the request, over HTTP with authorization. `None` elsewhere.
    #[cfg(all(feature = "alloc", feature = "http"))]
    pub fn principal(&self) -> Option<&'a Principal> {
        self.link.principal()
    }

    /// Returns the head of the HTTP request: method, target and header fields. `None` on a stream.
    /// Its fields are what the client or a proxy claims.
    #[cfg(all(feature = "alloc", feature = "http"))]
    pub fn http_head(&self) -> Option<RequestHead<'a>> {
        self.link.http_head()
    }

    /// Returns the time since an arbitrary zero, in the clock of the connection.
    pub fn now(&self) -> Instant {
        self.link.now()
    }

    /// Returns the task that the call has become, if it has. Whoever knows its id may have the
    /// result, unless tasks have owners: do not log it.
    #[cfg(feature = "tasks")]
    pub fn task(&self) -> Option<TaskId> {
        self.link.task()
    }

    /// Sets the message that describes to people how the task goes, up to
    /// [`MAX_STATUS_MESSAGE`](crate::tasks::MAX_STATUS_MESSAGE) bytes. Without effect while the
    /// call is not a task.
    #[cfg(feature = "tasks")]
    pub fn set_status(&self, message: impl fmt::Display) {
        self.link.set_status(&message);
    }

    /// Reports progress, if the client asked for it: [`Server::progress`]. A notification longer
    /// than the output buffer is dropped.
    ///
    /// In a task it sets the status message: the message, or for example `3 of 10`. The state has
    /// the numbers, too ([`TASK_PROGRESS`](crate::types::meta::TASK_PROGRESS)). In 2025-11-25 it is
    /// sent as well, while the session lives.
    ///
    /// # Errors
    /// If the response is no longer awaited, or the notification cannot be sent. Use `?`: both end
    /// the tool.
    pub async fn progress(&self, progress: &Progress<'_>) -> Result<(), ToolError<'static>> {
        #[cfg(feature = "tasks")]
        if let Some(task) = self.link.task() {
            let is_sent = self.link.set_progress(progress);
            let meta = self.request.params.get("_meta").filter(|_| is_sent);
            let Some(token) = meta.and_then(|meta| meta.get("progressToken")) else {
                return Ok(());
            };
            return self
                .notify_session(|server, tx| server.task_progress(task, token, progress, tx))
                .await;
        }
        let request = self.request.handle;
        self.notify(|server, tx| server.progress(self.now(), request, progress, tx)).await
    }

    /// Sends a log message, if the client asked for its level: [`Server::log`]. One longer than the
    /// output buffer is dropped, and in 2026-07-28 one of a task.
    ///
    /// # Errors
    /// As [`progress`](Self::progress); also if the capability `logging` is not declared.
    pub async fn log<T: Encode + ?Sized>(
        &self,
        message: &LogMessage<'_, T>,
    ) -> Result<(), ToolError<'static>> {
        #[cfg(feature = "tasks")]
        if let Some(task) = self.link.task() {
            if self.request.revision.is_modern() {
                return Ok(());
            }
            return self.notify_session(|server, tx| server.task_log(task, message, tx)).await;
        }
        let request = self.request.handle;
        self.notify(|server, tx| server.log(request, message, tx)).await
    }

    /// Notifies the subscribers of a change: on all connections of the program where an adapter
    /// serves several, otherwise on this one ([`Server::publish`]).
    ///
    /// # Errors
    /// If a notification cannot be sent.
    pub async fn publish(&self, mut change: Change<'_>) -> Result<(), ToolError<'static>> {
        if self.link.publish(&change) {
            return Ok(());
        }
        let mut is_more = true;
        while is_more {
            self.send(|server, tx| {
                is_more = server.publish(&mut change, tx)?.is_more();
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Closes the SSE connection on which the client waits; it asks for the response later. For
    /// tools that run long while connections are scarce. Returns `false` where this is not
    /// possible: it needs a session of 2025-11-25 over HTTP.
    pub fn release_connection(&self) -> bool {
        self.link.release_connection(self.request.handle)
    }

    /// Completes one of these futures in a function that is not async, such as
    /// [`ToolHandler::call`](crate::typed::ToolHandler::call).
    ///
    /// ```
    /// # use mcp_sansio::{Progress, ToolContext, ToolResult};
    /// fn erase<'a>(ctx: ToolContext<'a>) -> ToolResult<'a> {
    ///     ctx.at_once(ctx.progress(&Progress::of(1u32).total(2u32)))?;
    ///     Ok("The flash is erased".into())
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of the future. [`ToolError::internal`] if it has to wait: a notification for room in
    /// an output that does not block.
    pub fn at_once<T>(
        &self,
        future: impl Future<Output = Result<T, ToolError<'static>>>,
    ) -> Result<T, ToolError<'static>> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(ToolError::internal("A tool that is not async cannot wait")),
        }
    }

    async fn notify(
        &self,
        mut call: impl FnMut(&mut Server<'_>, &mut Tx<'_>) -> SendResult<Delivery>,
    ) -> Result<(), ToolError<'static>> {
        let mut delivery = Delivery::Gone;
        let sent = self.send(|server, tx| {
            delivery = call(server, tx)?;
            Ok(())
        });
        match (sent.await, delivery) {
            // It has become a task while it waited for room.
            #[cfg(feature = "tasks")]
            (Ok(()), Delivery::Gone) if self.link.task().is_some() => Ok(()),
            (Ok(()), Delivery::Gone) => Err(ToolError::GONE),
            (Ok(()) | Err(SendError::TooLarge), _) => Ok(()),
            (Err(error), _) => Err(error.into()),
        }
    }

    /// As [`notify`](Self::notify), for a task, which outlives the session.
    #[cfg(feature = "tasks")]
    async fn notify_session(
        &self,
        mut call: impl FnMut(&mut Server<'_>, &mut Tx<'_>) -> SendResult<Delivery>,
    ) -> Result<(), ToolError<'static>> {
        match self.send(|server, tx| call(server, tx).map(|_| ())).await {
            Ok(()) | Err(SendError::TooLarge) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes any call of the server that writes a whole frame or none, and repeats it while the
    /// output buffer is full.
    ///
    /// # Errors
    /// Those of the call. [`SendError::Full`] means that the connection is lost.
    pub async fn send(
        &self,
        mut call: impl FnMut(&mut Server<'_>, &mut Tx<'_>) -> SendResult,
    ) -> SendResult {
        let mut waiting = Waiting { link: self.link, place: None };
        poll_fn(|cx| self.link.poll_send(cx, self.request.handle, &mut waiting.place, &mut call))
            .await
    }
}

crate::text::opaque_debug!([L: ?Sized] ToolContext<'_, L> { request });

/// The place of a future that waits for room, which it gives up when it is dropped.
struct Waiting<'a, L: Link + ?Sized> {
    link: &'a L,
    place: Option<u64>,
}

impl<L: Link + ?Sized> Drop for Waiting<'_, L> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.link.leave(place);
        }
    }
}

/// The [`Link`] of a loop that handles one event at a time and blocks while it writes.
///
/// `pump` writes as in [`Turn::send`], and `now` reads the clock.
pub struct TurnLink<'t, 'p, 'm, O, P, N, E> {
    inner: RefCell<Inner<'t, 'p, 'm, O, P, E>>,
    now: N,
}

struct Inner<'t, 'p, 'm, O, P, E> {
    turn: &'t mut Turn<'p, Server<'m>, O>,
    pump: P,
    /// The first error of the pump, after which nothing is written any more.
    error: Option<E>,
}

impl<'t, 'p, 'm, O, P, N, E> TurnLink<'t, 'p, 'm, O, P, N, E>
where
    O: Outcome<Server<'m>>,
    P: FnMut(&[u8], &mut Spare<'p>) -> Result<usize, E>,
    E: From<SendError>,
{
    /// Creates a link.
    pub const fn new(turn: &'t mut Turn<'p, Server<'m>, O>, pump: P, now: N) -> Self {
        Self { inner: RefCell::new(Inner { turn, pump, error: None }), now }
    }

    /// Sends the outcome of a request, which may borrow from it.
    ///
    /// # Errors
    /// Those of the pump, also of earlier sending, and those of the outcome.
    pub fn respond(
        &self,
        request: RequestHandle,
        outcome: &impl Outcome<Server<'m>>,
    ) -> Result<(), E> {
        let Ok(mut inner) = self.inner.try_borrow_mut() else {
            return Err(SendError::Full.into());
        };
        let Inner { turn, pump, error } = &mut *inner;
        match error.take() {
            Some(error) => Err(error),
            None => turn.send(pump, |server, tx| outcome.send(server, request, tx)),
        }
    }
}

impl<'p, 'm, O, P, N, E> Link for TurnLink<'_, 'p, 'm, O, P, N, E>
where
    O: Outcome<Server<'m>>,
    P: FnMut(&[u8], &mut Spare<'p>) -> Result<usize, E>,
    N: Fn() -> Instant,
    E: From<SendError>,
{
    fn now(&self) -> Instant {
        (self.now)()
    }

    fn poll_send(
        &self,
        _: &mut Context<'_>,
        _: RequestHandle,
        _: &mut Option<u64>,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> SendResult,
    ) -> Poll<SendResult> {
        let Ok(mut inner) = self.inner.try_borrow_mut() else {
            return Poll::Ready(Err(SendError::Full));
        };
        let Inner { turn, pump, error } = &mut *inner;
        if error.is_some() {
            return Poll::Ready(Err(SendError::Full));
        }
        let mut result = Ok(());
        let sent = turn.send(&mut *pump, |server, tx| {
            result = call(server, tx);
            match result {
                Err(SendError::Full) => Err(SendError::Full),
                _ => Ok(()),
            }
        });
        // The client sees it while the tool goes on.
        if let Err(lost) = sent.and_then(|()| turn.drain(pump)) {
            *error = Some(lost);
            result = Err(SendError::Full);
        }
        Poll::Ready(result)
    }
}

crate::text::opaque_debug!([O, P, N, E] TurnLink<'_, '_, '_, O, P, N, E> {});

// Input that a tool requests from the client: elicitation, sampling, roots.

#[cfg(feature = "alloc")]
impl<L: Link + ?Sized> ToolContext<'_, L> {
    /// Requests input from the client: elicitation, sampling or roots. `key` identifies the input
    /// request and must be unique in its tool.
    ///
    /// Up to 2025-11-25 this sends a request to the client. In 2026-07-28 the input requests are
    /// the result of the call, and the client calls the tool again with its responses: the tool
    /// runs from its start in each round. Where tools run one after the other, and for a
    /// [`ToolHandler`](crate::typed::ToolHandler), it does so with older clients, too.
    ///
    /// Cancel safe: dropping the future cancels the request to a legacy client.
    ///
    /// # Errors
    /// [`ToolError::missing_capability`] if the client did not declare the capability.
    /// [`ToolError::invalid_input_response`] if the client refused or did not respond in time.
    /// [`ToolError::INPUT_REQUIRED`] if the tool is called again once there is a response, which
    /// ends this attempt. [`ToolError::internal`] where the adapter cannot request input. Use `?`
    /// for all.
    pub async fn request_input(
        &self,
        key: &str,
        input_request: InputRequest<'_>,
    ) -> Result<OwnedInputResponse, ToolError<'static>> {
        let [response] = self.request_inputs([(key, input_request)]).await?;
        Ok(response)
    }

    /// Requests several inputs at once: in 2026-07-28, in one round. Cancel safe as
    /// [`request_input`](Self::request_input).
    ///
    /// # Errors
    /// As [`request_input`](Self::request_input).
    pub async fn request_inputs<const K: usize>(
        &self,
        input_requests: [(&str, InputRequest<'_>); K],
    ) -> Result<[OwnedInputResponse; K], ToolError<'static>> {
        let declared = self.request().capabilities;
        let needed = input_requests.iter().map(|(_, input)| input.required_capabilities());
        let missing = needed.filter(|needed| !declared.contains(*needed));
        let missing = missing.fold(ClientFeatures::NONE, ClientFeatures::with);
        if missing != ClientFeatures::NONE {
            return Err(ToolError::missing_capability(missing));
        }
        let mut waiting = input_requests.map(|(key, input_request)| WaitingInput {
            inputs: self.inputs,
            key,
            input_request,
            place: None,
            response: None,
        });
        poll_fn(|cx| {
            let (mut is_required, mut is_pending) = (false, false);
            for input in waiting.iter_mut().filter(|input| input.response.is_none()) {
                let WaitingInput { inputs, key, input_request, place, response } = input;
                match inputs.poll_input(cx, self.request(), key, input_request, place) {
                    Poll::Ready(Ok(json)) => *response = Some(json),
                    // The others are requested in the same round.
                    Poll::Ready(Err(error)) if error.is_input_required() => is_required = true,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => is_pending = true,
                }
            }
            match (is_required, is_pending) {
                (true, _) => Poll::Ready(Err(ToolError::INPUT_REQUIRED)),
                (_, true) => Poll::Pending,
                _ => Poll::Ready(Ok(())),
            }
        })
        .await?;
        let response = |input: &mut WaitingInput<'_>| {
            let json = input.response.take()?;
            Some(OwnedInputResponse { key: input.key.to_owned(), json })
        };
        let responses: Vec<OwnedInputResponse> = waiting.iter_mut().filter_map(response).collect();
        responses.try_into().map_err(|_| SendError::Invalid(InvalidPayload::Serialize).into())
    }
}

#[cfg(feature = "alloc")]
impl<'a, L: Link + ?Sized> ToolContext<'a, L> {
    /// Returns the text that an earlier round of the call
    /// [kept](Self::set_request_state).
    pub fn request_state(&self) -> Option<&'a str> {
        self.inputs.request_state()
    }

    /// Keeps a text for the next round of the call. In 2026-07-28 the client stores it, and can
    /// read and change it unless the adapter protects it. From then on an input response counts
    /// only if it comes with such a state. Returns `false` where the adapter cannot request input,
    /// and so has no rounds.
    pub fn set_request_state(&self, state: impl Into<String>) -> bool {
        self.inputs.set_request_state(state.into())
    }

    /// Returns the value that an earlier round of the call [kept](Self::set_request_state_as).
    ///
    /// # Errors
    /// -32602 if the client brought back something else. Use `?`.
    pub fn request_state_as<S: InputObject<'a>>(&self) -> Result<Option<S>, ToolError<'static>> {
        let Some(text) = self.request_state() else { return Ok(None) };
        match RawJson::parse(text).ok().map(S::parse) {
            Some(Ok(state)) => Ok(Some(state)),
            // Faults could show the client what is hidden from it.
            _ => Err(RpcError::invalid_params("Invalid requestState").into()),
        }
    }

    /// [Keeps](Self::set_request_state) a value for the next round, as JSON.
    ///
    /// # Errors
    /// If the value cannot be written.
    pub fn set_request_state_as<S: OutputObject>(
        &self,
        state: &S,
    ) -> Result<bool, ToolError<'static>> {
        let state = OwnedJson::new(state, self.request().revision)?;
        Ok(self.set_request_state(state.as_json().as_str()))
    }
}

/// An input request that waits for its response. Dropping it withdraws the request.
#[cfg(feature = "alloc")]
struct WaitingInput<'w> {
    inputs: &'w dyn InputLink,
    key: &'w str,
    input_request: InputRequest<'w>,
    place: Option<u64>,
    response: Option<OwnedJson>,
}

#[cfg(feature = "alloc")]
impl Drop for WaitingInput<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.inputs.leave_input(place);
        }
    }
}

/// The response of a client to an input request. [`to`](Self::to) reads it as the result type of
/// the request: [`ElicitResult`](crate::types::ElicitResult) for an elicitation,
/// [`CreateMessageResult`](crate::types::CreateMessageResult) for sampling,
/// [`ListRootsResult`](crate::types::ListRootsResult) for roots.
#[cfg(feature = "alloc")]
#[derive(Clone)]
pub struct OwnedInputResponse {
    key: String,
    json: OwnedJson,
}

#[cfg(feature = "alloc")]
impl OwnedInputResponse {
    /// Reads the response as a result type that borrows from it.
    ///
    /// # Errors
    /// [`ToolError::invalid_input_response`] if it is not of this type.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ToolError<'static>> {
        self.json.to().map_err(|error| self.invalid(&error)).or_input_response()
    }

    /// Reads the response to the [form of a type](InputRequest::form). Returns `None` if the user
    /// declined or dismissed it.
    ///
    /// # Errors
    /// [`ToolError::invalid_input_response`] if it does not fit the form.
    pub fn to_form<'a, T: InputObject<'a>>(&'a self) -> Result<Option<T>, ToolError<'static>> {
        T::from_elicit_result(self.as_json())
            .map_err(|faults| self.invalid(&faults))
            .or_input_response()
    }

    /// Returns the response as JSON, as received.
    pub fn as_json(&self) -> RawJson<'_> {
        self.json.as_json()
    }

    fn invalid(&self, why: &dyn fmt::Display) -> String {
        format!("Invalid response to input request {}: {why}", self.key)
    }
}

#[cfg(feature = "alloc")]
impl fmt::Debug for OwnedInputResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.json.as_json())
    }
}
