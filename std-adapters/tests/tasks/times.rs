//! How long tasks live.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use async_io::{Async, Timer};
use futures_lite::future;
use mcp_sansio::tasks::TasksConfig;
use mcp_sansio_adapters::asynchronous::{App, TaskOptions, serve};
use serde_json::json;

use super::client::{Client, WIDE, talk};
use super::{CATALOG, CONFIG, call, handle, request};

async fn connect(address: SocketAddr) -> Client<Async<TcpStream>> {
    Client::new(Async::<TcpStream>::connect(address).await.unwrap())
}

fn listen() -> (Async<TcpListener>, SocketAddr) {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
    let address = listener.get_ref().local_addr().unwrap();
    (listener, address)
}

#[test]
fn a_task_goes_on_after_its_connection() {
    let app = App::new(&CONFIG, handle).catalog(&CATALOG);
    let (listener, address) = listen();
    let clients = async {
        let mut first = connect(address).await;
        let created = first.ask(&call(1, "wait", json!({"ms": 50}))).await;
        let id = &created["result"]["taskId"];
        drop(first);
        while app.broadcaster().connections() > 0 {
            Timer::after(Duration::from_millis(1)).await;
        }
        let mut second = connect(address).await;
        loop {
            let polled = second.ask(&request(2, "tasks/get", json!({"taskId": id}))).await;
            if polled["result"]["status"] != "working" {
                assert_eq!(polled["result"]["result"]["content"][0]["text"], "done", "{polled}");
                break;
            }
            Timer::after(Duration::from_millis(1)).await;
        }
        drop(second);
        app.broadcaster().shut_down();
    };
    let (served, ()) = async_io::block_on(future::zip(serve(&app, &listener), clients));
    served.unwrap();
}

#[test]
fn a_shutdown_waits_for_tasks_up_to_its_limit() {
    for (tool, least) in [("wait", 30), ("hold", 100)] {
        let limit = Duration::from_millis(100);
        let app = App::new(&CONFIG, handle).catalog(&CATALOG).shutdown_timeout(limit);
        let (listener, address) = listen();
        let clients = async {
            let mut client = connect(address).await;
            client.ask(&call(1, tool, json!({"ms": 50}))).await;
            let began = Instant::now();
            app.broadcaster().shut_down();
            // The connection ends before the task does.
            assert!(client.line().await.is_none());
            began
        };
        let (served, began) = async_io::block_on(future::zip(serve(&app, &listener), clients));
        served.unwrap();
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(least), "{tool}: {took:?}");
        assert!(took < Duration::from_secs(3), "{tool}: {took:?}");
    }
}

#[test]
fn a_task_whose_time_is_over_has_failed() {
    let config = TasksConfig::new().ttl(Duration::from_millis(60));
    let options = TaskOptions::new().config(config);
    let app = App::new(&CONFIG, handle).catalog(&CATALOG).tasks(options);
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
        assert!(began.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn ten_thousand_creations_and_polls() {
    let config = TasksConfig::new().max_per_owner(10_000).ttl(Duration::from_secs(60));
    let options = TaskOptions::new().config(config).max_tasks(10_000);
    let app = App::new(&CONFIG, handle).catalog(&CATALOG).tasks(options);
    talk(&app, WIDE, async |mut client| {
        let mut last = json!(null);
        for number in 0..10_001 {
            let created = client.ask(&call(number, "wait", json!({}))).await;
            let is_task = created["result"]["resultType"] == "task";
            assert_eq!(is_task, number < 10_000, "{number}: {created}");
            if is_task {
                last = created["result"]["taskId"].clone();
            }
        }
        for _ in 0..1000 {
            let polled = client.ask(&request(2, "tasks/get", json!({"taskId": last}))).await;
            assert_eq!(polled["result"]["taskId"], last);
        }
    });
}

#[test]
fn a_task_can_be_bound_to_its_connection() {
    let options = TaskOptions::new().bind_to_connection(true);
    let app = App::new(&CONFIG, handle).catalog(&CATALOG).tasks(options);
    let (listener, address) = listen();
    let clients = async {
        let (mut first, mut second) = (connect(address).await, connect(address).await);
        let created = first.ask(&call(1, "wait", json!({}))).await;
        let get = request(2, "tasks/get", json!({"taskId": created["result"]["taskId"]}));
        assert!(first.ask(&get).await["result"].is_object());
        assert_eq!(second.ask(&get).await["error"]["code"], -32602);
        app.broadcaster().shut_down();
    };
    let (served, ()) = async_io::block_on(future::zip(serve(&app, &listener), clients));
    served.unwrap();
}
