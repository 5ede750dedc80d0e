//! Responses that wait for room.

use std::sync::Arc;

use mcp_sansio::{
    Catalog, Method, Outcome as _, OwnedJson, OwnedRequest, RequestHandle, RpcError, SendError,
    ToolError,
};

use super::context::{ActiveRequest, BodyReservation};
use super::inner::{ParamsReservation, State};
use super::output::OutputBuffer;
use super::reply::{HandlerResult, Reply};
use crate::rounds::{StateProtector, send_input_required};

/// A response that waits for room. It must not change, because the call that sends it may have to
/// be repeated.
pub(super) enum PendingResponse {
    Reply(Arc<ActiveRequest>, OwnedJson),
    Failed(Arc<ActiveRequest>, ToolError<'static>),
    /// The input requests of a handler, and the request state for the client to keep.
    Input(Arc<ActiveRequest>, Vec<(String, OwnedJson)>, Option<String>),
    /// A list from the catalog, or the error for a name that is not in it.
    FromCatalog {
        request: OwnedRequest,
        _held: Option<BodyReservation>,
        _params: ParamsReservation,
    },
    /// An error before a handler has seen the request.
    Refused(RequestHandle, RpcError<'static>),
}

impl PendingResponse {
    pub(super) fn new(
        active: Arc<ActiveRequest>,
        result: HandlerResult,
        protector: Option<&dyn StateProtector>,
    ) -> Self {
        match result {
            Ok(Reply(json)) => Self::Reply(active, json),
            Err(error) if error.is_input_required() => {
                let (input_requests, state) =
                    active.round.finish(&active.request.as_request(), protector);
                Self::Input(active, input_requests, state)
            }
            Err(error) => {
                let is_tool = active.request.as_request().method == Method::ToolsCall;
                let error = if is_tool { error } else { error.into_rpc_error() };
                Self::Failed(active, error)
            }
        }
    }

    /// Sends the response.
    pub(super) fn send(
        &self,
        catalog: Option<&Catalog<'static>>,
        state: &mut State,
    ) -> Result<(), SendError> {
        let (mut server, OutputBuffer { tx, .. }) = state.at(self.handle());
        match self {
            Self::Reply(active, json) => server.respond_raw(active.handle, json.as_raw(), tx),
            Self::Refused(handle, error) => server.respond_error(*handle, error, tx),
            Self::FromCatalog { request, .. } => match catalog {
                Some(catalog) => {
                    catalog.respond(&mut server, &request.as_request(), tx).map(|_| ())
                }
                None => Ok(()),
            },
            Self::Input(active, input_requests, carried) => {
                let state = carried.as_deref();
                send_input_required(&mut server, active.handle, input_requests, state, tx)
            }
            Self::Failed(active, error) => error.send(&mut server, active.handle, tx),
        }
    }

    /// Returns the request.
    pub(super) fn handle(&self) -> RequestHandle {
        match self {
            Self::Reply(active, _) | Self::Failed(active, _) | Self::Input(active, ..) => {
                active.handle
            }
            Self::FromCatalog { request, .. } => request.as_request().handle,
            Self::Refused(handle, _) => *handle,
        }
    }

    /// Returns the error that is sent if the core rejects this response.
    pub(super) fn replacement(&self) -> Option<Self> {
        let is_last = matches!(self, Self::Refused(..));
        (!is_last).then(|| {
            Self::Refused(self.handle(), RpcError::internal("The response cannot be sent"))
        })
    }
}
