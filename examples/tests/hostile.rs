//! Hostile servers that put every terminal control character into every text: no program prints
//! one. The tests of several packages share this file.
#![allow(dead_code, reason = "some tests need only parts")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::{Value, json};

/// C0 controls, DEL, C1 controls, line and paragraph separators, and bidirectional controls.
pub(crate) fn control_characters() -> String {
    let ranges = [
        '\0'..='\u{1f}',
        '\u{7f}'..='\u{9f}',
        '\u{2028}'..='\u{202e}',
        '\u{2066}'..='\u{2069}',
        '\u{200e}'..='\u{200f}',
    ];
    ranges.into_iter().flatten().chain(['\u{61c}']).collect()
}

/// A word that contains all of them.
pub(crate) fn word(name: &str) -> String {
    format!("{name}{}end", control_characters())
}

/// `word` for places where JSON cannot escape it; without line breaks, which would end the line.
pub(crate) fn line(name: &str) -> String {
    word(name).replace(['\n', '\r'], "")
}

/// Checks that the output has no control characters. JSON permits all but C0 controls unescaped.
pub(crate) fn is_harmless(what: &str, output: &Output) -> String {
    let mut whole = String::new();
    for (name, bytes) in [("output", &output.stdout), ("error", &output.stderr)] {
        let text = std::str::from_utf8(bytes)
            .unwrap_or_else(|_| panic!("{what}: standard {name} is not UTF-8"));
        let found = text
            .lines()
            .find(|line| line.contains(|c| c != '\t' && control_characters().contains(c)));
        assert!(found.is_none(), "{what}: standard {name} has {found:?}");
        whole.push_str(text);
    }
    assert!(!whole.contains("panicked at"), "{what}: {whole}");
    whole
}

// --- A server on standard input and output: this test program, started once more.

/// The server. It is a test so that it is part of the program of the tests; the clients skip the
/// harness's own output as noise.
#[test]
#[ignore = "the server of the other tests"]
fn hostile_server() {
    let mode = std::env::var("HOSTILE").unwrap_or_default();
    let mut server = Server { mode: &mode, asked: 0 };
    for _ in 0..3 {
        eprintln!("{}", line("stderr"));
    }
    while let Some(line) = heard() {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if !server.answer(&message) {
            std::process::exit(3);
        }
    }
    std::process::exit(0);
}

struct Server<'m> {
    mode: &'m str,
    asked: u32,
}

impl Server<'_> {
    /// Handles a message; returns whether to continue.
    fn answer(&mut self, message: &Value) -> bool {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else {
            return true;
        };
        let error = json!({"code": -32000, "message": word("message"), "data": {word("key"): word("data")}});
        let result = match (self.mode, method) {
            (_, "server/discover") => Err(json!({"code": -32601, "message": word("message")})),
            ("refuse", "initialize") => Err(error),
            ("mute", "initialize") => return false,
            (_, "initialize") => Ok(opening()),
            ("errors", _) => Err(error),
            ("end", _) => return false,
            ("ask", "tools/call") => {
                self.ask();
                Ok(json!({"content": []}))
            }
            ("tell", _) => {
                tell(message);
                Ok(offer(method))
            }
            ("end-later", "logging/setLevel") => {
                tell(message);
                return false;
            }
            (_, method) => Ok(offer(method)),
        };
        say(&match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        });
        true
    }

    /// Sends every kind of request and waits for the responses, since the client would otherwise
    /// end first.
    fn ask(&mut self) {
        let field = json!({"type": "string", "title": word("title"), "description": word("description"), "default": word("default")});
        let number = json!({"type": "integer", "title": word("number"), "default": 1});
        let choice = json!({"type": "string", "oneOf": [{"const": word("const"), "title": word("title")}], "default": word("const")});
        let properties = json!({word("field"): field, "number": number, "choice": choice});
        let form = json!({"type": "object", "properties": properties});
        let content = json!({"role": "user", "content": {"type": "text", "text": word("text")}});
        let picture = json!({"role": "user", "content": {"type": "image", "mimeType": word("type"), "data": ""}});
        for (method, params) in [
            ("elicitation/create", json!({"message": word("message"), "requestedSchema": form})),
            (
                "elicitation/create",
                json!({"mode": "url", "message": word("message"), "url": word("https://a/"), "elicitationId": "1"}),
            ),
            (
                "elicitation/create",
                json!({"message": word("message"), "requestedSchema": {"type": word("type")}}),
            ),
            ("sampling/createMessage", json!({"messages": [content, picture], "maxTokens": 9})),
            ("roots/list", json!({})),
            (&word("method"), json!({})),
        ] {
            self.asked += 1;
            say(
                &json!({"jsonrpc": "2.0", "id": format!("\u{9b}{}", self.asked), "method": method, "params": params}),
            );
            heard();
        }
    }
}

fn opening() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": word("name"), "version": word("version"), "title": word("title")},
        "instructions": word("instructions"),
        "capabilities": {"tools": {}, "resources": {"subscribe": true}, "prompts": {}, "logging": {}, "completions": {}, word("capability"): {}},
    })
}

