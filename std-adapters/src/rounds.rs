//! Rounds of a call that requests input from its client, behind a lock: the handler and its
//! connection may be on different threads.

use std::sync::{Mutex, OnceLock};
use std::time::SystemTime;

pub use mcp_sansio_engine::MAX_INPUT_RESPONSES;
pub(crate) use mcp_sansio_engine::internal::send_input_required;
use mcp_sansio_engine::internal::{self, NextRound, Shared, StateSeal};

use crate::KeyRing;
use crate::lock::lock;

pub(crate) type Round = internal::Round<Locked<NextRound>>;
#[cfg(feature = "blocking")]
pub(crate) type Asking = internal::Asking<Locked<NextRound>>;

#[derive(Default)]
pub(crate) struct Locked<T>(Mutex<T>);

impl<T: Default + Send> Shared<T> for Locked<T> {
    fn with<R>(&self, call: impl FnOnce(&mut T) -> R) -> R {
        call(&mut lock(&self.0))
    }
}

/// Returns the seal of the state of a request: with the keys of the application, or with one that
/// the process draws when it first needs it.
pub(crate) fn state_seal(keys: Option<&KeyRing>, owner: Option<String>) -> StateSeal<'_> {
    static OF_PROCESS: OnceLock<Option<KeyRing>> = OnceLock::new();
    let drawn = || {
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok().map(|()| KeyRing::new(key))
    };
    let keys = keys.or_else(|| OF_PROCESS.get_or_init(drawn).as_ref());
    StateSeal { keys, now: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(), owner }
}
