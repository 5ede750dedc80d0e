//! A client follows a task to its end: scripted answers of a server under a virtual clock.

use mcp_sansio::types::{Implementation, Task, TaskParams, UpdateTaskParams};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, ClientConfig, ClientFeatures, Encode, Instant, JsonStr,
    PollStep, RawJson, Revision, TaskGone, TaskPoll, methods,
};
use serde_json::{Value, json};

use super::support::{EVERYTHING, NOW, Peer, outcome_of, raw};

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("c", "1"), EVERYTHING.with(ClientFeatures::TASKS));

const D: Revision = Revision::V2025_11_25;
const E: Revision = Revision::V2026_07_28;

/// A client with a task, and its clock in milliseconds.
struct Scene {
    peer: Peer,
    poll: TaskPoll<4>,
    now: u64,
    random: u32,
    revision: Revision,
    /// The request in flight, and its id.
    call: Option<Call>,
    id: Value,
}

/// What the poll says to do; times are relative.
#[derive(Debug, PartialEq)]
enum Said {
    Get,
    Result,
    Input(Vec<String>),
    Update,
    Sleep(u64),
    Wait,
    Done(Value),
    Failed(i64),
    Cancelled,
    Gone(TaskGone),
    Invalid,
}

fn state(revision: Revision, status: &str, more: &Value) -> Value {
    let mut task = json!({"taskId": "t", "status": status, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"});
    task[if revision.is_modern() { "ttlMs" } else { "ttl" }] = Value::Null;
    for (name, value) in more.as_object().expect("an object") {
        task[name] = value.clone();
    }
    task
}

/// An interval, in the words of the dialect.
fn every(revision: Revision, millis: u64) -> Value {
    let name = if revision.is_modern() { "pollIntervalMs" } else { "pollInterval" };
    json!({ name: millis })
}

impl Scene {
    fn new(revision: Revision, status: &str, more: &Value) -> Self {
        let text = state(revision, status, more).to_string();
        let task: Task<'_> = raw(&text).to().expect("a task");
        Self::of(revision, TaskPoll::new(Instant::from_millis(1000), 0, revision, &task))
    }

    fn of(revision: Revision, poll: TaskPoll<4>) -> Self {
        let capabilities = json!({"tasks": {"requests": {"tools": {"call": {}}}}});
        let peer = Peer::with(&CONFIG, revision, &capabilities);
        Self { peer, poll, now: 1000, random: 0, revision, call: None, id: Value::Null }
    }

    /// Creates a scene with this interval, in which the state has been asked for once.
    fn polled(revision: Revision, interval: u64) -> Self {
        let mut scene = Self::new(revision, "working", &every(revision, interval));
        assert_eq!(scene.sleeps(), (interval, Said::Get));
        scene
    }

    /// Creates a scene in which the task asks for input with these keys.
    fn asked(keys: &[&str]) -> Self {
        let mut scene = Self::polled(E, 300);
        let asked = scene.hears_state("input_required", &form(keys));
        assert_eq!(asked, Said::Input(keys.iter().map(|key| (*key).into()).collect()));
        scene
    }

    fn now(&self) -> Instant {
        Instant::from_millis(self.now)
    }

    /// Returns the next step, and sends the request that it says.
    fn next(&mut self) -> Said {
        let step = self.poll.next(self.now());
        let said = self.said(step);
        self.sends(&said);
        said
    }

    fn sends(&mut self, said: &Said) {
        let method = match said {
            Said::Get => methods::TASKS_GET,
            Said::Result => methods::TASKS_RESULT,
            Said::Update => methods::TASKS_UPDATE,
            _ => return,
        };
        let mut call = None;
        let (update, other) = (UpdateTaskParams::new("t", RawJson::EMPTY), TaskParams::new("t"));
        let params: &dyn Encode = if method == methods::TASKS_UPDATE { &update } else { &other };
        let sent = self.peer.does(|client, tx| {
            call = client.request(NOW, method, params, CallOptions::new(), tx).ok();
        });
        (self.id, self.call) = (sent[0]["id"].clone(), call);
    }

    /// Sleeps as long as the poll says, and returns the step after that.
    fn sleeps(&mut self) -> (u64, Said) {
        let begun = self.now;
        loop {
            match self.next() {
                Said::Sleep(time) if time > 0 => self.now += time,
                said => return (self.now - begun, said),
            }
        }
    }

    fn hears(&mut self, member: &str, value: &Value) -> Said {
        let sent = json!({"id": self.id});
        let (mut poll, now, random) = (self.poll.clone(), self.now(), self.random);
        let mut heard = None;
        self.peer.is_answered(&sent, member, value, |_, event, _| {
            let step = poll.on_outcome(now, random, &outcome_of(event));
            heard = Some(said(&poll, now, step));
        });
        self.poll = poll;
        let heard = heard.expect("the request has an outcome");
        self.sends(&heard);
        heard
    }

    fn hears_state(&mut self, status: &str, more: &Value) -> Said {
        let mut state = state(self.revision, status, more);
        if self.revision.is_modern() {
            state["resultType"] = json!("complete");
        }
        self.hears("result", &state)
    }

    fn hears_error(&mut self, code: i64) -> Said {
        self.hears("error", &json!({"code": code, "message": "?"}))
    }

    fn is_updated(&mut self) -> Said {
        self.hears("result", &json!({"resultType": "complete"}))
    }

    /// The request in flight fails without a response.
    fn loses_it(&mut self, outcome: &CallOutcome<'static>) -> Said {
        let call = self.call.take().expect("a request is in flight");
        self.peer.does(|client, tx| client.cancel_call(call, None, tx).expect("there is room"));
        let step = self.poll.on_outcome(self.now(), self.random, outcome);
        self.said(step)
    }

    fn is_told(&mut self, status: &str, more: &Value) -> Said {
        let text = state(self.revision, status, more).to_string();
        let step = self.poll.on_change(self.now(), self.random, raw(&text));
        said(&self.poll, self.now(), step)
    }

    fn said(&self, step: PollStep<'_>) -> Said {
        said(&self.poll, self.now(), step)
    }

    fn answers(&mut self, key: &str) {
        let key = json!(key).to_string();
        self.poll.answered(raw(&key).as_string().expect("a string"));
    }
}

fn said(poll: &TaskPoll<4>, now: Instant, step: PollStep<'_>) -> Said {
    let is_new = |key: &JsonStr<'_>| !poll.is_answered(*key);
    match step {
        PollStep::Get => Said::Get,
        PollStep::Result => Said::Result,
        PollStep::Input(requests) => {
            let keys = requests.members().map(|(key, _)| key).filter(is_new);
            Said::Input(keys.map(|key| key.to_string()).collect())
        }
        PollStep::Update => Said::Update,
        PollStep::Sleep(until) => Said::Sleep(until.as_millis() - now.as_millis()),
        PollStep::Wait => Said::Wait,
        PollStep::Done(result) => Said::Done(serde_json::from_str(result.as_str()).expect("JSON")),
        PollStep::Failed(error) => Said::Failed(error.code()),
        PollStep::Cancelled => Said::Cancelled,
        PollStep::Gone(why) => Said::Gone(why),
        PollStep::Invalid(_) => Said::Invalid,
    }
}

fn form(keys: &[&str]) -> Value {
    let form = json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}});
    let requests: serde_json::Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), form.clone())).collect();
    json!({ "inputRequests": requests })
}

