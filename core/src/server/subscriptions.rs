//! Subscriptions: `subscriptions/listen` (2026-07-28) and `resources/subscribe` (before).

#[cfg(feature = "alloc")]
use alloc::collections::VecDeque;
#[cfg(feature = "alloc")]
use alloc::string::String;

#[cfg(feature = "alloc")]
use super::InflightRequest;
#[cfg(feature = "tasks")]
use super::Request;
use super::event::ServerEvent;
#[cfg(feature = "alloc")]
use super::respond::Change;
use super::respond::{response_key, subscription_key};
use super::rules::{refuse, respond_empty, write_result};
#[cfg(feature = "alloc")]
use super::{GrowingServerState, ServerConfig};
use super::{RequestKind, Server};
use crate::buffers::tx::Tx;
use crate::encode::{Encode, Encoder, With, object};
#[cfg(feature = "tasks")]
use crate::json::hash_str;
use crate::json::{JsonStr, RawJson, hash_text};
#[cfg(feature = "tasks")]
use crate::message::Envelope;
use crate::message::{Id, Params};
#[cfg(feature = "tasks")]
use crate::progress::Progress;
#[cfg(feature = "tasks")]
use crate::protocol::ClientFeatures;
use crate::protocol::error::{NotAllowed, SendError, SendResult, Violation};
use crate::protocol::{Revision, ServerFeatures};
#[cfg(feature = "tasks")]
use crate::rpc::RpcError;
#[cfg(feature = "tasks")]
use crate::rpc::inflight::Delivery;
use crate::rpc::inflight::{ExchangeId, Remaining, RequestHandle, Slot};
use crate::rpc::{write_notification, write_response_head};
use crate::types::SUBSCRIPTION_ID;
#[cfg(feature = "tasks")]
use crate::types::meta::RELATED_TASK;
#[cfg(feature = "tasks")]
use crate::types::task::TaskId;

