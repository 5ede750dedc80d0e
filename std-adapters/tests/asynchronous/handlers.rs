//! Handlers: results, errors, cancellation.

use std::cell::Cell;
use std::future::{Future, pending};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use futures_lite::future;
use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::types::{LoggingLevel, Prompt, Resource, TextResult, Tool};
use mcp_sansio::{
    Catalog, Change, Json, LogMessage, NoOutput, OrToolError as _, Progress, RawJson, ToolContext,
    ToolOutput, ToolResult, entries,
};
use mcp_sansio_adapters::asynchronous::{
    App, Connection, ConnectionEnd, Context, HandlerResult, Limits, boxed,
};
use serde_json::{Value, json};

use crate::client::{
    Client, WIDE, call, cancel, in_session, legacy, legacy_call, modern, short, talk,
};
use crate::pipe::pipe;
use crate::virtual_time;
use crate::{CATALOG, CONFIG, serving};

#[test]
#[cfg(debug_assertions)]
fn tool_11_a_result_that_breaks_the_output_schema_is_an_error_in_debug_builds() {
    const SCHEMA: &str =
        r#"{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}"#;
    static CATALOG: Catalog = Catalog::new().tools(entries![
        Tool::new("sum", RawJson::from_static(r#"{"type":"object"}"#))
            .output_schema(RawJson::from_static(SCHEMA))
    ]);
    async fn sum(ctx: Context) -> HandlerResult {
        ctx.reply(&ToolOutput::Structured(&ctx.request()?.arguments().as_json()))
    }
    let app = App::new(&CONFIG, sum).catalog(&CATALOG);
    talk(&app, WIDE, async move |mut client| {
        let right = client.ask(&call(1, "sum", json!({"sum": 7}))).await;
        assert_eq!(right["result"]["structuredContent"], json!({"sum": 7}));
        let wrong = client.ask(&call(2, "sum", json!({"sum": "7"}))).await;
        let words =
            "the result of sum breaks its output schema: sum: must be of type integer, is \"7\"";
        assert_eq!(wrong["error"], json!({"code": -32603, "message": words}));
    });
}

#[test]
fn tool_17_a_handler_that_does_not_read_the_enum_gets_no_invalid_arguments_either() {
    #[derive(Tools)]
    enum Call {
        /// Waits.
        Wait { seconds: u8 },
    }
    static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
    async fn by_request(ctx: Context) -> HandlerResult {
        assert!(ctx.request()?.arguments().get("seconds").is_some());
        ctx.reply(&TextResult::new("ran"))
    }
    async fn as_enum(ctx: Context) -> HandlerResult {
        let Call::Wait { seconds } = ctx.call()?;
        assert_eq!(
            ctx.request()?.arguments().get("seconds").and_then(RawJson::as_u64),
            Some(seconds.into())
        );
        ctx.reply(&TextResult::new("ran"))
    }
    async fn without(ctx: Context) -> HandlerResult {
        ctx.reply(&TextResult::new("ran"))
    }
    let handlers = [boxed(by_request), boxed(as_enum), boxed(without)];
    for handler in handlers {
        let app = App::new(&CONFIG, handler).catalog(&CATALOG);
        talk(&app, WIDE, async move |mut client| {
            for (id, arguments, said) in [
                (1, json!({"seconds": 7}), "ran"),
                (
                    2,
                    json!({"second": 7, "seconds": 7}),
                    "second: is unknown, must be one of seconds",
                ),
                (3, json!({"seconds": 256}), "seconds: must be an integer from 0 to 255, is 256"),
            ] {
                let answer = client.ask(&call(id, "wait", arguments)).await;
                assert_eq!(answer["result"]["content"][0]["text"], said);
            }
        });
    }
}

#[test]
fn b9_the_error_for_an_invalid_result_names_the_missing_member() {
    async fn wrong(ctx: Context) -> HandlerResult {
        let request = ctx.request()?;
        let text = request.arguments().get("text").and_then(RawJson::as_string);
        match text.map(|text| text.to_string()).as_deref() {
            Some("text") => ctx.reply("hello"),
            Some("number") => ctx.reply(&1),
            Some("rows") => ctx.reply(&Json(json!({"rows": []}))),
            _ => ctx.reply(&Json(json!({"content": []}))),
        }
    }
    let app = serving(wrong);
    let ((), end) = in_session(&app, WIDE, async move |mut client| {
        for (id, text) in [(1, "text"), (2, "number"), (3, "rows")] {
            let answer = client.ask(&call(id, "echo", json!({"text": text}))).await;
            let needed = r#"The handler's result is not a JSON object with the member "content", which this method requires"#;
            assert_eq!(answer["error"], json!({"code": -32603, "message": needed}), "{answer}");
        }
        assert!(client.ask(&call(4, "echo", json!({"text": "right"}))).await["result"].is_object());
    });
    assert_eq!(end, ConnectionEnd::Closed);
}

#[test]
fn canc_04_canc_05_canc_17_cancellation_drops_the_future_and_sends_no_response() {
    let alive = Rc::new(());
    let app = serving(async |_: Context| {
        let _held = Rc::clone(&alive);
        pending().await
    });
    in_session(&app, WIDE, async |mut client| {
        client.send(&call(1, "wait", json!({}))).await;
        client.send(&call(2, "wait", json!({}))).await;
        client.ask(&legacy(3, "ping", json!({}))).await;
        assert_eq!(Rc::strong_count(&alive), 3);
        client.send(&cancel(1)).await;
        // The next message is not a response to the cancelled request.
        assert_eq!(client.ask(&legacy(4, "ping", json!({}))).await["id"], 4);
        assert_eq!(Rc::strong_count(&alive), 2);
    });
    assert_eq!(Rc::strong_count(&alive), 1, "the end of the connection drops the rest");
}

#[test]
fn a_handler_is_dropped_at_its_end_and_polled_only_when_it_is_woken() {
    let polls = Cell::new(0);
    let (release, gate) = smol::channel::bounded::<()>(1);
    let app = serving(async |ctx: Context| {
        let mut wait = std::pin::pin!(gate.recv());
        std::future::poll_fn(|cx| {
            polls.set(polls.get() + 1);
            wait.as_mut().poll(cx)
        })
        .await
        .or_internal()?;
        ctx.reply(&TextResult::new("done"))
    });
    in_session(&app, WIDE, async |mut client| {
        client.send(&call(1, "wait", json!({}))).await;
        for id in 2..50 {
            client.ask(&legacy(id, "ping", json!({}))).await;
        }
        assert_eq!(polls.get(), 1);
        release.send(()).await.unwrap();
        assert_eq!(client.next().await["id"], 1);
        assert_eq!(polls.get(), 2);
    });
}

#[test]
fn handlers_can_log_and_detect_that_their_request_has_ended() {
    let app = serving(|ctx: Context| async move {
        ctx.tool(&ctx.request()?).log(&LogMessage::new(LoggingLevel::Error, "said")).await?;
        assert!(!ctx.is_gone());
        ctx.reply(&TextResult::new("logged"))
    });
    in_session(&app, WIDE, async move |mut client| {
        client.send(&legacy_call(1, "echo")).await;
        assert_eq!(client.next().await["params"]["data"], "said");
        assert_eq!(client.next().await["id"], 1);
    });

    // On a thread, where it is not dropped.
    let (sender, context) = smol::channel::bounded(1);
    let app = serving(move |ctx: Context| {
        sender.try_send(ctx).unwrap();
        pending()
    });
    in_session(&app, WIDE, async move |mut client| {
        client.send(&call(1, "wait", json!({}))).await;
        let ctx = context.recv().await.unwrap();
        assert!(!ctx.is_gone());
        let ctx = tokio::task::spawn_blocking(move || {
            let request = ctx.request().unwrap();
            smol::block_on(ctx.tool(&request).progress(&Progress::of(1))).unwrap();
            ctx
        })
        .await
        .unwrap();
        assert_eq!(client.next().await["params"]["progress"], 1);
        client.send(&cancel(1)).await;
        client.ask(&legacy(2, "ping", json!({}))).await;
        assert!(ctx.is_gone());
        let request = ctx.request().unwrap();
        let told = ctx.tool(&request).progress(&Progress::of(2)).await;
        assert!(told.unwrap_err().is_gone());
    });
}

#[test]
fn without_a_catalog_the_handler_is_called_for_everything() {
    let app = App::new(&CONFIG, |ctx: Context| async move {
        ctx.reply(&Json(json!({"tools": [], "content": [], "name": ctx.name()})))
    });
    talk(&app, WIDE, async move |mut client| {
        assert_eq!(
            client.ask(&modern(1, "tools/list", json!({}))).await["result"]["tools"],
            json!([])
        );
        assert_eq!(client.ask(&call(2, "anything", json!({}))).await["result"]["name"], "");
    });
}

#[test]
fn changes_reach_the_subscribers_of_all_connections_and_once() {
    let app = serving(|ctx: Context| async move {
        ctx.broadcaster().publish(Change::resource("test://r"));
        ctx.broadcaster().publish(Change::resource("test://r"));
        ctx.broadcaster().publish(Change::tools());
        ctx.reply(&TextResult::new("changed"))
    });
    let ((one, one_end), (two, two_end)) = (pipe(64, 64), pipe(5, 3));
    let clients = async {
        let (mut one, mut two) = (Client::new(one_end), Client::new(two_end));
        one.initialize().await;
        let wanted = json!({"notifications": {"resourceSubscriptions": ["test://r"]}});
        assert_eq!(
            two.ask(&modern(1, "subscriptions/listen", wanted)).await["method"],
            "notifications/subscriptions/acknowledged"
        );
        let methods = [one.ask(&call(1, "change", json!({}))).await, one.next().await]
            .map(|message| message["method"].clone());
        assert_eq!(methods, [json!("notifications/tools/list_changed"), Value::Null]);
        let update = two.next().await;
        assert_eq!(update["params"]["uri"], "test://r");
        // A repeated notification would arrive before this response.
        assert_eq!(two.ask(&call(2, "nobody", json!({}))).await["id"], 2);
    };
    let (ended, ()) = virtual_time::block_on(future::zip(
        future::zip(Connection::new(&app, one), Connection::new(&app, two)),
        clients,
    ));
    assert_eq!(
        (ended.0.unwrap(), ended.1.unwrap()),
        (ConnectionEnd::Closed, ConnectionEnd::Closed)
    );
    assert_eq!(app.broadcaster().connections(), 0);
}

#[test]
fn connections_are_send_when_their_handlers_are() {
    fn assert_send<T: Send + 'static>(_: &T) {}
    let app = Arc::new(serving(|ctx: Context| async move {
        let request = ctx.request()?;
        ctx.tool(&request).progress(&Progress::of(1)).await?;
        ctx.text("done")
    }));
    assert_send(&Connection::new(app, pipe(1, 1).0));
    static HASTY: Mutex<Hasty> = Mutex::new(Hasty);
    let app = Arc::new(serving(|ctx: Context| ctx.call_tool(&HASTY)));
    assert_send(&Connection::new(app, pipe(1, 1).0));
    // Not `Send`.
    let count = Cell::new(0);
    let app = App::new(&CONFIG, async |ctx: Context| {
        count.set(count.get() + 1);
        ctx.reply(&Json(json!({"content": []})))
    });
    talk(&app, WIDE, async move |mut client| client.ask(&call(1, "echo", json!({}))).await);
    assert_eq!(count.get(), 1);
}

#[test]
fn a_text_is_the_result_of_a_tool_a_resource_or_a_prompt() {
    static CATALOG: Catalog = Catalog::new()
        .tools(entries![Tool::new("say", RawJson::from_static(r#"{"type":"object"}"#))])
        .resources(entries![Resource::new("test://r", "r").mime_type("text/markdown")])
        .prompts(entries![Prompt::new("greet")]);
    let app = App::new(&CONFIG, |ctx: Context| async move { ctx.text("Hello") }).catalog(&CATALOG);
    talk(&app, WIDE, async |mut client| {
        let said = client.ask(&call(1, "say", json!({}))).await;
        assert_eq!(said["result"]["content"], json!([{"type": "text", "text": "Hello"}]));
        let read = client.ask(&modern(2, "resources/read", json!({"uri": "test://r"}))).await;
        let contents = json!([{"uri": "test://r", "mimeType": "text/markdown", "text": "Hello"}]);
        assert_eq!(read["result"]["contents"], contents);
        let prompted = client.ask(&modern(3, "prompts/get", json!({"name": "greet"}))).await;
        let message = json!({"role": "user", "content": {"type": "text", "text": "Hello"}});
        assert_eq!(prompted["result"]["messages"], json!([message]));
    });
}

/// Tools that are not async.
#[derive(Tools)]
enum AtOnce {
    /// Changes the resource.
    Change,
    /// Logs more than there is room for.
    Wait,
}

struct Hasty;

impl ToolHandler for Hasty {
    type Tools = AtOnce;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, call: AtOnce, ctx: ToolContext<'a>) -> ToolResult<'a> {
        match call {
            AtOnce::Change => ctx.at_once(ctx.publish(Change::resource("test://r")))?,
            AtOnce::Wait => {
                let text = "x".repeat(400);
                let line = LogMessage::new(LoggingLevel::Error, &*text);
                (0..3).try_for_each(|_| ctx.at_once(ctx.log(&line)))?;
            }
        }
        Ok("done".into())
    }
}

#[test]
fn a_missing_catalog_is_named() {
    let hasty = Mutex::new(Hasty);
    let app = App::new(&CONFIG, async |ctx: Context| ctx.call_tool(&hasty).await);
    talk(&app, WIDE, async |mut client| {
        let refused = client.ask(&modern(1, "tools/list", json!({}))).await;
        assert_eq!(refused["error"]["code"], -32601);
        let expected = "Method not found, and there is no catalog: App::catalog";
        assert_eq!(refused["error"]["message"], expected);
    });
}

#[test]
fn a_tool_that_is_not_async_sends_what_there_is_room_for() {
    let hasty = Mutex::new(Hasty);
    let app = App::new(&CONFIG, async |ctx: Context| ctx.call_tool(&hasty).await);
    let app = app.catalog(&CATALOG).limits(Limits { max_pending: 1024, ..Limits::new() });
    in_session(&app, WIDE, async |mut client| {
        client.ask(&legacy(1, "resources/subscribe", json!({"uri": "test://r"}))).await;
        client.send(&legacy_call(2, "wait")).await;
        let mut lines = 0;
        let refused = loop {
            let message = client.next().await;
            if message["method"] != "notifications/message" {
                break message;
            }
            lines += 1;
        };
        assert_eq!(short(&refused), "2 error -32603");
        assert!((1..3).contains(&lines), "{lines}");
        // Nothing waits for the lines that had no room.
        client.send(&legacy_call(3, "change")).await;
        let mut told = [client.next().await, client.next().await];
        told.sort_by_key(|message| message["id"].is_number());
        assert_eq!(told[0]["method"], "notifications/resources/updated");
        assert_eq!(told[1]["result"]["content"][0]["text"], "done");
        let line = json!({"name": "echo", "arguments": {}});
        assert_eq!(client.ask(&legacy(4, "tools/call", line)).await["id"], 4);
    });
}
