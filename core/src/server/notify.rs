//! Notifications: progress, log messages, changes.

use super::Server;
use super::inflight::RequestKind;
use super::subscriptions::{Kinds, Owner, SubscriptionMeta};
#[cfg(feature = "tasks")]
use crate::encode::{Addition, Additions, Encoder, With};
use crate::encode::{Encode, object};
use crate::error::{NotAllowed, SendError};
use crate::handle::{Delivery, Remaining, RequestHandle};
use crate::inflight::Slot;
use crate::json::RawJson;
use crate::lifecycle::{ClientFeatures, Revision, ServerFeatures};
use crate::message::{OwnedId, hash_str};
use crate::progress::Progress;
use crate::rpc::write_notification;
#[cfg(feature = "tasks")]
use crate::rpc::write_notification_head;
use crate::time::Instant;
use crate::tx::{Tx, WriterId};
use crate::types::LoggingLevel;
#[cfg(feature = "tasks")]
use crate::types::SUBSCRIPTION_ID;

/// A log message. Deprecated since 2026-07-28 in favour of standard error and telemetry.
#[derive(Debug)]
pub struct LogMessage<'a, T: ?Sized> {
    /// Severity.
    pub level: LoggingLevel,
    /// Name of the logger.
    pub logger: Option<&'a str>,
    /// The data: a string, or any other JSON value.
    pub data: &'a T,
}

impl<'a, T: ?Sized> LogMessage<'a, T> {
    /// Creates a message without a logger name.
    pub const fn new(level: LoggingLevel, data: &'a T) -> Self {
        Self { level, logger: None, data }
    }

    /// Sets the name of the logger.
    #[must_use]
    pub const fn logger(self, logger: &'a str) -> Self {
        Self { logger: Some(logger), ..self }
    }
}

/// A change to report to subscribers, and the position of the next subscriber.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change<'a> {
    kind: Kinds,
    uri: &'a str,
    hash: u64,
    /// The parameters as JSON, if it is a task.
    #[cfg(feature = "tasks")]
    task: Option<&'a str>,
    /// Zero: the legacy session is next. Otherwise the next slot of the request table, plus one.
    next: u16,
}

impl<'a> Change<'a> {
    /// The list of tools has changed.
    #[must_use]
    pub const fn tools() -> Self {
        Self::of(Kinds::TOOLS)
    }

    /// The list of prompts has changed.
    #[must_use]
    pub const fn prompts() -> Self {
        Self::of(Kinds::PROMPTS)
    }

    /// The list of resources has changed.
    #[must_use]
    pub const fn resources() -> Self {
        Self::of(Kinds::RESOURCES)
    }

    /// This resource has changed.
    #[must_use]
    pub fn resource(uri: &'a str) -> Self {
        Self { uri, hash: hash_str(uri), ..Self::of(Kinds::UPDATES) }
    }

    /// This task has changed: for each `subscriptions/listen` that names it (2026-07-28).
    /// `details` is the task as of [`TaskInfo::details`](crate::tasks::TaskInfo::details).
    #[cfg(feature = "tasks")]
    #[must_use]
    pub fn task(id: &'a str, details: RawJson<'a>) -> Self {
        let hash = super::tasks::hash_of_task(id);
        Self { uri: id, hash, task: Some(details.as_str()), ..Self::of(Kinds::TASKS) }
    }

    /// A task of the session has changed (2025-11-25). `task` is a
    /// [`TaskInfo`](crate::tasks::TaskInfo) of this revision. Publish it on the connection of the
    /// client that created the task only.
    #[cfg(feature = "tasks")]
    #[must_use]
    pub fn session_task(id: &'a str, task: RawJson<'a>) -> Self {
        let hash = super::tasks::hash_of_task(id);
        Self { uri: id, hash, task: Some(task.as_str()), ..Self::of(Kinds::SESSION_TASK) }
    }

