//! Options of the HTTP server.

use std::borrow::Cow;
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
use crate::asynchronous::server::app::{Limits, Settings};
use crate::bus::Bus;
use crate::panics::{Panic, caught};

/// Options of the HTTP server: path, accepted hosts, limits and access. New versions add fields, so
/// a value ends with `..HttpOptions::new()`:
///
/// ```
/// # use mcp_sansio::http::server::HostPolicy;
/// # use mcp_sansio_adapters::asynchronous::http::HttpOptions;
/// let options = HttpOptions {
///     host_policy: HostPolicy::hosts(&["mcp.example.com"]),
///     max_sessions: 500,
///     ..HttpOptions::new()
/// };
/// ```
#[must_use]
pub struct HttpOptions {
    /// The path. Default: `/mcp`.
    pub path: &'static str,
    /// The path on which HTTP+SSE is served as well, for clients that support only 2024-11-05.
    /// Default: none.
    pub sse_path: Option<&'static str>,
    /// The path on which GET says whether the server can be used, to anyone, in `status` of a JSON
    /// object: `ok`, with 503 `shutting down`, or `degraded` while the [`bus`](Self::bus) is not
    /// connected. Default: none.
    pub health: Option<&'static str>,
    /// The accepted hosts and origins. Default: loopback addresses.
    pub host_policy: HostPolicy<'static>,
    /// Whether legacy clients get sessions. Without, no state is kept between their requests, so
    /// handlers cannot request input, and there are no notifications of changes. Default: true.
    pub has_sessions: bool,
    /// Maximum number of sessions, and of HTTP+SSE streams. At the limit, a new session replaces
    /// the oldest one whose client has not sent `notifications/initialized`, else the one without a
    /// request or stream for longest, of those that had none for a minute; if there is none, it is
    /// refused with 503. Default: 1,000.
    pub max_sessions: usize,
    /// The same for those of one principal, as returned by [`authorize`](Self::authorize). A new
    /// session replaces one of the same principal. Default: 100.
    pub max_sessions_per_principal: usize,
    /// Maximum number of requests at a time, event streams included. Further ones get 503. With
    /// [`serve`](super::serve) at most
    /// [`Limits::max_connections`](crate::asynchronous::Limits::max_connections). Default: 10,000.
    pub max_exchanges: usize,
    /// Maximum number of event streams without an end of their own: `subscriptions/listen`, GET of
    /// a session, and HTTP+SSE. Further ones get 503. At most three quarters of
    /// [`max_exchanges`](Self::max_exchanges): the rest is left to calls. Default: 7,500.
    pub max_streams: usize,
    /// Maximum number of requests of all sessions and connections together whose handlers run, or
    /// wait to run, those of tasks included, or whose response of more than 4 KiB waits for its
    /// client to read. Further ones get -32603. Each takes about 500 bytes, the parameters, and the
    /// future of its handler or its response. Default: 10,000.
    pub max_handlers: usize,
    /// The part that the requests of one principal may have, in percent, of each of these:
    /// exchanges, event streams, [`body_budget`](Self::body_budget) (at least one body of
    /// [`Limits::max_line`](crate::asynchronous::Limits::max_line)) and
    /// [`max_handlers`](Self::max_handlers). Beyond, its requests get 503, or -32603 for want of a
    /// handler, and those of others are served. 100: no limit, for a server that has one principal.
    /// Default: 25.
    ///
    /// Requests without a principal count by address:
    /// [`Limits::address_share`](crate::asynchronous::Limits::address_share).
    pub principal_share: u8,
    /// Maximum number of bytes of the request bodies of all connections together. A body counts
    /// with its length from the first read until its request has a response and all handlers of its
    /// messages have ended, even if its connection is gone.
    ///
    /// Without room, a body is not read further. If there is none within
    /// [`read_timeout`](Self::read_timeout) from the start of the body, the request is refused
    /// with 503. Bodies of up to 4 KiB do not count and never wait. Room for one body of
    /// [`Limits::max_line`](crate::asynchronous::Limits::max_line) is reserved for the one that has
    /// waited longest; a body longer than the budget is refused with 413. Handlers have copies, so
    /// up to twice this memory is used. Default: 64 MiB.
    pub body_budget: usize,
    /// Time after which a session ends that has no connection and no open request.
    /// [`Duration::MAX`]: no limit. Default: 30 minutes.
    pub idle_timeout: Duration,
    /// Maximum number of bytes of events that a session keeps for clients that resume a stream.
    /// Default: 64 KiB.
    pub replay: usize,
    /// Time that a client waits before it reconnects (the SSE field `retry`). Default: 1 s.
    pub retry: Duration,
    /// Time without output after which an SSE stream gets a comment. It keeps proxies from closing
    /// the connection, and detects clients that are gone. [`Duration::MAX`]: no comments. Default:
    /// 15 s.
    pub keep_alive: Duration,
    /// Time in which a client has to send a request, the first of a connection from its start, and
    /// to read pending output: at least 4 KiB in this time, or all of it. The connection of a
    /// slower client is closed. Between requests it may be idle for longer
    /// ([`Limits::idle_timeout`](crate::asynchronous::Limits::idle_timeout)). Behind another HTTP
    /// library this limits bodies, and output that the library does not take. [`Duration::MAX`]: no
    /// limit. Default: 30 s.
    pub read_timeout: Duration,
    /// Time of a check of [`authorize`](Self::authorize); then the request gets 503.
    /// [`Duration::MAX`]: no limit. Default: 10 s.
    pub authorize_timeout: Duration,
    /// Maximum number of checks that wait at a time. A request whose check would be one more, or
    /// one more than the [share](crate::asynchronous::Limits::address_share) of its address, gets
    /// 503. Default: 1,000.
    pub max_waiting_checks: usize,
    /// Whether lists show tools, prompts, resources and templates whose scopes the token does not
    /// have: for clients that ask for more scopes when they are refused. Default: false.
    pub lists_unpermitted: bool,
    /// The name of this server among those behind one address, 1 to 16 lowercase letters and
    /// digits. Then ids of sessions are sealed with the [key
    /// ring](crate::asynchronous::App::key_ring) and begin with the name, by which proxies can
    /// route; and each server with the same ring goes on with the session of one that is gone, or
    /// of itself before it was started again. It knows the revision and the capabilities of the
    /// client, to which it says that all lists have changed. Without a [`bus`](Self::bus)
    /// subscriptions to resources, the level of log messages, and what the client missed are lost;
    /// so is a response to a request of another server. Tasks are those of all servers with the
    /// same store ([`TaskOptions::store`](crate::asynchronous::TaskOptions::store)). No other
    /// server has the same name. Default: none, ids are random.
    pub node: Option<Cow<'static, str>>,
    /// What joins the server to the others, so that a client does not notice which of them has its
    /// requests: changes, responses, cancellations, and what a client sets in its session. Needs
    /// [`node`](Self::node). Default: none.
    pub bus: Option<Arc<dyn Bus>>,
    /// The check of credentials and scopes. Default: everyone may do everything.
    pub access_control: AccessControl,
}

