//! Events that a client reports to its application, and its configuration.

use core::time::Duration;

use super::call::{InputRequired, Refusal};
#[cfg(feature = "http")]
use crate::http::client::HttpFailure;
use crate::json::{JsonStr, RawJson, ReadError};
use crate::message::{Params, PeerViolation};
use crate::protocol::error::{ConfigError, Violation};
use crate::protocol::{ClientFeatures, Revision, Revisions, ServerFeatures};
use crate::rpc::PeerError;
use crate::rpc::inflight::{Call, RequestHandle};
use crate::text::Printable;
use crate::types::meta::{SERVER_INFO, check_declared, is_modern_only};
use crate::types::setters;
use crate::types::{
    DeclaredExtensions, Implementation, Info, InputRequest, LoggingLevel, ServerCapabilities,
};

/// Event of a client. Borrows the frame, never the client.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ClientEvent<'f> {
    /// The server responded to `initialize` or `server/discover`: calls can be made.
    Connected(Connected<'f>),
    /// The connection cannot be established: close the transport.
    ConnectFailed(ConnectError<'f>),
    /// A call ended. Each call ends once: with this event, or with
    /// [`cancel_call`](super::Client::cancel_call).
    CallFinished {
        /// The call that ended.
        call: Call,
        /// Result, error, or reason.
        outcome: CallOutcome<'f>,
    },
    /// The server reported the progress of a call.
    Progress {
        /// The call.
        call: Call,
        /// A [`ProgressParams`](crate::types::ProgressParams).
        params: RawJson<'f>,
    },
    /// The server reported the progress of a task, with the progress token of the call that created
    /// it (2025-11-25, basic/utilities/progress).
    #[cfg(feature = "tasks")]
    TaskProgress {
        /// Id of the task.
        task_id: JsonStr<'f>,
        /// A [`ProgressParams`](crate::types::ProgressParams).
        params: RawJson<'f>,
    },
    /// The server acknowledged a `subscriptions/listen`.
    Listening {
        /// The `subscriptions/listen` call.
        call: Call,
        /// The [`SubscriptionFilter`](crate::types::SubscriptionFilter) that the server honours, a
        /// subset of the requested one; [`is_subset`](crate::types::SubscriptionFilter::is_subset)
        /// compares them.
        filter: RawJson<'f>,
    },
    /// Data of the server changed: cached copies are stale.
    Changed {
        /// The `subscriptions/listen` that the notification belongs to; `None` from a legacy
        /// server, and where a modern server does not name it.
        listen: Option<Call>,
        /// The list or the resource that changed.
        what: Changed<'f>,
    },
    /// A log message.
    Log {
        /// A [`LoggingMessageParams`](crate::types::LoggingMessageParams).
        params: RawJson<'f>,
    },
    /// A request of a legacy server: respond to it, at once or later. A modern server requires
    /// input with [`CallOutcome::InputRequired`] instead.
    Request(ServerRequest<'f>),
    /// The server cancelled its request; a response to it would not be written.
    RequestCancelled {
        /// The request.
        request: RequestHandle,
        /// The reason that the server gave.
        reason: Option<JsonStr<'f>>,
    },
    /// A request of the server took longer than
    /// [`request_timeout`](super::ClientConfig::request_timeout); an error was sent as the
    /// response.
    RequestTimedOut {
        /// The request.
        request: RequestHandle,
    },
    /// The client responded to a ping in a batch. A ping outside of a batch is no event; in a batch
    /// it ends the call, because one call writes at most one frame.
    Pinged,
    /// The server did not respond to a ping within
    /// [`ping_timeout`](super::ClientConfig::ping_timeout): the connection is probably lost.
    Unresponsive,
    /// A modern server responded to the probe after the client had taken it for a legacy server:
    /// increase [`probe_timeout`](super::ClientConfig::probe_timeout), or [set its
    /// era](super::Client::set_era).
    UnexpectedDiscovery(RawJson<'f>),
    /// The server runs a call as a task, and the call was cancelled or timed out before its
    /// response came: the [task](crate::types::Task) goes on unless `tasks/cancel` is sent
    /// (2025-11-25, basic/utilities/cancellation).
    #[cfg(feature = "tasks")]
    UnexpectedTask(RawJson<'f>),
    /// Any other notification, e.g. `notifications/elicitation/complete`.
    Notification {
        /// The method.
        method: JsonStr<'f>,
        /// The parameters.
        params: Params<'f>,
    },
    /// An error response of the server without an id.
    PeerError(PeerError<'f>),
    /// The server violated the protocol, or the line has noise. An error response was sent where
    /// JSON-RPC allows one.
    Violation(PeerViolation<'f>),
}

/// Result of `initialize` (legacy) or `server/discover` (modern).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Connected<'f> {
    /// The revision that client and server use.
    pub revision: Revision,
    /// The capabilities of the server that this library knows.
    pub capabilities: ServerFeatures,
    /// The whole result: an [`InitializeResult`](crate::types::InitializeResult) or a
    /// [`DiscoverResult`](crate::types::DiscoverResult).
    pub result: RawJson<'f>,
}

impl<'f> Connected<'f> {
    pub(super) fn new(revision: Revision, result: RawJson<'f>) -> Self {
        let declared =
            result.get("capabilities").and_then(|raw| raw.to::<ServerCapabilities<'_>>().ok());
        let mut capabilities =
            declared.map_or(ServerFeatures::NONE, |declared| declared.features(revision));
        if revision == Revision::V2024_11_05 {
            // This revision has no capability for completions.
            capabilities = capabilities.with(ServerFeatures::COMPLETIONS);
        }
        Self { revision, capabilities, result }
    }

    /// Returns the settings of an extension that the server declared. The client does not store
    /// them: read here what is needed later.
    pub fn extension(&self, id: &str) -> Option<RawJson<'f>> {
        let declared = self.result.get("capabilities")?.get("extensions")?;
        let is_known = |key| self.revision.is_modern() || !is_modern_only(key);
        let mut members = declared.members();
        let (_, settings) = members.find(|(key, _)| is_known(*key) && *key == id)?;
        settings.is_object().then_some(settings)
    }

    /// Returns the [`Implementation`](crate::types::Implementation) that the server reports. For
    /// display only: it is not authenticated.
    pub fn server_info(&self) -> Option<RawJson<'f>> {
        self.result.get("serverInfo").or_else(|| self.result.get("_meta")?.get(SERVER_INFO))
    }

    /// Returns the instructions for the model.
    pub fn instructions(&self) -> Option<JsonStr<'f>> {
        self.result.get("instructions").and_then(RawJson::as_string)
    }
}

/// Reason why the connection was not established.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ConnectError<'f> {
    /// The server responded with an error.
    Refused(PeerError<'f>),
    /// Client and server have no revision in common. Contains the revisions of the server, if it
    /// reported them: a string, or an array of strings.
    NoCommonRevision(Option<RawJson<'f>>),
    /// The response is not a valid result.
    Invalid(Violation),
    /// The server did not respond in time.
    TimedOut,
    /// The request failed in HTTP.
    #[cfg(feature = "http")]
    Http(HttpFailure<'f>),
}

impl core::fmt::Display for ConnectError<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(error) => {
                let colon = if error.message().is_some() { ":" } else { "" };
                write!(f, "the server rejected the connection{colon} {error}")
            }
            Self::NoCommonRevision(Some(theirs)) => {
                write!(f, "no common revision: the server supports {}", Printable::new(theirs))
            }
            Self::NoCommonRevision(None) => f.write_str("no common revision"),
            Self::Invalid(violation) => {
                write!(f, "the response of the server is invalid: {violation}")
            }
            Self::TimedOut => f.write_str("the server did not respond in time"),
            #[cfg(feature = "http")]
            Self::Http(failure) => failure.fmt(f),
        }
    }
}

impl core::error::Error for ConnectError<'_> {}

/// Outcome of a call, for [`ClientEvent`] and [`ServerEvent`](crate::ServerEvent).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CallOutcome<'f> {
    /// The peer responded with a result. A client gets an object, to be read as the result type of
    /// the method; [`CacheHint`](crate::types::CacheHint) tells for how long it may be cached
    /// (2026-07-28).
    Result(RawJson<'f>),
    /// The peer responded with an error.
    Error(PeerError<'f>),
    /// The server needs input before it can respond with a result:
    /// [`retry`](super::Client::retry) the request with the input, or give it up (2026-07-28,
    /// basic/patterns/mrtr). Clients only.
    InputRequired(InputRequired<'f>),
    /// The server runs the call as a task: a valid [`Task`](crate::types::Task), whose result comes
    /// with further requests; [`TaskPoll`](crate::TaskPoll) says which. In 2026-07-28 only if the
    /// client declared [`TASKS`](crate::ClientFeatures::TASKS), in 2025-11-25 only with
    /// [`CallOptions::task`](super::CallOptions::task). Clients only.
    #[cfg(feature = "tasks")]
    Task(RawJson<'f>),
    /// The response is invalid: unknown `resultType`, longer than the receive buffer, or an input
    /// request that needs a capability that the client did not declare. Clients only.
    Invalid(Violation),
    /// The server ended a `subscriptions/listen` with `notifications/cancelled`. Clients only.
    EndedByServer,
    /// No response arrived in time. `notifications/cancelled` has been sent to the peer.
    TimedOut,
    /// The request that a server's call belonged to ended, so the call was cancelled. Servers only.
    Cancelled,
    /// The connection was closed. Clients only.
    Closed,
    /// The request failed in HTTP: [`Client::fail`](super::Client::fail). Clients only.
    #[cfg(feature = "http")]
    Http(HttpFailure<'f>),
}

impl<'f> CallOutcome<'f> {
    /// The result, if there is one.
    pub const fn result(&self) -> Option<RawJson<'f>> {
        if let Self::Result(result) = self { Some(*result) } else { None }
    }
}

/// Data of the server that changed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Changed<'f> {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// A resource, or a part of it.
    Resource {
        /// Its URI.
        uri: JsonStr<'f>,
    },
    /// The state of a task: a valid [`Task`](crate::types::Task).
    #[cfg(feature = "tasks")]
    Task(RawJson<'f>),
}

impl Changed<'_> {
    /// Whether the change makes a cached result of this request stale (2026-07-28,
    /// server/utilities/caching). The URI of a change may be that of a sub-resource, so it concerns
    /// each resource with whose URI it begins: one too many is only read again.
    pub fn concerns(&self, method: &str, params: RawJson<'_>) -> bool {
        match self {
            Self::Tools => method == "tools/list",
            Self::Prompts => method == "prompts/list",
            Self::Resources => matches!(method, "resources/list" | "resources/templates/list"),
            Self::Resource { uri } => {
                let read = params.get("uri").and_then(RawJson::as_string);
                let mut changed = uri.chars();
                method == "resources/read"
                    && read.is_some_and(|read| read.chars().all(|c| changed.next() == Some(c)))
            }
            // The state of a task is never cached.
            #[cfg(feature = "tasks")]
            Self::Task(_) => false,
        }
    }
}

/// Request of a legacy server.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServerRequest<'f> {
    /// Identifies the request in responses.
    pub handle: RequestHandle,
    /// `sampling/createMessage`, `roots/list` or `elicitation/create`. The client declared the
    /// capability; other requests are rejected before.
    pub method: JsonStr<'f>,
    /// Whether the server wants progress notifications.
    pub wants_progress: bool,
    /// The task that the server asks for, if the client declared that it runs such requests as
    /// tasks: respond with one ([`Tasks`](crate::tasks::Tasks)). Such a client also gets the
    /// requests `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel` (2025-11-25).
    #[cfg(feature = "tasks")]
    pub task: Option<crate::types::TaskMetadata>,
    /// The parameters.
    pub params: Params<'f>,
}

impl<'f> ServerRequest<'f> {
    /// Returns the request as the type that modern servers use in their results
    /// ([`InputRequired::requests`]), so that one function handles both.
    ///
    /// # Errors
    /// The parameters are invalid: respond with -32602.
    pub fn input_request(&self) -> Result<InputRequest<'f>, ReadError> {
        InputRequest::from_parts(self.method, self.params.given())
    }
}

// Configuration of a client, and options of its calls.

/// Name, capabilities and time limits of a client. Shared by all connections; usually a `const`
/// or `static`.
///
/// ```
/// use mcp_sansio::{ClientFeatures, ClientConfig, types::Implementation};
/// static CONFIG: ClientConfig = ClientConfig::new(
///     Implementation::new("panel", "1.0.0"),
///     ClientFeatures::ELICITATION_FORM,
/// );
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
pub struct ClientConfig<'c> {
    pub(super) info: Info<'c>,
    /// Capabilities that a server may use. Other requests are rejected.
    pub capabilities: ClientFeatures,
    /// The object `capabilities.experimental`.
    pub experimental: Option<RawJson<'c>>,
    /// The object `capabilities.extensions` (2025-06-18 on).
    pub extensions: Option<DeclaredExtensions<'c>>,
    /// Supported revisions. Default: all.
    pub revisions: Revisions,
    /// Values of `resultType` that extensions add; results of other types are invalid (2026-07-28,
    /// basic). Default: none.
    pub result_types: &'c [&'c str],
    /// Whether modern requests contain the client's info in `_meta` (2026-07-28, basic: SHOULD).
    /// Default: yes.
    pub send_client_info: bool,
    /// Minimum level of the log messages that modern requests ask for, unless
    /// [`CallOptions::log_level`] is set. Default: no messages. For legacy servers use
    /// `logging/setLevel`.
    pub log_level: Option<LoggingLevel>,
    /// Time without a response to the probe after which the server is taken for a legacy one that
    /// ignores unknown methods. Must exceed the time that the server process needs to start.
    /// Default: 10 s.
    pub probe_timeout: Duration,
    /// Time without progress after which a call is cancelled, unless [`CallOptions::timeout`] is
    /// set. Default: 60 s.
    pub call_timeout: Duration,
    /// Time after which a call is cancelled whatever progress it reports, unless
    /// [`CallOptions::limit`] is set. Default: 10 min.
    pub call_limit: Duration,
    /// Whether a progress notification restarts the timeout of a call, up to its limit. Default:
    /// yes.
    pub progress_extends_timeout: bool,
    /// Maximum number of retries with input per call (2026-07-28, basic/patterns/mrtr). Default:
    /// 16.
    pub max_rounds: u8,
    /// Time after which a request of the server without a response is ended with an error. Default:
    /// never.
    pub request_timeout: Option<Duration>,
    /// Time without a message after which a legacy server is pinged. Default: never.
    pub ping_interval: Option<Duration>,
    /// Time without a response to a ping after which the connection counts as lost. Default: 20 s.
    pub ping_timeout: Duration,
    /// Minimum time between two progress notifications about one request of the server. Default:
    /// zero.
    pub progress_interval: Duration,
    /// Function pointer, so that the words are linked only if they are sent.
    pub(super) words: Option<fn(Refusal) -> &'static str>,
}