    const fn of(kind: Kinds) -> Self {
        Self {
            kind,
            uri: "",
            hash: 0,
            #[cfg(feature = "tasks")]
            task: None,
            next: 0,
        }
    }

    /// Returns the URI if a resource has changed, and `None` if a list has.
    #[must_use]
    pub fn uri(&self) -> Option<&'a str> {
        (self.kind == Kinds::UPDATES).then_some(self.uri)
    }

    /// Returns the position of the next subscriber, to [`resume`](Self::resume) with if the change
    /// cannot be stored because it borrows its URI.
    #[must_use]
    pub const fn position(&self) -> u16 {
        self.next
    }

    /// Sets the position of the next subscriber.
    #[must_use]
    pub const fn resume(self, position: u16) -> Self {
        Self { next: position, ..self }
    }

    /// Returns the same change with its texts in other memory: the URI, or the id of the task, and
    /// the parameters of the task.
    #[cfg(feature = "alloc")]
    pub(crate) fn with_texts<'b>(&self, uri: &'b str, task: &'b str) -> Change<'b> {
        #[cfg(not(feature = "tasks"))]
        let _ = task;
        Change {
            kind: self.kind,
            uri,
            hash: self.hash,
            #[cfg(feature = "tasks")]
            task: self.task.map(|_| task),
            next: self.next,
        }
    }

    /// Returns the texts: the URI, or the id of the task, and the parameters of the task.
    #[cfg(feature = "alloc")]
    pub(crate) fn texts(&self) -> (&'a str, &'a str) {
        #[cfg(feature = "tasks")]
        if let Some(task) = self.task {
            return (self.uri, task);
        }
        (self.uri, "")
    }

    /// Whether only the latest state counts, and the client is told of each change.
    #[cfg(any(feature = "alloc", feature = "tasks"))]
    pub(crate) fn is_task(&self) -> bool {
        #[cfg(feature = "tasks")]
        return self.task.is_some();
        #[cfg(not(feature = "tasks"))]
        false
    }

    fn method(self) -> &'static str {
        match self.kind {
            Kinds::TOOLS => "notifications/tools/list_changed",
            Kinds::PROMPTS => "notifications/prompts/list_changed",
            Kinds::RESOURCES => "notifications/resources/list_changed",
            #[cfg(feature = "tasks")]
            Kinds::TASKS => "notifications/tasks",
            #[cfg(feature = "tasks")]
            Kinds::SESSION_TASK => "notifications/tasks/status",
            _ => "notifications/resources/updated",
        }
    }
}

