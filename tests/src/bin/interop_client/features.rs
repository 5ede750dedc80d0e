//! Tools, resources, prompts, completion, and requests of servers.

use std::sync::LazyLock;
use std::time::Duration;

use mcp_sansio::types::{
    CompleteParams, CompletionArgument, CompletionReference, LoggingLevel, PromptReference,
    ResourceTemplateReference,
};
use mcp_sansio::{CallOptions, Json, RawJson};
use mcp_sansio_adapters::blocking::client::Error;
use serde_json::{Value, json};

use super::Feature;
use super::session::{Session, Wrong, value, want};

pub(crate) const ALL: [Feature; 30] = [
    ("list_tools", |s| {
        want(listed(s.client.list_tools()?.raw(), "name"), each(&OFFER["tools"], "name"))
    }),
    ("echo", |s| want(s.said("echo", json!({"text": TEXT}))?.as_str(), TEXT)),
    ("add", |s| want(s.said("add", json!({"a": 1.5, "b": 2}))?.parse(), Ok(3.5))),
    ("structured_content", |s| {
        let sum = s.call("add", json!({"a": 1, "b": 2}))?["structuredContent"]["sum"].as_f64();
        want(sum, Some(3.0))
    }),
    ("progress", |s| {
        s.forget();
        slow(s, 3)?;
        for step in 1..=3 {
            let seen = s.take("progress")?;
            want(
                (seen[0].as_bool(), seen[1]["progress"].as_f64(), seen[1]["total"].as_f64()),
                (Some(true), Some(f64::from(step)), Some(3.0)),
            )?;
        }
        Ok(())
    }),
    ("progress_message", |s| {
        s.forget();
        slow(s, 1)?;
        want(s.take("progress")?[1]["message"].as_str(), Some("step 1"))
    }),
    ("observes_cancel", |s| {
        let before = cancelled(s)?;
        begin_and_cancel(s)?;
        for _ in 0..50 {
            if cancelled(s)? == before + 1 {
                return Ok(());
            }
            s.client.run_for(Duration::from_millis(50))?;
        }
        Err(Wrong("the call was not cancelled".to_owned()))
    }),
    ("silent_after_cancel", |s| {
        // A late response is dropped silently.
        s.forget();
        begin_and_cancel(s)?;
        s.client.run_for(Duration::from_millis(700))?;
        want((s.all("violation"), s.all("progress").len() < 10), (Vec::new(), true))
    }),
    ("fail", |s| want(s.call("fail", json!({}))?["isError"].as_bool(), Some(true))),
    ("unknown_tool", |s| {
        s.refused(-32602, "tools/call", json!({"name": "no_such_tool", "arguments": {}}))
    }),
    ("log", |s| {
        s.client.set_log_level(LoggingLevel::Debug)?;
        s.forget();
        want(s.said("log", json!({"level": "error", "text": "a line"}))?.as_str(), "sent")?;
        let seen = s.take("log")?;
        want(
            [&seen["level"], &seen["logger"], &seen["data"]],
            [&json!("error"), &json!("offer"), &json!("a line")],
        )
    }),
    ("log_level", |s| {
        s.client.set_log_level(LoggingLevel::Error)?;
        s.forget();
        for level in ["info", "critical"] {
            s.call("log", json!({"level": level, "text": level}))?;
        }
        want(s.take("log")?["level"].as_str(), Some("critical"))
    }),
    ("ask_model", |s| {
        s.forget();
        want(
            s.said("ask_model", json!({"prompt": "what is six times seven?"}))?.as_str(),
            "forty-two",
        )?;
        let params = &s.take("question")?["params"];
        want(
            (params["messages"][0]["role"].as_str(), params["maxTokens"].as_u64()),
            (Some("user"), Some(100)),
        )
    }),
    ("ask_user", |s| {
        s.forget();
        want(s.said("ask_user", json!({}))?.as_str(), "accept Ada")?;
        want(&s.take("question")?["params"]["requestedSchema"]["required"], &json!(["name"]))
    }),
    ("ask_url", |s| {
        s.forget();
        want(s.said("ask_url", json!({}))?.as_str(), "accept")?;
        want(&s.take("question")?["params"]["url"], &OFFER["askUrl"]["url"])
    }),
    ("elicitation_complete", |s| {
        s.forget();
        s.call("ask_url", json!({}))?;
        want(&s.take("complete")?["elicitationId"], &OFFER["askUrl"]["elicitationId"])
    }),
    ("roots", |s| want(s.said("roots", json!({}))?.as_str(), "file:///one\nfile:///two")),
    ("ping_client", |s| want(s.said("ping", json!({}))?.as_str(), "pong")),
    ("big", |s| want(s.said("big", json!({"bytes": 1 << 20}))? == "x".repeat(1 << 20), true)),
    ("image", |s| {
        want(
            each(&s.call("image", json!({}))?["content"], "data"),
            each(&json!([OFFER["image"]]), "data"),
        )
    }),
    ("mixed", |s| {
        let kinds = each(&s.call("mixed", json!({}))?["content"], "type");
        want(
            kinds.iter().map(String::as_str).collect(),
            vec!["text", "image", "audio", "resource_link", "resource", "resource"],
        )
    }),
    ("pages", |s| {
        let resources = s.client.list_resources()?;
        let uris = listed(resources.raw(), "uri");
        want((uris, resources.pages().len()), (each(&OFFER["resources"], "uri"), 3))
    }),
    ("bad_cursor", |s| s.refused(-32602, "resources/list", json!({"cursor": "no such cursor"}))),
    ("templates", |s| {
        let templates = s.client.list_resource_templates()?;
        want(listed(templates.raw(), "uriTemplate"), vec!["test://item/{id}".to_owned()])?;
        want(read(s, "test://item/42")?["text"].as_str(), Some("item 42"))
    }),
    ("read", |s| {
        want(read(s, "test://hello")?["text"].as_str(), Some("Hello, world"))?;
        want(&read(s, "test://blob")?["blob"], &OFFER["blob"])
    }),
    ("unknown_resource", |s| {
        let code = if s.is_modern() { -32602 } else { -32002 };
        s.refused(code, "resources/read", json!({"uri": "test://nothing"}))
    }),
    ("prompts", |s| {
        want(listed(s.client.list_prompts()?.raw(), "name"), each(&OFFER["prompts"], "name"))?;
        want(prompt(s, "plain", json!({}))?, json!("plain"))?;
        want(prompt(s, "with_args", json!({"name": "Ada"}))?, json!("Hello, Ada"))
    }),
    ("unknown_prompt", |s| s.refused(-32602, "prompts/get", json!({"name": "nothing"}))),
    ("complete", |s| {
        let prompt = CompletionReference::Prompt(PromptReference::new("with_args"));
        let template =
            CompletionReference::Resource(ResourceTemplateReference::new("test://item/{id}"));
        for (reference, argument, values) in [
            (prompt, CompletionArgument::new("name", "A"), json!(["Ada", "Alan"])),
            (template, CompletionArgument::new("id", "1"), json!(["1", "10", "11"])),
        ] {
            let completed = s.client.complete(&CompleteParams::new(reference, argument))?;
            want(&value(completed.as_json())["completion"]["values"], &values)?;
        }
        Ok(())
    }),
    ("ping", |s| Ok(s.request("ping", json!({})).map(|_| ())?)),
];

