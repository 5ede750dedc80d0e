//! The extension of 2026-07-28, on a stream.

use std::future::{Ready, pending};
use std::sync::Arc;
use std::time::Duration;

use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _, future};
use mcp_sansio::tasks::TasksConfig;
use mcp_sansio::types::Implementation;
use mcp_sansio::{Change, RawJson, ServerConfig, ServerFeatures};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, Limits, TaskOptions};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::client::{Client, WIDE, in_session, legacy, modern, talk};
use super::pipe::Pipe;
use super::recorder::Recorder;
use super::session::response;
use super::{CATALOG, CONFIG, call, filled_in, handle, request, serving};

pub(super) async fn state(client: &mut Client<Pipe>, id: &Value) -> Value {
    client.ask(&request(99, "tasks/get", json!({"taskId": id}))).await["result"].clone()
}

/// Polls until the task does not work any more.
pub(super) async fn polled(client: &mut Client<Pipe>, id: &Value) -> Value {
    loop {
        let state = state(client, id).await;
        if state["status"] != "working" {
            return state;
        }
        sleep(Duration::from_millis(1)).await;
    }
}

async fn create(client: &mut Client<Pipe>, tool: &str, arguments: Value) -> Value {
    let created = client.ask(&call(1, tool, arguments)).await;
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    created["result"]["taskId"].clone()
}

#[test]
fn m1_subscriptions_to_tasks_whose_acknowledgements_are_not_read_have_a_limit() {
    const LISTENS: usize = 100;
    let app = serving(handle).limits(Limits {
        max_line: 32 << 10,
        max_params: 64 << 10,
        max_pending: 1024,
        ..Limits::new()
    });
    talk(&app, (4096, 4096), async |mut client| {
        let filter = json!({"notifications": {"taskIds": []}, "more": "x".repeat(16 << 10)});
        let listen = |id| format!("{}\n", request(id, "subscriptions/listen", filter.clone()));
        let lines: String = (1..).map(listen).take(LISTENS).collect();
        let mut sent = 0;
        let writing = async {
            while sent < lines.len() {
                sent += client.stream.write(&lines.as_bytes()[sent..]).await.unwrap();
            }
        };
        future::or(writing, sleep(Duration::from_secs(1))).await;
        // Some 30 are answered on the way to the client, and those that have room wait.
        assert!(sent < lines.len() / 2, "{sent}");
        for _ in 0..4 {
            assert!(client.next().await["method"].is_string());
        }
        assert!(client.stream.write(&lines.as_bytes()[sent..]).await.unwrap() > 0);
    });
}

#[test]
fn tex_08_a_task_is_found_as_soon_as_its_call_is_answered() {
    let app = serving(handle);
    for sizes in [WIDE, (7, 3)] {
        talk(&app, sizes, async |mut client| {
            client.send(&call(1, "wait", json!({"ms": 20}))).await;
            let created = client.next().await;
            assert_eq!(created["result"]["status"], "working", "{created}");
            let id = &created["result"]["taskId"];
            let now = state(&mut client, id).await;
            assert_eq!(now["taskId"], *id);
            let ended = polled(&mut client, id).await;
            assert_eq!(ended["status"], "completed");
            assert_eq!(ended["result"]["content"][0]["text"], "done");
        });
    }
}

