//! Input that a tool requests from the client: elicitation, sampling, roots.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::future::poll_fn;
use core::task::Poll;

use super::context::{Link, ToolContext};
use super::{OrToolError as _, ToolError};
use crate::encode::OwnedJson;
use crate::json::RawJson;
use crate::protocol::ClientFeatures;
use crate::protocol::error::{InvalidPayload, SendError};
#[cfg(feature = "derive")]
use crate::rpc::RpcError;
#[cfg(feature = "derive")]
use crate::typed::{InputObject, OutputObject};
use crate::types::InputRequest;
use serde::Deserialize;

impl<L: Link + ?Sized> ToolContext<'_, L> {
    /// Requests input from the client: elicitation, sampling or roots. `key` identifies the input
    /// request and must be unique in its tool.
    ///
    /// Up to 2025-11-25 this sends a request to the client. In 2026-07-28 the input requests are
    /// the result of the call, and the client calls the tool again with its responses: the tool
    /// runs from its start in each round. Where tools run one after the other, and for a
    /// [`ToolHandler`](crate::typed::ToolHandler), it does so with older clients, too.
    ///
    /// Cancel safe: dropping the future cancels the request to a legacy client.
    ///
    /// # Errors
    /// [`ToolError::missing_capability`] if the client did not declare the capability.
    /// [`ToolError::invalid_input_response`] if the client refused or did not respond in time.
    /// [`ToolError::INPUT_REQUIRED`] if the tool is called again once there is a response, which
    /// ends this attempt. [`ToolError::internal`] where the adapter cannot request input. Use `?`
    /// for all.
    pub async fn request_input(
        &self,
        key: &str,
        input_request: InputRequest<'_>,
    ) -> Result<OwnedInputResponse, ToolError<'static>> {
        let [response] = self.request_inputs([(key, input_request)]).await?;
        Ok(response)
    }

    /// Requests several inputs at once: in 2026-07-28, in one round. Cancel safe as
    /// [`request_input`](Self::request_input).
    ///
    /// # Errors
    /// As [`request_input`](Self::request_input).
    pub async fn request_inputs<const K: usize>(
        &self,
        input_requests: [(&str, InputRequest<'_>); K],
    ) -> Result<[OwnedInputResponse; K], ToolError<'static>> {
        let needed =
            input_requests.iter().fold(ClientFeatures::NONE, |needed, (_, input_request)| {
                needed.with(input_request.required_capabilities())
            });
        if !self.request().capabilities.contains(needed) {
            return Err(ToolError::missing_capability(needed));
        }
        let mut waiting = input_requests.map(|(key, input_request)| Waiting {
            link: self.link(),
            key,
            input_request,
            place: None,
            response: None,
        });
        poll_fn(|cx| {
            let (mut is_required, mut is_pending) = (false, false);
            for input in waiting.iter_mut().filter(|input| input.response.is_none()) {
                let Waiting { link, key, input_request, place, response } = input;
                match link.poll_input(cx, self.request(), key, input_request, place) {
                    Poll::Ready(Ok(json)) => *response = Some(json),
                    // The others are requested in the same round.
                    Poll::Ready(Err(error)) if error.is_input_required() => is_required = true,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => is_pending = true,
                }
            }
            match (is_required, is_pending) {
                (true, _) => Poll::Ready(Err(ToolError::INPUT_REQUIRED)),
                (_, true) => Poll::Pending,
                _ => Poll::Ready(Ok(())),
            }
        })
        .await?;
        let response = |input: &mut Waiting<'_, L>| {
            let json = input.response.take()?;
            Some(OwnedInputResponse { key: input.key.to_owned(), json })
        };
        let responses: Vec<OwnedInputResponse> = waiting.iter_mut().filter_map(response).collect();
        responses.try_into().map_err(|_| SendError::Invalid(InvalidPayload::Serialize).into())
    }
}

