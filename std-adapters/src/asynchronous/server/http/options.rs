//! Options of the HTTP server.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::http::server::HostPolicy;
use mcp_sansio::{Json, OwnedJson, Revision};
use mcp_sansio_engine::PlaceLimit;
use mcp_sansio_engine::site::{
    AuthorizationError, Denied, Holder, Operation, OwnedHead, Principal, ProtectedResource, Scopes,
    SiteOptions,
};

use super::authorizer::{AnyAuthorizer, Authorizer, Check, Credentials};
use crate::asynchronous::server::app::Settings;
use crate::asynchronous::server::catalog::CatalogSource;
use crate::panics::{Panic, caught};

/// Options of the HTTP server: path, accepted hosts and limits.
pub struct HttpOptions {
    site: SiteOptions<'static>,
    authorizer: Option<Box<dyn AnyAuthorizer>>,
    check_timeout: Duration,
    max_waiting_checks: usize,
    max_handlers: usize,
    pub(crate) scopes: Scopes,
    resource: Option<ProtectedResource>,
    /// The origin of the resource.
    origin: Option<Arc<str>>,
}

impl HttpOptions {
    /// Creates options for the path `/mcp`, and for clients on this machine.
    #[must_use]
    pub const fn new() -> Self {
        let mut site = SiteOptions::new();
        site.path = Some("/mcp");
        Self {
            site,
            authorizer: None,
            check_timeout: Duration::from_secs(10),
            max_waiting_checks: 1000,
            max_handlers: 10_000,
            scopes: Scopes { of: None, implies: None },
            resource: None,
            origin: None,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut SiteOptions<'static>)) -> Self {
        change(&mut self.site);
        self
    }

    /// Sets the path. Default: `/mcp`.
    #[must_use]
    pub fn path(self, path: &'static str) -> Self {
        self.with(|site| site.path = Some(path))
    }

    /// Serves HTTP+SSE on this path as well, for clients that support only 2024-11-05. Default:
    /// off.
    #[must_use]
    pub fn sse_path(self, path: &'static str) -> Self {
        self.with(|site| site.sse_path = Some(path))
    }

    /// Sets the accepted hosts and origins. Default: loopback addresses.
    #[must_use]
    pub fn host_policy(self, host_policy: HostPolicy<'static>) -> Self {
        self.with(|site| site.host_policy = host_policy)
    }

    /// Serves legacy clients without sessions: no state is kept between requests, so handlers
    /// cannot request input, and there are no notifications of changes.
    #[must_use]
    pub fn without_sessions(self) -> Self {
        self.with(|site| site.has_sessions = false)
    }

    /// Limits the number of sessions, and that of HTTP+SSE streams. At the limit, a new session
    /// replaces the oldest one whose client has not sent `notifications/initialized`; if there is
    /// none, it is refused with 503. Default: 1000.
    #[must_use]
    pub fn max_sessions(self, max_sessions: usize) -> Self {
        self.with(|site| site.max_sessions = max_sessions)
    }

    /// Limits the number of sessions, and that of HTTP+SSE streams, of one principal, as returned
    /// by [`authorize`](Self::authorize). At the limit, a new session replaces the oldest one of
    /// the same principal whose client has not sent `notifications/initialized`; if there is none,
    /// it is refused with 503. Without `authorize` only [`max_sessions`](Self::max_sessions)
    /// applies. Default: 100.
    #[must_use]
    pub fn max_sessions_per_principal(self, max_sessions: usize) -> Self {
        self.with(|site| site.max_sessions_per_principal = max_sessions)
    }

    /// Limits the event streams without an end of their own: `subscriptions/listen`, GET of a
    /// session, and HTTP+SSE. Further ones get 503. Default: three quarters of the exchanges; with
    /// [`serve`](super::serve) at most three quarters of
    /// [`App::max_connections`](crate::asynchronous::App::max_connections). The rest is left to
    /// calls.
    #[must_use]
    pub fn max_streams(self, max_streams: usize) -> Self {
        self.with(|site| site.max_streams = max_streams)
    }

    /// Limits the requests of all sessions and connections together whose handlers run, or wait to
    /// run, those of tasks included. Further ones get -32603. Each takes about 500 bytes, the
    /// parameters and the future of its handler. Default: 10,000.
    #[must_use]
    pub const fn max_handlers(mut self, max_handlers: usize) -> Self {
        self.max_handlers = max_handlers;
        self
    }

    /// Limits what the requests of one principal take, in percent of each of these: exchanges,
    /// event streams, [`body_budget`](Self::body_budget) (at least one body of
    /// [`App::max_line`](crate::asynchronous::App::max_line)) and
    /// [`max_handlers`](Self::max_handlers). Beyond, its requests get 503, or -32603 for want of a
    /// handler, and those of others are served. 100: no limit, for a server that has one principal.
    /// Default: 25.
    ///
    /// Requests without a principal count by address:
    /// [`App::address_share`](crate::asynchronous::App::address_share).
    #[must_use]
    pub fn principal_share(self, percent: u8) -> Self {
        self.with(|site| site.principal_share = percent)
    }

    /// Limits the bytes of the request bodies of all connections together. A body counts with its
    /// length from the first read until its request has a response and all handlers of its messages
    /// have ended, even if its connection is gone.
    ///
    /// Without room, a body is not read further. If there is none within
    /// [`read_timeout`](Self::read_timeout) from the start of the body, the request is refused
    /// with 503. Bodies of up to 4 KiB do not count and never wait. Room for one body of
    /// [`App::max_line`](crate::asynchronous::App::max_line) is reserved for the one that has
    /// waited longest; a body longer than the budget is refused with 413. Handlers have copies, so
    /// up to twice this memory is used. Default: 64 MiB.
    #[must_use]
    pub fn body_budget(self, bytes: usize) -> Self {
        self.with(|site| site.body_budget = bytes)
    }

    /// Ends a session after this time without a connection and without an open request.
    /// [`Duration::MAX`]: no limit. Default: 30 minutes.
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.with(|site| site.idle_timeout = timeout)
    }

