//! Scopes that operations take.

use std::future::{Ready, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::typed::Tools;
use mcp_sansio::types::{
    ElicitParams, Implementation, InputRequest, Prompt, RequestedSchema, Resource,
    ResourceTemplate, TextResult, Tool,
};
use mcp_sansio::{Catalog, Change, Entry, Method, RawJson, ServerConfig, ServerFeatures, entries};
use mcp_sansio_adapters::asynchronous::http::{
    AuthorizationError, Credentials, HttpExchange, HttpOptions, HttpServer, Operation, Principal,
    ProtectedResource,
};
use mcp_sansio_adapters::asynchronous::{
    App, BoxedHandler, Broadcaster, Context, HandlerResult, Limits, boxed,
};
use mcp_sansio_adapters::{CatalogSource, KeyRing, SharedCatalog};
use serde_json::{Value, json};

use crate::exchange::{self, head, head_to, rest, send};
use crate::site::Answer;

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("test", "1"),
    ServerFeatures::TOOLS
        .with(ServerFeatures::PROMPTS)
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::COMPLETIONS)
        .with(ServerFeatures::LOGGING),
);
const SCHEMA: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);
static CATALOG: Catalog<'_> = Catalog::new()
    .tools_of::<Call>()
    .tools(entries![Tool::new("move", SCHEMA).scopes("files:read files:write")])
    .prompts(entries![Prompt::new("review").scopes("prompts")])
    .resources(entries![
        Resource::new("file:///open", "open"),
        Resource::new("file:///secret", "secret").scopes("secrets"),
    ])
    .templates(entries![ResourceTemplate::new("log:///{day}", "log").scopes("logs")]);

#[derive(Tools)]
enum Call {
    /// Lists files
    #[tool(scopes("files:read"))]
    List,
    /// Removes all files
    #[tool(name = "remove", scopes("files:write", "files:remove"))]
    RemoveAll,
    /// Tells the time
    Time,
}

/// A server whose tokens are lists of scopes, and the names that its handler was called with.
pub(crate) struct Scoped<'s> {
    pub(crate) server: &'s HttpServer,
    called: &'s Mutex<Vec<String>>,
}

impl Answer {
    /// The scopes of a 403.
    #[track_caller]
    fn wanted(&self) -> &str {
        assert_eq!(self.status, 403, "{self:?}");
        assert_eq!(self.field("content-type"), Some("application/json"));
        let challenge = self.field("www-authenticate").unwrap();
        assert!(challenge.starts_with("Bearer error=\"insufficient_scope\", error_description=\""));
        let url = "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"";
        assert!(challenge.ends_with(url), "{challenge}");
        challenge.split_once(" scope=\"").unwrap().1.split('"').next().unwrap()
    }
}