/// The rules that [`HttpOptions::authorize`], [`scopes`](HttpOptions::scopes),
/// [`implies`](HttpOptions::implies) and [`protected_resource`](HttpOptions::protected_resource)
/// set.
pub struct AccessControl {
    authorizer: Option<Box<dyn AnyAuthorizer>>,
    pub(crate) scopes: Scopes,
    resource: Option<ProtectedResource>,
    /// The origin of the resource.
    origin: Option<Arc<str>>,
}

impl HttpOptions {
    /// Creates options for the path `/mcp`, and for clients on this machine.
    pub const fn new() -> Self {
        Self {
            path: "/mcp",
            sse_path: None,
            health: None,
            host_policy: HostPolicy::LOOPBACK,
            has_sessions: true,
            max_sessions: 1000,
            max_sessions_per_principal: 100,
            max_exchanges: 10_000,
            max_streams: 7500,
            max_handlers: 10_000,
            principal_share: 25,
            body_budget: 64 << 20,
            idle_timeout: Duration::from_secs(30 * 60),
            replay: 64 << 10,
            retry: Duration::from_secs(1),
            keep_alive: Duration::from_secs(15),
            read_timeout: Duration::from_secs(30),
            authorize_timeout: Duration::from_secs(10),
            max_waiting_checks: 1000,
            lists_unpermitted: false,
            node: None,
            bus: None,
            access_control: AccessControl {
                authorizer: None,
                scopes: Scopes { of: None, implies: None },
                resource: None,
                origin: None,
            },
        }
    }