impl Server<'_> {
    /// Returns an open `subscriptions/listen` that has been acknowledged, to
    /// [end](Self::end_listen) all of them one after the other.
    #[cfg(feature = "alloc")]
    pub fn next_listen(&self) -> Option<RequestHandle> {
        let is_listen = |pending: &InflightRequest| {
            matches!(pending.kind, RequestKind::Listen(_) | RequestKind::Ending)
        };
        let mut listens = self.requests.matching(is_listen);
        listens.find(|slot| self.peer.acknowledging != Some(*slot)).map(RequestHandle)
    }

    /// Ends a `subscriptions/listen`. On a stream this is a `notifications/cancelled` and then the
    /// result, one frame per call: call again while it returns [`Remaining::More`].
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] if the request is not a
    /// `subscriptions/listen`.
    pub fn end_listen(&mut self, request: RequestHandle, tx: &mut Tx<'_>) -> SendResult<Remaining> {
        let config = self.config;
        let Some(pending) = self.requests.get_mut(request.0) else { return Ok(Remaining::Done) };
        match pending.kind {
            RequestKind::Request => Err(SendError::NotAllowed(NotAllowed::RequestKind)),
            #[cfg(feature = "tasks")]
            RequestKind::Granting(_) => Err(SendError::Full),
            // Over HTTP the result ends the stream, and the stream identifies the request.
            RequestKind::Listen(_) if !pending.exchange.is_session() => {
                pending.kind = RequestKind::Ending;
                Ok(Remaining::More)
            }
            RequestKind::Listen(_) => {
                let id = RawJson::scanned(pending.id.as_str());
                tx.frame(subscription_key(request.0), Revision::LATEST, &mut |writer| {
                    let params = object!({ "requestId": id });
                    write_notification(writer, "notifications/cancelled", &params);
                })?;
                pending.kind = RequestKind::Ending;
                Ok(Remaining::More)
            }
            RequestKind::Ending => {
                let id = RawJson::scanned(pending.id.as_str());
                tx.frame(response_key(request.0), Revision::LATEST, &mut |writer| {
                    write_response_head(writer, id.as_str().as_bytes(), b",\"result\":");
                    let result = object!({
                        "resultType" = "complete",
                        "_meta": SubscriptionMeta(id),
                    });
                    write_result::<dyn Encode>(config, writer, "complete", &result);
                    writer.put(b"}");
                })?;
                self.remove_request(request.0);
                Ok(Remaining::Done)
            }
        }
    }

    /// Opens a `subscriptions/listen` (2026-07-28, basic/patterns/subscriptions). The
    /// acknowledgement lists the part of the filter for which the capability is declared and the
    /// table has room.
    pub(super) fn listen<'f>(
        &mut self,
        id: Id<'f>,
        params: &Params<'f>,
        exchange: ExchangeId,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ServerEvent<'f>>> {
        let filter = params.get("notifications").unwrap_or(RawJson::EMPTY);
        let grants = self.config.features.grants;
        let declared = self.config.capabilities();
        let kinds = grants.map_or(Kinds(0), |grants| (grants.read)(filter, declared));
        let slot = match self.peer.acknowledging {
            Some(slot) => slot,
            None => match self.open_listen(id, kinds, filter, exchange) {
                Some(slot) => slot,
                None => {
                    let refusal = Violation::TooManyRequests.into();
                    return refuse(self.config, Some(id), Revision::LATEST, refusal, None, tx);
                }
            },
        };
        let sent = self.acknowledge(slot, id.as_str(), kinds, filter, tx);
        self.peer.acknowledging = tx.is_open(subscription_key(slot)).then_some(slot);
        if sent.is_err() && self.peer.acknowledging.is_none() {
            self.remove_request(slot);
        }
        sent.map(|()| Some(ServerEvent::Listening { request: RequestHandle(slot) }))
    }

    /// Writes the acknowledgement of a `subscriptions/listen`.
    fn acknowledge(
        &mut self,
        slot: Slot,
        id: &str,
        kinds: Kinds,
        filter: RawJson<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        let grants = self.config.features.grants;
        let owner = Owner::listen(slot);
        let granted = Granted { kinds, filter, owner, subscribed: &self.subscriptions };
        let notifications = With(|to: &mut Encoder<'_>| {
            to.begin_object();
            if let Some(grants) = grants {
                (grants.write)(&granted, to);
            }
            to.end_object();
        });
        let meta = SubscriptionMeta(RawJson::scanned(id));
        let params = object!({ "notifications": notifications, "_meta": meta });
        tx.frame(subscription_key(slot), Revision::LATEST, &mut |writer| {
            write_notification(writer, "notifications/subscriptions/acknowledged", &params);
        })
    }

    /// Whether there is room for one more `subscriptions/listen`.
    fn can_listen(&self, exchange: ExchangeId) -> bool {
        let open = self.requests.matching(|entry| entry.kind != RequestKind::Request).count();
        // One slot is reserved for other requests, unless none follows: those of HTTP that stand
        // alone may have a table with a single one.
        let reserved = usize::from(exchange.is_session() || self.requests.capacity() > 1);
        open + reserved < self.requests.capacity()
    }

    fn open_listen(
        &mut self,
        id: Id<'_>,
        kinds: Kinds,
        filter: RawJson<'_>,
        exchange: ExchangeId,
    ) -> Option<Slot> {
        if !self.can_listen(exchange) {
            return None;
        }
        let (slot, pending) = self.requests.insert(id.hash(), None)?;
        pending.begin(id, Revision::LATEST, RequestKind::Listen(kinds), exchange);
        self.subscribe_to(slot, kinds, filter);
        Some(slot)
    }

    /// Subscribes a `subscriptions/listen` to the resources of its filter.
    fn subscribe_to(&mut self, slot: Slot, kinds: Kinds, filter: RawJson<'_>) {
        if kinds.contains(Kinds::UPDATES)
            && let Some(grants) = self.config.features.grants
        {
            (grants.subscribe)(&mut self.subscriptions, Owner::listen(slot), filter);
        }
    }
}

