//! Counts what the requests of a client take of a server, beside what the site counts.

use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use mcp_sansio_engine::site::Holder;
use mcp_sansio_engine::{PlaceLimit, Places};

use crate::lock::lock;

/// Places that are given back without the lock of the site.
#[derive(Default)]
pub(crate) struct SharedPlaces(Mutex<Places<Holder>>);

/// A place, until it is dropped.
pub(crate) struct Place {
    places: Arc<SharedPlaces>,
    holder: Option<Holder>,
}

impl SharedPlaces {
    pub(crate) fn take(
        self: &Arc<Self>,
        holder: Option<Holder>,
        limit: PlaceLimit,
    ) -> Option<Place> {
        self.lock().take(1, holder.as_ref(), limit).ok()?;
        Some(Place { places: Arc::clone(self), holder })
    }

    fn lock(&self) -> MutexGuard<'_, Places<Holder>> {
        lock(&self.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().give_back(1, self.holder.as_ref());
    }
}

/// Bytes of bodies that handlers no longer keep, by client.
#[derive(Default)]
pub(crate) struct Released {
    has_any: AtomicBool,
    bytes: Mutex<Vec<(usize, Option<Holder>)>>,
}

impl Released {
    pub(crate) fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    pub(crate) fn take(&self) -> Vec<(usize, Option<Holder>)> {
        if !self.has_any() {
            return Vec::new();
        }
        let mut bytes = self.lock();
        self.has_any.store(false, Ordering::Release);
        take(&mut *bytes)
    }

    fn add(&self, bytes: usize, holder: Option<Holder>) {
        let mut all = self.lock();
        all.push((bytes, holder));
        self.has_any.store(true, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(usize, Option<Holder>)>> {
        lock(&self.bytes)
    }
}

/// Holds the place of a request with a handler, and its bytes of the budget of bodies.
pub(crate) struct Held {
    place: Place,
    bytes: Option<(usize, Arc<Released>)>,
}

impl Held {
    pub(crate) fn new(place: Place, bytes: usize, released: &Arc<Released>) -> Self {
        Self { place, bytes: (bytes > 0).then(|| (bytes, Arc::clone(released))) }
    }

    /// Gives all of it back. Returns whether the site has bytes to take back.
    pub(crate) fn give_back(self) -> bool {
        let Some((bytes, released)) = self.bytes else { return false };
        released.add(bytes, self.place.holder.clone());
        true
    }
}
