//! Steps: an exchange or a server that has something to do, and where a whole request goes.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::mem::{replace, take};
use core::time::Duration;

use mcp_sansio::http::server::{EventId, HttpMethod, OutgoingResponse, Refusal, Route};
use mcp_sansio::http::sse::ControlEvent;
use mcp_sansio::http::{Principal, RequestHead};
use mcp_sansio::internal::{BodyPosition, MessageKind, SessionSetting};
use mcp_sansio::{
    ExchangeId, Frame, Instant, Messages, Method, Outcome, Revision, SESSION_LEN, SendError,
    Server, ServerEvent, TxBuffer,
};

use super::bus::Relay;
use super::exchange::{Exchange, KEPT_OUTPUT, SiteBody, Stage};
use super::instance::{Instance, InstanceKind, Session, Stream, control, response_buffer};
use super::principal::{Denied, Unpermitted, identity};
use super::schedule::{SlabKey, Work};
use super::session_id::{self, Id};
use super::{ExchangeKey, Holder, ServerKey, Site, SiteStep, SiteTurn, bus};
use crate::observer::Disconnect;
use crate::places::NoPlace;

impl<'c, O> Site<'c, O> {
    pub(super) fn run_exchange(&mut self, key: SlabKey, now: Instant) -> SiteStep<'_, O> {
        let Some(exchange) = self.exchanges.get_mut(key) else { return SiteStep::Again };
        let is_over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let untaken = exchange.untaken.as_ref().map(|untaken| untaken.until);
        let is_due = exchange.silent_until <= now || is_over(self.closing);
        // The others wait for a message of HTTP+SSE that has begun, so that it has no limit.
        let is_begun = exchange.is_begun && exchange.stage.is_awaited();
        let is_expired = is_over(exchange.expires) && !is_begun;
        let is_awaited = exchange.stage.is_awaited() && !is_begun;
        let silent_until = Some(exchange.silent_until).filter(|_| is_awaited);
        let next = [untaken, self.closing, silent_until].into_iter().flatten();
        if let Some(next) = next.filter(|at| *at > now).min() {
            self.schedule.wake_at(Work::Exchange(key), next);
        }
        let is_untaken =
            is_over(untaken) && matches!(self.body(ExchangeKey(key)), SiteBody::Piece(_));
        if is_expired || is_untaken && !self.goes_on(key, now, false) {
            self.cut(key, now);
            return SiteStep::Again;
        }
        let Some(exchange) = self.exchanges.get_mut(key) else { return SiteStep::Again };
        match exchange.stage {
            _ if is_awaited && is_due => self.time_out(key),
            Stage::Unauthorized => return self.ask(key),
            Stage::Unpermitted(method) => return self.ask_permission(key, method),
            Stage::Messages(owner, id) if self.instances.get(owner).is_none() => {
                exchange.stage = Stage::Ended;
                if id.is_none() || !exchange.is_begun && exchange.sent.is_none() {
                    self.refuse(key, &Refusal::session_not_found());
                }
                self.schedule.ready(key);
            }
            Stage::Messages(..) => return self.take_message(key, now),
            Stage::Refused(owner) => {
                let is_begun = exchange.sent.is_some();
                exchange.stage = Stage::Ended;
                self.end_instance(owner, Disconnect::Closed);
                if !is_begun {
                    self.refuse(key, &Refusal::service_unavailable());
                }
                self.schedule.ready(key);
            }
            Stage::Stream(..) | Stage::Replay(..) => {
                self.begin_session(key);
                self.keep_alive(key, now);
            }
            Stage::Relay(owner, relay) => {
                let is_lost = relay.until <= now;
                let is_over = self.closing.is_some() || self.instances.get(owner).is_none();
                if is_over || is_lost && relay.next > 0 {
                    self.leave(key, now);
                    self.schedule.ready(key);
                } else if is_lost {
                    // No node has the stream.
                    self.leave(key, now);
                    self.get(key, owner, None, now);
                } else {
                    self.keep_alive(key, now);
                }
            }
            Stage::Reply(..) => self.free_body(key),
            _ => {}
        }
        SiteStep::Again
    }

    fn ask(&mut self, key: SlabKey) -> SiteStep<'_, O> {
        let Some(exchange) = self.exchanges.get_mut(key) else { return SiteStep::Again };
        exchange.stage = Stage::Authorizing;
        SiteStep::Authorize { exchange: ExchangeKey(key), head: exchange.head.as_head() }
    }

    fn ask_permission(&mut self, key: SlabKey, method: Option<HttpMethod>) -> SiteStep<'_, O> {
        let Some(exchange) = self.exchanges.get_mut(key) else { return SiteStep::Again };
        exchange.stage = Stage::Permitting(method);
        SiteStep::Permit(Unpermitted {
            exchange: ExchangeKey(key),
            principal: exchange.principal.clone(),
            body: take(&mut exchange.body),
        })
    }

    /// Cuts off a response, and frees all that it holds.
    fn cut(&mut self, key: SlabKey, now: Instant) {
        self.leave(key, now);
        self.free_body(key);
        if let Some(exchange) = self.exchanges.get_mut(key) {
            (exchange.expires, exchange.untaken) = (None, None);
            exchange.control = Vec::new();
        }
        self.schedule.ready(key);
    }

    /// Handles one message of a body.
    fn take_message(&mut self, key: SlabKey, now: Instant) -> SiteStep<'_, O> {
        let Self { config, options, exchanges, instances, schedule, fleet, .. } = self;
        let streams_count = &mut self.counts.streams;
        let Some(exchange) = exchanges.get_mut(key) else { return SiteStep::Again };
        let Exchange { stage, head, body, position, has_fault, awaits_entry, .. } = exchange;
        let Exchange { full_until, principal, holder, is_stream, is_asked, is_unconnected, .. } =
            exchange;
        let Stage::Messages(owner, id) = *stage else { return SiteStep::Again };
        let Some(instance) = instances.get_mut(owner) else { return SiteStep::Again };
        let stream_id = id.unwrap_or(ExchangeId::SESSION);
        let Instance { state, streams, .. } = &mut **instance;
        let stream = streams.get_mut(stream_id);
        let is_next = stream.writer.is_none_or(|writer| writer == key);
        if !is_next || !stream.outbox.may_handle() {
            stream.waiting.push(key);
            return SiteStep::Again;
        }
        let http = id.map(|id| (head.as_head().fields, id));
        let mut messages = position.messages(body, http);
        let mut server = state.server(config);
        // The response to a call may be behind the request.
        let may_wait = full_until.is_none_or(|at| now < at) && server.open_calls() == 0;
        // A refusal that has begun is finished.
        if may_wait && stream.writer.is_none() {
            messages.await_entries();
        }
        let waits = stream.outbox.has_blocked_outcome();
        let is_free = stream.writer.is_some() || !stream.outbox.tx.is_mid_frame();
        let event = stream.outbox.handle(&mut server, now, &mut messages, waits);
        stream.writer = (is_free && stream.outbox.tx.is_mid_frame()).then_some(key);
        exchange.is_begun |= stream.writer.is_some() || matches!(event, Ok(Some(_)));
        let is_last = messages.is_done();
        let is_listen = match &event {
            Err(SendError::Full) if messages.lacks_entry() => {
                if !replace(awaits_entry, true) {
                    instance.awaiting_entry.push_back(key);
                }
                let until = *full_until.get_or_insert(now.saturating_add(options.full_timeout));
                schedule.wake_at(Work::Exchange(key), until);
                return SiteStep::Again;
            }
            Err(SendError::Full) => {
                stream.waiting.push(key);
                false
            }
            Ok(None) => {
                stream.is_taken |= id.is_some();
                false
            }
            Ok(Some(ServerEvent::Request(request))) => {
                request.method == Method::SubscriptionsListen
            }
            Ok(Some(ServerEvent::Listening { .. })) => true,
            _ => false,
        };
        if is_listen && !*is_stream {
            let limit = options.limit(options.max_streams, holder.as_ref());
            *is_stream = streams_count.take(1, holder.as_ref(), limit).is_ok();
            if !*is_stream {
                *stage = Stage::Refused(owner);
                schedule.turn(Work::Exchange(key));
                return SiteStep::Again;
            }
        }
        instance.touch(stream_id);
        // The rest is done if its connection finds no output: `await_output`.
        let is_call = is_last && !is_listen && matches!(&event, Ok(Some(ServerEvent::Request(_))));
        let is_settled = is_call && *is_asked && id.is_some() && instance.is_open();
        if !is_settled {
            schedule.turn(Work::Instance(owner));
        }
        match event {
            Ok(Some(event)) => {
                *full_until = None;
                match &event {
                    ServerEvent::Request(request) => instance.opened(request.handle, stream_id),
                    ServerEvent::Listening { request } => instance.opened(*request, stream_id),
                    ServerEvent::RequestCancelled { request, .. } => instance.ended(*request),
                    ServerEvent::Initialized => instance.is_initialized = true,
                    ServerEvent::Violation(_) => *has_fault = true,
                    ServerEvent::LogLevel(_)
                    | ServerEvent::Subscribed { .. }
                    | ServerEvent::Unsubscribed { .. } => {
                        if let Some(fleet) = fleet {
                            instance.tell_setting(now, fleet, SessionSetting::of(&event));
                        }
                    }
                    _ => {}
                }
                match id {
                    Some(id) if is_settled => {
                        *stage = Stage::Stream(owner, id);
                        instance.streams.get_mut(id).is_taken = true;
                    }
                    _ => schedule.turn(Work::Exchange(key)),
                }
                // The bus brings messages without one.
                let head = (id.is_some() || !*is_unconnected).then(|| head.clone());
                let principal = principal.clone();
                let turn =
                    SiteTurn { config, instance, schedule, key: owner, now, head, principal };
                return SiteStep::Event(event, turn);
            }
            Ok(None) => {
                *stage = match id {
                    Some(id) => Stage::Stream(owner, id),
                    None => Stage::Reply(OutgoingResponse::ACCEPTED, Vec::new()),
                };
                schedule.turn(Work::Exchange(key));
            }
            Err(SendError::Full) => {}
            // Nothing can be written, not even in parts.
            Err(_) => *stage = Stage::Ended,
        }
        schedule.ready(key);
        SiteStep::Again
    }

    pub(super) fn run_instance(&mut self, key: SlabKey, now: Instant) -> SiteStep<'_, O>
    where
        O: for<'m> Outcome<Server<'m>>,
    {
        let Self { config, options, exchanges, instances, schedule, closing, fleet, .. } = self;
        let Some(instance) = instances.get_mut(key) else { return SiteStep::Again };
        let event = instance.run(config, now, closing.is_some());
        let has_room = instance.distribute(config, schedule);
        let settings_at = fleet.as_mut().and_then(|fleet| {
            instance.send_to_nodes(config, now, fleet, options.replay.max(MAX_PASSED))
        });
        let is_unused = instance.is_unused(config);
        let ends_at = match &instance.kind {
            InstanceKind::Session(session) if is_unused => {
                Some(session.active.saturating_add(options.idle_timeout))
            }
            _ => None,
        };
        let is_over = is_unused && closing.is_some()
            || instance.is_unresponsive
            || [ends_at, *closing].into_iter().flatten().any(|at| at <= now);
        if let (InstanceKind::Session(session), true) = (&instance.kind, closing.is_some()) {
            session.readers.iter().for_each(|reader| schedule.ready(*reader));
        }
        let server = instance.state.server(config);
        let mut free = usize::from(options.max_in_flight).saturating_sub(server.open_requests());
        let timeout = server.poll_timeout().filter(|_| !instance.is_blocked);
        while free > 0
            && let Some(key) = instance.awaiting_entry.pop_front()
        {
            if let Some(exchange) = exchanges.get_mut(key)
                && replace(&mut exchange.awaits_entry, false)
                && matches!(exchange.stage, Stage::Messages(..))
            {
                free -= 1;
                schedule.turn(Work::Exchange(key));
            }
        }
        // An earlier timer is left: a session would set another for each request.
        if let Some(due) = [timeout, ends_at, settings_at, *closing].into_iter().flatten().min() {
            schedule.wake_at(Work::Instance(key), due);
        }
        if has_room || event.is_some() {
            self.schedule.turn(Work::Instance(key));
        }
        if is_over && event.is_none() {
            let how = match &self.instances.get(key) {
                _ if self.closing.is_some() => Disconnect::ShutDown,
                Some(instance) if instance.is_unresponsive => Disconnect::Unresponsive,
                _ => Disconnect::Idle,
            };
            self.end_instance(key, how);
            return SiteStep::Again;
        }
        let Some(event) = event else {
            let found = self.instances.get_mut(key);
            let has_room = found.is_some_and(|found| take(&mut found.has_room));
            return if has_room { SiteStep::Room(ServerKey(key)) } else { SiteStep::Again };
        };
        self.turn(now, ServerKey(key)).map_or(SiteStep::Again, |turn| SiteStep::Event(event, turn))
    }

    /// Ends a session, of which an observer is told why, or the server of one request.
    pub(super) fn end_instance(&mut self, key: SlabKey, how: Disconnect<'static>) {
        let Some(mut instance) = self.instances.remove(key) else { return };
        self.schedule.set_timer(Work::Instance(key), None);
        let id = match &instance.kind {
            InstanceKind::Alone => None,
            InstanceKind::Sse(id) => Some(id),
            InstanceKind::Session(session) => {
                session.readers.iter().for_each(|reader| self.schedule.ready(*reader));
                session.id.as_ref()
            }
        };
        if let Some(id) = id {
            self.by_id.remove(&id.number);
        }
        for stream in instance.streams.iter() {
            stream
                .waiting
                .iter()
                .for_each(|exchange| self.schedule.turn(Work::Exchange(*exchange)));
            if let Some(exchange) = stream.exchange {
                self.schedule.ready(exchange);
            }
        }
        for exchange in &instance.awaiting_entry {
            self.schedule.turn(Work::Exchange(*exchange));
        }
        self.spare_output.keep(instance.streams.own.outbox.tx.take_storage(), KEPT_OUTPUT);
        let is_alone = matches!(instance.kind, InstanceKind::Alone);
        if !is_alone {
            self.counts.sessions.give_back(1, instance.holder().as_ref());
        }
        if !is_alone || instance.state.server(self.config).open_requests() > 0 {
            self.ended.push_back((key, how));
        } else {
            instance.renew();
            self.spare = Some(instance);
        }
    }
}