pub(super) fn subscribe<'f>(
    server: &mut Server<'_>,
    id: Id<'f>,
    revision: Revision,
    params: &Params<'f>,
    tx: &mut Tx<'_>,
) -> SendResult<Option<ServerEvent<'f>>> {
    let Some(uri) = params.get("uri").and_then(RawJson::as_string) else { return Ok(None) };
    let hash = hash_text(uri);
    let subscriptions = &mut server.subscriptions;
    if !subscriptions.has_room() && !subscriptions.contains(Owner::SESSION, hash) {
        let refusal = Violation::TooManyRequests.into();
        return refuse(server.config, Some(id), revision, refusal, None, tx);
    }
    respond_empty(id, revision, tx)?;
    subscriptions.insert(Owner::SESSION, hash);
    Ok(Some(ServerEvent::Subscribed { uri }))
}

pub(super) fn unsubscribe<'f>(
    server: &mut Server<'_>,
    id: Id<'f>,
    revision: Revision,
    params: &Params<'f>,
    tx: &mut Tx<'_>,
) -> SendResult<Option<ServerEvent<'f>>> {
    let Some(uri) = params.get("uri").and_then(RawJson::as_string) else { return Ok(None) };
    respond_empty(id, revision, tx)?;
    server.subscriptions.remove(Owner::SESSION, hash_text(uri));
    Ok(Some(ServerEvent::Unsubscribed { uri }))
}

/// The kinds of changes that a `subscriptions/listen` reports; a bit set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kinds(pub(super) u8);

impl Kinds {
    pub(super) const TOOLS: Self = Self(1);
    pub(super) const PROMPTS: Self = Self(2);
    pub(super) const RESOURCES: Self = Self(4);
    pub(super) const UPDATES: Self = Self(8);
    /// Tasks that a `subscriptions/listen` names.
    #[cfg(feature = "tasks")]
    pub(super) const TASKS: Self = Self(16);
    /// A task of the session (2025-11-25).
    #[cfg(feature = "tasks")]
    pub(super) const SESSION_TASK: Self = Self(32);
    const FLAGS: [(Self, &'static str); 3] = [
        (Self::TOOLS, "toolsListChanged"),
        (Self::PROMPTS, "promptsListChanged"),
        (Self::RESOURCES, "resourcesListChanged"),
    ];

    pub(super) const fn contains(self, bit: Self) -> bool {
        self.0 & bit.0 != 0
    }

    /// Returns the part of a filter that the declared capabilities allow. Its types have been
    /// checked.
    pub(super) fn read(filter: RawJson<'_>, declared: ServerFeatures) -> Self {
        let mut kinds = Self(0);
        for (bit, key) in Self::FLAGS {
            let on = filter.get(key).and_then(RawJson::as_bool);
            if on == Some(true) && declared.contains(bit.list_changed()) {
                kinds.0 |= bit.0;
            }
        }
        if filter.get(URIS).is_some() && declared.contains(ServerFeatures::RESOURCES_SUBSCRIBE) {
            kinds.0 |= Self::UPDATES.0;
        }
        kinds
    }

    /// Returns the capability for notifications of this kind.
    pub(super) const fn list_changed(self) -> ServerFeatures {
        match self {
            Self::TOOLS => ServerFeatures::TOOLS_LIST_CHANGED,
            Self::PROMPTS => ServerFeatures::PROMPTS_LIST_CHANGED,
            Self::RESOURCES => ServerFeatures::RESOURCES_LIST_CHANGED,
            #[cfg(feature = "tasks")]
            Self::TASKS | Self::SESSION_TASK => ServerFeatures::TASKS,
            _ => ServerFeatures::RESOURCES_SUBSCRIBE,
        }
    }
}

/// Subscribed URIs, one number each: 16 bits of the owner and 48 of the URI's hash; zero if free.
/// A collision costs one notification too many, to a client that may read both.
#[derive(Debug)]
pub(super) struct Subscriptions<'s>(pub(super) &'s mut [u64]);