impl Scoped<'_> {
    /// Begins a request with the scopes of its token.
    pub(crate) async fn begin(
        &self,
        (method, target): (&str, &str),
        scopes: &str,
        more: &[(&'static str, &str)],
        body: &str,
    ) -> HttpExchange {
        let token = format!("Bearer {}", scopes.replace(' ', "+"));
        let fields = [more, &[("Authorization", &token)]].concat();
        send(self.server, head_to(method, target, &fields), body).await
    }

    /// Sends a body, and returns the response.
    pub(crate) async fn send(
        &self,
        scopes: &str,
        more: &[(&'static str, &str)],
        body: impl ToString,
    ) -> Answer {
        let mut exchange = self.begin(("POST", "/mcp"), scopes, more, &body.to_string()).await;
        let head = exchange.response().await;
        let fields = head.fields.into_iter().map(|(name, value)| (name.to_owned(), value));
        let (status, fields) = (head.status, fields.collect());
        Answer { status, fields, body: rest(&mut exchange).await }
    }

    pub(crate) async fn modern(&self, scopes: &str, method: &str, params: Value) -> Answer {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        let name = params.get("name").or(params.get("uri")).and_then(Value::as_str);
        let name = name.unwrap_or_default().to_owned();
        let mut fields = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        if !name.is_empty() {
            fields.push(("Mcp-Name", name.as_str()));
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.send(scopes, &fields, &body).await
    }

    /// Opens a session, and returns its id.
    pub(crate) async fn open(&self, scopes: &str, version: &str) -> String {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "c", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let answer = self.send(scopes, &[], &body).await;
        let id = answer.field("mcp-session-id").unwrap().to_owned();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.send_in(scopes, &id, &ready).await.status, 202);
        id
    }

    async fn send_in(&self, scopes: &str, session: &str, body: &Value) -> Answer {
        self.send(scopes, &[("Mcp-Session-Id", session)], body).await
    }

    /// Returns the result of a list.
    async fn list(&self, scopes: &str, kind: &str, params: Value) -> Value {
        let answer = self.modern(scopes, &format!("{kind}/list"), params).await;
        let list: Value = serde_json::from_str(&answer.body).unwrap();
        list["result"].clone()
    }

    fn called(&self) -> Vec<String> {
        std::mem::take(&mut self.called.lock().unwrap())
    }
}

fn authorize(credentials: Credentials) -> Ready<Result<Principal, AuthorizationError>> {
    let scopes = credentials.token().unwrap_or_default().replace('+', " ");
    ready(Ok(Principal { scopes, ..Principal::new("https://auth.example.com", "ada") }))
}

fn options() -> HttpOptions {
    let resource =
        ProtectedResource::new("https://mcp.example.com/mcp", "https://auth.example.com");
    HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() }
        .protected_resource(resource)
        .authorize(authorize)
}

/// Runs clients against a server.
fn serve(options: HttpOptions, clients: impl AsyncFnOnce(Scoped<'_>)) {
    serve_app(options, |app| app.catalog(&CATALOG), clients);
}

pub(crate) fn serve_app(
    options: HttpOptions,
    with: impl FnOnce(App<BoxedHandler>) -> App<BoxedHandler>,
    clients: impl AsyncFnOnce(Scoped<'_>),
) {
    let called = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&called);
    let handler = boxed(move |ctx: Context| {
        told.lock().unwrap().push(ctx.name().to_owned());
        handle(ctx)
    });
    let app = with(App::new(&CONFIG, handler));
    exchange::serve(&app, options, async |server| {
        clients(Scoped { server, called: &called }).await;
    });
}

/// Asks for a name, or replies.
async fn handle(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    if ctx.name() == "ask" {
        tool.set_request_state("asked");
        let form = ElicitParams::form("Who?", RequestedSchema::new(&[]));
        tool.request_input("who", InputRequest::Elicit(form)).await?;
    }
    ctx.reply(&TextResult::new("done"))
}

fn call(id: u32, tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool } })
}

#[test]
fn auth_146_auth_148_a_refusal_names_all_scopes_that_the_tool_takes_each_time() {
    serve(options(), async |site| {
        for granted in ["", "files:write", "files:remove other", "files:remove"] {
            let denied = site.modern(granted, "tools/call", json!({ "name": "remove" })).await;
            assert_eq!(denied.wanted(), "files:write files:remove", "{granted}");
            assert!(denied.body.contains("Insufficient scope"));
        }
        assert_eq!(site.called(), [""; 0]);
        for (granted, tool) in
            [("files:remove files:write", "remove"), ("files:read", "list"), ("", "time")]
        {
            let answer = site.modern(granted, "tools/call", json!({ "name": tool })).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(site.called(), [tool]);
        }
        // Scopes are not sent.
        let list = site.modern("files:write files:remove", "tools/list", json!({})).await;
        assert!(list.body.contains("remove") && !list.body.contains("scopes"), "{}", list.body);
        assert!(!list.body.contains("files:"));
    });
}

