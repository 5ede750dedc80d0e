//! What a person sees: the lines of a plain `tracing_subscriber::fmt()`.

#[path = "asynchronous/client.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod client;
#[path = "asynchronous/door.rs"]
mod door;
#[path = "exchange/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod exchange;
#[path = "asynchronous/pipe.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod pipe;
#[path = "virtual_time/mod.rs"]
mod virtual_time;

use std::future::{Future, pending, ready};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::types::{Implementation, TaskSupport, Tool, ToolExecution};
use mcp_sansio::{
    Catalog, NoOutput, RawJson, ServerConfig, ServerFeatures, ToolContext, ToolResult, entries,
};
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::asynchronous::http::{
    AuthorizationError, Credentials, HttpOptions, HttpServer, Principal,
};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, TaskOptions, serve};
use mcp_sansio_adapters::observer::TracingObserver;
use mcp_sansio_adapters::store::{MemoryStore, TaskStore};
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use client::{Client, task_call as call, task_request as request};
use door::Door;
use exchange::{head, rest, send};
use pipe::pipe;

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("test", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::TASKS).with(ServerFeatures::TASKS_CANCEL),
);
const SCHEMA: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);
const TASK: ToolExecution = ToolExecution::new().task_support(TaskSupport::Required);
static CATALOG: Catalog<'_> = Catalog::new().tools_of::<Call>().tools(entries![
    Tool::new("backup", SCHEMA).execution(TASK),
    Tool::new("hold", SCHEMA).execution(TASK),
]);

#[derive(Tools)]
enum Call {
    /// Divides
    Divide { a: u32, b: u32 },
    /// Has a bug
    Bug,
    /// Deletes all
    #[tool(scopes("files:read", "files:write"))]
    Delete,
}

struct Desk;

impl ToolHandler for Desk {
    type Tools = Call;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, call: Call, _: ToolContext<'a>) -> ToolResult<'a> {
        match call {
            Call::Divide { a, b } => {
                Ok(a.checked_div(b).ok_or("division\nby zero")?.to_string().into())
            }
            Call::Bug => panic!("a bug"),
            Call::Delete => Ok("deleted".into()),
        }
    }
}

async fn handle(ctx: Context) -> HandlerResult {
    match ctx.name() {
        "backup" => sleep(Duration::from_secs(1)).await,
        "hold" => pending().await,
        _ => return ctx.call_tool(&Mutex::new(Desk)).await,
    }
    tracing::info!(target: "backup", "copied");
    Err("the disk is full")?
}

/// What is written, without times.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Log {
    /// Returns the lines, with times, ids of tasks and numbers of connections replaced.
    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let hidden = |word: &str| match word.split_once('=') {
            Some((what @ ("took" | "after"), time)) => {
                assert!(time.ends_with('s'), "{word}");
                format!("{what}=TIME")
            }
            Some(("connection", number)) => {
                format!("connection=N{}", number.trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            _ => word.split_inclusive(['=', ' ', '}', ':']).map(without_id).collect(),
        };
        text.lines().map(|line| line.split(' ').map(hidden).collect::<Vec<_>>().join(" ")).collect()
    }
}

fn without_id(part: &str) -> String {
    let id = part.trim_end_matches(['}', ':']);
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { part.replace(id, "TASK") } else { part.to_owned() }
}

/// Runs a future under a subscriber with the defaults. Returns the lines.
fn logged<R>(level: tracing::Level, work: impl Future<Output = R>) -> Vec<String> {
    logged_with(FmtSpan::NONE, level, work)
}

fn logged_with<R>(
    spans: FmtSpan,
    level: tracing::Level,
    work: impl Future<Output = R>,
) -> Vec<String> {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_span_events(spans)
        .with_max_level(level)
        .with_writer(log.clone())
        .with_ansi(false)
        .without_time()
        .finish();
    tracing::subscriber::with_default(subscriber, || virtual_time::block_on(work));
    log.lines()
}

fn principal(credentials: &Credentials) -> Result<Principal, AuthorizationError> {
    match credentials.token() {
        Some("ada") => {
            let scopes = "files:read".to_owned();
            Ok(Principal { scopes, ..Principal::new("https://auth.example.com", "ada") })
        }
        Some(_) => Err(AuthorizationError::invalid_token().description("it has expired")),
        None => Err(AuthorizationError::missing_token()),
    }
}

async fn ask(server: &HttpServer, token: Option<&'static str>, request: &Value) -> Value {
    let texts = [
        ("authorization", token),
        ("mcp-protocol-version", Some("2026-07-28")),
        ("mcp-method", request["method"].as_str()),
        ("mcp-name", request["params"]["name"].as_str()),
        ("mcp-name", request["params"]["taskId"].as_str()),
    ];
    let fields: Vec<_> = texts.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
    let head = head("POST", &fields).peer(IpAddr::from(Ipv4Addr::new(192, 0, 2, 7)));
    let mut exchange = send(server, head, &request.to_string()).await;
    serde_json::from_str(&rest(&mut exchange).await).unwrap()
}

