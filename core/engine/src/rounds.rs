//! Rounds of a call that requests input from its client: `requestState` and `inputResponses`
//! (2026-07-28, basic/patterns/mrtr), and the same in the memory of the server for older clients.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::mem::take;
use core::task::{self, Poll};
use core::time::Duration;

use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    CallOutcome, ClientRequest, InputLink, OrToolError as _, OwnedJson, RawJson, Request,
    RequestHandle, Revision, SendResult, Server, ToolError, Tx,
};

use crate::key_ring::{INVALID, KeyRing};

/// The seal of the state of a request, put on before its client gets it.
///
/// Input responses need no seal, because they come from the client anyway. State that a handler
/// keeps ([`ToolContext::set_request_state`](mcp_sansio::ToolContext::set_request_state)) does if
/// it affects decisions.
pub struct StateSeal<'k> {
    /// The keys. `None`: there are none, because the operating system gives no random numbers.
    pub keys: Option<&'k KeyRing>,
    /// Time since 1970.
    pub now: Duration,
    /// The principal of the request: a state is valid for the same one only.
    pub owner: Option<String>,
}

impl StateSeal<'_> {
    /// Returns the state as the client gets it.
    fn seal(&self, request: &Request<'_>, state: &str) -> Option<String> {
        let (method, name) = purpose(request);
        let owner = self.owner.as_deref().unwrap_or_default();
        Some(self.keys?.seal_state(self.now, &[&method, &name, owner], state))
    }

    fn open<'s>(&self, request: &Request<'_>, sealed: &'s str) -> Result<&'s str, &'static str> {
        let (method, name) = purpose(request);
        let owner = self.owner.as_deref().unwrap_or_default();
        let keys = self.keys.ok_or(INVALID)?;
        keys.open_state(self.now, &[&method, &name, owner], sealed)
    }
}

/// Returns the method and the name of a request. A state is valid for the same two: not for another
/// tool, nor for a prompt of the same name.
fn purpose(request: &Request<'_>) -> (String, String) {
    let name = request.name().map(|name| name.to_string()).unwrap_or_default();
    (request.method.to_string(), name)
}