#[test]
fn tsk_26_tsk_27_the_result_is_asked_for_when_the_task_has_ended() {
    for (status, result) in [
        ("completed", json!({"content": []})),
        // A tool that failed has a result, too.
        ("failed", json!({"content": [], "isError": true})),
    ] {
        let mut scene = Scene::polled(D, 500);
        assert_eq!(scene.hears_state("working", &every(D, 500)), Said::Sleep(500));
        assert_eq!(scene.sleeps(), (500, Said::Get));
        assert_eq!(scene.hears_state(status, &json!({})), Said::Result);
        assert_eq!(scene.hears("result", &result), Said::Done(result));
    }
    let mut scene = Scene::polled(D, 500);
    assert_eq!(scene.hears_state("failed", &json!({})), Said::Result);
    // The code is the tool's, whatever it is.
    assert_eq!(scene.hears_error(-32602), Said::Failed(-32602));
}

#[test]
fn tsk_20_tsk_28_a_task_that_needs_input_is_asked_for_its_result() {
    let mut scene = Scene::new(D, "input_required", &json!({}));
    assert_eq!(scene.next(), Said::Result);
    assert_eq!(scene.next(), Said::Wait);
    scene.now += 10_000_000;
    assert_eq!(scene.next(), Said::Wait, "it blocks until the task has ended");
    let result = json!({"content": []});
    assert_eq!(scene.hears("result", &result), Said::Done(result));
}