const ADA: Option<&str> = Some("Bearer ada");

/// Serves while the client works.
async fn served(work: impl AsyncFnOnce(&HttpServer)) {
    let app = App::new(&CONFIG, handle).catalog(&CATALOG).observer(TracingObserver::default());
    let options =
        HttpOptions::new().authorize(|credentials: Credentials| ready(principal(&credentials)));
    let server = HttpServer::new(&app, options).unwrap();
    let run = async {
        server.run(&app).await;
    };
    let work = async {
        work(&server).await;
    };
    future::or(run, work).await;
}

#[test]
fn each_call_and_each_refusal_is_one_line() {
    let lines = logged(
        tracing::Level::INFO,
        served(async |server| {
            ask(server, ADA, &call(1, "divide", json!({"a": 6, "b": 3}))).await;
            ask(server, ADA, &call(2, "divide", json!({"a": 6, "b": 0}))).await;
            ask(server, ADA, &call(3, "divide", json!({"a": 6}))).await;
            ask(server, ADA, &call(4, "divine", json!({}))).await;
            ask(server, ADA, &call(5, "delete", json!({}))).await;
            ask(server, Some("Bearer old"), &call(6, "delete", json!({}))).await;
            ask(server, None, &call(7, "delete", json!({}))).await;
            ask(server, ADA, &call(8, "bug", json!({}))).await;
            ask(server, ADA, &request(9, "tools/list", json!({}))).await;
            ask(server, ADA, &request(10, "tools/unknown", json!({}))).await;
        }),
    );
    assert_eq!(
        lines,
        [
            " INFO mcp.request{method=tools/call name=divide id=1 peer=192.0.2.7 principal=ada}: mcp: tools/call divide (id 1): responded took=TIME",
            " WARN mcp.request{method=tools/call name=divide id=2 peer=192.0.2.7 principal=ada}: mcp: tools/call divide (id 2): tool failed took=TIME error=division\\nby zero",
            " WARN mcp.request{method=tools/call name=divide id=3 peer=192.0.2.7 principal=ada}: mcp: tools/call divide (id 3): tool failed took=TIME error=b: is missing, must be an integer from 0 to 4294967295",
            " WARN mcp.request{method=tools/call name=divine id=4 peer=192.0.2.7 principal=ada}: mcp: tools/call divine (id 4): error -32602 took=TIME error=Unknown tool",
            " WARN mcp: tools/call delete: denied peer=192.0.2.7 principal=ada status=403 missing_scope=files:write error=insufficient_scope: The operation takes scopes that the token does not have",
            " WARN mcp: denied peer=192.0.2.7 status=401 error=invalid_token: it has expired",
            " WARN mcp: denied peer=192.0.2.7 status=401 error=there is no token",
            "ERROR mcp.request{method=tools/call name=bug id=8 peer=192.0.2.7 principal=ada}: mcp: tools/call bug (id 8): panicked took=TIME error=a bug",
            " INFO mcp.request{method=tools/list id=9 peer=192.0.2.7 principal=ada}: mcp: tools/list (id 9): responded took=TIME",
            " WARN mcp: refused peer=192.0.2.7 why=Method not found",
        ]
    );
}

#[test]
fn a_line_says_who_called_where_the_span_is_left_out() {
    let lines = logged(
        tracing::Level::WARN,
        served(async |server| {
            ask(server, ADA, &call(1, "divide", json!({"a": 6, "b": 3}))).await;
            ask(server, ADA, &call(2, "divide", json!({"a": 6, "b": 0}))).await;
        }),
    );
    assert_eq!(
        lines,
        [
            " WARN mcp: tools/call divide (id 2): tool failed peer=192.0.2.7 principal=ada took=TIME error=division\\nby zero",
        ]
    );
}

#[test]
fn a_span_has_the_trace_of_its_request_and_says_how_it_ended() {
    let traced = |mut call: Value, key: &str, trace: &str| {
        call["params"]["_meta"][key] = json!(trace);
        call
    };
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let succeeds = traced(call(1, "divide", json!({"a": 6, "b": 3})), "traceparent", trace);
    let panics = traced(call(2, "bug", json!({})), "tracestate", "a=1");
    let lines = logged_with(
        FmtSpan::CLOSE,
        tracing::Level::INFO,
        served(async |server| {
            ask(server, ADA, &succeeds).await;
            ask(server, ADA, &panics).await;
        }),
    );
    let ends: Vec<_> = lines.iter().filter(|line| line.ends_with(": close")).collect();
    assert_eq!(
        ends,
        [
            " INFO mcp.request{method=tools/call name=divide id=1 peer=192.0.2.7 principal=ada traceparent=\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\" outcome=responded failed=false}: mcp: close",
            " INFO mcp.request{method=tools/call name=bug id=2 peer=192.0.2.7 principal=ada tracestate=\"a=1\" outcome=panicked failed=true}: mcp: close",
        ]
    );
}

