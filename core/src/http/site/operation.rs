//! The requests of a body, before they are handled.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::ExchangeKey;
use super::principal::Principal;
use crate::json::JsonStr;
use crate::lifecycle::Method;
use crate::message::{Item, Kind, Messages, Params};
use crate::rx::Frame;

/// A POST with its whole body, which has to be permitted: [`SiteStep::Permit`]. It borrows nothing
/// of the site, so that the check can be made where the site is not locked.
///
/// [`SiteStep::Permit`]: super::SiteStep::Permit
#[derive(Debug)]
#[must_use = "the request waits until it is handed back"]
pub struct Unpermitted {
    pub(super) exchange: ExchangeKey,
    pub(super) principal: Option<Arc<Principal>>,
    pub(super) body: Vec<u8>,
}

impl Unpermitted {
    /// Returns the exchange of the request.
    #[must_use]
    pub const fn exchange(&self) -> ExchangeKey {
        self.exchange
    }

    /// Returns the principal of the request.
    #[must_use]
    pub const fn principal(&self) -> Option<&Arc<Principal>> {
        self.principal.as_ref()
    }

    /// Returns the requests in the body: one, those of a batch, or none.
    #[must_use]
    pub fn operations(&self) -> Operations<'_> {
        Operations { messages: Messages::new(Frame::Complete(&self.body)) }
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
    messages: Messages<'f>,
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