/// The subscriber: a `subscriptions/listen`, or the legacy session. Not zero.
#[derive(Clone, Copy)]
pub(super) struct Owner(u16);

impl Owner {
    pub(super) const SESSION: Self = Self(u16::MAX);

    /// The index of a slot is less than 65,534.
    pub(super) const fn listen(slot: Slot) -> Self {
        Self(slot.index + 1)
    }

    const fn of(self, uri: u64) -> u64 {
        (self.0 as u64) << 48 | uri >> 16
    }

    /// Whether an entry is one of this subscriber.
    #[cfg(any(feature = "http", feature = "tasks"))]
    pub(super) const fn has(self, entry: u64) -> bool {
        entry >> 48 == self.0 as u64
    }
}

impl Subscriptions<'_> {
    pub(super) fn contains(&self, owner: Owner, uri: u64) -> bool {
        self.0.contains(&owner.of(uri))
    }

    /// Returns a function that says of each hash, in the order in which they were inserted, whether
    /// it is in the table; of one that comes again, that it is not.
    fn in_order(&self, owner: Owner) -> impl FnMut(u64) -> bool {
        let mut rest = &*self.0;
        move |uri| {
            let at = rest.iter().position(|entry| *entry == owner.of(uri));
            if let Some(at) = at {
                rest = rest.get(at + 1..).unwrap_or_default();
            }
            at.is_some()
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.0.contains(&FREE)
    }

    pub(super) fn insert(&mut self, owner: Owner, uri: u64) {
        if !self.contains(owner, uri) {
            self.replace(FREE, owner.of(uri));
        }
    }

    pub(super) fn remove(&mut self, owner: Owner, uri: u64) {
        self.replace(owner.of(uri), FREE);
    }

    fn replace(&mut self, old: u64, new: u64) {
        if let Some(entry) = self.0.iter_mut().find(|entry| **entry == old) {
            *entry = new;
        }
    }

    pub(super) fn drop_owner(&mut self, owner: Owner) {
        for entry in self.0.iter_mut().filter(|entry| **entry >> 48 == u64::from(owner.0)) {
            *entry = FREE;
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(FREE);
    }
}

const FREE: u64 = 0;

/// Maximum length of a URI in `subscriptions/listen`, in bytes of JSON text. A longer one is not
/// acknowledged.
const MAX_URI: usize = 4096;

/// Grants of `subscriptions/listen`: code that only a server with changes to report links.
#[derive(Debug)]
pub(super) struct Grants {
    read: fn(RawJson<'_>, ServerFeatures) -> Kinds,
    subscribe: fn(&mut Subscriptions<'_>, Owner, RawJson<'_>),
    write: fn(&Granted<'_>, &mut Encoder<'_>),
}

pub(super) const GRANTS: Grants = Grants {
    read: Kinds::read,
    // The acknowledgement lists the URIs in the table, and is serialized again for each part of it
    // that is written.
    subscribe: |subscriptions, owner, filter| {
        for uri in uris(filter).filter(|uri| uri.as_json().as_str().len() <= MAX_URI) {
            subscriptions.insert(owner, hash_text(uri));
        }
    },
    write: |granted, to| {
        for (_, key) in Kinds::FLAGS.into_iter().filter(|(bit, _)| granted.kinds.contains(*bit)) {
            to.member(key, &true);
        }
        if granted.kinds.contains(Kinds::UPDATES) {
            to.member(URIS, &GrantedUris(granted));
        }
        #[cfg(feature = "tasks")]
        if granted.kinds.contains(Kinds::TASKS) {
            write_granted(granted.filter, granted.owner, granted.subscribed, to);
        }
    },
};

/// The acknowledged part of a filter: capability declared, and room in the table.
struct Granted<'x> {
    kinds: Kinds,
    filter: RawJson<'x>,
    owner: Owner,
    subscribed: &'x Subscriptions<'x>,
}

struct GrantedUris<'x>(&'x Granted<'x>);

impl Encode for GrantedUris<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let Granted { filter, owner, subscribed, .. } = self.0;
        let mut granted = subscribed.in_order(*owner);
        to.array(uris(*filter).filter(|uri| granted(hash_text(*uri))));
    }
}

