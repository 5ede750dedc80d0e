//! `gateway NAME=COMMAND ..`: offers the tools of several servers, of whichever era, as one server.
//! Each tool gets the name of its server in front; everything else of it stays as it is.

use std::error::Error;
use std::io;
use std::process::Command;
use std::time::Duration;

use mcp_sansio::types::{Implementation, Number, ProgressParams};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientFeatures, ErrorCode, Method, OrToolError as _, OwnedJson,
    Printable, Progress, RawJson, RpcError, ServerConfig, ServerFeatures, ToolError,
};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, Connector};
use mcp_sansio_adapters::asynchronous::{
    App, ChildProcess, Connection, Context, HandlerResult, JoinedIo, Stderr,
};
use serde_json::Value;
use smol::channel::{Receiver, unbounded};
use smol::{LocalExecutor, Timer, Unblock, future};

static SERVER: ServerConfig = ServerConfig::new(
    Implementation::new("gateway", env!("CARGO_PKG_VERSION")),
    ServerFeatures::TOOLS,
);
/// Without features: the servers cannot ask the user through this program.
static CLIENT: ClientConfig = ClientConfig::new(
    Implementation::new("gateway", env!("CARGO_PKG_VERSION")),
    ClientFeatures::NONE,
);

/// A server whose tools are offered.
struct Upstream {
    name: String,
    client: Client,
}

async fn handle(ctx: Context, upstreams: &[Upstream]) -> HandlerResult {
    match ctx.request()?.method {
        Method::ToolsList => list(&ctx, upstreams).await,
        Method::ToolsCall => call(&ctx, upstreams).await,
        _ => Err(RpcError::new(ErrorCode::MethodNotFound, "Method not found").into()),
    }
}