// From a whole request to the server that handles it, or to a response without one.

/// A [`Route`] that borrows nothing.
enum Decision {
    Alone(Option<Revision>),
    NewSession,
    /// In a fleet with the kind of its first message.
    Post(SlabKey, Option<MessageKind>),
    Get(SlabKey, Option<EventId>),
    Delete(SlabKey),
    /// POST to a stream of HTTP+SSE.
    Message(SlabKey),
    /// GET of HTTP+SSE.
    NewStream,
    /// The session that it names is not here.
    NoSession,
    Reply(OutgoingResponse, Vec<u8>),
}

impl<O> Site<'_, O> {
    /// Ends the body: the request is handled. Call it when the site takes a body
    /// ([`wants_body`](Self::wants_body)), or without a body at any time; otherwise nothing
    /// happens. If the request waits for authorization, it is handled after that.
    pub fn end_of_body(&mut self, now: Instant, exchange: ExchangeKey) {
        let key = exchange.0;
        if let Some(Exchange {
            stage: Stage::Unauthorized | Stage::Authorizing, is_whole, ..
        }) = self.exchanges.get_mut(key)
        {
            *is_whole = true;
        }
        if self.options.checks_operations && self.await_permission(key) {
            return;
        }
        self.handle(now, key);
    }

    /// Lets a whole body wait to be permitted. Returns whether it does.
    fn await_permission(&mut self, key: SlabKey) -> bool {
        let Some(exchange) = self.exchanges.get_mut(key) else { return false };
        let Stage::Body(method) = exchange.stage else { return false };
        if exchange.waits || exchange.head.as_head().method != "POST" {
            return false;
        }
        exchange.stage = Stage::Unpermitted(method);
        self.schedule.turn(Work::Exchange(key));
        true
    }

    /// Hands back [`SiteStep::Permit`] with its result. Nothing happens if
    /// the exchange has ended meanwhile.
    pub fn permitted(
        &mut self,
        now: Instant,
        unpermitted: Unpermitted,
        result: Result<(), Denied>,
    ) {
        let key = unpermitted.exchange.0;
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let Stage::Permitting(method) = exchange.stage else { return };
        match result {
            Ok(()) => {
                exchange.stage = Stage::Body(method);
                exchange.body = unpermitted.body;
                self.handle(now, key);
            }
            Err(denied) => self.deny(key, denied),
        }
    }

    /// Handles a request with its whole body.
    fn handle(&mut self, now: Instant, key: SlabKey) {
        let Some(mut decision) = self.decide(key) else { return };
        if matches!(decision, Decision::NoSession) && self.fleet.is_some() {
            if self.adopt(now, key).is_err() {
                return self.refuse(key, &Refusal::service_unavailable());
            }
            let Some(of_adopted) = self.decide(key) else { return };
            decision = of_adopted;
        }
        let has_room = match decision {
            Decision::NewSession => self.make_room(now, key),
            Decision::NewStream => self.enter_streams(key) && self.make_room(now, key),
            Decision::Alone(_) => self.closing.is_none(),
            _ => true,
        };
        if !has_room {
            return self.refuse(key, &Refusal::service_unavailable());
        }
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.silent_until = now.saturating_add(self.options.keep_alive);
        let peer = exchange.head.peer_address();
        let principal = match decision {
            Decision::Alone(_) | Decision::NewSession | Decision::NewStream => {
                exchange.principal.take()
            }
            _ => None,
        };
        match decision {
            Decision::Reply(head, body) => self.reply(key, head, body),
            Decision::NoSession => self.refuse(key, &Refusal::session_not_found()),
            Decision::Alone(revision) => {
                let options = &self.options;
                let mut instance =
                    self.spare.take().unwrap_or_else(|| Box::new(Instance::alone(options)));
                let tx = response_buffer(options, self.spare_output.take());
                instance.streams.own.begin(tx, 0, Some(key));
                instance.principal = principal;
                if let Some(revision) = revision {
                    instance.state.server(self.config).start_legacy(revision);
                }
                let owner = self.instances.insert(instance);
                self.take_messages(key, owner, Some(ExchangeId::new(1)));
            }
            Decision::NewSession => {
                // Another node that goes on with the session has other streams.
                let is_fleet = self.fleet.is_some();
                let own_stream = if is_fleet { bus::numbers((self.random)()).1[0] } else { 0 };
                let numbers = (own_stream, 0);
                let mut instance = Instance::new_session(&self.options, now, principal, numbers);
                instance.peer = peer;
                let owner = self.instances.insert(Box::new(instance));
                self.post(key, owner);
            }
            Decision::Post(owner, kind) => self.post_in_session(now, key, owner, kind),
            Decision::Get(owner, after) => self.get(key, owner, after, now),
            Decision::Delete(owner) => {
                if let (Some(fleet), Some(instance)) = (&mut self.fleet, self.instances.get(owner))
                    && let Some(session) = instance.session_number()
                {
                    fleet.send_deleted(session);
                }
                self.end_instance(owner, Disconnect::Deleted);
                self.reply(key, OutgoingResponse::empty(204), Vec::new());
            }
            Decision::Message(owner) => {
                exchange.silent_until = now.saturating_add(self.options.read_timeout);
                let due = Some(exchange.silent_until);
                self.schedule.set_timer(Work::Exchange(key), due);
                self.take_messages(key, owner, None);
            }
            Decision::NewStream => {
                let path = exchange.head.as_head().path().to_owned();
                let id = self.new_random_id();
                let uri = format!("{path}?{PARAMETER}{}", id.as_str());
                let number = id.number;
                let tx = response_buffer(&self.options, Vec::new()).event_stream_only();
                let own = Stream::new(tx, 0, Some(key));
                let mut instance =
                    Instance::new(&self.options, InstanceKind::Sse(id), own, principal);
                instance.peer = peer;
                let owner = self.instances.insert(Box::new(instance));
                self.by_id.insert(number, owner);
                if let Some(exchange) = self.exchanges.get_mut(key) {
                    exchange.control = control(ControlEvent::Endpoint(&uri));
                    exchange.stage = Stage::Stream(owner, ExchangeId::SESSION);
                }
                self.schedule.turn(Work::Exchange(key));
                self.schedule.turn(Work::Instance(owner));
                self.schedule.ready(key);
            }
        }
    }

    /// Handles a POST, of which other nodes of a fleet may need to know.
    fn post_in_session(
        &mut self,
        now: Instant,
        key: SlabKey,
        owner: SlabKey,
        kind: Option<MessageKind>,
    ) {
        let Some(instance) = self.instances.get_mut(owner) else { return };
        if self.fleet.is_some() {
            // It may have told another node.
            instance.is_initialized = true;
        }
        match kind {
            Some(MessageKind::Response(call)) if !instance.has_made(self.config, call) => {
                self.pass(now, key, owner)
            }
            Some(MessageKind::Notification) => {
                // Otherwise it is handled here alone.
                let _ = self.tell_nodes(now, key, owner);
                self.post(key, owner);
            }
            _ => self.post(key, owner),
        }
    }

    fn post(&mut self, key: SlabKey, owner: SlabKey) {
        let Some(instance) = self.instances.get_mut(owner) else { return };
        let memory = (self.spare_output.take(), self.spare_stream.take());
        let id = instance.open_stream(self.config, &self.options, key, memory);
        self.take_messages(key, owner, Some(id));
    }

    /// Passes a response on to the node that has made the call.
    fn pass(&mut self, now: Instant, key: SlabKey, owner: SlabKey) {
        if let Err(refusal) = self.tell_nodes(now, key, owner) {
            return self.refuse(key, &refusal);
        }
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.stage = Stage::Passed(owner);
        exchange.silent_until = now.saturating_add(PASS_TIMEOUT);
        let due = Some(exchange.silent_until);
        self.free_body(key);
        self.schedule.set_timer(Work::Exchange(key), due);
    }

    /// Sends a body to the other nodes of a session. `Err`: it is too long, or too soon.
    fn tell_nodes(
        &mut self,
        now: Instant,
        key: SlabKey,
        owner: SlabKey,
    ) -> Result<(), Refusal<'static>> {
        if let (Some(fleet), Some(exchange), Some(instance)) =
            (&mut self.fleet, self.exchanges.get(key), self.instances.get_mut(owner))
            && let Some(session) = instance.session_number()
        {
            if exchange.body.len() > MAX_PASSED {
                return Err(Refusal::content_too_large());
            }
            if !instance.may_pass(now, exchange.body.len()) {
                return Err(Refusal::service_unavailable());
            }
            fleet.send_message(session, key, &exchange.body);
        }
        Ok(())
    }

    fn take_messages(&mut self, key: SlabKey, owner: SlabKey, id: Option<ExchangeId>) {
        if let Some(exchange) = self.exchanges.get_mut(key) {
            exchange.stage = Stage::Messages(owner, id);
        }
        self.schedule.turn(Work::Exchange(key));
    }

    pub(super) fn get(
        &mut self,
        key: SlabKey,
        owner: SlabKey,
        after: Option<EventId>,
        now: Instant,
    ) {
        let Some(instance) = self.instances.get_mut(owner) else { return };
        if let (Some(fleet), Some(after)) = (&mut self.fleet, after)
            && fleet.node.is_on_bus
            && !instance.has_stream(after.stream)
            && let Some(session) = instance.session_number()
        {
            if !instance.may_pass(now, size_of::<EventId>()) {
                return self.refuse(key, &Refusal::service_unavailable());
            }
            fleet.send_resume(session, key, after);
            return self.begin_relay(key, owner, now);
        }
        let Some((reader, before)) = instance.read(key, after) else { return };
        if let Some(before) = before {
            self.leave_streams(before);
            self.schedule.ready(before);
        }
        if let Some(exchange) = self.exchanges.get_mut(key) {
            exchange.stage = Stage::Replay(owner, reader);
        }
        let has_place = self.exchanges.get(key).is_some_and(|exchange| exchange.is_stream);
        if !has_place && !self.enter_streams(key) {
            self.leave(key, now);
            return self.refuse(key, &Refusal::service_unavailable());
        }
        self.schedule.turn(Work::Instance(owner));
        self.keep_alive(key, now);
        self.schedule.ready(key);
    }

    /// Waits for the events of another node.
    fn begin_relay(&mut self, key: SlabKey, owner: SlabKey, now: Instant) {
        if !self.enter_streams(key) {
            return self.refuse(key, &Refusal::service_unavailable());
        }
        if let Some(exchange) = self.exchanges.get_mut(key) {
            let until = now.saturating_add(PASS_TIMEOUT);
            exchange.stage = Stage::Relay(owner, Relay { next: 0, until });
        }
        if let Some(instance) = self.instances.get_mut(owner)
            && let InstanceKind::Session(session) = &mut instance.kind
        {
            session.readers.push(key);
        }
        self.keep_alive(key, now);
        self.schedule.ready(key);
    }

    /// Decides where a request goes.
    fn decide(&mut self, key: SlabKey) -> Option<Decision> {
        let exchange = self.exchanges.get(key)?;
        let Stage::Body(method) = exchange.stage else { return None };
        if exchange.waits {
            return None;
        }
        let (head, principal) = (exchange.head.as_head(), exchange.principal.as_deref());
        let body = Frame::Complete(&exchange.body);
        let messages = Messages::over_http(body, &head, ExchangeId::new(1));
        let is_late = self.closing.is_some() && messages.has_request();
        let Some(method) = method else {
            let found = id_in_query(&head).and_then(|id| self.find(id, principal, true));
            return Some(match (head.method, found) {
                ("POST", Some(_)) if is_late => refused(&Refusal::service_unavailable()),
                ("POST", Some(owner)) => Decision::Message(owner),
                ("POST", None) => refused(&Refusal::session_not_found()),
                _ => Decision::NewStream,
            });
        };
        let found = |id| self.find(id, principal, false);
        let on_bus = self.fleet.as_ref().is_some_and(|fleet| fleet.node.is_on_bus);
        let (route, mut position) = BodyPosition::route(&self.endpoint, method, &head, &messages);
        let decision = match route {
            Route::Stateless => Decision::Alone(None),
            Route::StatelessRevision(revision) => Decision::Alone(Some(revision)),
            Route::NewSession => Decision::NewSession,
            Route::Session(id) => match found(id) {
                Some(owner) if !is_late => {
                    // The kind found above is not read again.
                    let mut kind = || MessageKind::of(&position.messages(&exchange.body, None));
                    Decision::Post(owner, on_bus.then(&mut kind).flatten())
                }
                Some(_) => refused(&Refusal::service_unavailable()),
                None => Decision::NoSession,
            },
            Route::Stream { session, last_event_id } => found(session)
                .map_or(Decision::NoSession, |owner| Decision::Get(owner, last_event_id)),
            Route::DeleteSession(id) => found(id).map_or(Decision::NoSession, Decision::Delete),
            Route::Refused(refusal) => refused(&refusal),
            // Answered before the body was read.
            Route::Options => Decision::Reply(OutgoingResponse::empty(204), Vec::new()),
            _ => Decision::Reply(OutgoingResponse::empty(501), Vec::new()),
        };
        self.exchanges.get_mut(key)?.position = position;
        Some(decision)
    }

    /// Finds a session, or a stream of HTTP+SSE, of a principal.
    fn find(&self, id: &str, principal: Option<&Principal>, is_sse: bool) -> Option<SlabKey> {
        let key = *self.by_id.get(&session_id::number(id))?;
        let instance = self.instances.get(key)?;
        let own = match &instance.kind {
            InstanceKind::Sse(own) if is_sse => own,
            InstanceKind::Session(session) if !is_sse => session.id.as_ref()?,
            _ => return None,
        };
        let is_own = instance.principal.as_deref().map(identity) == principal.map(identity);
        (own.is(id) && is_own).then_some(key)
    }

    /// Goes on with the session that a request names, if it was opened by another node of the
    /// fleet, or by this one before it was started again. `Err`: there is no room for it.
    fn adopt(&mut self, now: Instant, key: SlabKey) -> Result<(), NoPlace> {
        let Self { fleet: Some(fleet), exchanges, by_id, options, config, foreign, .. } = self
        else {
            return Ok(());
        };
        let Some(exchange) = exchanges.get(key) else { return Ok(()) };
        let (head, principal) = (exchange.head.as_head(), exchange.principal.clone());
        let id = session_in(&head).filter(|_| options.has_sessions);
        let Some(id) = id else { return Ok(()) };
        let number = session_id::number(id);
        if by_id.contains_key(&number) || fleet.is_deleted(number) {
            return Ok(());
        }
        let session = match fleet.node.open(id, principal.as_deref()) {
            Some(Ok(session)) => session,
            Some(Err(why)) => {
                foreign.push_back((key, why));
                return Ok(());
            }
            None => return Ok(()),
        };
        let (_, [streams, calls]) = bus::numbers((self.random)());
        let mut instance = Instance::new_session(options, now, principal, (streams, calls));
        if !instance.state.server(config).resume_session(session, calls) {
            return Ok(());
        }
        instance.peer = exchange.head.peer_address();
        instance.is_initialized = true;
        // Nobody knows what the client has missed.
        for change in &bus::LISTS {
            instance.state.keep_change(config, change);
        }
        let id = Id::of(id);
        if !self.make_room(now, key) {
            return Err(NoPlace::Total);
        }
        self.opened += 1;
        if let InstanceKind::Session(session) = &mut instance.kind {
            (session.id, session.number) = (Some(id), self.opened);
        }
        if let Some(fleet) = &mut self.fleet {
            fleet.send_adopted(number);
        }
        let owner = self.instances.insert(Box::new(instance));
        self.by_id.insert(number, owner);
        self.schedule.turn(Work::Instance(owner));
        Ok(())
    }

    /// Makes room for a new session, or a stream of HTTP+SSE, of the principal of a request, or of
    /// its address. Returns whether there is room.
    fn make_room(&mut self, now: Instant, key: SlabKey) -> bool {
        if self.closing.is_some() {
            return false;
        }
        let Some(exchange) = self.exchanges.get(key) else { return false };
        let holder = exchange.holder.clone();
        let mut limit = self.options.limit(self.options.max_sessions, holder.as_ref());
        if exchange.principal.is_some() {
            limit.share = self.options.max_sessions_per_principal;
        }
        while let Err(lacking) = self.counts.sessions.take(1, holder.as_ref(), limit) {
            if !self.replace_session(now, lacking, holder.as_ref())
                && !self.counts.sessions.reclaim(now, lacking, holder.as_ref())
            {
                return false;
            }
        }
        true
    }

    /// Ends a session for the sake of another client, as
    /// [`SiteOptions::max_sessions`](super::SiteOptions::max_sessions) says: one of all sessions,
    /// or of its own if it lacks its share. Returns whether there was one.
    pub fn replace_session(
        &mut self,
        now: Instant,
        lacking: NoPlace,
        holder: Option<&Holder>,
    ) -> bool {
        let config = self.config;
        let replaceable = self.instances.iter_mut().filter_map(|(key, instance)| {
            let InstanceKind::Session(Session { id: Some(_), number, active, .. }) = instance.kind
            else {
                return None;
            };
            let is_in_way = lacking == NoPlace::Total || instance.holder().as_ref() == holder;
            let since = instance.is_initialized.then_some(active);
            let is_replaceable = since.is_none_or(|since| {
                since.saturating_add(UNUSED) <= now && instance.is_unused(config)
            });
            (is_in_way && is_replaceable).then_some((since, number, key))
        });
        let Some((.., replaced)) = replaceable.min() else { return false };
        self.end_instance(replaced, Disconnect::Replaced);
        true
    }

    /// After all messages of a body have been handled: frees the body, and opens the session that
    /// they have begun.
    fn begin_session(&mut self, key: SlabKey) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let Stage::Stream(owner, _) = exchange.stage else { return };
        if exchange.body.is_empty() {
            return;
        }
        self.free_body(key);
        let Some(instance) = self.instances.get_mut(owner) else { return };
        let Instance { kind: InstanceKind::Session(session), state, .. } = &mut **instance else {
            return;
        };
        let Some(begun) = state.server(self.config).session().filter(|_| session.id.is_none())
        else {
            return;
        };
        if self.fleet.is_some() {
            // `notifications/initialized` may go to another node, and a call come here first.
            state.server(self.config).resume_session(begun, 0);
        }
        let principal = instance.principal.clone();
        let id = self.new_id(begun, principal.as_deref());
        let (text, number) = (id.as_str().to_owned(), id.number);
        self.opened += 1;
        if let Some(instance) = self.instances.get_mut(owner)
            && let InstanceKind::Session(session) = &mut instance.kind
        {
            (session.id, session.number) = (Some(id), self.opened);
        }
        self.by_id.insert(number, owner);
        if let Some(exchange) = self.exchanges.get_mut(key) {
            exchange.fields.push(("mcp-session-id", text));
        }
        self.schedule.ready(key);
    }

    pub(super) fn refuse(&mut self, key: SlabKey, refusal: &Refusal<'_>) {
        let (head, body) = rendered(refusal);
        self.reply(key, head, body);
    }

    pub(super) fn reply(&mut self, key: SlabKey, head: OutgoingResponse, body: Vec<u8>) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        match head.status {
            405 => {
                let is_sse = self.options.sse_path == Some(exchange.head.as_head().path());
                let allow =
                    if is_sse { "GET, POST, OPTIONS" } else { self.endpoint.allowed_methods() };
                exchange.fields.push(("allow", allow.to_owned()));
            }
            503 => exchange.fields.push(("retry-after", RETRY_AFTER.to_owned())),
            _ => {}
        }
        exchange.stage = Stage::Reply(head, body);
        self.free_body(key);
        self.schedule.ready(key);
    }

    /// Returns the id of a session that begins.
    fn new_id(&mut self, session: [u8; SESSION_LEN], principal: Option<&Principal>) -> Id {
        match &mut self.fleet {
            Some(fleet) => fleet.node.seal(session, principal, (self.random)()),
            None => self.new_random_id(),
        }
    }

    fn new_random_id(&mut self) -> Id {
        loop {
            let id = Id::random((self.random)());
            if !self.by_id.contains_key(&id.number) {
                return id;
            }
        }
    }
}