#[test]
fn tsk_26_a_lost_request_for_the_result_makes_the_client_poll_again() {
    for lost in [CallOutcome::TimedOut, CallOutcome::Closed] {
        let mut scene = Scene::new(D, "input_required", &json!({}));
        assert_eq!(scene.next(), Said::Result);
        assert_eq!(scene.loses_it(&lost), Said::Sleep(1000));
        assert_eq!(scene.sleeps(), (1000, Said::Get));
        assert_eq!(scene.hears_state("working", &json!({})), Said::Sleep(1000));
        assert_eq!(scene.sleeps(), (1000, Said::Get));
        assert_eq!(scene.hears_state("completed", &json!({})), Said::Result);
    }
}

#[test]
fn tsk_57_the_end_of_a_task_that_was_cancelled_while_its_result_was_awaited() {
    let mut scene = Scene::new(D, "input_required", &json!({}));
    assert_eq!(scene.next(), Said::Result);
    // The error may be the task's: the state says which.
    assert_eq!(scene.hears_error(-32603), Said::Get);
    assert_eq!(scene.hears_state("cancelled", &json!({})), Said::Cancelled);
    let mut scene = Scene::new(D, "input_required", &json!({}));
    assert_eq!(scene.next(), Said::Result);
    assert_eq!(scene.hears_error(-32602), Said::Get);
    assert_eq!(scene.hears_state("failed", &json!({})), Said::Result);
    assert_eq!(scene.hears_error(-32602), Said::Failed(-32602));
    // One that was cancelled before is never asked for a result.
    assert_eq!(Scene::new(D, "cancelled", &json!({})).next(), Said::Cancelled);
    // A server that says both for ever does not keep the client for ever.
    let mut scene = Scene::new(D, "completed", &json!({}));
    assert_eq!(scene.next(), Said::Result);
    assert_eq!(scene.hears_error(-32603), Said::Get);
    assert_eq!(scene.hears_state("completed", &json!({})), Said::Result);
    for pause in [1000, 1500, 2250, 3375, 5063, 7594] {
        assert_eq!(scene.hears_error(-32603), Said::Sleep(pause));
        assert_eq!(scene.sleeps(), (pause, Said::Get));
        assert_eq!(scene.hears_state("completed", &json!({})), Said::Result);
    }
    assert_eq!(scene.hears_error(-32603), Said::Failed(-32603));
}

#[test]
fn tsk_16_tex_12_a_task_may_be_in_any_state_when_it_is_created() {
    for (status, first) in [
        ("completed", Said::Result),
        ("failed", Said::Result),
        ("input_required", Said::Result),
        ("cancelled", Said::Cancelled),
    ] {
        assert_eq!(Scene::new(D, status, &json!({})).next(), first, "{status}");
        // Here the result comes with the state.
        assert_eq!(Scene::new(E, status, &json!({})).next(), Said::Get, "{status}");
    }
    for revision in [D, E] {
        assert_eq!(Scene::new(revision, "working", &json!({})).next(), Said::Sleep(1000));
    }
}

#[test]
fn tex_12_the_state_is_asked_for_until_it_has_the_end() {
    let end = |status: &str, more: Value| {
        let mut scene = Scene::new(E, "working", &every(E, 200));
        for _ in 0..5 {
            assert_eq!(scene.sleeps(), (200, Said::Get));
            assert_eq!(scene.hears_state("working", &every(E, 200)), Said::Sleep(200));
        }
        assert_eq!(scene.sleeps(), (200, Said::Get));
        scene.hears_state(status, &more)
    };
    let failed = json!({"content": [], "isError": true});
    assert_eq!(end("completed", json!({"result": failed})), Said::Done(failed));
    assert_eq!(end("failed", json!({"error": {"code": -7, "message": "?"}})), Said::Failed(-7));
    assert_eq!(end("failed", json!({})), Said::Failed(-32603));
    assert_eq!(end("cancelled", json!({})), Said::Cancelled);
    assert_eq!(end("completed", json!({})), Said::Invalid, "a result is required");
    assert_eq!(end("asleep", json!({})), Said::Invalid);
}

