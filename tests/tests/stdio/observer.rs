//! The observer of the blocking server: connections, requests, failures, and handlers that block.

use std::io::Cursor;
use std::net::IpAddr;
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use mcp_sansio::tasks::TaskId;
use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::types::{InputRequest, TextResult, Tool};
use mcp_sansio::{
    Catalog, ErrorCode, NoOutput, OrToolError as _, RawJson, RpcError, Target, ToolContext,
    ToolResult, Violation, entries,
};
use mcp_sansio_adapters::asynchronous;
use mcp_sansio_adapters::asynchronous::http::PeerAddress;
use mcp_sansio_adapters::blocking::{App, Error, RequestContext, Threaded};
use mcp_sansio_adapters::observer::{
    Denial, Disconnect, Ended, Event, MAX_TEXT, Observer, Refusal, RequestInfo, StderrObserver,
    Transport,
};
use serde_json::{Value, json};

use super::SERVER;
use super::recorder::Recorder;

static CATALOG: Catalog = Catalog::new()
    .tools(entries![Tool::new("by_hand", RawJson::from_static(r#"{"type":"object"}"#))])
    .tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Succeeds.
    Say,
    /// Has an argument.
    Add { to: u8 },
    /// Fails in words for the model.
    Fail,
    /// Fails in words for the log.
    Break,
    /// Fails with an error.
    Refuse,
    /// Panics.
    Panic,
    /// Requests input.
    Ask,
}

struct Desk;

impl ToolHandler for Desk {
    type Tools = Call;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, call: Call, ctx: ToolContext<'a>) -> ToolResult<'a> {
        match call {
            Call::Say => Ok("said".into()),
            Call::Add { to } => Ok((to + 1).to_string().into()),
            Call::Fail => Err("no paper")?,
            Call::Break => Err("the disk is full").or_internal()?,
            Call::Refuse => Err(RpcError::new(ErrorCode::Application(7), "Busy"))?,
            Call::Panic => panic!("a bug"),
            Call::Ask => {
                ctx.at_once(ctx.request_input("roots", InputRequest::ListRoots))?;
                Ok("asked".into())
            }
        }
    }
}

fn respond(ctx: &mut RequestContext<'_, '_>) -> Result<(), Error> {
    match ctx.target() {
        Target::Tool(tool) if tool.key() == "by_hand" => ctx.respond(&TextResult::error("by hand")),
        _ => ctx.call_tool(&mut Desk),
    }
}

/// Writes down what it is told, and what it runs.
#[derive(Default)]
struct Runs(Recorder);

impl Observer for Runs {
    fn on(&self, event: Event<'_>) {
        self.0.on(event);
    }

    fn run(&self, request: &RequestInfo, handler: &mut dyn FnMut()) {
        self.0.write(format!("{} runs", request.id));
        handler();
        self.0.write(format!("{} ran", request.id));
    }
}

fn request(id: Value, method: &str, mut params: Value) -> String {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    format!("{request}\n")
}

fn call(id: u32, name: &str) -> String {
    request(json!(id), "tools/call", json!({"name": name}))
}

/// Serves these lines. Returns what the client gets.
fn serve(app: App<'_>, lines: &str) -> Vec<Value> {
    let mut output = Vec::new();
    let input = Threaded::new(Cursor::new(lines.to_owned()));
    app.serve_on(input, &mut output, respond).unwrap();
    mcp_sansio_tests::json::lines(&output)
}

fn observed(lines: &str) -> Vec<String> {
    let recorder = Runs::default();
    serve(App::new(&SERVER).catalog(&CATALOG).observer(&recorder), lines);
    let mut lines = recorder.0.lines();
    assert_eq!(lines.remove(0), "connected: stream");
    assert_eq!(lines.pop().unwrap(), "disconnected: closed by the client");
    lines
}

#[test]
fn each_request_begins_runs_and_ends_in_its_own_way() {
    for (name, end) in [
        ("say", "responded"),
        ("fail", "tool failed: no paper"),
        ("break", "error -32603: the disk is full"),
        ("refuse", "error 7: Busy"),
        ("by_hand", "tool failed: by hand"),
        ("ask", "input required"),
        ("add", "tool failed: to: is missing, must be an integer from 0 to 255"),
        ("unknown", "error -32602: Unknown tool"),
    ] {
        let (began, ended) = (format!("tools/call {name} (id 1) began"), format!("1 ended: {end}"));
        assert_eq!(observed(&call(1, name)), [&began, "1 runs", "1 ran", &ended]);
    }
    let list = observed(&request(json!("a\u{1b}"), "tools/list", json!({})));
    let told = ["tools/list (id ID) began", "ID runs", "ID ran", "ID ended: responded"];
    assert_eq!(list, told.map(|line| line.replace("ID", r#""a\u001b""#)));
}

#[test]
fn a_panic_is_told_and_the_next_request_is_served() {
    assert_eq!(
        observed(&[call(1, "panic"), call(2, "say")].concat()),
        [
            "tools/call panic (id 1) began",
            "1 runs",
            "1 ran",
            "1 ended: panicked: a bug",
            "tools/call say (id 2) began",
            "2 runs",
            "2 ran",
            "2 ended: responded",
        ]
    );
}

#[test]
fn what_is_no_request_for_the_application_is_refused_or_not_told() {
    let discover = request(json!(1), "server/discover", json!({}));
    let unknown = request(json!(2), "tools/unknown", json!({}));
    assert_eq!(
        observed(&[discover.as_str(), "noise\n", &unknown].concat()),
        [
            r#"Parse error: the message is not JSON: on a stream it takes one line (byte 1 of "noise")"#,
            "message refused: Method not found"
        ]
    );
}

#[test]
fn a_call_that_waits_for_the_user_goes_on_until_it_is_cancelled_or_the_client_is_gone() {
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"roots": {}},
        "clientInfo": {"name": "c", "version": "1"},
    }});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ask = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "ask"}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    let lines = [initialize, initialized, ask(1), ask(2), cancel];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(
        observed(&lines),
        [
            "tools/call ask (id 1) began",
            "1 runs",
            "1 ran",
            "tools/call ask (id 2) began",
            "2 runs",
            "2 ran",
            "1 ended: cancelled",
            "2 ended: connection ended",
        ]
    );
}

#[test]
fn the_error_that_ends_a_server_is_told() {
    let recorder = Runs::default();
    let app = App::new(&SERVER).observer(&recorder);
    let input = Threaded::new(Cursor::new(call(1, "say")));
    let full = |_: &mut RequestContext<'_, '_>| Err(std::io::Error::other("full").into());
    assert!(app.serve_on(input, Vec::new(), full).is_err());
    let expected = ["1 ran", "1 ended: connection ended", "disconnected: full"];
    assert_eq!(recorder.0.lines()[3..], expected);
}

/// Tells an observer everything that there is.
struct Everything(StderrObserver);

impl Observer for Everything {
    fn on(&self, event: Event<'_>) {
        let Event::Began { request } = event else { return };
        let took = Duration::from_micros(1214);
        let (connection, transport) = (7, Transport::Http);
        let peer = Some(PeerAddress::from(IpAddr::from([192, 0, 2, 7])));
        let message = "a\u{1b}bug";
        let cut_off = std::io::Error::other("cut\noff");
        let mut asked = request.clone();
        (asked.connection, asked.peer, asked.principal) = (0, peer, Some("ada\n".to_owned()));
        let mut denial = Denial::default();
        (denial.status, denial.error) = (401, "invalid_token".to_owned());
        let mut lacking = Denial::default();
        (lacking.peer, lacking.status) = (peer, 403);
        (lacking.principal, lacking.missing_scope) = (Some("ada".to_owned()), "a b".to_owned());
        (lacking.method, lacking.name) = ("tools/call".to_owned(), "say".to_owned());
        lacking.error = "insufficient_scope".to_owned();
        let (task, tool, how) = (TaskId::new([1; 16]), "say", Ended::Responded);
        let error = Some("no\npaper");
        let place = Some("byte 0 of \"GET / HTTP/1.1\"");
        let not_json = Refusal::Violation(Violation::NotJson);
        let failed = Disconnect::Failed(&cut_off);
        for event in [
            Event::Connected { connection, transport, peer },
            event,
            Event::Refused { connection, peer, why: Refusal::Limit, place: None },
            Event::Refused { connection, peer: None, why: not_json, place },
            Event::Denied { denial: &denial },
            Event::Denied { denial: &lacking },
            Event::Panicked { message },
            Event::FleetFailed { error: "no\nroute" },
            Event::Stalled { request, after: took },
            Event::StoreFailed { request, error: "full" },
            Event::Ended { request, how, error: None, took },
            Event::Ended { request: &asked, how: Ended::ToolFailed, error, took },
            Event::Ended { request, how: Ended::Task(task), error: None, took },
            Event::TaskEnded { task, tool, request: Some(&asked), how, error: None, took },
            Event::TaskEnded { task, tool, request: None, how: Ended::Expired, error, took },
            Event::Disconnected { connection, how: Disconnect::Closed, after: took },
            Event::Disconnected { connection, how: failed, after: took * 1000 },
        ] {
            self.0.on(event);
        }
    }
}

#[test]
fn standard_error_gets_a_line_for_each_thing_or_each_failure() {
    const WHAT: &str = "MCP_SANSIO_STDERR_OBSERVER";
    match std::env::var(WHAT).as_deref() {
        Ok("all") => return told_to(StderrObserver::new()),
        Ok(_) => return told_to(StderrObserver { only_failures: true }),
        Err(_) => {}
    }
    // Lines that tell no failure are indented.
    let expected = [
        " connection 7, address 192.0.2.7: connected (HTTP)",
        "connection 7, address 192.0.2.7: refused: too many requests in flight",
        "connection 7: refused: Parse error: the message is not JSON: on a stream it takes one line (byte 0 of \"GET / HTTP/1.1\")",
        "denied: 401 invalid_token",
        "address 192.0.2.7, principal ada: tools/call say: denied: 403 insufficient_scope (missing scope: a b)",
        "panicked: a\\u001bbug",
        "fleet: no\\nroute",
        "connection 1: tools/call say (id 1): still runs after 1 ms",
        "connection 1: tools/call say (id 1): not stored as a task: full",
        " connection 1: tools/call say (id 1): responded in 1.214 ms",
        "address 192.0.2.7, principal ada\\n: tools/call say (id 1): tool failed in 1.214 ms: no\\npaper",
        " connection 1: tools/call say (id 1): became task 01010101010101010101010101010101 in 1.214 ms",
        " address 192.0.2.7, principal ada\\n: task 01010101010101010101010101010101 of say: responded in 1.214 ms",
        "task 01010101010101010101010101010101 of say: expired in 1.214 ms: no\\npaper",
        " connection 7: disconnected after 0.0 s: closed by the client",
        "connection 7: disconnected after 1.2 s: cut\\noff",
    ];
    for what in ["all", "failures"] {
        // In a process of its own, whose standard error is read.
        let mut command = Command::new(std::env::current_exe().unwrap());
        let test = "observer::standard_error_gets_a_line_for_each_thing_or_each_failure";
        let told = command.args(["--exact", test]).env(WHAT, what).output().unwrap();
        let told = String::from_utf8(told.stderr).unwrap();
        let told: Vec<_> = told.lines().filter_map(|line| line.strip_prefix("mcp: ")).collect();
        let lines = expected.iter().filter(|line| what == "all" || !line.starts_with(' '));
        assert_eq!(told, lines.map(|line| line.trim_start()).collect::<Vec<_>>());
    }
}

fn told_to(observer: StderrObserver) {
    serve(App::new(&SERVER).catalog(&CATALOG).observer(Everything(observer)), &call(1, "say"));
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "a reference is one form")]
fn r3_b7_both_adapters_take_an_observer_or_a_reference_to_one() {
    static OBSERVER: StderrObserver = StderrObserver::new();
    let app = App::new(&SERVER).observer(StderrObserver::new());
    let _ = app.clone().observer(&StderrObserver::new());
    let app = asynchronous::App::new(&SERVER, async |ctx: asynchronous::Context| {
        ctx.reply(&TextResult::new("hello"))
    });
    let _ = app.observer(StderrObserver::new()).observer(&OBSERVER);
}

