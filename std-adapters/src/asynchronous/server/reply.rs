//! Results of handlers, and responses that wait for room.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use mcp_sansio::{
    Encode, Method, Outcome, OwnedJson, OwnedRequest, RawJson, Request, RequestHandle,
    ResponseKind, Revision, RpcError, SendResult, Server, ToolError, ToolResult, Tx,
};
use mcp_sansio_engine::internal::{failure, is_error, result_of};

use super::admission::Slot;
use super::app::Settings;
use super::context::{ActiveRequest, Context};
use super::task_hub::{TaskListen, TaskResponse};
use crate::rounds::send_input_required;
use crate::shared_catalog::Snapshot;

/// The serialized result of a request: see [`Context::reply`](super::Context::reply).
#[derive(Clone, Debug)]
pub struct Reply(pub(crate) OwnedJson);

impl Reply {
    /// Returns the result as JSON, for code around a handler that reads or keeps it.
    pub fn as_json(&self) -> RawJson<'_> {
        self.0.as_json()
    }
}

impl From<OwnedJson> for Reply {
    /// Takes a result as it is sent to the client: an object, of the revision of its request.
    fn from(json: OwnedJson) -> Self {
        Self(json)
    }
}

/// The usual result of a handler. [`ToolError`] says what the client is told of an error: a `&str`
/// or a `String` are the words of the program, and for errors of other code
/// [`OrToolError`](mcp_sansio::OrToolError) says who may read them. Requests other than
/// `tools/call` get -32603 if the tool failed, and -32602 if the arguments are invalid.
/// An [`Observer`](crate::observer::Observer) sees all of it.
pub type HandlerResult = Result<Reply, ToolError<'static>>;

/// A result that a handler can return: a [`HandlerResult`], or a
/// [`ToolResult`](mcp_sansio::ToolResult), which is serialized when the handler ends.
pub trait IntoReply {
    /// Returns the serialized result of the request.
    ///
    /// # Errors
    /// As [`Context::reply`](super::Context::reply), and the error of the handler.
    fn into_reply(self, request: &Request<'_>) -> HandlerResult;
}

impl IntoReply for HandlerResult {
    fn into_reply(self, _: &Request<'_>) -> HandlerResult {
        self
    }
}

impl<T: Encode> IntoReply for ToolResult<'_, T> {
    fn into_reply(self, request: &Request<'_>) -> HandlerResult {
        result_of(request, &self.map_err(ToolError::into_owned)?).map(Reply)
    }
}

/// A handler whose type has a name, so that an [`App`](super::App) can stand in a struct.
pub type BoxedHandler = Box<dyn Fn(Context) -> Pin<Box<dyn Future<Output = HandlerResult>>>>;