#[test]
fn tsk_25_tex_11_the_latest_interval_is_respected() {
    for revision in [D, E] {
        let mut scene = Scene::polled(revision, 5000);
        assert_eq!(scene.hears_state("working", &every(revision, 700)), Said::Sleep(700));
        assert_eq!(scene.sleeps(), (700, Said::Get));
        // Without one, the pauses grow.
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let Said::Sleep(pause) = scene.hears_state("working", &json!({})) else { panic!() };
            pauses.push(pause);
            assert_eq!(scene.sleeps(), (pause, Said::Get));
        }
        assert_eq!(pauses[..4], [1000, 1500, 2250, 3375]);
        assert_eq!(pauses[9..], [30_000; 3]);
    }
}

#[test]
fn tex_66_polling_has_a_floor_and_a_ceiling_and_jitter() {
    for revision in [D, E] {
        for (interval, pause) in [(0, 100), (1, 100), (100, 100), (u64::MAX, 3_600_000)] {
            let mut scene = Scene::new(revision, "working", &every(revision, interval));
            assert_eq!(scene.next(), Said::Sleep(pause), "{interval}");
            scene.now += pause;
            assert_eq!(scene.next(), Said::Get);
            // Up to an eighth more, never less.
            scene.random = u32::MAX;
            let slept = scene.hears_state("working", &every(revision, interval));
            let longest = pause + pause / 8;
            assert!(matches!(slept, Said::Sleep(ms) if ms > pause && ms <= longest), "{slept:?}");
        }
    }
}

#[test]
fn tex_66_faults_do_not_end_the_wait() {
    for revision in [D, E] {
        let mut scene = Scene::polled(revision, 200);
        let mut pauses = Vec::new();
        for _ in 0..20 {
            let Said::Sleep(pause) = scene.loses_it(&CallOutcome::TimedOut) else { panic!() };
            pauses.push(pause);
            assert_eq!(scene.sleeps(), (pause, Said::Get));
        }
        assert_eq!((pauses[0], pauses[19]), (1000, 30_000));
        // A server that is back is asked as before.
        assert_eq!(scene.hears_state("working", &every(revision, 200)), Said::Sleep(200));
        // An error that says nothing about the task is no end at first.
        assert_eq!(scene.sleeps(), (200, Said::Get));
        for _ in 1..TaskPoll::<4>::MAX_ERRORS {
            let Said::Sleep(pause) = scene.hears_error(-32603) else { panic!() };
            assert_eq!(scene.sleeps(), (pause, Said::Get));
        }
        assert_eq!(scene.hears_error(-32603), Said::Failed(-32603));
    }
}

#[test]
fn tsk_43_tsk_44_tex_66_a_task_that_the_server_does_not_know_is_gone() {
    for revision in [D, E] {
        for (code, why) in [(-32602, TaskGone::Unknown), (-32601, TaskGone::Unsupported)] {
            let mut scene = Scene::new(revision, "working", &json!({}));
            assert_eq!(scene.sleeps(), (1000, Said::Get));
            assert_eq!(scene.hears_error(code), Said::Gone(why));
        }
    }
    // A session that has begun in between may hide it.
    let mut scene = Scene::new(D, "working", &json!({}));
    scene.poll.session_changed();
    assert_eq!(scene.sleeps(), (1000, Said::Get));
    assert_eq!(scene.hears_error(-32602), Said::Gone(TaskGone::NewSession));
    // One that does not hide it is a session like the others.
    let mut scene = Scene::new(D, "working", &json!({}));
    scene.poll.session_changed();
    assert_eq!(scene.sleeps(), (1000, Said::Get));
    assert_eq!(scene.hears_state("working", &every(D, 100)), Said::Sleep(100));
    assert_eq!(scene.sleeps(), (100, Said::Get));
    assert_eq!(scene.hears_error(-32602), Said::Gone(TaskGone::Unknown));
}