#[test]
fn lists_show_what_the_scopes_permit() {
    async fn names(site: &Scoped<'_>, granted: &str, kind: &str) -> (Vec<String>, Value) {
        let list = site.list(granted, kind, json!({})).await;
        let key = if kind.ends_with("templates") { "resourceTemplates" } else { kind };
        let entries = list[key].as_array().unwrap_or_else(|| panic!("{list}"));
        let names = entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned());
        (names.collect(), list["cacheScope"].clone())
    }
    serve(options(), async |site| {
        for (granted, kind, listed) in [
            ("", "tools", &["time"][..]),
            ("files:read", "tools", &["list", "time"]),
            ("files:write files:remove", "tools", &["remove", "time"]),
            ("files:write files:read", "tools", &["list", "time", "move"]),
            ("files", "prompts", &[]),
            ("prompts", "prompts", &["review"]),
            ("", "resources", &["open"]),
            ("secrets", "resources", &["open", "secret"]),
            ("", "resources/templates", &[]),
            ("logs", "resources/templates", &["log"]),
        ] {
            let (names, cache) = names(&site, granted, kind).await;
            assert_eq!(names, listed, "{granted}");
            assert_eq!(cache, "private");
        }
        assert_eq!(site.called(), [""; 0]);
    });
    let implied = |granted: &str, wanted: &str| (granted, wanted) == ("all", "files:read");
    serve(options().implies(implied), async |site| {
        assert_eq!(names(&site, "all", "tools").await.0, ["list", "time"]);
    });
    // Without scopes the lists are the same for all.
    static OPEN: Catalog<'_> = Catalog::new().tools(entries![Tool::new("open", SCHEMA)]);
    let with = |app: App<BoxedHandler>| app.catalog(&OPEN);
    serve_app(options(), with, async |site| {
        let (names, cache) = names(&site, "files:read", "tools").await;
        assert_eq!((&names[..], cache), (&["open".to_owned()][..], json!("public")));
    });
    let all = HttpOptions { lists_unpermitted: true, ..options() };
    serve(all, async |site| {
        let (names, cache) = names(&site, "", "tools").await;
        assert_eq!(names, ["list", "remove", "time", "move"]);
        assert_eq!(cache, "public");
    });
}

#[test]
fn a_session_goes_on_at_another_server_with_the_same_ring() {
    let ring = KeyRing::new([5; 32]);
    let with_ring = |app: App<BoxedHandler>| app.catalog(&CATALOG).key_ring(ring.clone());
    let named = |name: &'static str| HttpOptions { node: Some(name.into()), ..options() };
    let mut id = String::new();
    serve_app(named("a1"), with_ring, async |site| {
        id = site.open("files:read", "2025-11-25").await;
    });
    assert!(id.starts_with("a1-0-"), "{id}");
    serve_app(named("b"), with_ring, async |site| {
        let answer = site.send_in("files:read", &id, &call(2, "list")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(site.called(), ["list"]);
    });
    let app = App::new(&CONFIG, handle).key_ring(ring.clone());
    let wrong = HttpServer::new(&app, named("A")).unwrap_err();
    assert!(wrong.to_string().contains("lowercase letters and digits"), "{wrong}");
    let without = HttpServer::new(&App::new(&CONFIG, handle), named("a")).unwrap_err();
    assert!(without.to_string().contains("App::key_ring"), "{without}");
}

#[test]
fn a_principal_has_the_catalog_that_is_chosen_for_it() {
    static ADMIN: Catalog<'_> = Catalog::new()
        .tools(entries![Tool::new("restart", SCHEMA), Tool::new("wipe", SCHEMA).scopes("wipe"),]);
    let plugins = SharedCatalog::new(&Catalog::new().tools(entries![Tool::new("one", SCHEMA)]));
    let plugin = plugins.clone();
    let asked = AtomicUsize::new(0);
    let choose = move |who: &Principal| -> CatalogSource<'static> {
        match &*who.scopes {
            "panic" => panic!("no catalog"),
            "late" if asked.fetch_add(1, Ordering::Relaxed) > 0 => panic!("no catalog"),
            "plugins" => CatalogSource::from(&plugin),
            _ if who.has_scope("admin") => CatalogSource::from(&ADMIN),
            _ => CatalogSource::from(&CATALOG),
        }
    };
    let names = async |site: &Scoped<'_>, granted: &str| {
        let list = site.list(granted, "tools", json!({})).await;
        assert_eq!(list["cacheScope"], "private", "others have other tools");
        let tools = list["tools"].as_array().unwrap();
        tools.iter().map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    let with = |app: App<BoxedHandler>| app.catalog(&CATALOG).catalog_of(choose);
    serve_app(options(), with, async |site| {
        assert_eq!(names(&site, "").await, "time");
        assert_eq!(names(&site, "admin").await, "restart");
        assert_eq!(names(&site, "admin wipe").await, "restart wipe");
        assert_eq!(names(&site, "plugins").await, "one");
        plugins.update(|tools| tools.add(Tool::new("two", SCHEMA))).unwrap();
        assert_eq!(names(&site, "plugins").await, "one two");
        for (granted, tool, status, text) in [
            ("admin", "restart", 200, "done"),
            ("admin", "wipe", 403, "Insufficient scope"),
            ("admin", "time", 200, "Unknown tool: time"),
            ("", "restart", 200, "Unknown tool: restart"),
            ("plugins", "two", 200, "done"),
            ("panic", "time", 500, "The token cannot be checked"),
        ] {
            let answer = site.modern(granted, "tools/call", json!({ "name": tool })).await;
            assert!(answer.body.contains(text), "{granted} {tool}: {answer:?}");
            assert_eq!(answer.status, status, "{granted} {tool}: {answer:?}");
        }
        assert_eq!(site.called(), ["restart", "two"]);
        // It is asked twice: what the tool takes, and what the tool is.
        let late = site.modern("late", "tools/call", json!({ "name": "time" })).await;
        assert!(late.body.contains("The handler panicked"), "{late:?}");
    });
}

