//! Recipes for servers: one program, of which the guide shows a piece at a time.

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::time::Duration;

use mcp_sansio::typed::{AsyncToolHandler, Input, Output, Tools};
use mcp_sansio::types::{
    CallToolResult, CompleteParams, CompletionArgument, CompletionReference, ContentBlock,
    CreateMessageParams, CreateMessageResult, Implementation, InputRequest, ListRootsResult,
    LoggingLevel, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    ResourceTemplateReference, SamplingMessage, SubscriptionFilter,
};
use mcp_sansio::{
    CallOptions, Catalog, Change, ClientConfig, ClientEvent, ClientFeatures, Era, ErrorCode,
    LogMessage, NoOutput, OrToolError as _, Progress, RawJson, RpcError, ServerConfig,
    ServerFeatures, Target, ToolContext, ToolOutput, ToolResult, entries,
};
use mcp_sansio_adapters::asynchronous::client::{
    CallError, Change as ClientChange, Client, Connector, TaskRef,
};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use smol::stream::StreamExt as _;

use super::{connector, content, each_era};

static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new("recipes", "0.1.0"),
    CATALOG
        .features()
        .with(ServerFeatures::COMPLETIONS)
        .with(ServerFeatures::LOGGING)
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::TASKS_CANCEL),
)
.methods(&["org.example/hello"])
.request_timeout(Duration::from_secs(600));

static CATALOG: Catalog = Catalog::new()
    .tools_of::<Call>()
    .page_size(5)
    .resources(entries![
        Resource::new("note://today", "today").mime_type("text/plain"),
        Resource::new("note://logo", "logo").mime_type("image/png"),
    ])
    .templates(entries![ResourceTemplate::new("weather://{country}/{city}", "weather")]);

const PNG: &[u8] = b"\x89PNG";

mod files {
    use super::*;

    #[derive(Tools)]
    pub(super) enum Call {
        /// Lists the files.
        ListFiles,
    }

    pub(super) fn call(call: Call) -> ToolResult<'static> {
        match call {
            Call::ListFiles => Ok("a.txt".into()),
        }
    }
}

#[derive(Tools)]
enum Call {
    /// Returns the version.
    Version,
    #[tool(flatten)]
    Files(files::Call),
    /// Deletes a note.
    Delete { number: usize },
    /// Reads a file.
    Read { path: String },
    /// Reserves the printer.
    Reserve,
    /// Draws a logo.
    Draw,
    /// Says where the notes are.
    Locate,
    /// Imports the notes.
    Import,
    /// Waits for the printer.
    Wait,
    /// Looks for new notes.
    Refresh,
    /// Tells the weather.
    Weather,
    /// Describes the weather in a poem.
    Poem,
    /// Names the directories that may be used.
    Directories,
    /// Books a journey.
    Book,
    /// Changes the note of today.
    Change,
    /// Prints all notes.
    #[tool(task)]
    Print,
}

#[derive(Default)]
struct Desk {
    printer: Cell<bool>,
    is_busy: Cell<bool>,
    rounds: RefCell<Vec<String>>,
}

impl AsyncToolHandler for Desk {
    type Tools = Call;
    type Output<'a> = NoOutput;

    async fn call<'a>(&'a self, call: Call, ctx: ToolContext<'a>) -> ToolResult<'a> {
        match call {
            Call::Version => Ok("1.2.3".into()),
            Call::Files(call) => files::call(call),
            Call::Delete { number } => delete(number),
            Call::Read { path } => read_file(&path),
            Call::Reserve => self.reserve(),
            Call::Draw => draw(),
            Call::Locate => locate(),
            Call::Import => import(ctx).await,
            Call::Wait => self.wait().await,
            Call::Refresh => refresh(ctx).await,
            Call::Weather => weather(ctx).await,
            Call::Poem => poem(ctx).await,
            Call::Directories => directories(ctx).await,
            Call::Book => self.book(ctx).await,
            Call::Change => change(ctx).await,
            Call::Print => print(ctx).await,
        }
    }
}

fn delete(number: usize) -> ToolResult<'static> {
    if number > 3 {
        return Err(format!("There is no note {number}: the last one is 3").into());
    }
    Ok("Deleted".into())
}

fn read_file(path: &str) -> ToolResult<'static> {
    // A model chose `path`: check it. The model also reads why this fails.
    let text = std::fs::read_to_string(path).or_tool()?;
    let first = text.lines().next().ok_or("The file is empty")?;
    Ok(first.to_owned().into())
}

impl Desk {
    fn reserve(&self) -> ToolResult<'static> {
        if self.is_busy.replace(true) {
            return Err(RpcError::new(ErrorCode::Application(7), "Busy").into());
        }
        Ok("Reserved".into())
    }
}

