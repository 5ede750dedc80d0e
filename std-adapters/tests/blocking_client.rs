//! Calls of the blocking client that the server runs as tasks, in both dialects, under a virtual
//! clock, against a server that is a script.

#[path = "asynchronous_client/task_script.rs"]
mod task_script;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::types::{ElicitResult, Implementation, ProgressParams, TaskStatus};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientEvent, ClientFeatures, Instant, OwnedJson, RawJson, Revision,
    Revisions, TaskGone,
};
use mcp_sansio_adapters::blocking::client::{
    CallError, CallId, Client, ConnectionEnd, Connector, Error, Handler, InputResponse,
    OwnedInputRequest, TaskRef, Transferred, Transport,
};
use serde_json::{Value, json};

use task_script::{
    D, E, RELATED, check_hosted, content, created, error, form, hosted, methods, ok, open, slow,
    state, task,
};

const FEATURES: ClientFeatures = ClientFeatures::ELICITATION_FORM.with(ClientFeatures::TASKS);
const CLIENT: ClientConfig<'_> = ClientConfig::new(Implementation::new("client", "1"), FEATURES);
static OLD: ClientConfig<'_> = CLIENT.revisions(Revisions::only(D));
static HOST: ClientConfig<'_> = ClientConfig::new(
    Implementation::new("client", "1"),
    FEATURES
        .with(ClientFeatures::TASKS_ELICITATION)
        .with(ClientFeatures::TASKS_LIST)
        .with(ClientFeatures::TASKS_CANCEL),
)
.revisions(Revisions::only(D));
static NEW: ClientConfig<'_> = CLIENT.revisions(Revisions::only(E));

type Seen = Arc<Mutex<Vec<(String, Value)>>>;
type Script = Box<dyn FnMut(&Value) -> Vec<Value> + Send>;

/// A connection to a script. Where nothing is to be read, the time passes.
struct Line {
    revision: Revision,
    clock: Arc<AtomicU64>,
    seen: Seen,
    script: Script,
    heard: Vec<u8>,
    said: VecDeque<u8>,
}

impl Transport for Line {
    fn name(&self) -> String {
        "lab".to_owned()
    }

    fn open(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        self.heard.extend_from_slice(out);
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            let message: Value = serde_json::from_slice(&line).unwrap();
            let said = open(self.revision, &message).unwrap_or_else(|| {
                let name = message["method"].as_str().unwrap_or("-").to_owned();
                self.seen.lock().unwrap().push((name, message["params"].clone()));
                (self.script)(&message)
            });
            said.iter().for_each(|message| self.said.extend(format!("{message}\n").bytes()));
        }
        let mut done = Transferred { written: out.len(), ..Transferred::default() };
        for (to, from) in into.iter_mut().zip(std::iter::from_fn(|| self.said.pop_front())) {
            *to = from;
            done.read += 1;
        }
        if done.read == 0 && done.written == 0 {
            let waits = timeout.expect("the client waits for something that never comes");
            self.clock.fetch_add(u64::try_from(waits.as_millis()).unwrap(), Ordering::Relaxed);
        }
        Ok(done)
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        Ok(ConnectionEnd::new(self.name()))
    }
}

/// Answers questions, and keeps the progress of calls.
struct Person(Arc<Mutex<Vec<String>>>);

