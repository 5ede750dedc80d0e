//! Output of an exchange, and its end.

use alloc::vec::Vec;
use core::time::Duration;

use super::exchange::{Exchange, SiteBody, SiteResponse, Stage, Untaken};
use super::instance::{Instance, Kind, Reader};
use super::options::SiteOptions;
use super::slab::Key;
use super::{ExchangeKey, Site, Task, set_timer};
use crate::handle::ExchangeId;
use crate::http::server::{BodyKind, OutgoingResponse, RecordedPart};
use crate::http::sse::ControlEvent;
use crate::lifecycle::Revision;
use crate::server::ServerConfig;
use crate::time::Instant;

/// Source of the next piece of a body.
enum Source {
    Control,
    Reply,
    Stream(Key, ExchangeId),
    Part(Key, RecordedPart, usize),
    Pending,
    End,
    Cut,
}

impl<O> Site<'_, O> {
    /// Returns the head of the response, once it is decided.
    pub fn response(&mut self, exchange: ExchangeKey) -> Option<SiteResponse<'_>> {
        let key = exchange.0;
        let exchange = self.exchanges.get_mut(key)?;
        if exchange.sent.is_none() {
            exchange.sent = Some(match &exchange.stage {
                Stage::Reply(head, body) => (*head, Some(body.len())),
                Stage::Messages(owner, Some(id)) | Stage::Stream(owner, id) => {
                    match self.instances.get_mut(*owner) {
                        Some(instance) if instance.sends(*id, key) => {
                            decided(self.config, instance, *id, exchange.has_fault)?
                        }
                        // Ended, or another exchange has resumed the stream.
                        _ => (OutgoingResponse::EVENT_STREAM, None),
                    }
                }
                Stage::Replay(..) | Stage::Ended => (OutgoingResponse::EVENT_STREAM, None),
                _ => return None,
            });
        }
        let (head, length) = exchange.sent?;
        Some(SiteResponse { head, length, fields: &exchange.fields })
    }

    /// Returns the next part of the body. It may be empty from the beginning.
    pub fn body(&mut self, exchange: ExchangeKey) -> SiteBody<'_> {
        let key = exchange.0;
        let source = self.source(key).unwrap_or(Source::End);
        if matches!(source, Source::Pending | Source::End | Source::Cut)
            && let Some(exchange) = self.exchanges.get_mut(key)
        {
            exchange.untaken = None;
        }
        let piece = match source {
            Source::Pending => return SiteBody::Pending,
            Source::End => return SiteBody::End,
            Source::Cut => return SiteBody::Cut,
            Source::Control => self.exchanges.get(key).map(|exchange| &exchange.control[..]),
            Source::Reply => match self.exchanges.get(key).map(|exchange| &exchange.stage) {
                Some(Stage::Reply(_, body)) => Some(&body[..]),
                _ => None,
            },
            Source::Stream(owner, id) => {
                self.instances.get(owner).map(|instance| instance.streams.get(id).tx.pending())
            }
            Source::Part(owner, part, sent) => match self.instances.get(owner).map(|i| &i.kind) {
                Some(Kind::Session(session)) => {
                    session.replay.bytes_of(part).ok().and_then(|[one, other]| {
                        match one.get(sent..) {
                            Some(rest) if !rest.is_empty() => Some(rest),
                            _ => other.get(sent - one.len()..),
                        }
                    })
                }
                _ => None,
            },
        };
        piece.map_or(SiteBody::End, SiteBody::Piece)
    }

    /// Records that the first `n` bytes of the last [`SiteBody::Piece`] were sent.
    pub fn wrote(&mut self, now: Instant, exchange: ExchangeKey, n: usize) {
        let key = exchange.0;
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.silent_until = now.saturating_add(self.options.keep_alive);
        if let Some(untaken) = &mut exchange.untaken {
            untaken.taken = untaken.taken.saturating_add(n);
            if untaken.taken >= LEAST_TAKEN {
                *untaken = Untaken::new(now, &self.options);
            }
        }
        if !exchange.control.is_empty() {
            exchange.control.drain(..n.min(exchange.control.len()));
            return;
        }
        match &mut exchange.stage {
            Stage::Reply(_, body) => drop(body.drain(..n.min(body.len()))),
            Stage::Replay(owner, reader) => {
                if let Some((part, sent)) = &mut reader.part {
                    *sent = sent.saturating_add(n);
                    if *sent >= part.len {
                        reader.part = None;
                    }
                }
                if let Some(instance) = self.instances.get_mut(*owner) {
                    keep_position(instance, reader);
                }
            }
            Stage::Messages(owner, Some(id)) | Stage::Stream(owner, id) => {
                let (owner, id) = (*owner, *id);
                let Some(instance) = self.instances.get_mut(owner) else { return };
                let Instance { streams, kind, .. } = instance;
                let line = streams.get_mut(id);
                line.advance(n, kind);
                let waiting = core::mem::take(&mut line.waiting);
                instance.is_blocked = false;
                instance.touch(id);
                self.queue(Task::Instance(owner));
                waiting.into_iter().for_each(|key| self.queue(Task::Exchange(key)));
            }
            _ => {}
        }
    }

    /// Begins to measure how long the output of an exchange waits for its connection.
    pub(super) fn await_taking(&mut self, key: Key, now: Instant) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let is_measured = self.options.write_timeout < Duration::MAX
            && exchange.untaken.is_none()
            && !exchange.stage.is_awaited();
        if is_measured {
            let untaken = exchange.untaken.insert(Untaken::new(now, &self.options));
            let until = untaken.until;
            self.wake_at(key, until);
        }
    }

    /// Forgets an exchange: its response is sent, or its connection is lost. Then a request that
    /// stands alone is cancelled, and one of a session goes on: its client can resume the stream.
    pub fn close(&mut self, now: Instant, exchange: ExchangeKey) {
        let key = exchange.0;
        self.leave(key, now);
        self.free_body(key);
        let Some(exchange) = self.exchanges.remove(key) else { return };
        if let Some(due) = exchange.due {
            self.timers.remove(&(due, Task::Exchange(key)));
        }
        self.give_places_back(&exchange);
    }

    /// Separates an exchange from its instance.
    pub(super) fn leave(&mut self, key: Key, now: Instant) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let was = core::mem::replace(&mut exchange.stage, Stage::Ended);
        match was {
            Stage::Messages(owner, Some(id)) | Stage::Stream(owner, id) => {
                let Some(instance) = self.instances.get_mut(owner) else { return };
                match &mut instance.kind {
                    Kind::Session(session) if session.id.is_some() => {
                        session.active = now;
                        if let Some(line) = instance.streams.of_post(id) {
                            line.exchange.take_if(|exchange| *exchange == key);
                            (line.is_taken, line.is_released) = (true, false);
                        }
                        instance.touch(id);
                        self.queue(Task::Instance(owner));
                    }
                    _ => self.end_instance(owner),
                }
            }
            Stage::Refused(owner) => self.end_instance(owner),
            Stage::Replay(owner, _) => {
                if let Some(instance) = self.instances.get_mut(owner) {
                    instance.stop_reading(key, now);
                    self.queue(Task::Instance(owner));
                }
            }
            _ => {}
        }
    }

    /// Adds a comment to a silent event stream, and sets the timer for the next one.
    pub(super) fn keep_alive(&mut self, key: Key, now: Instant) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        if exchange.silent_until <= now {
            exchange.silent_until = now.saturating_add(self.options.keep_alive);
            let is_between_events = match &exchange.stage {
                Stage::Stream(owner, id) => self
                    .instances
                    .get(*owner)
                    .is_some_and(|found| found.streams.get(*id).tx.is_idle()),
                Stage::Replay(_, reader) => !reader.is_mid_event(),
                _ => false,
            };
            let is_events =
                exchange.sent.is_some_and(|(head, _)| head.body == BodyKind::EventStream);
            if is_between_events && is_events && exchange.control.is_empty() {
                exchange.control = control(ControlEvent::Comment);
                self.ready(key);
            }
        }
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let untaken = exchange.untaken.as_ref().map(|untaken| untaken.until);
        let due = [exchange.expires, untaken].into_iter().flatten();
        let due = due.fold(exchange.silent_until, Instant::min);
        set_timer(&mut self.timers, Task::Exchange(key), &mut exchange.due, Some(due));
    }

    /// Finds the next piece of a body.
    fn source(&mut self, key: Key) -> Option<Source> {
        let exchange = self.exchanges.get_mut(key)?;
        if !exchange.control.is_empty() {
            return Some(Source::Control);
        }
        Some(match &mut exchange.stage {
            Stage::Reply(_, body) if body.is_empty() => Source::End,
            Stage::Reply(..) => Source::Reply,
            Stage::Messages(owner, Some(id)) | Stage::Stream(owner, id) => {
                match self.instances.get_mut(*owner) {
                    Some(found) if found.sends(*id, key) => {
                        stream_source(self.config, found, *owner, *id)
                    }
                    _ => exchange.end(),
                }
            }
            Stage::Replay(owner, reader) => {
                let Some(instance) = self.instances.get_mut(*owner) else {
                    return Some(Source::End);
                };
                reader.is_ending |= self.closing.is_some();
                if reader.is_ending && !reader.is_mid_event() {
                    let revision = instance.state.server(self.config).legacy_revision();
                    let is_first = !core::mem::replace(&mut reader.has_ended, true);
                    if is_first && revision == Some(Revision::V2025_11_25) {
                        let retry = self.options.retry.as_millis();
                        let retry = u32::try_from(retry).unwrap_or(u32::MAX);
                        exchange.control = control(ControlEvent::Retry(retry));
                        return Some(Source::Control);
                    }
                    return Some(Source::End);
                }
                replay_source(instance, *owner, reader)
            }
            Stage::Ended => exchange.end(),
            _ => Source::Pending,
        })
    }
}

