//! Subscriptions to changes.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_lite::Stream;
use mcp_sansio::types::{ResourceParams, SubscriptionFilter};
use mcp_sansio::{CallOptions, Changed, OwnedJson, RawJson};

use super::call::PendingCall;
use super::calls::{CallEvent, OwnedOutcome};
use super::deadline::Deadline;
use super::error::CallError;
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

impl From<Changed<'_>> for Change {
    fn from(changed: Changed<'_>) -> Self {
        match changed {
            Changed::Tools => Self::Tools,
            Changed::Prompts => Self::Prompts,
            Changed::Resources => Self::Resources,
            Changed::Resource { uri } => Self::Resource(uri.to_string().into()),
            Changed::Task(task) => match task.get("taskId").and_then(RawJson::as_string) {
                Some(id) => Self::Task(id.to_string().into()),
                None => Self::Missed,
            },
            _ => Self::Missed,
        }
    }
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
        let deadline = Deadline::after(self.limit(options), &self.0.inner);
        if !self.connected_before(deadline).await?.revision.is_modern() {
            return self
                .listen_to_legacy(filter, options.limit(deadline.left(&self.0.inner)))
                .await;
        }
        let call = PendingCall::start(&self.0, deadline, |client, now, left, tx| {
            client.listen(now, filter, options.limit(left), tx)
        })
        .await?;
        loop {
            match call.next_event().await {
                CallEvent::Listening(filter) => {
                    return Ok(Subscription { call, filter: Some(filter), ended: None });
                }
                CallEvent::Finished(ended) => return Err(ended.into_error()),
                _ => {}
            }
        }
    }

    async fn listen_to_legacy(
        &self,
        filter: &SubscriptionFilter<'_>,
        options: CallOptions,
    ) -> Result<Subscription, CallError> {
        let resources = filter.resource_subscriptions.unwrap_or_default();
        let legacy_filter = LegacyFilter {
            tools: filter.tools_list_changed.unwrap_or(false),
            prompts: filter.prompts_list_changed.unwrap_or(false),
            list: filter.resources_list_changed.unwrap_or(false),
            resources: !resources.is_empty(),
        };
        let call = PendingCall::without_call(&self.0, |state, number| {
            state.calls.set_legacy_filter(number, legacy_filter)
        });
        for uri in resources.iter().flatten() {
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
                CallEvent::Finished(OwnedOutcome::Error(error)) => this.ended = Some(Some(error)),
                CallEvent::Finished(_) => this.ended = Some(None),
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

/// Kinds of changes of a legacy server that a subscription reports.
#[derive(Clone, Copy)]
pub(crate) struct LegacyFilter {
    tools: bool,
    prompts: bool,
    list: bool,
    resources: bool,
}

impl LegacyFilter {
    pub(crate) fn has(self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.list,
            Change::Resource(_) => self.resources,
            Change::Task(_) => false,
            Change::Missed => true,
        }
    }
}
