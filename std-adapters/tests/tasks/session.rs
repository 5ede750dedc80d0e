//! The experiment of 2025-11-25, on a stream.

use std::sync::Mutex;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::typed::{AsyncToolHandler, ToolHandler, Tools};
use mcp_sansio::types::{TaskSupport, Tool, ToolExecution};
use mcp_sansio::{
    Catalog, NoOutput, Progress, RawJson, ToolContext, ToolError, ToolResult, entries,
};
use mcp_sansio_adapters::asynchronous::{App, Connection, Context, TaskOptions};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::client::{Client, WIDE, cancel, in_session, legacy};
use super::pipe::{Pipe, pipe};
use super::{CATALOG, CONFIG, filled_in, handle, serving};

const RELATED: &str = "io.modelcontextprotocol/related-task";

fn task(id: u32, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "task": {"ttl": 60000},
        "_meta": {"progressToken": "p"}});
    legacy(id, "tools/call", params)
}

/// Returns the response to a request, and what came before it.
pub(super) async fn response(client: &mut Client<Pipe>, id: u32) -> (Value, Vec<Value>) {
    let mut before = Vec::new();
    loop {
        let message = client.next().await;
        if message["id"] == id && message.get("method").is_none() {
            return (message, before);
        }
        before.push(message);
    }
}

/// Sends a request, and returns its response.
pub(super) async fn asked(client: &mut Client<Pipe>, request: &Value) -> Value {
    client.send(request).await;
    response(client, request["id"].as_u64().unwrap() as u32).await.0
}

async fn create(client: &mut Client<Pipe>, tool: &str, arguments: Value) -> Value {
    asked(client, &task(1, tool, arguments)).await["result"]["task"]["taskId"].clone()
}

/// A request about a task.
fn about(id: u32, method: &str, task: &Value) -> Value {
    legacy(id, method, json!({"taskId": task}))
}

#[test]
fn requests_for_a_result_wait_for_it() {
    let app = serving(handle);
    in_session(&app, WIDE, async |mut client| {
        let id = create(&mut client, "wait", json!({"ms": 30})).await;
        client.send(&about(2, "tasks/result", &id)).await;
        client.send(&about(3, "tasks/result", &id)).await;
        client.send(&about(4, "tasks/result", &id)).await;
        client.send(&cancel(3)).await;
        assert_eq!(
            asked(&mut client, &about(5, "tasks/get", &id)).await["result"]["status"],
            "working"
        );
        for number in [2, 4] {
            let (result, _) = response(&mut client, number).await;
            assert_eq!(result["result"]["content"][0]["text"], "done");
            assert_eq!(result["result"]["_meta"][RELATED]["taskId"], id);
        }
        client.send(&about(6, "tasks/result", &id)).await;
        let (result, before) = response(&mut client, 6).await;
        assert_eq!(result["result"]["content"][0]["text"], "done");
        assert!(before.iter().all(|message| message["id"] != 3), "{before:?}");
    });
}

#[test]
fn waiting_requests_are_limited() {
    let app = serving(handle).tasks(TaskOptions { max_waiting: 1, ..TaskOptions::new() });
    in_session(&app, WIDE, async |mut client| {
        let id = create(&mut client, "hold", json!({})).await;
        client.send(&about(2, "tasks/result", &id)).await;
        assert_eq!(
            asked(&mut client, &about(3, "tasks/result", &id)).await["error"]["code"],
            -32603
        );
        client.send(&cancel(2)).await;
        client.send(&about(4, "tasks/result", &id)).await;
        let cancelled = asked(&mut client, &about(5, "tasks/cancel", &id)).await;
        assert_eq!(cancelled["result"]["status"], "cancelled");
        assert_eq!(response(&mut client, 4).await.0["error"]["code"], -32603);
    });
}

#[test]
fn r3_h1_waiting_requests_of_one_client_leave_places_to_others() {
    let app = serving(handle).tasks(TaskOptions { max_waiting: 4, ..TaskOptions::new() });
    in_session(&app, WIDE, async |mut client| {
        let id = create(&mut client, "hold", json!({})).await;
        for number in 2..6 {
            client.send(&about(number, "tasks/result", &id)).await;
        }
        client.send(&about(6, "tasks/get", &id)).await;
        let (_, refused) = response(&mut client, 6).await;
        let codes: Vec<_> = refused.iter().map(|message| &message["error"]["code"]).collect();
        assert_eq!(codes, [-32603; 3]);
        let (server, other) = pipe(WIDE.0, WIDE.1);
        let mut other = Client::new(other);
        let asked = async {
            other.initialize().await;
            let id = create(&mut other, "hold", json!({})).await;
            other.send(&about(2, "tasks/result", &id)).await;
            other.send(&about(3, "tasks/get", &id)).await;
            response(&mut other, 3).await.1
        };
        let served = async {
            let ended = Connection::new(&app, server).await;
            panic!("{ended:?}");
        };
        assert_eq!(future::or(asked, served).await, Vec::<Value>::new());
    });
}

