//! A lock that ends by itself when its holder does.

use std::time::Duration;

use super::{Store, StoreError};

/// A lock under a key of a store, for a time. The store is a reference or an `Arc` of one. Of the
/// processes that share the store one can hold it, for example the one that resumes a task.
///
/// The holder has to be done, or to [`renew`](Self::renew) it, before the time is over: then
/// another can acquire it. So a lease that is dropped without [`release`](Self::release) ends by
/// itself.
#[derive(Debug)]
pub struct Lease<S: Store> {
    store: S,
    key: String,
    holder: [u8; 16],
}

impl<S: Store> Lease<S> {
    /// Acquires the lease of `key` for `ttl`, unless another has it.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; without random numbers [`StoreError::Failed`].
    pub fn acquire(store: S, key: &str, ttl: Duration) -> Result<Option<Self>, StoreError> {
        let mut holder = [0; 16];
        getrandom::fill(&mut holder).map_err(|error| StoreError::Failed(error.into()))?;
        let acquired = store.compare_and_put(key, None, &holder, Some(ttl))?;
        Ok(acquired.then(|| Self { store, key: key.to_owned(), holder }))
    }

    /// Extends the lease to `ttl` from now. Returns whether it is still this one's: otherwise its
    /// time was over.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub fn renew(&self, ttl: Duration) -> Result<bool, StoreError> {
        self.store.compare_and_put(&self.key, Some(&self.holder), &self.holder, Some(ttl))
    }

    /// Lets others acquire it.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]. The lease then ends when its time is over.
    pub fn release(self) -> Result<(), StoreError> {
        self.renew(Duration::ZERO).map(drop)
    }
}
