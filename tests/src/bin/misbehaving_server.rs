//! A server that misbehaves: `misbehaving_server MODE`. Its tools select what it does.

use std::io::{Write as _, stderr, stdin, stdout};
use std::process::exit;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let mut heard = Vec::new();
    while let Some(line) = hear() {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        heard.push(Value::from(line));
        let (id, params) = (&message["id"], &message["params"]);
        match (message["method"].as_str().unwrap_or_default(), mode.as_str()) {
            (_, "silent") => {}
            ("server/discover", "exits-on-probe" | "always-exits") => {
                eprintln!("what is server/discover?");
                exit(1);
            }
            ("server/discover", "legacy") => {
                say(
                    &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}),
                );
            }
            ("server/discover", _) => {
                let versions = json!(["2026-07-28"]);
                answer(
                    id,
                    json!({"supportedVersions": versions, "capabilities": capabilities(), "ttlMs": 0, "cacheScope": "private"}),
                );
            }
            ("initialize", "always-exits") => exit(1),
            ("initialize", _) => {
                let info = json!({"name": "misbehaving", "version": "1"});
                answer(
                    id,
                    json!({"protocolVersion": "2025-11-25", "capabilities": capabilities(), "serverInfo": info}),
                );
            }
            ("tools/call", _) => call(id, params, &heard),
            ("subscriptions/listen", _) => {
                let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
                let ack = json!({"_meta": meta, "notifications": params["notifications"]});
                tell("notifications/subscriptions/acknowledged", &ack);
                tell("notifications/tools/list_changed", &json!({"_meta": meta}));
            }
            ("ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe", _) => {
                answer(id, json!({}))
            }
            _ => {}
        }
    }
    if mode == "deaf" {
        // A writer that would block if the output were not read.
        print!("{}", "still here\n".repeat(100_000));
        loop {
            sleep(Duration::from_secs(1));
        }
    }
}

fn call(id: &Value, params: &Value, heard: &[Value]) {
    let arguments = &params["arguments"];
    match params["name"].as_str().unwrap_or_default() {
        "echo" => answer(id, json!({"content": [], "structuredContent": arguments})),
        "length" => {
            answer(id, json!({"content": [], "structuredContent": params.to_string().len()}))
        }
        "heard" => answer(id, json!({"content": [], "structuredContent": heard})),
        "pid" => answer(id, json!({"content": [], "structuredContent": std::process::id()})),
        "mute" => {}
        "die" => {
            eprintln!("out of cheese");
            exit(7);
        }
        "flood-stderr" => {
            let line =
                [b"\xffnot UTF-8, and no error either".as_slice(), &[b'.'; 1000], b"\n"].concat();
            for _ in 0..4096 {
                let _ = stderr().write_all(&line);
            }
            answer(id, json!({"content": []}));
        }
        "noise" => {
            let mut out = stdout().lock();
            let _ = out.write_all(b"Listening on port 8080 ...\n\r\n   \n{\"jsonrpc\":\"2.0\",\"id\":\n\xff\xfe\n[1,2\n");
            let _ = out.write_all(&[b'x'; 100_000]);
            let _ = out.write_all(
                format!("\n{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\"}}}}\r\n").as_bytes(),
            );
        }
        "big" => answer(
            id,
            json!({"content": [], "structuredContent": "a".repeat(arguments["bytes"].as_u64().unwrap_or(0) as usize)}),
        ),
        "flood" => {
            // Writes much before the next line is read.
            for _ in 0..arguments["lines"].as_u64().unwrap_or(0) {
                tell("notifications/message", &json!({"level": "info", "data": "x".repeat(1000)}));
            }
            answer(id, json!({"content": []}));
        }
        "ping-flood" => {
            for _ in 0..arguments["pings"].as_u64().unwrap_or(0) {
                say(&json!({"jsonrpc": "2.0", "id": "are you there", "method": "ping"}));
            }
            answer(id, json!({"content": []}));
        }
        _ => say(
            &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no such trick"}}),
        ),
    }
}

fn hear() -> Option<String> {
    let mut line = String::new();
    let read = stdin().read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}, "logging": {}})
}

fn answer(id: &Value, mut result: Value) {
    result["resultType"] = "complete".into();
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn tell(method: &str, params: &Value) {
    say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
}

/// A closed output is not an error.
fn say(message: &Value) {
    let _ = writeln!(stdout().lock(), "{message}");
}
