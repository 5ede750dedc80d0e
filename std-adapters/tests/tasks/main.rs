//! Tasks of the asynchronous server, on streams and over HTTP, in both dialects.

#[path = "../bus/mod.rs"]
mod bus;
#[path = "../asynchronous/client.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod client;
#[path = "../asynchronous/door.rs"]
mod door;
#[path = "../exchange/mod.rs"]
mod exchange;
mod fleet;
mod http;
mod modern;
#[path = "../store/network.rs"]
mod network;
#[path = "../asynchronous/pipe.rs"]
mod pipe;
mod progress;
#[path = "../random/mod.rs"]
mod random;
#[path = "../recorder/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod recorder;
mod session;
mod store;
mod times;
#[path = "../virtual_time/mod.rs"]
mod virtual_time;

use std::future::Future;
use std::time::Duration;

use mcp_sansio::types::{
    Implementation, LoggingLevel, TaskSupport, TextResult, Tool, ToolExecution,
};
use mcp_sansio::{
    Catalog, ErrorCode, LogMessage, Progress, RawJson, RpcError, ServerConfig, ServerFeatures,
    entries,
};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};

use client::{filled_in, form, name, task_call as call, task_request as request};

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("test", "1"),
    ServerFeatures::TOOLS
        .with(ServerFeatures::LOGGING)
        .with(ServerFeatures::TASKS_LIST)
        .with(ServerFeatures::TASKS_CANCEL),
);

static CATALOG: Catalog<'_> = Catalog::new().tools(entries![
    tool("plain", TaskSupport::Forbidden),
    tool("wait", TaskSupport::Optional),
    tool("hold", TaskSupport::Optional),
    tool("steps", TaskSupport::Optional),
    tool("ask", TaskSupport::Optional),
    tool("pair", TaskSupport::Optional),
    tool("fail", TaskSupport::Optional),
    tool("refuse", TaskSupport::Optional),
    tool("panic", TaskSupport::Optional),
    tool("large", TaskSupport::Optional),
    tool("must", TaskSupport::Required),
]);

const fn tool(name: &'static str, support: TaskSupport) -> Tool<'static> {
    Tool::new(name, RawJson::from_static(r#"{"type":"object"}"#))
        .execution(ToolExecution::new().task_support(support))
}

/// An application with these tools.
fn serving<F: Future<Output = HandlerResult>, H: Fn(Context) -> F>(handler: H) -> App<H> {
    App::new(&CONFIG, handler).catalog(&CATALOG)
}

/// The tools. Nothing in them says that they are tasks.
async fn handle(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    let millis = request.arguments().get("ms").and_then(RawJson::as_u64).unwrap_or(0);
    match ctx.name() {
        "wait" | "must" => tokio::time::sleep(Duration::from_millis(millis)).await,
        "hold" => std::future::pending().await,
        "steps" => {
            for done in 1..=3 {
                tool.progress(&Progress::of(done).total(3)).await?;
                tokio::time::sleep(Duration::from_millis(millis)).await;
            }
            tool.log(&LogMessage::new(LoggingLevel::Info, "three steps")).await?;
        }
        "ask" => {
            let first = name(&tool.request_input("first", form("First name?")).await?)?;
            let last = name(&tool.request_input("last", form(&format!("{first} who?"))).await?)?;
            return ctx.reply(&TextResult::new(&format!("{first} {last}")));
        }
        "pair" => {
            let [one, two] =
                tool.request_inputs([("one", form("One?")), ("two", form("Two?"))]).await?;
            return ctx.reply(&TextResult::new(&format!("{} {}", name(&one)?, name(&two)?)));
        }
        "fail" => return Err("It broke".into()),
        "refuse" => {
            let code = request.arguments().get("code").and_then(RawJson::as_i64);
            let code = ErrorCode::from_number(code.unwrap_or(-32602).try_into().unwrap());
            return Err(RpcError::new(code, "Not this one").into());
        }
        "panic" => panic!("a test"),
        "large" => {
            let kilobytes = usize::try_from(millis).unwrap();
            return ctx.reply(&TextResult::new(&"x".repeat(kilobytes << 10)));
        }
        _ => {}
    }
    ctx.reply(&TextResult::new("done"))
}
