//! Subscriptions: `subscriptions/listen` (2026-07-28) and `resources/subscribe` (before).

use super::Server;
use super::event::ServerEvent;
use super::inflight::RequestKind;
use super::refusal::{refuse, respond_empty, write_result};
use super::respond::{key, subscription_key};
use crate::encode::{Encode, Encoder, With, object};
use crate::error::{NotAllowed, SendError};
use crate::handle::{ExchangeId, Remaining, RequestHandle};
use crate::inflight::Slot;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::{Revision, ServerFeatures};
use crate::message::{Id, Params, hash_text};
use crate::rpc::{write_notification, write_response_head};
use crate::tx::Tx;
use crate::types::SUBSCRIPTION_ID;
use crate::violation::Violation;

impl Server<'_> {
    /// Returns an open `subscriptions/listen` that has been acknowledged.
    #[cfg(feature = "alloc")]
    pub(crate) fn next_listen(&self) -> Option<RequestHandle> {
        let is_listen = |slot: &Slot| {
            self.requests.get(*slot).is_some_and(|pending| {
                matches!(pending.kind, RequestKind::Listen(_) | RequestKind::Ending)
            }) && self.peer.acknowledging != Some(*slot)
        };
        self.requests.slots().find(is_listen).map(RequestHandle)
    }

    /// Ends a `subscriptions/listen`. On a stream this is a `notifications/cancelled` and then the
    /// result, one frame per call: call again while it returns [`Remaining::More`].
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] if the request is not a
    /// `subscriptions/listen`.
    pub fn end_listen(
        &mut self,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<Remaining, SendError> {
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
                let Some(pending) = self.requests.get(request.0) else {
                    return Ok(Remaining::Done);
                };
                let id = RawJson::scanned(pending.id.as_str());
                tx.frame(key(request.0), Revision::LATEST, &mut |writer| {
                    write_response_head(writer, id.as_str().as_bytes(), b",\"result\":");
                    let result = object!({
                        "resultType" = "complete",
                        "_meta": SubscriptionMeta(id),
                    });
                    write_result::<dyn Encode>(self.config, writer, "complete", &result);
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
    #[cfg_attr(small, inline(never))]
    pub(super) fn listen<'f>(
        &mut self,
        id: Id<'f>,
        params: &Params<'f>,
        exchange: ExchangeId,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
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
    pub(super) fn acknowledge(
        &mut self,
        slot: Slot,
        id: &str,
        kinds: Kinds,
        filter: RawJson<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
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
    pub(super) fn can_listen(&self) -> bool {
        let open = self
            .requests
            .slots()
            .filter(|slot| self.requests.get(*slot).is_some_and(|p| p.kind != RequestKind::Request))
            .count();
        // One slot is reserved for other requests, unless there is only one.
        open + 1 < self.requests.capacity().max(2)
    }

    fn open_listen(
        &mut self,
        id: Id<'_>,
        kinds: Kinds,
        filter: RawJson<'_>,
        exchange: ExchangeId,
    ) -> Option<Slot> {
        if !self.can_listen() {
            return None;
        }
        let (slot, pending) = self.requests.insert(id.hash(), None)?;
        pending.begin(id, Revision::LATEST, RequestKind::Listen(kinds), exchange);
        self.subscribe_to(slot, kinds, filter);
        Some(slot)
    }

    /// Subscribes a `subscriptions/listen` to the resources of its filter.
    pub(super) fn subscribe_to(&mut self, slot: Slot, kinds: Kinds, filter: RawJson<'_>) {
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
) -> Result<Option<ServerEvent<'f>>, SendError> {
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
) -> Result<Option<ServerEvent<'f>>, SendError> {
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
}

impl Subscriptions<'_> {
    pub(super) fn contains(&self, owner: Owner, uri: u64) -> bool {
        self.0.contains(&owner.of(uri))
    }

    /// Returns a function that says of each hash, in the order in which they were inserted, whether
    /// it is in the table; of one that comes again, that it is not.
    pub(super) fn in_order(&self, owner: Owner) -> impl FnMut(u64) -> bool {
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

    fn remove(&mut self, owner: Owner, uri: u64) {
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
        for uri in uris(filter).filter(|uri| uri.as_json().len() <= MAX_URI) {
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
            super::tasks::write_granted(granted.filter, granted.owner, granted.subscribed, to);
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
