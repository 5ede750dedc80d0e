//! Input that a modern server requires for a result (2026-07-28, basic/patterns/mrtr).

use crate::encode::Encode;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::ClientFeatures;
use crate::types::{InputRequests, Map, Text};

/// Input-required result: handle each input request, then [`retry`](super::Client::retry) the call.
#[derive(Clone, Copy, Debug)]
pub struct InputRequired<'f> {
    result: RawJson<'f>,
    round: u8,
}

impl<'f> InputRequired<'f> {
    pub(super) const fn new(result: RawJson<'f>, round: u8) -> Self {
        Self { result, round }
    }

    /// Returns the input requests by their keys. Empty when the server only wants a retry with its
    /// state.
    #[must_use]
    pub fn requests(&self) -> InputRequests<'f> {
        self.raw_requests().and_then(|raw| raw.to().ok()).unwrap_or(Map::new(&[]))
    }

    /// Returns the input requests as JSON.
    #[must_use]
    pub fn raw_requests(&self) -> Option<RawJson<'f>> {
        self.result.get("inputRequests")
    }

    /// Returns the opaque state that the retry must return to the server.
    #[must_use]
    pub fn state(&self) -> Option<JsonStr<'f>> {
        self.result.get("requestState").and_then(RawJson::as_string)
    }

    /// Returns the number of retries so far. Applications that store the call until the user
    /// responds store this and the [state](Self::state), for [`InputResponseParams::new`].
    #[must_use]
    pub const fn round(&self) -> u8 {
        self.round
    }

    /// Returns the parameters of the retry: `responses`, an object with the keys of the input
    /// requests, and the state.
    #[must_use]
    pub fn retry_params<'a, R: Encode + ?Sized>(
        &self,
        responses: &'a R,
    ) -> InputResponseParams<'a, R>
    where
        'f: 'a,
    {
        InputResponseParams {
            responses: Some(responses),
            state: self.state().map(Text::from_json),
            round: self.round,
        }
    }

    /// Returns the key of the first input request without a response in `responses`. Partial
    /// responses are allowed: the server may request the missing ones again.
    #[must_use]
    pub fn missing_response(&self, responses: RawJson<'_>) -> Option<JsonStr<'f>> {
        // Most responses are in the order of the requests, so each search continues behind the last
        // hit: searching from the start would be quadratic.
        let mut behind = responses.members();
        let mut is_answered = |key: JsonStr<'_>| {
            behind.any(|(other, _)| other == key) || {
                behind = responses.members();
                behind.any(|(other, _)| other == key)
            }
        };
        self.raw_requests()?.members().map(|(key, _)| key).find(|key| !is_answered(*key))
    }

    /// Returns the whole result.
    #[must_use]
    pub const fn as_json(&self) -> RawJson<'f> {
        self.result
    }

    /// Returns the capabilities that the input requests need; `None` when one of them is invalid.
    pub(super) fn required_features(&self) -> Option<ClientFeatures> {
        let Some(requests) = self.raw_requests() else { return Some(ClientFeatures::NONE) };
        requests.members().try_fold(ClientFeatures::NONE, |needs, (_, request)| {
            let method = request.get("method").and_then(RawJson::as_string)?;
            ClientFeatures::needed_for(method, request.get("params")).map(|more| needs.with(more))
        })
    }

    /// Whether the members have valid types, and there is at least one of requests and state.
    pub(super) fn is_valid(&self) -> bool {
        let requests = self.raw_requests();
        let state = self.result.get("requestState");
        (requests.is_some() || state.is_some())
            && requests.is_none_or(RawJson::is_object)
            && state.is_none_or(|state| state.as_string().is_some())
    }
}

/// Parameters that a retry adds to those of the request: `inputResponses` and `requestState`
/// (schema type `InputResponseRequestParams`).
#[derive(Debug)]
pub struct InputResponseParams<'a, R: ?Sized> {
    pub(super) responses: Option<&'a R>,
    pub(super) state: Option<Text<'a>>,
    pub(super) round: u8,
}

impl<'a, R: Encode + ?Sized> InputResponseParams<'a, R> {
    /// Creates the parameters of the retry after `round` ([`InputRequired::round`]).
    #[must_use]
    pub const fn new(round: u8) -> Self {
        Self { responses: None, state: None, round }
    }

    /// Sets the responses: an object with the keys of the input requests.
    #[must_use]
    pub const fn responses(mut self, responses: &'a R) -> Self {
        self.responses = Some(responses);
        self
    }

    /// Sets the state, as the server sent it.
    #[must_use]
    pub const fn state(mut self, state: Option<Text<'a>>) -> Self {
        self.state = state;
        self
    }
}

impl<R: ?Sized> Clone for InputResponseParams<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: ?Sized> Copy for InputResponseParams<'_, R> {}
