//! Limits of time and memory against scripted servers, on a virtual clock.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mcp_sansio::types::{ElicitResult, InputRequest};
use mcp_sansio::{ClientEvent, Era};
use mcp_sansio_adapters::blocking::client::{InputRefusal, InputResponse, OwnedInputRequest};

use super::scripted::{Scene, Scripted};
use super::*;

/// The response to a message.
pub(super) fn respond(message: &Value, result: Value) -> Vec<Value> {
    vec![json!({"jsonrpc": "2.0", "id": message["id"], "result": result})]
}

fn asking(timeout: Duration) -> ClientConfig<'static> {
    ClientConfig::new(Implementation::new("tests", "1"), ClientFeatures::ELICITATION_FORM)
        .call_timeout(timeout)
}

pub(super) fn connector<'c>(
    config: &'c ClientConfig<'c>,
    scene: &Arc<Scene>,
    era: Era,
) -> Connector<'c> {
    let scene = Arc::clone(scene);
    Connector::new(config).era(era).clock(move || scene.now())
}

/// Responds to `initialize` and to nothing else.
pub(super) fn silent(message: &Value) -> Vec<Value> {
    if message["method"] != "initialize" {
        return Vec::new();
    }
    let info = json!({"name": "s", "version": "1"});
    let capabilities = json!({"tools": {}});
    respond(
        message,
        json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}),
    )
}

const NEWS: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n";
const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n";
const TIMEOUT: Duration = Duration::from_secs(2);

/// Calls a tool without a response: the call ends at its timeout or soon after.
fn ends_in_time(server: Scripted, handler: impl Handler + 'static) -> u64 {
    let (scene, config) = (Arc::clone(&server.scene), asking(TIMEOUT));
    let mut client =
        connector(&config, &scene, Era::Legacy).handler(handler).connect(server).unwrap();
    let before = scene.now();
    let error = trick(&mut client, "mute", &json!({})).unwrap_err();
    assert!(matches!(error, Error::Call { error: CallError::TimedOut, .. }), "{error}");
    let took = scene.now().as_millis() - before.as_millis();
    assert!(took >= 2000, "{took} ms");
    took
}

#[test]
fn p1_a_flood_of_notifications_does_not_switch_off_the_time_limit() {
    let flooding = |flood| Scripted { pace: 50, flood, ..Scripted::new(&Arc::default(), silent) };
    // Also with lines that are not messages, and with an endless line.
    for flood in [NEWS, "\n", "noise\n", "x", "{\"a\":\"", PING] {
        assert!(ends_in_time(flooding(flood), ()) < 2200, "{flood}");
    }
}

/// Handler that takes ten milliseconds for each event.
struct Slow(Arc<Scene>);

impl Handler for Slow {
    fn on_event(&mut self, _: Option<CallId>, _: &ClientEvent<'_>) {
        self.0.clock.fetch_add(10, Relaxed);
    }

    fn on_input_request(&mut self, question: &OwnedInputRequest) -> InputResponse {
        self.0.clock.fetch_add(10, Relaxed);
        question.respond(&ElicitResult::accept(mcp_sansio::RawJson::EMPTY))
    }
}

#[test]
fn p1_time_that_the_handler_takes_for_a_flood_counts() {
    let scene = Arc::<Scene>::default();
    // Each exchange reads one line.
    let server = Scripted { by_line: true, flood: NEWS, ..Scripted::new(&scene, silent) };
    ends_in_time(server, Slow(Arc::clone(&scene)));
    let exchanges = scene.exchanges.load(Relaxed);
    assert!(exchanges < 300, "{exchanges} lines were read in two seconds");
    // The server waits after its first hundred requests.
    let scene = Arc::<Scene>::default();
    let question = concat!(
        r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"?","mode":"form","#,
        r#""requestedSchema":{"type":"object","properties":{}}}}"#,
        "\n"
    );
    let server = Scripted { by_line: true, flood: question, ..Scripted::new(&scene, silent) };
    ends_in_time(server, Slow(Arc::clone(&scene)));
    let exchanges = scene.exchanges.load(Relaxed);
    assert!((200..500).contains(&exchanges), "{exchanges} questions");
}

