//! The memory that the parameters of requests in flight take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::driver_waker::DriverWaker;

/// Share of a request in the bytes of parameters, for as long as the request is kept.
pub(super) struct ParamsReservation {
    bytes: usize,
    limit: usize,
    all: Option<Arc<AtomicUsize>>,
    /// Bytes that are given back to the budget of HTTP bodies, and where.
    body: Option<(usize, Arc<AtomicUsize>)>,
    driver: Arc<DriverWaker>,
}

impl ParamsReservation {
    pub(super) fn new(
        bytes: usize,
        all: Option<&Arc<AtomicUsize>>,
        limit: usize,
        driver: &Arc<DriverWaker>,
    ) -> Self {
        if let Some(all) = all {
            all.fetch_add(bytes, Ordering::AcqRel);
        }
        Self { bytes, limit, all: all.cloned(), body: None, driver: Arc::clone(driver) }
    }

    /// Returns the number of the connection, or of the HTTP server.
    #[cfg(feature = "tasks")]
    pub(super) fn connection(&self) -> u64 {
        self.driver.number
    }

    #[cfg(feature = "http")]
    pub(super) fn with_body(mut self, bytes: usize, released: &Arc<AtomicUsize>) -> Self {
        self.body = (bytes > 0).then(|| (bytes, Arc::clone(released)));
        self
    }
}

impl Drop for ParamsReservation {
    fn drop(&mut self) {
        // At the limit a request may be waiting.
        let before = self.all.as_ref().map(|all| all.fetch_sub(self.bytes, Ordering::AcqRel));
        if let Some((bytes, released)) = &self.body {
            released.fetch_add(*bytes, Ordering::Relaxed);
        }
        if before.is_some_and(|before| before >= self.limit) || self.body.is_some() {
            self.driver.notify();
        }
    }
}
