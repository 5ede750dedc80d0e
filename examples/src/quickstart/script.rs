//! The conversation: a sentence, what the client does, and what the server must answer.

use std::time::Duration;

use mcp_sansio::types::{Implementation, Prompt, Tool};
use mcp_sansio::{CallOptions, ClientConfig, ClientFeatures, Era, OwnedJson, RawJson, Revision};
use mcp_sansio_adapters::blocking::client::{Connector, Process};
use serde_json::{Value, json};

use super::person::Person;
use super::screen::{part, show, step};
use super::{Unexpected, line};

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("quickstart", "1.0"), ClientFeatures::ELICITATION_FORM)
        .call_timeout(Duration::from_secs(5));

/// 2026-07-28: no handshake, no session. Each request says in `_meta` who speaks, and which
/// version.
pub(super) fn modern(server: &mut Process) -> Result<(), Unexpected> {
    part("The modern era: 2026-07-28, where each request stands alone");

    step("What can you do? A client may ask, it need not.");
    let person = Person::default();
    let mut client = Connector::new(&CONFIG).handler(person.clone()).trace(show).connect(server)?;
    expect(client.revision() == Some(Revision::V2026_07_28), "2026-07-28", &client.revision())?;
    let found = client.connect_result().map(|about| {
        about.as_raw().get("capabilities").is_some_and(|all| all.get("tools").is_some())
    });
    expect(found == Some(true), "the capability tools", &found)?;

    step("Which tools are there?");
    let tools = client.list_tools()?;
    expect(
        tools.iter::<Tool<'_>>().flatten().any(|tool| tool.name == "structured"),
        "the tool structured",
        &tools,
    )?;

    step("Call one. The answer is text for a model, and the same as data for a program.");
    let answer = value(&client.call_tool("structured", &json!({"city": "Łódź"}))?)?;
    expect(
        answer["structuredContent"]["city"] == "Łódź",
        "the city in structuredContent",
        &answer,
    )?;
    expect(answer["content"][0]["type"] == "text", "a text", &answer)?;

    step("Call one that takes a moment: the token in _meta asks for progress.");
    let progress = CallOptions::new().progress(true);
    client.call("tools/call", &json!({"name": "test_tool_with_progress"}), progress)?;
    let seen = person.seen();
    expect(seen == [0.0, 50.0, 100.0], "the progress", &seen)?;

    step(
        "Call one that would take half a minute, and cancel it after its first sign of life. It is never answered; the next one is.",
    );
    let slow = client.start(
        "tools/call",
        &json!({"name": "slow", "arguments": {"seconds": 30}}),
        progress,
    )?;
    while person.seen().is_empty() {
        client.run_for(Duration::from_millis(1))?;
    }
    client.cancel(slow, Some("That is too long"))?;
    says(&client.call_tool("test_simple_text", &json!({}))?, "simple text")?;

    step(
        "Call one that has to ask first. A modern server does not call back: its question is the answer, and the client sends the request once more, with what the person filled in.",
    );
    says(&client.call_tool("test_input_required_result_elicitation", &json!({}))?, "Ada")
}

/// Nothing that a client sends can end the session.
pub(super) fn mistakes(server: &mut Process) -> Result<(), Unexpected> {
    part("Mistakes");

    step(
        "A line that is not JSON is refused. Nobody knows which request it was, so the error has no id.",
    );
    let refusal = line::exchange(server, "Hello?")?;
    expect(
        refusal["error"]["code"] == -32700 && refusal["id"].is_null(),
        "a parse error",
        &refusal,
    )?;

    step(
        "A request that neither carries its version nor comes after a handshake is told what to do.",
    );
    let refusal = line::exchange(server, CALL_WITHOUT_META)?;
    expect(
        refusal["error"]["code"] == -32602 && refusal["id"] == "lost",
        "invalid parameters",
        &refusal,
    )
}

/// Up to 2025-11-25: a handshake opens a session, in which both sides can ask. The same process
/// serves it.
pub(super) fn legacy(server: &mut Process) -> Result<(), Unexpected> {
    part("The legacy era: 2025-11-25, in the same process");

    step(
        "The handshake: what the client speaks and can do, what the server speaks and can do, and go.",
    );
    let person = Person::default();
    let mut client = Connector::new(&CONFIG)
        .handler(person.clone())
        .trace(show)
        .era(Era::Legacy)
        .connect(server)?;
    expect(client.revision() == Some(Revision::V2025_11_25), "2025-11-25", &client.revision())?;
    let name = client
        .connect_result()
        .and_then(|about| about.as_raw().get("serverInfo")?.get("name")?.as_string());
    expect(name.is_some_and(|name| name == "everything-server"), "the server's name", &name)?;

    step("The same lists and the same tools; _meta is not needed any more.");
    let prompts = client.list_prompts()?;
    let simple = |prompt: Prompt<'_>| prompt.name == "test_simple_prompt";
    expect(prompts.iter().flatten().any(simple), "the prompt test_simple_prompt", &prompts)?;
    says(&client.call_tool("test_simple_text", &json!({}))?, "simple text")?;

    step("Are you there?");
    let pong = client.call("ping", &RawJson::EMPTY, CallOptions::new())?;
    expect(pong.as_raw() == RawJson::EMPTY, "nothing but yes", &pong)?;

    step(
        "A tool that has to ask: here the server sends a request of its own, and answers when it has been answered.",
    );
    says(
        &client.call_tool("test_elicitation", &json!({"message": "Who are you?"}))?,
        "ada@example.com",
    )?;

    // An answer to what was cancelled would have come by now, and nobody here asked for it.
    expect(person.faults().is_empty(), "no faults", &person.faults())
}

/// The text for the model says this.
fn says(result: &OwnedJson, text: &str) -> Result<(), Unexpected> {
    let result = value(result)?;
    expect(
        result["content"][0]["text"].as_str().is_some_and(|said| said.contains(text)),
        text,
        &result,
    )
}

fn value(result: &OwnedJson) -> Result<Value, Unexpected> {
    Ok(serde_json::from_str(result.as_raw().as_str())?)
}

/// An error unless it is so.
fn expect(is_so: bool, wanted: &str, seen: &dyn std::fmt::Debug) -> Result<(), Unexpected> {
    if is_so { Ok(()) } else { Err(format!("wanted {wanted}; got {seen:?}").into()) }
}

const CALL_WITHOUT_META: &str =
    r#"{"jsonrpc":"2.0","id":"lost","method":"tools/call","params":{"name":"test_simple_text"}}"#;