#[test]
fn p1_a_server_that_drips_bytes_does_not_switch_off_the_time_limit() {
    let scene = Arc::<Scene>::default();
    let server = Scripted { chunk: 1, flood: NEWS, ..Scripted::new(&scene, silent) };
    assert!(ends_in_time(server, ()) < 2100);
}

#[test]
fn p1_a_server_that_never_reads_does_not_switch_off_the_time_limit() {
    let scene = Arc::<Scene>::default();
    let config = asking(TIMEOUT);
    let server = Scripted { is_deaf: true, ..Scripted::new(&scene, silent) };
    let mut client = connector(&config, &scene, Era::Modern).connect(server).unwrap();
    for length in [10, 4 << 20, 4 << 20] {
        let before = scene.now();
        let error = trick(&mut client, "mute", &json!({"text": "x".repeat(length)})).unwrap_err();
        assert!(matches!(error, Error::Call { error: CallError::TimedOut, .. }), "{error}");
        // The timeout for room in the buffer, and that of the call.
        let took = scene.now().as_millis() - before.as_millis();
        assert!((2000..4100).contains(&took), "{took} ms");
    }
    // The last one found no room.
    assert!(scene.most_pending.load(Relaxed) < 5 << 20);
    client.close().unwrap();
}

#[test]
fn a_connection_after_one_that_was_unresponsive_begins_anew() {
    let scene = Arc::<Scene>::default();
    let second = Duration::from_secs(1);
    let config = asking(TIMEOUT * 10).ping_interval(second).ping_timeout(second);
    let server = Scripted::new(&scene, |message| match silent(message) {
        opened if opened.is_empty() => respond(message, json!({"content": []})),
        opened => opened,
    });
    let server = Scripted { is_deaf: true, ..server };
    // The ping that the server does not read is shown, too.
    let notes = Notes::default();
    let noting = Arc::clone(&notes);
    let trace =
        move |_, line: &[u8]| noting.lock().unwrap().push(String::from_utf8_lossy(line).into());
    let mut client = connector(&config, &scene, Era::Legacy).trace(trace).connect(server).unwrap();
    for _ in 0..2 {
        trick(&mut client, "echo", &json!({})).unwrap();
        let error = client.run_for(TIMEOUT * 10).unwrap_err();
        assert!(matches!(error, Error::Closed(_)), "{error}");
        client.reconnect().unwrap();
    }
    assert_eq!(noted(&notes, "\"initialize\""), 3);
}

#[test]
fn s8_the_longest_duration_is_never() {
    let scene = Arc::<Scene>::default();
    let config = asking(Duration::MAX).call_limit(Duration::MAX).probe_timeout(Duration::MAX);
    let result = json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private",
        "content": []});
    let server = Scripted::new(&scene, move |message| respond(message, result.clone()));
    let mut client = connector(&config, &scene, Era::Modern).connect(server).unwrap();
    client.list_tools().unwrap();
    let options = CallOptions::new().timeout(Duration::MAX).limit(Duration::MAX).progress(true);
    let call = start(&mut client, "echo", &json!({}), options);
    scene.clock.fetch_add(1 << 50, Relaxed);
    client.wait(call).unwrap();
    // With a process, and with a process that exits.
    let process = process(super::server(""), [Duration::MAX; 2]);
    let client = Connector::new(&config).connect(process).unwrap();
    assert!(client.close().unwrap().status.unwrap().success());
}

#[test]
fn m1_responses_to_a_server_that_never_reads_have_a_limit() {
    let scene = Arc::<Scene>::default();
    let server = Scripted { is_deaf: true, flood: PING, ..Scripted::new(&scene, silent) };
    ends_in_time(server, ());
    let most = scene.most_pending.load(Relaxed);
    assert!(((1 << 20)..(1 << 20) + 4096).contains(&most), "{most} bytes");
}