async fn list(ctx: &Context, upstreams: &[Upstream]) -> HandlerResult {
    let mut tools = Vec::new();
    for Upstream { name, client } in upstreams {
        match client.list_tools().await {
            Ok(list) => tools.extend(list.raw().map(|tool| renamed(tool, name))),
            // The tools of the others are offered nevertheless.
            Err(error) => eprintln!("gateway: {name}: {}", Printable::new(error)),
        }
    }
    // 2026-07-28 wants to know how long, and for whom, the list may be cached.
    let cache = if ctx.request()?.revision.is_modern() {
        r#","ttlMs":0,"cacheScope":"private""#
    } else {
        ""
    };
    let list = format!(r#"{{"tools":[{}]{cache}}}"#, tools.join(","));
    ctx.reply(&RawJson::parse(&list).or_internal()?)
}

/// Copies a tool, also members that this program does not know, but for its name.
fn renamed(tool: RawJson<'_>, server: &str) -> String {
    let members = tool.members().map(|(key, value)| {
        let key = key.to_string();
        match value.as_string() {
            // A `Value` escapes what a server may have put into its names.
            Some(name) if key == "name" => {
                format!("{}:{}", Value::from(key), Value::from(format!("{server}_{name}")))
            }
            _ => format!("{}:{value}", Value::from(key)),
        }
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

async fn call(ctx: &Context, upstreams: &[Upstream]) -> HandlerResult {
    let request = ctx.request()?;
    let name = request.params.get("name").and_then(RawJson::as_string);
    let name = name.map(|name| name.to_string()).unwrap_or_default();
    let known = upstreams.iter().filter_map(|upstream| {
        let tool = name.strip_prefix(&upstream.name)?.strip_prefix('_')?;
        Some((upstream, tool))
    });
    // A tool of `git_hub` is not one of `git`.
    let known = known.max_by_key(|(upstream, _)| upstream.name.len());
    let (upstream, tool) = known.ok_or_else(|| RpcError::invalid_params("Unknown tool"))?;
    let arguments = request.arguments().as_json();
    // Dropped when the client cancels the call, which cancels that of the server.
    match with_progress(ctx, &upstream.client, tool, arguments).await? {
        Ok(result) => ctx.reply(&result),
        Err(CallError::Server(error)) => {
            let code = ErrorCode::from_number(i32::try_from(error.code).unwrap_or(-32603));
            let data = error.data.as_ref().map(OwnedJson::as_json);
            let passed_on = RpcError::new(code, &error.message);
            Err(ToolError::from(data.map_or(passed_on, |data| passed_on.data(data))).into_owned())
        }
        Err(error) => Err(format!("{}: {error}", upstream.name).into()),
    }
}

/// Calls a tool of a server, and reports its progress to the client of this program.
async fn with_progress(
    ctx: &Context,
    client: &Client,
    tool: &str,
    arguments: RawJson<'_>,
) -> Result<Result<OwnedJson, CallError>, ToolError<'static>> {
    let (sender, reports) = unbounded();
    let called = async move {
        let report = |report: &ProgressParams<'_>| {
            let message = report.message.map(|message| message.to_string());
            let [done, total] = [Some(report.progress), report.total].map(as_f64);
            let _ = sender.try_send((done.unwrap_or_default(), total, message));
        };
        client.call_tool_with(tool, &arguments, CallOptions::new(), report).await
    };
    let (result, reported) = future::zip(called, report(ctx, reports)).await;
    reported?;
    Ok(result)
}

fn as_f64(number: Option<Number<'_>>) -> Option<f64> {
    number?.to_string().parse().ok()
}

/// A report of progress: what is done, of what, and a message.
type Report = (f64, Option<f64>, Option<String>);

async fn report(ctx: &Context, reports: Receiver<Report>) -> Result<(), ToolError<'static>> {
    let request = ctx.request()?;
    while let Ok((done, total, message)) = reports.recv().await {
        let mut progress = Progress::of(done);
        progress = total.map_or(progress, |total| progress.total(total));
        progress = message.as_deref().map_or(progress, |message| progress.message(message));
        ctx.tool(&request).progress(&progress).await?;
    }
    Ok(())
}

/// Starts a server, and starts it again whenever it has ended. The client finds out its era.
fn start(executor: &LocalExecutor<'_>, name: &str, command: String) -> io::Result<Upstream> {
    let (client, mut connection) = Connector::new(&CLIENT).connect(spawn(&command)?);
    let (again, of) = (client.clone(), name.to_owned());
    executor
        .spawn(async move {
            loop {
                let ended = connection.await;
                eprintln!("gateway: {of} has ended: {ended:?}");
                Timer::after(Duration::from_secs(1)).await;
                match spawn(&command) {
                    Ok(child) => connection = again.reconnect(child),
                    Err(error) => return eprintln!("gateway: {of}: {error}"),
                }
            }
        })
        .detach();
    Ok(Upstream { name: name.to_owned(), client })
}

fn spawn(command: &str) -> io::Result<ChildProcess> {
    let mut words = command.split_whitespace();
    let mut process = Command::new(words.next().unwrap_or_default());
    ChildProcess::spawn(process.args(words), Stderr::Inherit)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (executor, mut upstreams) = (LocalExecutor::new(), Vec::<Upstream>::new());
    let usage = "usage: gateway NAME=COMMAND ..";
    for argument in std::env::args().skip(1) {
        let (name, command) = argument.split_once('=').ok_or(usage)?;
        if upstreams.iter().any(|upstream| upstream.name == name) {
            return Err(format!("{name}: two servers have this name").into());
        }
        let failed = |error| format!("{name}: cannot start `{command}`: {error}");
        upstreams.push(start(&executor, name, command.to_owned()).map_err(failed)?);
    }
    if upstreams.is_empty() {
        return Err(usage.into());
    }
    let app = App::new(&SERVER, |ctx| handle(ctx, &upstreams));
    let stdio = JoinedIo::new(Unblock::new(io::stdin()), Unblock::new(io::stdout()));
    smol::block_on(executor.run(Connection::new(&app, stdio)))?;
    Ok(())
}
