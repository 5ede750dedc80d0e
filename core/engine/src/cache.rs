//! A cache of results, which a client asks before it asks the server.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::time::Duration;

use mcp_sansio::types::CacheHint;
use mcp_sansio::{Changed, ClientEvent, Instant, OwnedJson, RawJson, methods};

use crate::client::{Before, Middleware, OutgoingCall};
use crate::errors::CallError;
use crate::expiring::Expiring;

/// Keeps the results of one client, as long as the server says that they are fresh (`ttlMs` of
/// 2026-07-28, server/utilities/caching), and serves them to calls of the same method with the same
/// parameters. A [`Middleware`].
///
/// A result goes when the server tells that it has changed. All go when the client connects again,
/// and when its access token changes ([`Driver::authorization`](crate::Driver::authorization)): by
/// a login, perhaps of another user, a step-up, a renewal, or a function of the program that
/// returns another one. So results whose `cacheScope` is private are kept, too. Results for which
/// the server has asked for input are not. Each page of a list has its own time; after an error
/// about a cursor all pages of its list go. Servers of earlier revisions give no time.
///
/// The time of a result begins when it is requested, so that it is never served for too long.
#[derive(Debug)]
#[must_use]
pub struct Cache {
    /// By method, URI and parameters, as long as they are fresh.
    results: Expiring<Key, OwnedJson, Instant>,
    max_bytes: usize,
    /// Number of the access token for which they are.
    authorization: u32,
    /// The latest change: results that were requested before it are not kept.
    changed: Option<Instant>,
}

impl Cache {
    /// Creates a cache. An entry counts for its method, URI, parameters, result, and 128 bytes
    /// more. At the limit, the entries go that are fresh for the shortest time.
    pub const fn new(max_bytes: usize) -> Self {
        Self { results: Expiring::new(), max_bytes, authorization: 0, changed: None }
    }

    /// Drops all entries.
    pub fn clear(&mut self) {
        self.results = Expiring::new();
    }

    fn insert(&mut self, key: Key, result: OwnedJson, fresh_until: Instant) {
        let result_len = result.as_json().as_str().len();
        let cost = key.0.len() + key.1.len() + key.2.len() + result_len + 128;
        if cost > self.max_bytes {
            return;
        }
        self.results.remove(&key);
        while self.results.cost() + cost > self.max_bytes {
            self.results.pop_first(|_| true);
        }
        self.results.insert(key, result, Some(fresh_until), cost);
    }

    /// Drops the results of a method for a URI, and for all with which that begins.
    fn forget(&mut self, method: &str, uri: &str) {
        let mut rest = uri;
        loop {
            let end = (method.to_owned(), format!("{rest}\0"), String::new());
            let last = self.results.by_key().range(..end).next_back();
            let Some((key, _)) = last.filter(|(key, _)| key.0 == method) else { return };
            // All that are left are before this one, so that they have no more in common with it.
            let both = key.1.chars().zip(rest.chars()).take_while(|(one, other)| one == other);
            let common = both.map(|(c, _)| c.len_utf8()).sum::<usize>();
            rest = rest.get(..common).unwrap_or_default();
            if key.1 == rest {
                let key = key.clone();
                self.results.remove(&key);
            }
        }
    }
}

impl Middleware for Cache {
    fn before(&mut self, call: &mut OutgoingCall<'_>) -> Before {
        if !CACHEABLE.contains(&call.method) {
            return Before::Send;
        }
        if call.authorization != self.authorization {
            self.authorization = call.authorization;
            self.clear();
        }
        match self.results.by_key().get(&key(call)).filter(|it| Some(call.now) < it.end) {
            Some(entry) => Before::Finish(Ok(entry.value.clone())),
            None => Before::Send,
        }
    }

    fn after(
        &mut self,
        call: &OutgoingCall<'_>,
        result: &mut Result<OwnedJson, CallError>,
    ) -> Option<Duration> {
        if !CACHEABLE.contains(&call.method) {
            return None;
        }
        match result {
            Ok(result) => {
                let fresh_until = CacheHint::from_result(result.as_json()).fresh_until(call.now);
                let is_old = self.changed.is_some_and(|changed| call.now <= changed)
                    || call.authorization != self.authorization;
                if call.now < fresh_until && !is_old && !call.had_input {
                    self.insert(key(call), result.clone(), fresh_until);
                }
            }
            Err(CallError::Server(error)) if error.code == INVALID_PARAMS => {
                if call.params.as_json().get("cursor").is_some() {
                    self.forget(call.method, "");
                }
            }
            Err(_) => {}
        }
        None
    }

    fn event(&mut self, now: Instant, event: &ClientEvent<'_>) {
        let ClientEvent::Changed { what, .. } = event else { return };
        match what {
            Changed::Task(_) => return,
            Changed::Resource { uri } => self.forget(methods::RESOURCES_READ, &uri.to_string()),
            list => {
                let lists = CACHEABLE.iter().filter(|it| list.concerns(it, RawJson::EMPTY));
                lists.for_each(|method| self.forget(method, ""));
            }
        }
        self.changed = Some(now);
    }

    fn connecting(&mut self) {
        self.changed = None;
        self.clear();
    }
}

/// The method, the URI that is read, and the parameters.
type Key = (String, String, String);

fn key(call: &OutgoingCall<'_>) -> Key {
    let params = call.params.as_json();
    let uri = params.get("uri").filter(|_| call.method == methods::RESOURCES_READ);
    let uri = uri.and_then(RawJson::as_string).map(|uri| uri.to_string());
    (call.method.to_owned(), uri.unwrap_or_default(), params.as_str().to_owned())
}

/// The methods whose results say how long they are fresh. `server/discover` is the library's.
const CACHEABLE: [&str; 5] = [
    methods::TOOLS_LIST,
    methods::PROMPTS_LIST,
    methods::RESOURCES_LIST,
    methods::RESOURCES_TEMPLATES_LIST,
    methods::RESOURCES_READ,
];
const INVALID_PARAMS: i64 = -32602;
