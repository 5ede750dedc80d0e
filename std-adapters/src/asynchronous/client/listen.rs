//! Subscriptions to changes.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_lite::Stream;
use mcp_sansio::types::SubscriptionFilter;
use mcp_sansio::{CallOptions, OwnedJson, RawJson};
use mcp_sansio_engine::{CallError, Change};

use super::call::PendingCall;
use super::handle::Client;

/// A stream of changes. It ends when the server ends the subscription, or with the connection.
/// Repeated changes that have not been read are reported once. Dropping it ends the subscription.
///
/// After the end of the connection ([`CallError::Closed`]) it goes on if the client
/// [reconnects](Client::reconnect): poll it again.
pub struct Subscription {
    call: PendingCall,
    filter: OwnedJson,
    ended: Option<Option<CallError>>,
}

impl Client {
    /// Subscribes to changes, and waits until the server has acknowledged it.
    ///
    /// A modern server gets `subscriptions/listen`. A legacy server reports changes of its lists
    /// unasked, and gets a `resources/subscribe` for each resource.
    ///
    /// Cancel safe: dropping the future cancels the call.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn listen(
        &self,
        filter: &SubscriptionFilter<'_>,
        mut options: CallOptions,
    ) -> Result<Subscription, CallError> {
        options.limit = Some(self.limit(options));
        let call = self.start(options, |session, now, options| {
            session.engine.listen(now, filter, options, &mut session.app)
        });
        let call = call.await?;
        let acknowledged = poll_fn(|cx| {
            self.0.inner.poll(cx, |session| {
                if let Some(filter) = session.engine.acknowledged(call.id) {
                    return Poll::Ready(Ok(filter.clone()));
                }
                if let Some(over) = session.engine.take(call.id) {
                    return Poll::Ready(Err(over.result.err().unwrap_or(CallError::Closed)));
                }
                session.app.events.wake_by(call.id, cx.waker());
                Poll::Pending
            })
        });
        let filter = acknowledged.await?;
        Ok(Subscription { call, filter, ended: None })
    }
}

impl Subscription {
    /// Returns the [`SubscriptionFilter`] that the server acknowledged: of a legacy server, all
    /// that was asked for.
    pub fn acknowledged(&self) -> RawJson<'_> {
        self.filter.as_raw()
    }

    /// Returns the error that ended the stream. `None` while it is open, and if the server ended
    /// it.
    pub fn error(&self) -> Option<&CallError> {
        self.ended.as_ref()?.as_ref()
    }
}

impl Stream for Subscription {
    type Item = Change;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        let this = self.get_mut();
        if !matches!(this.ended, None | Some(Some(CallError::Closed))) {
            return Poll::Ready(None);
        }
        let change = ready!(this.call.poll_change(cx));
        this.ended = change.as_ref().err().cloned();
        Poll::Ready(change.ok())
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
