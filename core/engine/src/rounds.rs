//! Rounds of a call that requests input from its client: `requestState` and `inputResponses`
//! (2026-07-28, basic/patterns/mrtr), and the same in the memory of the server for older clients.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::mem::take;
use core::task::{self, Poll};
use core::time::Duration;

use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    CallOutcome, ClientRequest, Encode, Encoder, InputLink, OrToolError as _, OwnedJson, RawJson,
    Request, RequestHandle, Revision, SendResult, Server, ToolError, Tx,
};

use crate::key_ring::{INVALID, KeyRing};
use crate::tasks::TaskResponses;

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

/// The state that the client sends back. As JSON it is an object with the members `answers` and
/// `kept`.
#[derive(Default)]
struct Carried {
    answers: TaskResponses,
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
        let earlier = carried.as_ref().map_or(0, |carried| carried.answers.0.len());
        let fresh = fresh_responses(request).into_iter().flat_map(RawJson::members);
        if earlier + fresh.take(MAX_INPUT_RESPONSES + 1).count() > MAX_INPUT_RESPONSES {
            return Err("Too many input responses");
        }
        Ok(Self { carried, failed: Vec::new(), next: N::default() })
    }

    /// Returns the next round of a call whose rounds the server makes, with the responses.
    pub fn next_round(&self, responses: impl IntoIterator<Item = (String, Response)>) -> Self {
        let (kept, mut failed) = (self.next.with(take).kept, self.failed.clone());
        let mut answers = self.answers().to_vec();
        for (key, response) in responses {
            match response {
                Ok(response) => answers.push((key, response)),
                Err(error) => failed.push((key, error)),
            }
        }
        let carried = Some(Carried { answers: TaskResponses(answers), kept });
        Self { carried, failed, next: N::default() }
    }

    /// Returns the input responses of earlier rounds.
    fn answers(&self) -> &[(String, OwnedJson)] {
        self.carried.as_ref().map_or(&[], |carried| &carried.answers.0)
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
        let carried = self.answers().iter().find(|(answered, _)| answered == key);
        let alone = self.carried.is_none() && self.next.with(|next| next.kept.is_some());
        let fresh = || fresh_responses(request)?.get(key).filter(|_| !alone).map(OwnedJson::from);
        carried.map(|(_, response)| response.clone()).or_else(fresh)
    }

    /// Returns the missing input requests and the state that the client is to send back. `None`:
    /// there is no key to seal it with.
    pub fn finish<'k>(
        &self,
        request: &Request<'_>,
        seal: impl FnOnce() -> StateSeal<'k>,
    ) -> Option<(Missing, Option<String>)> {
        let NextRound { kept, missing } = self.next.with(take);
        let mut answers = self.answers().to_vec();
        // Responses that came without the state that they belong to are dropped as well.
        let fresh = fresh_responses(request).filter(|_| self.carried.is_some() || kept.is_none());
        for (key, response) in fresh.into_iter().flat_map(RawJson::members) {
            // The key is decoded once, not for each comparison.
            let key = key.to_string();
            if answers.iter().all(|(answered, _)| *answered != key) {
                answers.push((key, response.into()));
            }
        }
        if answers.is_empty() && kept.is_none() {
            return Some((missing, None));
        }
        let carried = Carried { answers: TaskResponses(answers), kept };
        let state = OwnedJson::new(&carried, Revision::LATEST).ok()?;
        Some((missing, Some(seal().seal(request, state.as_json().as_str())?)))
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
        let answers = json.get("answers").filter(|answers| answers.is_object())?.members();
        let answers = answers.map(|(key, response)| (key.to_string(), response.into()));
        let kept = json.get("kept").and_then(RawJson::as_string).map(|text| text.to_string());
        Some(Self { answers: TaskResponses(answers.collect()), kept })
    }
}

impl Encode for Carried {
    fn encode(&self, to: &mut Encoder<'_>) {
        mcp_sansio::object!(to, { "answers": self.answers, "kept"?: self.kept });
    }
}

/// Returns the responses that came with the request.
fn fresh_responses<'f>(request: &Request<'f>) -> Option<RawJson<'f>> {
    request.params.get("inputResponses").filter(|_| request.revision.is_modern())
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
/// input, that of the responses again, and about 50 bytes and the key for each.
pub const MAX_INPUT_RESPONSES: usize = 256;
