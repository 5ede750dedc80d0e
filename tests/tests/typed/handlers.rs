//! Handlers of tools, behind a connection with buffers of any size.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::types::{Implementation, Text};
use mcp_sansio::{
    Catalog, Connection, Instant, NoOutput, Request, Revision, RxBuffer, SendError, Server,
    ServerConfig, ServerEvent, ServerFeatures, ServerState, Spare, Step, Target, ToolContext,
    ToolOutput, ToolResult, Turn, TxBuffer,
};

#[path = "../../../std-adapters/tests/anywhere/tools.rs"]
mod tools;

use tools::{CATALOG, Fast, Slow};

static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::LOGGING),
)
.progress_interval(Duration::ZERO);

/// What the transport has taken, and after how many bytes it fails, once.
#[derive(Default)]
struct Wire {
    taken: RefCell<Vec<u8>>,
    most: Cell<Option<usize>>,
}

#[derive(PartialEq, Debug)]
enum Lost {
    Wire,
    Send(SendError),
}

impl From<SendError> for Lost {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}

impl Wire {
    /// Takes at most 7 bytes.
    fn take(&self, bytes: &[u8]) -> Result<usize, Lost> {
        let mut taken = self.taken.borrow_mut();
        if self.most.get().is_some_and(|most| taken.len() >= most) {
            self.most.set(None);
            return Err(Lost::Wire);
        }
        let n = bytes.len().min(7);
        taken.extend_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn text(&self) -> String {
        String::from_utf8(self.taken.borrow().clone()).expect("UTF-8")
    }
}

/// The turn of a request.
type ServerTurn<'t> = Turn<'t, Server<'t>>;
type Served = Result<Target<'static>, Lost>;

/// Handles one request.
trait Serve {
    fn serve(&mut self, turn: &mut ServerTurn<'_>, request: &Request<'_>, wire: &Wire) -> Served;
}

impl Serve for Fast {
    fn serve(&mut self, turn: &mut ServerTurn<'_>, request: &Request<'_>, wire: &Wire) -> Served {
        let pump = |bytes: &[u8], _: &mut Spare<'_>| wire.take(bytes);
        turn.call_tool(&CATALOG, request, self, pump, || at(5))
    }
}

impl Serve for Slow {
    fn serve(&mut self, turn: &mut ServerTurn<'_>, request: &Request<'_>, wire: &Wire) -> Served {
        struct Woken(AtomicU32);
        impl Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let woken = Arc::new(Woken(AtomicU32::new(0)));
        let (waker, mut waits) = (Waker::from(Arc::clone(&woken)), 0);
        let wait = || waits += 1;
        let pump = |bytes: &[u8], _: &mut Spare<'_>| wire.take(bytes);
        let done = turn.call_async_tool(&CATALOG, request, self, pump, || at(5), (&waker, wait));
        assert_eq!(woken.0.load(Ordering::Relaxed), waits, "it waits only for what will wake it");
        done
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Plays a client's lines against a handler. Returns what was written, and the first error.
fn play(
    handler: &mut impl Serve,
    input: &str,
    tx: usize,
    most: Option<usize>,
) -> (String, Option<Lost>) {
    let wire = Wire { most: Cell::new(most), ..Wire::default() };
    let mut input = input.as_bytes();
    let mut connection: Connection<'_, _, _, _> = Connection::new(
        &CONFIG,
        ServerState::<2, 0>::new(),
        RxBuffer::new(vec![0; 512]),
        TxBuffer::new(vec![0; tx]),
    );
    loop {
        match connection.next(at(5)) {
            Step::Event(ServerEvent::Request(request), mut turn) => {
                if let Err(lost) = handler.serve(&mut turn, &request, &wire) {
                    return (wire.text(), Some(lost));
                }
            }
            Step::Event(..) | Step::Again => {}
            Step::Io { write: [], .. } if input.is_empty() => return (wire.text(), None),
            Step::Io { write, mut read, .. } => {
                let n = read.spare().len().min(input.len());
                read.spare()[..n].copy_from_slice(&input[..n]);
                read.commit(n);
                input = &input[n..];
                let written = if write.is_empty() { Ok(0) } else { wire.take(write) };
                match written {
                    Ok(n) => connection.wrote(n),
                    Err(lost) => return (wire.text(), Some(lost)),
                }
            }
            Step::Closed => return (wire.text(), None),
        }
    }
}

/// A call of 2026-07-28, whose result has no session before it.
fn call(name: &str, arguments: &str, meta: &str) -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{}","#,
            r#""arguments":{},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
            r#""io.modelcontextprotocol/clientCapabilities":{{}}{}}}}}}}"#,
            "\n"
        ),
        name, arguments, meta
    )
}