impl Untaken {
    const fn new(now: Instant, options: &SiteOptions<'_>) -> Self {
        Self { until: now.saturating_add(options.write_timeout), taken: 0 }
    }
}

impl Exchange {
    /// Returns the end of a response of which nothing more comes. An event stream may end at any
    /// time.
    fn end(&self) -> Source {
        match self.sent {
            Some((head, _)) if head.body == BodyKind::Json => Source::Cut,
            _ => Source::End,
        }
    }
}

/// Returns the head of a response that a server writes, once it is decided.
fn decided<O>(
    config: &ServerConfig<'_>,
    instance: &mut Instance<O>,
    id: ExchangeId,
    has_fault: bool,
) -> Option<(OutgoingResponse, Option<usize>)> {
    if matches!(&instance.kind, Kind::Session(session) if session.id.is_none())
        && instance.state.server(config).legacy_revision().is_some()
    {
        // The id of the session is yet to be added.
        return None;
    }
    let tx = &instance.streams.get(id).tx;
    match tx.http_response() {
        Some(head) => {
            let is_whole = head.body == BodyKind::Json && !tx.is_mid_frame() && !tx.is_truncated();
            Some((head, is_whole.then_some(tx.pending().len())))
        }
        None if !instance.is_over(config, id) => None,
        None if has_fault => Some((OutgoingResponse::empty(400), Some(0))),
        None => Some((OutgoingResponse::ACCEPTED, Some(0))),
    }
}