fn slow(s: &mut Session, steps: u32) -> Result<(), Error> {
    let params = json!({"name": "slow", "arguments": {"steps": steps, "ms": 10}});
    s.client.request("tools/call", &Json(params), CallOptions::new().progress(true)).map(|_| ())
}

fn begin_and_cancel(s: &mut Session) -> Result<(), Error> {
    let params = json!({"name": "slow", "arguments": {"steps": 25, "ms": 20}});
    let call = s.client.start("tools/call", &Json(params), CallOptions::new().progress(true))?;
    s.client.run_for(Duration::from_millis(100))?;
    s.client.cancel(call, Some("a test")).map(|_| ())
}

/// Returns the number of calls that the server has seen cancelled.
fn cancelled(s: &mut Session) -> Result<u64, Wrong> {
    let text = read(s, "test://cancelled")?["text"].clone();
    text.as_str()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Wrong(format!("test://cancelled says {text}")))
}

pub(crate) fn read(s: &mut Session, uri: &str) -> Result<Value, Error> {
    s.client.read_resource(uri).map(|result| value(result.as_json())["contents"][0].clone())
}

/// Returns the text of the first message.
fn prompt(s: &mut Session, name: &str, arguments: Value) -> Result<Value, Error> {
    let prompt = s.client.get_prompt(name, &Json(arguments))?;
    Ok(value(prompt.as_json())["messages"][0]["content"]["text"].clone())
}

/// Returns this member of each item.
fn listed<'r>(items: impl Iterator<Item = RawJson<'r>>, member: &str) -> Vec<String> {
    items.map(|item| value(item)[member].as_str().unwrap_or("").to_owned()).collect()
}

const TEXT: &str = "zażółć 🦀 \u{2028} \" \\";

/// The features that all reference servers share.
static OFFER: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../interop/servers/offer.json"))
        .expect("the offer is JSON")
});

/// Returns one member of each entry.
fn each(list: &Value, member: &str) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(|entry| entry[member].as_str().unwrap_or("").to_owned())
        .collect()
}