/// The member of a filter with the URIs of resources.
const URIS: &str = "resourceSubscriptions";

fn uris(filter: RawJson<'_>) -> impl Iterator<Item = JsonStr<'_>> + Clone {
    filter.get(URIS).unwrap_or(RawJson::EMPTY).elements().filter_map(RawJson::as_string)
}

/// A `_meta` with the id of a subscription.
pub(super) struct SubscriptionMeta<'x>(pub(super) RawJson<'x>);

impl Encode for SubscriptionMeta<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member(SUBSCRIPTION_ID, &self.0);
        to.end_object();
    }
}

// Changes that wait for room.

/// The changes of which not all subscribers have been notified, each once: as many as there are
/// subscribed URIs and lists.
#[cfg(feature = "alloc")]
pub(super) type Changes = VecDeque<KeptChange>;

#[cfg(feature = "alloc")]
#[derive(PartialEq, Eq, Debug)]
pub(super) struct KeptChange {
    change: Change<'static>,
    /// The URI, or the id of a task.
    name: String,
    /// The parameters of a task.
    task: String,
}

#[cfg(feature = "alloc")]
impl KeptChange {
    fn as_change(&self) -> Change<'_> {
        self.change.with_texts(&self.name, &self.task)
    }
}

#[cfg(feature = "alloc")]
impl GrowingServerState {
    /// Keeps a change until it is [sent](Self::send_changes), for a loop that has no room for the
    /// notifications now. Returns `false` if it has no subscriber, or waits already. At most as
    /// many wait as there are subscriptions, and three lists. Of the states of tasks, 64 KiB wait,
    /// or one that is longer: a further one is dropped (`false`), since clients poll.
    pub fn keep_change(&mut self, config: &ServerConfig<'_>, change: &Change<'_>) -> bool {
        let (name, task) = change.texts();
        let kind = change.resume(0).with_texts("", "");
        let is_same = |kept: &KeptChange| kept.change == kind && kept.name == name;
        let mut changes = core::mem::take(&mut self.changes);
        let server = self.server(config);
        // Most have no subscriber, so nothing is copied before.
        let mut is_new = server.is_subscribed(change)
            && !changes.iter().any(|kept| is_same(kept) && kept.task == task);
        if is_new {
            // Changes whose subscription has ended since are dropped, to make room.
            if changes.len() >= server.subscriptions.0.len() + CHANGING_LISTS {
                changes.retain(|kept| server.is_subscribed(&kept.as_change()));
            }
            let kept: usize = changes.iter().map(|kept| kept.task.len()).sum();
            // A newer state of a task replaces one that waits. The first may be partly written.
            let replaced =
                changes.iter_mut().skip(1).find(|kept| change.is_task() && is_same(kept));
            let others = kept.saturating_sub(replaced.as_ref().map_or(0, |kept| kept.task.len()));
            is_new = others == 0 || task.is_empty() || others + task.len() <= MAX_STATES;
            if is_new {
                let new = KeptChange { change: kind, name: name.into(), task: task.into() };
                match replaced {
                    Some(other) => *other = new,
                    None => changes.push_back(new),
                }
            }
        }
        self.changes = changes;
        is_new
    }

    /// Returns whether changes wait to be sent.
    #[inline]
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    pub(crate) const fn is_blocked(&self) -> bool {
        self.notices.is_blocked()
    }

