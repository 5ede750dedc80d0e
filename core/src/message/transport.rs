//! The transport that a message came with: a stream, or an HTTP request whose head repeats some of
//! its members.

use core::marker::PhantomData;

use crate::handle::ExchangeId;
#[cfg(feature = "http")]
use crate::head::RequestHead;

/// The transport of one frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransportContext<'f> {
    /// The head of the HTTP request, and the id of its exchange.
    #[cfg(feature = "http")]
    http: Option<(&'f RequestHead<'f>, ExchangeId)>,
    lent: PhantomData<&'f ()>,
}

impl<'f> TransportContext<'f> {
    pub(crate) const STREAM: Self = Self {
        #[cfg(feature = "http")]
        http: None,
        lent: PhantomData,
    };

    #[cfg(feature = "http")]
    pub(crate) const fn http(head: &'f RequestHead<'f>, exchange: ExchangeId) -> Self {
        Self { http: Some((head, exchange)), lent: PhantomData }
    }

    #[cfg(feature = "http")]
    pub(crate) fn head(&self) -> Option<&'f RequestHead<'f>> {
        self.http.map(|(head, _)| head)
    }

    pub(crate) fn exchange(&self) -> ExchangeId {
        #[cfg(feature = "http")]
        return self.http.map_or(ExchangeId::SESSION, |(_, exchange)| exchange);
        #[cfg(not(feature = "http"))]
        ExchangeId::SESSION
    }
}
