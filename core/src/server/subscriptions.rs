//! Subscriptions: `subscriptions/listen` (2026-07-28) and `resources/subscribe` (before).

use super::Server;
use super::event::ServerEvent;
use super::inflight::{InflightRequest, RequestKind};
use super::refusal::{Refusal, refuse, respond_empty, write_result};
use super::respond::{key, told};
use crate::encode::Payload;
use crate::encode::tell::{Object, Tell, Teller};
use crate::error::{NotAllowed, SendError};
use crate::handle::{ExchangeId, Remaining, RequestHandle};
use crate::inflight::Slot;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::{ClientFeatures, Revision, ServerFeatures};
use crate::message::{Id, OwnedId, Params, hash_text};
use crate::progress::Reported;
use crate::rpc::{write_notification, write_response_head};
use crate::tx::Tx;
use crate::types::LoggingLevel;
use crate::violation::Violation;

impl<const N: usize, const S: usize> Server<'_, N, S> {
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
            // Over HTTP the result ends the stream, and the stream identifies the request.
            RequestKind::Listen(_) if !pending.exchange.is_session() => {
                pending.kind = RequestKind::Ending;
                Ok(Remaining::More)
            }
            RequestKind::Listen(_) => {
                let params = Object {
                    names: "requestId,",
                    members: &[&RawJson::scanned(pending.id.as_str())],
                };
                tx.frame(told(request.0), Revision::LATEST, &mut |writer| {
                    write_notification(writer, "notifications/cancelled", &params)
                })?;
                pending.kind = RequestKind::Ending;
                Ok(Remaining::More)
            }
            RequestKind::Ending => {
                let Some(pending) = self.requests.get(request.0) else {
                    return Ok(Remaining::Done);
                };
                let id = RawJson::scanned(pending.id.as_str());
                let meta = Object { names: SUBSCRIPTION, members: &[&id] };
                tx.frame(key(request.0), Revision::LATEST, &mut |writer| {
                    write_response_head(writer, id.as_str().as_bytes(), b",\"result\":")?;
                    write_result::<dyn Payload>(
                        self.config,
                        writer,
                        "complete",
                        &Object { names: "resultType,_meta,", members: &[&"complete", &meta] },
                    )?;
                    writer.put(b"}")
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
        let (kinds, uris) = match Kinds::read(filter, self.config.capabilities()) {
            Ok(parts) => parts,
            Err(message) => {
                return refuse(Some(id), Revision::LATEST, Refusal::params(message), tx);
            }
        };
        let slot = match self.acknowledging {
            Some(slot) => slot,
            None => match self.open_listen(id, kinds, uris, exchange) {
                Some(slot) => slot,
                None => {
                    return refuse(
                        Some(id),
                        Revision::LATEST,
                        Violation::TooManyRequests.into(),
                        tx,
                    );
                }
            },
        };
        let granted =
            Granted { kinds, uris, owner: slot.index, subscribed: self.subscriptions.all() };
        let meta = Object { names: SUBSCRIPTION, members: &[&RawJson::scanned(id.as_str())] };
        let params = Object { names: "notifications,_meta,", members: &[&granted, &meta] };
        let sent = tx.frame(told(slot), Revision::LATEST, &mut |writer| {
            write_notification(writer, "notifications/subscriptions/acknowledged", &params)
        });
        match sent {
            Ok(()) => {
                self.acknowledging = None;
                Ok(Some(ServerEvent::Listening { request: RequestHandle(slot) }))
            }
            Err(error) => {
                if tx.is_open(told(slot)) {
                    self.acknowledging = Some(slot);
                } else {
                    self.remove_request(slot);
                }
                Err(error)
            }
        }
    }

    fn open_listen(
        &mut self,
        id: Id<'_>,
        kinds: Kinds,
        uris: RawJson<'_>,
        exchange: ExchangeId,
    ) -> Option<Slot> {
        let open = self
            .requests
            .slots()
            .filter(|slot| self.requests.get(*slot).is_some_and(|p| p.kind != RequestKind::Request))
            .count();
        // One slot is reserved for other requests, unless there is only one.
        if open + 1 >= N.max(2) {
            return None;
        }
        let pending = InflightRequest {
            id: OwnedId::default(),
            token: OwnedId::default(),
            revision: Revision::LATEST,
            capabilities: ClientFeatures::NONE,
            log_level: None,
            may_require_input: false,
            kind: RequestKind::Listen(kinds),
            reported: Reported::NOTHING,
            nested_calls: 0,
            time_left: u64::MAX,
            exchange,
        };
        let (slot, pending) = self.requests.insert(id.hash(), None, pending)?;
        pending.id.set(id);
        if kinds.contains(Kinds::UPDATES) {
            // The acknowledgement lists the URIs in the table, and is serialized again for each
            // part of it that is written.
            let short = |uri: &JsonStr<'_>| uri.as_json().len() <= MAX_URI;
            for uri in uris.elements().filter_map(RawJson::as_string).filter(short) {
                self.subscriptions.all().insert(slot.index, hash_text(uri));
            }
        }
        Some(slot)
    }
}

/// The part of a session that capability hooks may change.
pub(super) struct HookContext<'s> {
    pub(super) subscribed: SubscriptionsRef<'s>,
    pub(super) log_level: Option<&'s mut LoggingLevel>,
}