fn draw() -> ToolResult<'static> {
    const LOGO: &[ContentBlock] =
        &[ContentBlock::text("The logo:"), ContentBlock::image(PNG, "image/png")];
    Ok(ToolOutput::Blocks(LOGO))
}

/// In the handler: `Target::Tool(tool) if tool.key() == "draw" => draw_now(&ctx)`.
fn draw_now(ctx: &Context) -> HandlerResult {
    let png = PNG.to_vec();
    ctx.reply(&CallToolResult::new(&[ContentBlock::image(&png, "image/png")]))
}

fn locate() -> ToolResult<'static> {
    const NOTE: &[ContentBlock] = &[ContentBlock::resource_link("note://today", "today")];
    Ok(ToolOutput::Blocks(NOTE))
}

async fn import(ctx: ToolContext<'_>) -> ToolResult<'static> {
    for done in 1..=3u32 {
        ctx.progress(&Progress::of(done).total(3u32).message("notes")).await?;
    }
    Ok("Imported".into())
}

/// Frees the printer when the call ends, also when it is cancelled.
struct Reservation<'d>(&'d Cell<bool>);

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Desk {
    async fn wait(&self) -> ToolResult<'static> {
        self.printer.set(true);
        let _reservation = Reservation(&self.printer);
        smol::Timer::after(Duration::from_secs(600)).await; // dropped here
        Ok("Printed".into())
    }
}