impl Handler for Person {
    fn on_input_request(&mut self, request: &OwnedInputRequest) -> InputResponse {
        if format!("{:?}", request.as_input_request()).contains("refuse me") {
            return request.refuse();
        }
        request.respond(&ElicitResult::accept(RawJson::from_static(r#"{"name":"Ada"}"#)))
    }

    fn on_event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        if let ClientEvent::Progress { params, .. } = event {
            let params: ProgressParams<'_> = params.to().unwrap();
            let message = params.message.map(|text| text.chars().collect::<String>());
            let message = message.unwrap_or_else(|| params.progress.as_f64().to_string());
            self.0.lock().unwrap().push(format!("{} {message}", about.is_some()));
        }
    }
}

struct Stage {
    client: Client<'static>,
    clock: Arc<AtomicU64>,
    seen: Seen,
    reports: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    fn new(revision: Revision, script: impl FnMut(&Value) -> Vec<Value> + Send + 'static) -> Self {
        Self::with(if revision.is_modern() { &NEW } else { &OLD }, revision, script)
    }

    fn with(
        config: &'static ClientConfig<'static>,
        revision: Revision,
        script: impl FnMut(&Value) -> Vec<Value> + Send + 'static,
    ) -> Self {
        let (clock, seen, reports) = <(Arc<AtomicU64>, Seen, Arc<Mutex<Vec<String>>>)>::default();
        let line = Line {
            revision,
            clock: Arc::clone(&clock),
            seen: Arc::clone(&seen),
            script: Box::new(script),
            heard: Vec::new(),
            said: VecDeque::new(),
        };
        let now = Arc::clone(&clock);
        let client = Connector::new(config)
            .clock(move || Instant::from_millis(now.load(Ordering::Relaxed)))
            .handler(Person(Arc::clone(&reports)))
            .connect(line)
            .unwrap();
        Self { client, clock, seen, reports }
    }

    fn methods(&self) -> Vec<String> {
        methods(&self.seen.lock().unwrap()).into_iter().map(str::to_owned).collect()
    }

    fn last(&self) -> (String, Value) {
        self.seen.lock().unwrap().last().cloned().unwrap()
    }
}

fn text(result: &OwnedJson) -> String {
    let content = result.as_raw().get("content").and_then(|content| content.elements().next());
    content.and_then(|block| block.get("text")).and_then(RawJson::as_string).unwrap().to_string()
}

#[test]
fn tex_11_tex_12_tsk_25_tsk_26_a_call_waits_for_the_end_of_its_task() {
    for revision in [D, E] {
        let mut stage = Stage::new(revision, slow(revision));
        let result = stage.client.call_tool("slow", &RawJson::EMPTY).unwrap();
        assert_eq!(text(&result), "done");
        let polls = ["tasks/get"; 3];
        if revision.is_modern() {
            assert_eq!(stage.methods(), [&["tools/call"], &polls[..]].concat());
        } else {
            let expected = [&["tools/call"; 2], &polls[..], &["tasks/result"]].concat();
            assert_eq!(stage.methods(), expected);
        }
        // Three intervals of 100 ms and the jitter of each, by the clock of the client.
        let time = stage.clock.load(Ordering::Relaxed);
        assert!((300..340).contains(&time), "{time}");
    }
}

#[test]
fn progress_of_a_call_is_reported_in_order_and_before_the_result_and_of_no_other() {
    let script = |message: &Value| {
        let Some(token) = message["params"]["_meta"].get("progressToken") else {
            return vec![ok(message, content("plain"))];
        };
        let step = |n: u32| {
            let params = json!({"progressToken": token, "progress": n, "total": 2});
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        };
        vec![step(1), step(2), ok(message, content("done"))]
    };
    let mut stage = Stage::new(D, script);
    let other = CallOptions::new().progress(true);
    let other = stage.client.start("tools/call", &json_of("other"), other).unwrap();
    let mut told = Vec::new();
    let options = CallOptions::new();
    let result = stage.client.call_tool_with("steps", &RawJson::EMPTY, options, |progress| {
        told.push(progress.progress.as_i64().unwrap());
    });
    assert_eq!((text(&result.unwrap()).as_str(), told), ("done", vec![1, 2]));
    assert_eq!(stage.reports.lock().unwrap().len(), 4, "the handler gets all");
    assert_eq!(text(&stage.client.wait(other).unwrap()), "done");
    assert_eq!(text(&stage.client.call_tool("plain", &RawJson::EMPTY).unwrap()), "plain");
}

fn json_of(tool: &str) -> OwnedJson {
    RawJson::parse(&json!({ "name": tool }).to_string()).unwrap().into()
}

#[test]
fn tsk_05_tsk_07_a_listed_tool_is_called_as_it_must_be() {
    let listed = json!({"tools": [
        {"name": "slow", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}},
        {"name": "quick", "inputSchema": {"type": "object"}},
    ]});
    let mut slow = slow(D);
    let mut stage = Stage::new(D, move |message| match message["method"].as_str() {
        Some("tools/list") => vec![ok(message, listed.clone())],
        Some("tools/call") if message["params"].get("task").is_none() => {
            vec![ok(message, content("plain"))]
        }
        _ => slow(message),
    });
    stage.client.list_tools().unwrap();
    let result = stage.client.call_tool("slow", &RawJson::EMPTY).unwrap();
    assert_eq!(text(&result), "done");
    assert_eq!(stage.methods()[..2], ["tools/list", "tools/call"]);
    let call = stage.client.call_tool_as_task("quick", &RawJson::EMPTY, None).unwrap();
    assert_eq!(stage.client.detach(call).unwrap(), None);
    assert_eq!(text(&stage.client.wait(call).unwrap()), "plain");
}

#[test]
fn canc_10_tex_33_a_call_that_is_cancelled_cancels_its_task() {
    for revision in [D, E] {
        let mut stage = Stage::new(revision, slow(revision));
        let call = stage.client.call_tool_as_task("slow", &RawJson::EMPTY, None).unwrap();
        stage.client.run_for(Duration::from_millis(150)).unwrap();
        assert_eq!(stage.client.task_status(call), Some(TaskStatus::Working));
        assert_eq!(stage.client.task_message(call), Some("step 1"));
        assert!(stage.client.cancel(call, None).unwrap());
        let (method, params) = stage.last();
        assert_eq!((method.as_str(), &params["taskId"]), ("tasks/cancel", &json!("t-1")));
        assert!(matches!(stage.client.wait(call), Err(Error::UnknownCall)));
    }
    let mut stage = Stage::new(E, slow(E));
    let options = CallOptions::new().limit(Duration::from_millis(150));
    let params = OwnedJson::new(&RawJson::from_static(r#"{"name":"slow"}"#), E).unwrap();
    let result = stage.client.request("tools/call", &params, options);
    assert!(matches!(result, Err(Error::Call { error: CallError::TimedOut, .. })), "{result:?}");
    assert_eq!(stage.clock.load(Ordering::Relaxed), 150);
    stage.client.run_for(Duration::from_millis(10)).unwrap();
    assert_eq!(stage.last().0, "tasks/cancel");
}

#[test]
fn tex_13_a_task_is_resumed_by_another_connection() {
    for revision in [D, E] {
        let mut stage = Stage::new(revision, slow(revision));
        let call = stage.client.call_tool_as_task("slow", &RawJson::EMPTY, None).unwrap();
        let kept = stage.client.detach(call).unwrap().unwrap();
        stage.client.run_for(Duration::from_secs(1)).unwrap();
        assert_eq!(stage.methods(), ["tools/call"]);
        let kept = TaskRef::from_json(&kept.to_json()).unwrap();
        let mut stage = Stage::new(revision, slow(revision));
        let call = stage.client.resume(&kept).unwrap();
        assert_eq!(text(&stage.client.wait(call).unwrap()), "done");
        assert_eq!(stage.methods()[0], "tasks/get");
        let renamed = kept.to_json().replacen("\"lab\"", "\"other\"", 1);
        let refused = stage.client.resume(&TaskRef::from_json(&renamed).unwrap());
        assert!(
            matches!(refused, Err(Error::Call { error: CallError::OtherServer, .. })),
            "{refused:?}"
        );
        let other = if revision == D { E } else { D };
        let mut stage = Stage::new(other, slow(other));
        assert!(matches!(
            stage.client.resume(&kept),
            Err(Error::Call { error: CallError::OtherServer, .. })
        ));
    }
}

#[test]
fn tex_21_tex_24_tex_25_tex_28_the_handler_answers_what_a_task_asks_once() {
    let mut polls = 0;
    let mut stage = Stage::new(E, move |message| {
        let asks = |keys: &[&str]| {
            let requests: serde_json::Map<String, Value> =
                keys.iter().map(|key| ((*key).to_owned(), form(key))).collect();
            json!({ "inputRequests": requests })
        };
        vec![match message["method"].as_str().unwrap() {
            "tools/call" => ok(message, created(E)),
            "tasks/get" => {
                polls += 1;
                match polls {
                    1 => ok(message, state(E, "input_required", asks(&["1"]))),
                    2 => ok(message, state(E, "input_required", asks(&["1", "2"]))),
                    _ => ok(message, state(E, "completed", json!({"result": content("done")}))),
                }
            }
            "tasks/update" => ok(message, json!({"resultType": "complete"})),
            other => panic!("{other}"),
        }]
    });
    let result = stage.client.call_tool("ask", &RawJson::EMPTY).unwrap();
    assert_eq!(text(&result), "done");
    let seen = stage.seen.lock().unwrap();
    let updates = seen.iter().filter(|(method, _)| method == "tasks/update");
    let updates: Vec<&Value> = updates.map(|(_, params)| &params["inputResponses"]).collect();
    let ada = json!({"action": "accept", "content": {"name": "Ada"}});
    assert_eq!(updates, [&json!({"1": ada}), &json!({"2": ada})]);
}

#[test]
fn tex_23_input_that_the_handler_refuses_ends_the_call() {
    let mut stage = Stage::new(E, move |message| {
        vec![match message["method"].as_str().unwrap() {
            "tools/call" => ok(message, created(E)),
            "tasks/get" => {
                let asks = json!({"inputRequests": {"1": form("refuse me")}});
                ok(message, state(E, "input_required", asks))
            }
            "tasks/cancel" => ok(message, json!({"resultType": "complete"})),
            other => panic!("{other}"),
        }]
    });
    let result = stage.client.call_tool("ask", &RawJson::EMPTY);
    assert!(
        matches!(result, Err(Error::Call { error: CallError::InputRefused { .. }, .. })),
        "{result:?}"
    );
    stage.client.run_for(Duration::from_millis(10)).unwrap();
    assert_eq!(stage.methods(), ["tools/call", "tasks/get", "tasks/cancel"]);
}

#[test]
fn tsk_19_tsk_20_tsk_30_a_request_of_a_task_is_answered_with_its_id() {
    let mut waiting = Value::Null;
    let mut stage = Stage::new(D, move |message| match message["method"].as_str() {
        Some("tools/call") => vec![ok(message, created(D))],
        Some("tasks/get") => vec![ok(message, state(D, "input_required", json!({})))],
        Some("tasks/result") => {
            waiting = message.clone();
            let mut asks = form("Who?");
            asks["params"]["_meta"] = json!({RELATED: {"taskId": "t-1"}});
            (asks["jsonrpc"], asks["id"]) = (json!("2.0"), json!("q"));
            vec![asks]
        }
        None => {
            assert_eq!(message["result"]["_meta"], json!({RELATED: {"taskId": "t-1"}}));
            assert_eq!(message["result"]["content"], json!({"name": "Ada"}));
            vec![ok(&waiting, content("done"))]
        }
        other => panic!("{other:?}"),
    });
    let call = stage.client.call_tool_as_task("ask", &RawJson::EMPTY, None).unwrap();
    assert_eq!(text(&stage.client.wait(call).unwrap()), "done");
}

#[test]
fn prog_09_progress_of_a_task_goes_to_its_call() {
    let mut stage = Stage::new(D, move |message| match message["method"].as_str().unwrap() {
        "tools/call" => vec![ok(message, created(D))],
        "tasks/get" => {
            let meta = json!({RELATED: {"taskId": "t-1"}});
            let report = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 2, "progress": 0.5, "_meta": meta}});
            let done = json!({"statusMessage": "nearly there"});
            vec![report, ok(message, state(D, "completed", done))]
        }
        "tasks/result" => vec![ok(message, content("done"))],
        other => panic!("{other}"),
    });
    let call = stage.client.call_tool_as_task("slow", &RawJson::EMPTY, None).unwrap();
    assert_eq!(text(&stage.client.wait(call).unwrap()), "done");
    assert_eq!(*stage.reports.lock().unwrap(), ["true 0.5", "true nearly there"]);
}

