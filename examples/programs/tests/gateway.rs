//! The gateway in front of two servers, of which one knows no revision after 2025-11-25.

mod common;

use std::process::Command;

use mcp_sansio::types::{CallToolResult, Implementation};
use mcp_sansio::{CallOptions, ClientConfig, ClientFeatures, Era, Json, OwnedJson};
use mcp_sansio_adapters::blocking::client::{CallError, Client, Connector, Error, Process};
use serde_json::{Value, json};

use common::{Output, SERVER, Server, call};

static CONFIG: ClientConfig =
    ClientConfig::new(Implementation::new("test", "1"), ClientFeatures::NONE);

fn gateway() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gateway"));
    command.arg(format!("old={SERVER} --legacy"));
    command.arg(format!("new={}", env!("CARGO_BIN_EXE_notes-server")));
    command
}

/// Does `work` as a client of each era.
fn each_era(work: impl Fn(&mut Client<'_>)) {
    for era in Era::ALL {
        let mut client = Connector::new(&CONFIG).era(era).connect(Process::new(gateway())).unwrap();
        work(&mut client);
        client.close().unwrap();
    }
}

fn text(result: &OwnedJson) -> String {
    let result: CallToolResult<'_> = result.to().unwrap();
    let block = result.content.iter().next().unwrap().unwrap();
    block.as_text().unwrap().to_string()
}

#[test]
fn the_servers_are_of_two_eras() {
    let mut server = Server::spawn(Command::new(SERVER).arg("--legacy"));
    let mut output = server.output();
    server.send(&call(1, "test_simple_text", json!({})));
    assert_eq!(output.next()["error"]["code"], -32600);
}

#[test]
fn tools_of_both_servers_are_listed_with_all_that_they_have() {
    each_era(|client| {
        let tools = client.list_tools().unwrap();
        let tools: Vec<Value> = tools.raw().map(|tool| tool.to().unwrap()).collect();
        let named = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert!(named("old_test_simple_text")["inputSchema"].is_object());
        let add = named("new_add");
        assert_eq!(add["annotations"]["destructiveHint"], false);
        assert_eq!(add["outputSchema"]["properties"]["number"]["type"], "integer");
        assert_eq!(add["inputSchema"]["properties"]["text"]["maxLength"], 80);
    });
}

#[test]
fn calls_results_and_errors_pass_through() {
    each_era(|client| {
        let result = client.call_tool("old_test_simple_text", &Json(json!({}))).unwrap();
        assert!(text(&result).contains("simple text"), "{result:?}");
        let result = client.call_tool("new_add", &Json(json!({"text": "Buy milk"}))).unwrap();
        let content: Value =
            result.to::<CallToolResult<'_>>().unwrap().structured_content.unwrap().to().unwrap();
        assert_eq!(content, json!({"number": 0}));
        let result = client.call_tool("new_add", &Json(json!({}))).unwrap();
        assert!(text(&result).starts_with("text: is missing"), "{result:?}");
        for unknown in ["old_none", "other_add", "add"] {
            match client.call_tool(unknown, &Json(json!({}))) {
                Err(Error::Call { error: CallError::Server(error), .. }) => {
                    assert_eq!(error.code, -32602);
                }
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn the_name_of_a_server_may_begin_with_that_of_another() {
    let mut command = gateway();
    command.arg(format!("new_er={}", env!("CARGO_BIN_EXE_notes-server")));
    let mut client = Connector::new(&CONFIG).connect(Process::new(command)).unwrap();
    let result = client.call_tool("new_er_add", &Json(json!({"text": "Buy milk"}))).unwrap();
    assert_eq!(text(&result), r#"{"number":0}"#);
    client.close().unwrap();
}

#[test]
fn two_servers_of_one_name_are_refused() {
    let ended = gateway().arg("new=cat").output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && error.contains("new: two servers have"), "{error}");
}

#[test]
fn progress_passes_through() {
    each_era(|client| {
        let mut reports = Vec::new();
        let arguments = json!({"seconds": 0.3});
        let options = CallOptions::new();
        let called = client.call_tool_with("old_slow", &Json(arguments), options, |report| {
            reports.push(report.progress.to_string());
        });
        called.unwrap();
        assert!(!reports.is_empty());
    });
}

#[test]
fn a_cancellation_passes_through() {
    let mut server = Server::spawn(&mut gateway());
    let mut output: Output = server.output();
    let mut slow = call(1, "old_slow", json!({"seconds": 600, "name": "a"}));
    slow["params"]["_meta"]["progressToken"] = json!(1);
    server.send(&slow);
    assert_eq!(output.next()["method"], "notifications/progress");
    server.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    );
    loop {
        server.send(&call(2, "old_slow_cancelled", json!({"name": "a"})));
        let mut response = output.next();
        while response["id"] != 2 {
            response = output.next();
        }
        if response["result"]["content"][0]["text"] == "yes" {
            break;
        }
    }
    assert!(server.close().success());
}