/// Handler that panics at every event, and counts them.
struct Panicking(Arc<AtomicUsize>);

impl Handler for Panicking {
    fn on_event(&mut self, _: Option<CallId>, _: &ClientEvent<'_>) {
        panic!("told");
    }

    fn on_input_request(&mut self, question: &OwnedInputRequest) -> InputResponse {
        let InputRequest::Elicit(_) = question.as_input_request() else { return question.refuse() };
        panic!("asked");
    }

    fn on_panic(&mut self, about: Option<CallId>) {
        self.0.fetch_add(if about.is_some() { 100 } else { 1 }, Relaxed);
        panic!("panicked");
    }
}

fn question() -> Value {
    json!({"method": "elicitation/create",
        "params": {"message": "?", "mode": "form", "requestedSchema": {"type": "object", "properties": {}}}})
}

#[test]
fn f9_a_handler_that_panics_ends_its_own_call() {
    let (scene, config, panics) =
        (Arc::<Scene>::default(), asking(TIMEOUT), Arc::new(AtomicUsize::new(0)));
    // A legacy server sends requests during the call: it gets errors, and the call continues.
    let mut asked = None;
    let server = Scripted::new(&scene, move |message| {
        if message["method"] == "tools/call" {
            asked = Some(message["id"].clone());
            let mut request = question();
            (request["jsonrpc"], request["id"]) = ("2.0".into(), "q".into());
            return vec![serde_json::from_str(NEWS).unwrap(), request];
        }
        let Some(id) = asked.clone().filter(|_| message["id"] == "q") else {
            return silent(message);
        };
        let result = json!({"content": [], "structuredContent": message["error"]});
        respond(&json!({"id": id}), result)
    });
    let legacy = connector(&config, &scene, Era::Legacy).handler(Panicking(Arc::clone(&panics)));
    let mut client = legacy.trace(|_, _| panic!("trace")).connect(server).unwrap();
    for _ in 0..2 {
        let error = data(&trick(&mut client, "ask", &json!({})).unwrap());
        assert_eq!(error, json!({"code": -32603, "message": "The handler panicked"}));
    }
    assert_eq!(panics.swap(0, Relaxed), 4);

    // A modern server needs a retry, which is impossible here: that call ends, the others continue.
    let scene = Arc::<Scene>::default();
    let server = Scripted::new(&scene, |message| {
        let result = match message["params"]["name"].as_str() {
            Some("ask") => {
                json!({"resultType": "input_required", "inputRequests": {"k": question()}})
            }
            _ => json!({"resultType": "complete", "content": [], "structuredContent": 5}),
        };
        respond(message, result)
    });
    let modern = connector(&config, &scene, Era::Modern).handler(Panicking(Arc::clone(&panics)));
    let mut client = modern.connect(server).unwrap();
    let error = trick(&mut client, "ask", &json!({})).unwrap_err();
    let Error::Call { method, error: CallError::InputRefused { refusal, .. } } = error else {
        panic!("{error}")
    };
    assert!(method == "tools/call" && matches!(refusal, InputRefusal::Panicked), "{refusal:?}");
    assert_eq!(panics.load(Relaxed), 100);
    assert_eq!(data(&trick(&mut client, "other", &json!({})).unwrap()), json!(5));
}

#[cfg(unix)]
#[test]
fn m1_kept_standard_error_has_a_limit() {
    let mut command = Command::new("sh");
    // A line of a megabyte of invalid bytes, each replaced by three, and a handler that panics for
    // it.
    command.args(["-c", "head -c 1048576 /dev/zero | tr '\\0' '\\377' >&2"]);
    let mut process = Process::new(command);
    process.stderr = Stderr::lines(|_| panic!("lines"));
    let error = Connector::new(&CONFIG).connect(process).err();
    let Some(Error::Closed(ended)) = error else { panic!("{error:?}") };
    assert_eq!(ended.stderr.len(), 10);
    assert!(ended.stderr.iter().all(|line| line.len() == 3 * 8192), "all lines were read");
}