    /// Notifies subscribers of all changes, and ends subscriptions if the server shuts down.
    /// Returns whether some of that waits for room.
    #[inline]
    pub(crate) fn notify(&mut self, config: &ServerConfig<'_>, tx: &mut Tx<'_>) -> bool {
        // This is called before each step.
        (self.has_changes() || self.is_closing) && self.notify_now(config, tx)
    }

    #[cold]
    fn notify_now(&mut self, config: &ServerConfig<'_>, tx: &mut Tx<'_>) -> bool {
        if !self.notices.may_retry(tx) {
            return true;
        }
        let sent = self.send_changes(config, tx).and_then(|()| {
            while self.is_closing
                && let Some(listen) = self.server(config).next_listen()
            {
                let _ = self.server(config).end_listen(listen, tx)?;
            }
            Ok(())
        });
        match sent {
            Ok(()) => self.notices.reset(),
            Err(_) => self.notices.failed(tx),
        }
        sent.is_err()
    }

    /// Notifies subscribers of all changes that were [kept](Self::keep_change).
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn send_changes(&mut self, config: &ServerConfig<'_>, tx: &mut Tx<'_>) -> SendResult {
        while let Some(mut kept) = self.changes.pop_front() {
            let mut change = kept.as_change();
            let sent = self.server(config).publish(&mut change, tx);
            kept.change = change.with_texts("", "");
            if matches!(sent, Ok(Remaining::More) | Err(SendError::Full)) {
                self.changes.push_front(kept);
            }
            if sent == Err(SendError::Full) {
                return Err(SendError::Full);
            }
        }
        Ok(())
    }
}

/// Number of lists that can change: tools, prompts, resources.
#[cfg(feature = "alloc")]
const CHANGING_LISTS: usize = 3;

/// Maximum number of bytes of the states of tasks that wait for room.
#[cfg(feature = "alloc")]
const MAX_STATES: usize = 64 << 10;

// Messages about tasks that belong to no request, and `subscriptions/listen` for tasks.

