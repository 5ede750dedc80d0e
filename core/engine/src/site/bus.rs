//! The bus of a fleet: nodes tell each other of changes, and of what a client has sent to one of
//! them and another one waits for.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use mcp_sansio::http::server::{EventId, OutgoingResponse};
use mcp_sansio::internal::{BodyPosition, MessageKind, SessionSetting};
use mcp_sansio::tasks::TaskId;
use mcp_sansio::{Change, Instant};

use super::exchange::{Exchange, Stage};
use super::instance::RemoteReader;
use super::schedule::{SlabKey, Work};
use super::session_id::SiteNode;
use super::{OwnedHead, Site, SiteOptions};
use crate::KeyRing;
use crate::expiring::Expiring;
use crate::observer::Disconnect;

/// Whom an envelope concerns. A bus may send each to every node; one that sends less has less to
/// do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Topic {
    /// All nodes.
    All,
    /// The nodes that have the session of this number, and no other.
    Session(u64),
}

/// An envelope that cannot be used: it is sealed with a key that this node does not have, was
/// changed, or comes from another version of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UnknownEnvelope;

impl UnknownEnvelope {
    /// The text of the error, for events that outlive it.
    pub const TEXT: &'static str = "an envelope of the bus is sealed with another key, or of \
         another version: all nodes of a fleet need one KeyRing";
}

mcp_sansio::error_type!(UnknownEnvelope => |_| Self::TEXT);

/// A site as a node of its fleet.
pub(super) struct Fleet {
    pub(super) node: SiteNode,
    /// The number of the site among all nodes. Those of one process differ in the lowest bits.
    me: u64,
    /// Number of the last envelope to all nodes.
    sent: u64,
    outgoing: VecDeque<(Topic, Vec<u8>)>,
    /// Makes keys of exchanges numbers that nobody has after this site has been started again.
    mask: u64,
    /// The number of the last envelope to all nodes, by its sender.
    heard: BTreeMap<u64, u64>,
    /// Numbers of the ids of sessions that were deleted, in the order of the seconds of that.
    deleted: Expiring<u64, (), u64>,
    /// The latest changes of resources: a subscription that a client made before may be on its way.
    changes: VecDeque<LateChange>,
}

/// A change of a resource.
struct LateChange {
    uri: Box<str>,
    /// The subscription that is to be told of it.
    of: SessionSetting,
    /// The time of the next step after it.
    at: Option<Instant>,
}

/// The kind of an envelope, by which its numbers and its bytes have their meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Kind {
    /// A list has changed: `detail` says which. With bytes: the resource of this URI.
    Change = 1,
    /// The client of a session has sent these bytes to a node that cannot do all with them. If it
    /// is a response, `exchange` waits for [`Taken`](Self::Taken).
    Message,
    /// The response that an exchange has brought is taken.
    Taken,
    /// The client has set this in its session: eight bytes for each setting.
    Settings,
    /// The sender goes on with a session, and asks what was set in it.
    Adopted,
    /// The client has deleted its session.
    Deleted,
    /// An exchange of the sender resumes a stream of the session after the event `detail`.
    Resume,
    /// Whole events for an exchange that resumes a stream. `detail` is their number, counted from
    /// 0, and in its lowest bits [what follows](Then).
    Events,
    /// The record of the task with these bytes as its id has changed in the store.
    Task,
}

/// An envelope, opened.
struct Envelope<'b> {
    kind: Kind,
    /// The node that has sent it, and the number of its envelope if that is for all nodes.
    sender: u64,
    number: u64,
    /// The node that it is for. Zero: all.
    to: u64,
    /// The number of the session.
    session: u64,
    exchange: u64,
    detail: u64,
    bytes: &'b [u8],
}