fn stream_source<O>(
    config: &ServerConfig<'_>,
    instance: &mut Instance<O>,
    owner: Key,
    id: ExchangeId,
) -> Source {
    let line = instance.streams.get(id);
    if !line.tx.pending().is_empty() {
        Source::Stream(owner, id)
    } else if line.tx.is_truncated() {
        Source::Cut
    } else if line.is_released && !line.tx.is_mid_frame() || instance.is_over(config, id) {
        Source::End
    } else {
        Source::Pending
    }
}

fn replay_source<O>(instance: &mut Instance<O>, owner: Key, reader: &mut Reader) -> Source {
    let Kind::Session(session) = &mut instance.kind else { return Source::End };
    if reader.part.is_none() {
        match session.replay.find_part(&mut reader.cursor) {
            Ok(Some(part)) => reader.part = Some((part, 0)),
            Ok(None) => {
                keep_position(instance, reader);
                // The stream of a request ends with its response.
                let id = ExchangeId::new(reader.stream);
                let is_over = reader.stream != 0 && instance.streams.is_own(id);
                return if is_over { Source::End } else { Source::Pending };
            }
            Err(_) => return Source::Cut,
        }
    }
    match reader.part {
        Some((part, sent)) if session.replay.bytes_of(part).is_ok() => {
            Source::Part(owner, part, sent)
        }
        _ => Source::Cut,
    }
}

/// Remembers how far the messages that belong to no request were sent, event by event.
fn keep_position<O>(instance: &mut Instance<O>, reader: &Reader) {
    if let Kind::Session(session) = &mut instance.kind
        && reader.stream == 0
        && !reader.is_mid_event()
        && !reader.is_ending
    {
        session.own_cursor = reader.cursor;
    }
}

/// Minimum number of bytes that a connection takes in [`SiteOptions::write_timeout`].
const LEAST_TAKEN: usize = 4 << 10;

pub(super) fn control(event: ControlEvent<'_>) -> Vec<u8> {
    let text = if let ControlEvent::Endpoint(uri) = event { uri.len() } else { 0 };
    let mut bytes = alloc::vec![0; 64 + text];
    let len = event.write(&mut bytes).unwrap_or(0);
    bytes.truncate(len);
    bytes
}