impl Server<'_> {
    /// Sends a progress notification for a request, if the client requested progress.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again, or drop the notification. [`SendError::TooLarge`]
    /// if it is longer than the buffer: shorten the message.
    pub fn progress(
        &mut self,
        now: Instant,
        request: RequestHandle,
        progress: &Progress<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Delivery, SendError> {
        let interval = self.config.progress_interval;
        let Some(pending) = self.requests.get_mut(request.0) else { return Ok(Delivery::Gone) };
        if pending.token.is_empty() {
            return Ok(Delivery::NotRequested);
        }
        pending.reported.report(
            now,
            interval,
            pending.token.as_str(),
            progress,
            pending.revision,
            tx,
        )
    }

    /// Sends a log message that belongs to a request, if the client requested that level (in
    /// `_meta`, or in its session).
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again, or drop the message. [`SendError::TooLarge`] if
    /// it is longer than the buffer: shorten it. [`SendError::NotAllowed`] if the capability
    /// `logging` is not declared.
    pub fn log<T: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        message: &LogMessage<'_, T>,
        tx: &mut Tx<'_>,
    ) -> Result<Delivery, SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(Delivery::Gone) };
        let revision = pending.revision;
        let level = if revision.is_modern() {
            pending.log_level
        } else {
            self.peer.session.map(|scope| scope.log_level)
        };
        self.write_log(revision, level, message, None, tx)
    }

    /// Sends a log message that belongs to no request to a legacy client. A modern client cannot
    /// receive it ([`Delivery::NotRequested`]).
    ///
    /// # Errors
    /// As [`log`](Self::log).
    pub fn log_unrelated<T: Encode + ?Sized>(
        &mut self,
        message: &LogMessage<'_, T>,
        tx: &mut Tx<'_>,
    ) -> Result<Delivery, SendError> {
        let level = self.peer.session.map(|scope| scope.log_level);
        self.write_log(self.fallback_revision(), level, message, None, tx)
    }

    /// Sends a log message of a task to the session (2025-11-25). In 2026-07-28 tasks have none.
    ///
    /// # Errors
    /// As [`log`](Self::log).
    #[cfg(feature = "tasks")]
    pub fn task_log<T: Encode + ?Sized>(
        &mut self,
        task: crate::tasks::TaskId,
        message: &LogMessage<'_, T>,
        tx: &mut Tx<'_>,
    ) -> Result<Delivery, SendError> {
        let level = self.peer.session.map(|scope| scope.log_level);
        let related = super::related_task(task);
        let meta = With(|to: &mut Encoder<'_>| {
            to.begin_object();
            to.member(crate::types::meta::RELATED_TASK, &related);
            to.end_object();
        });
        self.write_log(self.fallback_revision(), level, message, Some(&meta), tx)
    }

    fn write_log<T: Encode + ?Sized>(
        &self,
        revision: Revision,
        least: Option<LoggingLevel>,
        message: &LogMessage<'_, T>,
        meta: Option<&dyn Encode>,
        tx: &mut Tx<'_>,
    ) -> Result<Delivery, SendError> {
        if !self.config.capabilities().contains(ServerFeatures::LOGGING) {
            return Err(SendError::NotAllowed(NotAllowed::Capability));
        }
        if least.is_none_or(|least| message.level < least) {
            return Ok(Delivery::NotRequested);
        }
        tx.whole_frame(revision, &mut |writer| {
            let LogMessage { level, logger, data } = message;
            let params =
                object!({ "level": level, "logger"?: logger, "data": data, "_meta"?: meta });
            write_notification(writer, "notifications/message", &params);
        })?;
        Ok(Delivery::Sent)
    }

    /// Sends a notification without a method of its own here to a legacy client, e.g.
    /// `notifications/elicitation/complete`.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] before
    /// `notifications/initialized`, for modern clients, and for notifications with a method of
    /// their own here, which checks whether the client may receive them.
    pub fn notify<P: Encode + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let Some(scope) = self.peer.session.filter(|scope| scope.is_ready()) else {
            return Err(SendError::NotAllowed(NotAllowed::NotOpen));
        };
        if HAVE_A_METHOD.contains(&method) {
            return Err(SendError::NotAllowed(NotAllowed::Method));
        }
        if method == "notifications/elicitation/complete" {
            if scope.revision != Revision::V2025_11_25 {
                return Err(SendError::NotAllowed(NotAllowed::Revision));
            }
            if !scope.capabilities.contains(ClientFeatures::ELICITATION_URL) {
                return Err(SendError::NotAllowed(NotAllowed::Capability));
            }
        }
        tx.frame(WriterId::application(hash_str(method) as u32), scope.revision, &mut |writer| {
            write_notification(writer, method, params)
        })
    }

    /// Notifies one subscriber of a change; returns [`Remaining::Done`] after the last one. `while
    /// server.publish(&mut change, tx)?.is_more() {}`, or [`send`](crate::TxBuffer::send) around
    /// each call.
    ///
    /// Subscribers are the legacy client, if the capability is declared and, for a resource, the
    /// client subscribed to it; and each `subscriptions/listen` whose filter contains the change.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again with the same change.
    pub fn publish(
        &mut self,
        change: &mut Change<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Remaining, SendError> {
        if !self.config.capabilities().contains(change.kind.list_changed()) {
            return Ok(Remaining::Done);
        }
        if change.next == 0 {
            if let Some(scope) =
                self.peer.session.filter(|scope| scope.is_ready() && self.legacy_wants(change))
            {
                write_change(change, 0, scope.revision, None, tx)?;
                change.next = 1;
                return Ok(Remaining::More);
            }
            change.next = 1;
        }
        // Linear search: few requests are open, and few of them are subscriptions.
        let next = self
            .requests
            .slots()
            .find(|slot| slot.index + 1 >= change.next && self.listener_wants(*slot, change));
        let Some(slot) = next else { return Ok(Remaining::Done) };
        if let Some(pending) = self.requests.get(slot) {
            write_change(change, slot.serial, pending.revision, Some(&pending.id), tx)?;
        }
        change.next = slot.index + 2;
        Ok(Remaining::More)
    }

    /// Returns whether the change has a subscriber. A change without one can be dropped instead of
    /// stored until there is room.
    #[must_use]
    pub fn is_subscribed(&self, change: &Change<'_>) -> bool {
        self.config.capabilities().contains(change.kind.list_changed())
            && (self.peer.session.is_some_and(|scope| scope.is_ready())
                && self.legacy_wants(change)
                || self.requests.slots().any(|slot| self.listener_wants(slot, change)))
    }

    fn legacy_wants(&self, change: &Change<'_>) -> bool {
        #[cfg(feature = "tasks")]
        if change.is_task() {
            let session = self.peer.session;
            return change.kind == Kinds::SESSION_TASK
                && session.is_some_and(|session| session.revision == Revision::V2025_11_25);
        }
        change.kind != Kinds::UPDATES || self.subscriptions.contains(Owner::SESSION, change.hash)
    }

    fn listener_wants(&self, slot: Slot, change: &Change<'_>) -> bool {
        // No notification may precede the acknowledgement.
        let Some(RequestKind::Listen(kinds)) = self.requests.get(slot).map(|pending| pending.kind)
        else {
            return false;
        };
        self.peer.acknowledging != Some(slot)
            && kinds.contains(change.kind)
            && (change.uri.is_empty()
                || self.subscriptions.contains(Owner::listen(slot), change.hash))
    }
}