    /// Limits the bytes of events that a session keeps for clients that resume a stream. Default:
    /// 64 KiB.
    #[must_use]
    pub fn replay(self, bytes: usize) -> Self {
        self.with(|site| site.replay = bytes)
    }

    /// Sets the time that a client waits before it reconnects (the SSE field `retry`). Default: 1
    /// s.
    #[must_use]
    pub fn retry(self, retry: Duration) -> Self {
        self.with(|site| site.retry = retry)
    }

    /// Sends a comment on an SSE stream that has been idle for this time. It keeps proxies from
    /// closing the connection, and detects clients that are gone. [`Duration::MAX`]: no comments.
    /// Default: 15 s.
    #[must_use]
    pub fn keep_alive(self, interval: Duration) -> Self {
        self.with(|site| site.keep_alive = interval)
    }

    /// Limits the time that a client takes to send a request, to start the next one, and to read
    /// pending output: at least 4 KiB in this time, or all of it. The connection of a slower client
    /// is closed. Behind another HTTP library it limits bodies, and output that the library does
    /// not take. [`Duration::MAX`]: no limit. Default: 30 s.
    #[must_use]
    pub fn read_timeout(self, timeout: Duration) -> Self {
        self.with(|site| site.read_timeout = timeout)
    }

    /// Sets the check of the credentials of each request: it returns the principal, or the reason
    /// why the request is denied. It must also check the audience of the token. A session can be
    /// used only by the principal that opened it; others get 404. The principal is available as
    /// [`Context::principal`](crate::asynchronous::server::Context::principal).
    ///
    /// The check may wait, for example for keys or for an authorization server. It is part of the
    /// [exchange](super::HttpExchange): it is polled where the connection is, and dropped with it.
    /// The body is not read before. If it panics, the request gets status 500.
    #[must_use]
    pub fn authorize(self, authorizer: impl Authorizer) -> Self {
        let authorizer: Box<dyn AnyAuthorizer> = Box::new(Arc::new(authorizer));
        Self { authorizer: Some(authorizer), ..self.with(|site| site.authorizes = true) }
    }

    /// Limits the time of a check; then the request gets 503. [`Duration::MAX`]: no limit. Default:
    /// 10 s.
    #[must_use]
    pub const fn authorize_timeout(mut self, timeout: Duration) -> Self {
        self.check_timeout = timeout;
        self
    }

    /// Limits the number of checks that wait at a time. A request whose check would be one more, or
    /// one more than the [share](crate::asynchronous::App::address_share) of its address, gets 503.
    /// Default: 1000.
    #[must_use]
    pub const fn max_waiting_checks(mut self, max: usize) -> Self {
        self.max_waiting_checks = max;
        self
    }