#[cfg(feature = "tasks")]
impl Server<'_> {
    /// Whether a `subscriptions/listen` names tasks.
    pub(super) fn listens_to_tasks(&self, envelope: &Envelope<'_>) -> bool {
        let ids = || envelope.params().get("notifications")?.get(TASK_IDS);
        self.config.capabilities().contains(ServerFeatures::TASKS) && ids().is_some()
    }

    /// Opens a `subscriptions/listen` that names tasks: the one that is reported as a request,
    /// because only the program knows who may see which task. `may_see` is asked for each id, of
    /// which there are at most [`MAX_LISTENED`]; what it refuses, and what the table has no room
    /// for, is left out of the acknowledgement.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] for any other request.
    pub fn listen_to_tasks(
        &mut self,
        request: &Request<'_>,
        may_see: &mut dyn FnMut(JsonStr<'_>) -> bool,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        let handle = request.handle;
        let filter = request.params.get("notifications").unwrap_or(RawJson::EMPTY);
        let ids = filter.get(TASK_IDS).ok_or(NotAllowed::RequestKind)?;
        let Some(pending) = self.requests.get(handle.0) else { return Ok(()) };
        let mut kinds = match pending.kind {
            RequestKind::Granting(kinds) => kinds,
            RequestKind::Listen(_) | RequestKind::Ending => return Ok(()),
            RequestKind::Request => Kinds::read(filter, self.config.capabilities()),
        };
        let exchange = pending.exchange;
        let id = pending.id.clone();
        let is_new = pending.kind == RequestKind::Request;
        if is_new {
            let are_strings = ids.is_array() && ids.elements().all(|id| id.as_string().is_some());
            let refusal = if !request.capabilities.contains(ClientFeatures::TASKS) {
                Some(RpcError::missing_capability(ClientFeatures::TASKS))
            } else if !are_strings {
                let why = "params.notifications.taskIds must be an array of strings";
                Some(RpcError::invalid_params(why))
            } else if ids.elements().nth(MAX_LISTENED).is_some() {
                let why = "params.notifications.taskIds has too many ids: listen more than once";
                Some(RpcError::invalid_params(why))
            } else if !self.can_listen(exchange) {
                Some(RpcError::internal(Violation::TooManyRequests.message()))
            } else {
                None
            };
            if let Some(refusal) = refusal {
                return self.respond_error(handle, &refusal, tx);
            }
            kinds.0 |= Kinds::TASKS.0;
            let owner = Owner::listen(handle.0);
            for id in task_ids(filter).filter(|id| may_see(*id)) {
                self.subscriptions.insert(owner, hash_of(hash_text(id)));
            }
            self.subscribe_to(handle.0, kinds, filter);
            if let Some(pending) = self.requests.get_mut(handle.0) {
                pending.kind = RequestKind::Granting(kinds);
            }
        }
        let sent = self.acknowledge(handle.0, id.as_str(), kinds, filter, tx);
        let is_open = tx.is_open(subscription_key(handle.0));
        if let Some(pending) = self.requests.get_mut(handle.0) {
            match sent {
                Ok(()) => pending.kind = RequestKind::Listen(kinds),
                Err(_) if is_open => {}
                Err(_) => {
                    pending.kind = RequestKind::Request;
                    self.subscriptions.drop_owner(Owner::listen(handle.0));
                }
            }
        }
        sent
    }

    /// Sends a progress notification of a task, with the token of the original request, to the
    /// session (2025-11-25, basic/utilities/tasks). Values must increase. In 2026-07-28 tasks have
    /// no progress.
    ///
    /// # Errors
    /// As [`progress`](Self::progress).
    pub fn task_progress(
        &mut self,
        task: TaskId,
        token: RawJson<'_>,
        progress: &Progress<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Delivery> {
        let session = self.peer.session.filter(|session| session.is_ready());
        if session.is_none_or(|session| session.revision != Revision::V2025_11_25) {
            return Ok(Delivery::Gone);
        }
        if Id::parse(token.as_str()).is_none() {
            return Ok(Delivery::NotRequested);
        }
        progress.send(token.as_str(), Revision::V2025_11_25, tx, &|to| {
            to.put(b",\"_meta\":{");
            to.string(RELATED_TASK);
            to.put(b":");
            related_task(task).encode(to);
            to.put(b"}");
        })?;
        Ok(Delivery::Sent)
    }
}

#[cfg(feature = "tasks")]
const TASK_IDS: &str = "taskIds";

#[cfg(feature = "tasks")]
fn task_ids(filter: RawJson<'_>) -> impl Iterator<Item = JsonStr<'_>> + Clone {
    filter.get(TASK_IDS).unwrap_or(RawJson::EMPTY).elements().filter_map(RawJson::as_string)
}

/// Writes the ids of the tasks that a subscription reports.
#[cfg(feature = "tasks")]
fn write_granted(
    filter: RawJson<'_>,
    owner: Owner,
    subscribed: &Subscriptions<'_>,
    to: &mut Encoder<'_>,
) {
    let ids = With(|to: &mut Encoder<'_>| {
        let mut granted = subscribed.in_order(owner);
        to.array(task_ids(filter).filter(|id| granted(hash_of(hash_text(*id)))));
    });
    to.member(TASK_IDS, &ids);
}

/// Returns the hash of a task among those of URIs.
#[cfg(feature = "tasks")]
const fn hash_of(id: u64) -> u64 {
    !id
}

#[cfg(feature = "tasks")]
pub(super) fn hash_of_task(id: &str) -> u64 {
    hash_of(hash_str(id))
}

/// The value of the key [`RELATED_TASK`] in `_meta`.
#[cfg(feature = "tasks")]
pub(crate) fn related_task(task: TaskId) -> impl Encode {
    With(move |to: &mut Encoder<'_>| {
        let id = task.json();
        let id = RawJson::scanned(core::str::from_utf8(&id).unwrap_or("\"\""));
        object!(to, { "taskId": id });
    })
}

