//! Wakers of those who wait for the same event.

use alloc::collections::BTreeMap;
use core::task::Waker;

/// Wakers of futures that wait for the same event. Each future has one place, however often it is
/// polled, and returns it when it is dropped, so there are never more wakers than futures.
#[derive(Default)]
pub struct WakerSet {
    by_place: BTreeMap<u64, Waker>,
    places: u64,
}

impl WakerSet {
    /// Keeps the waker of a future. `place` belongs to the future: `None` until it waits for the
    /// first time.
    pub fn wait(&mut self, place: &mut Option<u64>, waker: &Waker) {
        let place = *place.get_or_insert_with(|| {
            self.places += 1;
            self.places
        });
        let kept = self.by_place.entry(place).or_insert_with(|| waker.clone());
        kept.clone_from(waker);
    }

    /// Removes the waker of a future that stopped waiting.
    pub fn leave(&mut self, place: u64) {
        self.by_place.remove(&place);
    }

    /// Takes all wakers, to be woken. Futures that go on waiting keep their places.
    #[inline]
    pub fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        core::mem::take(&mut self.by_place).into_values()
    }

    /// Returns whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }
}
