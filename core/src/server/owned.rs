//! Requests that outlive their frames.

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, string::String};
use core::fmt;

use super::RequestHandle;
use super::event::Request;
use super::extensions::Extensions;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::{ClientFeatures, Method, Revision};
use crate::message::ParamPositions;

/// A request without its text: a space, since position 0 means "missing", the parameters, and the
/// name of a method that is not known.
#[derive(Clone, Debug)]
struct Kept {
    handle: RequestHandle,
    method: Option<Method<'static>>,
    revision: Revision,
    capabilities: ClientFeatures,
    wants_progress: bool,
    extensions: Extensions,
    params: ParamPositions,
    /// Length of the space and the parameters.
    params_len: usize,
}

impl Kept {
    /// Returns the request without its text, and the parts of that.
    fn new<'f>(request: &Request<'f>) -> (Self, [&'f str; 3]) {
        let (method, name) = match request.method.known() {
            Ok(method) => (Some(method), ""),
            Err(name) => (None, name.as_json()),
        };
        // In a batch the parameters are a small part of the frame.
        let params = request.params.given().map_or("", RawJson::as_str);
        let kept = Self {
            handle: request.handle,
            method,
            revision: request.revision,
            capabilities: request.capabilities,
            wants_progress: request.wants_progress,
            extensions: request.extensions,
            params: request.params.positions(),
            params_len: params.len() + 1,
        };
        (kept, [" ", params, name])
    }

    fn request<'a>(&self, text: &'a str) -> Request<'a> {
        let (params, name) = text.split_at_checked(self.params_len).unwrap_or_default();
        Request {
            handle: self.handle,
            method: self.method.unwrap_or(Method::Other(JsonStr::scanned(name))),
            revision: self.revision,
            capabilities: self.capabilities,
            wants_progress: self.wants_progress,
            extensions: self.extensions,
            params: self.params.params(params),
            #[cfg(feature = "http")]
            transport: crate::message::TransportContext::STREAM,
        }
    }
}

/// A copy of a [`Request`], for a handler that responds later. It contains the parameters and no
/// other part of the frame. Indexed members stay indexed.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
pub struct OwnedRequest {
    kept: Kept,
    text: Box<str>,
}

#[cfg(feature = "alloc")]
impl OwnedRequest {
    /// Returns the request.
    #[must_use]
    pub fn as_request(&self) -> Request<'_> {
        self.kept.request(&self.text)
    }
}

#[cfg(feature = "alloc")]
impl From<&Request<'_>> for OwnedRequest {
    fn from(request: &Request<'_>) -> Self {
        let (kept, parts) = Kept::new(request);
        Self { kept, text: String::from_iter(parts).into() }
    }
}

/// Memory for a copy of a [`Request`] without an allocator. `N` is its size in bytes: one more than
/// the longest parameters.
pub struct RequestMemory<const N: usize> {
    kept: Option<Kept>,
    len: usize,
    text: [u8; N],
}

impl<const N: usize> RequestMemory<N> {
    /// Creates empty memory.
    #[must_use]
    pub const fn new() -> Self {
        Self { kept: None, len: 0, text: [0; N] }
    }

    /// Copies the parameters of a request, and no other part of its frame, in place of the request
    /// that was here before. Returns `false`, and stays empty, if they are too long.
    #[must_use]
    pub fn keep(&mut self, request: &Request<'_>) -> bool {
        self.clear();
        let (kept, parts) = Kept::new(request);
        let mut rest = self.text.as_mut_slice();
        for part in parts {
            let Some((to, behind)) = rest.split_at_mut_checked(part.len()) else { return false };
            to.copy_from_slice(part.as_bytes());
            rest = behind;
            self.len += part.len();
        }
        self.kept = Some(kept);
        true
    }

    /// Returns the request that was copied last.
    #[must_use]
    pub fn as_request(&self) -> Option<Request<'_>> {
        let text = str::from_utf8(self.text.get(..self.len)?).ok()?;
        Some(self.kept.as_ref()?.request(text))
    }

    /// Returns whether there is no request.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.kept.is_none()
    }

    /// Forgets the request.
    pub fn clear(&mut self) {
        (self.kept, self.len) = (None, 0);
    }
}

impl<const N: usize> Default for RequestMemory<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> fmt::Debug for RequestMemory<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequestMemory").field(&self.as_request()).finish()
    }
}

#[cfg(all(test, feature = "alloc"))]
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
        let length = request.params.raw().as_str().len();
        let name = request.method.known().map_or_else(|name| name.as_json().len(), |_| 0);
        let mut memory = RequestMemory::<1024>::new();
        assert!(memory.keep(&request));
        assert_eq!(memory.len, 1 + length + name);
        compare_copy(&request, &memory.as_request().unwrap());
        compare_copy(&request, &owned.as_request());
        assert!(!RequestMemory::<200>::new().keep(&request));
    }

    fn compare_copy(request: &Request<'_>, copy: &Request<'_>) {
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
        let mut memory = RequestMemory::<1>::new();
        assert!(memory.keep(&request));
        for copy in [owned.as_request(), memory.as_request().unwrap()] {
            assert_eq!(copy.params.raw(), RawJson::EMPTY);
            assert_eq!(copy.params.name(), None);
        }
    }
}
