//! The memory that the parameters of requests in flight take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::driver_waker::DriverWaker;
#[cfg(feature = "http")]
use super::http::Held;

/// Share of a request in the bytes of parameters, for as long as the request is kept.
pub(crate) struct ParamsReservation {
    bytes: usize,
    limit: usize,
    all: Option<Arc<AtomicUsize>>,
    /// What the request holds of its HTTP server.
    #[cfg(feature = "http")]
    held: Option<Held>,
    driver: Arc<DriverWaker>,
}

impl ParamsReservation {
    pub(crate) fn new(
        bytes: usize,
        all: Option<&Arc<AtomicUsize>>,
        limit: usize,
        driver: &Arc<DriverWaker>,
    ) -> Self {
        if let Some(all) = all {
            all.fetch_add(bytes, Ordering::AcqRel);
        }
        Self {
            bytes,
            limit,
            all: all.cloned(),
            #[cfg(feature = "http")]
            held: None,
            driver: Arc::clone(driver),
        }
    }

    /// Returns the number of the connection, or of the HTTP server.
    pub(crate) fn connection(&self) -> u64 {
        self.driver.number
    }

    #[cfg(feature = "http")]
    pub(crate) fn with(mut self, held: Held) -> Self {
        self.held = Some(held);
        self
    }
}

impl Drop for ParamsReservation {
    fn drop(&mut self) {
        // At the limit a request may be waiting.
        let before = self.all.as_ref().map(|all| all.fetch_sub(self.bytes, Ordering::AcqRel));
        let is_awaited = before.is_some_and(|before| before >= self.limit);
        #[cfg(feature = "http")]
        let is_awaited = self.held.take().is_some_and(Held::give_back) || is_awaited;
        if is_awaited {
            self.driver.notify();
        }
    }
}