/// State of a call from earlier rounds, and state for the next one.
#[derive(Default)]
pub struct Round<N> {
    carried: Option<Carried>,
    /// Input requests to an older client that have no response.
    failed: Vec<(String, ToolError<'static>)>,
    next: N,
}

/// A value that a handler and its connection share: behind a lock, where these may be on different
/// threads.
pub trait Shared<T>: Default + Sync {
    /// Calls with the value.
    fn with<R>(&self, call: impl FnOnce(&mut T) -> R) -> R;
}

/// What a call leaves for its next round.
#[derive(Default)]
pub struct NextRound {
    kept: Option<String>,
    missing: Missing,
}

struct Carried {
    /// State that the client sent back: an object with the members `answers` and `kept`.
    json: OwnedJson,
    kept: Option<String>,
}

/// Input requests without a response, by key.
pub type Missing = Vec<(String, OwnedJson)>;

/// The response to an input request, or the reason why there is none.
pub type Response = Result<OwnedJson, ToolError<'static>>;

impl<N: Shared<NextRound>> Round<N> {
    /// Reads what came with a request.
    ///
    /// # Errors
    /// Message of an invalid-params error: the state is invalid, or there are more than
    /// [`MAX_INPUT_RESPONSES`] responses.
    pub fn of<'k>(
        request: &Request<'_>,
        seal: impl FnOnce() -> StateSeal<'k>,
    ) -> Result<Self, &'static str> {
        if !request.revision.is_modern() {
            return Ok(Self::default());
        }
        let carried = match request.request_state().map(|state| state.to_string()) {
            None => None,
            Some(state) => Some(Carried::parse(seal().open(request, &state)?).ok_or(INVALID)?),
        };
        let carried_answers = carried.as_ref().and_then(Carried::answers);
        let responses =
            carried_answers.into_iter().chain(fresh_responses(request)).flat_map(RawJson::members);
        if responses.take(MAX_INPUT_RESPONSES + 1).count() > MAX_INPUT_RESPONSES {
            return Err("Too many input responses");
        }
        Ok(Self { carried, failed: Vec::new(), next: N::default() })
    }

    /// Returns the next round of a call whose rounds the server makes, with the responses.
    pub fn next_round(&self, responses: impl IntoIterator<Item = (String, Response)>) -> Self {
        let (kept, mut failed) = (self.next.with(take).kept, self.failed.clone());
        let carried = self.carried.as_ref().and_then(Carried::answers);
        let mut answers: Vec<(String, String)> = carried
            .into_iter()
            .flat_map(RawJson::members)
            .map(|(key, response)| (key.as_json().to_string(), response.to_string()))
            .collect();
        for (key, response) in responses {
            match (response, OwnedJson::new(&key, Revision::LATEST)) {
                (Ok(response), Ok(key)) => {
                    answers.push((key.as_json().to_string(), response.as_json().to_string()));
                }
                (Err(error), _) => failed.push((key, error)),
                (_, Err(error)) => failed.push((key, error.into())),
            }
        }
        let answers = answers.iter().map(|(key, response)| (key.as_str(), response.as_str()));
        let json = RawJson::parse(&state(answers, kept.as_deref())).map(OwnedJson::from).ok();
        let carried = json.map(|json| Carried { json, kept });
        Self { carried, failed, next: N::default() }
    }

    /// Returns the response to an input request, or ends the attempt so that it can be made.
    ///
    /// # Errors
    /// [`ToolError::INPUT_REQUIRED`] in the latter case; also the reason why there is no response.
    pub fn input(
        &self,
        request: &Request<'_>,
        key: &str,
        input_request: &InputRequest<'_>,
    ) -> Response {
        if let Some((_, error)) = self.failed.iter().find(|(failed, _)| failed == key) {
            return Err(error.clone());
        }
        if let Some(response) = self.input_response(key, request) {
            return Ok(response);
        }
        let missing = OwnedJson::new(input_request, request.revision)?;
        self.next.with(|next| {
            if next.missing.iter().all(|(other, _)| other != key) {
                next.missing.push((key.to_owned(), missing));
            }
        });
        Err(ToolError::INPUT_REQUIRED)
    }

    /// Returns the input response of this or an earlier round. A handler that keeps state accepts
    /// no response that comes without it.
    pub fn input_response(&self, key: &str, request: &Request<'_>) -> Option<OwnedJson> {
        let carried = self.carried.as_ref().and_then(|carried| carried.answers()?.get(key));
        let alone = self.carried.is_none() && self.next.with(|next| next.kept.is_some());
        let fresh = || fresh_responses(request)?.get(key).filter(|_| !alone);
        carried.or_else(fresh).map(OwnedJson::from)
    }

    /// Returns the missing input requests and the state that the client is to send back. `None`:
    /// there is no key to seal it with.
    pub fn finish<'k>(
        &self,
        request: &Request<'_>,
        seal: impl FnOnce() -> StateSeal<'k>,
    ) -> Option<(Missing, Option<String>)> {
        let NextRound { kept, missing } = self.next.with(take);
        let mut responses = Vec::new();
        let mut keys = BTreeSet::new();
        let carried = self.carried.as_ref().and_then(Carried::answers);
        // Responses that came without the state that they belong to are dropped as well.
        let fresh = fresh_responses(request).filter(|_| self.carried.is_some() || kept.is_none());
        for (key, response) in carried.into_iter().chain(fresh).flat_map(RawJson::members) {
            if keys.insert(key.to_string()) {
                responses.push((key.as_json().as_str(), response.as_str()));
            }
        }
        if responses.is_empty() && kept.is_none() {
            return Some((missing, None));
        }
        let state = seal().seal(request, &state(responses, kept.as_deref()))?;
        Some((missing, Some(state)))
    }

    /// Whether input requests are missing, so that the attempt is about to end.
    pub fn is_asking(&self) -> bool {
        self.next.with(|next| !next.missing.is_empty())
    }

    /// Takes the missing input requests.
    pub fn take_missing(&self) -> Missing {
        self.next.with(|next| take(&mut next.missing))
    }
}