#[test]
fn tsk_33_a_notification_ends_the_wait_at_once() {
    for revision in [D, E] {
        let mut stage =
            Stage::new(revision, move |message| match message["method"].as_str().unwrap() {
                "tools/call" => {
                    let (method, more) = match revision.is_modern() {
                        true => ("notifications/tasks", json!({"result": content("told")})),
                        false => ("notifications/tasks/status", json!({})),
                    };
                    let task = task(revision, "completed", more);
                    let told = json!({"jsonrpc": "2.0", "method": method, "params": task});
                    vec![ok(message, created(revision)), told]
                }
                "tasks/result" => vec![ok(message, content("told"))],
                other => panic!("{other}"),
            });
        let call = stage.client.call_tool_as_task("slow", &RawJson::EMPTY, None).unwrap();
        assert_eq!(text(&stage.client.wait(call).unwrap()), "told");
        assert_eq!(stage.clock.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn tsk_43_tsk_57_tex_66_a_task_that_is_gone_or_cancelled_is_an_error_of_its_own() {
    for revision in [D, E] {
        let mut slow_server = slow(revision);
        let mut stage =
            Stage::new(revision, move |message| match message["method"].as_str().unwrap() {
                "tasks/get" => vec![error(message, -32602)],
                _ => slow_server(message),
            });
        let result = stage.client.call_tool("slow", &RawJson::EMPTY);
        assert!(
            matches!(
                result,
                Err(Error::Call { error: CallError::TaskGone(TaskGone::Unknown), .. })
            ),
            "{result:?}"
        );
        let mut slow_server = slow(revision);
        let mut stage =
            Stage::new(revision, move |message| match message["method"].as_str().unwrap() {
                "tasks/get" => vec![ok(message, state(revision, "cancelled", json!({})))],
                _ => slow_server(message),
            });
        let result = stage.client.call_tool("slow", &RawJson::EMPTY);
        assert!(
            matches!(result, Err(Error::Call { error: CallError::TaskCancelled, .. })),
            "{result:?}"
        );
    }
}

#[test]
fn the_error_of_a_task_that_failed_is_that_of_its_call() {
    for revision in [D, E] {
        let refusal = json!({"code": -32000, "message": "no paper"});
        let mut slow = slow(revision);
        let script = move |message: &Value| match message["method"].as_str().unwrap() {
            "tasks/get" => {
                let failed = state(revision, "failed", json!({"error": refusal}));
                vec![ok(message, failed)]
            }
            "tasks/result" => {
                vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": refusal})]
            }
            _ => slow(message),
        };
        let mut stage = Stage::new(revision, script);
        let result = stage.client.call_tool("slow", &RawJson::EMPTY);
        let Err(Error::Call { error: CallError::Server(error), .. }) = result else {
            panic!("{result:?}")
        };
        assert_eq!((error.code, error.message.as_str()), (-32000, "no paper"));
    }
}

#[test]
fn tex_65_tex_66_a_silent_server_is_asked_until_the_time_of_the_task_is_over() {
    for revision in [D, E] {
        let mut slow_server = slow(revision);
        let mut stage =
            Stage::new(revision, move |message| match message["method"].as_str().unwrap() {
                "tasks/get" | "notifications/cancelled" => Vec::new(),
                _ => slow_server(message),
            });
        let result = stage.client.call_tool("slow", &RawJson::EMPTY);
        assert!(
            matches!(
                result,
                Err(Error::Call { error: CallError::TaskGone(TaskGone::Expired), .. })
            ),
            "{result:?}"
        );
        assert_eq!(stage.clock.load(Ordering::Relaxed), 60_000);
    }
}

#[test]
fn tsk_60_a_client_runs_an_elicitation_as_a_task() {
    let mut stage = Stage::with(&HOST, D, hosted());
    // A new connection has none of the tasks of the last one.
    for _ in 0..2 {
        let said = stage.client.request("own/start", &RawJson::EMPTY, CallOptions::new()).unwrap();
        let said: Value = serde_json::from_str(said.as_raw().as_str()).unwrap();
        check_hosted(&said, "completed");
        stage.client.reconnect().unwrap();
    }
}
