//! Multi-round-trip requests: responses to the input requests of a modern server (2026-07-28,
//! basic/patterns/mrtr).

use std::future::poll_fn;
use std::task::{Context, Poll};

use mcp_sansio::types::Text;
use mcp_sansio::{Encode, Encoder, ErrorCode, JsonStr, OwnedJson, RawJson, Revision, Violation};

use super::error::CallError;
use super::inner::ConnectionInner;
use super::input::{InputFuture, InputRefusal, OwnedInputRequest};

/// Additions to the next attempt of a request.
pub(crate) struct RetryInputs {
    /// The server's result, which holds `requestState`.
    result: OwnedJson,
    round: u8,
    responses: Option<InputResponses>,
}

/// Input responses by the keys of their requests.
struct InputResponses(Vec<(String, OwnedJson)>);

impl RetryInputs {
    /// Calls the handler for all input requests, concurrently.
    pub(crate) async fn find(
        inner: &ConnectionInner,
        result: OwnedJson,
        round: u8,
    ) -> Result<Self, CallError> {
        let requests = result.as_raw().get("inputRequests");
        let responses = match requests {
            Some(requests) => {
                let responses = respond_all(inner, requests, &|_| true)?;
                Some(InputResponses(responses.await?))
            }
            None => None,
        };
        Ok(Self { result, round, responses })
    }

    pub(crate) fn as_core(&self) -> mcp_sansio::InputResponseParams<'_, impl Encode> {
        let state = self
            .result
            .as_raw()
            .get("requestState")
            .and_then(RawJson::as_string)
            .map(Text::from_json);
        let inputs = mcp_sansio::InputResponseParams::new(self.round).state(state);
        match &self.responses {
            Some(responses) => inputs.responses(responses),
            None => inputs,
        }
    }
}

/// Starts the handler for each request whose key is new, and waits for all responses.
pub(crate) fn respond_all(
    inner: &ConnectionInner,
    requests: RawJson<'_>,
    is_new: &dyn Fn(JsonStr<'_>) -> bool,
) -> Result<
    impl Future<Output = Result<Vec<(String, OwnedJson)>, CallError>> + Send + use<>,
    CallError,
> {
    let mut open = Vec::new();
    for (key, request) in requests.members().filter(|(key, _)| is_new(*key)) {
        if open.len() == MAX_INPUT_REQUESTS {
            return Err(CallError::InputRefused(InputRefusal::error(
                ErrorCode::InvalidParams,
                "Too many input requests",
            )));
        }
        let request = OwnedInputRequest::read(request, Revision::LATEST)
            .map_err(|_| CallError::Invalid(Violation::InvalidResult))?;
        open.push(PendingInput {
            key: key.to_string(),
            found: Err((inner.input_handler)(request)),
        });
    }
    Ok(poll_fn(move |cx| {
        let mut all = true;
        for open in &mut open {
            all &= open.poll(cx)?.is_ready();
        }
        if !all {
            return Poll::Pending;
        }
        Poll::Ready(Ok(open
            .drain(..)
            .filter_map(|open| Some((open.key, open.found.ok()?)))
            .collect()))
    }))
}

/// An input request: its response, or the future of it.
struct PendingInput {
    key: String,
    found: Result<OwnedJson, InputFuture>,
}

impl PendingInput {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        let Err(pending) = &mut self.found else { return Poll::Ready(Ok(())) };
        match pending.as_mut().poll(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(refusal)) => return Poll::Ready(Err(CallError::InputRefused(refusal))),
            Poll::Ready(Ok(response)) => self.found = Ok(response.0),
        }
        Poll::Ready(Ok(()))
    }
}

impl Encode for InputResponses {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        for (key, response) in &self.0 {
            to.member(key, response);
        }
        to.end_object();
    }
}

/// Maximum number of input requests in one result.
const MAX_INPUT_REQUESTS: usize = 64;
