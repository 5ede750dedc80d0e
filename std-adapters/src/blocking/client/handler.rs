//! The application's side of a client: input requests and events.

use mcp_sansio::ClientEvent;
use mcp_sansio_engine::InputResponse;

use super::CallId;
use crate::client::OwnedInputRequest;

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
    fn on_input_request(&mut self, request: &OwnedInputRequest) -> InputResponse {
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
    /// the input has failed with [`InputRefusal::Panicked`](super::InputRefusal::Panicked).
    /// Everything else continues.
    fn on_panic(&mut self, about: Option<CallId>) {
        let _ = about;
    }
}

impl Handler for () {}

impl<F: FnMut(&OwnedInputRequest) -> InputResponse + Send> Handler for F {
    fn on_input_request(&mut self, request: &OwnedInputRequest) -> InputResponse {
        self(request)
    }
}
