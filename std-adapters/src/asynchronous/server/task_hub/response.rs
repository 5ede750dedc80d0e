//! Responses about tasks.

use std::sync::Arc;

use mcp_sansio::tasks::{TaskContent, TaskKey, TaskReply};
use mcp_sansio::{
    ClientFeatures, Encoder, OwnedJson, OwnedRpcError, RequestHandle, ResponseKind, Revision,
    RpcError, SendError, Server, Tx,
};

/// How a task has ended: with the result of the call, or with its error.
pub(crate) type TaskOutcome = Result<OwnedJson, OwnedRpcError>;

/// Returns the number of bytes of a result.
pub(super) fn len(outcome: &TaskOutcome) -> usize {
    outcome.as_ref().map_or(0, |result| result.as_raw().as_str().len())
}

/// A response about a task, with what it needs of the content of the task.
pub(crate) struct TaskResponse {
    pub(super) reply: TaskReply,
    pub(super) content: Content,
}

/// The content of a task at one moment.
#[derive(Default)]
pub(super) struct Content {
    pub(super) outcome: Option<Arc<TaskOutcome>>,
    pub(super) inputs: Vec<OpenInput>,
}

/// An input request of a task.
#[derive(Clone)]
pub(super) struct OpenInput {
    pub(super) number: u32,
    pub(super) request: Arc<OwnedJson>,
    pub(super) needs: ClientFeatures,
}

impl TaskResponse {
    pub(crate) fn kind(&self, revision: Revision) -> ResponseKind {
        self.reply.kind(revision)
    }

    pub(crate) fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        self.reply.send(&self.content, server, request, tx)
    }
}

impl Content {
    fn input(&self, number: u32) -> Option<&OpenInput> {
        self.inputs.iter().find(|input| input.number == number)
    }
}

impl TaskContent for Content {
    fn result(&self, _: TaskKey, to: &mut Encoder<'_>) {
        if let Some(Ok(result)) = self.outcome.as_deref() {
            to.raw(result.as_raw());
        }
    }

    fn error(&self, _: TaskKey) -> RpcError<'_> {
        match self.outcome.as_deref() {
            Some(Err(error)) => error.as_error(),
            _ => RpcError::internal("Internal error"),
        }
    }

    fn input_request(&self, _: TaskKey, number: u32, to: &mut Encoder<'_>) {
        if let Some(input) = self.input(number) {
            to.raw(input.request.as_raw());
        }
    }

    fn needs(&self, _: TaskKey, number: u32) -> ClientFeatures {
        self.input(number).map_or(ClientFeatures::NONE, |input| input.needs)
    }
}
