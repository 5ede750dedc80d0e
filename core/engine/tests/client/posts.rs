//! Messages that leave as POST requests: how many wait, and logins.

use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{CallOptions, ClientConfig, ClientFeatures, Era, Instant, Revision, Revisions};
use mcp_sansio_engine::{CallError, CallId, ClientEngine, Limits};
use serde_json::{Value, json};

use crate::scene::{E, Person, content, ok, owned};

static CONFIG: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::NONE);

struct Posts {
    engine: ClientEngine<'static>,
    person: Person,
    now: Instant,
}

impl Posts {
    /// A client of a modern server, two of whose messages may wait to be posted.
    fn new() -> Self {
        let limits = Limits { max_posts: 2, max_pending: usize::MAX, ..Limits::new() };
        let mut engine = ClientEngine::new(&CONFIG, limits);
        engine.set_over_http(true);
        let (mut person, now) = (Person::default(), Instant::from_millis(0));
        engine.core().set_era(Some(Era::Modern));
        engine.connect(now, &mut person).unwrap();
        Self { engine, person, now }
    }

    fn call(&mut self, name: &str, options: CallOptions) -> CallId {
        let params = owned(&json!({ "name": name }));
        self.engine.call(self.now, "tools/call", &params, options, &mut self.person).unwrap()
    }

    fn posted(&mut self) -> Vec<Value> {
        let mut posted = Vec::new();
        loop {
            while self.engine.step(self.now, &mut self.person) {}
            let Some(post) = self.engine.posts().pop_front() else { return posted };
            posted.push(serde_json::from_slice(post.body()).unwrap());
        }
    }

    fn later(&mut self, seconds: u64) {
        self.now = self.now.saturating_add(Duration::from_secs(seconds));
        self.engine.handle_timeout(self.now, false, &mut self.person).unwrap();
    }
}

#[test]
fn so_many_messages_wait_to_be_posted_and_calls_wait_behind_them() {
    let mut client = Posts::new();
    let calls = ["a", "b", "c"].map(|name| client.call(name, CallOptions::new()));
    assert_eq!(client.engine.posts().len(), 2);
    assert!(!client.engine.reads(), "a message may need room for its response");
    let posted = client.posted();
    let names: Vec<&Value> = posted.iter().map(|request| &request["params"]["name"]).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(client.engine.reads() && client.engine.is_idle());
    let response = ok(&posted[2], content(E, "three")).to_string();
    client.engine.message(client.now, response.as_bytes(), &mut client.person);
    let over = client.engine.take(calls[2]).unwrap();
    assert!(over.result.unwrap().as_json().as_str().contains("three"));
    let traced = client.person.frames.iter().filter(|frame| frame.starts_with("sent {"));
    assert_eq!(traced.count(), 3);
}

#[test]
fn c1_a_batch_is_handled_as_far_as_there_is_room_for_its_responses() {
    static OLD: ClientConfig<'_> = CONFIG.revisions(Revisions::only(Revision::V2025_03_26));
    let mut engine = ClientEngine::new(&OLD, Limits { max_posts: 2, ..Limits::new() });
    engine.set_over_http(true);
    engine.core().set_era(Some(Era::Legacy));
    let (mut person, now) = (Person::default(), Instant::from_millis(0));
    engine.connect(now, &mut person).unwrap();
    let initialize = engine.posts().pop_front().unwrap();
    let initialize: Value = serde_json::from_slice(initialize.body()).unwrap();
    let info = json!({"name": "lab", "version": "1"});
    let result = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": info});
    engine.message(now, ok(&initialize, result).to_string().as_bytes(), &mut person);
    engine.posts().clear();
    let pings = |from: u32, to: u32| {
        let pings = from..to;
        let pings = pings.map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        pings.collect::<Value>().to_string()
    };
    engine.message(now, pings(0, 1000).as_bytes(), &mut person);
    assert!(!engine.reads() && engine.has_input());
    let mut answered = 0..1000;
    for id in &mut answered {
        while engine.step(now, &mut person) {}
        assert!(engine.posts().len() <= 2, "{id}: {}", engine.posts().len());
        let post = engine.posts().pop_front().unwrap();
        let response: Value = serde_json::from_slice(post.body()).unwrap();
        assert_eq!(response["id"], id);
    }
    while engine.step(now, &mut person) {}
    assert!(engine.reads() && engine.is_idle() && !engine.has_input());
    // Another connection does not go on with it.
    engine.message(now, pings(0, 9).as_bytes(), &mut person);
    engine.connect(now, &mut person).unwrap();
    assert!(!engine.has_input());
    assert_eq!(engine.posts().len(), 1);
}

#[test]
fn the_time_of_calls_that_wait_stands_still_during_a_login() {
    let mut client = Posts::new();
    let limit = CallOptions::new().limit(Duration::from_secs(10));
    let [.., waits] = ["a", "b", "c"].map(|name| client.call(name, limit));
    client.later(6);
    client.engine.set_logging_in(client.now, true);
    client.later(3);
    let late = client.engine.when_connected(client.now, Duration::from_secs(5));
    client.later(3_600);
    assert!(client.engine.take(waits).is_none() && client.engine.take(late).is_none());
    client.engine.set_logging_in(client.now, true);
    client.engine.set_logging_in(client.now, false);
    client.later(3);
    assert!(client.engine.take(waits).is_none());
    client.later(1);
    let over = client.engine.take(waits).unwrap();
    assert!(matches!(over.result, Err(CallError::TimedOut)));
    assert_eq!(over.started, Instant::from_millis(3_603_000));
    assert!(client.engine.take(late).is_none());
    client.later(1);
    assert!(client.engine.take(late).is_some(), "its own time began during the login");
}
