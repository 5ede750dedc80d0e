//! The transport that a message came with: a stream, or an HTTP request whose head repeats some of
//! its members.

use core::marker::PhantomData;

#[cfg(feature = "http")]
use crate::http::RequestHead;

/// The transport of one frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransportContext<'f> {
    /// The head of the request, and the key of its exchange.
    #[cfg(feature = "http")]
    http: Option<(&'f RequestHead<'f>, u32)>,
    lent: PhantomData<&'f ()>,
}

/// The HTTP exchange of a request; zero for a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExchangeKey(#[cfg(feature = "http")] pub(crate) u32);

impl<'f> TransportContext<'f> {
    pub(crate) const STREAM: Self = Self {
        #[cfg(feature = "http")]
        http: None,
        lent: PhantomData,
    };

    #[cfg(feature = "http")]
    pub(crate) const fn http(head: &'f RequestHead<'f>, exchange: u32) -> Self {
        Self { http: Some((head, exchange)), lent: PhantomData }
    }

    #[cfg(feature = "http")]
    pub(crate) fn head(&self) -> Option<&'f RequestHead<'f>> {
        self.http.map(|(head, _)| head)
    }

    pub(crate) fn exchange(&self) -> ExchangeKey {
        ExchangeKey(
            #[cfg(feature = "http")]
            self.http.map_or(0, |(_, exchange)| exchange),
        )
    }
}

impl ExchangeKey {
    pub(crate) fn is_stream(self) -> bool {
        #[cfg(feature = "http")]
        return self.0 == 0;
        #[cfg(not(feature = "http"))]
        true
    }
}