impl Envelope<'_> {
    const fn new(kind: Kind) -> Self {
        Self { kind, sender: 0, number: 0, to: 0, session: 0, exchange: 0, detail: 0, bytes: &[] }
    }

    const KINDS: [Kind; 9] = {
        use Kind::*;
        [Change, Message, Taken, Settings, Adopted, Deleted, Resume, Events, Task]
    };

    fn seal(&self, ring: &KeyRing) -> Vec<u8> {
        let mut bytes = alloc::vec![VERSION, self.kind as u8];
        let Self { sender, number, to, session, exchange, detail, .. } = *self;
        for number in [sender, number, to, session, exchange, detail] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(self.bytes);
        ring.seal_record(PURPOSE, bytes)
    }

    fn open<'b>(ring: &KeyRing, sealed: &'b [u8]) -> Option<Envelope<'b>> {
        let ([VERSION, kind], mut bytes) =
            ring.open_record(PURPOSE, sealed)?.split_first_chunk::<2>()?
        else {
            return None;
        };
        let kind = Self::KINDS.into_iter().find(|known| *known as u8 == *kind)?;
        let mut number = || {
            let (number, rest) = bytes.split_first_chunk()?;
            bytes = rest;
            Some(u64::from_be_bytes(*number))
        };
        Some(Envelope {
            kind,
            sender: number()?,
            number: number()?,
            to: number()?,
            session: number()?,
            exchange: number()?,
            detail: number()?,
            bytes,
        })
    }
}

impl Fleet {
    pub(super) fn new(mut node: SiteNode, random: [u8; 16]) -> Self {
        let me = node.number();
        // One that was started again goes on behind what it has sent before.
        let sent = node.seconds() << 24;
        Self {
            node,
            me,
            sent,
            outgoing: VecDeque::new(),
            mask: numbers(random).0,
            heard: BTreeMap::new(),
            deleted: Expiring::new(),
            changes: VecDeque::new(),
        }
    }

    pub(super) fn next_outgoing(&mut self, now: Instant) -> Option<(Topic, Vec<u8>)> {
        let new = self.changes.iter_mut().rev().take_while(|change| change.at.is_none());
        new.for_each(|change| change.at = Some(now));
        self.outgoing.pop_front()
    }

    /// Remembers a change for subscriptions that are on their way.
    pub(super) fn changed(&mut self, change: &Change<'_>) {
        let Some(uri) = change.uri().filter(|uri| uri.len() <= MAX_CHANGED_URI) else { return };
        if self.node.is_on_bus {
            if self.changes.len() == MAX_CHANGES {
                self.changes.pop_front();
            }
            let of = SessionSetting::subscription(uri);
            self.changes.push_back(LateChange { uri: uri.into(), of, at: None });
        }
    }

    /// Returns whether the session of this number was deleted.
    pub(super) fn is_deleted(&self, number: u64) -> bool {
        self.deleted.by_key().contains_key(&number)
    }

    /// Lets the id of a session that was deleted open it no more.
    fn forget(&mut self, number: u64) {
        if !self.is_deleted(number) {
            self.deleted.insert(number, (), Some(self.node.seconds()), 0);
        }
        if self.deleted.by_key().len() > MAX_DELETED {
            self.deleted.pop_first(|_| true);
        }
    }

    /// Sends an envelope to all nodes, or to those of its session.
    fn send(&mut self, envelope: Envelope<'_>) {
        if !self.node.is_on_bus {
            return;
        }
        let (topic, number) = match envelope.kind {
            // Servers compare their tasks every few seconds, so none is missed.
            Kind::Task => (Topic::All, 0),
            Kind::Change | Kind::Deleted => {
                self.sent += 1;
                (Topic::All, self.sent)
            }
            _ => (Topic::Session(envelope.session), 0),
        };
        let envelope = Envelope { sender: self.me, number, ..envelope };
        self.outgoing.push_back((topic, envelope.seal(&self.node.ring)));
    }

    fn number_of(&self, exchange: SlabKey) -> u64 {
        exchange.to_number() ^ self.mask
    }

    /// Tells the nodes of a session what its client has set.
    pub(super) fn send_settings(
        &mut self,
        session: u64,
        settings: impl Iterator<Item = SessionSetting>,
    ) {
        let bytes: Vec<u8> = settings.flat_map(|SessionSetting(it)| it.to_be_bytes()).collect();
        if !bytes.is_empty() {
            self.send(Envelope { session, bytes: &bytes, ..Envelope::new(Kind::Settings) });
        }
    }

    pub(super) fn send_adopted(&mut self, session: u64) {
        self.send(Envelope { session, ..Envelope::new(Kind::Adopted) });
    }