#[test]
fn a_part_of_a_long_list_is_written_in_pieces_and_pages() {
    static LONG: LazyLock<Vec<Entry<'static>>> = LazyLock::new(|| {
        (0..300)
            .map(|at| {
                let scopes = if at % 3 == 1 { "odd" } else { "even" };
                let prompt: &'static str = format!("prompt-{at}").leak();
                Entry::from(Prompt::new(prompt).scopes(scopes))
            })
            .collect()
    });
    static PAGES: LazyLock<Catalog<'_>> =
        LazyLock::new(|| Catalog::new().prompts(&LONG[..]).page_size(100));
    let with = |app: App<BoxedHandler>| {
        app.catalog(&*PAGES).limits(Limits { max_pending: 1024, ..Limits::new() })
    };
    serve_app(options(), with, async |site| {
        let (mut cursor, mut names) = (json!({}), Vec::new());
        loop {
            let page = site.list("odd", "prompts", cursor).await;
            names.extend(page["prompts"].as_array().unwrap().iter().map(|it| it["name"].clone()));
            match &page["nextCursor"] {
                Value::Null => break,
                next => cursor = json!({ "cursor": next }),
            }
        }
        let expected: Vec<_> = (0..100).map(|at| json!(format!("prompt-{}", at * 3 + 1))).collect();
        assert_eq!(names, expected);
    });
}

#[test]
fn auth_150_prompts_resources_and_subscriptions_take_scopes_and_403_comes_before_any_stream() {
    serve(options(), async |site| {
        let reference = |name: &str| json!({ "type": "ref/prompt", "name": name });
        let completion = json!({
            "ref": reference("review"), "argument": { "name": "x", "value": "" }
        });
        let of_both = json!({
            "ref": { "type": "ref/resource", "uri": "log:///{day}", "name": "review" },
            "argument": { "name": "day", "value": "" },
        });
        for (method, params, wanted) in [
            ("prompts/get", json!({ "name": "review" }), "prompts"),
            ("completion/complete", completion, "prompts"),
            ("completion/complete", of_both, "logs"),
            ("resources/read", json!({ "uri": "file:///secret" }), "secrets"),
            ("resources/read", json!({ "uri": "log:///monday" }), "logs"),
            (
                "subscriptions/listen",
                json!({ "notifications": {
                    "resourceSubscriptions": ["file:///open", "log:///1", "file:///secret"]
                } }),
                "logs secrets",
            ),
        ] {
            let denied = site.modern("other", method, params).await;
            assert_eq!(denied.wanted(), wanted, "{method}");
        }
        assert_eq!(site.called(), [""; 0]);
        let open = site.modern("", "resources/read", json!({ "uri": "file:///open" })).await;
        assert_ne!(open.status, 403);
        site.modern("secrets", "resources/read", json!({ "uri": "file:///secret" })).await;
        assert_eq!(site.called().len(), 2);
        let session = site.open("", "2025-11-25").await;
        let subscribe = json!({
            "jsonrpc": "2.0", "id": 2, "method": "resources/subscribe",
            "params": { "uri": "file:///secret" },
        });
        assert_eq!(site.send_in("", &session, &subscribe).await.wanted(), "secrets");
        assert_eq!(site.send_in("secrets", &session, &subscribe).await.status, 200);
    });
}