#[test]
fn tex_43_tasks_end_as_their_handlers_do() {
    let recorder = Recorder::default();
    let app = serving(handle).observer(recorder.clone());
    talk(&app, WIDE, async |mut client| {
        for (tool, status, text) in [
            ("must", "completed", "done"),
            ("fail", "completed", "It broke"),
            ("refuse", "failed", "Not this one"),
            ("panic", "failed", "The handler panicked"),
        ] {
            let id = create(&mut client, tool, json!({})).await;
            let ended = polled(&mut client, &id).await;
            assert_eq!(ended["status"], status, "{ended}");
            assert_eq!(ended["result"]["isError"] == true, tool == "fail");
            let said = match status {
                "failed" => &ended["error"]["message"],
                _ => &ended["result"]["content"][0]["text"],
            };
            assert_eq!(said, text);
            if status == "failed" {
                assert_eq!(ended["statusMessage"], text);
                let code = if tool == "panic" { -32603 } else { -32602 };
                assert_eq!(ended["error"]["code"], code);
            }
        }
        let ends = [
            "must ended: responded",
            "fail ended: tool failed: It broke",
            "refuse ended: error -32602: Not this one",
            "panic ended: panicked: a test",
        ];
        assert_eq!(recorder.lines_with("task of"), ends.map(|end| format!("task of {end}")));
        // A client that does not support tasks gets the result, unless there is only a task.
        let plain = client.ask(&modern(3, "tools/call", json!({"name": "wait"}))).await;
        assert_eq!(plain["result"]["content"][0]["text"], "done");
        let refused = client.ask(&modern(4, "tools/call", json!({"name": "must"}))).await;
        assert_eq!(refused["error"]["code"], -32021);
        // A tool that is never a task is none for anyone.
        let plain = client.ask(&call(5, "plain", json!({}))).await;
        assert_eq!(plain["result"]["resultType"], "complete");
    });
}

#[test]
fn a_cancelled_task_drops_its_handler() {
    let alive = Arc::new(());
    let app = serving(async |_: Context| {
        let _held = Arc::clone(&alive);
        pending().await
    });
    talk(&app, WIDE, async |mut client| {
        let id = create(&mut client, "hold", json!({})).await;
        while Arc::strong_count(&alive) == 1 {
            sleep(Duration::from_millis(1)).await;
        }
        // The request has been answered, so that its cancellation does nothing.
        client.send(&super::client::cancel(1)).await;
        let now = state(&mut client, &id).await;
        assert_eq!(now["status"], "working");
        let answer = client.ask(&request(3, "tasks/cancel", json!({"taskId": id}))).await;
        assert_eq!(answer["result"]["resultType"], "complete");
        while Arc::strong_count(&alive) > 1 {
            sleep(Duration::from_millis(1)).await;
        }
        let ended = polled(&mut client, &id).await;
        assert_eq!(ended["status"], "cancelled");
    });
}

#[test]
fn a_context_knows_whether_its_task_goes_on() {
    let (give, given) = smol::channel::unbounded();
    let app = App::new(&CONFIG, |ctx: Context| {
        give.try_send(ctx).unwrap();
        pending::<HandlerResult>()
    });
    let app = app.catalog(&CATALOG);
    talk(&app, WIDE, async |mut client| {
        let id = create(&mut client, "hold", json!({})).await;
        let ctx = given.recv().await.unwrap();
        assert!(!ctx.is_gone());
        client.ask(&request(2, "tasks/cancel", json!({"taskId": id}))).await;
        assert!(ctx.is_gone());
    });
}

#[test]
fn a_task_whose_handler_panics_before_it_returns_a_future_has_failed() {
    let app = App::new(&CONFIG, |_: Context| -> Ready<HandlerResult> { panic!("a test") });
    let app = app.catalog(&CATALOG);
    talk(&app, WIDE, async |mut client| {
        let id = create(&mut client, "must", json!({})).await;
        let ended = polled(&mut client, &id).await;
        assert_eq!(ended["status"], "failed", "{ended}");
        assert_eq!(ended["error"]["message"], "The handler panicked");
    });
}

