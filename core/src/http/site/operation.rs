//! The requests of a body, before they are handled.

use crate::json::JsonStr;
use crate::lifecycle::Method;
use crate::message::{Item, Kind, Messages, Params};
use crate::rx::Frame;

/// A request that has to be permitted. It is read as the server reads it later, so that both see
/// the same.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'f> {
    method: Method<'f>,
    params: Params<'f>,
}

impl<'f> Operation<'f> {
    /// Returns the method.
    #[must_use]
    pub const fn method(&self) -> Method<'f> {
        self.method
    }

    /// Returns `params.name`, of a tool or a prompt.
    #[must_use]
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.params.name()
    }

    /// Returns the parameters. They are not checked yet.
    #[must_use]
    pub const fn params(&self) -> Params<'f> {
        self.params
    }
}

/// The requests of a body: one, or those of a batch (2025-03-26). Notifications, responses and
/// invalid messages are left out.
#[derive(Debug)]
pub struct Operations<'f> {
    body: &'f [u8],
    messages: Messages<'f>,
}

impl<'f> Operations<'f> {
    pub(super) fn new(body: &'f [u8]) -> Self {
        Self { body, messages: Messages::new(Frame::Complete(body)) }
    }

    /// Returns the requests from the first one again.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::new(self.body)
    }
}

impl<'f> Iterator for Operations<'f> {
    type Item = Operation<'f>;

    fn next(&mut self) -> Option<Operation<'f>> {
        loop {
            let mut envelope = self.messages.envelope();
            let (item, next) = self.messages.peek(&mut envelope)?;
            self.messages.advance(next);
            if let Item::Message(Kind::Request { method, .. }) = item {
                return Some(Operation { method, params: envelope.params() });
            }
        }
    }
}