/// Requests input of a tool that is called again in each round, whatever the revision.
impl<N: Shared<NextRound>> InputLink for Round<N> {
    fn request_state(&self) -> Option<&str> {
        self.carried.as_ref()?.kept.as_deref()
    }

    fn set_request_state(&self, state: String) -> bool {
        self.next.with(|next| next.kept = Some(state));
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

impl Carried {
    /// Reads a state that a client sent back.
    fn parse(state: &str) -> Option<Self> {
        let json = RawJson::parse(state).ok()?;
        json.get(ANSWERS).filter(|answers| answers.is_object())?;
        let kept = json.get(KEPT).and_then(RawJson::as_string).map(|text| text.to_string());
        Some(Self { json: json.into(), kept })
    }

    fn answers(&self) -> Option<RawJson<'_>> {
        self.json.as_json().get(ANSWERS)
    }
}

/// Returns the responses that came with the request.
fn fresh_responses<'f>(request: &Request<'f>) -> Option<RawJson<'f>> {
    request.params.get("inputResponses").filter(|_| request.revision.is_modern())
}

/// Writes a state. Keys and responses are JSON.
fn state<'s>(answers: impl IntoIterator<Item = (&'s str, &'s str)>, kept: Option<&str>) -> String {
    let mut state = format!("{{\"{ANSWERS}\":{{");
    for (number, (key, response)) in answers.into_iter().enumerate() {
        state.push_str(if number == 0 { "" } else { "," });
        state.push_str(key);
        state.push(':');
        state.push_str(response);
    }
    state.push('}');
    if let Some(kept) = kept.and_then(|kept| OwnedJson::new(kept, Revision::LATEST).ok()) {
        state.push_str(&format!(",\"{KEPT}\":{}", kept.as_json()));
    }
    state.push('}');
    state
}

/// Sends the missing input requests of a round to a client of 2026-07-28.
///
/// # Errors
/// Those of [`Server::input_required`].
pub fn send_input_required(
    server: &mut Server<'_>,
    request: RequestHandle,
    missing: &[(String, OwnedJson)],
    state: Option<&str>,
    tx: &mut Tx<'_>,
) -> SendResult {
    let input_requests: Vec<(&str, InputRequest<'_>)> = missing
        .iter()
        .filter_map(|(key, input_request)| Some((key.as_str(), input_request.to().ok()?)))
        .collect();
    let input_requests: Vec<(&str, ClientRequest<'_>)> =
        input_requests.iter().map(|(key, input_request)| (*key, input_request.into())).collect();
    server.input_required(request, &input_requests, state, tx)
}

/// Returns the response of an older client to an input request.
pub fn response(outcome: &CallOutcome<'_>) -> Response {
    match outcome {
        CallOutcome::Result(result) => Ok(OwnedJson::from(*result)),
        CallOutcome::Error(error) => {
            let message = error.message().map(|message| message.to_string()).unwrap_or_default();
            Err(format!("Input request failed with error {}: {message}", error.code()))
                .or_input_response()
        }
        CallOutcome::TimedOut => Err("Input request timed out").or_input_response(),
        _ => Err(ToolError::GONE),
    }
}

/// Maximum number of input responses of a 2026-07-28 request, those of earlier rounds included. A
/// request with more is rejected with -32602. While the handler runs, responses take the memory of
/// the request's text, which is limited; when it requests more
/// input, about 50 bytes and the key for each.
pub const MAX_INPUT_RESPONSES: usize = 256;

const ANSWERS: &str = "answers";
const KEPT: &str = "kept";
