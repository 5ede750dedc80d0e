//! Code around calls: what it sees, decides and changes, and the cache that is made of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::types::{SubscriptionFilter, Text};
use mcp_sansio::{CallOptions, ClientEvent, Instant, OwnedJson, SendError};
use mcp_sansio_engine::{Before, Cache, CallError, CallId, Limits, Middleware, OutgoingCall};
use serde_json::{Value, json};

use crate::scene::{
    D, E, Scene, content, created, form, methods, notification, ok, owned, requires, state,
};

type Seen = Arc<Mutex<Vec<String>>>;
type CallResult = Result<OwnedJson, CallError>;

/// Writes down what it sees.
struct Audit(&'static str, Seen);

impl Audit {
    fn saw(&self, what: &str, call: &OutgoingCall<'_>) {
        let Self(name, seen) = self;
        let OutgoingCall { method, attempt, now, had_input, .. } = call;
        let input = if *had_input { " with input" } else { "" };
        seen.lock()
            .unwrap()
            .push(format!("{}: {name} {what} {method} {attempt}{input}", now.as_millis()));
    }
}

impl Middleware for Audit {
    fn before(&mut self, call: &mut OutgoingCall<'_>) -> Before {
        self.saw("before", call);
        Before::Send
    }

    fn after(&mut self, call: &OutgoingCall<'_>, result: &mut CallResult) -> Option<Duration> {
        self.saw(if result.is_ok() { "ok" } else { "failed" }, call);
        None
    }

    fn event(&mut self, _: Instant, event: &ClientEvent<'_>) {
        if let ClientEvent::Changed { what, .. } = event {
            self.1.lock().unwrap().push(format!("{} {what:?}", self.0));
        }
    }

    fn connecting(&mut self) {
        self.1.lock().unwrap().push(format!("{} connecting", self.0));
    }
}

/// Repeats what fails, up to three times.
struct Retry;

impl Middleware for Retry {
    fn after(&mut self, call: &OutgoingCall<'_>, result: &mut CallResult) -> Option<Duration> {
        (result.is_err() && call.attempt < 3).then_some(Duration::from_millis(200))
    }
}

/// One call per second.
#[derive(Default)]
struct Limit(Option<Instant>);

impl Middleware for Limit {
    fn before(&mut self, call: &mut OutgoingCall<'_>) -> Before {
        match self.0 {
            Some(free) if call.now < free => Before::Wait(free.saturating_duration_since(call.now)),
            _ => {
                self.0 = Some(call.now.saturating_add(Duration::from_secs(1)));
                Before::Send
            }
        }
    }
}

/// Decides by the name of the tool.
struct Gate;

impl Middleware for Gate {
    fn before(&mut self, call: &mut OutgoingCall<'_>) -> Before {
        match call.params.as_json().get("name").map(|name| name.as_str()) {
            Some(r#""known""#) => Before::Finish(Ok(owned(&json!({"content": []})))),
            Some(r#""closed""#) => Before::Finish(Err(CallError::TimedOut)),
            Some(r#""old""#) => {
                call.params = owned(&json!({"name": "new"}));
                Before::Send
            }
            _ => Before::Send,
        }
    }

    fn after(&mut self, _: &OutgoingCall<'_>, result: &mut CallResult) -> Option<Duration> {
        if let Ok(json) = result
            && json.as_json().get("isError").is_some()
        {
            *result = Err(CallError::TaskCancelled);
        }
        None
    }
}

fn audit(name: &'static str) -> (Audit, Seen) {
    let seen = Seen::default();
    (Audit(name, Arc::clone(&seen)), seen)
}

fn saw(seen: &Seen) -> Vec<String> {
    std::mem::take(&mut seen.lock().unwrap())
}

fn call(scene: &mut Scene, tool: &str) -> CallId {
    scene.call("tools/call", json!({ "name": tool }), CallOptions::new())
}

#[test]
fn the_first_middleware_is_the_outermost() {
    for revision in [D, E] {
        let mut scene = Scene::new(revision);
        let seen = Seen::default();
        scene.person.layers.push(Audit("a", Arc::clone(&seen)));
        scene.person.layers.push(Audit("b", Arc::clone(&seen)));
        let (id, request) = scene.tool("add");
        assert_eq!(saw(&seen), ["0: a before tools/call 1", "0: b before tools/call 1"]);
        scene.later(5);
        scene.gets(&ok(&request, content(revision, "3")));
        assert_eq!(saw(&seen), ["0: b ok tools/call 1", "0: a ok tools/call 1"]);
        assert_eq!(scene.take(id).unwrap()["content"][0]["text"], "3");
        // A call with invalid parameters is refused at once, as without a middleware.
        let refused = scene.try_call("tools/call", json!(1), CallOptions::new());
        assert!(matches!(refused, Err(SendError::Invalid(_))), "{refused:?}");
        assert!(saw(&seen).is_empty() && !scene.engine.has_calls());
        // A fault that is found later is a result.
        if revision == D {
            let id = scene.call("prompts/list", json!({}), CallOptions::new());
            assert!(matches!(scene.take(id), Err(CallError::NotSent(_))));
            assert_eq!(
                saw(&seen)[2..],
                ["5: b failed prompts/list 1", "5: a failed prompts/list 1"]
            );
        }
        scene.connect();
        assert_eq!(saw(&seen)[..2], ["a connecting", "b connecting"]);
    }
}

#[test]
fn a_call_is_repeated_after_its_time_within_its_limit() {
    for revision in [D, E] {
        let (watch, seen) = audit("inner");
        let mut scene = Scene::new(revision);
        scene.person.layers.push(Retry);
        scene.person.layers.push(watch);
        let id = call(&mut scene, "add");
        for at in [0, 200] {
            assert_eq!(scene.refuses(-32603)["params"]["name"], "add");
            assert!(scene.sent().is_empty(), "it waits, {at}");
            assert_eq!(scene.until_next(), 200);
        }
        scene.responds(content(revision, "3"));
        assert_eq!(scene.take(id).unwrap()["content"][0]["text"], "3");
        let attempts = [
            "0: inner before tools/call 1",
            "0: inner failed tools/call 1",
            "200: inner before tools/call 2",
            "200: inner failed tools/call 2",
            "400: inner before tools/call 3",
            "400: inner ok tools/call 3",
        ];
        assert_eq!(saw(&seen), attempts);
        // There is no time for another attempt.
        let options = CallOptions::new().limit(Duration::from_millis(150));
        let id = scene.call("tools/call", json!({"name": "add"}), options);
        scene.refuses(-32603);
        assert!(matches!(scene.take(id), Err(CallError::Server(_))));
        // A call that waits is cancelled like any other, and nothing is sent for it.
        let id = call(&mut scene, "add");
        scene.refuses(-32603);
        scene.cancel(id).unwrap();
        scene.later(1000);
        assert!(scene.sent().is_empty() && !scene.engine.has_calls());
        // The end of the connection is told, and ends it.
        let id = call(&mut scene, "add");
        scene.sent_one();
        saw(&seen);
        scene.end();
        assert!(matches!(scene.take(id), Err(CallError::Closed)));
        assert_eq!(saw(&seen), ["1400: inner failed tools/call 1"]);
    }
}

#[test]
fn a_call_waits_until_it_may_be_sent() {
    let mut scene = Scene::new(E);
    scene.person.layers.push(Limit::default());
    let [first, second] = ["one", "two"].map(|tool| call(&mut scene, tool));
    let short = CallOptions::new().limit(Duration::from_millis(300));
    let third = scene.call("tools/call", json!({"name": "three"}), short);
    let sent = scene.sent();
    assert_eq!((sent.len(), &sent[0]["params"]["name"]), (1, &json!("one")));
    scene.gets(&ok(&sent[0], content(E, "1")));
    scene.take(first).unwrap();
    // The limit counts the time before a call is sent.
    assert_eq!(scene.until_next(), 300);
    assert!(matches!(scene.take(third), Err(CallError::TimedOut)));
    assert_eq!(scene.until_next(), 700);
    assert_eq!(scene.responds(content(E, "2"))["params"]["name"], "two");
    scene.take(second).unwrap();
    // A pause may be longer than both times.
    let limit = CallOptions::new().limit(Duration::from_secs(2));
    let late = scene.call("tools/call", json!({"name": "late"}), limit);
    scene.later(5000);
    assert!(matches!(scene.take(late), Err(CallError::TimedOut)));
    assert!(scene.sent().is_empty());
}

#[test]
fn a_call_that_was_never_sent_has_no_result_for_the_middleware() {
    let (watch, seen) = audit("audit");
    let mut scene = Scene::new(E);
    scene.person.layers.push(watch);
    scene.person.layers.push(Limit::default());
    let first = call(&mut scene, "one");
    let request = scene.sent_one();
    let short = CallOptions::new().limit(Duration::from_millis(300));
    let second = scene.call("tools/call", json!({"name": "two"}), short);
    let third = call(&mut scene, "three");
    saw(&seen);
    scene.gets(&ok(&request, content(E, "1")));
    scene.take(first).unwrap();
    assert_eq!(saw(&seen), ["0: audit ok tools/call 1"]);
    // One ends while it waits for its turn, the other with the connection.
    scene.later(300);
    assert!(matches!(scene.take(second), Err(CallError::TimedOut)));
    scene.end();
    assert!(matches!(scene.take(third), Err(CallError::Closed)));
    assert_eq!(saw(&seen), [""; 0]);
}

#[test]
fn a_call_is_changed_and_ended_without_the_server() {
    let (outer, seen) = audit("outer");
    let mut scene = Scene::new(E);
    scene.person.layers.push(outer);
    scene.person.layers.push(Gate);
    let known = call(&mut scene, "known");
    assert!(scene.sent().is_empty());
    assert_eq!(scene.take(known).unwrap(), json!({"content": []}));
    assert_eq!(saw(&seen), ["0: outer before tools/call 1", "0: outer ok tools/call 1"]);
    let id = call(&mut scene, "old");
    let mut failed = content(E, "no");
    failed["isError"] = json!(true);
    assert_eq!(scene.responds(failed)["params"]["name"], "new");
    assert!(matches!(scene.take(id), Err(CallError::TaskCancelled)));
    // The attempts of one that is ended within count, too.
    let mut scene = Scene::new(E);
    scene.person.layers.push(Retry);
    scene.person.layers.push(Gate);
    let id = call(&mut scene, "closed");
    for _ in 0..2 {
        assert!(!scene.is_over(id) && scene.sent().is_empty());
        scene.later(200);
    }
    assert!(matches!(scene.take(id), Err(CallError::TimedOut)));
}

#[test]
fn rounds_of_input_and_a_task_are_one_call() {
    let (watch, seen) = audit("audit");
    let mut scene = Scene::new(E);
    scene.person.layers.push(Retry);
    scene.person.layers.push(watch);
    let id = scene.tool_gets("add", requires(json!({"who": form("who?")}), "s"));
    assert_eq!(scene.responds(created(E))["params"]["requestState"], "s");
    scene.later(110);
    let failed = json!({"error": {"code": -32603, "message": "no"}});
    assert_eq!(scene.responds(state(E, "failed", failed))["method"], "tasks/get");
    let attempt = ["0: audit before tools/call 1", "0: audit failed tools/call 1 with input"];
    assert_eq!(saw(&seen), attempt);
    // The next attempt begins anew: without input, and as a call.
    scene.later(200);
    let request = scene.responds(content(E, "3"));
    assert!(request["method"] == "tools/call" && request["params"].get("requestState").is_none());
    assert_eq!(scene.take(id).unwrap()["content"][0]["text"], "3");
    assert_eq!(saw(&seen)[1..], ["310: audit ok tools/call 2"]);
}

#[test]
fn nothing_of_an_earlier_attempt_is_sent() {
    let one = Limits { max_in_flight: 1, max_pending: 9, ..Limits::new() };
    let mut scene = Scene::with(E, one);
    scene.person.layers.push(Retry);
    let id = call(&mut scene, "slow");
    scene.responds(created(E));
    // The place is taken, so the state of the task is not asked for.
    let other = call(&mut scene, "other");
    let busy = scene.sent_one();
    scene.later(110);
    assert!(scene.sent().is_empty());
    let failed = json!({"error": {"code": -32603, "message": "no"}});
    scene.gets(&notification("notifications/tasks", state(E, "failed", failed)));
    scene.gets(&ok(&busy, content(E, "done")));
    scene.take(other).unwrap();
    assert!(scene.sent().is_empty() && !scene.is_over(id));
    scene.later(200);
    assert_eq!(scene.sent_one()["params"]["name"], "slow");
}

// The cache.

fn read(uri: &str) -> Value {
    json!({ "uri": uri })
}

fn resource(text: &str, ttl: Value) -> Value {
    json!({"resultType": "complete", "contents": [{"uri": "a:1", "text": text}], "ttlMs": ttl, "cacheScope": "private"})
}

fn cached(max_bytes: usize) -> Scene {
    let mut scene = Scene::new(E);
    scene.person.layers.push(Cache::new(max_bytes));
    scene
}

/// Makes a call that the server is asked about, and returns its result.
fn asks(scene: &mut Scene, method: &str, params: Value, result: Value) -> Value {
    let id = scene.call(method, params, CallOptions::new());
    assert_eq!(scene.responds(result)["method"], method);
    scene.take(id).unwrap()
}

/// Makes a call that the cache has the result of.
fn has(scene: &mut Scene, method: &str, params: Value) -> Value {
    let id = scene.call(method, params, CallOptions::new());
    assert!(scene.sent().is_empty(), "the server is asked");
    scene.take(id).unwrap()
}

#[test]
fn cache_05_cache_07_cache_08_cache_09_cache_10_cache_11_a_fresh_result_is_served_to_the_same_call()
{
    let mut scene = cached(10_000);
    let get = "resources/read";
    let one = asks(&mut scene, get, read("a:1"), resource("one", json!(1000)));
    scene.later(999);
    assert_eq!(has(&mut scene, get, read("a:1")), one);
    asks(&mut scene, get, read("a:2"), resource("two", json!(1000)));
    asks(&mut scene, get, json!({"uri": "a:1", "more": 1}), resource("three", json!(1000)));
    scene.later(1);
    let new = asks(&mut scene, get, read("a:1"), resource("new", json!(0)));
    assert_eq!(new["contents"][0]["text"], "new");
    for ttl in [json!(-5), json!("9"), json!(null), json!(0)] {
        asks(&mut scene, get, read("a:1"), resource("stale", ttl));
    }
    // Only these methods: the `ttlMs` of others has another meaning.
    for _ in 0..2 {
        let mut result = content(E, "3");
        result["ttlMs"] = json!(1000);
        asks(&mut scene, "tools/call", json!({"name": "add"}), result);
    }
}

#[test]
fn cache_06_a_result_with_input_is_not_kept() {
    let mut scene = cached(10_000);
    for _ in 0..2 {
        let id = scene.call("resources/read", read("a:1"), CallOptions::new());
        scene.responds(requires(json!({"who": form("who?")}), "s"));
        scene.responds(resource("for Ada", json!(1000)));
        scene.take(id).unwrap();
    }
}

#[test]
fn cache_14_another_connection_begins_with_an_empty_cache() {
    let mut scene = cached(10_000);
    asks(&mut scene, "resources/read", read("a:1"), resource("one", json!(1000)));
    scene.end();
    scene.connect();
    asks(&mut scene, "resources/read", read("a:1"), resource("two", json!(1000)));
}

#[test]
fn cache_14_another_access_token_begins_with_an_empty_cache() {
    let mut scene = cached(10_000);
    let get = "resources/read";
    asks(&mut scene, get, read("a:1"), resource("of one", json!(1000)));
    // The token changes while a call is open, and nothing else is sent.
    let id = scene.call(get, read("a:2"), CallOptions::new());
    let request = scene.sent_one();
    scene.person.authorization = 1;
    scene.gets(&ok(&request, resource("of one", json!(1000))));
    scene.take(id).unwrap();
    asks(&mut scene, get, read("a:2"), resource("of two", json!(1000)));
    asks(&mut scene, get, read("a:1"), resource("of two", json!(1000)));
    // A result may come when the next token is in use already.
    let id = scene.call(get, read("a:3"), CallOptions::new());
    let request = scene.sent_one();
    scene.person.authorization = 2;
    asks(&mut scene, get, read("a:1"), resource("of three", json!(1000)));
    scene.gets(&ok(&request, resource("of two", json!(1000))));
    scene.take(id).unwrap();
    asks(&mut scene, get, read("a:3"), resource("of three", json!(1000)));
    let one = has(&mut scene, get, read("a:1"));
    assert_eq!(one["contents"][0]["text"], "of three");
}

#[test]
fn cache_15_a_change_drops_what_it_concerns() {
    let mut scene = cached(10_000);
    let uris = [Text::new("a:1")];
    let filter = SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(&uris);
    let listen = scene.listen(&filter);
    let listening = scene.sent_one();
    let meta = json!({"io.modelcontextprotocol/subscriptionId": listening["id"]});
    let notifications = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:1"]});
    let acknowledged = json!({"_meta": meta, "notifications": notifications});
    scene.gets(&notification("notifications/subscriptions/acknowledged", acknowledged));
    assert!(scene.engine.acknowledged(listen).is_some());
    scene.later(10);
    let list =
        json!({"resultType": "complete", "tools": [], "ttlMs": 1000, "cacheScope": "public"});
    let get = "resources/read";
    asks(&mut scene, "tools/list", json!({}), list.clone());
    asks(&mut scene, get, read("a:1"), resource("one", json!(1000)));
    asks(&mut scene, get, read("a:2"), resource("two", json!(1000)));
    scene.later(10);
    let updated = json!({"_meta": meta, "uri": "a:1"});
    // The state of a task changes no result.
    let id = scene.call(get, read("a:5"), CallOptions::new());
    let request = scene.sent_one();
    scene.gets(&notification("notifications/tasks", state(E, "working", json!({ "_meta": meta }))));
    scene.gets(&ok(&request, resource("five", json!(1000))));
    scene.take(id).unwrap();
    has(&mut scene, get, read("a:5"));
    // A result that was on its way may be older than the change.
    let id = scene.call(get, read("a:3"), CallOptions::new());
    let late = scene.sent_one();
    scene.gets(&notification("notifications/resources/updated", updated));
    scene.gets(&ok(&late, resource("three", json!(1000))));
    scene.take(id).unwrap();
    scene.later(1);
    has(&mut scene, "tools/list", json!({}));
    has(&mut scene, get, read("a:2"));
    asks(&mut scene, get, read("a:1"), resource("one", json!(1000)));
    asks(&mut scene, get, read("a:3"), resource("three", json!(1000)));
    scene.gets(&notification("notifications/tools/list_changed", json!({ "_meta": meta })));
    has(&mut scene, get, read("a:1"));
    asks(&mut scene, "tools/list", json!({}), list);
}

#[test]
fn cache_15_a_change_drops_all_with_whose_uri_its_own_begins() {
    let mut scene = cached(100_000);
    let get = "resources/read";
    let more = json!({"uri": "a:/é/", "more": 1});
    let gone = [read(""), read("a:/"), read("a:/é/"), more, read("a:/é/y")];
    let kept = ["a:/b", "a:/é/x", "a:/é/y/", "a:/é/yz", "a:/è", "a:/é0", "b", "A"].map(read);
    for params in gone.iter().chain(&kept) {
        asks(&mut scene, get, params.clone(), resource("one", json!(1000)));
    }
    scene.gets(&notification("notifications/resources/updated", read("a:/é/y")));
    scene.later(1);
    for params in kept {
        has(&mut scene, get, params);
    }
    for params in gone {
        asks(&mut scene, get, params, resource("two", json!(1000)));
    }
}

#[test]
fn cache_16_cache_18_each_page_has_its_time_and_an_invalid_cursor_drops_all() {
    let mut scene = cached(10_000);
    let page = |next: Option<&str>, ttl: u32| {
        let mut page =
            json!({"resultType": "complete", "prompts": [], "ttlMs": ttl, "cacheScope": "public"});
        if let Some(next) = next {
            page["nextCursor"] = json!(next);
        }
        page
    };
    let list = "prompts/list";
    let second = || json!({"cursor": "c"});
    asks(&mut scene, list, json!({}), page(Some("c"), 5000));
    asks(&mut scene, list, second(), page(None, 1000));
    asks(&mut scene, "resources/read", read("a:1"), resource("one", json!(5000)));
    scene.later(1000);
    let id = scene.call("resources/read", read("a:9"), CallOptions::new());
    scene.refuses(-32602);
    scene.take(id).unwrap_err();
    has(&mut scene, list, json!({}));
    let id = scene.call(list, second(), CallOptions::new());
    assert_eq!(scene.refuses(-32602)["params"]["cursor"], "c");
    assert!(matches!(scene.take(id), Err(CallError::Server(_))));
    asks(&mut scene, list, json!({}), page(Some("d"), 5000));
    has(&mut scene, "resources/read", read("a:1"));
}

#[test]
fn a_cache_holds_its_bytes_and_what_is_fresh_for_longest() {
    let mut scene = cached(1000);
    let get = "resources/read";
    for (uri, ttl) in [("a:1", 3000), ("a:2", 1000), ("a:3", 2000)] {
        asks(&mut scene, get, read(uri), resource(&"x".repeat(150), json!(ttl)));
    }
    // Three of them have not enough room, and this one alone has none.
    asks(&mut scene, get, read("a:4"), resource(&"x".repeat(1000), json!(9000)));
    has(&mut scene, get, read("a:1"));
    has(&mut scene, get, read("a:3"));
    asks(&mut scene, get, read("a:2"), resource("x", json!(0)));
    asks(&mut scene, get, read("a:4"), resource("x", json!(0)));
    // An entry that is replaced does not count twice.
    scene.later(3000);
    for _ in 0..9 {
        asks(&mut scene, get, read("a:1"), resource(&"x".repeat(500), json!(10)));
        scene.later(10);
    }
    asks(&mut scene, get, read("a:1"), resource(&"x".repeat(500), json!(10)));
    has(&mut scene, get, read("a:1"));
    assert_eq!(methods(&scene.sent()), [""; 0]);
}