/// Boxes a handler, which costs an allocation for each request.
///
/// ```
/// use mcp_sansio::types::{Implementation, TextResult};
/// use mcp_sansio::{ServerConfig, ServerFeatures};
/// use mcp_sansio_adapters::asynchronous::{App, BoxedHandler, Context, boxed};
///
/// static CONFIG: ServerConfig =
///     ServerConfig::new(Implementation::new("clock", "0.1.0"), ServerFeatures::TOOLS);
///
/// struct Program {
///     app: App<BoxedHandler>,
/// }
///
/// let handler = boxed(|ctx: Context| async move { ctx.reply(&TextResult::new("noon")) });
/// let program = Program { app: App::new(&CONFIG, handler) };
/// ```
pub fn boxed<F>(handler: impl Fn(Context) -> F + 'static) -> BoxedHandler
where
    F: Future<Output: IntoReply> + 'static,
{
    Box::new(move |ctx| {
        let active = Arc::clone(&ctx.active);
        let result = handler(ctx);
        Box::pin(async move { result.await.into_reply(&active.request.as_request()) })
    })
}

/// A response that waits for room. It must not change, because the call that sends it may have to
/// be repeated.
pub(crate) enum PendingResponse {
    Reply(OwnedJson),
    Failed(ToolError<'static>),
    /// The input requests of a handler, and the request state for the client to keep.
    Input(Vec<(String, OwnedJson)>, Option<String>),
    /// A list from the catalog, or the error for a name that is not in it.
    FromCatalog {
        request: Box<OwnedRequest>,
        snapshot: Snapshot<'static>,
        _slot: Slot,
    },
    /// The entries of a list that take no scopes, or these.
    Part(Arc<ActiveRequest>, BTreeSet<String>),
    /// A response about a task.
    Task(Box<TaskResponse>),
    /// The acknowledgement of a subscription to tasks, and how they are. It has the parameters; no
    /// place yet if a store was asked.
    Listen(Box<TaskListen>, Option<Slot>),
    /// An error before a handler has seen the request.
    Refused(RpcError<'static>),
    /// One that is longer than [`UNCOUNTED`].
    Long(Unread),
}

impl PendingResponse {
    pub(crate) fn new(active: &ActiveRequest, result: HandlerResult, settings: &Settings) -> Self {
        match result {
            Ok(Reply(json)) => Self::Reply(json),
            Err(error) if error.is_input_required() => {
                let request = active.request.as_request();
                match active.round.finish(&request, || settings.state_seal(&active.origin)) {
                    Some((input_requests, state)) => Self::Input(input_requests, state),
                    None => Self::Refused(RpcError::internal("No random numbers for a key")),
                }
            }
            Err(error) => {
                let is_tool = active.request.as_request().method == Method::ToolsCall;
                Self::Failed(if is_tool { error } else { error.into_rpc_error() })
            }
        }
    }

    /// Keeps what the request takes until its response is sent, if that is long.
    pub(crate) fn keeping(self, request: &Arc<ActiveRequest>) -> Self {
        let len = match &self {
            Self::Reply(json) => json.as_json().as_str().len(),
            Self::Input(input_requests, state) => {
                let asked = input_requests.iter().map(|(_, json)| json.as_json().as_str().len());
                asked.sum::<usize>() + state.as_ref().map_or(0, String::len)
            }
            // An error may have data of any length.
            Self::Failed(_) | Self::Listen(..) => usize::MAX,
            _ => 0,
        };
        if len > UNCOUNTED { Self::Long(Unread::new(self, request)) } else { self }
    }

    /// The error that a client gets for a panic. Its text is for the log of the server only.
    pub(crate) const PANICKED: Self = Self::Refused(RpcError::internal(PANICKED));

    /// Returns what an error says, for an observer.
    pub(crate) fn error(&self) -> Option<String> {
        match self {
            Self::Reply(json) if is_error(json.as_json()) => failure(json.as_json()),
            Self::Failed(error) => Some(error.to_string()),
            Self::Refused(error) => Some(error.message.to_owned()),
            Self::Task(response) => Some(response.as_error()?.message.to_owned()),
            _ => None,
        }
    }

    /// Returns the kind of a response that no catalog makes.
    pub(crate) fn kind(&self, revision: Revision) -> ResponseKind {
        match self {
            Self::Reply(json) if is_error(json.as_json()) => ResponseKind::ToolFailed,
            Self::Reply(_) | Self::FromCatalog { .. } | Self::Part(..) | Self::Listen(..) => {
                ResponseKind::Result
            }
            Self::Failed(error) => error.response_kind(revision),
            Self::Input(..) => ResponseKind::InputRequired,
            Self::Task(response) => response.kind(revision),
            Self::Long(unread) => unread.response.kind(revision),
            Self::Refused(error) => ResponseKind::Error(error.code.number(revision)),
        }
    }
}

/// A response that waits for room. Its request counts as running, so that a client that reads
/// nothing does not make handlers produce more and more.
pub(crate) struct Unread {
    response: Box<PendingResponse>,
    request: Arc<ActiveRequest>,
}

impl Unread {
    fn new(response: PendingResponse, request: &Arc<ActiveRequest>) -> Self {
        request.slot.begin_waiting();
        Self { response: Box::new(response), request: Arc::clone(request) }
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.request.slot.end_waiting();
    }
}

impl From<TaskResponse> for PendingResponse {
    fn from(response: TaskResponse) -> Self {
        Self::Task(Box::new(response))
    }
}

impl Outcome<Server<'_>> for PendingResponse {
    fn send(&self, server: &mut Server<'_>, handle: RequestHandle, tx: &mut Tx<'_>) -> SendResult {
        match self {
            Self::Reply(json) => server.respond_raw(handle, json.as_json(), tx),
            Self::Refused(error) => server.respond_error(handle, error, tx),
            Self::Task(response) => response.send(server, handle, tx),
            Self::Long(unread) => unread.response.send(server, handle, tx),
            Self::Listen(listen, _) => listen.send(server, tx),
            Self::FromCatalog { request, snapshot, .. } => {
                snapshot.catalog().respond(server, &request.as_request(), tx).map(|_| ())
            }
            Self::Part(request, granted) => {
                let Some(snapshot) = &request.listed else { return Ok(()) };
                let permits = |scopes: &str| granted.contains(scopes);
                let part = snapshot.catalog().permitting(&permits);
                part.respond(server, &request.request.as_request(), tx).map(|_| ())
            }
            Self::Input(input_requests, state) => {
                send_input_required(server, handle, input_requests, state.as_deref(), tx)
            }
            Self::Failed(error) => error.send(server, handle, tx),
        }
    }
}

pub(crate) const PANICKED: &str = "The handler panicked";
/// Maximum length of parameters that do not count in the budget of bodies, and of responses that do
/// not count while they wait for room, in bytes.
pub(crate) const UNCOUNTED: usize = 4 << 10;
