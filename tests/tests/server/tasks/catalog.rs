//! A catalog refuses calls that ask for what their tool does not offer.

use mcp_sansio::tasks::TaskMode;
use mcp_sansio::typed::{Called, Tools};
use mcp_sansio::types::{Implementation, TaskSupport, Tool, ToolExecution};
use mcp_sansio::{Catalog, RawJson, Revision, ServerConfig, ServerFeatures, Target, entries};
use serde_json::{Value, json};

use crate::features::support::Peer;

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
fn call(peer: &mut Peer, params: Value) -> Result<TaskMode, i64> {
    let mut mode = None;
    let response = peer.ask("tools/call", params, |server, request, tx| {
        if let Target::Tool(tool) = CATALOG.respond(server, request, tx).unwrap() {
            mode = Some(server.task_mode(request, tool.task_support()).unwrap());
            server.respond(request.handle, &RawJson::EMPTY, tx).unwrap();
        }
    });
    mode.ok_or_else(|| response["error"]["code"].as_i64().unwrap())
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
        let mut peer = Peer::with_config(Revision::V2025_11_25, config, json!({}));
        let has_tasks = config.capabilities().contains(ServerFeatures::TASKS);
        for (name, task, plain) in expected {
            let (task, plain) = if has_tasks { (task, plain) } else { (PLAINLY, PLAINLY) };
            let asks = json!({ "name": name, "arguments": { "x": 1 }, "task": {} });
            assert_eq!(call(&mut peer, asks), task, "{name} as a task");
            let asks_not = json!({ "name": name, "arguments": { "x": 1 } });
            assert_eq!(call(&mut peer, asks_not), plain, "{name} as a call");
        }
        // A time of any other size is the longest.
        let params = json!({ "name": "may", "arguments": { "x": 1 }, "task": { "ttl": 1e300 } });
        let longest = Ok(TaskMode::Task { ttl_ms: Some(u64::MAX) });
        assert_eq!(call(&mut peer, params), if has_tasks { longest } else { PLAINLY });
        // An unknown tool comes first.
        assert_eq!(call(&mut peer, json!({ "name": "unknown", "task": {} })), Err(-32602));
    }
}

#[derive(Tools)]
enum Typed {
    /// Waits.
    #[tool(task)]
    May { x: u32 },
}

static TYPED: Catalog = Catalog::new().tools_of::<Typed>();

#[test]
fn tsk_10_a_call_with_wrong_arguments_that_asks_for_a_task_gets_an_error() {
    for config in [&PLAIN, &WITH_TASKS] {
        let mut peer = Peer::with_config(Revision::V2025_11_25, config, json!({}));
        for (is_typed, asks) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut params = json!({ "name": "may", "arguments": {} });
            if asks {
                params["task"] = json!({});
            }
            let response = peer.ask("tools/call", params, |server, request, tx| {
                let target = if is_typed {
                    match TYPED.call(server, request, tx).unwrap() {
                        Called::Call(Typed::May { x }) => panic!("{x}"),
                        Called::Other(target) => target,
                    }
                } else {
                    CATALOG.respond(server, request, tx).unwrap()
                };
                assert!(matches!(target, Target::Responded));
            });
            let is_a_task = asks && config.capabilities().contains(ServerFeatures::TASKS);
            let words = if is_a_task {
                assert_eq!(response["error"]["code"], -32602);
                &response["error"]["message"]
            } else {
                assert_eq!(response["result"]["isError"], true);
                &response["result"]["content"][0]["text"]
            };
            assert!(words.as_str().unwrap().starts_with("x: is missing"), "{words}");
        }
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
            let mut peer = Peer::with_config(Revision::LATEST, config, declared.clone());
            for (name, mut mode) in ["never", "may", "must"].into_iter().zip(expected) {
                if !config.capabilities().contains(ServerFeatures::TASKS) {
                    mode = PLAINLY;
                }
                let params = json!({ "name": name, "arguments": { "x": 1 } });
                assert_eq!(call(&mut peer, params), mode, "{name} {declared}");
            }
        }
    }
}
