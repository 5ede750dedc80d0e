//! Uses each feature that a server offers once.

use std::fmt;
use std::io::{self, Write as _};

use mcp_sansio::types::{
    CompleteParams, CompletionArgument, CompletionReference, LoggingLevel, PromptReference,
    SubscriptionFilter, Text,
};
use mcp_sansio::{CallOptions, Json, Printable, RawJson};
use mcp_sansio_adapters::blocking::client::{CallError, Client, Error, List, ListKind};
use serde_json::{Map, Value, json};

/// Lists everything, calls every tool with minimal arguments, reads every resource and prompt,
/// completes and subscribes. Prints a line for each. Fails only on connection errors, since a tool
/// may be meant to fail.
pub(crate) fn tour(client: &mut Client<'_>) -> Result<(), Error> {
    let revision = client.connected().map_or("unknown", |server| server.revision.as_str());
    print(format_args!("protocol {revision}"));
    // Logging is optional.
    let _ = client.set_log_level(LoggingLevel::Debug);
    let tools = client.list_tools();
    for tool in entries(tools)? {
        let arguments = smallest_arguments(&tool["inputSchema"]);
        let params = json!({"name": tool["name"], "arguments": arguments});
        let called = client.request("tools/call", &Json(params), CallOptions::new().progress(true));
        report(
            "tools/call",
            &tool["name"],
            called.map(|result| {
                result.as_json().get("isError").and_then(RawJson::as_bool) == Some(true)
            }),
        )?;
    }
    let resources = client.list_resources();
    for resource in entries(resources)? {
        let uri = resource["uri"].as_str().unwrap_or_default();
        report("resources/read", &resource["uri"], client.read_resource(uri).map(|_| false))?;
        let uris = [Text::new(uri)];
        let listen = client.listen(&SubscriptionFilter::new().resource_subscriptions(&uris));
        let cancelled = listen.and_then(|listen| client.cancel(listen, None));
        report("subscribe", &resource["uri"], cancelled.map(|_| false))?;
    }
    let templates = client.list_resource_templates();
    for template in entries(templates)? {
        let uri = template["uriTemplate"].as_str().unwrap_or_default();
        let filled: String = uri
            .split('{')
            .enumerate()
            .map(|(at, part)| match part.split_once('}') {
                Some((_, rest)) if at > 0 => format!("1{rest}"),
                _ => part.to_owned(),
            })
            .collect();
        report(
            "resources/read",
            &filled.as_str().into(),
            client.read_resource(&filled).map(|_| false),
        )?;
    }
    let prompts = client.list_prompts();
    for prompt in entries(prompts)? {
        let name = prompt["name"].as_str().unwrap_or_default();
        let required = prompt["arguments"].as_array().into_iter().flatten();
        let arguments: Map<_, _> = required
            .filter_map(|argument| Some((argument["name"].as_str()?.to_owned(), "test://x".into())))
            .collect();
        report(
            "prompts/get",
            &prompt["name"],
            client.get_prompt(name, &Json(&arguments)).map(|_| false),
        )?;
        if let Some(argument) = arguments.keys().next() {
            let reference = CompletionReference::Prompt(PromptReference::new(name));
            let completed = client
                .complete(&CompleteParams::new(reference, CompletionArgument::new(argument, "t")));
            report("completion/complete", &prompt["name"], completed.map(|_| false))?;
        }
    }
    Ok(())
}

/// Returns the entries: none of a list that the server does not offer.
fn entries<L: ListKind>(listed: Result<List<L>, Error>) -> Result<Vec<Value>, Error> {
    match listed {
        Err(Error::Call { error: CallError::NotSent(_), .. }) => Ok(Vec::new()),
        listed => Ok(listed?
            .raw()
            .filter_map(|entry| serde_json::from_str(entry.as_str()).ok())
            .collect()),
    }
}

/// Returns the smallest value for each required property.
fn smallest_arguments(schema: &Value) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |key: &str| match schema["properties"][key]["type"].as_str() {
        Some("number") => json!(0.1),
        Some("integer") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("x"),
    };
    required.map(|key| (key.to_owned(), value(key))).collect()
}

/// Prints the outcome. Errors of the server count as outcomes.
fn report(method: &str, what: &Value, outcome: Result<bool, Error>) -> Result<(), Error> {
    let what = Printable::new(what.as_str().unwrap_or_default());
    match outcome {
        Ok(false) => print(format_args!("{method} {what}: ok")),
        Ok(true) => print(format_args!("{method} {what}: failed (isError)")),
        Err(Error::Call { error: CallError::Server(error), .. }) => {
            print(format_args!("{method} {what}: error: {error}"))
        }
        Err(Error::Call { error: CallError::NotSent(_), .. }) => {
            print(format_args!("{method} {what}: not offered"))
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Prints a line. Ends the program if the output is closed, as by `head`.
fn print(line: fmt::Arguments<'_>) {
    if writeln!(io::stdout(), "{line}").is_err() {
        std::process::exit(0);
    }
}
