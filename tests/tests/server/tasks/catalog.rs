//! A catalog refuses calls that ask for what their tool does not offer.

use mcp_sansio::tasks::TaskMode;
use mcp_sansio::types::{Implementation, TaskSupport, Tool, ToolExecution};
use mcp_sansio::{
    Catalog, Frame, Instant, Messages, RawJson, Server, ServerConfig, ServerEvent, ServerFeatures,
    Target, TxBuffer, entries,
};
use mcp_sansio_tests::memory::new_server;
use serde_json::{Value, json};

const fn tool(name: &'static str, support: TaskSupport) -> Tool<'static> {
    Tool::new(name, RawJson::from_static(r#"{"type":"object","required":["x"]}"#))
        .execution(ToolExecution::new().task_support(support))
}

static CATALOG: Catalog = Catalog::new().tools(entries![
    tool("never", TaskSupport::Forbidden),
    tool("may", TaskSupport::Optional),
    tool("must", TaskSupport::Required),
]);
static PLAIN: ServerConfig =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
static WITH_TASKS: ServerConfig = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::TASKS),
);

/// Calls a tool. Returns the code of the catalog's error, or else how the program executes it.
fn call(server: &mut Server<'_>, params: &Value) -> Result<TaskMode, i64> {
    let text = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let text = text.to_string();
    let mut tx = TxBuffer::new(vec![0; 4096]);
    let mut messages = Messages::new(Frame::Complete(text.as_bytes()));
    let event = server.next_event(Instant::from_millis(0), &mut messages, &mut tx);
    let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
    match CATALOG.respond(server, &request, &mut tx).unwrap() {
        Target::Tool(tool) => {
            let mode = server.task_mode(&request, tool.task_support()).unwrap();
            server.respond(request.handle, &RawJson::EMPTY, &mut tx).unwrap();
            Ok(mode)
        }
        _ => {
            let sent: Value = serde_json::from_slice(tx.pending()).unwrap();
            Err(sent["error"]["code"].as_i64().unwrap())
        }
    }
}

const AS_A_TASK: Result<TaskMode, i64> = Ok(TaskMode::Task { ttl_ms: None });
const PLAINLY: Result<TaskMode, i64> = Ok(TaskMode::Call);
const EITHER: Result<TaskMode, i64> = Ok(TaskMode::Either);

#[test]
fn tsk_06_tsk_08_tsk_09_a_session_is_refused_by_the_catalog() {
    let expected = [
        ("never", Err(-32601), PLAINLY),
        ("may", AS_A_TASK, PLAINLY),
        ("must", AS_A_TASK, Err(-32601)),
    ];
    for config in [&PLAIN, &WITH_TASKS] {
        let mut server = new_server::<4, 4>(config);
        let hello = json!({
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "c", "version": "1" },
            },
        })
        .to_string();
        let mut tx = TxBuffer::new(vec![0; 4096]);
        let mut messages = Messages::new(Frame::Complete(hello.as_bytes()));
        server.next_event(Instant::from_millis(0), &mut messages, &mut tx).unwrap();
        for (name, task, plain) in expected {
            let asks = json!({ "name": name, "arguments": { "x": 1 }, "task": {} });
            let asks_not = json!({ "name": name, "arguments": { "x": 1 } });
            let (task, plain) = if config.capabilities().contains(ServerFeatures::TASKS) {
                (task, plain)
            } else {
                (PLAINLY, PLAINLY)
            };
            assert_eq!(call(&mut server, &asks), task, "{name} as a task");
            assert_eq!(call(&mut server, &asks_not), plain, "{name} as a call");
        }
        // A time of any other size is the longest.
        let params = json!({ "name": "may", "arguments": { "x": 1 }, "task": { "ttl": 1e300 } });
        let mode = match config.capabilities().contains(ServerFeatures::TASKS) {
            true => Ok(TaskMode::Task { ttl_ms: Some(u64::MAX) }),
            false => PLAINLY,
        };
        assert_eq!(call(&mut server, &params), mode);
        // An unknown tool comes first.
        assert_eq!(call(&mut server, &json!({ "name": "unknown", "task": {} })), Err(-32602));
    }
}

#[test]
fn tex_01_tex_04_a_request_without_the_extension_is_refused_by_the_catalog() {
    for (declared, expected) in [
        (json!({}), [PLAINLY, PLAINLY, Err(-32021)]),
        (
            json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }),
            [PLAINLY, EITHER, EITHER],
        ),
    ] {
        for config in [&PLAIN, &WITH_TASKS] {
            let mut server = new_server::<4, 4>(config);
            for (name, mut mode) in ["never", "may", "must"].into_iter().zip(expected) {
                let params = json!({
                    "name": name,
                    "arguments": { "x": 1 },
                    "_meta": {
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientCapabilities": declared,
                    },
                });
                if !config.capabilities().contains(ServerFeatures::TASKS) {
                    mode = PLAINLY;
                }
                assert_eq!(call(&mut server, &params), mode, "{name} {declared}");
            }
        }
    }
}
