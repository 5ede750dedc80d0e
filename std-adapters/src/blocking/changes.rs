//! Changes of a catalog that another thread makes.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::Waker;

use mcp_sansio::Change;

use crate::SharedCatalog;
use crate::lock::lock;
use crate::shared_catalog::Listener;

/// Changes that the client has not been told of.
#[derive(Default)]
pub(super) struct Changes {
    untold: Mutex<Vec<Change<'static>>>,
    waker: OnceLock<Waker>,
}

impl Changes {
    pub(super) fn of(catalog: &SharedCatalog) -> Arc<Self> {
        let changes = Arc::<Self>::default();
        catalog.listen(Arc::<Self>::downgrade(&changes));
        changes
    }

    /// Sets the waker of the server, once.
    pub(super) fn set_waker(&self, waker: Waker) {
        let _ = self.waker.set(waker);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.untold().is_empty()
    }

    pub(super) fn take(&self) -> Vec<Change<'static>> {
        mem::take(&mut *self.untold())
    }

    fn untold(&self) -> MutexGuard<'_, Vec<Change<'static>>> {
        lock(&self.untold)
    }
}

impl Listener for Changes {
    fn changed(&self, change: Change<'static>) {
        let mut untold = self.untold();
        if !untold.contains(&change) {
            untold.push(change);
        }
        drop(untold);
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }
}
