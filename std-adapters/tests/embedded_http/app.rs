//! The application of the tests, and the requests of its clients.

use std::cell::Cell;
use std::pin::Pin;
use std::time::Duration;

use mcp_sansio::typed::{AsyncToolHandler, Tools};
use mcp_sansio::types::{Implementation, Text};
use mcp_sansio::{
    Catalog, Change, NoOutput, Progress, ServerConfig, ServerFeatures, ToolContext, ToolResult,
};
use mcp_sansio_adapters::embedded_async::Clock as _;
use mcp_sansio_adapters::embedded_async::http::{Access, HttpOptions, HttpServer};
use serde_json::{Value, json};

use crate::net::{Net, Served};
use crate::port::{Port, Time};

static OPTIONS: HttpOptions = HttpOptions::new(&CONFIG)
    .catalog(&CATALOG)
    .access(Access::new().tokens(&["secret-1", "secret-2"]));
pub(crate) static LONGEST: HttpOptions =
    OPTIONS.idle_timeout(Duration::MAX).request_timeout(Duration::MAX).write_timeout(Duration::MAX);
static CONFIG: ServerConfig = ServerConfig::new(Implementation::new("kettle", "1.0.0"), FEATURES)
    .request_timeout(Duration::from_secs(60));
const FEATURES: ServerFeatures = CATALOG
    .features()
    .with(ServerFeatures::TOOLS_LIST_CHANGED)
    .with(ServerFeatures::RESOURCES_SUBSCRIBE);
static CATALOG: Catalog<'_> = Catalog::new().tools_of::<Call<'_>>();

#[derive(Tools)]
pub(crate) enum Call<'a> {
    /// Boils water, a cup each second.
    Boil { cups: u32 },
    /// Reports progress once, and takes 50 seconds.
    Steep,
    /// Says something.
    Say { text: Text<'a> },
    /// Tells the subscribers of a resource.
    Tell { uri: Text<'a> },
    /// Sets the temperature of a kettle that the header field names, too.
    Warm {
        #[arg(header = "Kettle")]
        kettle: u32,
    },
}

pub(crate) struct Kettle {
    time: Time,
    pub(crate) running: Cell<u32>,
}

struct Running<'a>(&'a Cell<u32>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl AsyncToolHandler for Kettle {
    type Tools = Call<'static>;
    type Output<'a> = NoOutput;

    async fn call<'a>(&'a self, call: Call<'a>, ctx: ToolContext<'a>) -> ToolResult<'a> {
        self.running.set(self.running.get() + 1);
        let _running = Running(&self.running);
        match call {
            Call::Boil { cups } => {
                for cup in 1..=cups {
                    let second = Duration::from_secs(1);
                    self.time.sleep_until(ctx.now().saturating_add(second)).await;
                    ctx.progress(&Progress::of(cup).total(cups)).await?;
                }
                Ok("The water boils".into())
            }
            Call::Steep => {
                ctx.progress(&Progress::of(1u32)).await?;
                let long = Duration::from_secs(50);
                self.time.sleep_until(ctx.now().saturating_add(long)).await;
                Ok("The tea is ready".into())
            }
            Call::Say { text } => Ok(text.into()),
            Call::Tell { uri } => {
                ctx.publish(Change::resource(&uri.to_string())).await?;
                Ok("told".into())
            }
            Call::Warm { kettle } => Ok(kettle.to_string().into()),
        }
    }
}

/// A server of `N` connections.
pub(crate) type Server<const N: usize> = HttpServer<'static, Kettle, N, 1024, 256>;

pub(crate) fn server<const N: usize>(
    options: &'static HttpOptions<'static>,
    time: &Time,
) -> Server<N> {
    HttpServer::new(options, Kettle { time: time.clone(), running: Cell::new(0) })
}

/// Returns the function that serves a connection.
#[expect(clippy::needless_lifetimes, reason = "a lifetime cannot be left out within `impl Fn`")]
pub(crate) fn serving<'s, const N: usize>(
    server: &'s Server<N>,
) -> impl Fn(Port, Port, Time) -> Pin<Box<dyn Future<Output = Served> + 's>> {
    move |reader, writer, time| Box::pin(async move { server.serve(reader, writer, &time).await })
}

/// A server of two connections whose sockets move at most `chunk` bytes at once, and `clients` of
/// them open.
pub(crate) fn with_clients<R>(
    chunk: usize,
    clients: usize,
    test: impl for<'s> FnOnce(&'s Server<2>, Net<'s>) -> R,
) -> R {
    let time = Time::default();
    let server = server(&OPTIONS, &time);
    let mut net = Net::new(&time, chunk);
    for _ in 0..clients {
        net.connect(serving(&server));
    }
    test(&server, net)
}

/// The fields of every request.
pub(crate) const FIELDS: &str = "Host: localhost:80\r\nAuthorization: Bearer secret-2\r\n\
    Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";

/// A POST with these fields.
pub(crate) fn post(fields: &str, body: &Value) -> String {
    let body = body.to_string();
    format!("POST /mcp HTTP/1.1\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A request of 2026-07-28.
pub(crate) fn modern(method: &str, params: Value) -> String {
    let mut body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    body["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 7,
    });
    let name = params_name(&body);
    post(
        &format!("{FIELDS}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"),
        &body,
    )
}

fn params_name(body: &Value) -> String {
    let name = body["params"]["name"].as_str();
    name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default()
}

pub(crate) fn call(name: &str, arguments: Value) -> String {
    modern("tools/call", json!({"name": name, "arguments": arguments}))
}

pub(crate) fn listen(notifications: Value) -> String {
    modern("subscriptions/listen", json!({ "notifications": notifications }))
}

/// Returns the head and the body of a response, whose chunks are joined.
pub(crate) fn parts(response: &str) -> (&str, String) {
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{response:?}"));
    if head.contains("transfer-encoding: chunked") {
        return (head, joined(body));
    }
    (head, body.to_owned())
}

/// Joins chunks, as far as they have come.
pub(crate) fn joined(chunks: &str) -> String {
    let (mut rest, mut joined) = (chunks, String::new());
    while let Some((len, behind)) = rest.split_once("\r\n") {
        let len = usize::from_str_radix(len, 16).expect("a length");
        joined.push_str(&behind[..len]);
        rest = behind[len..].strip_prefix("\r\n").expect("the end of a chunk");
    }
    joined
}

/// Returns the messages in the data of events.
pub(crate) fn events(stream: &str) -> Vec<Value> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}
