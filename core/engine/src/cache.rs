//! A cache of results, which a client asks before it asks the server.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use mcp_sansio::types::CacheHint;
use mcp_sansio::{Changed, ClientEvent, Instant, OwnedJson, RawJson, methods};

use crate::client::{Before, Middleware, OutgoingCall};
use crate::errors::CallError;

/// Keeps the results of one client, as long as the server says that they are fresh (`ttlMs` of
/// 2026-07-28, server/utilities/caching), and serves them to calls of the same method with the same
/// parameters. A [`Middleware`].
///
/// A result goes when the server tells that it has changed, and all go when the client connects
/// again, perhaps as another user: so results whose `cacheScope` is private are kept, too. Results
/// for which the server has asked for input are not. Each page of a list has its own time; after an
/// error about a cursor all pages of its list go. Servers of earlier revisions give no time.
///
/// The time of a result begins when it is requested, so that it is never served for too long.
#[derive(Debug)]
#[must_use]
pub struct Cache {
    /// By method and parameters.
    entries: BTreeMap<(String, String), Entry>,
    /// Bytes of all entries.
    used: usize,
    max_bytes: usize,
    /// The latest change: results that were requested before it are not kept.
    changed: Option<Instant>,
}

#[derive(Debug)]
struct Entry {
    result: OwnedJson,
    fresh_until: Instant,
}

impl Cache {
    /// Creates a cache. An entry counts for its method, parameters, result, and 128 bytes more. At
    /// the limit, the entries go that are fresh for the shortest time.
    pub const fn new(max_bytes: usize) -> Self {
        Self { entries: BTreeMap::new(), used: 0, max_bytes, changed: None }
    }

    /// Drops all entries.
    pub fn clear(&mut self) {
        self.retain(|_, _, _| false);
    }

    /// Keeps the entries for which a function of method, parameters and entry returns `true`.
    fn retain(&mut self, mut keeps: impl FnMut(&str, &str, &Entry) -> bool) {
        let used = &mut self.used;
        self.entries.retain(|key, entry| {
            let is_kept = keeps(&key.0, &key.1, entry);
            *used -= if is_kept { 0 } else { cost(key, entry) };
            is_kept
        });
    }

    fn insert(&mut self, key: (String, String), entry: Entry) {
        let cost = cost(&key, &entry);
        if cost > self.max_bytes {
            return;
        }
        if let Some(old) = self.entries.remove(&key) {
            self.used -= self::cost(&key, &old);
        }
        self.make_room(cost);
        self.used += cost;
        self.entries.insert(key, entry);
    }

    /// Drops the entries that are fresh for the shortest time, and those that are as long, until so
    /// many bytes are free.
    fn make_room(&mut self, bytes: usize) {
        let mut lacking = (self.used + bytes).saturating_sub(self.max_bytes);
        if lacking == 0 {
            return;
        }
        let times = self.entries.iter().map(|(key, entry)| (entry.fresh_until, cost(key, entry)));
        let mut times: Vec<_> = times.collect();
        times.sort_unstable();
        let last = times.into_iter().find(|(_, freed)| {
            lacking = lacking.saturating_sub(*freed);
            lacking == 0
        });
        self.retain(|_, _, entry| last.is_some_and(|(until, _)| until < entry.fresh_until));
    }
}

impl Middleware for Cache {
    fn before(&mut self, call: &mut OutgoingCall<'_>) -> Before {
        if !CACHEABLE.contains(&call.method) {
            return Before::Send;
        }
        match self.entries.get(&key(call)).filter(|entry| call.now < entry.fresh_until) {
            Some(entry) => Before::Finish(Ok(entry.result.clone())),
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
                let is_old = self.changed.is_some_and(|changed| call.now <= changed);
                if call.now < fresh_until && !is_old && !call.had_input {
                    let entry = Entry { result: result.clone(), fresh_until };
                    self.insert(key(call), entry);
                }
            }
            Err(CallError::Server(error)) if error.code == INVALID_PARAMS => {
                let is_page = call.params.as_json().get("cursor").is_some();
                self.retain(|method, _, _| !(is_page && method == call.method));
            }
            Err(_) => {}
        }
        None
    }

    fn event(&mut self, now: Instant, event: &ClientEvent<'_>) {
        if let ClientEvent::Changed { what, .. } = event
            && !matches!(what, Changed::Task(_))
        {
            self.changed = Some(now);
            self.retain(|method, params, _| {
                !RawJson::parse(params).is_ok_and(|params| what.concerns(method, params))
            });
        }
    }

    fn connecting(&mut self) {
        self.changed = None;
        self.clear();
    }
}

fn key(call: &OutgoingCall<'_>) -> (String, String) {
    (call.method.to_owned(), call.params.as_json().as_str().to_owned())
}

fn cost(key: &(String, String), entry: &Entry) -> usize {
    key.0.len() + key.1.len() + entry.result.as_json().as_str().len() + 128
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