impl<'c> ClientConfig<'c> {
    /// Creates a configuration with the defaults, for all revisions.
    pub const fn new(info: Implementation<'c>, capabilities: ClientFeatures) -> Self {
        Self {
            info: Info::new(info),
            capabilities,
            experimental: None,
            extensions: None,
            revisions: Revisions::ALL,
            result_types: &[],
            send_client_info: true,
            log_level: None,
            probe_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(60),
            call_limit: Duration::from_secs(600),
            progress_extends_timeout: true,
            max_rounds: 16,
            request_timeout: None,
            ping_interval: None,
            ping_timeout: Duration::from_secs(20),
            progress_interval: Duration::ZERO,
            words: Some(Refusal::words),
        }
    }

    /// Checks that extension ids are valid, and that extensions and experimental capabilities are
    /// objects of objects. Call it in a test or at start-up.
    ///
    /// # Errors
    /// The first mistake.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_declared(self.experimental, self.extensions.map(|declared| declared.as_json()))
    }

    /// Returns the name and version, sent in `initialize` and in each modern request.
    pub const fn info(&self) -> &Implementation<'c> {
        &self.info.value
    }

    /// Leaves the words out of the errors with which the client itself rejects requests of a
    /// server: they say `Refused`, and their code says why. Saves flash, if the configuration is a
    /// constant.
    pub const fn terse(mut self) -> Self {
        self.words = None;
        self
    }

    setters! {
        experimental?: RawJson<'c>;
    }

    /// Sets [`extensions`](Self::extensions).
    pub const fn extensions(mut self, extensions: RawJson<'c>) -> Self {
        self.extensions = Some(DeclaredExtensions::new(extensions));
        self
    }

    setters! {
        revisions: Revisions;
        send_client_info: bool;
        log_level?: LoggingLevel;
        probe_timeout: Duration;
        call_timeout: Duration;
        call_limit: Duration;
        progress_extends_timeout: bool;
        max_rounds: u8;
        request_timeout?: Duration;
        progress_interval: Duration;
        ping_interval?: Duration;
        ping_timeout: Duration;
        result_types: &'c [&'c str];
    }
}