/// Plays a session of a legacy revision, and returns what follows its handshake.
fn legacy(handler: &mut impl Serve, revision: Revision, name: &str, arguments: &str) -> String {
    let input = format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}","#,
            r#""capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#,
            "\n",
            r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#,
            "\n",
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{}","arguments":{}}}}}"#,
            "\n"
        ),
        revision, name, arguments
    );
    let (output, lost) = play(handler, &input, 64, None);
    assert_eq!(lost, None);
    output.split_once('\n').expect("the handshake").1.to_owned()
}

/// Returns the line of a result of 2026-07-28 with these members.
fn result(members: &str) -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{{},"resultType":"complete","#,
            r#""_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"s","version":"1"}}}}}}}}"#,
            "\n"
        ),
        members
    )
}

const SIZES: [usize; 4] = [1, 64, 200, 4096];

#[test]
fn a_result_that_borrows_from_the_request_leaves_through_any_buffer() {
    let text = format!("{}\\n\\u00e9", "x".repeat(150));
    let input = call("split", &format!(r#"{{"text":"{text}"}}"#), "");
    let data = format!(r#"{{"whole":"{text}","characters":152}}"#);
    let escaped = data.replace('\\', r"\\").replace('"', "\\\"");
    let content = format!(r#""content":[{{"type":"text","text":"{escaped}"}}]"#);
    let expected = result(&format!(r#"{content},"structuredContent":{data}"#));
    for tx in SIZES {
        let mut fast = Fast::default();
        assert_eq!(play(&mut fast, &input, tx, None), (expected.clone(), None), "{tx}");
        assert_eq!(fast.calls, 1, "only sending is repeated");
        let mut slow = Slow::default();
        assert_eq!(play(&mut slow, &input, tx, None), (expected.clone(), None), "{tx}");
        assert_eq!(slow.calls.get(), 1);
    }
}

#[test]
fn what_an_async_tool_tells_leaves_before_its_result() {
    let meta = r#","progressToken":"p","io.modelcontextprotocol/logLevel":"info""#;
    let input = call("copy", r#"{"blocks":2}"#, meta);
    let progress = |done: u32| {
        format!(
            concat!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":"#,
                r#"{{"progressToken":"p","progress":{},"total":2}}}}"#,
                "\n"
            ),
            done
        )
    };
    let log = concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":"#,
        r#"{"level":"info","data":"copied"}}"#,
        "\n"
    );
    let result = result(r#""content":[{"type":"text","text":"2 blocks are copied"}]"#);
    let all = format!("{}{log}{}{log}{result}", progress(1), progress(2));
    for tx in [200, 4096] {
        assert_eq!(play(&mut Slow::default(), &input, tx, None), (all.clone(), None));
    }
    // A notification that the buffer can never hold is dropped, and the tool goes on.
    for tx in [1, 64] {
        assert_eq!(play(&mut Slow::default(), &input, tx, None), (result.clone(), None));
    }
    // It is sent only to clients that ask for it.
    let input = call("copy", r#"{"blocks":2}"#, "");
    assert_eq!(play(&mut Slow::default(), &input, 200, None), (result.clone(), None));
}

#[test]
fn a_handler_is_called_with_valid_arguments_only() {
    let refused = |text: &str| {
        result(&format!(r#""content":[{{"type":"text","text":"{text}"}}],"isError":true"#))
    };
    let unknown = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"Unknown tool: spilt\"}}\n";
    for (input, expected) in [
        (
            call("copy", r#"{"blocks":-1,"block":2}"#, ""),
            refused(concat!(
                "blocks: must be an integer from 0 to 4294967295, is -1\\n",
                "block: is unknown, must be one of blocks"
            )),
        ),
        (
            call("fail", r#"{"how":"loudly"}"#, ""),
            refused(concat!(
                r#"how: must be one of \"failed\", \"arguments\", \"internal\", \"protocol\", "#,
                r#"is \"loudly\""#
            )),
        ),
        (call("spilt", "{}", ""), unknown.to_owned()),
    ] {
        for tx in SIZES {
            let (mut fast, mut slow) = (Fast::default(), Slow::default());
            assert_eq!(play(&mut fast, &input, tx, None), (expected.clone(), None));
            assert_eq!(play(&mut slow, &input, tx, None), (expected.clone(), None));
            assert_eq!((fast.calls, slow.calls.get()), (0, 0));
        }
    }
}

#[test]
fn each_kind_of_error_is_sent_as_the_revision_has_it() {
    let tool_error =
        |text: &str| format!(r#"{{"content":[{{"type":"text","text":"{text}"}}],"isError":true}}"#);
    let (failed, invalid) = ("The disk is full", "how: is not possible today");
    let internal = r#""error":{"code":-32603,"message":"Internal error"}"#;
    let busy = r#""error":{"code":7,"message":"Busy"}"#;
    let invalid_params = format!(r#""error":{{"code":-32602,"message":"{invalid}"}}"#);
    let invalid_result = format!(r#""result":{}"#, tool_error(invalid));
    for (how, old, new) in [
        ("failed", &format!(r#""result":{}"#, tool_error(failed)), None),
        ("arguments", &invalid_params, Some(&invalid_result)),
        ("internal", &internal.to_owned(), None),
        ("protocol", &busy.to_owned(), None),
    ] {
        let arguments = format!(r#"{{"how":"{how}"}}"#);
        let line = |body: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":1,{body}}}\n");
        let (old, new) = (line(old), line(new.unwrap_or(old)));
        for (revision, expected) in [(Revision::V2025_06_18, &old), (Revision::V2025_11_25, &new)] {
            assert_eq!(&legacy(&mut Fast::default(), revision, "fail", &arguments), expected);
            assert_eq!(&legacy(&mut Slow::default(), revision, "fail", &arguments), expected);
        }
        let members = new.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"result":{"#);
        let modern = match members.and_then(|rest| rest.strip_suffix("}}\n")) {
            Some(members) => result(members),
            None => new,
        };
        let input = call("fail", &arguments, "");
        assert_eq!(play(&mut Fast::default(), &input, 64, None), (modern.clone(), None));
        assert_eq!(play(&mut Slow::default(), &input, 64, None), (modern, None));
    }
}

#[test]
fn a_lost_transport_ends_the_tool_and_the_loop_hears_of_it() {
    let meta = r#","progressToken":"p""#;
    let input = call("copy", r#"{"blocks":1000}"#, meta);
    let (whole, _) = play(&mut Slow::default(), &input, 200, None);
    for most in [0, 1, 100, 250] {
        let mut slow = Slow::default();
        let (output, lost) = play(&mut slow, &input, 200, Some(most));
        assert_eq!(lost, Some(Lost::Wire));
        // Not one byte is written after the loss.
        assert!(whole.starts_with(&output) && output.len() < most + 7, "{most}: {output}");
        assert_eq!(slow.calls.get(), 1);
    }
    // It is lost in the middle of a result, too.
    let input = call("split", &format!(r#"{{"text":"{}"}}"#, "x".repeat(100)), "");
    assert_eq!(play(&mut Fast::default(), &input, 64, Some(90)).1, Some(Lost::Wire));
}

#[test]
fn other_requests_are_left_to_the_loop() {
    struct Other(Option<bool>);
    impl Serve for Other {
        fn serve(
            &mut self,
            turn: &mut ServerTurn<'_>,
            request: &Request<'_>,
            wire: &Wire,
        ) -> Served {
            let target = Fast::default().serve(turn, request, wire)?;
            self.0 = Some(matches!(target, Target::Responded));
            Ok(target)
        }
    }
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let mut other = Other(None);
    let (output, _) = play(&mut other, &format!("{list}\n"), 64, None);
    assert_eq!(other.0, Some(true));
    assert!(output.contains(r#""name":"split""#), "{output}");
}

/// A handler without structured results, as short as it gets.
struct Plain;

#[derive(Tools)]
enum PlainCall<'a> {
    /// Repeats a text.
    Echo { text: Text<'a> },
}

static PLAIN_CATALOG: Catalog = Catalog::new().tools_of::<PlainCall>();

impl ToolHandler for Plain {
    type Tools = PlainCall<'static>;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, call: PlainCall<'a>, _: ToolContext<'a>) -> ToolResult<'a> {
        let PlainCall::Echo { text } = call;
        Ok(ToolOutput::Text(text))
    }
}

impl Serve for Plain {
    fn serve(&mut self, turn: &mut ServerTurn<'_>, request: &Request<'_>, wire: &Wire) -> Served {
        let pump = |bytes: &[u8], _: &mut Spare<'_>| wire.take(bytes);
        turn.call_tool(&PLAIN_CATALOG, request, self, pump, || at(0))
    }
}

#[test]
fn a_text_of_the_request_is_a_result() {
    let input = call("echo", r#"{"text":"a\tb"}"#, "");
    let expected = result(r#""content":[{"type":"text","text":"a\tb"}]"#);
    assert_eq!(play(&mut Plain, &input, 1, None), (expected, None));
}