#[test]
fn an_observer_that_panics_or_runs_nothing_changes_no_response() {
    struct Bad;

    impl Observer for Bad {
        fn on(&self, event: Event<'_>) {
            panic!("{event:?}");
        }
        fn run(&self, request: &RequestInfo, handler: &mut dyn FnMut()) {
            match request.id.as_str() {
                "1" => {
                    handler();
                    handler();
                    panic!("after");
                }
                "2" => panic!("before"),
                _ => {}
            }
        }
    }

    let names = ["say", "say", "fail", "panic", "break", "ask", "add"];
    let lines: String = (1..).zip(names).map(|(id, name)| call(id, name)).collect();
    let lines = lines + "noise\n";
    let app = App::new(&SERVER).catalog(&CATALOG);
    let plain = serve(app.clone(), &lines);
    assert_eq!(plain.len(), 8);
    assert_eq!(serve(app.observer(&Bad), &lines), plain);
}

#[test]
fn a_handler_that_blocks_is_told_while_it_blocks() {
    /// Lets the handler go on when it is told that it blocks.
    struct Rescue(Mutex<Vec<String>>, SyncSender<()>);

    impl Observer for Rescue {
        fn on(&self, event: Event<'_>) {
            if let Event::Stalled { request, after } = event {
                assert!(after >= LIMIT);
                self.0.lock().unwrap().push(request.to_string());
                self.1.send(()).unwrap();
            }
        }
    }

    const LIMIT: Duration = Duration::from_millis(20);
    let (sender, receiver): (_, Receiver<()>) = sync_channel(0);
    let rescue = Rescue(Mutex::default(), sender);
    let app = App::new(&SERVER).catalog(&CATALOG).observer(&rescue).watch(LIMIT);
    let lines = [call(1, "say"), call(2, "fail"), call(3, "say"), call(4, "break")].concat();
    let mut output = Vec::new();
    app.serve_on(Threaded::new(Cursor::new(lines)), &mut output, |ctx| {
        let Target::Tool(tool) = ctx.target() else { unreachable!() };
        if tool.key() == "fail" || tool.key() == "break" {
            receiver.recv_timeout(Duration::from_secs(10)).unwrap();
        }
        ctx.call_tool(&mut Desk)
    })
    .unwrap();
    let told = rescue.0.into_inner().unwrap();
    assert_eq!(told, ["tools/call fail (id 2)", "tools/call break (id 4)"]);
}

