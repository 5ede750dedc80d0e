//! Recipes for clients.

use std::io;
use std::time::Duration;

use mcp_sansio::typed::{AsyncToolHandler, Input, InputObject as _, Output, ToolCall, Tools};
use mcp_sansio::types::{
    ElicitParams, ElicitResult, Implementation, InputRequest, LoggingLevel, LoggingMessageParams,
};
use mcp_sansio::{
    CallOptions, Catalog, ClientConfig, ClientEvent, ClientFeatures, Era, LogMessage, Printable,
    Progress, RawJson, ServerConfig, ServerFeatures, ToolContext, ToolOutput, ToolResult,
};
use mcp_sansio_adapters::asynchronous::client::{
    CallError, Client, Connection, Connector, Tools as ToolList, Transport,
};
use mcp_sansio_adapters::asynchronous::{self, App, Context};
use smol::stream::StreamExt as _;

use super::{content, each_era, pair};

static SERVER: ServerConfig = ServerConfig::new(
    Implementation::new("recipes", "0.1.0"),
    CATALOG.features().with(ServerFeatures::LOGGING),
);
static CATALOG: Catalog = Catalog::new().tools_of::<Call>().page_size(2);

#[derive(Tools)]
enum Call {
    /// Copies three files.
    Copy,
    /// Never ends.
    Hang,
    /// Asks where the user is.
    Where,
    /// Adds two numbers.
    #[tool(returns = Total)]
    Add { a: i64, b: i64 },
}

#[derive(Input)]
struct Place {
    city: String,
}

struct Desk;

impl AsyncToolHandler for Desk {
    type Tools = Call;
    type Output<'a> = Total;

    async fn call<'a>(&'a self, call: Call, ctx: ToolContext<'a>) -> ToolResult<'a, Total> {
        match call {
            Call::Copy => {
                ctx.log(&LogMessage::new(LoggingLevel::Info, "Copying")).await?;
                for done in 1..=3u32 {
                    ctx.progress(&Progress::of(done).total(3u32)).await?;
                }
                Ok("Copied".into())
            }
            Call::Hang => std::future::pending().await,
            Call::Where => {
                let form = InputRequest::form::<Place>("Where are you?");
                let place: Option<Place> = ctx.request_input("place", form).await?.to_form()?;
                Ok(place.map_or("nowhere".to_owned(), |place| place.city).into())
            }
            Call::Add { a, b } => Ok(ToolOutput::Structured(Total { total: a + b })),
        }
    }
}

async fn copy(client: &Client) -> Result<(), CallError> {
    let options = CallOptions::new();
    let call = client.call_tool_with("copy", &RawJson::EMPTY, options, |report| {
        println!("{} of {:?}", report.progress, report.total);
    });
    let result = call.await?;
    println!("{}", Printable::new(result.as_json()));
    Ok(())
}

async fn hang(client: &Client) -> Result<(), CallError> {
    let options = CallOptions::new()
        .timeout(Duration::from_secs(5)) // without a message about the call
        .limit(Duration::from_secs(60)); // in any case
    match client.call_tool_with("hang", &RawJson::EMPTY, options, |_| ()).await {
        Err(CallError::TimedOut) => println!("The server was told that nobody waits any more"),
        other => println!("{}", Printable::new(other?.as_json())),
    }
    Ok(())
}

/// Calls a tool until something else happens: the call is cancelled when its future is dropped.
async fn call_until(client: &Client, stop: impl Future<Output = ()>) -> Result<bool, CallError> {
    let call = async { client.call_tool("hang", &RawJson::EMPTY).await.map(|_| true) };
    let stopped = async {
        stop.await;
        Ok(false)
    };
    smol::future::or(call, stopped).await
}

#[derive(Output, ToolCall)]
#[tool(returns = Total)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Input, Output)]
struct Total {
    total: i64,
}

async fn add(client: &Client) -> Result<i64, CallError> {
    let result = client.call(&Add { a: 2, b: 3 }).await?;
    Ok(result.output()?.total)
}