async fn refresh(ctx: ToolContext<'_>) -> ToolResult<'static> {
    let message = LogMessage::new(LoggingLevel::Warning, "The disk is slow").logger("disk");
    ctx.log(&message).await?;
    Ok("There are no new notes".into())
}

#[derive(Input, Output)]
struct Place {
    /// Where are you?
    #[arg(length = 1..=40)]
    city: String,
}

async fn weather(ctx: ToolContext<'_>) -> ToolResult<'static> {
    let form = InputRequest::form::<Place>("The weather of which city?");
    match ctx.request_input("place", form).await?.to_form()? {
        Some(Place { city }) => Ok(format!("It rains in {city}").into()),
        None => Err("The user does not say where".into()),
    }
}

async fn poem(ctx: ToolContext<'_>) -> ToolResult<'static> {
    let messages = [SamplingMessage::user("Write a line about rain")];
    let ask = InputRequest::CreateMessage(CreateMessageParams::new(&messages, 100));
    let response = ctx.request_input("poem", ask).await?;
    let message: CreateMessageResult = response.to()?;
    let mut blocks = message.content.iter().flatten();
    let text = blocks.find_map(|block| block.as_text()).ok_or("The model wrote no text")?;
    Ok(text.to_string().into())
}

async fn directories(ctx: ToolContext<'_>) -> ToolResult<'static> {
    let response = ctx.request_input("roots", InputRequest::ListRoots).await?;
    let list: ListRootsResult = response.to()?;
    let uris: Vec<_> = list.roots.iter().flatten().map(|root| root.uri.to_string()).collect();
    Ok(uris.join("\n").into())
}

impl Desk {
    /// Asks twice. With a client of 2026-07-28 it runs three times, so the first response is kept.
    async fn book(&self, ctx: ToolContext<'_>) -> ToolResult<'static> {
        let from: Place = match ctx.request_state_as()? {
            Some(from) => from,
            None => {
                let form = InputRequest::form::<Place>("From where?");
                let place = ctx.request_input("from", form).await?.to_form()?;
                place.ok_or("The user stays at home")?
            }
        };
        ctx.set_request_state_as(&from)?;
        let form = InputRequest::form::<Place>("To where?");
        let to: Option<Place> = ctx.request_input("to", form).await?.to_form()?;
        let to = to.ok_or("The user stays at home")?;
        self.rounds.borrow_mut().push(from.city.clone());
        Ok(format!("From {} to {}", from.city, to.city).into())
    }
}

async fn change(ctx: ToolContext<'_>) -> ToolResult<'static> {
    ctx.publish(Change::resource("note://today")).await?;
    Ok("Changed".into())
}

/// With `#[tool(task)]` and `ServerFeatures::TASKS_CANCEL`.
async fn print(ctx: ToolContext<'_>) -> ToolResult<'static> {
    for page in 1..=3u32 {
        ctx.set_status(format_args!("Page {page} of 3"));
        smol::Timer::after(Duration::from_millis(10)).await;
    }
    Ok("Printed".into())
}

fn read_resource(ctx: &Context) -> HandlerResult {
    match ctx.target() {
        Target::Resource(note) if note.key() == "note://today" => ctx.text("Buy milk"),
        Target::Resource(_) => {
            let logo = ResourceContents::blob("note://logo", PNG).mime_type("image/png");
            ctx.reply(&ReadResourceResult::new(&[logo]))
        }
        Target::Template(_) => match &*ctx.variable("city") {
            "Oslo" => ctx.text("It rains"),
            _ => Err(ctx.resource_not_found()),
        },
        _ => Err(RpcError::new(ErrorCode::MethodNotFound, "Method not found").into()),
    }
}

fn complete(ctx: &Context) -> HandlerResult {
    ctx.complete(|variable| match variable {
        "country" => vec!["Finland", "France", "Norway"],
        "city" => vec!["Oslo", "Paris", "Turku"],
        _ => vec![],
    })
}

/// A method that the configuration names: `.methods(&["org.example/hello"])`.
fn hello(ctx: &Context) -> HandlerResult {
    let request = ctx.request()?;
    let who = request.params.get("who").and_then(RawJson::as_string);
    let who = who.ok_or_else(|| RpcError::invalid_params("who must be a string"))?;
    ctx.reply(&Hello { hello: who.to_string() })
}

#[derive(Output)]
struct Hello {
    hello: String,
}

async fn handle(ctx: Context, desk: &Desk) -> HandlerResult {
    match ctx.target() {
        Target::Tool(_) => ctx.call_async_tool(desk).await,
        Target::Resource(_) | Target::Template(_) => read_resource(&ctx),
        Target::CompleteTemplate(_) => complete(&ctx),
        _ => hello(&ctx),
    }
}

/// Does `work` as a client of each era, and returns what both get.
fn with<R: PartialEq + Debug>(desk: &Desk, work: impl AsyncFn(Client) -> R) -> R {
    each_era(&App::new(&CONFIG, |ctx| handle(ctx, desk)).catalog(&CATALOG), work)
}

/// Calls a tool in both eras, and returns what both get.
fn call(tool: &str, arguments: &'static str) -> Result<String, String> {
    with(&Desk::default(), async |client| {
        let result = client.call_tool(tool, &RawJson::from_static(arguments)).await;
        result.map(|result| content(&result)).map_err(|error| error.to_string())
    })
}

#[test]
fn the_catalog_is_valid() {
    CATALOG.check().unwrap();
}

#[test]
fn tools_of_a_module_are_tools_of_the_server() {
    assert_eq!(call("version", "{}").unwrap(), "1.2.3");
    assert_eq!(call("list_files", "{}").unwrap(), "a.txt");
}

#[test]
fn errors_have_words_of_the_program() {
    let why = "There is no note 7: the last one is 3";
    assert_eq!(call("delete", r#"{"number":7}"#).unwrap(), why);
    assert_eq!(call("delete", r#"{"number":1}"#).unwrap(), "Deleted");
}

#[test]
fn errors_of_other_code_are_read_by_the_model() {
    let why = call("read", r#"{"path":"/no/such/file"}"#).unwrap();
    assert!(why.contains("(os error "), "{why}");
    let empty = if cfg!(windows) { r#"{"path":"NUL"}"# } else { r#"{"path":"/dev/null"}"# };
    assert_eq!(call("read", empty).unwrap(), "The file is empty");
}

#[test]
fn an_error_may_be_one_of_the_protocol() {
    let desk = Desk { is_busy: Cell::new(true), ..Desk::default() };
    let error =
        with(&desk, async |client| match client.call_tool("reserve", &RawJson::EMPTY).await {
            Err(CallError::Server(error)) => (error.code, error.message.to_string()),
            other => panic!("{other:?}"),
        });
    assert_eq!(error, (7, "Busy".to_owned()));
}

#[test]
fn results_have_images_and_links() {
    let drawn = call("draw", "{}").unwrap();
    assert!(drawn.starts_with("The logo:\n") && drawn.contains("Image"), "{drawn}");
    assert!(call("locate", "{}").unwrap().contains("note://today"));
    let app = App::new(&CONFIG, async |ctx: Context| draw_now(&ctx)).catalog(&CATALOG);
    let drawn = each_era(&app, async |client| {
        content(&client.call_tool("draw", &RawJson::EMPTY).await.unwrap())
    });
    assert!(drawn.contains("Image"), "{drawn}");
}

#[test]
fn progress_and_logs_reach_the_client() {
    let desk = Desk::default();
    let app = App::new(&CONFIG, |ctx| handle(ctx, &desk)).catalog(&CATALOG);
    for era in Era::ALL {
        let (sender, logs) = smol::channel::unbounded();
        let connector = connector(era).on_event(move |event| {
            if let ClientEvent::Log { .. } = event {
                sender.send_blocking(format!("{event:?}")).unwrap();
            }
        });
        let (seen, log) = smol::block_on(app.memory(connector, async |client| {
            client.set_log_level(LoggingLevel::Info).await.unwrap();
            let mut seen = Vec::new();
            let options = CallOptions::new();
            let import = client.call_tool_with("import", &RawJson::EMPTY, options, |report| {
                seen.push(report.progress.to_string());
            });
            import.await.unwrap();
            client.call_tool("refresh", &RawJson::EMPTY).await.unwrap();
            (seen, logs.recv().await.unwrap())
        }));
        assert_eq!(seen, ["1", "2", "3"]);
        assert!(log.contains("The disk is slow"), "{log}");
    }
}

#[test]
fn a_call_that_is_cancelled_cleans_up() {
    let desk = Desk::default();
    with(&desk, async |client| {
        let begun = async {
            while !desk.printer.get() {
                smol::future::yield_now().await;
            }
        };
        let wait = async { drop(client.call_tool("wait", &RawJson::EMPTY).await) };
        smol::future::or(begun, wait).await; // drops the call, which cancels it
        while desk.printer.get() {
            smol::future::yield_now().await;
        }
    });
}

#[test]
fn the_user_and_the_model_are_asked() {
    assert_eq!(call("weather", "{}").unwrap(), "It rains in Oslo");
    assert_eq!(call("poem", "{}").unwrap(), "It rains");
    assert_eq!(call("directories", "{}").unwrap(), "file:///home/ada");
}

#[test]
fn a_value_is_kept_between_two_questions() {
    assert_eq!(call("book", "{}").unwrap(), "From Oslo to Oslo");
}

#[test]
fn a_subscriber_is_told_of_a_change() {
    with(&Desk::default(), async |client| {
        let uris = ["note://today".into()];
        let filter = SubscriptionFilter::new().resource_subscriptions(&uris);
        let mut changes = client.listen(&filter, CallOptions::new()).await.unwrap();
        client.call_tool("change", &RawJson::EMPTY).await.unwrap();
        let Some(ClientChange::Resource(uri)) = changes.next().await else { panic!("no change") };
        assert_eq!(&*uri, "note://today");
    });
}

#[test]
fn a_task_goes_on_without_its_client() {
    let desk = Desk::default();
    let app = App::new(&CONFIG, |ctx| handle(ctx, &desk)).catalog(&CATALOG);
    static CLIENT: ClientConfig =
        ClientConfig::new(Implementation::new("test", "0.1.0"), ClientFeatures::TASKS);
    for era in Era::ALL {
        let connector = Connector::new(&CLIENT).era(era);
        smol::block_on(app.memory(connector, async |client| {
            let task = client.call_tool_as_task("print", &RawJson::EMPTY, None).await.unwrap();
            let kept = task.detach().expect("the tool is a task").to_json();
            // Another connection, or another process:
            let kept = TaskRef::from_json(&kept).expect("what to_json has written");
            let printed = client.resume(&kept).await.unwrap().wait().await.unwrap();
            assert_eq!(content(&printed), "Printed");
        }));
    }
}

#[test]
fn resources_are_read_by_their_uri() {
    with(&Desk::default(), async |client| {
        for (uri, part) in [
            ("note://today", r#""text":"Buy milk""#),
            ("note://logo", r#""blob":"iVBORw==""#),
            ("weather://Norway/Oslo", r#""text":"It rains""#),
        ] {
            let result = client.read_resource(uri).await.unwrap();
            assert!(result.as_json().as_str().contains(part), "{result:?}");
        }
        let error = client.read_resource("weather://Norway/Atlantis").await.unwrap_err();
        assert!(matches!(error, CallError::Server(_)), "{error}");
    });
}

#[test]
fn values_are_completed() {
    with(&Desk::default(), async |client| {
        let params = CompleteParams::new(
            CompletionReference::Resource(ResourceTemplateReference::new(
                "weather://{country}/{city}",
            )),
            CompletionArgument::new("country", "F"),
        );
        let result = client.complete(&params).await.unwrap();
        assert!(result.as_json().as_str().contains(r#"["Finland","France"]"#), "{result:?}");
    });
}

#[test]
fn lists_have_pages() {
    with(&Desk::default(), async |client| {
        let first = client.request("tools/list", &RawJson::EMPTY, CallOptions::new()).await;
        assert!(first.unwrap().as_json().get("nextCursor").is_some());
        assert_eq!(client.list_tools().await.unwrap().len(), 16);
    });
}

#[test]
fn a_method_of_ones_own_is_a_request_as_others() {
    with(&Desk::default(), async |client| {
        let params = RawJson::from_static(r#"{"who":"Ada"}"#);
        let result = client.request("org.example/hello", &params, CallOptions::new()).await;
        assert_eq!(result.unwrap().as_json().get("hello").unwrap().as_str(), r#""Ada""#);
        let error = client.request("org.example/bye", &params, CallOptions::new()).await;
        assert!(matches!(error, Err(CallError::Server(error)) if error.code == -32601));
    });
}
