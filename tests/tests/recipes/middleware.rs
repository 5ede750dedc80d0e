//! Code around calls, of which `docs/middleware.md` shows pieces.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sansio::typed::{AsyncToolHandler, CallOf, Tools};
use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Catalog, Era, NoOutput, OrToolError as _, OwnedJson, RawJson, ServerConfig, ServerFeatures,
    ToolContext, ToolError, ToolResult,
};
use mcp_sansio_adapters::asynchronous::client::{
    Before, Cache, CallError, Middleware, OutgoingCall,
};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, Reply};

use serde_json::Value;

use super::{connector, content, each_era};

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("recipes", "0.1.0"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Counts how often it was called.
    Count,
    /// Fails the first time.
    Flaky,
}

#[derive(Default)]
struct Desk {
    count: Cell<u32>,
}

impl AsyncToolHandler for Desk {
    type Tools = Call;
    type Output<'a> = NoOutput;

    async fn call<'a>(&'a self, call: Call, _: ToolContext<'a>) -> ToolResult<'a> {
        let count = self.count.get() + 1;
        self.count.set(count);
        match call {
            Call::Count => Ok(count.to_string().into()),
            Call::Flaky if count == 1 => Err(ToolError::internal("it was tired")),
            Call::Flaky => Ok("well".into()),
        }
    }
}

/// The number of calls that each user has left.
struct Quota(RefCell<BTreeMap<String, u32>>);

/// Lets each user call a tool ten times.
async fn limited<F>(ctx: Context, quota: &Quota, next: impl FnOnce(Context) -> F) -> HandlerResult
where
    F: Future<Output = HandlerResult>,
{
    let user = ctx.principal().map(|who| who.subject.clone()).unwrap_or_default();
    {
        let mut quota = quota.0.borrow_mut();
        let left = quota.entry(user).or_insert(10);
        *left = left.checked_sub(1).ok_or("You have used your ten calls")?;
    }
    next(ctx).await
}

/// Results by user, tool and arguments.
type Kept = RefCell<BTreeMap<(String, String, String), Reply>>;

/// Runs a tool once for the same user and arguments.
async fn cached<F>(ctx: Context, kept: &Kept, next: impl FnOnce(Context) -> F) -> HandlerResult
where
    F: Future<Output = HandlerResult>,
{
    let user = ctx.principal().map(|who| who.subject.clone()).unwrap_or_default();
    let call = ctx.request()?.params.as_json().get("arguments").map(|it| it.as_str().to_owned());
    let key = (user, ctx.name().to_owned(), call.unwrap_or_default());
    if let Some(reply) = kept.borrow().get(&key) {
        return Ok(reply.clone());
    }
    let reply = next(ctx).await?;
    kept.borrow_mut().insert(key, reply.clone());
    Ok(reply)
}

/// Names the program in each result.
async fn signed<F>(ctx: Context, next: impl FnOnce(Context) -> F) -> HandlerResult
where
    F: Future<Output = HandlerResult>,
{
    let reply = next(ctx).await?;
    let mut json: Value = serde_json::from_str(reply.as_json().as_str()).or_internal()?;
    json["_meta"]["org.example/by"] = "recipes".into();
    let signed = json.to_string();
    Ok(Reply::from(OwnedJson::from(RawJson::parse(&signed).or_internal()?)))
}

/// Says what every tool has done.
struct Audit<H>(H, Log);

type Log = RefCell<Vec<String>>;

impl<H: AsyncToolHandler> AsyncToolHandler for Audit<H> {
    type Tools = H::Tools;
    type Output<'a>
        = H::Output<'a>
    where
        H: 'a;

    async fn call<'a>(
        &'a self,
        call: CallOf<'a, H::Tools>,
        ctx: ToolContext<'a>,
    ) -> ToolResult<'a, H::Output<'a>> {
        let result = self.0.call(call, ctx).await;
        let end = result.as_ref().map_or_else(ToString::to_string, |_| "done".into());
        let tool = ctx.request().name().map(|name| name.to_string()).unwrap_or_default();
        self.1.borrow_mut().push(format!("{tool}: {end}"));
        result
    }
}