#[test]
fn auth_147_a_scope_may_imply_others() {
    let implies = |granted: &str, wanted: &str| {
        granted == "admin" || granted == "files:write" && wanted == "files:read"
    };
    serve(options().implies(implies), async |site| {
        for (granted, tool, status) in [
            ("files:write", "list", 200),
            ("files:write", "move", 200),
            ("files:read", "move", 403),
            ("admin", "remove", 200),
        ] {
            let answer = site.modern(granted, "tools/call", json!({ "name": tool })).await;
            assert_eq!(answer.status, status, "{granted} {tool}");
        }
    });
}

#[test]
fn auth_150_each_request_of_a_session_has_the_scopes_of_its_own_token() {
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        serve(options(), async |site| {
            let session = site.open("", version).await;
            let denied = site.send_in("", &session, &call(2, "list")).await;
            assert_eq!(denied.wanted(), "files:read");
            assert_eq!(site.called(), [""; 0]);
            // The client has a new token now; the session goes on.
            assert_eq!(site.send_in("files:read", &session, &call(3, "list")).await.status, 200);
            assert_eq!(site.called(), ["list"]);
        });
    }
}

#[test]
fn auth_146_a_batch_is_refused_as_a_whole_with_the_scopes_of_all_its_requests() {
    serve(options(), async |site| {
        let session = site.open("", "2025-03-26").await;
        let batch = json!([call(2, "time"), call(3, "remove"), call(4, "move")]);
        let denied = site.send_in("files:write files:remove", &session, &batch).await;
        assert_eq!(denied.wanted(), "files:write files:remove files:read");
        assert_eq!(site.called(), [""; 0]);
        let all = "files:write files:remove files:read";
        assert_eq!(site.send_in(all, &session, &batch).await.status, 200);
        assert_eq!(site.called(), ["time", "remove", "move"]);
    });
}

#[test]
fn auth_150_what_is_checked_is_what_is_called_whatever_the_header_fields_say() {
    serve(options(), async |site| {
        let fields = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "time"),
        ];
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let bodies = [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove",META}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove","name":"time",META}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"time","name":"remove",META}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"r\u0065move",META}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"n\u0061me":"remove",META}}"#,
            r#"{"params":{"name":"remove",META},"params":{"name":"time",META},"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"remove",META}}"#,
        ];
        for body in bodies {
            for name in ["time", "remove"] {
                let mut fields = fields;
                fields[2].1 = name;
                let answer = site.send("", &fields, body.replace("META", meta)).await;
                let called = site.called();
                assert!(called.iter().all(|called| called == "time"), "{body}: {called:?}");
                let is_refused = matches!(answer.status, 400 | 403);
                assert!(is_refused || called == ["time"], "{body}: {answer:?}");
            }
        }
    });
}

#[test]
fn auth_150_an_application_sets_the_scopes_of_methods() {
    let scopes_of = |operation: &Operation<'_>| match operation.method() {
        Method::LoggingSetLevel => "admin",
        Method::ToolsCall if operation.name().is_some_and(|name| name == "time") => "clock",
        _ => "",
    };
    serve(options().scopes(scopes_of), async |site| {
        let time = json!({ "name": "time" });
        assert_eq!(site.modern("", "tools/call", time.clone()).await.wanted(), "clock");
        assert_eq!(site.modern("clock", "tools/call", time).await.status, 200);
        let session = site.open("", "2025-06-18").await;
        let level = json!({
            "jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": { "level": "info" },
        });
        assert_eq!(site.send_in("", &session, &level).await.wanted(), "admin");
        // The catalog's scopes hold as before.
        assert_eq!(site.send_in("", &session, &call(3, "list")).await.wanted(), "files:read");
    });
    // A rule that panics refuses.
    serve(options().scopes(|_| panic!("a broken rule")), async |site| {
        let answer = site.modern("", "tools/call", json!({ "name": "time" })).await;
        assert_eq!((answer.status, site.called().len()), (500, 0));
    });
}

