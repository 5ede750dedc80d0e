//! Tasks of a server: results that create one, notifications, requests.

use mcp_sansio::types::{
    CallToolParams, Implementation, SubscriptionFilter, Task, TaskParams, TaskStatus, Text,
};
use mcp_sansio::{
    CallOptions, CallOutcome, Changed, ClientConfig, ClientEvent, ClientFeatures, Instant,
    NotAllowed, RawJson, Revision, SendError, TxBuffer, Violation, methods,
};
use serde_json::{Value, json};
use std::time::Duration;

use super::support::{EVERYTHING, NOW, Peer, REVISIONS, outcome_of};

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("c", "1"), EVERYTHING.with(ClientFeatures::TASKS))
        .send_client_info(false);

const D: Revision = Revision::V2025_11_25;
const E: Revision = Revision::V2026_07_28;

fn peer(revision: Revision) -> Peer {
    Peer::with(&CONFIG, revision, &declared())
}

fn declared() -> Value {
    json!({"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}})
}

fn task(revision: Revision, status: &str) -> Value {
    let mut task = json!({"taskId": "t-1", "status": status, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"});
    let [ttl, poll] =
        if revision.is_modern() { ["ttlMs", "pollIntervalMs"] } else { ["ttl", "pollInterval"] };
    task[ttl] = json!(60_000);
    task[poll] = json!(500);
    task
}

/// The result that creates a task.
fn created(revision: Revision) -> Value {
    let mut task = task(revision, "working");
    if !revision.is_modern() {
        return json!({ "task": task });
    }
    task["resultType"] = json!("task");
    task
}

/// Sends a call, and returns it.
fn call(peer: &mut Peer, options: CallOptions) -> Value {
    peer.sends_with(methods::TOOLS_CALL, &CallToolParams::new("slow"), options)
}

fn answers(peer: &mut Peer, sent: &Value, result: &Value, check: impl Fn(CallOutcome<'_>)) {
    let mut seen = false;
    peer.is_answered(sent, "result", result, |_, event, _| {
        check(outcome_of(event));
        seen = true;
    });
    assert!(seen, "the call has ended");
}

fn is_a_result(outcome: CallOutcome<'_>) {
    assert!(matches!(outcome, CallOutcome::Result(_)), "{outcome:?}");
}

fn is_invalid(why: Violation) -> impl Fn(CallOutcome<'_>) {
    move |outcome| {
        assert!(matches!(outcome, CallOutcome::Invalid(found) if found == why), "{outcome:?}");
    }
}

fn is_the_task(outcome: CallOutcome<'_>) {
    let CallOutcome::Task(task) = outcome else { panic!("{outcome:?}") };
    let task: Task<'_> = task.to().expect("it was checked");
    assert_eq!((task.task_id == "t-1", task.status), (true, TaskStatus::Working));
    assert_eq!((task.ttl_ms, task.poll_interval_ms), (Some(60_000), Some(500)));
}

#[test]
fn tsk_02_a_call_asks_for_a_task_and_gets_it() {
    let mut peer = peer(D);
    let ttl = Some(Duration::from_secs(90));
    let sent = call(&mut peer, CallOptions::new().task(ttl));
    assert_eq!(sent["params"], json!({"name": "slow", "task": {"ttl": 90_000}}));
    answers(&mut peer, &sent, &created(D), is_the_task);
    let sent = call(&mut peer, CallOptions::new().task(None));
    assert_eq!(sent["params"]["task"], json!({}));
    // A result without a task is not what was asked for.
    answers(&mut peer, &sent, &json!({"content": []}), is_invalid(Violation::InvalidResult));
    // Nor is a task that was not asked for one.
    let sent = call(&mut peer, CallOptions::new());
    assert!(sent["params"].get("task").is_none());
    answers(&mut peer, &sent, &created(D), is_a_result);
}

#[test]
fn tsk_03_tsk_04_no_task_is_asked_of_a_server_that_has_none() {
    let (slow, wants) = (CallToolParams::new("slow"), CallOptions::new().task(None));
    let no = |rule| Err(SendError::NotAllowed(rule));
    for more in [
        json!({}),
        json!({"tasks": {}}),
        json!({"tasks": {"list": {}, "cancel": {}, "requests": {}}}),
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}),
    ] {
        let mut peer = Peer::with(&CONFIG, D, &more);
        for (method, options) in [
            (methods::TOOLS_CALL, wants),
            (methods::TASKS_GET, CallOptions::new()),
            (methods::TASKS_RESULT, CallOptions::new()),
            (methods::TASKS_LIST, CallOptions::new()),
        ] {
            let tried = peer.tries(method, &slow, options);
            assert_eq!(tried, no(NotAllowed::Capability), "{method} {more}");
        }
    }
    for revision in [REVISIONS[0], REVISIONS[1], REVISIONS[2]] {
        let tried = peer(revision).tries(methods::TOOLS_CALL, &slow, wants);
        assert_eq!(tried, no(NotAllowed::Revision), "{revision}");
    }
    assert_eq!(peer(D).tries(methods::PROMPTS_GET, &slow, wants), no(NotAllowed::Method));
}

#[test]
fn cap_23_only_a_server_that_declared_it_is_told_to_cancel_a_task() {
    let more = json!({"tasks": {"requests": {"tools": {"call": {}}}}});
    let mut peer = Peer::with(&CONFIG, D, &more);
    for (method, allowed) in [
        (methods::TASKS_GET, Ok(())),
        (methods::TASKS_CANCEL, Err(SendError::NotAllowed(NotAllowed::Capability))),
    ] {
        let tried = peer.tries(method, &TaskParams::new("t-1"), CallOptions::new());
        assert_eq!(tried, allowed, "{method}");
    }
}

#[test]
fn tsk_02_each_dialect_has_its_own_requests() {
    let of = |revision, method| {
        peer(revision).tries(method, &TaskParams::new("t-1"), CallOptions::new())
    };
    let no = Err(SendError::NotAllowed(NotAllowed::Revision));
    for method in [methods::TASKS_GET, methods::TASKS_CANCEL] {
        assert_eq!((of(D, method), of(E, method)), (Ok(()), Ok(())), "{method}");
    }
    for method in [methods::TASKS_RESULT, methods::TASKS_LIST] {
        assert_eq!((of(D, method), of(E, method)), (Ok(()), no), "{method}");
    }
    assert_eq!((of(D, methods::TASKS_UPDATE), of(E, methods::TASKS_UPDATE)), (no, Ok(())));
}

#[test]
fn tsk_32_requests_about_a_task_have_no_related_task() {
    for method in [methods::TASKS_GET, methods::TASKS_RESULT, methods::TASKS_CANCEL] {
        let sent = peer(D).sends(method, &TaskParams::new("t-1"));
        assert_eq!(sent["params"], json!({"taskId": "t-1"}), "{method}");
    }
}

#[test]
fn tex_02_a_call_that_declares_tasks_takes_a_task_or_a_result() {
    let mut peer = peer(E);
    for options in [CallOptions::new(), CallOptions::new().task(None)] {
        let sent = call(&mut peer, options);
        // The server decides: no member asks for it.
        assert!(sent["params"].get("task").is_none());
        let meta = &sent["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(meta["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
        answers(&mut peer, &sent, &created(E), is_the_task);
    }
    let sent = call(&mut peer, CallOptions::new());
    answers(&mut peer, &sent, &json!({"resultType": "complete", "content": []}), is_a_result);
    // A task without its members is none.
    let sent = call(&mut peer, CallOptions::new());
    answers(
        &mut peer,
        &sent,
        &json!({"resultType": "task", "taskId": "t"}),
        is_invalid(Violation::InvalidResult),
    );
}

#[test]
fn tex_02_a_task_that_was_not_declared_is_invalid() {
    let mut peer = Peer::new(E);
    let sent = call(&mut peer, CallOptions::new());
    answers(&mut peer, &sent, &created(E), is_invalid(Violation::UnknownResultType));
}

#[test]
fn tex_03_a_task_as_the_result_of_another_method_is_invalid() {
    for method in ["prompts/get", "resources/read", "tools/list", "tasks/update", "own/method"] {
        let mut peer = peer(E);
        peer.asks(method, &json!({}), &created(E), |_, event, _| {
            is_invalid(Violation::UnknownResultType)(outcome_of(event));
        });
    }
    // Servers of the draft give this type to the state of a task.
    for kind in ["complete", "task"] {
        let mut state = task(E, "working");
        state["resultType"] = json!(kind);
        peer(E).asks("tasks/get", &json!({"taskId": "t-1"}), &state, |_, event, _| {
            is_a_result(outcome_of(event));
        });
    }
}

#[test]
fn tex_23_tex_62_a_task_asks_only_for_what_the_client_declared() {
    static NO_SAMPLING: ClientConfig<'static> = ClientConfig::new(
        Implementation::new("c", "1"),
        ClientFeatures::ELICITATION_FORM.with(ClientFeatures::TASKS),
    );
    let form = json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}});
    let sampling =
        json!({"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
    let unknown = json!({"method": "shell/run", "params": {}});
    for (requests, is_allowed) in [
        (json!({"1": form}), true),
        (json!({"1": form, "2": sampling}), false),
        (json!({"2": unknown}), false),
    ] {
        let mut state = task(E, "input_required");
        state["resultType"] = json!("complete");
        state["inputRequests"] = requests.clone();
        let mut peer = Peer::with(&NO_SAMPLING, E, &json!({}));
        peer.asks("tasks/get", &json!({"taskId": "t-1"}), &state, |_, event, _| {
            match outcome_of(event) {
                CallOutcome::Result(_) => assert!(is_allowed, "{requests}"),
                CallOutcome::Invalid(Violation::InputNotAllowed) => assert!(!is_allowed),
                other => panic!("{other:?}"),
            }
        });
        let told = json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": state});
        peer.hears(&told, |_, event, _| match event {
            ClientEvent::Changed { what: Changed::Task(_), .. } => assert!(is_allowed),
            ClientEvent::Notification { .. } => assert!(!is_allowed),
            other => panic!("{other:?}"),
        });
    }
}

#[test]
fn tsk_48_the_state_of_a_task_is_told_in_the_words_of_the_dialect() {
    let names = [(D, "notifications/tasks/status"), (E, "notifications/tasks")];
    for revision in REVISIONS {
        for (of, method) in names {
            let told = json!({"jsonrpc": "2.0", "method": method, "params": task(of, "completed")});
            let mut events = 0;
            peer(revision).hears(&told, |_, event, _| {
                events += 1;
                match event {
                    ClientEvent::Changed { listen: None, what: Changed::Task(told) } => {
                        assert_eq!(revision, of);
                        let told: Task<'_> = told.to().expect("it was checked");
                        assert_eq!(told.status, TaskStatus::Completed);
                    }
                    ClientEvent::Notification { .. } => assert_ne!(revision, of),
                    other => panic!("{other:?}"),
                }
            });
            assert_eq!(events, 1);
        }
    }
    // What is not the state of a task is any notification.
    let told = json!({"jsonrpc": "2.0", "method": names[1].1, "params": {"taskId": "t-1"}});
    peer(E).hears(&told, |_, event, _| {
        assert!(matches!(event, ClientEvent::Notification { .. }), "{event:?}");
    });
}

#[test]
fn a_listen_tells_about_tasks() {
    let mut peer = peer(E);
    let ids = [Text::new("t-1")];
    let filter = SubscriptionFilter::new().task_ids(&ids);
    let mut listen = None;
    let sent = peer.does(|client, tx| {
        listen = client.listen(NOW, &filter, CallOptions::new(), tx).ok();
    });
    assert_eq!(sent[0]["params"]["notifications"], json!({"taskIds": ["t-1"]}));
    let mut params = task(E, "working");
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": sent[0]["id"]});
    let told = json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": params});
    peer.hears(&told, |_, event, _| {
        let ClientEvent::Changed { listen: of, what: Changed::Task(_) } = event else {
            panic!("{event:?}")
        };
        assert_eq!(of, listen);
    });
}

#[test]
fn prog_09_the_token_of_a_call_stays_with_its_task() {
    let mut peer = peer(D);
    let options = CallOptions::new().progress(true).task(None);
    let sent = call(&mut peer, options);
    let token = sent["params"]["_meta"]["progressToken"].clone();
    answers(&mut peer, &sent, &created(D), is_the_task);
    let related = json!({"io.modelcontextprotocol/related-task": {"taskId": "t-1"}});
    let progress = |token: &Value, meta: &Value| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 0.5, "_meta": meta}});
    let mut seen = 0;
    peer.hears(&progress(&token, &related), |_, event, _| {
        let ClientEvent::TaskProgress { task_id, params } = event else { panic!("{event:?}") };
        assert!(task_id == "t-1" && params.get("progress").is_some());
        seen += 1;
    });
    // A late report of a call without a task, and one with a token that was never given.
    for late in [progress(&token, &json!({})), progress(&json!(99), &related)] {
        peer.hears(&late, |_, event, _| panic!("{event:?}"));
    }
    assert_eq!(seen, 1);
}

