//! A request to the client, as a call or as an input request.

use core::fmt;
use core::time::Duration;

use crate::encode::{Encode, Encoder, object};
use crate::error::InvalidPayload;
use crate::handle::RequestHandle;
use crate::lifecycle::{ClientFeatures, Revision};
#[cfg(feature = "tasks")]
use crate::tasks::TaskId;
use crate::types::{
    CreateMessageParams, ElicitFormParams, ElicitParams, ElicitUrlParams, InputRequest,
};

/// A request to the client: a call to a legacy client ([`request`](super::Server::request)), or an
/// input request in a result for a modern one ([`input_required`](super::Server::input_required)).
/// Made of the parameters of an elicitation or of sampling with [`From`], so that a program links
/// only the types that it uses.
#[derive(Clone, Copy)]
pub struct ClientRequest<'a> {
    pub(super) method: &'static str,
    pub(super) params: RequestParams<'a>,
    pub(super) needs: ClientFeatures,
    pub(super) parent: Option<RequestHandle>,
    pub(super) timeout: Option<Duration>,
    #[cfg(feature = "tasks")]
    pub(super) task: Option<TaskId>,
}

#[derive(Clone, Copy)]
pub(super) enum RequestParams<'a> {
    /// Of a method that a result can carry as an input request.
    Input(Option<&'a dyn InputParams>),
    /// Of any other method.
    Other(Option<&'a dyn Encode>),
}

/// Parameters that are validated before they are sent.
pub(super) trait InputParams: Encode {
    /// Checks what is not checked while the parameters are written.
    fn validate(&self, _: Revision) -> Result<(), InvalidPayload> {
        Ok(())
    }
}

impl<'a> ClientRequest<'a> {
    /// `roots/list`. Deprecated since 2026-07-28.
    #[must_use]
    pub const fn roots() -> Self {
        Self::with("roots/list", RequestParams::Input(None), ClientFeatures::ROOTS)
    }

    /// `ping`. For legacy clients only.
    #[must_use]
    pub const fn ping() -> Self {
        Self::new("ping", None, ClientFeatures::NONE)
    }

    /// Creates a request with any method, for legacy clients only. `needs` are the capabilities
    /// that the client must have declared.
    #[must_use]
    pub const fn new(
        method: &'static str,
        params: Option<&'a dyn Encode>,
        needs: ClientFeatures,
    ) -> Self {
        Self::with(method, RequestParams::Other(params), needs)
    }

    const fn with(method: &'static str, params: RequestParams<'a>, needs: ClientFeatures) -> Self {
        Self {
            method,
            params,
            needs,
            parent: None,
            timeout: None,
            #[cfg(feature = "tasks")]
            task: None,
        }
    }

    /// Says which task asks (`_meta` of 2025-11-25). An input request has no use for it.
    #[cfg(feature = "tasks")]
    #[must_use]
    pub const fn related_task(self, task: TaskId) -> Self {
        Self { task: Some(task), ..self }
    }

    /// Makes the call part of this request: the request's timeout pauses until the call ends, and
    /// the call is cancelled when the request ends. An input request has no use for it.
    #[must_use]
    pub const fn parent(self, parent: RequestHandle) -> Self {
        Self { parent: Some(parent), ..self }
    }

    /// Sets the timeout of the call, instead of the configured
    /// [`call_timeout`](super::ServerConfig::call_timeout). An input request has no use for it.
    #[must_use]
    pub const fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    pub(super) fn validate(&self, revision: Revision) -> Result<(), InvalidPayload> {
        match self.params {
            // The method of `InputRequest::Other` is unknown.
            _ if self.method.is_empty() => Err(InvalidPayload::Method),
            RequestParams::Input(Some(params)) => params.validate(revision),
            RequestParams::Input(None) | RequestParams::Other(_) => Ok(()),
        }
    }
}

impl fmt::Debug for ClientRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

/// `elicitation/create`
impl<'a> From<&'a ElicitParams<'_>> for ClientRequest<'a> {
    fn from(params: &'a ElicitParams<'_>) -> Self {
        let needs = params.required_capabilities();
        Self::with("elicitation/create", RequestParams::Input(Some(params)), needs)
    }
}

/// `elicitation/create` in form mode
impl<'a> From<&'a ElicitFormParams<'_>> for ClientRequest<'a> {
    fn from(params: &'a ElicitFormParams<'_>) -> Self {
        let needs = ClientFeatures::ELICITATION_FORM;
        Self::with("elicitation/create", RequestParams::Input(Some(params)), needs)
    }
}

/// `elicitation/create` in URL mode
impl<'a> From<&'a ElicitUrlParams<'_>> for ClientRequest<'a> {
    fn from(params: &'a ElicitUrlParams<'_>) -> Self {
        let needs = ClientFeatures::ELICITATION_URL;
        Self::with("elicitation/create", RequestParams::Input(Some(params)), needs)
    }
}

/// `sampling/createMessage`. Deprecated since 2026-07-28.
impl<'a> From<&'a CreateMessageParams<'_>> for ClientRequest<'a> {
    fn from(params: &'a CreateMessageParams<'_>) -> Self {
        let needs = params.required_capabilities();
        Self::with("sampling/createMessage", RequestParams::Input(Some(params)), needs)
    }
}

/// Any of them; links all of them. [`InputRequest::Other`] cannot be sent.
impl<'a> From<&'a InputRequest<'_>> for ClientRequest<'a> {
    fn from(request: &'a InputRequest<'_>) -> Self {
        match request {
            InputRequest::Elicit(params) => params.into(),
            InputRequest::CreateMessage(params) => params.into(),
            InputRequest::ListRoots => Self::roots(),
            InputRequest::Other(_) => Self::new("", None, ClientFeatures::NONE),
        }
    }
}

/// An input request, as [`InputRequest`] writes it.
impl Encode for ClientRequest<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let params = match self.params {
            RequestParams::Input(params) => params,
            RequestParams::Other(_) => None,
        };
        object!(to, { "method": self.method, "params"?: params });
    }
}

/// Forms may not be nested; URL mode needs a URL (client/elicitation).
impl InputParams for ElicitParams<'_> {
    fn validate(&self, revision: Revision) -> Result<(), InvalidPayload> {
        match self {
            Self::Form(form) => form.validate(revision),
            Self::Url(page) => page.validate(revision),
        }
    }
}

impl InputParams for ElicitFormParams<'_> {
    fn validate(&self, revision: Revision) -> Result<(), InvalidPayload> {
        require(self.requested_schema.is_valid_for(revision), InvalidPayload::Form)
    }
}

impl InputParams for ElicitUrlParams<'_> {}

/// Every `tool_use` must be followed by a message that holds only its `tool_result`s
/// (client/sampling).
impl InputParams for CreateMessageParams<'_> {
    fn validate(&self, _: Revision) -> Result<(), InvalidPayload> {
        self.validate_tool_results().map_err(|_| InvalidPayload::ToolResults)
    }
}

pub(super) fn require(holds: bool, rule: InvalidPayload) -> Result<(), InvalidPayload> {
    if holds { Ok(()) } else { Err(rule) }
}
