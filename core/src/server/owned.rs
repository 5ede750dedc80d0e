//! A request that outlives its frame.

use alloc::boxed::Box;

use super::RequestHandle;
use super::event::Request;
use super::extensions::Extensions;
use crate::json::JsonStr;
use crate::lifecycle::{ClientFeatures, Method, Revision};
use crate::message::OwnedParams;

/// A copy of a [`Request`], for a handler that responds later. It contains the parameters and no
/// other part of the frame. Indexed members stay indexed.
#[derive(Clone, Debug)]
pub struct OwnedRequest {
    handle: RequestHandle,
    method: OwnedMethod,
    revision: Revision,
    capabilities: ClientFeatures,
    wants_progress: bool,
    extensions: Extensions,
    params: OwnedParams,
}

#[derive(Clone, Debug)]
enum OwnedMethod {
    Known(Method<'static>),
    /// The JSON string.
    Other(Box<str>),
}

impl OwnedRequest {
    /// Returns the request.
    #[must_use]
    pub fn as_request(&self) -> Request<'_> {
        Request {
            handle: self.handle,
            method: match &self.method {
                OwnedMethod::Known(method) => *method,
                OwnedMethod::Other(name) => Method::Other(JsonStr::scanned(name)),
            },
            revision: self.revision,
            capabilities: self.capabilities,
            wants_progress: self.wants_progress,
            extensions: self.extensions,
            params: self.params.as_params(),
            #[cfg(feature = "http")]
            transport: crate::message::TransportContext::STREAM,
        }
    }
}

impl From<&Request<'_>> for OwnedRequest {
    fn from(request: &Request<'_>) -> Self {
        Self {
            handle: request.handle,
            method: match request.method.known() {
                Ok(method) => OwnedMethod::Known(method),
                Err(name) => OwnedMethod::Other(name.as_json().into()),
            },
            revision: request.revision,
            capabilities: request.capabilities,
            wants_progress: request.wants_progress,
            extensions: request.extensions,
            params: OwnedParams::from(&request.params),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Frame, Messages, RawJson, ServerConfig, ServerEvent, ServerFeatures, ServerState, TxBuffer,
        types::Implementation,
    };

    const CONFIG: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("t", "1"), ServerFeatures::TOOLS)
            .methods(&["own/method"]);

    /// Reads a line and compares the request with its copy.
    fn compare(method: &str, members: &str) {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"progressToken":1,"io.modelcontextprotocol/logLevel":"info","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#;
        let line = alloc::format!(
            r#"{{"params":{{{meta}{members}}},"jsonrpc":"2.0","method":"{method}","id":"x"}}"#
        );
        let mut state: ServerState = ServerState::new();
        let mut server = state.server(&CONFIG);
        let mut tx = TxBuffer::new([0; 512]);
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        let event = server.next_event(crate::Instant::from_millis(0), &mut messages, &mut tx);
        let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
        let owned = OwnedRequest::from(&request);
        let copy = owned.as_request();
        assert_eq!(copy.handle, request.handle);
        assert_eq!(copy.method, request.method);
        assert_eq!((copy.revision, copy.capabilities), (request.revision, request.capabilities));
        assert!(copy.wants_progress && request.wants_progress);
        assert_eq!(copy.params.raw(), request.params.raw());
        assert_eq!(copy.arguments().raw(), request.arguments().raw());
        for key in [
            "name",
            "uri",
            "cursor",
            "inputResponses",
            "requestState",
            "arguments",
            "_meta",
            "other",
        ] {
            assert_eq!(copy.params.get(key), request.params.get(key), "{key}");
        }
        for key in ["a", "b", "c", "d", "e", "f", ""] {
            assert_eq!(copy.arguments().get(key), request.arguments().get(key), "{key}");
        }
        assert_eq!(copy.input_response("k"), request.input_response("k"));
        assert!(copy.traceparent().is_some() && copy.traceparent() == request.traceparent());
    }

    #[test]
    fn a_copy_says_what_the_request_said() {
        compare("tools/call", r#","name":"t","arguments":{"a":1,"b":[2],"c":"3","d":{},"e":null}"#);
        compare(
            "tools/call",
            r#","arguments":{"a":1},"name":"t\u0061","inputResponses":{"k":{"action":"accept"}},"requestState":"s""#,
        );
        compare("tools/call", r#","name":"no arguments""#);
        compare("tools\\/list", r#","cursor":"5","other":[{}]"#);
        compare("own/method", "");
    }

    #[test]
    fn a_request_without_params_has_a_copy_without_params() {
        let mut state: ServerState = ServerState::new();
        let mut server = state.server(&CONFIG);
        let mut tx = TxBuffer::new([0; 512]);
        let mut take = |line: &'static str| {
            let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
            server.next_event(crate::Instant::from_millis(0), &mut messages, &mut tx).unwrap()
        };
        take(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
        );
        let Some(ServerEvent::Request(request)) =
            take(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
        else {
            panic!()
        };
        let owned = OwnedRequest::from(&request);
        assert_eq!(owned.as_request().params.raw(), RawJson::EMPTY);
        assert_eq!(owned.as_request().params.name(), None);
    }
}