#[test]
fn tex_65_the_time_of_a_task_ends_by_the_clients_own_clock() {
    let ttl = |revision: Revision, ttl: u64| {
        if revision.is_modern() { json!({ "ttlMs": ttl }) } else { json!({ "ttl": ttl }) }
    };
    for revision in [D, E] {
        let mut scene = Scene::new(revision, "working", &ttl(revision, 2600));
        assert_eq!(scene.sleeps(), (1000, Said::Get));
        // The request in flight does not keep it.
        scene.now = 3600;
        assert_eq!(scene.next(), Said::Gone(TaskGone::Expired));
        // The latest value counts, from the first answer on.
        let mut scene = Scene::new(revision, "working", &ttl(revision, 2600));
        assert_eq!(scene.sleeps(), (1000, Said::Get));
        assert_eq!(scene.poll.expires(), Some(Instant::from_millis(3600)));
        assert_eq!(scene.hears_state("working", &ttl(revision, 2200)), Said::Sleep(1200));
        assert_eq!(scene.poll.expires(), Some(Instant::from_millis(3200)));
        assert_eq!(scene.sleeps(), (1200, Said::Gone(TaskGone::Expired)));
        let mut scene = Scene::new(revision, "working", &ttl(revision, 2600));
        assert_eq!(scene.sleeps(), (1000, Said::Get));
        scene.hears_state("working", &json!({}));
        assert_eq!(scene.poll.expires(), None);
    }
    // The age of a task counts after a restart.
    let age = std::time::Duration::from_millis(2000);
    let mut scene = Scene::of(E, TaskPoll::resume(Instant::from_millis(1000), E, age));
    assert_eq!(scene.next(), Said::Get);
    assert_eq!(scene.hears_state("working", &ttl(E, 2600)), Said::Sleep(600));
    assert_eq!(scene.sleeps(), (600, Said::Gone(TaskGone::Expired)));
}

#[test]
fn tex_20_tex_21_tex_22_input_is_given_by_an_update() {
    let mut scene = Scene::asked(&["1", "2"]);
    scene.answers("1");
    scene.answers("2");
    assert_eq!(scene.next(), Said::Update);
    assert!(matches!(scene.is_updated(), Said::Sleep(_)));
    // The task is followed to its end.
    let (_, said) = scene.sleeps();
    assert_eq!(said, Said::Get);
    let done = scene.hears_state("completed", &json!({"result": {"content": []}}));
    assert_eq!(done, Said::Done(json!({"content": []})));
}

#[test]
fn tex_24_tex_25_tex_28_each_input_request_is_answered_once() {
    let mut scene = Scene::asked(&["1", "2"]);
    scene.answers("2");
    assert_eq!(scene.next(), Said::Update);
    scene.is_updated();
    // The acknowledgement may come before the state shows it: only the other key is new.
    assert!(matches!(scene.sleeps(), (_, Said::Get)));
    let asked = scene.hears_state("input_required", &form(&["1", "2"]));
    assert_eq!(asked, Said::Input(vec!["1".into()]));
    scene.answers("1");
    assert_eq!(scene.next(), Said::Update);
    scene.is_updated();
    assert!(matches!(scene.sleeps(), (_, Said::Get)));
    assert!(matches!(scene.hears_state("input_required", &form(&["2", "\u{31}"])), Said::Sleep(_)));
    // Keys that are no longer shown make room for others.
    for round in 0..20 {
        assert!(matches!(scene.sleeps(), (_, Said::Get)));
        let keys = [format!("{round}-a"), format!("{round}-b"), format!("{round}-c")];
        let shown: Vec<&str> = keys.iter().map(String::as_str).chain(["1"]).collect();
        // The key that is still shown is still known.
        let asked = scene.hears_state("input_required", &form(&shown));
        assert_eq!(asked, Said::Input(keys.to_vec()));
        keys.iter().for_each(|key| scene.answers(key));
        assert_eq!(scene.next(), Said::Update);
        scene.is_updated();
    }
    assert!(matches!(scene.sleeps(), (_, Said::Get)));
    let too_many = form(&["v", "w", "x", "y", "z"]);
    assert_eq!(scene.hears_state("input_required", &too_many), Said::Invalid);
}

