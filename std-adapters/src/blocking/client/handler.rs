//! What an application does while it waits for an answer.

use mcp_sansio::types::InputRequest;
use mcp_sansio::{ClientEvent, OwnedJson, Revision, SendError};
use serde::Serialize;

use super::CallId;

/// What an application has to say to the server's questions, and hears of what else comes.
///
/// It is called while one of the client's calls waits. The server waits for answers to its
/// questions, so the time that [`on_input_request`](Self::on_input_request) takes counts for no deadline, for the first
/// hundred questions of each wait. The time that `on_event` takes counts. A closure that answers
/// questions is a handler, `()` refuses them all.
///
/// A panic in it ends no connection: see [`on_panic`](Self::on_panic).
pub trait Handler: Send {
    /// The server asks: the person, the model, or for the roots. Only what the configuration
    /// declared is asked, by servers of both eras.
    fn on_input_request(&mut self, question: &ReceivedInputRequest<'_>) -> InputResponse {
        question.refuse()
    }

    /// Progress, log messages, changes, and whatever else is no answer. `about` is the call that it
    /// belongs to, where it belongs to one.
    fn on_event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        let _ = (about, event);
    }

    /// [`on_input_request`](Self::on_input_request) or [`on_event`](Self::on_event) panicked, while it was about this call. The
    /// panic hook has reported it. A legacy server's question has been answered with an internal
    /// error (-32603); the call that a modern server asked for has failed with
    /// [`Error::HandlerPanicked`](super::Error::HandlerPanicked). Everything else goes on.
    fn on_panic(&mut self, about: Option<CallId>) {
        let _ = about;
    }
}

impl Handler for () {}

impl<F: FnMut(&ReceivedInputRequest<'_>) -> InputResponse + Send> Handler for F {
    fn on_input_request(&mut self, question: &ReceivedInputRequest<'_>) -> InputResponse {
        self(question)
    }
}

/// What a server wants to know.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReceivedInputRequest<'q> {
    /// The question.
    pub request: InputRequest<'q>,
    revision: Revision,
}

impl<'q> ReceivedInputRequest<'q> {
    pub(super) const fn new(request: InputRequest<'q>, revision: Revision) -> Self {
        Self { request, revision }
    }

    /// InputResponses with a result that belongs to the question: an
    /// [`ElicitResult`](mcp_sansio::types::ElicitResult), which may be that the person declined, a
    /// [`CreateMessageResult`](mcp_sansio::types::CreateMessageResult) or a
    /// [`ListRootsResult`](mcp_sansio::types::ListRootsResult).
    #[must_use]
    pub fn respond<T: Serialize + ?Sized>(&self, result: &T) -> InputResponse {
        InputResponse(OwnedJson::new(result, self.revision).map_err(InputRefusal::Unwritable))
    }

    /// Does not answer. A legacy server gets an error; a modern one is not asked again, and the
    /// call fails with [`Error::InputRequired`](super::Error::InputRequired).
    #[must_use]
    pub const fn refuse(&self) -> InputResponse {
        InputResponse(Err(InputRefusal::Refused))
    }
}

/// What is answered: see [`ReceivedInputRequest`].
#[derive(Clone, Debug)]
pub struct InputResponse(pub(super) Result<OwnedJson, InputRefusal>);

#[derive(Clone, Copy, Debug)]
pub(super) enum InputRefusal {
    Refused,
    Panicked,
    Unwritable(SendError),
}
