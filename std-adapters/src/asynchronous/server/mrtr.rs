//! What a modern client carries from one attempt of a request to the next: `requestState`
//! (2026-07-28, basic/patterns/mrtr).

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcp_sansio::{OwnedJson, OwnedRequest, RawJson, Request, Revision};

/// Protects what clients carry, so that they cannot change it: by a signature, or by keeping it
/// here and giving out a key to it.
///
/// The answers to questions need no protection, since it is the client that gives them. What a
/// handler [keeps](super::Context::set_request_state) does when something depends on it.
pub trait StateProtector: Send + Sync {
    /// What is given to the client in place of `state`. Worth something only for the same request:
    /// the method and name at least belong into it.
    fn protect(&self, request: &Request<'_>, state: &str) -> String;

    /// What was closed. `None`, and the request is refused, when it is not ours or not for this
    /// request.
    fn unprotect(&self, request: &Request<'_>, protected: &str) -> Option<String>;
}

/// The rounds of a request that lie before this attempt, and what it leaves to the next.
pub(super) struct MrtrState {
    /// What came back: an object with the members `answers` and `kept`.
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
    /// The fault of the request: its state is not ours, or it brings more than [`MAX_INPUT_RESPONSES`]
    /// answers.
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
                Some(unprotect(request, state, protector).ok_or("requestState is not ours")?)
            }
        };
        let carried_answers = carried.as_ref().and_then(|carried| carried.as_raw().get(ANSWERS));
        let answers = carried_answers
            .into_iter()
            .chain(request.params.get("inputResponses"))
            .flat_map(RawJson::members);
        if answers.take(MAX_INPUT_RESPONSES + 1).count() > MAX_INPUT_RESPONSES {
            return Err("There are too many answers in inputResponses and requestState");
        }
        Ok(Self { carried, next: Mutex::default() })
    }

    /// What was request_state in an earlier round.
    pub(super) fn request_state(&self) -> Option<String> {
        let kept = self.carried.as_ref()?.as_raw().get(KEPT)?.as_string()?;
        Some(kept.to_string())
    }

    pub(super) fn set_request_state(&self, state: String) {
        self.next().kept = Some(state);
    }

    /// The answer to a question, in this round or one before. Who remembers something takes no
    /// answer that comes without it.
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

    /// What the client is asked, and what it is to carry.
    pub(super) fn finish(
        &self,
        request: &Request<'_>,
        protector: Option<&dyn StateProtector>,
    ) -> (Vec<(String, OwnedJson)>, Option<String>) {
        let NextRound { kept, missing } = std::mem::take(&mut *self.next());
        let mut answers = Vec::new();
        let mut keys = HashSet::new();
        let carried = self.carried.as_ref().and_then(|carried| carried.as_raw().get(ANSWERS));
        // What came without the state that it belongs to is not taken along either.
        let fresh = request
            .params
            .get("inputResponses")
            .filter(|_| self.carried.is_some() || kept.is_none());
        for (key, answer) in carried.into_iter().chain(fresh).flat_map(RawJson::members) {
            if keys.insert(key.to_string()) {
                answers.push((key, answer));
            }
        }
        if answers.is_empty() && kept.is_none() {
            return (missing, None);
        }
        let mut state = format!("{{\"{ANSWERS}\":{{");
        for (number, (key, answer)) in answers.iter().enumerate() {
            state.push_str(if number == 0 { "" } else { "," });
            state.push_str(key.as_json());
            state.push(':');
            state.push_str(answer.as_str());
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

/// The state that a client brought back, as it was before it was sealed.
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

/// The most answers that a 2026-07-28 request may bring to the questions of its handler, those of
/// earlier rounds included. A request with more is refused with -32602. While the handler runs,
/// they take the memory of the request's text, which [`App::max_line`](super::App::max_line)
/// limits; when it asks again, about 50 bytes and the key for each.
pub const MAX_INPUT_RESPONSES: usize = 256;

const ANSWERS: &str = "answers";
const KEPT: &str = "kept";
