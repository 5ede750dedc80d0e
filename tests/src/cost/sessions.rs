//! Messages to a server and to a client.

use std::hint::black_box;
use std::io::Read as _;

use mcp_sansio::types::{CallToolResult, Implementation, InputResponses, ListToolsResult};
use mcp_sansio::{
    CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, Frame, Instant,
    Messages, OwnedRequest, RawJson, Request, Revisions, RpcError, RxBuffer, Server, ServerConfig,
    ServerEvent, ServerFeatures,
};

use super::{Table, Work, join};
use crate::line::Line;
use crate::memory::{new_client, new_server};

pub(super) const CASES: &Table = &[
    ("server: pings of a batch", |n| server(&batch(n, ping))),
    ("server: pings of a batch, a cursor for each", |n| server_anew(&batch(n, ping))),
    ("server: requests of a batch", |n| {
        server(&batch(n, |at| {
            format!(
                r#"{{"jsonrpc":"2.0","id":"{at}","method":"tools/call","params":{{"name":"a"}}}}"#
            )
        }))
    }),
    ("server: notifications of a batch", |n| {
        server(&batch(n, |_| r#"{"jsonrpc":"2.0","method":"notifications/x","params":{}}"#.into()))
    }),
    ("server: responses of a batch", |n| server(&batch(n, response))),
    ("server: values of a batch that are no messages", |n| server(&batch(n, |at| at.to_string()))),
    ("server: members of a message", |n| {
        server(&format!(r#"{{"jsonrpc":"2.0","id":1,{},"method":"ping"}}"#, members(n)))
    }),
    ("server: members of params", |n| server(&call(&members(n), ""))),
    ("server: members of arguments", |n| server(&arguments(&members(n)))),
    ("server: the same argument", |n| server(&arguments(&join(n, |_| r#""m":1"#.into())))),
    ("server: arguments with escapes in their names", |n| {
        server(&arguments(&join(n, |at| format!(r#""\u006d{at}":{at}"#))))
    }),
    ("server: white space", |n| {
        server(&arguments(&format!("{}\"a\"{}:1", " ".repeat(8 * n), "\t".repeat(8 * n))))
    }),
    ("server: escapes in a value", |n| {
        server(&arguments(&format!(r#""zz":"{}""#, r"\n\u00e9".repeat(n))))
    }),
    ("server: escapes in a tool's name", |n| server(&named(&r"\u0061".repeat(n)))),
    ("server: a tool's name", |n| server(&named(&"a".repeat(10 * n)))),
    ("server: escapes in a method", |n| {
        server(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, r"\u0061".repeat(n)))
    }),
    ("server: digits of a number", |n| {
        server(&arguments(&format!(r#""zz":{}"#, "9".repeat(10 * n))))
    }),
    ("server: digits of an id", |n| {
        server(&format!(r#"{{"jsonrpc":"2.0","id":{}.0,"method":"ping"}}"#, "1".repeat(10 * n)))
    }),
    ("server: an id of text", |n| {
        server(&format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, r"\u0061".repeat(n)))
    }),
    ("server: brackets", |n| server(&arguments(&format!(r#""zz":{}"#, "[".repeat(10 * n))))),
    ("server: no JSON", |n| server(&arguments(&format!(r#""zz":[{}"#, "1,".repeat(10 * n))))),
    ("server: no UTF-8", |n| server_bytes(vec![0xc3; 10 * n])),
    ("server: members of _meta", |n| {
        server(&call("", &format!(",{}", join(n, |at| format!(r#""a.b/m{at}":{at}"#)))))
    }),
    ("server: trace state", |n| {
        let state = join(n, |at| format!("k{at}=v"));
        server(&call("", &format!(r#",{TRACED},"tracestate":"{state}""#)))
    }),
    ("server: baggage", |n| {
        let baggage = join(n, |at| format!("k{at}=v;p"));
        server(&call("", &format!(r#",{TRACED},"baggage":"{baggage}""#)))
    }),
    ("server: capabilities of a request", |n| {
        server(&call_declaring(&join(n, |at| format!(r#""c{at}":{{}}"#))))
    }),
    ("server: extensions of a request", |n| server(&call_declaring(&extensions(n)))),
    ("server: the same capability", |n| {
        server(&call_declaring(&join(n, |_| r#""elicitation":{"url":{},"form":{}}"#.into())))
    }),
    ("server: capabilities of a session", |n| {
        server(&initialize(&join(n, |at| format!(r#""c{at}":{{}}"#))))
    }),
    ("server: extensions of a session", |n| server(&initialize(&extensions(n)))),
    ("server: input responses", |n| {
        let responses = join(n, |at| format!(r#""k{at}":{{"action":"accept"}}"#));
        server(&call(&format!(r#""inputResponses":{{{responses}}}"#), ""))
    }),
    ("server: listened URIs", |n| {
        let uris = join(n, |at| format!(r#""file:///{at}""#));
        server(&listen(&format!(r#""resourceSubscriptions":[{uris}]"#)))
    }),
    ("server: a long listened URI", |n| {
        let uri = "a".repeat(10 * n);
        server(&listen(&format!(r#""resourceSubscriptions":["file:///{uri}"]"#)))
    }),
    ("server: an unknown revision", |n| {
        server(&call("", "").replace("2026-07-28", &"9".repeat(10 * n)))
    }),
    ("server: an unknown revision of a session", |n| {
        server(&OPEN.replace("2025-03-26", &"9".repeat(10 * n)))
    }),
    ("server: unknown filters", |n| server(&listen(&join(n, |at| format!(r#""f{at}":true"#))))),
    ("server: a URI", |n| {
        let uri = "a/".repeat(10 * n);
        server(&modern("resources/read", &format!(r#""uri":"file:///{uri}","#), ""))
    }),
    ("server: lines", |n| server_lines(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#, n)),
    ("server: empty lines", |n| server_lines("", 10 * n)),
    ("server: bytes of a line, one by one", |n| {
        server_bytes_singly(&call(&format!(r#""zz":"{}""#, "a".repeat(10 * n)), ""))
    }),
    ("server: bytes of an oversized line, one by one", |n| {
        server_bytes_singly(&"a".repeat(65_536 + 10 * n))
    }),
    ("client: responses of a batch", |n| client(&batch(n, |at| response(at + 100)))),
    ("client: responses of a batch, a cursor for each", |n| {
        client_anew(&batch(n, |at| response(at + 100)))
    }),
    ("client: requests of a batch", |n| {
        client(&batch(n, |at| format!(r#"{{"jsonrpc":"2.0","id":{at},"method":"roots/list"}}"#)))
    }),
    ("client: progress of a batch", |n| {
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#;
        client(&batch(n, |_| progress.into()))
    }),
    ("client: log messages of a batch", |n| {
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
        client(&batch(n, |_| log.into()))
    }),
    ("client: values of a batch that are no messages", |n| client(&batch(n, |at| at.to_string()))),
    ("client: members of a result", |n| client(&result(&members(n)))),
    ("client: members of an error's data", |n| {
        let data = members(n);
        client(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"error":{{"code":-32603,"message":"m","data":{{{data}}}}}}}"#
        ))
    }),
    ("client: blocks of content", |n| {
        let blocks = join(n, |at| format!(r#"{{"type":"text","text":"{at}"}}"#));
        client(&result(&format!(r#""content":[{blocks}]"#)))
    }),
    ("client: blocks of content that are none", |n| {
        client(&result(&format!(r#""content":[{}]"#, join(n, |at| at.to_string()))))
    }),
    ("client: tools", |n| {
        let tools =
            join(n, |at| format!(r#"{{"name":"t{at}","inputSchema":{{"type":"object"}}}}"#));
        client(&result(&format!(r#""tools":[{tools}]"#)))
    }),
    ("client: questions", |n| {
        let roots = join(n, |at| format!(r#""k{at}":{{"method":"roots/list","params":{{}}}}"#));
        client_modern(&questions(&roots), n)
    }),
    ("client: questions with one key", |n| {
        let roots = join(n, |_| r#""k":{"method":"roots/list","params":{}}"#.into());
        client_modern(&questions(&roots), n)
    }),
    ("client: supported versions", |n| {
        let versions = join(n, |at| format!(r#""{at}-01-01""#));
        client_opening(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":[{versions},"2026-07-28"],"capabilities":{{}}}}}}"#
        ))
    }),
    ("client: capabilities of the server", |n| {
        let capabilities = join(n, |at| format!(r#""c{at}":{{}}"#));
        client_opening(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{{capabilities}}}}}}}"#
        ))
    }),
];

const NOW: Instant = Instant::from_millis(0);
const TRACED: &str = r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#;
const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
static SERVER: ServerConfig = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::RESOURCES_SUBSCRIBE),
)
.client_extensions(&["a.b/e1", "a.b/zz"]);
static CLIENT: ClientConfig =
    ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::ROOTS);

fn ping(at: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{at},"method":"ping"}}"#)
}

fn response(at: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{at},"result":{{}}}}"#)
}

fn members(n: usize) -> String {
    join(n, |at| format!(r#""m{at}":{at}"#))
}

fn extensions(n: usize) -> String {
    format!(r#""extensions":{{{}}}"#, join(n, |at| format!(r#""a.b/e{at}":{{}}"#)))
}

fn batch(n: usize, message: impl Fn(usize) -> String) -> String {
    format!("[{}]", join(n, message))
}

fn modern(method: &str, params: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{meta}}}}}}}"#
    )
}

/// A `tools/call` with additional members in its parameters and its `_meta`.
fn call(params: &str, meta: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    modern("tools/call", &format!(r#""name":"a",{params}{comma}"#), meta)
}

fn arguments(members: &str) -> String {
    call(&format!(r#""arguments":{{{members}}}"#), "")
}

fn named(name: &str) -> String {
    modern("tools/call", &format!(r#""name":"{name}","#), "")
}

fn call_declaring(capabilities: &str) -> String {
    call("", "").replace(r#"Capabilities":{}"#, &format!(r#"Capabilities":{{{capabilities}}}"#))
}

fn initialize(capabilities: &str) -> String {
    OPEN.replace(r#""capabilities":{}"#, &format!(r#""capabilities":{{{capabilities}}}"#))
}

fn listen(filter: &str) -> String {
    modern("subscriptions/listen", &format!(r#""notifications":{{{filter}}},"#), "")
}

fn questions(requests: &str) -> String {
    result(&format!(r#""resultType":"input_required","inputRequests":{{{requests}}}"#))
}

fn result(members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{{members}}}}}"#)
}

/// A server with an open session of 2025-03-26 (batches), and its output.
struct Hearing {
    server: Server<'static>,
    line: Line,
}

impl Hearing {
    fn new(first: &str) -> Self {
        let mut hearing = Self { server: new_server::<8, 8>(&SERVER), line: Line::new(4096) };
        if !first.contains("initialize") {
            let mut messages = Messages::new(Frame::Complete(OPEN.as_bytes()));
            while hearing.step(&mut messages) {}
        }
        hearing
    }

    /// Takes one event and uses it as an application would.
    fn step(&mut self, messages: &mut Messages<'_>) -> bool {
        let Self { server, line } = self;
        let event = line.send(|tx| server.next_event(NOW, messages, tx)).unwrap();
        let Some(event) = event else { return false };
        match &event {
            ServerEvent::Request(request) => {
                look(request);
                let error = RpcError::internal("no");
                line.send(|tx| server.respond_error(request.handle, &error, tx)).unwrap();
            }
            // An observer is told the place.
            ServerEvent::Violation(found) => drop(black_box(found.to_string())),
            _ => {}
        }
        black_box(&event);
        true
    }
}

fn look(request: &Request<'_>) {
    black_box((
        request.name(),
        request.uri(),
        request.cursor(),
        request.request_state(),
        request.input_response("zz"),
    ));
    black_box((
        request.traceparent(),
        request.tracestate(),
        request.baggage(),
        request.has_extension("a.b/zz"),
    ));
    black_box(
        request
            .arguments()
            .get("zz")
            .map(|value| (value.as_i64(), value.as_f64(), value.to::<String>().is_ok())),
    );
    black_box(request.params.as_json().to::<serde_json::Value>().is_ok());
    let responses =
        request.params.get("inputResponses").and_then(|raw| raw.to::<InputResponses<'_>>().ok());
    black_box(responses.map(|responses| responses.iter().count()));
    black_box(OwnedRequest::from(request));
}

fn server(text: &str) -> Work {
    server_bytes(text.as_bytes().to_vec())
}

fn server_bytes(frame: Vec<u8>) -> Work {
    let first = if frame.starts_with(&OPEN.as_bytes()[..40]) { OPEN } else { "" };
    Work::new(frame.len(), move || {
        let mut hearing = Hearing::new(first);
        let mut messages = Messages::new(Frame::Complete(&frame));
        while hearing.step(&mut messages) {}
    })
}

/// Makes a new cursor after each event, as when a response waits for room.
fn server_anew(text: &str) -> Work {
    let line = format!("{text}\n");
    Work::new(line.len(), move || {
        let mut hearing = Hearing::new("");
        let mut rx = filled(&line);
        while let Some(mut messages) = rx.next_messages() {
            hearing.step(&mut messages);
        }
    })
}

fn filled(line: &str) -> RxBuffer<Vec<u8>> {
    let mut rx = RxBuffer::with_limit(Vec::new(), usize::MAX);
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        let n = rest.read(rx.spare()).unwrap();
        rx.commit(n);
    }
    rx
}

fn server_lines(line: &str, n: usize) -> Work {
    let lines = format!("{line}\n").repeat(n);
    Work::new(lines.len(), move || {
        let mut hearing = Hearing::new("");
        let mut rx = filled(&lines);
        while let Some(mut messages) = rx.next_messages() {
            while hearing.step(&mut messages) {}
        }
    })
}

fn server_bytes_singly(text: &str) -> Work {
    let line = format!("{text}\n");
    Work::new(line.len(), move || {
        let mut hearing = Hearing::new("");
        let mut rx =
            RxBuffer::with_limit(Vec::new(), if line.len() > 65_536 { 4096 } else { usize::MAX });
        for byte in line.bytes() {
            rx.spare()[0] = byte;
            rx.commit(1);
            while let Some(mut messages) = rx.next_messages() {
                while hearing.step(&mut messages) {}
            }
        }
    })
}

/// A client that has opened a session, and its output.
struct Asking {
    client: Client<'static>,
    line: Line,
    /// Responses to the largest allowed number of input requests.
    answers: String,
}

static LEGACY: ClientConfig =
    ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::ROOTS)
        .revisions(Revisions::LEGACY);

impl Asking {
    fn new(config: &'static ClientConfig<'static>, answers: usize) -> Self {
        let answers = format!("{{{}}}", join(answers, |at| format!(r#""k{at}":{{}}"#)));
        let mut asking = Self { client: new_client::<8>(config), line: Line::new(4096), answers };
        asking.client.connect(NOW, &mut asking.line.tx).unwrap();
        asking
    }

    fn opened(config: &'static ClientConfig<'static>, answers: usize) -> Self {
        let mut asking = Self::new(config, answers);
        let answer = if config.revisions == Revisions::LEGACY {
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#
        } else {
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#
        };
        let mut messages = Messages::new(Frame::Complete(answer.as_bytes()));
        while asking.step(&mut messages) {}
        let call = RawJson::from_static(r#"{"name":"a"}"#);
        let (options, tx) = (CallOptions::new(), &mut asking.line.tx);
        asking.client.request(NOW, "tools/call", &call, options, tx).unwrap();
        asking
    }

    fn step(&mut self, messages: &mut Messages<'_>) -> bool {
        let Self { client, line, .. } = self;
        let event = line.send(|tx| client.next_event(NOW, messages, tx)).unwrap();
        let Some(event) = event else { return false };
        match &event {
            ClientEvent::CallFinished { outcome: CallOutcome::Result(result), .. } => {
                let content = result
                    .to::<CallToolResult<'_>>()
                    .map(|result| result.content.iter().flatten().count());
                let tools = result
                    .to::<ListToolsResult<'_>>()
                    .map(|result| result.tools.iter().flatten().count());
                black_box((content.is_ok(), tools.is_ok(), result.get("zz")));
            }
            ClientEvent::CallFinished { outcome: CallOutcome::InputRequired(input), .. } => {
                let answers = RawJson::parse(&self.answers).unwrap();
                black_box((
                    input.requests().iter().count(),
                    input.missing_response(answers),
                    input.state(),
                ));
            }
            ClientEvent::Request(request) => {
                let error = RpcError::internal("no");
                line.send(|tx| client.respond_error(request.handle, &error, tx)).unwrap();
            }
            ClientEvent::Connected(opened) => {
                black_box((
                    opened.server_info(),
                    opened.instructions(),
                    opened.extension("a.b/zz"),
                ));
            }
            ClientEvent::Violation(found) => drop(black_box(found.to_string())),
            _ => {}
        }
        black_box(&event);
        true
    }
}

fn client(text: &str) -> Work {
    hear(text, || Asking::opened(&LEGACY, 0))
}

fn client_modern(text: &str, answers: usize) -> Work {
    hear(text, move || Asking::opened(&CLIENT, answers))
}

fn client_opening(text: &str) -> Work {
    hear(text, || Asking::new(&CLIENT, 0))
}

fn hear(text: &str, asking: impl Fn() -> Asking + 'static) -> Work {
    let text = text.to_owned();
    Work::new(text.len(), move || {
        let (mut asking, mut messages) =
            (asking(), Messages::new(Frame::Complete(text.as_bytes())));
        while asking.step(&mut messages) {}
    })
}

fn client_anew(text: &str) -> Work {
    let line = format!("{text}\n");
    Work::new(line.len(), move || {
        let mut asking = Asking::opened(&LEGACY, 0);
        let mut rx = filled(&line);
        while let Some(mut messages) = rx.next_messages() {
            asking.step(&mut messages);
        }
    })
}
