//! Tools that are types, behind the blocking server.

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use mcp_sansio::typed::{AsyncToolHandler, Output, ToolHandler, Tools};
use mcp_sansio::types::{
    Implementation, ReadResourceResult, Resource, ResourceContents, Text, TextResult,
};
use mcp_sansio::{
    Catalog, Era, Progress, RawJson, ServerConfig, ServerFeatures, Target, ToolContext, ToolOutput,
    ToolResult, entries,
};
use mcp_sansio_adapters::blocking::client::Client;
use mcp_sansio_adapters::blocking::{App, Error, RequestContext};

use super::CLIENT;

static SERVER: ServerConfig = ServerConfig::new(
    Implementation::new("server", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::RESOURCES),
);
static CATALOG: Catalog =
    Catalog::new().tools_of::<Call>().resources(entries![Resource::new("a:b", "b")]);

#[derive(Tools)]
enum Call<'a> {
    /// Adds.
    #[tool(returns = Sum)]
    Add { number: u8 },
    /// Repeats.
    #[tool(scopes("words:read"))]
    Echo { text: Text<'a> },
    /// Panics.
    Panic,
}

#[derive(Output)]
struct Sum {
    sum: u8,
}

#[derive(Default)]
struct Board {
    sum: u8,
}

impl ToolHandler for Board {
    type Tools = Call<'static>;
    type Output<'a> = Sum;

    fn call<'a>(&mut self, call: Call<'a>, _: ToolContext<'a>) -> ToolResult<'a, Sum> {
        match call {
            Call::Add { number } => {
                self.sum = self.sum.checked_add(number).ok_or("The sum is too large")?;
                Ok(ToolOutput::Structured(Sum { sum: self.sum }))
            }
            Call::Echo { text } => Ok(ToolOutput::Text(text)),
            Call::Panic => panic!("a tool"),
        }
    }
}

/// Each call waits for a thread.
#[derive(Default)]
struct Slow {
    sum: Cell<u8>,
}

impl AsyncToolHandler for Slow {
    type Tools = Call<'static>;
    type Output<'a> = Sum;

    async fn call<'a>(&'a self, call: Call<'a>, ctx: ToolContext<'a>) -> ToolResult<'a, Sum> {
        ctx.progress(&Progress::of(1)).await?;
        let (done, mut is_started) = (Arc::new(AtomicBool::new(false)), false);
        poll_fn(|cx| {
            if !std::mem::replace(&mut is_started, true) {
                let (done, waker) = (Arc::clone(&done), cx.waker().clone());
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(5));
                    done.store(true, Ordering::Release);
                    waker.wake();
                });
            }
            if done.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let mut board = Board { sum: self.sum.get() };
        let result = board.call(call, ctx);
        self.sum.set(board.sum);
        result
    }
}

/// Connects a client to a server that calls this for each request.
fn served<'h>(
    era: Era,
    handler: impl FnMut(&mut RequestContext<'_, '_>) -> Result<(), Error> + Send + 'h,
) -> Client<'h> {
    App::new(&SERVER).catalog(&CATALOG).memory(handler).connect(&CLIENT, era).unwrap()
}

