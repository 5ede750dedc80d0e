//! How long tasks live.

use std::time::Duration;

use futures_lite::future;
use mcp_sansio::tasks::TasksConfig;
use mcp_sansio::types::TextResult;
use mcp_sansio::{ToolContext, ToolError};
use mcp_sansio_adapters::asynchronous::{self as server, App, Limits, TaskOptions, serve};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::client::{Client, WIDE, short, talk};
use super::door::Door;
use super::modern::polled;
use super::pipe::{Pipe, pipe};
use super::virtual_time::block_on;
use super::{CATALOG, CONFIG, call, handle, request, serving};

/// A client that enters.
fn connect(door: &Door<Pipe>) -> Client<Pipe> {
    let (ours, theirs) = pipe(1 << 20, 1 << 20);
    door.enter(theirs, None);
    Client::new(ours)
}

#[test]
fn a_task_goes_on_after_its_connection() {
    let app = serving(handle);
    let door = Door::default();
    let clients = async {
        let mut first = connect(&door);
        let created = first.ask(&call(1, "wait", json!({"ms": 50}))).await;
        let id = &created["result"]["taskId"];
        drop(first);
        while app.broadcaster().connections() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
        let mut second = connect(&door);
        let get = request(2, "tasks/get", json!({"taskId": id}));
        assert_eq!(second.ask(&get).await["result"]["status"], "working");
        let ended = polled(&mut second, id).await;
        assert_eq!(ended["result"]["content"][0]["text"], "done", "{ended}");
        drop(second);
        app.broadcaster().shut_down();
    };
    block_on(future::zip(serve(&app, &door), clients)).0.unwrap();
}

#[test]
fn a_task_sends_to_no_session_after_its_connection() {
    let app = App::new(&CONFIG, async |ctx: server::Context| {
        sleep(Duration::from_millis(50)).await;
        let (mut is_called, request) = (false, ctx.request()?);
        let tool = ToolContext::new(&request, &ctx);
        let sent = tool.send(|server, _| {
            is_called = !server.is_request_open(request.handle);
            Ok(())
        });
        sent.await.map_err(ToolError::from)?;
        ctx.reply(&TextResult::new(if is_called { "gone" } else { "not called" }))
    });
    let (app, door) = (app.catalog(&CATALOG), Door::default());
    let clients = async {
        let mut first = connect(&door);
        let created = first.ask(&call(1, "wait", json!({}))).await;
        let id = &created["result"]["taskId"];
        drop(first);
        sleep(Duration::from_millis(100)).await;
        let mut second = connect(&door);
        let polled = second.ask(&request(2, "tasks/get", json!({"taskId": id}))).await;
        assert_eq!(polled["result"]["result"]["content"][0]["text"], "gone", "{polled}");
        drop(second);
        app.broadcaster().shut_down();
    };
    block_on(future::zip(serve(&app, &door), clients)).0.unwrap();
}

#[test]
fn a_shutdown_waits_for_tasks_up_to_its_limit() {
    for (tool, lasts) in [("wait", 50), ("hold", 100)] {
        let limit = Duration::from_millis(100);
        let app = serving(handle).limits(Limits { shutdown_timeout: limit, ..Limits::new() });
        let door = Door::default();
        let clients = async {
            let mut client = connect(&door);
            client.ask(&call(1, tool, json!({"ms": 50}))).await;
            let began = Instant::now();
            app.broadcaster().shut_down();
            // The connection ends before the task does.
            assert!(client.line().await.is_none());
            began
        };
        let server = async {
            let served = serve(&app, &door).await;
            (served, Instant::now())
        };
        let ((served, ended), began) = block_on(future::zip(server, clients));
        served.unwrap();
        assert_eq!(ended - began, Duration::from_millis(lasts), "{tool}");
    }
}

#[test]
fn a_task_whose_time_is_over_has_failed() {
    let config = TasksConfig::new().ttl(Duration::from_millis(60));
    let options = TaskOptions { config, ..TaskOptions::new() };
    let app = serving(handle).tasks(options);
    talk(&app, WIDE, async |mut client| {
        let created = client.ask(&call(1, "wait", json!({"ms": 10_000}))).await;
        let id = created["result"]["taskId"].clone();
        let listen = json!({"notifications": {"taskIds": [id]}});
        client.ask(&request(2, "subscriptions/listen", listen)).await;
        let began = Instant::now();
        loop {
            let told = client.next().await;
            if told["params"]["status"] == "failed" {
                assert_eq!(told["params"]["error"]["code"], -32603, "{told}");
                break;
            }
        }
        assert_eq!(began.elapsed(), Duration::from_millis(60));
    });
}

#[test]
fn a_task_can_be_bound_to_its_connection() {
    let options = TaskOptions { bind_to_connection: true, ..TaskOptions::new() };
    let app = serving(handle).tasks(options);
    let door = Door::default();
    let clients = async {
        let (mut first, mut second) = (connect(&door), connect(&door));
        let created = first.ask(&call(1, "wait", json!({}))).await;
        let get = request(2, "tasks/get", json!({"taskId": created["result"]["taskId"]}));
        assert!(first.ask(&get).await["result"].is_object());
        assert_eq!(second.ask(&get).await["error"]["code"], -32602);
        app.broadcaster().shut_down();
    };
    block_on(future::zip(serve(&app, &door), clients)).0.unwrap();
}

#[test]
fn a_call_that_must_become_a_task_ends_where_there_is_no_room_for_one() {
    let after = Duration::from_millis(20);
    let options = TaskOptions { after, max_tasks: 1, ..TaskOptions::new() };
    let app = serving(handle).tasks(options);
    talk(&app, WIDE, async |mut client| {
        let began = Instant::now();
        client.ask(&call(1, "wait", json!({"ms": 10_000}))).await;
        let refused = client.ask(&call(2, "must", json!({"ms": 1000}))).await;
        assert_eq!(short(&refused), "2 error -32603");
        assert_eq!(began.elapsed(), 2 * after);
        // Any other goes on as a call.
        let answer = client.ask(&call(3, "wait", json!({"ms": 1000}))).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    });
}