/// Options of one call; the rest is as in [`ClientConfig`](super::ClientConfig).
///
/// ```
/// # use mcp_sansio::CallOptions;
/// # use core::time::Duration;
/// let options = CallOptions::new().progress(true).timeout(Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
#[must_use]
pub struct CallOptions {
    /// Time without a message about the call after which it is cancelled. Default:
    /// [`call_timeout`](super::ClientConfig::call_timeout).
    pub timeout: Option<Duration>,
    /// Time after which the call is cancelled whatever progress it reports. Default:
    /// [`call_limit`](super::ClientConfig::call_limit).
    pub limit: Option<Duration>,
    /// Whether to request progress notifications. Default: no.
    pub progress: bool,
    /// Minimum level of the log messages that the server sends for this call. Modern servers only:
    /// a legacy session has one level, set with `logging/setLevel`. Default:
    /// [`log_level`](super::ClientConfig::log_level).
    pub log_level: Option<LoggingLevel>,
    /// Whether the server is to run the call as a task. Default: no.
    #[cfg(feature = "tasks")]
    pub task: bool,
    /// Time that the server should keep the task. Default: its own choice.
    #[cfg(feature = "tasks")]
    pub task_ttl: Option<Duration>,
}

impl CallOptions {
    /// The defaults of the configuration, without progress.
    pub const fn new() -> Self {
        Self {
            timeout: None,
            limit: None,
            progress: false,
            log_level: None,
            #[cfg(feature = "tasks")]
            task: false,
            #[cfg(feature = "tasks")]
            task_ttl: None,
        }
    }

    setters! {
        timeout?: Duration;
        limit?: Duration;
        progress: bool;
        log_level?: LoggingLevel;
    }

    /// Asks the server to run a `tools/call` as a task, and to keep the task for this time
    /// (2025-11-25, basic/utilities/tasks). The call ends with
    /// [`CallOutcome::Task`](super::CallOutcome::Task) then. No effect in 2026-07-28, where the
    /// server decides; in other revisions, with other methods, and with a server that did not
    /// declare `tasks.requests.tools.call`, the request is not allowed.
    #[cfg(feature = "tasks")]
    pub const fn task(self, ttl: Option<Duration>) -> Self {
        Self { task: true, task_ttl: ttl, ..self }
    }
}