#[test]
fn auth_150_tools_that_are_added_later_take_scopes_too() {
    let catalog = SharedCatalog::new(&Catalog::new());
    let shared = &catalog;
    let with = |app: App<BoxedHandler>| app.catalog(shared);
    serve_app(options(), with, async |site| {
        catalog.update(|catalog| catalog.add(Tool::new("late", SCHEMA).scopes("late"))).unwrap();
        let params = || json!({ "name": "late" });
        assert_eq!(site.modern("", "tools/call", params()).await.wanted(), "late");
        assert_eq!(site.modern("late", "tools/call", params()).await.status, 200);
    });
}

#[test]
fn r3_a3_a_text_of_scopes_is_compared_once_however_many_requests_take_it() {
    let compared = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&compared);
    let implies = move |_: &str, _: &str| {
        counted.fetch_add(1, Ordering::Relaxed);
        false
    };
    serve(options().implies(implies), async |site| {
        let session = site.open("", "2025-03-26").await;
        let batch: Vec<_> = (0..1000).map(|id| call(id, "list")).collect();
        let denied = site.send_in("one two three", &session, &json!(batch)).await;
        assert_eq!(denied.wanted(), "files:read");
        assert_eq!(compared.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn r3_a3_many_scopes_are_found_and_named_in_the_order_of_the_requests() {
    static NAMES: [&str; 20] = [
        "t", "s", "r", "q", "p", "o", "n", "m", "l", "k", "j", "i", "h", "g", "f", "e", "d", "c",
        "b", "a",
    ];
    let scopes_of = |operation: &Operation<'_>| {
        let known = |name: &&&str| operation.name().is_some_and(|found| found == **name);
        NAMES.iter().find(known).copied().unwrap_or_default()
    };
    serve(options().scopes(scopes_of), async |site| {
        let all = NAMES.join(" ");
        let session = site.open("", "2025-03-26").await;
        let batch: Vec<_> = (2..).zip(NAMES).map(|(id, name)| call(id, name)).collect();
        let batch = json!([&batch[..], &batch[..]].concat());
        assert_eq!(site.send_in(&all, &session, &batch).await.status, 200);
        for missing in ["t", "m", "a"] {
            let granted = all.replace(missing, "");
            assert_eq!(site.send_in(&granted, &session, &batch).await.wanted(), all, "{missing}");
        }
    });
}

#[test]
fn r3_a4_rules_for_scopes_may_use_the_server() {
    static HUB: OnceLock<Broadcaster> = OnceLock::new();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let publish = || HUB.get().unwrap().publish(Change::tools());
        let options = options().scopes(move |_| {
            publish();
            ""
        });
        let options = options.implies(move |_, _| {
            publish();
            true
        });
        let with = |app: App<BoxedHandler>| {
            HUB.set(app.broadcaster().clone()).unwrap();
            app.catalog(&CATALOG)
        };
        serve_app(options, with, async |site| {
            let answer = site.modern("other", "tools/call", json!({ "name": "list" })).await;
            let _ = tell.send(answer.status);
        });
    });
    // Only a server that is frozen takes this long.
    assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok(200));
}

#[test]
fn r3_a4_requests_that_come_while_scopes_are_checked_are_checked_after_them() {
    static SERVER: OnceLock<HttpServer> = OnceLock::new();
    static OPENED: Mutex<Vec<HttpExchange>> = Mutex::new(Vec::new());
    const FIELDS: [(&str, &str); 3] = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/list"),
        ("Authorization", "Bearer x"),
    ];
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let rule = move |operation: &Operation<'_>| {
            // More than are checked in one call.
            while operation.method() == Method::ToolsCall && OPENED.lock().unwrap().len() < 40 {
                let sent = send(SERVER.get().unwrap(), head("POST", &FIELDS), body);
                OPENED.lock().unwrap().push(future::block_on(sent));
            }
            ""
        };
        serve(options().scopes(rule), async |site| {
            let _ = SERVER.set(site.server.clone());
            let answer = site.modern("", "tools/call", json!({ "name": "time" })).await;
            let mut all = vec![answer.status];
            let opened = std::mem::take(&mut *OPENED.lock().unwrap());
            for mut exchange in opened {
                all.push(exchange.response().await.status);
            }
            let _ = tell.send(all);
        });
    });
    assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok(vec![200; 41]));
}