/// Returns the result of a request.
pub(crate) fn offer(method: &str) -> Value {
    let schema = json!({"type": "object", "properties": {word("argument"): {"type": word("type"), "description": word("d")}}});
    let needy = json!({"type": "object", "properties": {word("argument"): {"type": "string"}}, "required": [word("argument")]});
    let tool = |name: &str, schema: &Value| json!({"name": name, "title": word("title"), "description": word("description"), "inputSchema": schema});
    match method {
        "tools/list" => {
            json!({"tools": [tool("plain", &schema), tool("needy", &needy), tool(&word("name"), &schema)]})
        }
        "tools/call" => json!({
            "isError": true,
            "structuredContent": {word("key"): [word("value")]},
            "content": [
                {"type": "text", "text": word("text")},
                {"type": "image", "mimeType": word("image"), "data": "AAAA"},
                {"type": "image", "mimeType": word("image"), "data": "="},
                {"type": "resource_link", "uri": word("uri"), "name": word("name")},
                {"type": "resource", "resource": {"uri": word("uri"), "mimeType": word("type"), "blob": "AAAA"}},
            ],
        }),
        "resources/list" => {
            json!({"resources": [{"uri": word("uri:"), "name": word("name"), "mimeType": word("type")}]})
        }
        "resources/templates/list" => {
            json!({"resourceTemplates": [{"uriTemplate": word("uri:"), "name": word("name")}]})
        }
        "resources/read" => json!({"contents": [
            {"uri": word("uri"), "text": word("text")}, {"uri": word("uri"), "mimeType": word("type"), "blob": word("blob")},
        ]}),
        "prompts/list" => json!({"prompts": [
            {"name": "plain", "description": word("d"), "arguments": [{"name": word("argument")}]},
            {"name": "needy", "arguments": [{"name": word("argument"), "required": true}]},
        ]}),
        "prompts/get" => json!({"description": word("d"), "messages": [
            {"role": "user", "content": {"type": "text", "text": word("text")}},
            {"role": "assistant", "content": {"type": "audio", "mimeType": word("type"), "data": "AAAA"}},
        ]}),
        _ => json!({}),
    }
}

/// Sends every kind of notification, and invalid messages.
fn tell(request: &Value) {
    let token = &request["params"]["_meta"]["progressToken"];
    for (method, params) in [
        (
            "notifications/message",
            json!({"level": "warning", "logger": word("logger"), "data": word("data")}),
        ),
        ("notifications/message", json!({"level": "warning", "data": {word("key"): word("data")}})),
        (
            "notifications/progress",
            json!({"progressToken": token, "progress": 1, "total": 2, "message": word("message")}),
        ),
        ("notifications/resources/updated", json!({"uri": word("uri")})),
        (&word("method"), json!({word("key"): word("value")})),
    ] {
        say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }
    say(&json!({"jsonrpc": "2.0", "id": word("id"), "result": {}}));
    println!("{}", line("no message"));
}

fn heard() -> Option<String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).is_ok_and(|read| read > 0).then_some(line)
}

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{message}").and_then(|()| out.flush()).unwrap_or_else(|_| std::process::exit(0));
}

/// Appends the hostile server to the words of a command.
pub(crate) fn serve<'c>(mode: &str, command: &'c mut Command) -> &'c mut Command {
    command
        .arg(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "hostile::hostile_server", "--nocapture", "--quiet"])
        .env("HOSTILE", mode)
}

/// Runs a program with the hostile server, and types empty lines.
pub(crate) fn run(mode: &str, program: &str, words: &[&str]) -> String {
    let mut command = Command::new(program);
    serve(mode, command.args(words));
    is_harmless(&format!("{mode}: {program} {words:?}"), &finish(&mut command))
}

pub(crate) fn finish(command: &mut Command) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The program may have ended already.
    let _ = child.stdin.take().expect("a pipe").write_all(&b"\n".repeat(50));
    child.wait_with_output().expect("the program exits")
}

// --- A server behind a URL.

/// Responds to every request with these bytes.
pub(crate) fn http_server(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(&answer);
        }
    });
    url
}

/// The responses of hostile HTTP servers.
pub(crate) fn http_answers() -> Vec<String> {
    // ESC, C1 and bidirectional controls as UTF-8: those that lenient parsers accept in fields, and
    // others.
    let field: String = control_characters().chars().filter(|c| *c >= '\u{80}').collect();
    let body = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": word("message"), "data": word("data")}})
        .to_string();
    let with_body = |head: &str| {
        format!(
            "HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    vec![
        with_body(&format!(
            "401 Unauthorized\r\nContent-Type: text/plain\r\nWWW-Authenticate: Bearer realm=\"{field}\""
        )),
        with_body(&format!("403 {field}\r\nContent-Type: {field}\r\nWWW-Authenticate: {field}")),
        with_body("400 Bad Request\r\nContent-Type: application/json"),
        with_body("200 OK\r\nContent-Type: application/json"),
        with_body(&format!("307 Elsewhere\r\nLocation: /{field}")),
        with_body(&format!("308 Elsewhere\r\nLocation: http://{field}/")),
        with_body(&format!("200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {field}")),
        format!("{}\r\n\r\n", line("HTTP")),
    ]
}