#[test]
fn tex_25_a_lost_update_is_sent_again_without_a_new_question() {
    let mut scene = Scene::asked(&["1"]);
    scene.answers("1");
    assert_eq!(scene.next(), Said::Update);
    for pause in [1000, 1500] {
        assert_eq!(scene.loses_it(&CallOutcome::TimedOut), Said::Sleep(pause));
        // A notification in between shows the key still.
        assert_eq!(scene.is_told("input_required", &form(&["1"])), Said::Sleep(pause));
        let (_, said) = scene.sleeps();
        assert_eq!(said, Said::Update);
    }
    assert_eq!(scene.hears_error(-32602), Said::Gone(TaskGone::Unknown));
}

#[test]
fn tex_25_a_response_during_an_update_is_sent_with_the_next_one() {
    let mut scene = Scene::asked(&["1", "2"]);
    scene.answers("1");
    assert_eq!(scene.next(), Said::Update);
    scene.answers("2");
    assert_eq!(scene.next(), Said::Wait);
    assert_eq!(scene.is_updated(), Said::Update);
    let slept = scene.is_updated();
    assert!(matches!(slept, Said::Sleep(_)), "{slept:?}");
}

#[test]
fn tex_25_a_response_while_the_state_is_asked_for_is_sent_at_once() {
    let mut scene = Scene::asked(&["1", "2"]);
    scene.answers("1");
    assert_eq!(scene.next(), Said::Update);
    scene.is_updated();
    for status in ["input_required", "working"] {
        assert!(matches!(scene.sleeps(), (_, Said::Get)));
        scene.answers(status);
        assert_eq!(scene.next(), Said::Wait);
        assert_eq!(scene.hears_state(status, &form(&["2"])), Said::Update, "{status}");
        scene.is_updated();
    }
}

#[test]
fn tsk_33_notifications_end_the_wait_and_are_not_needed() {
    // 2026-07-28: the notification has what the state has.
    let mut scene = Scene::new(E, "working", &every(E, 400));
    scene.poll.set_listening(true);
    assert_eq!(scene.sleeps(), (400, Said::Get), "the first pause began before");
    assert_eq!(scene.hears_state("working", &every(E, 400)), Said::Sleep(1600));
    assert_eq!(scene.sleeps(), (1600, Said::Get), "slower, but not never");
    assert_eq!(scene.is_told("working", &every(E, 400)), Said::Wait);
    let result = json!({"content": []});
    let done = scene.is_told("completed", &json!({ "result": result }));
    assert_eq!(done, Said::Done(result));
    // 2025-11-25: it has the status alone.
    let mut scene = Scene::new(D, "working", &every(D, 400));
    assert_eq!(scene.is_told("completed", &json!({})), Said::Result);
    let mut scene = Scene::polled(D, 400);
    assert_eq!(scene.is_told("completed", &json!({})), Said::Wait);
    assert_eq!(scene.hears_state("completed", &json!({})), Said::Result);
    let mut scene = Scene::new(D, "input_required", &json!({}));
    assert_eq!(scene.next(), Said::Result);
    assert_eq!(scene.is_told("working", &json!({})), Said::Wait);
    assert_eq!(scene.is_told("cancelled", &json!({})), Said::Cancelled);
    // What cannot be read ends nothing.
    let mut scene = Scene::new(E, "working", &every(E, 400));
    assert_eq!(scene.is_told("completed", &json!({})), Said::Sleep(400));
}

#[test]
fn a_task_is_followed_without_allocating() {
    let text = state(E, "input_required", &form(&["1", "2"])).to_string();
    let told = raw(&text);
    let task: Task<'_> = told.to().expect("a task");
    let allocations = allocation_counter::measure(|| {
        let now = Instant::from_millis(0);
        let mut poll = TaskPoll::<4>::new(now, 7, E, &task);
        assert!(matches!(poll.next(now), PollStep::Get));
        let PollStep::Input(requests) = poll.on_outcome(now, 7, &CallOutcome::Result(told)) else {
            panic!()
        };
        requests.members().for_each(|(key, _)| poll.answered(key));
        assert!(matches!(poll.next(now), PollStep::Update));
    });
    assert_eq!(allocations.count_total, 0);
    assert!(size_of::<TaskPoll<4>>() <= 4 * 16 + 120, "{}", size_of::<TaskPoll<4>>());
}
