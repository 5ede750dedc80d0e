//! Calls of the blocking client that the server runs as tasks, in both dialects, under a virtual
//! clock, against a server that is a script.

#[path = "../../tests/tests/stdio/client/scripted.rs"]
mod scripted;
#[path = "asynchronous_client/task_script.rs"]
mod task_script;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::types::{Implementation, ProgressParams, SubscriptionFilter, TaskStatus, Text};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientEvent, ClientFeatures, OwnedJson, RawJson, Revision, Revisions,
};
use mcp_sansio_adapters::blocking::client::{
    CallError, CallId, Client, Connector, Error, Handler, InputResponse, OwnedInputRequest, TaskRef,
};
use serde_json::{Value, json};

use scripted::{Scene, Scripted};
use task_script::{D, E, content, methods, numbers, ok, open, slow};

const FEATURES: ClientFeatures = ClientFeatures::ELICITATION_FORM.with(ClientFeatures::TASKS);
const CLIENT: ClientConfig<'_> = ClientConfig::new(Implementation::new("client", "1"), FEATURES);
static OLD: ClientConfig<'_> = CLIENT.revisions(Revisions::only(D));
static NEW: ClientConfig<'_> = CLIENT.revisions(Revisions::only(E));

type Seen = Arc<Mutex<Vec<(String, Value)>>>;
/// Keeps the progress of calls.
struct Person(Arc<Mutex<Vec<String>>>);

impl Handler for Person {
    fn on_input_request(&mut self, request: &OwnedInputRequest) -> InputResponse {
        request.refuse()
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
    scene: Arc<Scene>,
    seen: Seen,
    reports: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    fn new(
        revision: Revision,
        mut script: impl FnMut(&Value) -> Vec<Value> + Send + 'static,
    ) -> Self {
        let (scene, seen, reports) = <(Arc<Scene>, Seen, Arc<Mutex<Vec<String>>>)>::default();
        let (time, kept) = (Arc::clone(&scene), Arc::clone(&seen));
        let server = Scripted::new(&scene, move |message| {
            open(revision, message).unwrap_or_else(|| {
                let name = message["method"].as_str().unwrap_or("-").to_owned();
                kept.lock().unwrap().push((name, message["params"].clone()));
                script(message)
            })
        });
        let client = Connector::new(if revision.is_modern() { &NEW } else { &OLD })
            .clock(move || time.now())
            .handler(Person(Arc::clone(&reports)))
            .connect(Scripted { pace: 0, ..server })
            .unwrap();
        Self { client, scene, seen, reports }
    }

    fn methods(&self) -> Vec<String> {
        methods(&self.seen.lock().unwrap()).into_iter().map(str::to_owned).collect()
    }

    fn last(&self) -> (String, Value) {
        self.seen.lock().unwrap().last().cloned().unwrap()
    }
}

fn text(result: &OwnedJson) -> String {
    let content = result.as_json().get("content").and_then(|content| content.elements().next());
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
        let time = stage.scene.clock.load(Ordering::Relaxed);
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
    let other = stage
        .client
        .start("tools/call", &RawJson::from_static(r#"{"name":"other"}"#), other)
        .unwrap();
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
    assert_eq!(stage.scene.clock.load(Ordering::Relaxed), 150);
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
        let mut told = Vec::new();
        let result = stage.client.wait_with_progress(call, |step| told.push(numbers(step)));
        assert_eq!(text(&result.unwrap()), "done");
        assert_eq!(told, [("step 1".into(), 1, Some(2)), ("step 2".into(), 2, Some(2))]);
        assert_eq!(*stage.reports.lock().unwrap(), ["true step 1", "true step 2"]);
        assert_eq!(stage.methods()[0], "tasks/get");
        let other = if revision == D { E } else { D };
        let mut stage = Stage::new(other, slow(other));
        assert!(matches!(
            stage.client.resume(&kept),
            Err(Error::Call { error: CallError::OtherServer, .. })
        ));
    }
}

#[test]
fn a_call_that_is_no_task_is_not_detached() {
    let mut stage = Stage::new(E, |message| vec![ok(message, content("plain"))]);
    let call = stage.client.call_tool_as_task("quick", &RawJson::EMPTY, None).unwrap();
    assert_eq!(stage.client.detach(call).unwrap(), None);
    assert_eq!(text(&stage.client.wait(call).unwrap()), "plain");
}

#[test]
fn a_subscription_that_a_server_does_not_offer_fails_at_once() {
    let mut stage = Stage::new(D, |message| vec![ok(message, content("plain"))]);
    // Nothing is left to be written when it subscribes.
    stage.client.call_tool("quick", &RawJson::EMPTY).unwrap();
    let uris = [Text::new("file:///a")];
    let filter = SubscriptionFilter::new().resource_subscriptions(&uris);
    let refused = stage.client.listen(&filter).unwrap_err();
    assert_eq!(refused.to_string(), "the server does not support `resources/subscribe`");
    assert_eq!(stage.methods(), ["tools/call"]);
    // The lists need no request.
    let lists = SubscriptionFilter::new().tools_list_changed(true);
    stage.client.listen(&lists).unwrap();
}
