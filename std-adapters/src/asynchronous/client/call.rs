//! One call: cancelled when it is dropped.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_sansio::types::ProgressParams;
use mcp_sansio::{Instant, OwnedJson, SendError};
use mcp_sansio_engine::internal::CallEvent;
use mcp_sansio_engine::{CallError, CallId, Change, Finished};

use super::handle::ClientInner;
use super::inner::{Command, Session};

/// A call whose result was not taken.
pub(crate) struct PendingCall {
    /// Keeps the connection open.
    owner: Arc<ClientInner>,
    pub(crate) id: CallId,
}

impl PendingCall {
    /// Makes a call. `begin` does, once the connection does not work with the session.
    pub(crate) async fn begin(
        owner: &Arc<ClientInner>,
        mut begin: impl FnMut(&mut Session, Instant) -> Result<CallId, SendError>,
    ) -> Result<Self, CallError> {
        let begun = Self::begin_unless(owner, |session, now| begin(session, now).map(Some)).await?;
        begun.ok_or(CallError::Closed)
    }

    /// As [`begin`](Self::begin), for what may be over at once.
    pub(crate) async fn begin_unless(
        owner: &Arc<ClientInner>,
        mut begin: impl FnMut(&mut Session, Instant) -> Result<Option<CallId>, SendError>,
    ) -> Result<Option<Self>, CallError> {
        let inner = &owner.inner;
        let mut begin = |session: &mut Session, now| {
            if let Poll::Ready(Err(error)) = session.poll_connected() {
                return Err(error);
            }
            session.is_changed = true;
            let id = begin(session, now).map_err(CallError::NotSent)?;
            id.into_iter().for_each(|id| session.app.events.open(id));
            Ok(id)
        };
        let begun = poll_fn(|cx| inner.poll(cx, |it| Poll::Ready(begin(it, inner.now()))));
        Ok(begun.await?.map(|id| Self { owner: Arc::clone(owner), id }))
    }

    pub(crate) fn poll_event(&self, cx: &Context<'_>) -> Poll<CallEvent> {
        self.owner.inner.poll(cx, |session| session.poll_call(self.id, cx))
    }

    pub(crate) fn poll_change(&self, cx: &Context<'_>) -> Poll<Result<Change, Option<CallError>>> {
        self.owner.inner.poll(cx, |session| session.poll_change(self.id, cx))
    }

    pub(crate) async fn next_event(&self) -> CallEvent {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Waits for the end.
    pub(crate) async fn finished(
        &self,
        on_progress: &mut impl FnMut(&ProgressParams<'_>),
    ) -> Finished {
        loop {
            if let Some(over) = self.next_event().await.finished(on_progress) {
                return over;
            }
        }
    }

    /// Waits for the result.
    pub(crate) async fn result(
        self,
        on_progress: &mut impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, CallError> {
        self.finished(on_progress).await.result
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.owner.inner.command(Command::Cancel(self.id));
    }
}
