//! State of multi-round-trip requests: `requestState` and `inputResponses` (2026-07-28,
//! basic/patterns/mrtr).

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_sansio::{OwnedJson, OwnedRequest, RawJson, Request, Revision};

/// Protects the request state that clients keep against changes: by a signature, or by storing it
/// on the server and giving the client a key.
///
/// Input responses need no protection, because they come from the client anyway. State that a
/// handler [keeps](super::Context::set_request_state) does if it affects decisions.
pub trait StateProtector: Send + Sync {
    /// Returns what the client gets in place of `state`. It must be valid for the same request
    /// only: include at least the method and the name.
    fn protect(&self, request: &Request<'_>, state: &str) -> String;

    /// Returns the original state. `None` rejects the request: the value is not from this server,
    /// or belongs to another request.
    fn unprotect(&self, request: &Request<'_>, protected: &str) -> Option<String>;
}

/// State of a request from earlier rounds, and state for the next one.
pub(super) struct MrtrState {
    /// State that the client sent back: an object with the members `answers` and `kept`.
    carried: Option<OwnedJson>,
    next: Mutex<NextRound>,
}

#[derive(Default)]
struct NextRound {
    kept: Option<String>,
    missing: Vec<(String, OwnedJson)>,
}

impl MrtrState {
    /// # Errors
    /// Message of an invalid-params error: the state is invalid, or there are more than
    /// [`MAX_INPUT_RESPONSES`] responses.
    pub(super) fn of(
        request: &Request<'_>,
        protector: Option<&dyn StateProtector>,
    ) -> Result<Self, &'static str> {
        if !request.revision.is_modern() {
            return Ok(Self { carried: None, next: Mutex::default() });
        }
        let carried = match request.request_state().map(|state| state.to_string()) {
            None => None,
            Some(state) => {
                Some(unprotect(request, state, protector).ok_or("Invalid requestState")?)
            }
        };
        let carried_answers = carried.as_ref().and_then(|carried| carried.as_raw().get(ANSWERS));
        let responses = carried_answers
            .into_iter()
            .chain(request.params.get("inputResponses"))
            .flat_map(RawJson::members);
        if responses.take(MAX_INPUT_RESPONSES + 1).count() > MAX_INPUT_RESPONSES {
            return Err("Too many input responses");
        }
        Ok(Self { carried, next: Mutex::default() })
    }

    /// Returns the state that the handler kept in an earlier round.
    pub(super) fn request_state(&self) -> Option<String> {
        let kept = self.carried.as_ref()?.as_raw().get(KEPT)?.as_string()?;
        Some(kept.to_string())
    }

    pub(super) fn set_request_state(&self, state: String) {
        self.next().kept = Some(state);
    }

    /// Returns the input response of this or an earlier round. A handler that keeps state accepts
    /// no response that comes without it.
    pub(super) fn input_response(&self, key: &str, request: &OwnedRequest) -> Option<OwnedJson> {
        let carried =
            self.carried.as_ref().and_then(|carried| carried.as_raw().get(ANSWERS)?.get(key));
        let alone = self.carried.is_none() && self.next().kept.is_some();
        let request = request.as_request();
        carried.or_else(|| request.input_response(key).filter(|_| !alone)).map(OwnedJson::from)
    }

    pub(super) fn add_missing(&self, key: &str, request: OwnedJson) {
        let missing = &mut self.next().missing;
        if missing.iter().all(|(other, _)| other != key) {
            missing.push((key.to_owned(), request));
        }
    }

    /// Returns the missing input requests and the state that the client is to send back.
    pub(super) fn finish(
        &self,
        request: &Request<'_>,
        protector: Option<&dyn StateProtector>,
    ) -> (Vec<(String, OwnedJson)>, Option<String>) {
        let NextRound { kept, missing } = std::mem::take(&mut *self.next());
        let mut responses = Vec::new();
        let mut keys = HashSet::new();
        let carried = self.carried.as_ref().and_then(|carried| carried.as_raw().get(ANSWERS));
        // Responses that came without the state that they belong to are dropped as well.
        let fresh = request
            .params
            .get("inputResponses")
            .filter(|_| self.carried.is_some() || kept.is_none());
        for (key, response) in carried.into_iter().chain(fresh).flat_map(RawJson::members) {
            if keys.insert(key.to_string()) {
                responses.push((key, response));
            }
        }
        if responses.is_empty() && kept.is_none() {
            return (missing, None);
        }
        let mut state = format!("{{\"{ANSWERS}\":{{");
        for (number, (key, response)) in responses.iter().enumerate() {
            state.push_str(if number == 0 { "" } else { "," });
            state.push_str(key.as_json());
            state.push(':');
            state.push_str(response.as_str());
        }
        state.push('}');
        if let Some(kept) = kept.and_then(|kept| OwnedJson::new(&kept, Revision::LATEST).ok()) {
            state.push_str(&format!(",\"{KEPT}\":{}", kept.as_raw()));
        }
        state.push('}');
        let state =
            protector.map_or_else(|| state.clone(), |protector| protector.protect(request, &state));
        (missing, Some(state))
    }

    fn next(&self) -> MutexGuard<'_, NextRound> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the state that a client sent back, unprotected and parsed.
fn unprotect(
    request: &Request<'_>,
    state: String,
    protector: Option<&dyn StateProtector>,
) -> Option<OwnedJson> {
    let state = match protector {
        Some(protector) => protector.unprotect(request, &state)?,
        None => state,
    };
    RawJson::parse(&state)
        .ok()
        .filter(|state| state.get(ANSWERS).is_some_and(RawJson::is_object))
        .map(OwnedJson::from)
}

/// Maximum number of input responses of a 2026-07-28 request, those of earlier rounds included. A
/// request with more is rejected with -32602. While the handler runs, responses take the memory of
/// the request's text, which [`App::max_line`](super::App::max_line) limits; when it requests more
/// input, about 50 bytes and the key for each.
pub const MAX_INPUT_RESPONSES: usize = 256;

const ANSWERS: &str = "answers";
const KEPT: &str = "kept";
