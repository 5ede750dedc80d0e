//! The questions of the modern era: asked by their types, and asked of a legacy client.

use super::{ClientRequest, Server, sound};
use crate::error::SendError;
use crate::handle::{Call, RequestHandle};
use crate::json::Payload;
use crate::lifecycle::{ClientFeatures, Revision};
use crate::time::Instant;
use crate::tx::Tx;
use crate::types::encode::tell::{Object, Tell, Teller};
use crate::types::{
    CreateMessageParams, ElicitFormParams, ElicitParams, ElicitUrlParams, InputRequest,
};

/// What a person, a model or a client can be asked: [`ElicitParams`], [`ElicitFormParams`],
/// [`ElicitUrlParams`], [`CreateMessageParams`] and [`InputRequest`].
pub trait Question {
    #[doc(hidden)]
    fn asked(&self) -> Asked<'_>;
}

/// How it is asked.
pub struct Asked<'x> {
    method: &'static str,
    params: Option<&'x dyn Tell>,
    needs: ClientFeatures,
    is_sound: bool,
}

impl<const N: usize, const S: usize> Server<'_, N, S> {
    /// The same as [`input_required`](Self::input_required) by the types of the questions, each
    /// with a key of its own. A small program has only those in it that it asks.
    ///
    /// `state` comes back with the client's next attempt. A client can read and change it: protect
    /// what must not be.
    ///
    /// # Errors
    /// As [`input_required`](Self::input_required).
    pub fn ask_first(
        &mut self,
        request: RequestHandle,
        questions: &[(&str, &dyn Question)],
        state: Option<&str>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        let mut is_sound = state.is_some() || !questions.is_empty();
        for (at, (key, question)) in questions.iter().enumerate() {
            let asked = question.asked();
            if !pending.capabilities.contains(asked.needs) {
                return Err(SendError::NotAllowed);
            }
            is_sound &= asked.is_sound && !questions.iter().take(at).any(|(other, _)| other == key);
        }
        if !pending.revision.is_modern() || !pending.may_require_input {
            return Err(SendError::NotAllowed);
        }
        if !is_sound {
            return Err(SendError::Value);
        }
        let questions = (!questions.is_empty()).then_some(Questions(questions));
        let result = Object {
            names: "resultType,inputRequests,requestState,",
            members: &[&"input_required", &questions, &state],
        };
        self.respond_with::<dyn Payload>(request, "input_required", &result, tx)
    }

    /// Asks a legacy client, on behalf of a request, what a modern one is asked by
    /// [`input_required`](Self::input_required). For whoever has one handler for both.
    ///
    /// # Errors
    /// As [`request`](Self::request). [`SendError::NotAllowed`] for a question whose method is not
    /// known.
    pub fn request_input(
        &mut self,
        now: Instant,
        on_behalf_of: RequestHandle,
        question: &InputRequest<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        match question {
            InputRequest::Elicit(params) => self.request(
                now,
                &ClientRequest::elicitation(params).on_behalf_of(on_behalf_of),
                tx,
            ),
            InputRequest::CreateMessage(params) => {
                self.request(now, &ClientRequest::sampling(params).on_behalf_of(on_behalf_of), tx)
            }
            InputRequest::ListRoots => {
                self.request(now, &ClientRequest::roots().on_behalf_of(on_behalf_of), tx)
            }
            InputRequest::Other(_) => Err(SendError::NotAllowed),
        }
    }
}

struct Questions<'x>(&'x [(&'x str, &'x dyn Question)]);

impl Tell for Questions<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.open(b'{');
        for (key, question) in self.0 {
            to.item(key);
            let asked = question.asked();
            match asked.params {
                Some(params) => {
                    to.item(&Object { names: "method,params,", members: &[&asked.method, &params] })
                }
                None => to.item(&Object { names: "method,", members: &[&asked.method] }),
            }
        }
        to.close();
    }
}

impl Question for ElicitParams<'_> {
    fn asked(&self) -> Asked<'_> {
        let is_sound = sound::elicitation(self, Revision::LATEST);
        Asked {
            method: "elicitation/create",
            params: Some(self),
            needs: self.required_capabilities(),
            is_sound,
        }
    }
}

impl Question for ElicitFormParams<'_> {
    fn asked(&self) -> Asked<'_> {
        let is_sound = self.requested_schema.is_valid_for(Revision::LATEST);
        Asked {
            method: "elicitation/create",
            params: Some(self),
            needs: ClientFeatures::ELICITATION_FORM,
            is_sound,
        }
    }
}

impl Question for ElicitUrlParams<'_> {
    fn asked(&self) -> Asked<'_> {
        let is_sound = self.is_valid_for(Revision::LATEST);
        Asked {
            method: "elicitation/create",
            params: Some(self),
            needs: ClientFeatures::ELICITATION_URL,
            is_sound,
        }
    }
}

impl Question for CreateMessageParams<'_> {
    fn asked(&self) -> Asked<'_> {
        let is_sound = sound::sampling(self, Revision::LATEST);
        Asked {
            method: "sampling/createMessage",
            params: Some(self),
            needs: self.required_capabilities(),
            is_sound,
        }
    }
}

impl Question for InputRequest<'_> {
    fn asked(&self) -> Asked<'_> {
        match self {
            Self::Elicit(params) => params.asked(),
            Self::CreateMessage(params) => params.asked(),
            Self::ListRoots => Asked {
                method: "roots/list",
                params: None,
                needs: ClientFeatures::ROOTS,
                is_sound: true,
            },
            Self::Other(_) => {
                Asked { method: "", params: None, needs: ClientFeatures::NONE, is_sound: false }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;
    use crate::types::{
        CreateMessageParams, ElicitParams, Implementation, RequestedSchema, SamplingMessage,
    };
    use crate::{Frame, Messages, RawJson, ServerConfig, ServerEvent, ServerFeatures, TxBuffer};

    #[test]
    fn each_question_becomes_its_request() {
        static CONFIG: ServerConfig<'_> =
            ServerConfig::new(Implementation::new("t", "1"), ServerFeatures::TOOLS);
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
            if let Ok(Some(ServerEvent::Request(request))) =
                server.next_event(now, &mut messages, &mut tx)
            {
                parent = Some(request.handle);
            }
        }
        tx.advance(usize::MAX);
        let parent = parent.unwrap();
        let messages = [SamplingMessage::user("hello")];
        for (question, method) in [
            (
                InputRequest::Elicit(ElicitParams::form("m", RequestedSchema::new(&[]))),
                "elicitation/create",
            ),
            (
                InputRequest::CreateMessage(CreateMessageParams::new(&messages, 1)),
                "sampling/createMessage",
            ),
            (InputRequest::ListRoots, "roots/list"),
        ] {
            assert!(server.request_input(now, parent, &question, &mut tx).is_ok());
            let sent = String::from_utf8(tx.pending().into()).unwrap();
            tx.advance(usize::MAX);
            let sent = RawJson::parse(&sent).unwrap();
            assert!(
                sent.get("method").and_then(RawJson::as_string).is_some_and(|sent| sent == method)
            );
        }
        assert_eq!(server.open_calls(), 3);
        let unknown = InputRequest::Other(RawJson::EMPTY);
        assert_eq!(
            server.request_input(now, parent, &unknown, &mut tx),
            Err(SendError::NotAllowed)
        );
    }
}