fn refused(refusal: &Refusal<'_>) -> Decision {
    let (head, body) = rendered(refusal);
    Decision::Reply(head, body)
}

fn rendered(refusal: &Refusal<'_>) -> (OutgoingResponse, Vec<u8>) {
    let mut tx = TxBuffer::for_http_response(Vec::new(), 4096);
    match refusal.write(&mut tx) {
        Ok(()) => (
            tx.http_response().unwrap_or(OutgoingResponse::empty(refusal.status())),
            tx.pending().to_vec(),
        ),
        Err(_) => (OutgoingResponse::empty(refusal.status()), Vec::new()),
    }
}

/// Returns the number in the id of the session that a request names, on `sse_path` that of
/// HTTP+SSE. Where several sites serve an endpoint, its remainder says which of them has the
/// session: see [`with_number`]. `None` for a request without a session.
pub fn number_of_session(head: &RequestHead<'_>, sse_path: Option<&str>) -> Option<u32> {
    if sse_path == Some(head.path()) {
        return id_in_query(head).map(session_id::site_number);
    }
    session_in(head).map(session_id::site_number)
}

/// Returns the id of the session that a request names.
fn session_in<'h>(head: &RequestHead<'h>) -> Option<&'h str> {
    let version = head.fields.get("mcp-protocol-version").and_then(Revision::parse);
    if version.is_some_and(Revision::is_modern) {
        return None;
    }
    head.fields.get("mcp-session-id")
}