#[test]
fn a_task_is_a_line_when_it_is_created_and_one_when_it_ends() {
    let lines = logged(
        tracing::Level::INFO,
        served(async |server| {
            ask(server, ADA, &call(1, "backup", json!({}))).await;
            sleep(Duration::from_secs(2)).await;
            let created = ask(server, ADA, &call(2, "hold", json!({}))).await;
            let id = &created["result"]["taskId"];
            ask(server, ADA, &request(3, "tasks/cancel", json!({"taskId": id}))).await;
            sleep(Duration::from_millis(1)).await;
            ask(server, ADA, &request(4, "tasks/get", json!({"taskId": "0"}))).await;
            ask(server, ADA, &call(5, "hold", json!({}))).await;
            sleep(Duration::from_secs(24 * 3600)).await;
            ask(server, ADA, &call(6, "hold", json!({}))).await;
        }),
    );
    let request = |id: u32, name: &str, task: &str| {
        format!(
            "mcp.request{{method=tools/call name={name} id={id} peer=192.0.2.7 principal=ada{task}}}"
        )
    };
    let begun = |id, name: &str| {
        let span = request(id, name, "");
        format!(" INFO {span}: mcp: tools/call {name} (id {id}): became task TASK took=TIME")
    };
    let ended = |level: &str, id, name: &str, how: &str| {
        let span = request(id, name, " task=TASK");
        format!("{level} {span}: mcp: task of {name}: {how}")
    };
    assert_eq!(
        lines,
        [
            begun(1, "backup"),
            format!(" INFO {}: backup: copied", request(1, "backup", " task=TASK")),
            ended(" WARN", 1, "backup", "tool failed took=TIME error=the disk is full"),
            begun(2, "hold"),
            " INFO mcp.request{method=tasks/cancel id=3 peer=192.0.2.7 principal=ada}: mcp: tasks/cancel (id 3): responded took=TIME".to_owned(),
            ended(" INFO", 2, "hold", "cancelled took=TIME"),
            " WARN mcp.request{method=tasks/get id=4 peer=192.0.2.7 principal=ada}: mcp: tasks/get (id 4): error -32602 took=TIME error=Unknown task".to_owned(),
            begun(5, "hold"),
            ended(" WARN", 5, "hold", "expired took=TIME"),
            begun(6, "hold"),
            ended(" WARN", 6, "hold", "server shut down took=TIME"),
        ]
    );
}

#[test]
fn a_task_that_an_earlier_process_has_not_ended_ends_when_it_is_loaded() {
    let store = TaskStore::new(Arc::new(MemoryStore::new(1 << 20)), KeyRing::new([7; 32]));
    let app = || {
        let options = TaskOptions { store: Some(store.clone()), ..TaskOptions::new() };
        App::new(&CONFIG, handle).catalog(&CATALOG).tasks(options)
    };
    let first = app();
    exchange::serve(&first, HttpOptions::new(), async |server| {
        ask(server, None, &call(1, "hold", json!({}))).await;
    });
    let next = app().observer(TracingObserver::default());
    let lines = logged(tracing::Level::INFO, async { next.resume_tasks(|_| {}) });
    assert_eq!(
        lines,
        [
            " WARN mcp: task of hold: error -32603 task=TASK took=TIME error=The server was restarted"
        ]
    );
}

#[test]
fn a_connection_and_its_requests_have_the_address_of_the_client() {
    let app = App::new(&CONFIG, handle).catalog(&CATALOG).observer(TracingObserver::default());
    let (ours, theirs) = pipe(1 << 16, 1 << 16);
    let door = Door::default();
    door.enter(theirs, Some(Ipv4Addr::new(192, 0, 2, 9).into()));
    let mut client = Client::new(ours);
    let work = async {
        client.ask(&call(1, "divide", json!({"a": 6, "b": 3}))).await;
        client.ask_text("noise").await;
        drop(client);
        while app.broadcaster().connections() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let serving = async {
        serve(&app, &door).await.unwrap();
    };
    assert_eq!(
        logged(tracing::Level::DEBUG, future::or(serving, work)),
        [
            "DEBUG mcp: connected connection=N peer=192.0.2.9 transport=stream",
            " INFO mcp.request{method=tools/call name=divide id=1 connection=N peer=192.0.2.9}: mcp: tools/call divide (id 1): responded took=TIME",
            " WARN mcp: refused connection=N peer=192.0.2.9 why=Parse error: the message is not JSON: on a stream it takes one line place=byte 1 of \"noise\"",
            "DEBUG mcp: disconnected connection=N how=closed by the client after=TIME",
        ]
    );
}