    /// Sends what a client has sent for others, too.
    pub(super) fn send_message(&mut self, session: u64, exchange: SlabKey, body: &[u8]) {
        let exchange = self.number_of(exchange);
        self.send(Envelope { session, exchange, bytes: body, ..Envelope::new(Kind::Message) });
    }

    /// Asks for the events of a stream that another node has recorded.
    pub(super) fn send_resume(&mut self, session: u64, exchange: SlabKey, after: EventId) {
        let detail = u64::from(after.stream) << 32 | u64::from(after.number);
        let exchange = self.number_of(exchange);
        self.send(Envelope { session, exchange, detail, ..Envelope::new(Kind::Resume) });
    }

    /// Sends events that another node has asked for.
    pub(super) fn send_events(&mut self, session: u64, reader: &mut RemoteReader, then: Then) {
        let detail = reader.sent << 2 | then as u64;
        reader.sent += 1;
        let events = core::mem::take(&mut reader.events);
        self.send(Envelope {
            to: reader.node,
            session,
            exchange: reader.exchange,
            detail,
            bytes: &events,
            ..Envelope::new(Kind::Events)
        });
    }

    /// Records that a session was deleted, and tells it to all.
    pub(super) fn send_deleted(&mut self, session: u64) {
        self.forget(session);
        self.send(Envelope { session, ..Envelope::new(Kind::Deleted) });
    }

    /// Returns whether envelopes to all nodes were lost before this one.
    fn has_missed(&mut self, sender: u64, number: u64) -> bool {
        if number == 0 {
            return false;
        }
        if self.heard.len() >= MAX_HEARD && !self.heard.contains_key(&sender) {
            self.heard.clear();
        }
        // Of a node that is heard for the first time nobody knows what it has sent before.
        let last = self.heard.entry(sender).or_insert(number - 1);
        let has_missed = last.saturating_add(1) < number;
        *last = number.max(*last);
        has_missed
    }
}

