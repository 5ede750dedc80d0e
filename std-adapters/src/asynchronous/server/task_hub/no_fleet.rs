//! Without a store no tasks are shared.

use mcp_sansio::{Request, Server};

use super::TaskHub;
use super::work::NewTask;
use crate::asynchronous::server::context::ActiveRequest;
use crate::asynchronous::server::reply::PendingResponse;

#[expect(clippy::unused_self, clippy::unused_async, reason = "as with a store")]
impl TaskHub {
    #[cfg(feature = "http")]
    pub(crate) const fn join(&self, _: &str, _: [u8; 8]) {}

    #[cfg(feature = "http")]
    pub(crate) const fn signal(&self, _: Option<mcp_sansio::tasks::TaskId>) {}

    pub(super) const fn is_elsewhere(&self, _: &Request<'_>) -> bool {
        false
    }

    pub(crate) async fn answer_elsewhere(&self, _: &ActiveRequest) -> Result<(), PendingResponse> {
        Ok(())
    }
}

pub(crate) struct Again;

impl Again {
    pub(crate) const fn new(_: &Server<'_>) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as with a store")]
    pub(crate) const fn take(&self) -> Option<NewTask> {
        None
    }
}