pub(super) fn subscribe<'f>(
    session: &mut HookContext<'_>,
    id: Id<'f>,
    revision: Revision,
    params: &Params<'f>,
    tx: &mut Tx<'_>,
) -> Result<Option<ServerEvent<'f>>, SendError> {
    let Some(uri) = params.get("uri").and_then(RawJson::as_string) else { return Ok(None) };
    let hash = hash_text(uri);
    let subscribed = &mut session.subscribed;
    if !subscribed.has_room() && !subscribed.contains(LEGACY, hash) {
        return refuse(Some(id), revision, Violation::TooManyRequests.into(), tx);
    }
    respond_empty(id, revision, tx)?;
    subscribed.insert(LEGACY, hash);
    Ok(Some(ServerEvent::Subscribed { uri }))
}

pub(super) fn unsubscribe<'f>(
    session: &mut HookContext<'_>,
    id: Id<'f>,
    revision: Revision,
    params: &Params<'f>,
    tx: &mut Tx<'_>,
) -> Result<Option<ServerEvent<'f>>, SendError> {
    let Some(uri) = params.get("uri").and_then(RawJson::as_string) else { return Ok(None) };
    respond_empty(id, revision, tx)?;
    session.subscribed.remove(LEGACY, hash_text(uri));
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
    const FLAGS: [(Self, &'static str); 3] = [
        (Self::TOOLS, "toolsListChanged"),
        (Self::PROMPTS, "promptsListChanged"),
        (Self::RESOURCES, "resourcesListChanged"),
    ];

    pub(super) const fn contains(self, bit: Self) -> bool {
        self.0 & bit.0 != 0
    }

    /// Returns the part of a filter that the declared capabilities allow, and its URIs.
    fn read(
        filter: RawJson<'_>,
        declared: ServerFeatures,
    ) -> Result<(Self, RawJson<'_>), &'static str> {
        let mut kinds = Self(0);
        for (bit, key) in Self::FLAGS {
            let Some(value) = filter.get(key) else { continue };
            let on = value
                .as_bool()
                .ok_or("listChanged members of params.notifications must be booleans")?;
            if on && declared.contains(bit.list_changed()) {
                kinds.0 |= bit.0;
            }
        }
        let Some(uris) = filter.get("resourceSubscriptions") else {
            return Ok((kinds, RawJson::EMPTY));
        };
        if !uris.is_array() || uris.elements().any(|uri| uri.as_string().is_none()) {
            return Err("params.notifications.resourceSubscriptions must be an array of strings");
        }
        if declared.contains(ServerFeatures::RESOURCES_SUBSCRIBE) {
            kinds.0 |= Self::UPDATES.0;
        }
        Ok((kinds, uris))
    }

    /// Returns the capability for notifications of this kind.
    pub(super) const fn list_changed(self) -> ServerFeatures {
        match self {
            Self::TOOLS => ServerFeatures::TOOLS_LIST_CHANGED,
            Self::PROMPTS => ServerFeatures::PROMPTS_LIST_CHANGED,
            Self::RESOURCES => ServerFeatures::RESOURCES_LIST_CHANGED,
            _ => ServerFeatures::RESOURCES_SUBSCRIBE,
        }
    }
}

/// Subscribed URIs with their owners: a slot of the request table, or the legacy session. URIs are
/// stored as 64-bit hashes; a collision costs one notification too many, to a client that may read
/// both.
#[derive(Debug)]
pub(super) struct Subscriptions<const S: usize> {
    owners: [u16; S],
    uris: [u64; S],
}

impl<const S: usize> Subscriptions<S> {
    pub(super) const fn new() -> Self {
        Self { owners: [NOBODY; S], uris: [0; S] }
    }

    pub(super) fn contains(&self, owner: u16, uri: u64) -> bool {
        position(&self.owners, &self.uris, owner, uri).is_some()
    }

    /// Erases the size of the table.
    pub(super) fn all(&mut self) -> SubscriptionsRef<'_> {
        SubscriptionsRef { owners: &mut self.owners, uris: &mut self.uris }
    }
}

