//! The transport that a message came with: a stream, or an HTTP request whose head repeats some of
//! its members.

use core::fmt;
use core::marker::PhantomData;

use crate::handle::ExchangeId;
#[cfg(feature = "http")]
use crate::head::Fields;

/// The transport of one frame.
#[derive(Clone, Copy)]
pub(crate) struct TransportContext<'f> {
    /// The fields of the HTTP request, and the id of its exchange.
    #[cfg(feature = "http")]
    http: Option<(&'f dyn Fields, ExchangeId)>,
    lent: PhantomData<&'f ()>,
}

impl<'f> TransportContext<'f> {
    pub(crate) const STREAM: Self = Self {
        #[cfg(feature = "http")]
        http: None,
        lent: PhantomData,
    };

    #[cfg(feature = "http")]
    pub(crate) const fn http(fields: &'f dyn Fields, exchange: ExchangeId) -> Self {
        Self { http: Some((fields, exchange)), lent: PhantomData }
    }

    #[cfg(feature = "http")]
    pub(crate) fn fields(&self) -> Option<&'f dyn Fields> {
        self.http.map(|(fields, _)| fields)
    }

    pub(crate) fn exchange(&self) -> ExchangeId {
        #[cfg(feature = "http")]
        return self.http.map_or(ExchangeId::SESSION, |(_, exchange)| exchange);
        #[cfg(not(feature = "http"))]
        ExchangeId::SESSION
    }
}

impl fmt::Debug for TransportContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TransportContext").field(&self.exchange()).finish()
    }
}
