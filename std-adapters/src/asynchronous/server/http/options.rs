//! Options of the HTTP server.

use std::time::Duration;

use mcp_sansio::http::RequestHead;
use mcp_sansio::http::server::HostPolicy;

use super::auth::{AuthorizationError, Credentials, ProtectedResource};

/// Options of the HTTP server: path, accepted hosts and limits.
pub struct HttpOptions {
    pub(super) path: String,
    pub(super) sse_path: Option<String>,
    pub(super) host_policy: HostPolicy<'static>,
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

/// Returns the principal of a request.
pub(super) type Authorize =
    dyn Fn(&Credentials<'_>) -> Result<String, AuthorizationError> + Send + Sync;

impl HttpOptions {
    /// Creates options for the path `/mcp`, and for clients on this machine.
    #[must_use]
    pub fn new() -> Self {
        Self {
            path: "/mcp".into(),
            sse_path: None,
            host_policy: HostPolicy::LOOPBACK,
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

    /// Sets the path. Default: `/mcp`.
    #[must_use]
    pub fn path(self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self }
    }

    /// Serves HTTP+SSE on this path as well, for clients that support only 2024-11-05. Default:
    /// off.
    #[must_use]
    pub fn sse_path(self, path: impl Into<String>) -> Self {
        Self { sse_path: Some(path.into()), ..self }
    }

    /// Sets the accepted hosts and origins. Default: loopback addresses.
    #[must_use]
    pub fn host_policy(self, host_policy: HostPolicy<'static>) -> Self {
        Self { host_policy, ..self }
    }

    /// Serves legacy clients without sessions: no state is kept between requests, so handlers
    /// cannot request input, and there are no notifications of changes.
    #[must_use]
    pub fn without_sessions(self) -> Self {
        Self { has_sessions: false, ..self }
    }

    /// Limits the number of sessions, and that of HTTP+SSE streams. At the limit, a new session
    /// replaces the oldest one whose client has not sent `notifications/initialized`; if there is
    /// none, it is rejected with 503. Default: 1000.
    #[must_use]
    pub fn max_sessions(self, max_sessions: usize) -> Self {
        Self { max_sessions, ..self }
    }

    /// Limits the number of sessions, and that of HTTP+SSE streams, of one principal, as returned
    /// by [`authorize`](Self::authorize). At the limit, a new session replaces the oldest one of
    /// the same principal whose client has not sent `notifications/initialized`; if there is none,
    /// it is rejected with 503. Without `authorize` only [`max_sessions`](Self::max_sessions)
    /// applies. Default: 100.
    #[must_use]
    pub fn max_sessions_per_principal(self, max_sessions: usize) -> Self {
        Self { max_sessions_per_principal: max_sessions, ..self }
    }

    /// Limits the bytes of the request bodies of all connections together. A body counts with its
    /// length from the first read until its request has a response and all handlers of its messages
    /// have ended, even if its connection is gone.
    ///
    /// Without room, a body is not read further. If there is none within
    /// [`read_timeout`](Self::read_timeout) from the start of the body, the request is rejected
    /// with 503. Bodies of up to 4 KiB do not count and never wait. Room for one body of
    /// [`App::max_line`](super::super::App::max_line) is reserved for the one that has waited
    /// longest; a body longer than the budget is rejected with 413. Handlers have copies, so up to
    /// twice this memory is used. Default: 64 MiB.
    #[must_use]
    pub fn body_budget(self, bytes: usize) -> Self {
        Self { body_budget: bytes, ..self }
    }

    /// Ends a session after this time without a connection and without an open request.
    /// [`Duration::MAX`]: no limit. Default: 30 minutes.
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        Self { idle_timeout: timeout, ..self }
    }

    /// Limits the bytes of events that a session keeps for clients that resume a stream. Default:
    /// 64 KiB.
    #[must_use]
    pub fn replay(self, bytes: usize) -> Self {
        Self { replay: bytes, ..self }
    }

    /// Sets the time that a client waits before it reconnects (the SSE field `retry`). Default: 1
    /// s.
    #[must_use]
    pub fn retry(self, retry: Duration) -> Self {
        Self { retry, ..self }
    }

    /// Sends a comment on an SSE stream that has been idle for this time. It keeps proxies from
    /// closing the connection, and detects clients that are gone. [`Duration::MAX`]: no comments.
    /// Default: 15 s.
    #[must_use]
    pub fn keep_alive(self, interval: Duration) -> Self {
        Self { keep_alive: interval, ..self }
    }

    /// Limits the time that a client takes to send a request, to start the next one, and to read
    /// pending output: at least 4 KiB in this time, or all of it. The connection of a slower client
    /// is closed. [`Duration::MAX`]: no limit. Default: 30 s.
    #[must_use]
    pub fn read_timeout(self, timeout: Duration) -> Self {
        Self { read_timeout: timeout, ..self }
    }

    /// Sets the function that authenticates each request: it returns the principal, or the reason
    /// why the request is denied. A session can be used only by the principal that opened it;
    /// others get 404.
    ///
    /// The principal is available as [`Context::principal`](super::super::Context::principal). The
    /// function must also check the audience of the token.
    ///
    /// The function is synchronous, and is called in the future that serves all connections: all of
    /// them wait until it returns. It should not contact an authorization server. Check signed
    /// tokens with cached keys, and look others up in a cache that another thread or task fills and
    /// expires; deny tokens that are not in it with [`AuthorizationError::invalid_token`]. An
    /// asynchronous check is planned.
    #[must_use]
    pub fn authorize<F>(self, check: F) -> Self
    where
        F: Fn(&Credentials<'_>) -> Result<String, AuthorizationError> + Send + Sync + 'static,
    {
        Self { authorize: Some(Box::new(check)), ..self }
    }

    /// Sets the protected resource metadata (RFC 9728): it is served, and referenced in
    /// `WWW-Authenticate` when a request is denied.
    #[must_use]
    pub fn protected_resource(self, resource: ProtectedResource) -> Self {
        Self { resource: Some(resource), ..self }
    }

    /// Returns the principal of a request; `None` without a check.
    pub(super) fn check(
        &self,
        head: &RequestHead<'_>,
    ) -> Result<Option<String>, AuthorizationError> {
        self.authorize.as_ref().map(|authorize| authorize(&Credentials::of(head))).transpose()
    }
}

/// Default of [`HttpOptions::body_budget`], in bytes.
const BODY_BUDGET: usize = 64 << 20;
/// Default of [`HttpOptions::max_sessions`].
const MAX_SESSIONS: usize = 1000;
/// Default of [`HttpOptions::max_sessions_per_principal`].
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
            .field("host_policy", &self.host_policy)
            .finish_non_exhaustive()
    }
}