fn write_change(
    change: &Change<'_>,
    to: u32,
    revision: Revision,
    subscription: Option<&OwnedId>,
    tx: &mut Tx<'_>,
) -> Result<(), SendError> {
    let hash = change.hash as u32 ^ u32::from(change.kind.0) << 24 ^ to;
    let uri = (change.kind == Kinds::UPDATES).then_some(change.uri);
    let meta = subscription.map(|id| SubscriptionMeta(RawJson::scanned(id.as_str())));
    #[cfg(feature = "tasks")]
    if let Some(task) = change.task {
        let meta = subscription.map(|id| RawJson::scanned(id.as_str()));
        let meta = meta.as_ref().map(|value| Addition {
            name: SUBSCRIPTION_ID,
            value,
            is_reserved: false,
        });
        let additions = Additions { members: &[], meta: meta.as_slice() };
        return tx.frame(WriterId::application(hash), revision, &mut |writer| {
            write_notification_head(writer, change.method());
            writer.completed(&RawJson::scanned(task), &additions);
            writer.put(b"}")
        });
    }
    let params = object!({ "uri"?: uri, "_meta"?: meta });
    tx.frame(WriterId::application(hash), revision, &mut |writer| {
        write_notification(writer, change.method(), &params)
    })
}

/// Notifications with a method of their own, which checks whether the client may receive them.
const HAVE_A_METHOD: &[&str] = &[
    "notifications/cancelled",
    "notifications/message",
    "notifications/progress",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    #[cfg(feature = "tasks")]
    "notifications/tasks/status",
    "notifications/tools/list_changed",
];
