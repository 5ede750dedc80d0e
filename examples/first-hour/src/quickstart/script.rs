//! The conversation: a sentence, the client's action, and the expected result.

use std::time::Duration;

use mcp_sansio::typed::{Input, Output, ToolCall};
use mcp_sansio::types::{
    CallToolParams, CallToolResult, ContentBlock, Implementation, Prompt, Text,
};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientFeatures, Era, OwnedJson, RawJson, Revision, ServerFeatures,
};
use mcp_sansio_adapters::blocking::client::{Connector, Process};

use super::person::Person;
use super::screen::{part, show, step};
use super::{Unexpected, line, server};

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("quickstart", "1.0"), ClientFeatures::ELICITATION_FORM)
        .call_timeout(Duration::from_secs(5));

#[derive(Output, ToolCall)]
#[tool(name = "weather", returns = Weather<'static>)]
struct WeatherIn {
    city: &'static str,
}

#[derive(Input)]
#[input(open)]
struct Weather<'a> {
    city: Text<'a>,
}

/// 2026-07-28: no handshake and no session. Each request declares its client and version in
/// `_meta`.
pub(super) fn modern(server: &mut Process) -> Result<(), Unexpected> {
    part("The modern era: 2026-07-28, stateless requests");

    step("server/discover returns the server's capabilities. It is optional.");
    let person = Person::default();
    let mut client = Connector::new(&CONFIG).handler(person.clone()).trace(show).connect(server)?;
    let server = client.connected().expect("it is connected");
    expect(server.revision == Revision::V2026_07_28, "2026-07-28", &server.revision)?;
    let found = server.capabilities.map(|all| all.contains(ServerFeatures::TOOLS));
    expect(found == Some(true), "the capability tools", &found)?;

    step("List the tools.");
    let tools = client.list_tools()?;
    expect(tools.iter().flatten().any(|tool| tool.name == "weather"), "the tool weather", &tools)?;

    step("Call a tool with typed arguments. Its structured content is read as a type, too.");
    let report = client.call(&WeatherIn { city: "Łódź" })?;
    let city = report.output()?.city;
    expect(city == "Łódź", "the city in structuredContent", &city)?;

    step(
        "Call a tool that takes a moment: the progressToken in _meta requests progress notifications.",
    );
    let progress = CallOptions::new().progress(true);
    let boil = |seconds| CallToolParams::new("boil_egg").arguments(RawJson::from_static(seconds));
    client.request("tools/call", &boil(r#"{"seconds":0.1}"#), progress)?;
    let seen = person.seen();
    expect(seen == [0.0, 50.0, 100.0], "the progress", &seen)?;

    step(
        "Call a tool that takes half a minute, and cancel it after its first progress notification. It gets no response; the next call does.",
    );
    let slow = client.start("tools/call", &boil(r#"{"seconds":30}"#), progress)?;
    while person.seen().is_empty() {
        client.run_for(Duration::from_millis(1))?;
    }
    client.cancel(slow, Some("That is too long"))?;
    client.call(&WeatherIn { city: "Oslo" })?;

    step(
        "Call a tool that needs input. A modern server does not send requests: its result contains the input request, and the client repeats the call with the response.",
    );
    says(&client.call_tool("greet", &RawJson::EMPTY)?, "Hello, Ada!")
}

/// Invalid input does not end the session.
pub(super) fn mistakes(server: &mut Process) -> Result<(), Unexpected> {
    part("Mistakes");

    step("A line that is not JSON gets an error response, without an id since it is unknown.");
    let refusal = line::exchange(server, "Hello?")?;
    let (code, id) = code_and_id(&refusal)?;
    expect(code == Some(-32700) && id == RawJson::NULL, "a parse error", &refusal)?;

    step(
        "A request with neither a protocol version nor a handshake before it gets an error that says what to do.",
    );
    let refusal = line::exchange(server, CALL_WITHOUT_META)?;
    let (code, id) = code_and_id(&refusal)?;
    let is_lost = id.as_string().is_some_and(|id| id == "lost");
    expect(code == Some(-32602) && is_lost, "invalid parameters", &refusal)
}

/// Up to 2025-11-25: a handshake opens a session in which both sides send requests. The same
/// process serves it.
pub(super) fn legacy(process: &mut Process) -> Result<(), Unexpected> {
    part("The legacy era: 2025-11-25, in the same process");

    step(
        "The handshake: revision and capabilities of the client, then of the server, then notifications/initialized.",
    );
    let person = Person::default();
    let mut client = Connector::new(&CONFIG)
        .handler(person.clone())
        .trace(show)
        .era(Era::Legacy)
        .connect(process)?;
    let server = client.connected().expect("it is connected");
    expect(server.revision == Revision::V2025_11_25, "2025-11-25", &server.revision)?;
    let name = server
        .result
        .as_ref()
        .and_then(|about| about.as_json().get("serverInfo")?.get("name")?.as_string());
    expect(name.is_some_and(|name| name == server::NAME), "the server's name", &name)?;

    step("The same lists and tools; _meta is not required.");
    let prompts = client.list_prompts()?;
    let wear = |prompt: Prompt<'_>| prompt.name == "what_to_wear";
    expect(prompts.iter().flatten().any(wear), "the prompt what_to_wear", &prompts)?;
    client.get_prompt("what_to_wear", &RawJson::EMPTY)?;
    client.call(&WeatherIn { city: "Oslo" })?;

    step("Ping.");
    let pong = client.request("ping", &RawJson::EMPTY, CallOptions::new())?;
    expect(pong.as_json() == RawJson::EMPTY, "an empty result", &pong)?;

    step(
        "A tool that needs input: in this era the server sends a request, and responds to the call after the client's response.",
    );
    says(&client.call_tool("greet", &RawJson::EMPTY)?, "Hello, Ada!")?;

    // A response to the cancelled request would have arrived by now, as a violation.
    expect(person.faults().is_empty(), "no faults", &person.faults())
}

/// Checks the text of a tool's result.
fn says(result: &OwnedJson, text: &str) -> Result<(), Unexpected> {
    let mut blocks = result.to::<CallToolResult<'_>>()?.content.iter().flatten();
    let is_said =
        blocks.any(|block| matches!(block, ContentBlock::Text(said) if said.text == text));
    expect(is_said, text, result)
}

/// Returns the code of an error response, and its id, which it may not have.
fn code_and_id(line: &str) -> Result<(Option<i64>, RawJson<'_>), Unexpected> {
    let response = RawJson::parse(line)?;
    let code = response.get("error").and_then(|error| error.get("code")?.as_i64());
    Ok((code, response.get("id").unwrap_or(RawJson::NULL)))
}

/// Fails unless the condition holds.
fn expect(is_so: bool, wanted: &str, seen: &dyn std::fmt::Debug) -> Result<(), Unexpected> {
    if is_so { Ok(()) } else { Err(format!("wanted {wanted}; got {seen:?}").into()) }
}

const CALL_WITHOUT_META: &str =
    r#"{"jsonrpc":"2.0","id":"lost","method":"tools/call","params":{"name":"greet"}}"#;
