//! The conversation: a sentence, the client's line, and what the server must answer.

use serde_json::{Value, json};

use super::client::{Client, Unexpected, expect};
use super::screen::{part, step};

/// Plays all of it.
pub(super) fn play(client: &mut Client) -> Result<(), Unexpected> {
    modern(client)?;
    mistakes(client)?;
    legacy(client)
}

/// 2026-07-28: no handshake, no session. Each request says in `_meta` who speaks, and which version.
fn modern(client: &mut Client) -> Result<(), Unexpected> {
    part("The modern era: 2026-07-28, where each request stands alone");

    step("What can you do? A client may ask, it need not.");
    client.send(DISCOVER)?;
    let found = client.result("discover")?;
    expect(found["supportedVersions"][0] == "2026-07-28", "2026-07-28 as the first version", &found)?;
    expect(found["capabilities"]["tools"].is_object(), "the capability tools", &found)?;

    step("Which tools are there?");
    client.send(LIST)?;
    let listed = client.result("list")?;
    expect(names(&listed["tools"]).any(|name| name == "structured"), "the tool structured", &listed)?;

    step("Call one. The answer is text for a model, and the same as data for a program.");
    client.send(CALL)?;
    let answer = client.result("call")?;
    expect(answer["structuredContent"]["city"] == "Łódź", "the city in structuredContent", &answer)?;
    expect(answer["content"][0]["type"] == "text", "a text", &answer)?;

    step("Call one that takes a moment: the token in _meta asks for progress.");
    client.send(CALL_WITH_PROGRESS)?;
    for done in [0, 50, 100] {
        let progress = client.told("notifications/progress")?;
        expect(progress == json!({"progressToken": "bar", "progress": done, "total": 100}), "the progress", &progress)?;
    }
    client.result("progress")?;

    step(
        "Call one that would take half a minute, and cancel it after its first sign of life. It is never answered; the next one is.",
    );
    client.send(CALL_SLOW)?;
    client.told("notifications/progress")?;
    client.send(CANCEL)?;
    client.send(CALL_SIMPLE)?;
    let answer = client.result("simple")?;
    expect(answer["content"][0]["type"] == "text", "a text", &answer)?;

    step("Call one that has to ask first. A modern server does not call back: its questions are the answer ...");
    client.send(CALL_ASKING)?;
    let answer = client.result("ask")?;
    expect(answer["resultType"] == "input_required", "input_required", &answer)?;
    expect(answer["inputRequests"]["user_name"]["method"] == "elicitation/create", "an elicitation", &answer)?;

    step("... and the client sends the request once more, with what the person filled in.");
    client.send(CALL_ANSWERING)?;
    let answer = client.result("again")?;
    expect(says(&answer, "Ada"), "the name", &answer)
}

/// Nothing that a client sends can end the session.
fn mistakes(client: &mut Client) -> Result<(), Unexpected> {
    part("Mistakes");

    step("A line that is not JSON is refused. Nobody knows which request it was, so the error has no id.");
    client.send("Hello?")?;
    client.error(Value::Null, -32700)?;

    step("A request that neither carries its version nor comes after a handshake is told what to do.");
    client.send(CALL_WITHOUT_META)?;
    client.error("lost", -32602)
}

/// Up to 2025-11-25: a handshake opens a session, in which both sides can ask. The same process serves it.
fn legacy(client: &mut Client) -> Result<(), Unexpected> {
    part("The legacy era: 2025-11-25, in the same process");

    step("The handshake: what the client speaks and can do, what the server speaks and can do, and go.");
    client.send(INITIALIZE)?;
    let agreed = client.result(1)?;
    expect(agreed["protocolVersion"] == "2025-11-25", "the version 2025-11-25", &agreed)?;
    expect(agreed["serverInfo"]["name"] == "everything-server", "the server's name", &agreed)?;
    client.send(INITIALIZED)?;

    step("The same lists and the same tools; _meta is not needed any more.");
    client.send(r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#)?;
    let listed = client.result(2)?;
    expect(names(&listed["prompts"]).any(|name| name == "test_simple_prompt"), "the prompt test_simple_prompt", &listed)?;
    client.send(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"test_simple_text","arguments":{}}}"#)?;
    let answer = client.result(3)?;
    expect(answer["content"][0]["type"] == "text", "a text", &answer)?;

    step("Are you there?");
    client.send(r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#)?;
    let pong = client.result(4)?;
    expect(pong == json!({}), "nothing but yes", &pong)?;

    step("A tool that has to ask: here the server sends a request of its own, and answers when it has been answered.");
    client.send(CALL_ELICITATION)?;
    let request = client.receive()?;
    expect(request["method"] == "elicitation/create", "an elicitation", &request)?;
    expect(request["params"]["requestedSchema"]["properties"]["email"].is_object(), "a form with an address", &request)?;
    let filled_in = json!({"action": "accept", "content": {"username": "ada", "email": "ada@example.com"}});
    client.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": filled_in}).to_string())?;
    let answer = client.result(5)?;
    expect(says(&answer, "ada@example.com"), "what was filled in", &answer)?;

    // An answer to it would have come long ago.
    if client.was_answered("slow") { Err("the cancelled call was answered".to_owned()) } else { Ok(()) }
}

fn names(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(|entry| entry["name"].as_str())
}

fn says(result: &Value, text: &str) -> bool {
    result["content"][0]["text"].as_str().is_some_and(|said| said.contains(text))
}

/// A modern request: id, method, the members of `params` before `_meta`, more members of `_meta`, client capabilities.
macro_rules! modern {
    ($id:literal, $method:literal, $params:literal, $meta:literal, $capabilities:literal) => {
        concat!(
            r#"{"jsonrpc":"2.0","id":""#,
            $id,
            r#"","method":""#,
            $method,
            r#"","params":{"#,
            $params,
            r#""_meta":{"#,
            $meta,
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":"#,
            $capabilities,
            "}}}"
        )
    };
}

const DISCOVER: &str = modern!("discover", "server/discover", "", "", "{}");
const LIST: &str = modern!("list", "tools/list", "", "", "{}");
const CALL: &str = modern!("call", "tools/call", r#""name":"structured","arguments":{"city":"Łódź"},"#, "", "{}");
const CALL_WITH_PROGRESS: &str =
    modern!("progress", "tools/call", r#""name":"test_tool_with_progress","#, r#""progressToken":"bar","#, "{}");
const CALL_SLOW: &str =
    modern!("slow", "tools/call", r#""name":"slow","arguments":{"seconds":30},"#, r#""progressToken":"slow bar","#, "{}");
const CANCEL: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow","reason":"That is too long"}}"#;
const CALL_SIMPLE: &str = modern!("simple", "tools/call", r#""name":"test_simple_text","#, "", "{}");
const CALL_ASKING: &str =
    modern!("ask", "tools/call", r#""name":"test_input_required_result_elicitation","#, "", r#"{"elicitation":{}}"#);
const CALL_ANSWERING: &str = modern!(
    "again",
    "tools/call",
    r#""name":"test_input_required_result_elicitation","inputResponses":{"user_name":{"action":"accept","content":{"name":"Ada"}}},"#,
    "",
    r#"{"elicitation":{}}"#
);

const CALL_WITHOUT_META: &str = r#"{"jsonrpc":"2.0","id":"lost","method":"tools/call","params":{"name":"test_simple_text"}}"#;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"quickstart","version":"1.0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL_ELICITATION: &str = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"test_elicitation","arguments":{"message":"Who are you?"}}}"#;
