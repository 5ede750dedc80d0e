//! The questions of the modern era, asked of a legacy client.

use super::{ClientRequest, Server};
use crate::error::SendError;
use crate::handle::{Call, RequestHandle};
use crate::time::Instant;
use crate::tx::Tx;
use crate::types::InputRequest;

impl<const N: usize, const S: usize> Server<'_, N, S> {
    /// Asks a legacy client, on behalf of a request, what a modern one is asked by [`input_required`](Self::input_required). For whoever has one handler for both.
    ///
    /// # Errors
    /// As [`request`](Self::request). [`SendError::NotAllowed`] for a question whose method is not known.
    pub fn request_input(
        &mut self,
        now: Instant,
        on_behalf_of: RequestHandle,
        question: &InputRequest<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        match question {
            InputRequest::Elicit(params) => self.request(now, &ClientRequest::elicitation(params).on_behalf_of(on_behalf_of), tx),
            InputRequest::CreateMessage(params) => {
                self.request(now, &ClientRequest::sampling(params).on_behalf_of(on_behalf_of), tx)
            }
            InputRequest::ListRoots => self.request(now, &ClientRequest::roots().on_behalf_of(on_behalf_of), tx),
            InputRequest::Other(_) => Err(SendError::NotAllowed),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;
    use crate::types::{CreateMessageParams, ElicitParams, Implementation, RequestedSchema, SamplingMessage};
    use crate::{Frame, Messages, RawJson, ServerCapability, ServerConfig, ServerEvent, TxBuffer};

    #[test]
    fn each_question_becomes_its_request() {
        static CONFIG: ServerConfig<'_> = ServerConfig::new(Implementation::new("t", "1"), ServerCapability::TOOLS);
        let mut server: Server<'_> = Server::new(&CONFIG);
        let mut tx = TxBuffer::new([0; 1024]);
        let now = Instant::from_millis(0);
        let mut parent = None;
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{},"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}"#,
        ] {
            let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
            if let Ok(Some(ServerEvent::Request(request))) = server.next_event(now, &mut messages, &mut tx) {
                parent = Some(request.handle);
            }
        }
        tx.advance(usize::MAX);
        let parent = parent.unwrap();
        let messages = [SamplingMessage::user("hello")];
        for (question, method) in [
            (InputRequest::Elicit(ElicitParams::form("m", RequestedSchema::new(&[]))), "elicitation/create"),
            (InputRequest::CreateMessage(CreateMessageParams::new(&messages, 1)), "sampling/createMessage"),
            (InputRequest::ListRoots, "roots/list"),
        ] {
            assert!(server.request_input(now, parent, &question, &mut tx).is_ok());
            let sent = String::from_utf8(tx.pending().into()).unwrap();
            tx.advance(usize::MAX);
            let sent = RawJson::parse(&sent).unwrap();
            assert!(sent.get("method").and_then(RawJson::as_string).is_some_and(|sent| sent == method));
        }
        assert_eq!(server.calls_in_flight(), 3);
        let unknown = InputRequest::Other(RawJson::EMPTY);
        assert_eq!(server.request_input(now, parent, &unknown, &mut tx), Err(SendError::NotAllowed));
    }
}
