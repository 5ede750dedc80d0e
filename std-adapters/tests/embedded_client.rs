//! The client on a port: each test is a conversation, line by line, with a scripted server and a
//! clock that advances only while the client waits.

#[path = "embedded/received.rs"]
mod received;
#[path = "embedded/uart.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod uart;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use embedded_io::ErrorKind;
use mcp_sansio::types::{CallToolResult, Implementation};
use mcp_sansio::{
    CallOptions, CallOutcome, ClientConfig, ClientEvent, ClientFeatures, ConnectError, Instant,
    NotAllowed, RawJson, SendError,
};
use mcp_sansio_adapters::embedded::{Client, ClientHandler, Error, Turn};

use uart::Uart;

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::ROOTS);

const DISCOVERED: &str = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"public"}"#;
const INITIALIZED: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;

type House = Client<'static, Uart, Notes, 512, 64>;

/// A part of the client's next message, and the response to it, in which `#` is the id of that
/// message.
type Script = Vec<(&'static str, String)>;

/// The server's end of the port, and what is left of its script.
struct Port {
    uart: Uart,
    script: Rc<RefCell<VecDeque<(&'static str, String)>>>,
}

/// Records events other than responses.
#[derive(Default)]
struct Notes {
    events: Vec<String>,
    waited: u64,
}

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

fn house(chunk: usize, script: Script) -> (House, Port) {
    NOW.set(0);
    let (uart, script) = (Uart::new(chunk), Rc::new(RefCell::new(script.into())));
    let port = Port { uart: uart.clone(), script: Rc::clone(&script) };
    uart.line().answer = Some(Box::new(move |sent| answer(&script, sent)));
    (Client::new(uart, &CONFIG, || Instant::from_millis(NOW.get()), Notes::default()), port)
}

/// Takes the next message of the script.
fn answer(script: &RefCell<VecDeque<(&'static str, String)>>, sent: &str) -> String {
    let next = script.borrow_mut().pop_front();
    let (expected, answer) = next.unwrap_or_else(|| panic!("unexpected message: {sent}"));
    assert!(sent.contains(expected), "{sent} has no {expected}");
    let id =
        sent.split_once("\"id\":").map_or("", |(_, rest)| rest.split(',').next().unwrap_or(""));
    answer.replace('#', id)
}

fn result(json: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":#,\"result\":{json}}}\n")
}

fn modern(rest: impl IntoIterator<Item = (&'static str, String)>) -> Script {
    [("server/discover", result(DISCOVERED))].into_iter().chain(rest).collect()
}

fn text(said: &str) -> String {
    result(&format!(r#"{{"content":[{{"type":"text","text":"{said}"}}],"resultType":"complete"}}"#))
}

fn open(house: &mut House) -> String {
    let opened = house.connect(|opened| {
        opened
            .map(|opened| opened.revision.as_str().to_owned())
            .unwrap_or_else(|error| error.to_string())
    });
    opened.expect("the line holds").expect("it was asked")
}

fn said(outcome: CallOutcome<'_>) -> String {
    match outcome {
        CallOutcome::Result(result) => {
            let result: CallToolResult<'_> = result.to().expect("a result of a tool");
            let json = result.content.as_json().expect("the content was received");
            json.elements()
                .filter_map(|block| block.get("text")?.as_string())
                .map(|text| text.to_string())
                .collect()
        }
        CallOutcome::Error(error) => format!("error {}", error.code()),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_modern_server_is_found_and_called() {
    for chunk in [1, 2, 7, 64, 1000] {
        let (mut house, port) = house(
            chunk,
            modern([(
                r#""method":"tools/call","params":{"name":"greet","arguments":{"who":"Ada"},"_meta":"#,
                text("Hello, Ada"),
            )]),
        );
        assert_eq!(open(&mut house), "2026-07-28");
        let arguments = RawJson::from_static(r#"{"who":"Ada"}"#);
        assert_eq!(house.call_tool("greet", &arguments, said), Ok("Hello, Ada".to_owned()));
        assert!(port.is_through());
    }
}

#[test]
fn c7_listing_ends_if_the_cursors_form_a_cycle() {
    let page = |n| {
        let cursor = if n % 2 == 0 { "even" } else { "odd" };
        let rest = r#""resultType":"complete","ttlMs":0,"cacheScope":"public""#;
        (
            r#""method":"tools/list""#,
            result(&format!(r#"{{"tools":[],"nextCursor":"{cursor}",{rest}}}"#)),
        )
    };
    let (mut house, port) = house(1000, modern((0..10_000).map(page)));
    open(&mut house);
    assert_eq!(house.list("tools/list", |_| None::<()>), Err(Error::NotSent(SendError::TooLarge)));
    assert!(port.is_through());
}

#[test]
fn a_legacy_server_is_found_by_its_error_or_by_its_silence() {
    let refused =
        "{\"jsonrpc\":\"2.0\",\"id\":#,\"error\":{\"code\":-32602,\"message\":\"Invalid request parameters\"}}\n".to_owned();
    for (answer, waited) in [(refused, 0), (String::new(), 10_000)] {
        let (mut house, port) = house(
            64,
            vec![
                ("server/discover", answer),
                (r#""method":"initialize""#, result(INITIALIZED)),
                ("notifications/initialized", String::new()),
                ("tools/call", text("here")),
            ],
        );
        assert_eq!(open(&mut house), "2025-06-18");
        assert_eq!(house.handler().waited, waited);
        assert_eq!(house.call_tool("x", &RawJson::EMPTY, said), Ok("here".to_owned()));
        assert!(port.is_through());
    }
}

#[test]
fn connecting_to_a_server_of_another_era_fails_with_the_reason() {
    let refused = r#"{"jsonrpc":"2.0","id":#,"error":{"code":-32022,"message":"no","data":{"supported":["2099-01-01"]}}}"#;
    let (mut house, _) = house(64, vec![("server/discover", format!("{refused}\n"))]);
    let why = house.connect(
        |opened| matches!(opened, Err(ConnectError::NoCommonRevision(Some(theirs))) if theirs.as_str() == r#"["2099-01-01"]"#),
    );
    assert_eq!(why, Ok(Some(true)));
    assert_eq!(
        house.call_tool("x", &RawJson::EMPTY, said),
        Err(Error::NotSent(SendError::NotAllowed(NotAllowed::NotOpen)))
    );
}

#[test]
fn messages_during_a_call_are_reported_or_get_a_response() {
    let between = [
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":#,"progress":1}}"#,
        "I (312) boot: not JSON",
        r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}"#,
    ];
    let (mut house, port) = house(
        33,
        vec![
            (
                "server/discover",
                "{\"jsonrpc\":\"2.0\",\"id\":#,\"error\":{\"code\":-32601,\"message\":\"?\"}}\n"
                    .to_owned(),
            ),
            (r#""method":"initialize""#, result(INITIALIZED)),
            ("notifications/initialized", String::new()),
            (r#""progressToken":3"#, between.map(|line| format!("{line}\n")).concat()),
            (r#"{"jsonrpc":"2.0","id":"p","result":{}}"#, String::new()),
            (r#"{"jsonrpc":"2.0","id":"r","result":{"roots":[]}}"#, text("done").replace('#', "3")),
        ],
    );
    open(&mut house);
    let params = RawJson::from_static(r#"{"name":"x"}"#);
    assert_eq!(
        house.call("tools/call", &params, CallOptions::new().progress(true), said),
        Ok("done".to_owned())
    );
    assert_eq!(house.handler().events, ["progress", "NotJson", "request", "log"]);
    assert!(port.is_through());
}

#[test]
fn lists_are_requested_page_by_page() {
    let page = |tool: &str, next: &str| {
        result(&format!(
            r#"{{"tools":[{{"name":"{tool}","inputSchema":{{}}}}]{next},"resultType":"complete"}}"#
        ))
    };
    let names = |house: &mut House| {
        let mut names = String::new();
        let ended = house.list("tools/list", |page| {
            let CallOutcome::Result(page) = page else { return Some(()) };
            for tool in page.get("tools")?.elements() {
                names.extend(tool.get("name")?.as_string()?.chars());
            }
            None
        });
        (names, ended)
    };
    let long = "c".repeat(300);
    let too_long = Err(Error::NotSent(SendError::TooLarge));
    for (next, then, expected) in [
        (String::new(), None, ("a", Ok(None))),
        (
            r#","nextCursor":"p\"2""#.to_owned(),
            Some((r#""cursor":"p\"2""#, page("b", ""))),
            ("ab", Ok(None)),
        ),
        // The cursor is invalid.
        (
            r#","nextCursor":"x""#.to_owned(),
            Some((r#""cursor":"x""#, page("b", r#","nextCursor":"x""#))),
            ("ab", too_long),
        ),
        (format!(r#","nextCursor":"{long}""#), None, ("a", too_long)),
    ] {
        let (mut house, port) =
            house(64, modern([("tools/list", page("a", &next))].into_iter().chain(then)));
        open(&mut house);
        let (seen, ended) = names(&mut house);
        assert_eq!((&*seen, ended), expected, "{next}");
        assert!(port.is_through());
    }
}

#[test]
fn a_response_that_lost_bytes_is_ignored_and_its_call_times_out() {
    let (mut house, port) = house(
        64,
        modern([
            ("tools/call", String::new()),
            ("notifications/cancelled", String::new()),
            ("tools/call", text("again")),
        ]),
    );
    open(&mut house);
    port.uart.says(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"1"#);
    port.uart.fails(ErrorKind::Other);
    port.uart.says("0\"}],\"resultType\":\"complete\"}}\n");
    let options = CallOptions::new().timeout(Duration::from_secs(5));
    let params = RawJson::from_static(r#"{"name":"x"}"#);
    assert_eq!(house.call("tools/call", &params, options, said), Ok("TimedOut".to_owned()));
    assert_eq!(house.handler().events, ["fault Other", "NotUtf8"]);
    assert_eq!(house.handler().waited, 5000);
    assert_eq!(house.call("tools/call", &params, options, said), Ok("again".to_owned()));
    assert!(port.is_through());
}

#[test]
fn an_end_is_an_error() {
    let (mut house, port) =
        house(64, modern([("tools/call", String::new()), ("tools/call", text("again"))]));
    open(&mut house);
    port.uart.line().has_ended = true;
    assert_eq!(house.call_tool("x", &RawJson::EMPTY, said), Err(Error::ConnectionClosed));
    let not_open = Err(Error::NotSent(SendError::NotAllowed(NotAllowed::NotOpen)));
    assert_eq!(house.call_tool("x", &RawJson::EMPTY, said), not_open);
    assert_eq!(house.run_for(Duration::from_secs(1)), Err(Error::ConnectionClosed));
    // The port brings the server again, whose era is known.
    port.uart.line().has_ended = false;
    house.port().reset();
    assert_eq!(house.connect(|_| ()), Ok(None));
    assert_eq!(house.call_tool("x", &RawJson::EMPTY, said), Ok("again".to_owned()));
    assert!(port.is_through());
}

#[test]
fn errors_of_the_port_end_a_call() {
    let (mut house, port) = house(64, modern([("tools/call", String::new())]));
    open(&mut house);
    port.uart.line().is_deaf = true;
    assert_eq!(house.call_tool("x", &RawJson::EMPTY, said), Err(Error::WriteZero));
    port.uart.line().is_deaf = false;
    port.uart.fails(ErrorKind::ConnectionReset);
    let reset = Err(Error::Io(ErrorKind::ConnectionReset));
    assert_eq!(house.run_for(Duration::from_secs(1)), reset);
}

#[test]
fn changes_are_attended_to() {
    let (mut house, port) = house(64, modern([]));
    open(&mut house);
    port.uart.says("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n");
    assert_eq!(house.run_for(Duration::from_secs(3)), Ok(()));
    assert_eq!(house.handler().events, ["changed"]);
    assert_eq!(NOW.get(), 3000);
}

impl ClientHandler<Uart> for Notes {
    fn on_event(
        &mut self,
        event: &ClientEvent<'_>,
        turn: &mut Turn<'_, Uart, mcp_sansio::Client<'_>>,
    ) -> Result<(), Error<ErrorKind>> {
        self.events.push(match event {
            ClientEvent::Progress { .. } => "progress".to_owned(),
            ClientEvent::Log { .. } => "log".to_owned(),
            ClientEvent::Changed { .. } => "changed".to_owned(),
            ClientEvent::Violation(violation) => format!("{violation:?}"),
            ClientEvent::Request(request) => {
                let roots = RawJson::from_static(r#"{"roots":[]}"#);
                turn.send(|client, tx| client.respond_raw(request.handle, roots, tx))?;
                "request".to_owned()
            }
            other => format!("{other:?}"),
        });
        Ok(())
    }

    fn on_idle(&mut self, wake: Option<Instant>) {
        let wake = wake.expect("the client waits without a deadline").as_millis();
        self.waited += wake - NOW.get();
        NOW.set(wake);
    }

    fn on_read_error(&mut self, error: ErrorKind) -> Result<(), Error<ErrorKind>> {
        self.events.push(format!("fault {:?}", error));
        if error == ErrorKind::ConnectionReset { Err(Error::Io(error)) } else { Ok(()) }
    }
}

impl Port {
    /// Returns whether the whole script was played.
    fn is_through(&self) -> bool {
        self.script.borrow().is_empty() && self.uart.line().output.is_empty()
    }
}
