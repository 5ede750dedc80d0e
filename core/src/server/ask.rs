//! Requests of our own to a legacy client: sampling, roots, elicitation, ping.

use core::time::Duration;

use super::pending::{Outgoing, Purpose};
use super::{Scope, Server, sound};
use crate::error::SendError;
use crate::handle::{Call, RequestHandle};
use crate::inflight::Slot;
use crate::json::{Decimal, Payload, RawJson, write_payload};
use crate::lifecycle::{ClientFeatures, Revision};
use crate::message::{Id, hash_str};
use crate::rpc::{write_notification, write_response_head};
use crate::time::Instant;
use crate::tx::{FrameKey, Tx};
use crate::types::encode::tell::Object;
use crate::types::{CreateMessageParams, ElicitParams};

/// A request to a legacy client.
#[derive(Clone, Copy, Debug)]
pub struct ClientRequest<'a, P: ?Sized> {
    method: &'static str,
    params: Option<&'a P>,
    needs: ClientFeatures,
    is_sound: fn(&P, Revision) -> bool,
    parent: Option<RequestHandle>,
    timeout: Option<Duration>,
}

impl<'a> ClientRequest<'a, CreateMessageParams<'a>> {
    /// `sampling/createMessage`. Deprecated since 2026-07-28.
    #[must_use]
    pub fn sampling(params: &'a CreateMessageParams<'a>) -> Self {
        Self {
            is_sound: sound::sampling,
            ..Self::new("sampling/createMessage", Some(params), params.required_capabilities())
        }
    }
}

impl<'a> ClientRequest<'a, ElicitParams<'a>> {
    /// `elicitation/create`
    #[must_use]
    pub fn elicitation(params: &'a ElicitParams<'a>) -> Self {
        Self {
            is_sound: sound::elicitation,
            ..Self::new("elicitation/create", Some(params), params.required_capabilities())
        }
    }
}

impl ClientRequest<'_, RawJson<'_>> {
    /// `roots/list`. Deprecated since 2026-07-28.
    #[must_use]
    pub const fn roots() -> Self {
        Self::new("roots/list", None, ClientFeatures::ROOTS)
    }

    /// `ping`
    #[must_use]
    pub const fn ping() -> Self {
        Self::new("ping", None, ClientFeatures::NONE)
    }
}

impl<'a, P: ?Sized> ClientRequest<'a, P> {
    /// Any request, and what the client must have declared for it.
    #[must_use]
    pub const fn new(method: &'static str, params: Option<&'a P>, needs: ClientFeatures) -> Self {
        Self { method, params, needs, is_sound: |_, _| true, parent: None, timeout: None }
    }

    /// On behalf of this request: its time stands still meanwhile, and when it ends this one is
    /// cancelled.
    #[must_use]
    pub const fn on_behalf_of(self, parent: RequestHandle) -> Self {
        Self { parent: Some(parent), ..self }
    }

    /// Given up after this long, whatever the configuration says.
    #[must_use]
    pub const fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }
}