/// Returns the result of a call, or the error.
fn call(client: &mut Client<'_>, tool: &str, arguments: &str) -> String {
    match client.call_tool(tool, &RawJson::parse(arguments).unwrap()) {
        Ok(result) => result.as_json().as_str().to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Plays the same calls, and returns the results or the errors.
fn visit(client: &mut Client<'_>) -> Vec<String> {
    [
        ("add", r#"{"number":250}"#),
        ("add", r#"{"number":5}"#),
        ("add", r#"{"number":1}"#),
        ("add", r#"{"number":256}"#),
        ("echo", r#"{"text":"a\tb"}"#),
        ("panic", "{}"),
        ("none", "{}"),
        ("add", r#"{"number":0}"#),
    ]
    .map(|(tool, arguments)| match client.call_tool(tool, &RawJson::parse(arguments).unwrap()) {
        Ok(result) => {
            let json: serde_json::Value = result.as_json().to().unwrap();
            let mark = if json["isError"] == true { "! " } else { "" };
            format!("{mark}{}", json["content"][0]["text"])
        }
        Err(error) => error.to_string(),
    })
    .into()
}

const VISIT: [&str; 8] = [
    r#""{\"sum\":250}""#,
    r#""{\"sum\":255}""#,
    r#"! "The sum is too large""#,
    r#"! "number: must be an integer from 0 to 255, is 256""#,
    r#""a\tb""#,
    "the server responded with an error: The handler panicked (code -32603)",
    "the server responded with an error: Unknown tool: none (code -32602)",
    r#""{\"sum\":255}""#,
];

#[test]
fn a_handler_is_all_that_a_server_needs() {
    for era in Era::ALL {
        let mut board = Board::default();
        assert_eq!(visit(&mut served(era, |ctx| ctx.call_tool(&mut board))), VISIT);
        let slow = Slow::default();
        assert_eq!(visit(&mut served(era, move |ctx| ctx.call_async_tool(&slow))), VISIT);
    }
}

#[test]
fn auth_02_a_stream_has_no_authorization() {
    for era in Era::ALL {
        let mut board = Board::default();
        let mut client = served(era, |ctx| ctx.call_tool(&mut board));
        // Neither is a scope asked for, nor is it told.
        assert!(call(&mut client, "echo", r#"{"text":"x"}"#).contains(r#""text":"x""#));
        assert!(!format!("{:?}", client.list_tools().unwrap()).contains("words:read"));
    }
}

#[test]
fn other_requests_reach_the_same_function() {
    let mut board = Board::default();
    let mut client = served(Era::Modern, |ctx| match ctx.target() {
        Target::Resource(_) => {
            let contents = [ResourceContents::text("a:b", "contents")];
            ctx.respond(&ReadResourceResult::new(&contents))
        }
        _ => ctx.call_tool(&mut board),
    });
    let read = client.read_resource("a:b").unwrap();
    assert!(read.as_json().as_str().contains("contents"));
    assert!(call(&mut client, "add", r#"{"number":7}"#).contains(r#"{"sum":7}"#));
}

#[test]
fn invalid_arguments_are_refused_when_the_function_leaves_them() {
    // The check is that of reading, which a function may also do by itself.
    let mut client = served(Era::Modern, |ctx| match ctx.call()? {
        Some(Call::Echo { text }) => ctx.respond(&TextResult::from(text)),
        _ => Ok(()),
    });
    assert!(call(&mut client, "echo", r#"{"text":"x"}"#).contains(r#""text":"x""#));
    assert!(call(&mut client, "echo", "{}").contains("text: is missing, must be a string"));
    let error = call(&mut client, "add", r#"{"number":1}"#);
    assert!(error.contains("The application sent no response"), "{error}");
}

#[test]
fn a_missing_catalog_is_named() {
    let mut board = Board::default();
    let mut client = App::new(&SERVER)
        .memory(|ctx| ctx.call_tool(&mut board))
        .connect(&CLIENT, Era::Modern)
        .unwrap();
    let error = client.list_tools().unwrap_err();
    assert!(error.to_string().contains("there is no catalog: App::catalog"), "{error}");
}

#[test]
fn a_function_that_does_not_read_the_enum_gets_no_invalid_arguments_either() {
    type Ask = fn(&RequestContext<'_, '_>) -> Result<(), Error>;
    let asks: [Ask; 3] = [
        |ctx| ctx.request().map(|request| assert!(request.arguments().get("text").is_some())),
        // Ignores the error.
        |ctx| {
            assert!(ctx.request().is_ok() || ctx.call::<Call>().is_err());
            Ok(())
        },
        // Does not ask at all.
        |_| Ok(()),
    ];
    for ask in asks {
        let mut client = served(Era::Modern, |ctx| {
            ask(ctx)?;
            ctx.respond(&TextResult::new("ran"))
        });
        for (arguments, said) in [
            (r#"{"text":"x"}"#, "ran"),
            (r#"{"text":7}"#, "text: must be a string, is 7"),
            (r#"{"text":"x","texts":7}"#, "texts: is unknown, must be one of text"),
        ] {
            let result = call(&mut client, "echo", arguments);
            assert!(result.contains(said), "{arguments}: {result}");
        }
    }
}

/// Returns what `add` does not declare.
struct Careless;

#[derive(Output)]
struct Wrong {
    sum: &'static str,
}

impl ToolHandler for Careless {
    type Tools = Call<'static>;
    type Output<'a> = Wrong;

    fn call<'a>(&mut self, call: Call<'a>, _: ToolContext<'a>) -> ToolResult<'a, Wrong> {
        match call {
            Call::Add { number: 0 } => Ok("nothing".into()),
            Call::Add { .. } => Ok(ToolOutput::Structured(Wrong { sum: "much" })),
            Call::Echo { .. } => Ok(ToolOutput::Structured(Wrong { sum: "undeclared" })),
            Call::Panic => Err("not this one")?,
        }
    }
}

#[test]
#[cfg(debug_assertions)]
fn tool_11_a_result_that_breaks_the_output_schema_is_an_error_in_debug_builds() {
    let error = |words: &str| {
        let text = "the server responded with an error: the result of add breaks its output schema";
        format!("{text}: {words} (code -32603)")
    };
    for era in Era::ALL {
        let mut typed = served(era, |ctx| ctx.call_tool(&mut Careless));
        let mut by_hand = served(era, |ctx| {
            match ctx.request()?.arguments().get("number").and_then(RawJson::as_i64) {
                Some(0) => ctx.respond(&ToolOutput::<Wrong>::text("nothing")),
                Some(_) => ctx.respond(&ToolOutput::Structured(Wrong { sum: "much" })),
                None => ctx.respond(&ToolOutput::Structured(Wrong { sum: "undeclared" })),
            }
        });
        for client in [&mut typed, &mut by_hand] {
            let missing = error("structuredContent: is missing");
            assert_eq!(call(client, "add", r#"{"number":0}"#), missing);
            let wrong = error("sum: must be of type integer, is \"much\"");
            assert_eq!(call(client, "add", r#"{"number":1}"#), wrong);
            assert!(call(client, "echo", r#"{"text":""}"#).contains("undeclared"));
        }
        assert!(call(&mut typed, "panic", "{}").contains("\"isError\":true"));
    }
}
