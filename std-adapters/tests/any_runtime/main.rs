//! Servers on streams and over HTTP, and clients of both, in a runtime that is neither smol nor
//! tokio. With `cargo test --no-default-features --features http --test any_runtime` the adapters
//! have neither.

mod by_hand;
#[path = "../asynchronous/door.rs"]
mod door;
#[path = "../asynchronous/pipe.rs"]
mod pipe;

use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures_lite::future;
use mcp_sansio::types::{CallToolParams, Implementation, TextResult, Tool};
use mcp_sansio::{
    CallOptions, Catalog, ClientConfig, ClientFeatures, Era, Progress, RawJson, ServerConfig,
    ServerFeatures, entries,
};
use mcp_sansio_adapters::asynchronous::client::http::{Dial, HttpTransport};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, Connector, Transport};
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
use mcp_sansio_adapters::asynchronous::{self, App, Context, HandlerResult};
use smol::LocalExecutor;

use by_hand::{calls, now, run, sleep, spawn};
use door::Door;
use pipe::{Pipe, pipe};

static SERVER: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("server", "1"), ServerFeatures::TOOLS);
static CLIENT: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::NONE);
static CATALOG: Catalog<'_> = Catalog::new().tools(entries![tool("brew"), tool("stall")]);

const fn tool(name: &'static str) -> Tool<'static> {
    Tool::new(name, RawJson::from_static(r#"{"type":"object"}"#))
}

const MINUTE: Duration = Duration::from_secs(60);
const LIMIT: Duration = Duration::from_secs(300);

async fn handle(ctx: Context) -> HandlerResult {
    if ctx.name() == "stall" {
        pending::<()>().await;
    }
    for minute in 1..=3 {
        sleep(MINUTE).await;
        ctx.tool(&ctx.request()?).progress(&Progress::of(minute).total(3)).await?;
    }
    ctx.reply(&TextResult::new("tea"))
}

/// Returns the client's end of a stream that waits to be accepted.
fn enter(door: &Door<Pipe>) -> Pipe {
    let (ours, theirs) = pipe(256, 64);
    door.enter(theirs, None);
    ours
}

/// Calls that take time, wait for each other or are given up, by the clock made by hand.
async fn visit(client: Client) {
    let begun = now();
    let mut steps = Vec::new();
    let params = CallToolParams::new("brew");
    let options = CallOptions::new().timeout(LIMIT);
    let brewed = client
        .request_with_progress("tools/call", &params, options, |progress| {
            steps.push((progress.progress.as_i64().unwrap(), now() - begun));
        })
        .await
        .unwrap();
    assert!(brewed.as_json().as_str().contains("tea"));
    assert_eq!(steps, [1, 2, 3].map(|minute| (minute, MINUTE * minute as u32)));
    assert_eq!(now() - begun, 3 * MINUTE);

    let begun = now();
    let params = CallToolParams::new("stall");
    let stalled = client.request("tools/call", &params, options).await;
    assert!(matches!(stalled, Err(CallError::TimedOut)), "{stalled:?}");
    // The core counts in milliseconds.
    assert_eq!((now() - begun).as_secs_f32().round(), LIMIT.as_secs_f32());

    let begun = now();
    let call = async |name| {
        client.request("tools/call", &CallToolParams::new(name), options).await.is_ok()
    };
    let brewed = future::or(call("brew"), call("stall"));
    assert!(brewed.await);
    assert_eq!(now() - begun, 3 * MINUTE);
}

/// Serves, connects in both eras, visits, and shuts down. Half an hour passes in less than a
/// minute.
fn check<F, T>(
    serve: impl FnOnce(Rc<Shop>, Door<Pipe>) -> F,
    transport: impl Fn(Door<Pipe>) -> T + 'static,
) where
    F: Future<Output = io::Result<()>> + 'static,
    T: Transport + 'static,
    asynchronous::client::Connection<T>: Future,
{
    let (begun, executor, door) = (Instant::now(), Rc::new(LocalExecutor::new()), Door::default());
    let handler: Handler = |ctx| Box::pin(handle(ctx));
    let app = Rc::new(App::new(&SERVER, handler).catalog(&CATALOG));
    let hub = app.broadcaster().clone();
    let served = serve(app, door.clone());
    spawn(&executor, async { served.await.unwrap() });
    let spawner = Rc::clone(&executor);
    spawn(&executor, async move {
        for era in Era::ALL {
            let connector = Connector::new(&CLIENT).era(era);
            let (client, connection) = connector.connect(transport(door.clone()));
            spawn(&spawner, async move { drop(connection.await) });
            visit(client).await;
        }
        hub.shut_down();
    });
    run(&executor);
    assert!(begun.elapsed() < MINUTE);
}

/// Handlers need not be `Send`, nor anything around them.
type Handler = fn(Context) -> Pin<Box<dyn Future<Output = HandlerResult>>>;
type Shop = App<Handler>;

#[test]
fn streams_are_served_and_connected_to() {
    let serve =
        |app: Rc<Shop>, door: Door<Pipe>| async move { asynchronous::serve(app, &door).await };
    check(serve, |door| enter(&door));
}

#[test]
fn http_is_served_and_connected_to() {
    let serve = |app, door| http::serve(app, door, HttpOptions::new());
    check(serve, |door| {
        let connect = move |_: Dial| std::future::ready(Ok(enter(&door)));
        HttpTransport::with_connector("http://127.0.0.1:8000/mcp", connect).unwrap()
    });
}

#[test]
fn without_sockets_of_the_runtime_a_client_is_told_what_takes_their_place() {
    let executor = LocalExecutor::new();
    spawn(&executor, async {
        let transport = HttpTransport::new("http://localhost:8000/mcp").unwrap();
        let (client, connection) = Connector::new(&CLIENT).connect(transport);
        let called = connection.drive(async { client.list_tools().await }).await;
        let text = called.unwrap_err().to_string();
        assert!(text.contains("HttpTransport::with_connector takes a connector"), "{text}");
        // The name was looked up where it holds nothing up.
        assert!(calls() > 0);
    });
    run(&executor);
}