#[test]
fn meta_17_the_trace_context_and_the_names_are_told_with_limits() {
    /// Keeps the requests.
    #[derive(Default)]
    struct Kept(Mutex<Vec<RequestInfo>>);

    impl Observer for Kept {
        fn on(&self, event: Event<'_>) {
            if let Event::Began { request } = event {
                self.0.lock().unwrap().push(request.clone());
            }
        }
    }

    let kept = Kept::default();
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let long = |len: usize| format!("a={},b={}", "x".repeat(256), "y".repeat(len - 261));
    let lines: String = [
        json!({"name": "say", "_meta": {"traceparent": trace, "tracestate": "a=1"}}),
        json!({"name": "n".repeat(1000), "_meta": {"traceparent": "x"}}),
        json!({"name": "say", "_meta": {"traceparent": trace, "tracestate": long(512)}}),
        json!({"name": "say", "_meta": {"traceparent": trace, "tracestate": long(513)}}),
    ]
    .map(|params| request(json!("id"), "tools/call", params))
    .concat();
    serve(App::new(&SERVER).catalog(&CATALOG).observer(&kept), &lines);
    let kept = kept.0.into_inner().unwrap();
    let [first, second, third, fourth] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!((first.method.as_str(), first.name.as_str()), ("tools/call", "say"));
    assert_eq!((first.id.as_str(), first.traceparent.as_deref()), ("\"id\"", Some(trace)));
    assert_eq!(first.tracestate.as_deref(), Some("a=1"));
    assert_eq!((second.name.len(), second.traceparent.as_deref()), (MAX_TEXT, None));
    assert_eq!(third.tracestate.as_deref(), Some(long(512).as_str()));
    assert_eq!(fourth.tracestate, None);
    assert!(first.number != second.number && first.connection == second.connection);
}