/// Gives random bytes, of which a site makes the id of a session, a number whose remainder is
/// `site`, one of `sites`. All but the lowest bits of the number remain random.
pub fn with_number(random: [u8; 16], site: u32, sites: u32) -> [u8; 16] {
    let [a, b, c, d, ..] = random;
    let number = u32::from_be_bytes([a, b, c, d]);
    let lowest = number - number.checked_rem(sites).unwrap_or(0);
    // The last ones may lack a number of this remainder.
    let number = lowest.checked_add(site).unwrap_or(site);
    let mut bytes = random;
    if let Some(first) = bytes.first_chunk_mut() {
        *first = number.to_be_bytes();
    }
    bytes
}

/// Returns the id of the stream of HTTP+SSE that a request names.
fn id_in_query<'h>(head: &RequestHead<'h>) -> Option<&'h str> {
    head.query()?.split('&').find_map(|pair| pair.strip_prefix(PARAMETER))
}

/// Maximum length of what is passed on to other nodes, in bytes.
const MAX_PASSED: usize = 1 << 20;
/// Time in which another node has to take a response, or to find a stream.
const PASS_TIMEOUT: Duration = Duration::from_secs(2);
/// The parameter of the URI for messages of HTTP+SSE.
const PARAMETER: &str = "session=";
/// `Retry-After` of requests that were refused for lack of room, in seconds.
const RETRY_AFTER: &str = "5";
/// Time without a request or stream after which a session may be replaced: clients that come back
/// have one of both more often, or keep the stream of notifications open.
const UNUSED: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_any_random_bytes_names_the_site() {
        for first in [0, 1, 7, u32::MAX - 1, u32::MAX] {
            for (site, sites) in [(0, 1), (1, 2), (2, 3), (63, 64)] {
                let mut random = [0xa5; 16];
                random[..4].copy_from_slice(&first.to_be_bytes());
                let bytes = with_number(random, site, sites);
                let [a, b, c, d, rest @ ..] = bytes;
                assert_eq!(u32::from_be_bytes([a, b, c, d]) % sites, site);
                assert_eq!(rest, [0xa5; 12]);
            }
        }
    }
}