    /// Sets the check of the credentials of each request: it returns the principal, or the reason
    /// why the request is denied. It must also check the audience of the token. A session can be
    /// used only by the principal that opened it; others get 404. The principal is available as
    /// [`Context::principal`](crate::asynchronous::server::Context::principal).
    ///
    /// The check may wait, for example for keys or for an authorization server. It is part of the
    /// [exchange](super::HttpExchange): it is polled where the connection is, and dropped with it.
    /// The body is not read before. If it panics, the request gets status 500.
    pub fn authorize(mut self, authorizer: impl Authorizer) -> Self {
        self.access_control.authorizer = Some(Box::new(Arc::new(authorizer)));
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
    pub fn scopes<F>(mut self, scopes_of: F) -> Self
    where
        F: Fn(&Operation<'_>) -> &'static str + Send + Sync + 'static,
    {
        self.access_control.scopes.of = Some(Arc::new(scopes_of));
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
    pub fn implies<F>(mut self, implies: F) -> Self
    where
        F: Fn(&str, &str) -> bool + Send + Sync + 'static,
    {
        self.access_control.scopes.implies = Some(Arc::new(implies));
        self
    }

    /// Sets the protected resource metadata (RFC 9728): it is served, and referenced in
    /// `WWW-Authenticate` when a request is denied.
    pub fn protected_resource(mut self, resource: ProtectedResource) -> Self {
        self.access_control.origin = Some(resource.origin().into());
        self.access_control.resource = Some(resource);
        self
    }

    /// Returns the options of a site of an application.
    pub(crate) fn site_options(
        &self,
        settings: &Settings,
        write_timeout: Duration,
    ) -> SiteOptions<'static> {
        let AccessControl { authorizer, scopes, .. } = &self.access_control;
        let has_scopes = scopes.of.is_some() || settings.may_have_scopes();
        let limits = &settings.limits;
        SiteOptions {
            host_policy: self.host_policy,
            path: Some(self.path),
            sse_path: self.sse_path,
            health: self.health,
            has_sessions: self.has_sessions,
            authorizes: authorizer.is_some(),
            checks_operations: authorizer.is_some() && has_scopes,
            max_exchanges: self.max_exchanges,
            max_streams: self.max_streams.min(PlaceLimit::percent(self.max_exchanges, 75).share),
            principal_share: self.principal_share,
            address_share: limits.address_share,
            max_sessions: self.max_sessions,
            max_sessions_per_principal: self.max_sessions_per_principal,
            max_in_flight: limits.max_in_flight,
            full_timeout: limits.full_timeout,
            max_subscriptions: limits.max_subscriptions,
            max_body: limits.max_line,
            body_budget: self.body_budget,
            max_pending: limits.max_pending,
            replay: self.replay,
            idle_timeout: self.idle_timeout,
            read_timeout: self.read_timeout,
            write_timeout,
            keep_alive: self.keep_alive,
            retry: self.retry,
        }
    }

    /// Returns a limit with the share of a client.
    pub(crate) const fn limit(
        &self,
        total: usize,
        holder: Option<&Holder>,
        limits: &Limits,
    ) -> PlaceLimit {
        Holder::limit(holder, total, self.principal_share, limits.address_share)
    }

    /// Returns the documents that are served beside the endpoint, with their paths.
    pub(crate) fn documents(&self) -> io::Result<Vec<(String, String)>> {
        let Some(resource) = &self.access_control.resource else { return Ok(Vec::new()) };
        let json = OwnedJson::new(&Json(resource), Revision::LATEST).map_err(io::Error::other)?;
        let json = json.as_json().as_str();
        Ok(resource.paths().into_iter().map(|path| (path, json.to_owned())).collect())
    }

    /// Returns the credentials of a request, if they are checked.
    pub(crate) fn credentials(&self, head: &OwnedHead) -> Option<Credentials> {
        self.access_control.authorizer.as_ref()?;
        Some(Credentials::new(head.clone(), self.access_control.origin.clone()))
    }

    /// Returns the principal of a request, if its credentials are known.
    pub(crate) fn known(&self, credentials: &Credentials) -> Option<Arc<Principal>> {
        let authorizer = self.access_control.authorizer.as_ref()?;
        caught(|| authorizer.known(credentials)).unwrap_or_default()
    }

    /// Begins the check of a request.
    pub(crate) fn check(&self, credentials: Credentials, limits: &Limits) -> Option<Check> {
        let authorizer = self.access_control.authorizer.as_ref()?;
        let holder = credentials.holder();
        let limit = self.limit(self.max_waiting_checks, holder.as_ref(), limits);
        Some(Check::new(authorizer.begin(credentials), holder, limit))
    }

    /// Returns the result of a check, with the response to a request that is denied.
    pub(crate) fn result<T>(
        &self,
        result: Result<Result<T, AuthorizationError>, Panic>,
    ) -> Result<T, Denied> {
        let result = result.map_err(|_| Denied::new(500))?;
        result.map_err(|error| error.denied(self.access_control.resource.as_ref()))
    }
}

mcp_sansio::default_is_new!(HttpOptions);

mcp_sansio::opaque_debug!(HttpOptions { path });

mcp_sansio::opaque_debug!(AccessControl |it| { authorizes: it.authorizer.is_some(), resource });
