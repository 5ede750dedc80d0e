//! Rounds of a call that requests input from its client, behind a lock: the handler and its
//! connection may be on different threads.

use std::mem::take;
use std::sync::Mutex;
use std::task::{self, Poll};

pub(crate) use mcp_sansio_engine::internal::{Response, response, send_input_required};
pub use mcp_sansio_engine::{MAX_INPUT_RESPONSES, StateProtector};

use mcp_sansio::types::InputRequest;
use mcp_sansio::{InputLink, OwnedJson, Request};
use mcp_sansio_engine::internal::{self, NextRound};

use crate::lock::lock;

/// State of a call from earlier rounds, and state for the next one.
#[derive(Default)]
pub(crate) struct Round {
    known: internal::Round,
    next: Mutex<NextRound>,
}

impl Round {
    pub(crate) fn of(
        request: &Request<'_>,
        protector: Option<&dyn StateProtector>,
        owner: impl FnOnce() -> Option<String>,
    ) -> Result<Self, &'static str> {
        let known = internal::Round::of(request, protector, owner)?;
        Ok(Self { known, next: Mutex::default() })
    }

    /// Returns the next round of a call whose rounds the server makes, with the responses.
    pub(crate) fn next_round(
        &self,
        responses: impl IntoIterator<Item = (String, Response)>,
    ) -> Self {
        let known = self.known.next_round(take(&mut *lock(&self.next)), responses);
        Self { known, next: Mutex::default() }
    }

    pub(crate) fn input(
        &self,
        request: &Request<'_>,
        key: &str,
        input_request: &InputRequest<'_>,
    ) -> Response {
        self.known.input(&mut lock(&self.next), request, key, input_request)
    }

    pub(crate) fn input_response(&self, key: &str, request: &Request<'_>) -> Option<OwnedJson> {
        self.known.input_response(&lock(&self.next), key, request)
    }

    pub(crate) fn is_asking(&self) -> bool {
        lock(&self.next).is_asking()
    }

    pub(crate) fn take_missing(&self) -> Vec<(String, OwnedJson)> {
        lock(&self.next).take_missing()
    }

    /// Returns the missing input requests and the state that the client is to send back.
    pub(crate) fn finish(
        &self,
        request: &Request<'_>,
        protector: Option<&dyn StateProtector>,
        owner: Option<&str>,
    ) -> (Vec<(String, OwnedJson)>, Option<String>) {
        self.known.finish(take(&mut *lock(&self.next)), request, protector, owner)
    }
}

/// Requests input of a tool that is called again in each round, whatever the revision.
impl InputLink for Round {
    fn request_state(&self) -> Option<&str> {
        self.known.request_state()
    }

    fn set_request_state(&self, state: String) -> bool {
        lock(&self.next).set_request_state(state);
        true
    }

    fn poll_input(
        &self,
        _: &mut task::Context<'_>,
        request: &Request<'_>,
        key: &str,
        input_request: &InputRequest<'_>,
        _: &mut Option<u64>,
    ) -> Poll<Response> {
        Poll::Ready(self.input(request, key, input_request))
    }
}