/// [`Subscriptions`] of any size.
pub(super) struct SubscriptionsRef<'s> {
    owners: &'s mut [u16],
    uris: &'s mut [u64],
}

impl SubscriptionsRef<'_> {
    pub(super) fn drop_owner(&mut self, owner: u16) {
        for slot in self.owners.iter_mut().filter(|slot| **slot == owner) {
            *slot = NOBODY;
        }
    }

    fn contains(&self, owner: u16, uri: u64) -> bool {
        position(self.owners, self.uris, owner, uri).is_some()
    }

    fn has_room(&self) -> bool {
        self.owners.contains(&NOBODY)
    }

    fn insert(&mut self, owner: u16, uri: u64) {
        if self.contains(owner, uri) {
            return;
        }
        let free = self.owners.iter().position(|slot| *slot == NOBODY);
        if let Some((slot, stored)) =
            free.and_then(|at| Some((self.owners.get_mut(at)?, self.uris.get_mut(at)?)))
        {
            *slot = owner;
            *stored = uri;
        }
    }

    fn remove(&mut self, owner: u16, uri: u64) {
        if let Some(slot) =
            position(self.owners, self.uris, owner, uri).and_then(|at| self.owners.get_mut(at))
        {
            *slot = NOBODY;
        }
    }
}

fn position(owners: &[u16], uris: &[u64], owner: u16, uri: u64) -> Option<usize> {
    owners.iter().zip(uris).position(|entry| entry == (&owner, &uri))
}

/// Maximum length of a URI in `subscriptions/listen`, in bytes of JSON text. A longer one is not
/// acknowledged.
const MAX_URI: usize = 4096;
pub(super) const LEGACY: u16 = u16::MAX - 1;
const NOBODY: u16 = u16::MAX;

/// The acknowledged part of a filter: capability declared, and room in the table.
struct Granted<'x> {
    kinds: Kinds,
    uris: RawJson<'x>,
    owner: u16,
    subscribed: SubscriptionsRef<'x>,
}

impl Tell for Granted<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        let on = |bit| self.kinds.contains(bit).then_some(true);
        to.object(
            "toolsListChanged,promptsListChanged,resourcesListChanged,resourceSubscriptions,",
            &[&on(Kinds::TOOLS), &on(Kinds::PROMPTS), &on(Kinds::RESOURCES), &GrantedUris(self)],
        );
    }
}

struct GrantedUris<'x>(&'x Granted<'x>);

impl Tell for GrantedUris<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        let Granted { kinds, uris, owner, subscribed } = self.0;
        if !kinds.contains(Kinds::UPDATES) {
            return;
        }
        to.open(b'[');
        for uri in uris.elements().filter_map(RawJson::as_string) {
            if subscribed.contains(*owner, hash_text(uri)) {
                to.item(&RawJson::from(uri));
            }
        }
        to.close();
    }
}

/// The member of `_meta` with the id of the subscription.
pub(super) const SUBSCRIPTION: &str = concat!("io.modelcontextprotocol/subscriptionId", ",");