/// Repeats what the server could not do, up to three times.
struct Retry;

impl Middleware for Retry {
    fn after(
        &mut self,
        call: &OutgoingCall<'_>,
        result: &mut Result<OwnedJson, CallError>,
    ) -> Option<Duration> {
        let failed = matches!(result, Err(CallError::Server(error)) if error.code == -32603)
            || result.as_ref().is_ok_and(|result| {
                result.as_json().get("isError").and_then(RawJson::as_bool) == Some(true)
            });
        (failed && call.attempt < 3).then(|| Duration::from_millis(1) * call.attempt)
    }
}

/// Sends only what it knows.
struct Allow(&'static str, Arc<Mutex<u32>>);

impl Middleware for Allow {
    fn before(&mut self, call: &mut OutgoingCall<'_>) -> Before {
        let Self(tool, refused) = self;
        let name = call.params.as_json().get("name").and_then(|name| name.as_string());
        if call.method == "tools/call" && name.is_none_or(|name| name != **tool) {
            *refused.lock().unwrap() += 1;
            return Before::Finish(Err(CallError::TimedOut));
        }
        Before::Send
    }
}

#[test]
fn code_around_a_handler_of_a_server() {
    let quota = Quota(RefCell::default());
    let (kept, desk) = (Kept::default(), Desk::default());
    let tools = |ctx: Context| ctx.call_async_tool(&desk);
    let app = App::new(&CONFIG, |ctx| limited(ctx, &quota, |ctx| cached(ctx, &kept, tools)));
    let app = app.catalog(&CATALOG);
    each_era(&app, async |client| {
        quota.0.borrow_mut().clear();
        let empty = RawJson::EMPTY;
        for _ in 0..10 {
            let counted = client.call_tool("count", &empty).await.unwrap();
            assert_eq!(content(&counted), "1", "it is served from the cache");
        }
        let refused = client.call_tool("count", &empty).await.unwrap();
        assert_eq!(content(&refused), "You have used your ten calls");
    });
}

#[test]
fn code_around_a_handler_changes_its_result() {
    let desk = Desk::default();
    let app = App::new(&CONFIG, |ctx| signed(ctx, |ctx| ctx.call_async_tool(&desk)));
    each_era(&app.catalog(&CATALOG), async |client| {
        desk.count.set(0);
        let counted = client.call_tool("count", &RawJson::EMPTY).await.unwrap();
        let json: Value = serde_json::from_str(counted.as_json().as_str()).unwrap();
        assert_eq!(
            (content(&counted).as_str(), &json["_meta"]["org.example/by"]),
            ("1", &"recipes".into())
        );
    });
}

#[test]
fn code_around_tools() {
    let desk = Audit(Desk::default(), Log::default());
    let app = App::new(&CONFIG, |ctx| ctx.call_async_tool(&desk)).catalog(&CATALOG);
    each_era(&app, async |client| {
        desk.0.count.set(0);
        let empty = RawJson::EMPTY;
        client.call_tool("flaky", &empty).await.unwrap_err();
        client.call_tool("count", &empty).await.unwrap();
        let log = desk.1.take();
        assert_eq!(log, ["flaky: it was tired", "count: done"]);
    });
}

#[test]
fn code_around_the_calls_of_a_client() {
    let desk = Desk::default();
    let app = App::new(&CONFIG, |ctx| ctx.call_async_tool(&desk)).catalog(&CATALOG);
    for era in Era::ALL {
        desk.count.set(0);
        let refused = Arc::default();
        let connector = connector(era)
            .middleware(Cache::new(1 << 20))
            .middleware(Retry)
            .middleware(Allow("flaky", Arc::clone(&refused)));
        smol::block_on(app.memory(connector, async |client| {
            let empty = RawJson::EMPTY;
            let result = client.call_tool("flaky", &empty).await.unwrap();
            assert_eq!((content(&result), desk.count.get()), ("well".to_owned(), 2));
            assert!(client.call_tool("count", &empty).await.is_err());
            assert_eq!((*refused.lock().unwrap(), desk.count.get()), (1, 2));
            assert_eq!(client.list_tools().await.unwrap().iter().count(), 2);
        }));
    }
}
