//! How an application is served over HTTP.

use std::time::Duration;

use mcp_sansio::http::RequestHead;
use mcp_sansio::http::server::HostPolicy;

use super::auth::{AuthorizationError, Credentials, ProtectedResource};

/// How an application is served over HTTP: where, to whom, and within which limits.
pub struct HttpOptions {
    pub(super) path: String,
    pub(super) sse_path: Option<String>,
    pub(super) access: HostPolicy<'static>,
    pub(super) has_sessions: bool,
    pub(super) max_sessions: usize,
    pub(super) max_sessions_per_principal: usize,
    pub(super) body_budget: usize,
    pub(super) idle_timeout: Duration,
    pub(super) replay: usize,
    pub(super) retry: Duration,
    pub(super) keep_alive: Duration,
    pub(super) read_timeout: Duration,
    pub(super) authorize: Option<Box<Authorize>>,
    pub(super) resource: Option<ProtectedResource>,
}

/// Says who a request comes from.
pub(super) type Authorize =
    dyn Fn(&Credentials<'_>) -> Result<String, AuthorizationError> + Send + Sync;

impl HttpOptions {
    /// The path `/mcp`, for clients on this machine.
    #[must_use]
    pub fn new() -> Self {
        Self {
            path: "/mcp".into(),
            sse_path: None,
            access: HostPolicy::LOOPBACK,
            has_sessions: true,
            max_sessions: MAX_SESSIONS,
            max_sessions_per_principal: MAX_SESSIONS_PER_PRINCIPAL,
            body_budget: BODY_BUDGET,
            idle_timeout: Duration::from_secs(30 * 60),
            replay: 64 << 10,
            retry: Duration::from_secs(1),
            keep_alive: Duration::from_secs(15),
            read_timeout: Duration::from_secs(30),
            authorize: None,
            resource: None,
        }
    }

    /// Serves another path than `/mcp`.
    #[must_use]
    pub fn path(self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self }
    }

    /// Serves HTTP+SSE (2024-11-05) on this path as well: for clients that know nothing newer.
    /// Default: no.
    #[must_use]
    pub fn sse_path(self, path: impl Into<String>) -> Self {
        Self { sse_path: Some(path.into()), ..self }
    }

    /// Which hosts and origins are accepted. Default: those of this machine.
    #[must_use]
    pub fn access(self, access: HostPolicy<'static>) -> Self {
        Self { access, ..self }
    }

    /// Serves legacy clients without sessions: nothing is kept of them between two requests, so
    /// their handlers cannot ask, and they are told of no changes.
    #[must_use]
    pub fn without_sessions(self) -> Self {
        Self { has_sessions: false, ..self }
    }

    /// Limits the sessions, and the streams of HTTP+SSE. At the limit, a new session takes the
    /// place of the oldest one whose client has not sent `notifications/initialized`; when there is
    /// none, it is refused with 503. Default: 1000.
    #[must_use]
    pub fn max_sessions(self, max_sessions: usize) -> Self {
        Self { max_sessions, ..self }
    }

    /// Limits the sessions, and the streams of HTTP+SSE, of one principal: one name that
    /// [`authorize`](Self::authorize) returns. At the limit, a new session takes the place of the
    /// oldest one of the same principal whose client has not sent `notifications/initialized`; when
    /// there is none, it is refused with 503. Without `authorize` all clients are one principal,
    /// and only [`max_sessions`](Self::max_sessions) counts. Default: 100.
    #[must_use]
    pub fn max_sessions_per_principal(self, max_sessions: usize) -> Self {
        Self { max_sessions_per_principal: max_sessions, ..self }
    }

    /// The bytes that request bodies of all connections may take together. A body takes its length
    /// from when it is read until its request has been answered and all handlers of its messages
    /// have ended, also when its connection is gone.
    ///
    /// Without room, a body is not read on. When none has come within
    /// [`read_timeout`](Self::read_timeout) of the body's beginning, the request is refused with
    /// 503. Bodies up to 4 KiB are not counted and never wait. Room for one body of
    /// [`App::max_line`](super::super::App::max_line) is kept for the one that has waited longest;
    /// a body that is longer than the budget is refused with 413. Handlers have copies, so that up
    /// to twice this memory is used. Default: 64 MiB.
    #[must_use]
    pub fn body_budget(self, bytes: usize) -> Self {
        Self { body_budget: bytes, ..self }
    }

    /// Ends a session after this time without a connection and without a request under way.
    /// [`Duration::MAX`] means never. Default: 30 minutes.
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        Self { idle_timeout: timeout, ..self }
    }

    /// How many bytes of events a session keeps for clients that have lost their connection.
    /// Default: 64 KiB.
    #[must_use]
    pub fn replay(self, bytes: usize) -> Self {
        Self { replay: bytes, ..self }
    }

    /// How long a client is to wait before it connects again. Default: 1 s.
    #[must_use]
    pub fn retry(self, retry: Duration) -> Self {
        Self { retry, ..self }
    }

    /// Sends a comment on a stream of events after this silence, which keeps proxies from
    /// closing it and finds out whether the client is still there. [`Duration::MAX`] means never.
    /// Default: 15 s.
    #[must_use]
    pub fn keep_alive(self, interval: Duration) -> Self {
        Self { keep_alive: interval, ..self }
    }

    /// Limits the time that a client takes to send a request, to begin the next one, and to go on
    /// reading what there is for it: 4 KiB in this time, or all that there is. A client that takes
    /// longer is let go. [`Duration::MAX`] means never. Default: 30 s.
    #[must_use]
    pub fn read_timeout(self, timeout: Duration) -> Self {
        Self { read_timeout: timeout, ..self }
    }

    /// Is asked about each request: who sends it, or why it is denied. A session belongs to whoever
    /// opened it; to everybody else it does not exist.
    ///
    /// The name that it returns is what [`Context::principal`](super::super::Context::principal)
    /// says. Whether a token was made out for this server (its audience) is for this
    /// function to check, too.
    ///
    /// The function is synchronous, and called within the one future that serves all connections:
    /// all of them wait until it returns. It should not ask an authorization server for each
    /// request. Check signed tokens with keys that are there already, and look others up in a cache
    /// that another thread or task fills and expires; deny with [`AuthorizationError::invalid_token`] what is
    /// not in it. A check that is a future is planned.
    #[must_use]
    pub fn authorize(
        self,
        check: impl Fn(&Credentials<'_>) -> Result<String, AuthorizationError> + Send + Sync + 'static,
    ) -> Self {
        Self { authorize: Some(Box::new(check)), ..self }
    }

    /// Tells clients where to get a token: served as RFC 9728 has it, and named where a request is
    /// denied.
    #[must_use]
    pub fn protected_resource(self, resource: ProtectedResource) -> Self {
        Self { resource: Some(resource), ..self }
    }

    /// Who sends a request; nobody in particular where nothing checks it.
    pub(super) fn check(
        &self,
        head: &RequestHead<'_>,
    ) -> Result<Option<String>, AuthorizationError> {
        self.authorize.as_ref().map(|authorize| authorize(&Credentials::of(head))).transpose()
    }
}

/// The bytes that all bodies may take, unless the options say otherwise.
const BODY_BUDGET: usize = 64 << 20;
/// Sessions, unless the options say otherwise.
const MAX_SESSIONS: usize = 1000;
/// Sessions of one principal, unless the options say otherwise.
const MAX_SESSIONS_PER_PRINCIPAL: usize = 100;

impl Default for HttpOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpOptions")
            .field("path", &self.path)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}
