//! The application's side of a client: input requests and events.

use mcp_sansio::types::InputRequest;
use mcp_sansio::{ClientEvent, Encode, OwnedJson, Revision};
use mcp_sansio_engine::{InputRefusal, InputResponse};

use super::CallId;

/// Handles input requests and events. Closures that respond to input requests implement it; `()`
/// refuses all input requests.
///
/// Its functions are called while a method of the client waits. The time that
/// [`on_input_request`](Self::on_input_request) takes does not count for any timeout, for the first
/// hundred requests of each wait, since the server waits too. The time that
/// [`on_event`](Self::on_event) takes counts.
///
/// A panic does not end the connection: see [`on_panic`](Self::on_panic).
pub trait Handler: Send {
    /// Responds to an elicitation, sampling or roots request, of servers of both eras. Only called
    /// for kinds that the configuration declares. Default: refuses.
    fn on_input_request(&mut self, request: &ReceivedInputRequest<'_>) -> InputResponse {
        request.refuse()
    }

    /// Handles progress, log messages, changes and all other events but the end of calls. `about`
    /// is the call that the event belongs to, if any.
    fn on_event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        let _ = (about, event);
    }

    /// Called after [`on_input_request`](Self::on_input_request) or [`on_event`](Self::on_event)
    /// has panicked, for the call `about`. The panic hook has reported the panic. The request of a
    /// legacy server has got an internal error (-32603); the call for which a modern server needed
    /// the input has failed with [`InputRefusal::Panicked`].
    /// Everything else continues.
    fn on_panic(&mut self, about: Option<CallId>) {
        let _ = about;
    }
}

impl Handler for () {}

impl<F: FnMut(&ReceivedInputRequest<'_>) -> InputResponse + Send> Handler for F {
    fn on_input_request(&mut self, request: &ReceivedInputRequest<'_>) -> InputResponse {
        self(request)
    }
}

/// An elicitation, sampling or roots request of the server.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReceivedInputRequest<'q> {
    /// The request.
    pub request: InputRequest<'q>,
    revision: Revision,
}

impl<'q> ReceivedInputRequest<'q> {
    pub(super) const fn new(request: InputRequest<'q>, revision: Revision) -> Self {
        Self { request, revision }
    }

    /// Creates the response from the result that belongs to the request: an
    /// [`ElicitResult`](mcp_sansio::types::ElicitResult), which may also decline, a
    /// [`CreateMessageResult`](mcp_sansio::types::CreateMessageResult) or a
    /// [`ListRootsResult`](mcp_sansio::types::ListRootsResult).
    ///
    /// # Errors
    /// [`InputRefusal::NotSerializable`].
    pub fn respond<T: Encode + ?Sized>(&self, result: &T) -> InputResponse {
        OwnedJson::new(result, self.revision).map_err(InputRefusal::NotSerializable)
    }

    /// Refuses the request. A legacy server gets an error. With a modern one the call that needed
    /// the input fails with [`CallError::InputRefused`](super::CallError::InputRefused).
    ///
    /// # Errors
    /// Always [`InputRefusal::Refused`].
    pub const fn refuse(&self) -> InputResponse {
        Err(InputRefusal::Refused)
    }
}
