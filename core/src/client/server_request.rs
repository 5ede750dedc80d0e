//! Requests of a legacy server, and the responses to them.

use super::event::{ClientEvent, ServerRequest};
use super::{Client, Phase};
use crate::encode::{Encode, Encoder};
use crate::error::{InvalidPayload, SendError};
use crate::handle::{Delivery, RequestHandle};
use crate::json::RawJson;
use crate::lifecycle::{ClientFeatures, Method};
use crate::message::{Envelope, Id, Member, Params};
use crate::progress::{Progress, Reported};
use crate::rpc::{RpcError, write_error, write_response_head};
use crate::time::Instant;
use crate::tx::{Tx, WriterId};
use crate::violation::{TERSE, Violation};

impl Client<'_> {
    /// Handles a request of the server.
    pub(super) fn handle_request<'f>(
        &mut self,
        now: Instant,
        id: Id<'f>,
        method: Method<'f>,
        envelope: &Envelope<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ClientEvent<'f>>, SendError> {
        // 2026-07-28, basic/transports/stdio: a client never sends a response. A server that sends
        // a request during the probe is a legacy one.
        let may_be_legacy = matches!(self.peer.phase, Phase::Probing)
            && self.config.revisions.newest_legacy().is_some();
        if self.current_revision().is_modern() && !may_be_legacy {
            return Ok(Some(ClientEvent::Violation(Violation::UnexpectedRequest)));
        }
        if method == Method::Ping {
            tx.frame(WriterId::AUTOMATIC_RESPONSE, self.current_revision(), &mut |writer| {
                write_response_head(writer, id.as_str().as_bytes(), b",\"result\":{}}")
            })?;
            return Ok(None);
        }
        let params = envelope.params();
        let hash = id.hash();
        let token = envelope.value(Member::ProgressToken).map(|token| Id::parse(token.as_str()));
        let refusal = if self.requests.find(id, hash).is_some() {
            // A response with this id would end the request in flight.
            return Ok(Some(ClientEvent::Violation(Violation::IdInUse)));
        } else if id.is_too_long() || token.flatten().is_some_and(Id::is_too_long) {
            Some(Violation::IdTooLong.into())
        } else if matches!(token, Some(None))
            || params.given().is_some_and(|params| !params.is_object())
        {
            Some(Violation::InvalidParams.into())
        } else {
            self.check_request(method, &params)
        };
        #[cfg(feature = "tasks")]
        let method = match self.hosted_method(method) {
            Some(hosted) => Method::Other(hosted),
            None => method,
        };
        let refusal = match (refusal, method) {
            (Some(refusal), _) => refusal,
            (None, Method::Other(method)) => {
                let deadline =
                    self.config.request_timeout.map(|timeout| now.saturating_add(timeout));
                match self.requests.insert(hash, deadline) {
                    Some((slot, incoming)) => {
                        incoming.id.set(id);
                        incoming.token.clear();
                        incoming.reported = Reported::NOTHING;
                        if let Some(token) = token.flatten() {
                            incoming.token.set(token);
                        }
                        let wants_progress = !incoming.token.is_empty();
                        let request = ServerRequest {
                            handle: RequestHandle(slot),
                            method,
                            wants_progress,
                            #[cfg(feature = "tasks")]
                            task: self.wanted_task(method, &params).unwrap_or_default(),
                            params,
                        };
                        return Ok(Some(ClientEvent::Request(request)));
                    }
                    None => Violation::TooManyRequests.into(),
                }
            }
            (None, _) => Violation::UnknownMethod.into(),
        };
        self.refuse(id, refusal, tx).map(Some)
    }

    /// Checks that the connection is open and the capability declared; returns the reason
    /// otherwise.
    fn check_request(&self, method: Method<'_>, params: &Params<'_>) -> Option<Refusal> {
        #[cfg(feature = "tasks")]
        if self.hosted_method(method).is_some() {
            return None;
        }
        // `Method` has only requests that clients send.
        let Method::Other(method) = method else { return Some(Violation::UnknownMethod.into()) };
        let declared = if self.is_open() { self.declared() } else { ClientFeatures::NONE };
        let Some(needed) = ClientFeatures::needed_for(method, params.given()) else {
            return Some(Violation::UnknownMethod.into());
        };
        if declared.contains(needed) {
            #[cfg(feature = "tasks")]
            return self.wanted_task(method, params).err().map(|_| Violation::InvalidParams.into());
            #[cfg(not(feature = "tasks"))]
            return None;
        }
        // Whether another mode of the same capability is declared.
        let partly = [
            ClientFeatures::SAMPLING_TOOLS,
            ClientFeatures::ELICITATION_FORM.with(ClientFeatures::ELICITATION_URL),
        ]
        .into_iter()
        .any(|forms| forms.contains(needed) && forms.without(declared) != forms);
        Some(if partly { Refusal::UNDECLARED } else { Violation::UnknownMethod.into() })
    }

    pub(super) fn refuse<'f>(
        &self,
        id: Id<'_>,
        refusal: Refusal,
        tx: &mut Tx<'_>,
    ) -> Result<ClientEvent<'f>, SendError> {
        let message = self.config.words.map_or(TERSE, |words| words(refusal));
        let error = RpcError::new(refusal.violation.code(), message);
        tx.frame(WriterId::AUTOMATIC_RESPONSE, self.current_revision(), &mut |writer| {
            write_error(writer, Some(id.as_str()), &error)
        })?;
        Ok(ClientEvent::Violation(refusal.violation))
    }
}

