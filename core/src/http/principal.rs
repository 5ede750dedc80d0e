//! Who makes a request, and the operations that need a permission.

use alloc::string::String;

use crate::buffers::rx::Frame;
use crate::json::JsonStr;
use crate::message::{Classified, Item, Messages, Params};
use crate::protocol::Method;
use crate::time::Instant;

/// An authenticated user or client. Sessions belong to the principal that opened them, and are
/// found by it only.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Principal {
    /// The authorization server that issued the token.
    pub issuer: String,
    /// The user or client, unique at its issuer.
    pub subject: String,
    /// The granted scopes, separated by spaces.
    pub scopes: String,
    /// When the token expires. Responses that are still open then are cut off: the client of a
    /// session resumes them with a new token.
    pub expires: Option<Instant>,
    /// All claims of the token as a JSON object; may be empty.
    pub claims: String,
}

impl Principal {
    /// Creates a principal without scopes, whose token does not expire.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), subject: subject.into(), ..Self::default() }
    }

    /// Returns whether a scope was granted.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.split(' ').any(|granted| granted == scope)
    }
}

/// A request that has to be permitted. It is read as the server reads it later, so that both see
/// the same.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'f> {
    method: Method<'f>,
    params: Params<'f>,
}

impl<'f> Operation<'f> {
    /// Returns the method.
    pub const fn method(&self) -> Method<'f> {
        self.method
    }

    /// Returns `params.name`, of a tool or a prompt.
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.params.name()
    }

    /// Returns the parameters. They are not checked yet.
    pub const fn params(&self) -> Params<'f> {
        self.params
    }
}

/// The requests of a body: one, or those of a batch (2025-03-26). Notifications, responses and
/// invalid messages are left out.
#[derive(Debug)]
pub struct Operations<'f> {
    messages: Messages<'f>,
}

impl<'f> Operations<'f> {
    /// Returns the requests in a body.
    pub fn of_body(body: &'f [u8]) -> Self {
        Self { messages: Messages::new(Frame::Complete(body)) }
    }
}

impl<'f> Iterator for Operations<'f> {
    type Item = Operation<'f>;

    fn next(&mut self) -> Option<Operation<'f>> {
        loop {
            let mut envelope = self.messages.envelope();
            let (item, next) = self.messages.peek(&mut envelope)?;
            self.messages.advance(next);
            if let Item::Message(Classified::Request { method, .. }) = item {
                return Some(Operation { method, params: envelope.params() });
            }
        }
    }
}
