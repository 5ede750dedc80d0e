//! Subscriptions to changes.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_lite::Stream;
use mcp_sansio::types::{ResourceParams, SubscriptionFilter};
use mcp_sansio::{CallOptions, OwnedJson, RawJson};
use mcp_sansio_engine::CallError;

use super::application::CallEvent;
use super::call::PendingCall;
use super::handle::Client;

/// Something that changed: cached copies of it are stale.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource with this URI, or a sub-resource of it.
    Resource(Arc<str>),
    /// The state of the task with this id.
    Task(Arc<str>),
    /// Changes were dropped, because more arrived than are kept: anything subscribed to may have
    /// changed.
    Missed,
}

/// A stream of changes. It ends when the server ends the subscription, or with the connection.
/// Repeated changes that have not been read are reported once. Dropping it ends the subscription.
pub struct Subscription {
    call: PendingCall,
    filter: Option<OwnedJson>,
    ended: Option<Option<CallError>>,
}

impl Client {
    /// Subscribes to changes (`subscriptions/listen`), and waits until the server has acknowledged
    /// it.
    ///
    /// A legacy server reports changes of its lists without a subscription. Resources are
    /// subscribed to one by one, and stay subscribed: send `resources/unsubscribe` to end that.
    ///
    /// Cancel safe: dropping the future cancels the call.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn listen(
        &self,
        filter: &SubscriptionFilter<'_>,
        options: CallOptions,
    ) -> Result<Subscription, CallError> {
        let (connected, left) = self.connected_within(self.limit(options)).await?;
        if !connected.revision.is_modern() {
            return self.listen_to_legacy(filter, options.limit(left)).await;
        }
        let call = PendingCall::begin(&self.0, |session, now| {
            session.engine.listen(now, filter, options.limit(left), &mut session.app)
        });
        let call = call.await?;
        loop {
            match call.next_event().await {
                CallEvent::Listening(filter) => {
                    return Ok(Subscription { call, filter: Some(filter), ended: None });
                }
                CallEvent::Finished(over) => {
                    return Err(over.result.err().unwrap_or(CallError::Closed));
                }
                _ => {}
            }
        }
    }

    async fn listen_to_legacy(
        &self,
        filter: &SubscriptionFilter<'_>,
        options: CallOptions,
    ) -> Result<Subscription, CallError> {
        let call = PendingCall::begin(&self.0, |session, now| {
            session.engine.listen_to_legacy(now, filter)
        });
        let call = call.await?;
        for uri in filter.resource_subscriptions.unwrap_or_default().iter().flatten() {
            let mut params = ResourceParams::new("");
            params.uri = uri;
            self.request("resources/subscribe", &params, options).await?;
        }
        Ok(Subscription { call, filter: None, ended: None })
    }
}

impl Subscription {
    /// Returns the [`SubscriptionFilter`] that a modern server acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> Option<RawJson<'_>> {
        self.filter.as_ref().map(OwnedJson::as_raw)
    }

    /// Returns the error that ended the stream. `None` while it is open, and if the server ended
    /// it.
    #[must_use]
    pub fn error(&self) -> Option<&CallError> {
        self.ended.as_ref()?.as_ref()
    }
}

impl Stream for Subscription {
    type Item = Change;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        let this = self.get_mut();
        while this.ended.is_none() {
            match ready!(this.call.poll_event(cx)) {
                CallEvent::Change(change) => return Poll::Ready(Some(change)),
                CallEvent::Finished(over) => {
                    this.ended = Some(over.result.err());
                }
                _ => {}
            }
        }
        Poll::Ready(None)
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("filter", &self.filter)
            .field("ended", &self.ended)
            .finish()
    }
}
