//! Input that a modern server needs before it can answer (2026-07-28, basic/patterns/mrtr).

use serde::Serialize;

use crate::json::{JsonStr, RawJson};
use crate::lifecycle::ClientFeatures;
use crate::types::{InputRequests, Map, Text};

/// An answer that asks. Answer every question, then [`retry`](super::Client::retry).
#[derive(Clone, Copy, Debug)]
pub struct InputRequired<'f> {
    result: RawJson<'f>,
    round: u8,
}

impl<'f> InputRequired<'f> {
    pub(super) const fn new(result: RawJson<'f>, round: u8) -> Self {
        Self { result, round }
    }

    /// The questions, each with its key. None at all: the server only wants to be asked again.
    #[must_use]
    pub fn requests(&self) -> InputRequests<'f> {
        self.raw_requests().and_then(|raw| raw.to().ok()).unwrap_or(Map::new(&[]))
    }

    /// The same as JSON.
    #[must_use]
    pub fn raw_requests(&self) -> Option<RawJson<'f>> {
        self.result.get("inputRequests")
    }

    /// What the server wants back with the next attempt: opaque.
    #[must_use]
    pub fn state(&self) -> Option<JsonStr<'f>> {
        self.result.get("requestState").and_then(RawJson::as_string)
    }

    /// How often the request has been sent again already. Together with the [state](Self::state),
    /// what must be kept when the answers take their time: [`InputResponseParams::new`].
    #[must_use]
    pub const fn round(&self) -> u8 {
        self.round
    }

    /// The next attempt's inputs: these answers, an object with the keys of the questions, and the
    /// state.
    #[must_use]
    pub fn retry_params<'a, R: Serialize + ?Sized>(
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

    /// The first question that `responses` have no answer to, by its key. A server may ask again
    /// for what is missing, so answering in part is allowed.
    #[must_use]
    pub fn missing_response(&self, responses: RawJson<'_>) -> Option<JsonStr<'f>> {
        // Most answers come in the order of the questions, so each is looked for behind the one
        // before: not from the beginning, which would compare all with all.
        let mut behind = responses.members();
        let mut is_answered = |key: JsonStr<'_>| {
            behind.any(|(other, _)| other == key) || {
                behind = responses.members();
                behind.any(|(other, _)| other == key)
            }
        };
        self.raw_requests()?.members().map(|(key, _)| key).find(|key| !is_answered(*key))
    }

    /// The whole result.
    #[must_use]
    pub const fn as_json(&self) -> RawJson<'f> {
        self.result
    }

    /// What of the capabilities a client must have declared for the questions; `None` when one of
    /// them is none.
    pub(super) fn required_features(&self) -> Option<ClientFeatures> {
        let Some(requests) = self.raw_requests() else { return Some(ClientFeatures::NONE) };
        requests.members().try_fold(ClientFeatures::NONE, |needs, (_, request)| {
            let method = request.get("method").and_then(RawJson::as_string)?;
            ClientFeatures::needed_for(method, request.get("params")).map(|more| needs.with(more))
        })
    }

    /// It has questions or a state, of the right kinds.
    pub(super) fn is_valid(&self) -> bool {
        let requests = self.raw_requests();
        let state = self.result.get("requestState");
        (requests.is_some() || state.is_some())
            && requests.is_none_or(RawJson::is_object)
            && state.is_none_or(|state| state.as_string().is_some())
    }
}

/// What goes with a request that is sent again: answers, and the server's state.
#[derive(Debug)]
pub struct InputResponseParams<'a, R: ?Sized> {
    pub(super) responses: Option<&'a R>,
    pub(super) state: Option<Text<'a>>,
    pub(super) round: u8,
}

impl<'a, R: Serialize + ?Sized> InputResponseParams<'a, R> {
    /// Of the attempt after `round` ([`InputRequired::round`]).
    #[must_use]
    pub const fn new(round: u8) -> Self {
        Self { responses: None, state: None, round }
    }

    /// An object: answers by the keys of their questions.
    #[must_use]
    pub const fn responses(mut self, responses: &'a R) -> Self {
        self.responses = Some(responses);
        self
    }

    /// The state as it came, if one came.
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
