//! The limits of a site.

use core::time::Duration;

use super::principal::Holder;
use crate::PlaceLimit;
use crate::http::server::HostPolicy;

/// Access rules and limits of a [`Site`](super::Site). Fields can be changed after
/// [`new`](Self::new).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SiteOptions<'c> {
    /// The accepted hosts and origins. Default: [`HostPolicy::LOOPBACK`].
    pub host_policy: HostPolicy<'c>,
    /// The path; 404 for others. Default: none, every path is served.
    pub path: Option<&'c str>,
    /// The path on which HTTP+SSE is served for clients that know only 2024-11-05. Default: none.
    pub sse_path: Option<&'c str>,
    /// Whether legacy clients get sessions. Without, no state is kept between their requests, so
    /// nothing can be requested from them. Default: true.
    pub has_sessions: bool,
    /// Whether each request is reported as [`SiteStep::Authorize`](super::SiteStep::Authorize).
    /// Default: false.
    pub authorizes: bool,
    /// Whether each POST is reported as [`SiteStep::Permit`](super::SiteStep::Permit) before any of
    /// its messages is handled. They are read twice then. Default: false.
    pub checks_operations: bool,
    /// Maximum number of exchanges at a time; further requests get 503. Each takes about 1 KiB
    /// beside its head, its body and its output. Default: 10,000.
    pub max_exchanges: usize,
    /// Maximum number of event streams that have no end of their own: `subscriptions/listen`, GET
    /// of a session, and HTTP+SSE; further ones get 503. The rest of
    /// [`max_exchanges`](Self::max_exchanges) is left to calls. Default: 7,500.
    pub max_streams: usize,
    /// The part of exchanges, of event streams and of the budget of bodies that the requests of one
    /// principal may have, in percent; further ones get 503. Default: 25.
    pub principal_share: u8,
    /// The same for all requests without a principal from one [address][`OwnedHead::peer`], and
    /// their part of [`max_sessions`](Self::max_sessions). Behind a proxy all have one address:
    /// then set 100. Default: 75.
    ///
    /// [`OwnedHead::peer`]: super::OwnedHead::peer
    pub address_share: u8,
    /// Maximum number of sessions and of streams of HTTP+SSE together. At the limit, a new one
    /// replaces the oldest whose client has not sent `notifications/initialized`; if there is none,
    /// the request gets 503. Each takes about 1 KiB, and up to [`replay`](Self::replay). Opening a
    /// session looks at all of them. Default: 1,000.
    pub max_sessions: usize,
    /// The same for the sessions of one principal. Default: 100.
    pub max_sessions_per_principal: usize,
    /// Maximum number of open requests of one session, and of one request body (a batch). Each
    /// takes about 300 bytes. Default: 1,024.
    pub in_flight: u16,
    /// Time that a request waits while [`in_flight`](Self::in_flight) is reached; then it is
    /// refused with -32603. While the server itself waits for the response to a call, requests
    /// beyond the limit are refused at once, since the response may be behind them. Default: 30
    /// seconds.
    pub full_timeout: Duration,
    /// Maximum number of URIs to which one session, or one `subscriptions/listen`, subscribes; 8
    /// bytes each. Default: 64.
    pub subscriptions: usize,
    /// Maximum number of bytes of a request body; 413 for longer ones. Default: 4 MiB.
    pub max_body: usize,
    /// Maximum number of bytes of all bodies longer than 4 KiB together, from their first byte
    /// until their messages are handled. Without room, a body is not read further. Default: 64 MiB.
    pub body_budget: usize,
    /// Maximum number of bytes that wait to be sent in one response; longer messages are written in
    /// parts. Default: 64 KiB.
    pub max_pending: usize,
    /// Maximum number of bytes of sent events that a session keeps for
    /// [replay](crate::http::server::ReplayBuffer). Default: 64 KiB.
    pub replay: usize,
    /// Time after which an unused session ends. Default: 30 minutes.
    pub idle_timeout: Duration,
    /// Time after which a body that is not complete gets 408, or 503 if it waits for room. Default:
    /// 30 seconds.
    pub read_timeout: Duration,
    /// Time after which a response is cut off, and its memory freed, if its connection takes
    /// neither 4 KiB in this time nor all there is. [`Duration::MAX`]: no limit, for a program that
    /// closes such connections itself. Default: 30 seconds.
    pub write_timeout: Duration,
    /// Time without output after which an event stream gets a comment, so that proxies keep it
    /// open. Default: 15 seconds.
    pub keep_alive: Duration,
    /// The time that clients of 2025-11-25 wait before they resume a stream. Default: 1 second.
    pub retry: Duration,
}

impl SiteOptions<'_> {
    /// Returns a limit with the share of a client: all of it if nothing is known of the client.
    #[must_use]
    pub const fn limit(&self, total: usize, holder: Option<&Holder>) -> PlaceLimit {
        let percent = match holder {
            Some(Holder::Principal(_)) => self.principal_share,
            Some(Holder::Address(_)) => self.address_share,
            None => 100,
        };
        PlaceLimit::percent(total, percent)
    }

    /// Creates options with the defaults.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            host_policy: HostPolicy::LOOPBACK,
            path: None,
            sse_path: None,
            has_sessions: true,
            authorizes: false,
            checks_operations: false,
            max_exchanges: 10_000,
            max_streams: 7500,
            principal_share: 25,
            address_share: 75,
            max_sessions: 1000,
            max_sessions_per_principal: 100,
            in_flight: 1024,
            full_timeout: Duration::from_secs(30),
            subscriptions: 64,
            max_body: 4 << 20,
            body_budget: 64 << 20,
            max_pending: 64 << 10,
            replay: 64 << 10,
            idle_timeout: Duration::from_secs(30 * 60),
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            retry: Duration::from_secs(1),
        }
    }
}

impl Default for SiteOptions<'_> {
    fn default() -> Self {
        Self::new()
    }
}