#[test]
fn a_task_asks_while_its_result_is_waited_for() {
    let app = serving(handle);
    for sizes in [WIDE, (7, 3)] {
        in_session(&app, sizes, async |mut client| {
            let id = create(&mut client, "ask", json!({})).await;
            let state = loop {
                client.send(&about(2, "tasks/get", &id)).await;
                let (state, before) = response(&mut client, 2).await;
                assert!(before.iter().all(|message| message["method"] != "elicitation/create"));
                if state["result"]["status"] != "working" {
                    break state;
                }
                sleep(Duration::from_millis(1)).await;
            };
            assert_eq!(state["result"]["status"], "input_required");
            // The first request is given up with what it asked; the next one asks again.
            client.send(&about(3, "tasks/result", &id)).await;
            let mut question = client.next().await;
            while question["method"] != "elicitation/create" {
                question = client.next().await;
            }
            assert_eq!(question["params"]["_meta"][RELATED]["taskId"], id);
            client.send(&cancel(3)).await;
            client.send(&about(4, "tasks/result", &id)).await;
            let mut asked = 0;
            let result = loop {
                let message = client.next().await;
                if message["id"] == 4 && message.get("method").is_none() {
                    break message;
                }
                if message["method"] == "elicitation/create" {
                    let name = ["Ada", "Lovelace"][asked];
                    asked += 1;
                    let result = filled_in(name);
                    client.respond(&message, json!(result)).await;
                }
            };
            assert_eq!(result["result"]["content"][0]["text"], "Ada Lovelace");
        });
    }
}

/// Tools as types.
#[derive(Tools)]
enum Typed {
    /// Reports progress.
    Steps,
    /// Sets the status.
    Wait,
}

struct Oven;

async fn bake(call: Typed, ctx: ToolContext<'_>) -> Result<&'static str, ToolError<'static>> {
    match call {
        Typed::Steps => ctx.progress(&Progress::of(1u32).total(2u32)).await?,
        Typed::Wait => ctx.set_status(format_args!("a task: {}", ctx.task().is_some())),
    }
    Ok("baked")
}

impl ToolHandler for Oven {
    type Tools = Typed;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, call: Typed, ctx: ToolContext<'a>) -> ToolResult<'a> {
        Ok(ctx.at_once(bake(call, ctx))?.into())
    }
}

impl AsyncToolHandler for Oven {
    type Tools = Typed;
    type Output<'a> = NoOutput;

    async fn call<'a>(&'a self, call: Typed, ctx: ToolContext<'a>) -> ToolResult<'a> {
        Ok(bake(call, ctx).await?.into())
    }
}

#[test]
fn a_tool_that_is_a_type_says_how_its_task_goes() {
    for is_async in [false, true] {
        let oven = Mutex::new(Oven);
        let app = App::new(&CONFIG, async |ctx: Context| match is_async {
            false => ctx.call_tool(&oven).await,
            true => ctx.call_async_tool(&Oven).await,
        });
        in_session(&app.catalog(&CATALOG), WIDE, async |mut client| {
            for (tool, status, reports) in [("steps", "1 of 2", 1), ("wait", "a task: true", 0)] {
                client.send(&task(1, tool, json!({}))).await;
                let (created, mut told) = response(&mut client, 1).await;
                let id = &created["result"]["task"]["taskId"];
                client.send(&about(2, "tasks/result", id)).await;
                let (result, rest) = response(&mut client, 2).await;
                assert_eq!(result["result"]["content"][0]["text"], "baked");
                told.extend(rest);
                let progress = told.iter().filter(|it| it["method"] == "notifications/progress");
                let progress: Vec<_> = progress.map(|it| &it["params"]["progress"]).collect();
                assert_eq!(progress, vec![&json!(1); reports]);
                let state = asked(&mut client, &about(3, "tasks/get", id)).await;
                assert_eq!(state["result"]["statusMessage"], status);
            }
        });
    }
}

#[test]
fn tsk_10_a_task_with_wrong_arguments_is_refused_with_an_error() {
    static STRICT: Catalog = Catalog::new().tools(entries![
        Tool::new("bake", RawJson::from_static(r#"{"type":"object","required":["minutes"]}"#))
            .execution(ToolExecution::new().task_support(TaskSupport::Required))
    ]);
    let app = App::new(&CONFIG, handle).catalog(&STRICT);
    in_session(&app, WIDE, async |mut client| {
        let refused = asked(&mut client, &task(1, "bake", json!({}))).await;
        assert_eq!(refused["error"], json!({"code": -32602, "message": "minutes: is missing"}));
        let created = asked(&mut client, &task(2, "bake", json!({"minutes": 5}))).await;
        assert!(created["result"]["task"]["taskId"].is_string(), "{created}");
    });
}
