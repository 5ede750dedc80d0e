//! Steps: an exchange or a server that has something to do.

use alloc::vec::Vec;
use core::mem::{replace, take};

use super::exchange::{Exchange, SiteBody, Stage};
use super::instance::{Instance, Kind};
use super::operation::Unpermitted;
use super::slab::Key;
use super::{ExchangeKey, ServerKey, Site, SiteStep, SiteTurn, Task, ready, set_timer};
use crate::connection::Outcome;
use crate::error::SendError;
use crate::http::server::{HttpMethod, OutgoingResponse, Rejection};
use crate::lifecycle::Method;
use crate::message::Messages;
use crate::server::{Server, ServerEvent};
use crate::time::Instant;

impl<'c, O> Site<'c, O> {
    pub(super) fn run_exchange(&mut self, key: Key, now: Instant) -> SiteStep<'_, O> {
        let Some(exchange) = self.exchanges.get_mut(key) else { return SiteStep::Again };
        exchange.is_queued = false;
        let is_over = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let untaken = exchange.untaken.as_ref().map(|untaken| untaken.until);
        let is_due = exchange.silent_until <= now || is_over(self.closing);
        let is_expired = is_over(exchange.expires);
        let is_awaited = exchange.stage.is_awaited();
        let silent_until = Some(exchange.silent_until).filter(|_| is_awaited);
        let next = [untaken, self.closing, silent_until].into_iter().flatten();
        if let Some(next) = next.filter(|at| *at > now).min() {
            self.wake_at(key, next);
        }
        if is_expired
            || is_over(untaken) && matches!(self.body(ExchangeKey(key)), SiteBody::Piece(_))
        {
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
                if id.is_none() {
                    self.reject(key, &Rejection::session_not_found());
                }
                self.ready(key);
            }
            Stage::Messages(..) => return self.take_message(key, now),
            Stage::Refused(owner) => {
                let is_begun = exchange.sent.is_some();
                exchange.stage = Stage::Ended;
                self.end_instance(owner);
                if !is_begun {
                    self.reject(key, &Rejection::service_unavailable());
                }
                self.ready(key);
            }
            Stage::Stream(..) | Stage::Replay(..) => {
                self.settle(key);
                self.keep_alive(key, now);
            }
            Stage::Reply(..) => self.free_body(key),
            _ => {}
        }
        SiteStep::Again
    }

    fn ask(&mut self, key: Key) -> SiteStep<'_, O> {
        let Some(exchange) = self.exchanges.get_mut(key) else { return SiteStep::Again };
        exchange.stage = Stage::Authorizing;
        SiteStep::Authorize { exchange: ExchangeKey(key), head: exchange.head.as_head() }
    }

    fn ask_permission(&mut self, key: Key, method: Option<HttpMethod>) -> SiteStep<'_, O> {
        let Some(exchange) = self.exchanges.get_mut(key) else { return SiteStep::Again };
        exchange.stage = Stage::Permitting(method);
        SiteStep::Permit(Unpermitted {
            exchange: ExchangeKey(key),
            principal: exchange.principal.clone(),
            body: take(&mut exchange.body),
        })
    }

    /// Cuts off a response, and frees all that it holds.
    fn cut(&mut self, key: Key, now: Instant) {
        self.leave(key, now);
        self.free_body(key);
        if let Some(exchange) = self.exchanges.get_mut(key) {
            (exchange.expires, exchange.untaken) = (None, None);
            exchange.control = Vec::new();
        }
        self.ready(key);
    }

    /// Handles one message of a body.
    fn take_message(&mut self, key: Key, now: Instant) -> SiteStep<'_, O> {
        let Self { config, options, exchanges, instances, tasks, timers, ready: all, .. } = self;
        let stream_places = &mut self.stream_places;
        let Some(exchange) = exchanges.get_mut(key) else { return SiteStep::Again };
        let Exchange { stage, head, body, cursor, has_fault, is_queued, is_ready, .. } = exchange;
        let Exchange { awaits_entry, full_until, due, principal, holder, is_stream, .. } = exchange;
        let Stage::Messages(owner, id) = *stage else { return SiteStep::Again };
        let Some(instance) = instances.get_mut(owner) else { return SiteStep::Again };
        let stream = id.unwrap_or(crate::ExchangeId::SESSION);
        let Instance { state, streams, .. } = instance;
        let line = streams.get_mut(stream);
        if !line.messages.is_worth_it(&line.tx) {
            line.waiting.push(key);
            return SiteStep::Again;
        }
        let http = id.map(|id| (head.as_head().fields, id));
        let mut messages = Messages::of_body(body, cursor, http);
        let mut server = state.server(config);
        // The response to a call may be behind the request.
        if full_until.is_none_or(|at| now < at) && server.open_calls() == 0 {
            messages.await_entries();
        }
        let event = server.next_event(now, &mut messages, &mut line.tx);
        match &event {
            Err(SendError::Full) if messages.lacks_entry() => {
                if !replace(awaits_entry, true) {
                    instance.awaiting_entry.push_back(key);
                }
                let until = *full_until.get_or_insert(now.saturating_add(options.full_timeout));
                let until = due.map_or(until, |due| until.min(due));
                set_timer(timers, Task::Exchange(key), due, Some(until));
                return SiteStep::Again;
            }
            Err(SendError::Full) => {
                line.messages.found_no_room(&line.tx);
                line.waiting.push(key);
            }
            _ => line.messages.done(),
        }
        let is_listen = match &event {
            Ok(Some(ServerEvent::Request(request))) => {
                request.method == Method::SubscriptionsListen
            }
            Ok(Some(ServerEvent::Listening { .. })) => true,
            _ => false,
        };
        if is_listen && !*is_stream {
            let limit = options.limit(options.max_streams, holder.as_ref());
            *is_stream = stream_places.take(1, holder.as_ref(), limit).is_ok();
            if !*is_stream {
                *stage = Stage::Refused(owner);
                if !replace(is_queued, true) {
                    tasks.push_back(Task::Exchange(key));
                }
                return SiteStep::Again;
            }
        }
        line.is_taken |= matches!(event, Ok(None)) && id.is_some();
        instance.touch(stream);
        if !replace(&mut instance.is_queued, true) {
            tasks.push_back(Task::Instance(owner));
        }
        match event {
            Ok(Some(event)) => {
                *full_until = None;
                match &event {
                    ServerEvent::Request(request) => instance.opened(request.handle, stream),
                    ServerEvent::Listening { request } => instance.opened(*request, stream),
                    ServerEvent::RequestCancelled { request, .. } => instance.ended(*request),
                    ServerEvent::Initialized => instance.is_initialized = true,
                    ServerEvent::Violation(_) => *has_fault = true,
                    _ => {}
                }
                if !replace(is_queued, true) {
                    tasks.push_back(Task::Exchange(key));
                }
                let (head, principal) = (Some(head.clone()), principal.clone());
                let turn = SiteTurn { config, instance, key: owner, now, head, principal };
                return SiteStep::Event(event, turn);
            }
            Ok(None) => {
                *stage = match id {
                    Some(id) => Stage::Stream(owner, id),
                    None => Stage::Reply(OutgoingResponse::ACCEPTED, Vec::new()),
                };
                if !replace(is_queued, true) {
                    tasks.push_back(Task::Exchange(key));
                }
            }
            Err(SendError::Full) => {}
            // Nothing can be written, not even in parts.
            Err(_) => *stage = Stage::Ended,
        }
        if !replace(is_ready, true) {
            all.push_back(key);
        }
        SiteStep::Again
    }

    pub(super) fn run_instance(&mut self, key: Key, now: Instant) -> SiteStep<'_, O>
    where
        O: for<'m> Outcome<Server<'m>>,
    {
        let Self { config, options, exchanges, instances, tasks, timers, closing, .. } = self;
        let all = &mut self.ready;
        let Some(instance) = instances.get_mut(key) else { return SiteStep::Again };
        instance.is_queued = false;
        let event = instance.run(config, now, closing.is_some());
        let has_room = instance.distribute(config, |key| ready(exchanges, all, key));
        let is_unused = instance.is_unused(config);
        let ends_at = match &instance.kind {
            Kind::Session(session) if is_unused => {
                Some(session.active.saturating_add(options.idle_timeout))
            }
            _ => None,
        };
        let is_over = is_unused && closing.is_some()
            || instance.is_unresponsive
            || [ends_at, *closing].into_iter().flatten().any(|at| at <= now);
        if let (Kind::Session(session), true) = (&instance.kind, closing.is_some()) {
            session.readers.iter().for_each(|reader| ready(exchanges, all, *reader));
        }
        let server = instance.state.server(config);
        let mut free = usize::from(options.in_flight).saturating_sub(server.open_requests());
        let timeout = server.poll_timeout().filter(|_| !instance.is_blocked);
        while free > 0
            && let Some(key) = instance.awaiting_entry.pop_front()
        {
            if let Some(exchange) = exchanges.get_mut(key)
                && replace(&mut exchange.awaits_entry, false)
                && matches!(exchange.stage, Stage::Messages(..))
            {
                free -= 1;
                if !replace(&mut exchange.is_queued, true) {
                    tasks.push_back(Task::Exchange(key));
                }
            }
        }
        let due = [timeout, ends_at, *closing].into_iter().flatten().min();
        set_timer(timers, Task::Instance(key), &mut instance.due, due);
        if has_room || event.is_some() {
            self.queue(Task::Instance(key));
        }
        if is_over && event.is_none() {
            self.end_instance(key);
            return SiteStep::Again;
        }
        if event.is_none()
            && self.instances.get_mut(key).is_some_and(|found| take(&mut found.has_room))
        {
            return SiteStep::Room(ServerKey(key));
        }
        match (event, self.instances.get_mut(key)) {
            (Some(event), Some(instance)) => {
                let config = self.config;
                let (head, principal) = (None, None);
                SiteStep::Event(event, SiteTurn { config, instance, key, now, head, principal })
            }
            _ => SiteStep::Again,
        }
    }

    /// Ends a session, or the server of one request.
    pub(super) fn end_instance(&mut self, key: Key) {
        let Some(mut instance) = self.instances.remove(key) else { return };
        if let Some(due) = instance.due {
            self.timers.remove(&(due, Task::Instance(key)));
        }
        let id = match &instance.kind {
            Kind::Alone => None,
            Kind::Sse(id) => Some(*id),
            Kind::Session(session) => {
                session.readers.iter().for_each(|reader| self.ready(*reader));
                session.id
            }
        };
        if let Some(id) = id {
            self.by_id.remove(&super::route::first_digits(id.as_str()));
        }
        for stream in instance.streams.iter() {
            stream.waiting.iter().for_each(|exchange| self.queue(Task::Exchange(*exchange)));
            if let Some(exchange) = stream.exchange {
                self.ready(exchange);
            }
        }
        for exchange in &instance.awaiting_entry {
            self.queue(Task::Exchange(*exchange));
        }
        let is_alone = matches!(instance.kind, Kind::Alone);
        if !is_alone || instance.state.server(self.config).open_requests() > 0 {
            self.ended.push_back(key);
        }
    }
}