impl<const N: usize, const S: usize> Server<'_, N, S> {
    /// Asks a legacy client. The answer is a [`ServerEvent::CallFinished`](super::ServerEvent::CallFinished).
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] where the client did not declare the capability, is not
    /// initialized (ping excepted), or is modern: there a handler answers
    /// [`input_required`](Self::input_required). [`SendError::Value`] for a form that is not flat,
    /// a page without a URL (in 2025-11-25: or id), and a conversation in which a tool's use
    /// has no result. [`SendError::TooMany`] when the table is full. [`SendError::Full`]: drain and call again.
    pub fn request<P: Payload + ?Sized>(
        &mut self,
        now: Instant,
        request: &ClientRequest<'_, P>,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        let scope = self.scope.ok_or(SendError::NotAllowed)?;
        let parent = request.parent.map(|parent| parent.0);
        // What has begun is finished, even if its parent has ended meanwhile.
        if !tx.is_open(key(request.method, parent)) {
            self.may_ask(request, scope)?;
        }
        let timeout = request.timeout.unwrap_or(self.config.call_timeout);
        let slot = self.call(
            now,
            request.method,
            request.params,
            Purpose::Application,
            parent,
            timeout,
            scope.revision,
            tx,
        )?;
        match parent {
            Some(parent) if self.requests.get(parent).is_some() => self.suspend(now, parent),
            Some(parent) => self.orphan_calls(parent),
            None => {}
        }
        Ok(Call(slot))
    }

    fn may_ask<P: ?Sized>(
        &self,
        request: &ClientRequest<'_, P>,
        scope: Scope,
    ) -> Result<(), SendError> {
        let parent = request
            .parent
            .map(|parent| self.requests.get(parent.0).ok_or(SendError::NotAllowed))
            .transpose()?;
        let modern = parent.is_some_and(|parent| parent.revision.is_modern());
        // Until 2025-11-25 there was nothing to declare for a context.
        let context = ClientFeatures::SAMPLING_CONTEXT.without(ClientFeatures::SAMPLING);
        let needs = if scope.revision < Revision::V2025_11_25 {
            request.needs.without(context)
        } else {
            request.needs
        };
        if modern
            || !(scope.ready || request.method == "ping")
            || !scope.capabilities.contains(needs)
        {
            return Err(SendError::NotAllowed);
        }
        if request.params.is_some_and(|params| !(request.is_sound)(params, scope.revision)) {
            return Err(SendError::Value);
        }
        Ok(())
    }

    /// Gives a request of ours up and tells the client. `false` when it was no longer open.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn cancel_call(
        &mut self,
        now: Instant,
        call: Call,
        tx: &mut Tx<'_>,
    ) -> Result<bool, SendError> {
        let Some(outgoing) = self.calls.get(call.0) else { return Ok(false) };
        let number = outgoing.number;
        self.write_cancelled(number, tx)?;
        self.end_call(now, call.0);
        Ok(true)
    }

    /// Whether a request of ours still waits for its answer.
    #[must_use]
    pub fn is_call_open(&self, call: Call) -> bool {
        self.calls.get(call.0).is_some_and(|outgoing| outgoing.purpose == Purpose::Application)
    }

    #[allow(clippy::too_many_arguments)] // one place where a request of ours begins
    pub(super) fn call<P: Payload + ?Sized>(
        &mut self,
        now: Instant,
        method: &str,
        params: Option<&P>,
        purpose: Purpose,
        parent: Option<Slot>,
        timeout: Duration,
        revision: Revision,
        tx: &mut Tx<'_>,
    ) -> Result<Slot, SendError> {
        if self.calls.is_full() {
            return Err(SendError::TooMany);
        }
        // An id is never used again in a session; after four billion of them that ends.
        let number = self.calls_made.checked_add(1).ok_or(SendError::TooMany)?;
        let digits = Decimal::new(u64::from(number), false);
        let frame = match purpose {
            Purpose::Application => key(method, parent),
            Purpose::KeepAlive | Purpose::Orphan => FrameKey::PING,
        };
        tx.frame(frame, revision, &mut |writer| {
            write_response_head(writer, digits.as_bytes(), b",\"method\":")?;
            writer.string(method)?;
            if let Some(params) = params {
                writer.put(b",\"params\":")?;
                write_payload(writer, params, None)?;
            }
            writer.put(b"}")
        })?;
        self.calls_made = number;
        let hash =
            core::str::from_utf8(digits.as_bytes()).ok().and_then(Id::parse).map_or(1, Id::hash);
        let deadline = Some(now.saturating_add(timeout));
        self.calls
            .insert(hash, deadline, Outgoing { number, parent, purpose })
            .map(|(slot, _)| slot)
            .ok_or(SendError::TooMany)
    }

    /// Takes a request of ours out of the table; its parent's time goes on.
    pub(super) fn end_call(&mut self, now: Instant, slot: Slot) -> Option<Purpose> {
        let outgoing = self.calls.remove(slot)?;
        if let (Some(parent), Purpose::Application) = (outgoing.parent, outgoing.purpose) {
            self.resume(now, parent);
        }
        Some(outgoing.purpose)
    }

    /// Makes what was asked on behalf of a request due at once: nobody waits for it any more.
    pub(super) fn orphan_calls(&mut self, parent: Slot) {
        // One at a time, since the table is changed on the way.
        loop {
            let of_parent = |outgoing: &Outgoing| {
                outgoing.parent == Some(parent) && outgoing.purpose == Purpose::Application
            };
            let Some(slot) =
                self.calls.slots().find(|slot| self.calls.get(*slot).is_some_and(of_parent))
            else {
                return;
            };
            if let Some(outgoing) = self.calls.get_mut(slot) {
                outgoing.purpose = Purpose::Orphan;
            }
            self.calls.set_deadline(slot, Some(Instant::from_millis(0)));
        }
    }

    pub(super) fn write_cancelled(&self, number: u32, tx: &mut Tx<'_>) -> Result<(), SendError> {
        tx.frame(FrameKey::cancel(number), self.fallback_revision(), &mut |writer| {
            write_notification(
                writer,
                "notifications/cancelled",
                &Object { names: "requestId,", members: &[&u64::from(number)] },
            )
        })
    }

    fn suspend(&mut self, now: Instant, parent: Slot) {
        let deadline = self.requests.deadline(parent);
        let Some(pending) = self.requests.get_mut(parent) else { return };
        pending.asking += 1;
        if let Some(deadline) = deadline {
            pending.time_left = deadline.as_millis().saturating_sub(now.as_millis());
            self.requests.set_deadline(parent, None);
        }
    }

    fn resume(&mut self, now: Instant, parent: Slot) {
        let Some(pending) = self.requests.get_mut(parent) else { return };
        pending.asking = pending.asking.saturating_sub(1);
        if pending.asking > 0 {
            return;
        }
        let left = core::mem::replace(&mut pending.time_left, u64::MAX);
        if left != u64::MAX {
            self.requests.set_deadline(
                parent,
                Some(Instant::from_millis(now.as_millis().saturating_add(left))),
            );
        }
    }
}

/// Who writes a request to the client.
fn key(method: &str, parent: Option<Slot>) -> FrameKey {
    FrameKey::sent(hash_str(method) as u32 ^ parent.map_or(0, |parent| parent.serial))
}