impl<O> Site<'_, O> {
    /// Tells the other nodes of the fleet about a change that this site was told of with
    /// [`publish`](Self::publish). Changes of tasks are not told.
    pub fn announce(&mut self, change: &Change<'_>) {
        let Some(fleet) = &mut self.fleet else { return };
        let list = LISTS.iter().position(|list| list == change);
        let (detail, uri) = match (list, change.uri()) {
            (Some(list), _) => (list as u64, ""),
            (None, Some(uri)) => (0, uri),
            (None, None) => return,
        };
        fleet.send(Envelope { detail, bytes: uri.as_bytes(), ..Envelope::new(Kind::Change) });
    }

    /// Tells the other nodes of the fleet that the record of a task has changed in the store that
    /// all have.
    pub fn announce_task(&mut self, id: TaskId) {
        let Some(fleet) = &mut self.fleet else { return };
        fleet.send(Envelope { bytes: id.as_bytes(), ..Envelope::new(Kind::Task) });
    }

    /// Handles an envelope of another node, in whatever order and however often they come. Returns
    /// the task whose record has changed, if that is what it says.
    ///
    /// # Errors
    /// It cannot be opened. For logs: nothing happens.
    pub fn deliver(
        &mut self,
        now: Instant,
        sealed: &[u8],
    ) -> Result<Option<TaskId>, UnknownEnvelope> {
        let Some(fleet) = &mut self.fleet else { return Ok(None) };
        let envelope = Envelope::open(&fleet.node.ring, sealed).ok_or(UnknownEnvelope)?;
        let Envelope { kind, sender, number, to, session, exchange, detail, bytes } = envelope;
        // A bus returns what was sent. Sites of one process have no session in common.
        let is_own = sender >> SHARD_BITS == fleet.me >> SHARD_BITS;
        if is_own || ![0, fleet.me].contains(&to) {
            return Ok(None);
        }
        let own_exchange = SlabKey::from_number(exchange ^ fleet.mask);
        if fleet.has_missed(sender, number) {
            self.publish_lists();
        }
        let owner = self.by_id.get(&session).copied();
        match (kind, owner) {
            (Kind::Task, _) => return Ok(bytes.try_into().ok().map(TaskId::new)),
            (Kind::Change, _) => match core::str::from_utf8(bytes) {
                Ok("") => {
                    LISTS.iter().skip(detail as usize).take(1).for_each(|it| self.publish(it))
                }
                uri => self.publish(&Change::resource(uri.map_err(|_| UnknownEnvelope)?)),
            },
            (Kind::Message, Some(owner)) => self.take_from_bus(now, owner, &envelope),
            (Kind::Taken, Some(owner)) => self.taken(own_exchange, owner),
            (Kind::Settings, Some(owner)) => {
                let Some(instance) = self.instances.get_mut(owner) else { return Ok(None) };
                let state = &mut instance.state;
                for setting in bytes.as_chunks().0 {
                    let setting = SessionSetting(u64::from_be_bytes(*setting));
                    setting.set(&mut state.server(self.config));
                    for change in self.fleet.iter().flat_map(|fleet| &fleet.changes) {
                        if change.of == setting
                            && change.at.is_none_or(|at| now < at.saturating_add(LATE))
                            && state.keep_change(self.config, &Change::resource(&change.uri))
                        {
                            self.schedule.turn(Work::Instance(owner));
                        }
                    }
                }
            }
            (Kind::Adopted, _) => self.tell_of_session(session, owner),
            (Kind::Deleted, _) => {
                if let Some(fleet) = &mut self.fleet {
                    fleet.forget(session);
                }
                if let Some(owner) = owner {
                    self.end_instance(owner, Disconnect::Deleted);
                }
            }
            (Kind::Resume, Some(owner)) => {
                let Some(instance) = self.instances.get_mut(owner) else { return Ok(None) };
                let after = EventId { stream: (detail >> 32) as u32, number: detail as u32 };
                if let Some(before) = instance.read_for(sender, exchange, after) {
                    self.schedule.ready(before);
                }
                self.schedule.turn(Work::Instance(owner));
            }
            (Kind::Events, Some(owner)) => {
                self.relay(now, (own_exchange, owner), (detail >> 2, detail & 3), bytes);
            }
            (_, None) => {}
        }
        Ok(None)
    }

    /// Records that envelopes of other nodes may have been lost, since this node was not connected
    /// to the bus: clients are told that all lists have changed, and other nodes are asked what was
    /// set in the sessions. A change of one resource is not told again, for nobody knows which.
    pub fn missed(&mut self) {
        self.publish_lists();
        let Some(fleet) = &mut self.fleet else { return };
        let numbers = self.instances.iter_mut().filter_map(|(_, found)| found.session_number());
        numbers.for_each(|number| fleet.send_adopted(number));
    }

    fn publish_lists(&mut self) {
        LISTS.iter().for_each(|list| self.publish(list));
    }

    /// Handles what a client has sent to another node, unless it is the response to a call of
    /// another one.
    fn take_from_bus(&mut self, now: Instant, owner: SlabKey, envelope: &Envelope<'_>) {
        let (Some(fleet), Some(instance)) = (&mut self.fleet, self.instances.get_mut(owner)) else {
            return;
        };
        let Envelope { sender: to, session, exchange, bytes, .. } = *envelope;
        let mut position = BodyPosition::default();
        match MessageKind::of(&position.messages(bytes, None)) {
            Some(MessageKind::Response(call)) if instance.has_made(self.config, call) => {
                fleet.send(Envelope { to, session, exchange, ..Envelope::new(Kind::Taken) });
            }
            Some(MessageKind::Notification) => {}
            _ => return,
        }
        instance.is_initialized = true;
        let mut message = Exchange::new(OwnedHead::new("POST", "", NO_FIELDS), now);
        message.body = bytes.to_vec();
        message.stage = Stage::Messages(owner, None);
        message.is_unconnected = true;
        message.silent_until = now.saturating_add(self.options.read_timeout);
        let due = message.silent_until;
        let key = self.exchanges.insert(message);
        self.schedule.set_timer(Work::Exchange(key), Some(due));
        self.schedule.turn(Work::Exchange(key));
    }

    /// Another node has taken the response that a client has sent here.
    fn taken(&mut self, key: SlabKey, owner: SlabKey) {
        let stage = self.exchanges.get(key).map(|exchange| &exchange.stage);
        if let Some(Stage::Passed(of)) = stage
            && *of == owner
        {
            self.reply(key, OutgoingResponse::ACCEPTED, Vec::new());
        }
    }

    /// Tells another node what the client of a session has set, or that it is deleted.
    fn tell_of_session(&mut self, session: u64, owner: Option<SlabKey>) {
        let Some(fleet) = &mut self.fleet else { return };
        if fleet.is_deleted(session) {
            fleet.send(Envelope { session, ..Envelope::new(Kind::Deleted) });
        } else if let Some(instance) = owner.and_then(|owner| self.instances.get_mut(owner)) {
            // Its client uses it.
            instance.is_initialized = true;
            let server = instance.state.server(self.config);
            fleet.send_settings(session, SessionSetting::all_of(&server));
        }
    }

    /// Sends events that another node has recorded to the client that resumes their stream here.
    fn relay(
        &mut self,
        now: Instant,
        (key, owner): (SlabKey, SlabKey),
        (number, then): (u64, u64),
        events: &[u8],
    ) {
        let SiteOptions { max_pending, replay, .. } = self.options;
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let Stage::Relay(of, relay) = &mut exchange.stage else { return };
        if *of != owner || number < relay.next {
            return;
        }
        let len = exchange.control.len().saturating_add(events.len());
        // A single envelope may be longer: its sender does not have the events any more.
        let is_full = len > max_pending.saturating_add(replay) && !exchange.control.is_empty();
        let is_lost = number > relay.next || is_full;
        if !is_lost {
            exchange.control.extend_from_slice(events);
            relay.next = number + 1;
            relay.until = now.saturating_add(self.options.keep_alive.saturating_mul(2));
        }
        if is_lost || then == Then::Ended as u64 {
            // The client asks again, with the last event that it has.
            self.leave(key, now);
        } else if then == Then::Own as u64 {
            self.leave(key, now);
            return self.get(key, owner, None, now);
        }
        self.schedule.ready(key);
    }
}