#[test]
fn tsk_28_the_request_for_a_result_has_no_timeout() {
    let later = Instant::from_millis(u64::MAX / 2);
    let timed_out = |options| {
        let mut client = peer(D).client;
        let mut tx = TxBuffer::with_limit(Vec::new(), 1 << 20);
        let params = TaskParams::new("t-1");
        client.request(NOW, methods::TASKS_RESULT, &params, options, &mut tx).expect("it is sent");
        let due = client.poll_timeout().is_some();
        let event = client.handle_timeout(later, &mut tx).expect("there is room");
        assert_eq!(due, event.is_some());
        due
    };
    assert!(!timed_out(CallOptions::new()));
    assert!(timed_out(CallOptions::new().timeout(Duration::from_secs(9))));
    assert!(timed_out(CallOptions::new().limit(Duration::from_secs(9))));
}

#[test]
fn tsk_28_the_request_of_a_server_for_a_result_has_no_timeout() {
    static HOST: ClientConfig<'static> = ClientConfig::new(
        Implementation::new("c", "1"),
        ClientFeatures::ELICITATION_FORM.with(ClientFeatures::TASKS_ELICITATION),
    )
    .request_timeout(Duration::from_secs(9));
    for (method, params, has_timeout) in [
        ("elicitation/create", json!({"message": "Who?"}), true),
        (methods::TASKS_GET, json!({"taskId": "t-1"}), true),
        (methods::TASKS_RESULT, json!({"taskId": "t-1"}), false),
    ] {
        let mut peer = Peer::with(&HOST, D, &json!({}));
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut asked = false;
        peer.hears(&request, |client, event, _| {
            assert!(matches!(event, ClientEvent::Request(_)), "{event:?}");
            assert_eq!(client.poll_timeout().is_some(), has_timeout, "{method}");
            asked = true;
        });
        assert!(asked, "{method}");
    }
}

#[test]
fn a_member_that_the_application_wrote_is_not_written_again() {
    let task = RawJson::from_static(r#"{"name":"slow","task":{}}"#);
    let result = peer(D).tries(methods::TOOLS_CALL, &task, CallOptions::new().task(None));
    assert!(matches!(result, Err(SendError::Invalid(_))), "{result:?}");
}
