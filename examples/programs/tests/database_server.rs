//! The database server as a process with real pipes.

mod common;

use std::io::Read as _;
use std::process::Command;

use serde_json::{Value, json};

use common::{Output, Server, call, modern};

fn start() -> (Server, Output) {
    let mut server = Server::spawn(&mut Command::new(env!("CARGO_BIN_EXE_database-server")));
    let output = server.output();
    (server, output)
}

/// Sends a request, and returns its result.
fn result(method: &str, params: Value) -> Value {
    let (mut server, mut output) = start();
    server.send(&modern(1, method, params));
    output.next()["result"].take()
}

#[test]
fn a_query_tells_what_it_does_and_stops_when_it_is_cancelled() {
    let (mut server, mut output) = start();
    // A million million combinations of rows, none of which is found.
    let sql = "SELECT at FROM readings, readings, readings, readings WHERE at = -1";
    let mut query = call(1, "query", json!({ "sql": sql }));
    query["params"]["_meta"]["progressToken"] = json!("query");
    query["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    server.send(&query);
    let log = output.next();
    assert_eq!(
        (&log["method"], &log["params"]["data"]),
        (&json!("notifications/message"), &json!(sql))
    );
    let mut before = 0;
    for _ in 0..3 {
        let progress = output.next();
        assert_eq!(progress["params"]["progressToken"], "query");
        let now = progress["params"]["progress"].as_u64().unwrap();
        assert!(now > before, "{now} is not more than {before}");
        before = now;
    }
    server.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    );
    server.send(&call(2, "tables", json!({})));
    while output.next()["id"] != 2 {}
    assert!(server.close().success());
    assert_eq!(output.rest(), Vec::<Value>::new());
}

#[test]
fn the_rows_of_a_table_are_a_resource() {
    let contents = result("resources/read", json!({"uri": "table://cities"}));
    let rows = r#"[["Oslo",717710],["Bergen",291940],["Paris",2102650]]"#;
    let expected = json!([{"uri": "table://cities", "text": rows, "mimeType": "application/json"}]);
    assert_eq!(contents["contents"], expected);
    let (mut server, mut output) = start();
    server.send(&modern(1, "resources/read", json!({"uri": "table://villages"})));
    assert_eq!(output.next()["error"]["data"], json!({"uri": "table://villages"}));
}

#[test]
fn names_of_tables_are_completed() {
    for of in [
        json!({"type": "ref/resource", "uri": "table://{table}"}),
        json!({"type": "ref/prompt", "name": "summarize"}),
    ] {
        let typed = json!({"ref": of, "argument": {"name": "table", "value": "c"}});
        assert_eq!(result("completion/complete", typed)["completion"]["values"], json!(["cities"]));
    }
}

#[test]
fn a_prompt_asks_for_a_summary() {
    let prompt =
        result("prompts/get", json!({"name": "summarize", "arguments": {"table": "cities"}}));
    let text = "Query the table cities and summarize it";
    assert_eq!(
        prompt["messages"],
        json!([{"role": "user", "content": {"type": "text", "text": text}}])
    );
}

#[test]
fn standard_error_says_what_the_server_does() {
    let (mut server, mut output) = start();
    server.send(&call(1, "describe", json!({"table": "none\u{1b}[2J"})));
    assert_eq!(output.next()["result"]["isError"], true);
    server.send(&call(2, "tables\n", json!({})));
    output.next();
    server.write(b"noise\n");
    output.next();
    assert!(server.close().success());
    let mut log = String::new();
    server.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let expected = [
        ("mcp: connection 1: connected (stdio)", ""),
        (
            "mcp: connection 1: tools/call describe (id 1): tool failed in ",
            " ms: There is no such table",
        ),
        (r"mcp: connection 1: tools/call tables\n (id 2): error -32602 in ", " ms: Unknown tool"),
        (
            "mcp: connection 1: refused: Parse error: the message is not JSON: on a stream it ",
            r#"takes one line (byte 1 of "noise")"#,
        ),
        ("mcp: connection 1: disconnected after ", " s: closed by the client"),
    ];
    assert_eq!(lines.len(), expected.len(), "{log}");
    for (line, (begin, end)) in lines.iter().zip(expected) {
        assert!(line.starts_with(begin) && line.ends_with(end), "{line} is not {begin}..{end}");
    }
}