#[test]
fn input_of_a_task_comes_with_updates() {
    let app = serving(handle);
    talk(&app, WIDE, async |mut client| {
        let id = create(&mut client, "ask", json!({})).await;
        for (question, answer) in [("First name?", "Ada"), ("Ada who?", "Lovelace")] {
            let state = polled(&mut client, &id).await;
            let (key, asked) = state["inputRequests"].as_object().unwrap().iter().next().unwrap();
            assert_eq!(asked["params"]["message"], question);
            let unknown = json!({"taskId": id, "inputResponses": {"77": filled_in("Nobody")}});
            client.ask(&request(5, "tasks/update", unknown)).await;
            let responses = json!({"taskId": id, "inputResponses": {key: filled_in(answer)}});
            let acknowledged = client.ask(&request(6, "tasks/update", responses)).await;
            assert_eq!(acknowledged["result"]["resultType"], "complete");
            // What is answered once is not asked any more.
            let polled = client.ask(&request(7, "tasks/get", json!({"taskId": id}))).await;
            assert!(polled["result"]["inputRequests"].get(key).is_none(), "{polled}");
        }
        let ended = polled(&mut client, &id).await;
        assert_eq!(ended["result"]["content"][0]["text"], "Ada Lovelace");

        let id = create(&mut client, "pair", json!({})).await;
        let asked = polled(&mut client, &id).await;
        let keys: Vec<&String> = asked["inputRequests"].as_object().unwrap().keys().collect();
        let [one, two] = keys[..] else { panic!("{asked}") };
        let first = json!({"taskId": id, "inputResponses": {one: filled_in("A")}});
        client.ask(&request(6, "tasks/update", first)).await;
        let now = state(&mut client, &id).await;
        assert_eq!(now["status"], "input_required");
        let second =
            json!({"taskId": id, "inputResponses": {two: filled_in("B"), one: filled_in("X")}});
        client.ask(&request(8, "tasks/update", second)).await;
        let ended = polled(&mut client, &id).await;
        assert_eq!(ended["result"]["content"][0]["text"], "A B");
    });
}

#[test]
fn tex_10_a_call_asks_in_rounds_before_it_becomes_a_task() {
    let options = TaskOptions {
        tool_after: vec![("ask".to_owned(), Duration::from_millis(30))],
        ..TaskOptions::new()
    };
    let app = serving(handle).tasks(options);
    talk(&app, WIDE, async |mut client| {
        let first = client.ask(&call(1, "ask", json!({}))).await;
        assert_eq!(first["result"]["resultType"], "input_required");
        let mut params = json!({"name": "ask", "inputResponses": {"first": filled_in("Ada")}});
        let second = client.ask(&request(2, "tools/call", params.clone())).await;
        assert_eq!(second["result"]["resultType"], "input_required");
        params["inputResponses"] = json!({"last": filled_in("Lovelace")});
        params["requestState"] = second["result"]["requestState"].clone();
        let third = client.ask(&request(3, "tools/call", params)).await;
        assert_eq!(third["result"]["content"][0]["text"], "Ada Lovelace");
    });
    let options = TaskOptions { after: Duration::from_millis(30), ..TaskOptions::new() };
    let app = serving(handle).tasks(options);
    talk(&app, WIDE, async |mut client| {
        // What is done earlier is an ordinary result; so is what is cancelled earlier.
        let quick = client.ask(&call(1, "wait", json!({"ms": 1}))).await;
        assert_eq!(quick["result"]["resultType"], "complete");
        client.send(&call(2, "hold", json!({}))).await;
        client.send(&super::client::cancel(2)).await;
        let created = client.ask(&call(3, "wait", json!({"ms": 60}))).await;
        assert_eq!((&created["id"], &created["result"]["resultType"]), (&json!(3), &json!("task")));
        let ended = polled(&mut client, &created["result"]["taskId"]).await;
        assert_eq!(ended["result"]["content"][0]["text"], "done");
    });
}

#[test]
fn tol_27_a_call_is_a_task_or_not_as_the_server_likes() {
    let hour = Duration::from_secs(3600);
    let options = TaskOptions {
        after: hour,
        tool_after: vec![("ask".to_owned(), Duration::ZERO)],
        ..TaskOptions::new()
    };
    let app = serving(handle).tasks(options);
    talk(&app, WIDE, async |mut client| {
        for (tool, kind) in [("wait", "complete"), ("ask", "task"), ("must", "complete")] {
            let response = client.ask(&call(1, tool, json!({}))).await;
            assert_eq!(response["result"]["resultType"], kind, "{tool}");
        }
    });
}

