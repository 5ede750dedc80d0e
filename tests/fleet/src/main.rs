//! A server of the fleet that `run` starts.
//!
//!     node NAME PORT REDIS
//!
//! It serves on two threads until the end of its standard input.

use std::error::Error;
use std::io::Read as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use std::{env, io, thread};

use async_io::Timer;
use mcp_sansio::tasks::TasksConfig;
use mcp_sansio::types::{
    ElicitParams, Implementation, InputRequest, RequestedSchema, Resource, TaskSupport, TextResult,
    Tool, ToolAnnotations, ToolExecution,
};
use mcp_sansio::{Catalog, Change, Progress, RawJson, ServerConfig, ServerFeatures, entries};
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::asynchronous::http::{HttpOptions, listeners, serve_on_threads};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, Limits, TaskOptions};
use mcp_sansio_adapters::observer::StderrObserver;
use mcp_sansio_adapters::store::TaskStore;
use mcp_sansio_redis::{RedisBus, RedisStore};

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("node", "1"),
    ServerFeatures::TOOLS_LIST_CHANGED
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::TASKS_LIST)
        .with(ServerFeatures::TASKS_CANCEL),
);
static CATALOG: Catalog<'_> = Catalog::new()
    .tools(entries![
        Tool::new("echo", OBJECT).description("Says the text and the node"),
        Tool::new("ask", OBJECT).description("Asks the client, and says what it accepts"),
        Tool::new("touch", OBJECT).description("Changes the resource"),
        Tool::new("slow", OBJECT).description("Tells its progress for a second"),
        task("survey", ToolAnnotations::new().read_only_hint(true))
            .description("Asks the client, and says what it accepts"),
        task("work", ToolAnnotations::new().idempotent_hint(true))
            .description("Takes some milliseconds, and says the node"),
        task("once", ToolAnnotations::new()).description("As work, but is not to be repeated"),
    ])
    .resources(entries![Resource::new("fleet:resource", "resource")]);
const fn task(name: &'static str, annotations: ToolAnnotations<'static>) -> Tool<'static> {
    Tool::new(name, OBJECT)
        .annotations(annotations)
        .execution(ToolExecution::new().task_support(TaskSupport::Optional))
}
const OBJECT: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);

const RING: KeyRing = KeyRing::new([7; 32]);

async fn handle(ctx: Context, name: Arc<str>) -> HandlerResult {
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    match ctx.name() {
        "ask" | "survey" => {
            tool.set_request_state("asked");
            let form = ElicitParams::form("Go on?", RequestedSchema::new(&[]));
            let answer = tool.request_input("go", InputRequest::Elicit(form)).await?;
            let action = answer
                .as_json()
                .get("action")
                .and_then(RawJson::as_string)
                .map(|it| it.to_string());
            ctx.reply(&TextResult::new(&action.unwrap_or_default()))
        }
        "work" | "once" => {
            let millis = request.arguments().get("ms").and_then(RawJson::as_u64).unwrap_or(0);
            Timer::after(Duration::from_millis(millis)).await;
            ctx.reply(&TextResult::new(&name))
        }
        "touch" => {
            ctx.broadcaster().publish(Change::resource("fleet:resource"));
            ctx.reply(&TextResult::new(&name))
        }
        "slow" => {
            for step in 1..=5 {
                tool.progress(&Progress::of(step)).await?;
                Timer::after(Duration::from_millis(200)).await;
            }
            ctx.reply(&TextResult::new("slept"))
        }
        _ => {
            let text = request.arguments().get("text").and_then(|text| text.as_string());
            let text = text.map(|text| text.to_string()).unwrap_or_default();
            ctx.reply(&TextResult::new(&format!("{text} {name}")))
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, port, redis] = &arguments[..] else {
        return Err("usage: node NAME PORT REDIS".into());
    };
    let (store, bus) = (RedisStore::open(redis)?, Arc::new(RedisBus::connect(redis)?));
    let options = HttpOptions {
        node: Some(name.clone().into()),
        bus: Some(bus),
        health: Some("/health"),
        ..HttpOptions::new()
    };
    let of_node: Arc<str> = name.as_str().into();
    let app = App::new(&CONFIG, move |ctx: Context| handle(ctx, Arc::clone(&of_node)))
        .catalog(&CATALOG)
        .key_ring(RING)
        .tasks(TaskOptions {
            // Clients without principals are one owner.
            config: TasksConfig::new().max_per_owner(10_000),
            store: Some(TaskStore::new(store, RING)),
            ..TaskOptions::new()
        })
        .limits(Limits { shutdown_timeout: Duration::from_secs(10), ..Limits::new() })
        .observer(StderrObserver { only_failures: true });
    let listeners = listeners(format!("127.0.0.1:{port}"), NonZeroUsize::MIN.saturating_add(1))?;
    let broadcaster = app.broadcaster().clone();
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        broadcaster.shut_down();
    });
    println!("ready");
    Ok(serve_on_threads(&app, listeners, options)?)
}