/// Reason why a request does not reach the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    violation: Violation,
    /// Whether the parameters need an undeclared capability.
    undeclared: bool,
}

impl Refusal {
    const UNDECLARED: Self = Self { violation: Violation::InvalidParams, undeclared: true };

    /// Returns the words of the error response.
    pub(super) fn words(self) -> &'static str {
        if self.undeclared {
            "The parameters need a capability that the client did not declare"
        } else {
            self.violation.message()
        }
    }
}

impl From<Violation> for Refusal {
    fn from(violation: Violation) -> Self {
        Self { violation, undeclared: false }
    }
}

impl Client<'_> {
    /// Sends the result of a request: any value that serializes as a JSON object. Writes nothing if
    /// the request is no longer open ([`is_request_open`](Self::is_request_open)).
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::Invalid`] when the value is not an
    /// object; the request stays open.
    pub fn respond<T: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        result: &T,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        self.write_response(request, tx, &|id, writer| {
            write_response_head(writer, id.as_bytes(), b",\"result\":");
            writer.any_object(result);
            writer.put(b"}")
        })
    }

    /// Sends a result that is JSON text already.
    ///
    /// # Errors
    /// As [`respond`](Self::respond).
    pub fn respond_raw(
        &mut self,
        request: RequestHandle,
        result: RawJson<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        if result.is_object() {
            self.respond(request, &result, tx)
        } else {
            Err(SendError::Invalid(InvalidPayload::NotAnObject))
        }
    }

    /// Sends an error response. By convention -1 means that the user rejected the request:
    /// [`ErrorCode::Application`](crate::ErrorCode::Application).
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn respond_error(
        &mut self,
        request: RequestHandle,
        error: &RpcError<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        self.write_response(request, tx, &|id, writer| write_error(writer, Some(id), error))
    }

    /// Sends a progress notification about a request, if the server requested them.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again, or drop the notification.
    /// [`SendError::TooLarge`]: shorten the message.
    pub fn progress(
        &mut self,
        now: Instant,
        request: RequestHandle,
        progress: &Progress<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Delivery, SendError> {
        let (interval, revision) = (self.config.progress_interval, self.current_revision());
        let Some(incoming) = self.requests.get_mut(request.0) else { return Ok(Delivery::Gone) };
        if incoming.token.is_empty() {
            return Ok(Delivery::NotRequested);
        }
        incoming.reported.report(now, interval, incoming.token.as_str(), progress, revision, tx)
    }

    fn write_response(
        &mut self,
        request: RequestHandle,
        tx: &mut Tx<'_>,
        write: &dyn Fn(&str, &mut Encoder<'_>),
    ) -> Result<(), SendError> {
        let slot = request.0;
        let Some(incoming) = self.requests.get(slot) else { return Ok(()) };
        let key = WriterId::response(slot.index, slot.serial);
        tx.frame(key, self.current_revision(), &mut |writer| write(incoming.id.as_str(), writer))?;
        self.requests.remove(slot);
        Ok(())
    }
}