impl<'a, L: Link + ?Sized> ToolContext<'a, L> {
    /// Returns the text that an earlier round of the call
    /// [kept](Self::set_request_state).
    #[must_use]
    pub fn request_state(&self) -> Option<&'a str> {
        self.link().request_state()
    }

    /// Keeps a text for the next round of the call. In 2026-07-28 the client stores it, and can
    /// read and change it unless the adapter protects it. From then on an input response counts
    /// only if it comes with such a state. Returns `false` where the adapter cannot request input,
    /// and so has no rounds.
    pub fn set_request_state(&self, state: impl Into<String>) -> bool {
        self.link().set_request_state(state.into())
    }

    /// Returns the value that an earlier round of the call [kept](Self::set_request_state_as).
    ///
    /// # Errors
    /// -32602 if the client brought back something else. Use `?`.
    #[cfg(feature = "derive")]
    pub fn request_state_as<S: InputObject<'a>>(&self) -> Result<Option<S>, ToolError<'static>> {
        let Some(text) = self.request_state() else { return Ok(None) };
        match RawJson::parse(text).ok().map(S::parse) {
            Some(Ok(state)) => Ok(Some(state)),
            // Faults could show the client what is hidden from it.
            _ => Err(RpcError::invalid_params("Invalid requestState").into()),
        }
    }

    /// [Keeps](Self::set_request_state) a value for the next round, as JSON.
    ///
    /// # Errors
    /// If the value cannot be written.
    #[cfg(feature = "derive")]
    pub fn set_request_state_as<S: OutputObject>(
        &self,
        state: &S,
    ) -> Result<bool, ToolError<'static>> {
        let state = OwnedJson::new(state, self.request().revision)?;
        Ok(self.set_request_state(state.as_raw().as_str()))
    }
}

/// An input request that waits for its response. Dropping it withdraws the request.
struct Waiting<'w, L: Link + ?Sized> {
    link: &'w L,
    key: &'w str,
    input_request: InputRequest<'w>,
    place: Option<u64>,
    response: Option<OwnedJson>,
}

impl<L: Link + ?Sized> Drop for Waiting<'_, L> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.link.leave_input(place);
        }
    }
}

/// The response of a client to an input request. [`to`](Self::to) reads it as the result type of
/// the request: [`ElicitResult`](crate::types::ElicitResult) for an elicitation,
/// [`CreateMessageResult`](crate::types::CreateMessageResult) for sampling,
/// [`ListRootsResult`](crate::types::ListRootsResult) for roots.
#[derive(Clone)]
pub struct OwnedInputResponse {
    key: String,
    json: OwnedJson,
}

impl OwnedInputResponse {
    /// Reads the response as a result type that borrows from it.
    ///
    /// # Errors
    /// [`ToolError::invalid_input_response`] if it is not of this type.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ToolError<'static>> {
        self.json.to().map_err(|error| self.invalid(&error)).or_input_response()
    }

    /// Reads the response to the [form of a type](InputRequest::form). Returns `None` if the user
    /// declined or dismissed it.
    ///
    /// # Errors
    /// [`ToolError::invalid_input_response`] if it does not fit the form.
    #[cfg(feature = "derive")]
    pub fn to_form<'a, T: InputObject<'a>>(&'a self) -> Result<Option<T>, ToolError<'static>> {
        T::from_elicit_result(self.as_raw())
            .map_err(|faults| self.invalid(&faults))
            .or_input_response()
    }

    /// Returns the response as JSON, as received.
    #[must_use]
    pub fn as_raw(&self) -> RawJson<'_> {
        self.json.as_raw()
    }

    /// Returns the response as JSON, as received.
    #[must_use]
    pub fn into_json(self) -> OwnedJson {
        self.json
    }

    fn invalid(&self, why: &dyn fmt::Display) -> String {
        format!("Invalid response to input request {}: {why}", self.key)
    }
}

impl fmt::Debug for OwnedInputResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.json.as_raw())
    }
}