/// Maximum number of `taskIds` in a `subscriptions/listen`: 256. More are refused (-32602).
#[cfg(feature = "tasks")]
pub const MAX_LISTENED: usize = 256;

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::buffers::rx::Frame;
    use crate::buffers::tx::TxBuffer;
    use crate::message::Messages;
    use crate::protocol::ServerFeatures;
    use crate::time::Instant;
    use crate::types::Implementation;

    fn hear(state: &mut GrowingServerState, config: &ServerConfig<'_>, text: &str) {
        let mut tx = TxBuffer::new([0; 1024]);
        let mut messages = Messages::new(Frame::Complete(text.as_bytes()));
        let mut server = state.server(config);
        while let Ok(Some(_)) = server.next_event(Instant::from_millis(0), &mut messages, &mut tx) {
        }
    }

    fn open(state: &mut GrowingServerState, config: &ServerConfig<'_>) {
        hear(
            state,
            config,
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        );
        hear(state, config, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    #[cfg(feature = "tasks")]
    #[test]
    fn m1_states_of_tasks_that_wait_have_a_limit() {
        let config = ServerConfig::new(
            Implementation::new("t", "1"),
            ServerFeatures::TOOLS_LIST_CHANGED.with(ServerFeatures::TASKS),
        );
        let mut state = GrowingServerState::new(4, 4);
        open(&mut state, &config);
        let mut keep = |id: u32, len: usize| {
            let (id, task) = (alloc::format!("{id}"), "1".repeat(len));
            let change = Change::session_task(&id, RawJson::scanned(&task));
            let is_kept = state.keep_change(&config, &change);
            (is_kept, state.changes.iter().map(|kept| kept.task.len()).sum::<usize>())
        };
        for id in 0..64 {
            let (_, kept) = keep(id, 16 << 10);
            assert!(kept <= MAX_STATES, "{kept}");
        }
        // A newer state replaces an older one, as far as there is room.
        assert_eq!(keep(3, 9 << 10), (true, MAX_STATES - (7 << 10)));
        assert_eq!(keep(3, 17 << 10), (false, MAX_STATES - (7 << 10)));
        assert_eq!(keep(3, 16 << 10), (true, MAX_STATES));
        assert!(state.keep_change(&config, &Change::tools()));
        // One is told however long it is, and alone.
        let mut state = GrowingServerState::new(4, 4);
        open(&mut state, &config);
        let long = "1".repeat(MAX_STATES + 1);
        assert!(state.keep_change(&config, &Change::session_task("1", RawJson::scanned(&long))));
        assert!(!state.keep_change(&config, &Change::session_task("2", RawJson::scanned("1"))));
    }

    #[test]
    fn m1_changes_that_are_no_longer_subscribed_to_give_way() {
        let config = ServerConfig::new(
            Implementation::new("t", "1"),
            ServerFeatures::TOOLS_LIST_CHANGED.with(ServerFeatures::RESOURCES_SUBSCRIBE),
        );
        let mut state = GrowingServerState::new(4, 4);
        open(&mut state, &config);
        for number in 0..1000 {
            let uri = alloc::format!("test://{number}");
            let subscription = |method: &str| {
                alloc::format!(
                    r#"{{"jsonrpc":"2.0","id":{number},"method":"resources/{method}","params":{{"uri":"{uri}"}}}}"#
                )
            };
            hear(&mut state, &config, &subscription("subscribe"));
            assert!(state.keep_change(&config, &Change::resource(&uri)));
            assert_eq!(state.keep_change(&config, &Change::tools()), number == 0);
            assert!(state.changes.len() <= 4 + CHANGING_LISTS, "{number}");
            hear(&mut state, &config, &subscription("unsubscribe"));
        }
    }
}
