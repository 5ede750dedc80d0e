//! Servers and clients on tokio: sockets, child processes, timers.
#![allow(clippy::unwrap_used)]

use std::future::Future;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use mcp_sansio::types::{CallToolParams, Implementation, TextResult, Tool};
use mcp_sansio::{
    CallOptions, Catalog, ClientConfig, ClientFeatures, RawJson, ServerConfig, ServerFeatures,
    entries,
};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::client::{CallError, Connector};
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
use mcp_sansio_adapters::asynchronous::{
    App, ChildProcess, Context, HandlerResult, Stderr, TokioStream, serve,
};
use tokio::net::{TcpListener, TcpStream};

static SERVER: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("server", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog<'_> =
    Catalog::new().tools(entries![Tool::new("wait", RawJson::from_static(r#"{"type":"object"}"#))]);
static CLIENT: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::NONE);

fn run<R>(test: impl Future<Output = R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.unwrap() })
}

async fn wait(ctx: Context) -> HandlerResult {
    let limit = ctx.request()?.arguments().get("ms").and_then(RawJson::as_i64).unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(limit.unsigned_abs())).await;
    ctx.reply(&TextResult::new("waited"))
}

#[test]
fn over_tcp() {
    run(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = App::new(&SERVER, wait).catalog(&CATALOG);
        let visit = async {
            let stream = TokioStream::new(TcpStream::connect(address).await.unwrap());
            let (client, connection) = Connector::new(&CLIENT).connect(stream);
            let calls = async {
                let soon = RawJson::from_static(r#"{"ms":20}"#);
                let waited = client.call_tool("wait", &soon).await.unwrap();
                assert!(waited.as_json().as_str().contains("waited"));
                let params =
                    CallToolParams::new("wait").arguments(RawJson::from_static(r#"{"ms":60000}"#));
                let options = CallOptions::new().limit(Duration::from_millis(50));
                let late = client.request("tools/call", &params, options).await;
                assert!(matches!(late, Err(CallError::TimedOut)), "{late:?}");
                app.broadcaster().shut_down();
            };
            connection.drive(calls).await;
        };
        tokio::join!(async { serve(&app, &listener).await.unwrap() }, visit);
    });
}

#[test]
fn over_http() {
    run(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let app = App::new(&SERVER, wait).catalog(&CATALOG);
        let visit = async {
            let stream = HttpTransport::new(&url).unwrap();
            let (client, connection) = Connector::new(&CLIENT).connect(stream);
            let waited = connection.drive(client.call_tool("wait", &RawJson::EMPTY)).await.unwrap();
            assert!(waited.as_json().as_str().contains("waited"));
            app.broadcaster().shut_down();
        };
        let serving = async { http::serve(&app, &listener, HttpOptions::new()).await.unwrap() };
        tokio::join!(serving, visit);
        // The runtime is tokio alone.
        #[cfg(target_os = "linux")]
        for thread in std::fs::read_dir("/proc/self/task").unwrap() {
            let name = std::fs::read_to_string(thread.unwrap().path().join("comm"));
            assert_ne!(name.unwrap_or_default().trim(), "async-io");
        }
    });
}

#[test]
fn a_child_process() {
    run(async {
        let server = env!("CARGO_BIN_EXE_noisy_server");
        let mut child = ChildProcess::spawn(&mut Command::new(server), Stderr::Inherit).unwrap();
        child.exit_timeouts = [Duration::from_secs(60), Duration::MAX];
        let (client, connection) = Connector::new(&CLIENT).connect(child);
        let begun = connection.drive(async {
            let waited = client.call_tool("wait", &RawJson::EMPTY).await.unwrap();
            assert!(waited.as_json().as_str().contains("waited"));
            Instant::now()
        });
        // It exits at the end of its input.
        let closed = begun.await.elapsed();
        assert!(closed < Duration::from_secs(50), "{closed:?}");
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_child_process_that_ignores_the_end_of_its_input_is_terminated() {
    run(async {
        for (script, at_least) in [("exec sleep 60", 1.9), ("trap '' TERM; exec sleep 60", 3.9)] {
            let child =
                ChildProcess::spawn(Command::new("sh").args(["-c", script]), Stderr::Null).unwrap();
            let process = format!("/proc/{}", child.id().unwrap());
            let begun = Instant::now();
            drop(child);
            while Path::new(&process).exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let ended = begun.elapsed().as_secs_f64();
            assert!((at_least..50.0).contains(&ended), "{script}: {ended}");
        }
    });
}