#[test]
fn a_change_of_a_task_that_a_tool_publishes_is_none_of_the_resources() {
    static LISTED: ServerConfig<'_> = ServerConfig::new(
        Implementation::new("test", "1"),
        ServerFeatures::TOOLS
            .with(ServerFeatures::TASKS)
            .with(ServerFeatures::RESOURCES_LIST_CHANGED),
    );
    let publish = async |ctx: Context| {
        if ctx.name() == "hold" {
            return handle(ctx).await;
        }
        let request = ctx.request()?;
        let id = request.arguments().get("id").unwrap().to::<String>().unwrap();
        let details = format!(r#"{{"taskId":"{id}","statusMessage":"published"}}"#);
        let details = RawJson::parse(&details).unwrap();
        ctx.broadcaster().publish(Change::session_task(&id, details));
        ctx.broadcaster().publish(Change::task(&id, details));
        ctx.text("told")
    };
    let app = App::new(&LISTED, publish).catalog(&CATALOG);
    talk(&app, WIDE, async |mut client| {
        let id = create(&mut client, "hold", json!({})).await;
        let listen = json!({"notifications": {"taskIds": [id], "resourcesListChanged": true}});
        client.ask(&request(2, "subscriptions/listen", listen)).await;
        client.send(&call(3, "plain", json!({"id": id}))).await;
        let mut told = Vec::new();
        loop {
            let message = client.next().await;
            if message["id"] == 3 {
                break;
            }
            told.push((message["method"].clone(), message["params"]["statusMessage"].clone()));
        }
        let published = (json!("notifications/tasks"), json!("published"));
        assert!(told.contains(&published), "{told:?}");
        assert!(told.iter().all(|(method, _)| *method == published.0), "{told:?}");
    });
    // A session is told of its own tasks alone, and not by a tool.
    in_session(&app, WIDE, async |mut client| {
        let params = json!({"name": "plain", "arguments": {"id": "x"}});
        client.send(&legacy(1, "tools/call", params)).await;
        assert_eq!(response(&mut client, 1).await.1, Vec::<Value>::new());
    });
}

#[test]
fn limits_of_tasks() {
    let config = TasksConfig::new().max_per_owner(100);
    let options = TaskOptions { config, max_tasks: 2, max_results: 30 << 10, ..TaskOptions::new() };
    let recorder = Recorder::default();
    let app = serving(handle).tasks(options);
    let app = app.observer(recorder.clone());
    talk(&app, WIDE, async |mut client| {
        let id = create(&mut client, "large", json!({"ms": 20})).await;
        assert_eq!(polled(&mut client, &id).await["status"], "completed");
        let id = create(&mut client, "large", json!({"ms": 20})).await;
        let failed = polled(&mut client, &id).await;
        assert_eq!(failed["error"]["code"], -32603, "{failed}");
        assert_eq!(
            recorder.lines_with("task of"),
            [
                "task of large ended: responded",
                "task of large ended: error -32603: There is no room for the result of the task",
            ]
        );
        // The table is full: what need not be a task is none.
        let plain = client.ask(&call(3, "wait", json!({}))).await;
        assert_eq!(plain["result"]["content"][0]["text"], "done");
        let refused = client.ask(&call(4, "must", json!({}))).await;
        assert_eq!(refused["error"]["code"], -32603);
    });
}

#[test]
fn results_of_one_owner_leave_room_for_those_of_others() {
    // A quarter is 25 KiB.
    let options =
        TaskOptions { bind_to_connection: true, max_results: 100 << 10, ..TaskOptions::new() };
    let app = serving(handle).tasks(options);
    for _ in 0..2 {
        talk(&app, WIDE, async |mut client| {
            for (kilobytes, status) in [(1, "completed"), (20, "completed"), (20, "failed")] {
                let id = create(&mut client, "large", json!({"ms": kilobytes})).await;
                let ended = polled(&mut client, &id).await;
                assert_eq!(ended["status"], status, "{kilobytes}");
            }
        });
    }
}

#[test]
fn a_long_result_goes_through_a_small_buffer() {
    let app = serving(handle).limits(Limits { max_pending: 4096, ..Limits::new() });
    talk(&app, (4096, 4096), async |mut client| {
        let id = create(&mut client, "large", json!({"ms": 50 << 10})).await;
        let mut length = 0;
        while length < 1000 {
            length = 0;
            client.send(&request(2, "tasks/get", json!({"taskId": id}))).await;
            let mut chunk = [0; 4096];
            loop {
                let read = client.stream.read(&mut chunk).await.unwrap();
                let read = &chunk[..read];
                length += read.iter().filter(|byte| **byte == b'x').count();
                if read.last() == Some(&b'\n') {
                    break;
                }
            }
        }
        assert!(length >= 50 << 20);
    });
}
