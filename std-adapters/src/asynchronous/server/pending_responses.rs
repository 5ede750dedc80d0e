//! Responses that wait for room.

use mcp_sansio::{
    Method, Outcome, OwnedJson, OwnedRequest, RequestHandle, ResponseKind, Revision, RpcError,
    SendError, Server, ToolError, Tx,
};

use super::catalog::Snapshot;
use super::context::{ActiveRequest, owner_text};
use super::reply::{HandlerResult, Reply};
use super::reservation::ParamsReservation;
use super::task_hub::{TaskListen, TaskResponse};
use crate::observer::is_error;
use crate::rounds::{StateProtector, send_input_required};

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
        snapshot: Snapshot,
        _params: ParamsReservation,
    },
    /// A response about a task.
    Task(Box<TaskResponse>),
    /// The acknowledgement of a subscription to tasks, and how they are.
    Listen(Box<TaskListen>),
    /// An error before a handler has seen the request.
    Refused(RpcError<'static>),
}

impl PendingResponse {
    pub(crate) fn new(
        active: &ActiveRequest,
        result: HandlerResult,
        protector: Option<&dyn StateProtector>,
    ) -> Self {
        match result {
            Ok(Reply(json)) => Self::Reply(json),
            Err(error) if error.is_input_required() => {
                let (request, owner) = (active.request.as_request(), owner_text(&active.origin));
                let (input_requests, state) =
                    active.round.finish(&request, protector, owner.as_deref());
                Self::Input(input_requests, state)
            }
            Err(error) => {
                let is_tool = active.request.as_request().method == Method::ToolsCall;
                Self::Failed(if is_tool { error } else { error.into_rpc_error() })
            }
        }
    }
}

impl PendingResponse {
    /// Returns the kind of a response that no catalog makes.
    pub(crate) fn kind(&self, revision: Revision) -> ResponseKind {
        match self {
            Self::Reply(json) if is_error(json.as_raw()) => ResponseKind::ToolFailed,
            Self::Reply(_) | Self::FromCatalog { .. } => ResponseKind::Result,
            Self::Failed(error) => error.response_kind(revision),
            Self::Input(..) => ResponseKind::InputRequired,
            Self::Task(response) => response.kind(revision),
            Self::Listen(_) => ResponseKind::Result,
            Self::Refused(error) => ResponseKind::Error(error.code.number(revision)),
        }
    }
}

impl Outcome<Server<'_>> for PendingResponse {
    fn send(
        &self,
        server: &mut Server<'_>,
        handle: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        match self {
            Self::Reply(json) => server.respond_raw(handle, json.as_raw(), tx),
            Self::Refused(error) => server.respond_error(handle, error, tx),
            Self::Task(response) => response.send(server, handle, tx),
            Self::Listen(listen) => listen.send(server, tx),
            Self::FromCatalog { request, snapshot, .. } => {
                snapshot.catalog().respond(server, &request.as_request(), tx).map(|_| ())
            }
            Self::Input(input_requests, state) => {
                send_input_required(server, handle, input_requests, state.as_deref(), tx)
            }
            Self::Failed(error) => error.send(server, handle, tx),
        }
    }
}