    /// Sets the scopes that operations take, separated by spaces, beside those of the
    /// [catalog](mcp_sansio::types::Tool::scopes); an empty text for operations that take none.
    ///
    /// With [`authorize`](Self::authorize) each request is compared with the scopes of its
    /// [`Principal`] before anything of it is handled. If one is
    /// missing, the response is 403 `insufficient_scope` with all scopes that the operation takes,
    /// or all requests of a batch. Streams other than HTTP have no scopes. The function may use the
    /// server, such as its [`Broadcaster`](crate::asynchronous::Broadcaster); requests whose scopes
    /// are to be checked wait for it, one after the other.
    ///
    /// ```
    /// # use mcp_sansio::Method;
    /// # use mcp_sansio_adapters::asynchronous::http::{HttpOptions, Operation};
    /// let options = HttpOptions::new().scopes(|operation: &Operation<'_>| {
    ///     match operation.method() {
    ///         Method::LoggingSetLevel => "admin",
    ///         _ => "mcp",
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn scopes<F>(mut self, scopes_of: F) -> Self
    where
        F: Fn(&Operation<'_>) -> &'static str + Send + Sync + 'static,
    {
        self.scopes.of = Some(Box::new(scopes_of));
        self
    }

    /// Sets a hierarchy of scopes: `implies(granted, wanted)` returns whether the granted scope
    /// contains the wanted one. Default: each contains itself only.
    ///
    /// ```
    /// # use mcp_sansio_adapters::asynchronous::http::HttpOptions;
    /// let options = HttpOptions::new()
    ///     .implies(|granted, wanted| (granted, wanted) == ("files:write", "files:read"));
    /// ```
    #[must_use]
    pub fn implies<F>(mut self, implies: F) -> Self
    where
        F: Fn(&str, &str) -> bool + Send + Sync + 'static,
    {
        self.scopes.implies = Some(Box::new(implies));
        self
    }

    /// Sets the protected resource metadata (RFC 9728): it is served, and referenced in
    /// `WWW-Authenticate` when a request is denied.
    #[must_use]
    pub fn protected_resource(self, resource: ProtectedResource) -> Self {
        Self { origin: Some(resource.origin().into()), resource: Some(resource), ..self }
    }

    /// Takes over the limits of an application that the site and what is beside it need.
    pub(crate) const fn with_limits_of(mut self, settings: &Settings) -> Self {
        self.site.address_share = settings.address_share;
        self
    }

    /// Limits exchanges to the connections that there can be, each of which has one at a time.
    pub(crate) fn with_connections(self, max_connections: usize) -> Self {
        self.with(|site| site.max_exchanges = site.max_exchanges.min(max_connections))
    }

    /// Returns the options of a site, with the limits of an application.
    pub(crate) fn site_options(&self, settings: &Settings) -> SiteOptions<'static> {
        let mut site = self.site;
        site.in_flight = u16::try_from(settings.max_in_flight).unwrap_or(u16::MAX);
        site.full_timeout = settings.full_timeout;
        site.subscriptions = settings.max_subscriptions;
        site.max_body = settings.max_line;
        site.max_pending = settings.max_pending;
        site.max_streams = site.max_streams.min(PlaceLimit::percent(site.max_exchanges, 75).share);
        let has_scopes = self.scopes.of.is_some()
            || settings.catalog.as_ref().is_some_and(CatalogSource::may_have_scopes);
        site.checks_operations = site.authorizes && has_scopes;
        site
    }

    /// Returns the documents that are served beside the endpoint, with their paths.
    pub(crate) fn documents(&self) -> io::Result<Vec<(String, String)>> {
        let Some(resource) = &self.resource else { return Ok(Vec::new()) };
        let json = OwnedJson::new(&Json(resource), Revision::LATEST).map_err(io::Error::other)?;
        let json = json.as_raw().as_str();
        Ok(resource.paths().into_iter().map(|path| (path, json.to_owned())).collect())
    }

    pub(crate) const fn limit_of_read(&self) -> Duration {
        self.site.read_timeout
    }

    /// Returns the credentials of a request, if they are checked.
    pub(crate) fn credentials(&self, head: &OwnedHead) -> Option<Credentials> {
        self.authorizer.as_ref()?;
        Some(Credentials::new(head.clone(), self.origin.clone()))
    }

    /// Returns the principal of a request, if its credentials are known.
    pub(crate) fn known(&self, credentials: &Credentials) -> Option<Arc<Principal>> {
        let authorizer = self.authorizer.as_ref()?;
        caught(|| authorizer.known(credentials)).unwrap_or_default()
    }

    /// Begins the check of a request.
    pub(crate) fn check(&self, credentials: Credentials) -> Option<Check> {
        let authorizer = self.authorizer.as_ref()?;
        let holder = credentials.holder();
        let limit = self.site.limit(self.max_waiting_checks, holder.as_ref());
        Some(Check::new(authorizer.begin(credentials), holder, limit))
    }

    pub(crate) const fn check_timeout(&self) -> Duration {
        self.check_timeout
    }

    /// Returns the limit of requests with handlers, with the share of a client.
    pub(crate) const fn handlers(&self, holder: Option<&Holder>) -> PlaceLimit {
        self.site.limit(self.max_handlers, holder)
    }

    /// Returns the result of a check, with the response to a request that is denied.
    pub(crate) fn result<T>(
        &self,
        result: Result<Result<T, AuthorizationError>, Panic>,
    ) -> Result<T, Denied> {
        let result = result.map_err(|_| Denied::new(500))?;
        result.map_err(|error| error.denied(self.resource.as_ref()))
    }
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpOptions").field("site", &self.site).finish_non_exhaustive()
    }
}