/// For a configuration with `ClientFeatures::ELICITATION_FORM`.
fn with_user(config: &'static ClientConfig) -> Connector {
    Connector::new(config).on_input_request(async |request| {
        match request.as_input_request() {
            InputRequest::Elicit(ElicitParams::Form(form)) => {
                // A real client shows the fields of `form` to a person.
                match form.accept(RawJson::from_static(r#"{"city":"Oslo"}"#)) {
                    Ok(filled_in) => request.respond(&filled_in),
                    Err(_) => request.respond(&ElicitResult::decline()),
                }
            }
            _ => request.refuse(),
        }
    })
}

/// Prints the log of the server; `client.set_log_level(..)` asks for it.
fn with_log(connector: Connector, mut print: impl FnMut(String) + Send + 'static) -> Connector {
    connector.on_event(move |event| {
        if let ClientEvent::Log { params } = event
            && let Ok(log) = params.to::<LoggingMessageParams>()
        {
            print(format!("{:?}: {}", log.level, Printable::new(log.data)));
        }
    })
}

async fn page_by_page(client: &Client) -> Result<Vec<usize>, CallError> {
    let mut pages = client.pages::<ToolList>(CallOptions::new());
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await {
        sizes.push(page?.len());
    }
    Ok(sizes)
}

/// Runs beside the calls. `dial` waits a little longer after each failure, in a real program.
async fn keep_connected<T: Transport>(
    client: &Client,
    first: Connection<T>,
    dial: impl AsyncFn() -> io::Result<T>,
) -> io::Result<()> {
    let mut connection = first;
    loop {
        let _ = connection.await; // until it has ended; calls in flight fail with `Closed`
        connection = client.reconnect(dial().await?);
    }
}

static CONFIG: ClientConfig =
    ClientConfig::new(Implementation::new("panel", "0.1.0"), ClientFeatures::ELICITATION_FORM);

/// Time jumps to the next timer when nothing else can go on.
fn in_virtual_time<R>(future: impl Future<Output = R>) -> R {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(future)
}

#[test]
fn a_call_reports_its_progress() {
    let app = App::new(&SERVER, |ctx: Context| ctx.call_async_tool(&Desk)).catalog(&CATALOG);
    each_era(&app, async |client| copy(&client).await.unwrap());
}

#[test]
fn a_call_has_a_time_limit() {
    let app = App::new(&SERVER, |ctx: Context| ctx.call_async_tool(&Desk)).catalog(&CATALOG);
    for era in Era::ALL {
        let connector = Connector::new(&CONFIG).era(era);
        in_virtual_time(app.memory(connector, async |client| hang(&client).await.unwrap()));
    }
}

#[test]
fn a_call_is_cancelled_by_a_drop() {
    let app = App::new(&SERVER, |ctx: Context| ctx.call_async_tool(&Desk)).catalog(&CATALOG);
    each_era(&app, async |client| {
        let stop = smol::future::yield_now();
        assert!(!call_until(&client, stop).await.unwrap());
        assert_eq!(add(&client).await.unwrap(), 5);
    });
}

#[test]
fn a_user_fills_in_a_form() {
    let app = App::new(&SERVER, |ctx: Context| ctx.call_async_tool(&Desk)).catalog(&CATALOG);
    for era in Era::ALL {
        let called = app.memory(with_user(&CONFIG).era(era), async |client| {
            content(&client.call_tool("where", &RawJson::EMPTY).await.unwrap())
        });
        assert_eq!(smol::block_on(called), "Oslo");
    }
    assert!(Place::parse(RawJson::EMPTY).is_err());
}

#[test]
fn the_log_of_a_server_is_printed() {
    let app = App::new(&SERVER, |ctx: Context| ctx.call_async_tool(&Desk)).catalog(&CATALOG);
    for era in Era::ALL {
        let (sender, lines) = smol::channel::unbounded();
        let connector = Connector::new(&CONFIG).era(era);
        let connector = with_log(connector, move |line| sender.send_blocking(line).unwrap());
        let line = smol::block_on(app.memory(connector, async |client| {
            client.set_log_level(LoggingLevel::Info).await.unwrap();
            copy(&client).await.unwrap();
            lines.recv().await.unwrap()
        }));
        assert_eq!(line, r#"Info: "Copying""#);
    }
}

#[test]
fn lists_are_read_page_by_page() {
    let app = App::new(&SERVER, |ctx: Context| ctx.call_async_tool(&Desk)).catalog(&CATALOG);
    let sizes = each_era(&app, async |client| page_by_page(&client).await.unwrap());
    assert_eq!(sizes, [2, 2]);
}

#[test]
fn a_client_connects_again() {
    let app = App::new(&SERVER, |ctx: Context| ctx.call_async_tool(&Desk)).catalog(&CATALOG);
    let (streams, accepted) = smol::channel::unbounded();
    let (stop, stopped) = smol::channel::unbounded();
    let serve = async {
        while let Ok(stream) = accepted.recv().await {
            let served = async { drop(asynchronous::Connection::new(&app, stream).await) };
            smol::future::or(served, async { stopped.recv().await.unwrap() }).await;
        }
    };
    let dial = async || {
        let (ours, theirs) = pair().await?;
        streams.send(theirs).await.expect("the server runs");
        Ok(ours)
    };
    smol::block_on(smol::future::or(serve, async {
        let (client, first) = Connector::new(&CONFIG).connect(dial().await.unwrap());
        let connected = async { keep_connected(&client, first, dial).await.unwrap() };
        smol::future::or(connected, async {
            assert_eq!(add(&client).await.unwrap(), 5);
            stop.send(()).await.unwrap();
            let again = async {
                while !matches!(add(&client).await, Ok(5)) {
                    smol::future::yield_now().await;
                }
            };
            again.await;
        })
        .await;
    }));
}