/// The next step of an exchange behind events of another node.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Then {
    /// Wait for more.
    More,
    /// End: the stream has ended.
    Ended,
    /// Go on with the stream of this node that belongs to no request: it was that of the other.
    Own,
}

/// The events of another node that an exchange sends.
#[derive(Clone, Copy)]
pub(super) struct Relay {
    /// The number of the next envelope. Zero: the stream is not found yet.
    pub(super) next: u64,
    /// When it ends without another envelope: some may be lost, or the other node.
    pub(super) until: Instant,
}

/// Returns a number of random bytes, and two that leave room for as many.
pub(super) fn numbers(random: [u8; 16]) -> (u64, [u32; 2]) {
    let number = u128::from_be_bytes(random);
    let [first, second] = [(number >> 64) as u64, number as u64];
    (first, [first as u32 >> 1, second as u32 >> 1])
}

/// Changes of lists, by their numbers in envelopes.
pub(super) const LISTS: [Change<'static>; 3] =
    [Change::tools(), Change::prompts(), Change::resources()];
const NO_FIELDS: [(&str, &str); 0] = [];
const VERSION: u8 = 1;
/// The purpose of the seal of an envelope.
const PURPOSE: &str = "bus";
/// Maximum number of deleted sessions whose ids are remembered, about 24 bytes each.
const MAX_DELETED: usize = 10_000;
/// The bits of a node's number that tell its sites apart.
pub(super) const SHARD_BITS: u32 = 16;
/// Maximum number of changes of resources that are remembered, each with a URI of at most
/// [`MAX_CHANGED_URI`] bytes.
const MAX_CHANGES: usize = 64;
const MAX_CHANGED_URI: usize = 512;
/// Time in which a subscription reaches the other nodes of its session.
const LATE: Duration = Duration::from_secs(2);
/// Maximum number of nodes whose envelopes are counted.
const MAX_HEARD: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_deleted_sessions_are_remembered() {
        let node = SiteNode::new("a", KeyRing::new([7; 32]), Default::default);
        let mut fleet = Fleet::new(node.expect("it is valid"), [0; 16]);
        let last = MAX_DELETED as u64;
        // One that is deleted twice takes one place.
        [0, 1, 1].into_iter().chain(2..=last).for_each(|number| fleet.forget(number));
        assert!(!fleet.is_deleted(0));
        assert!((1..=last).all(|number| fleet.is_deleted(number)));
        assert_eq!(fleet.deleted.by_key().len(), MAX_DELETED);
    }
}
