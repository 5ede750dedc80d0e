//! Rounds of a call that requests input from its client, behind a lock: the handler and its
//! connection may be on different threads.

use std::sync::Mutex;

pub(crate) use mcp_sansio_engine::internal::send_input_required;
use mcp_sansio_engine::internal::{self, NextRound, Shared};
pub use mcp_sansio_engine::{MAX_INPUT_RESPONSES, StateProtector};

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
