//! Handlers that request input from their client, in both eras.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::types::{
    CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Field, InputRequest,
    ListRootsResult, LoggingLevel, RequestedSchema, SamplingMessage, StringSchema, TextResult,
};
use mcp_sansio::{LogMessage, OrToolError as _, OwnedInputResponse, RawJson, ToolError};
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::asynchronous::{
    App, ConnectionEnd, Context, HandlerResult, Limits, MAX_INPUT_RESPONSES,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::client::{WIDE, cancel, legacy, modern, talk};
use crate::{CATALOG, CONFIG};

const FORM: RequestedSchema<'_> =
    RequestedSchema::new(&[Field::required("name", StringSchema::new().schema())]);

fn form(message: &str) -> InputRequest<'_> {
    InputRequest::Elicit(ElicitParams::form(message, FORM))
}

fn name(answer: &OwnedInputResponse) -> Result<String, ToolError<'static>> {
    let content = answer.to::<ElicitResult<'_>>()?.content.ok_or("declined")?;
    Ok(content
        .get("name")
        .and_then(RawJson::as_string)
        .ok_or(ToolError::invalid_input_response("no name"))?
        .to_string())
}

/// Two rounds, the second depending on the first, then two input requests at once.
async fn interview(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    let first = name(&tool.request_input("first", form("First name?")).await?)?;
    let last = name(&tool.request_input("last", form(&format!("{first} who?"))).await?)?;
    let messages = [SamplingMessage::user("Greet somebody")];
    let sampling = InputRequest::CreateMessage(CreateMessageParams::new(&messages, 10));
    let [greeting, roots] =
        tool.request_inputs([("greeting", sampling), ("roots", InputRequest::ListRoots)]).await?;
    let greeting = greeting.to::<CreateMessageResult<'_>>()?;
    let said: String = greeting
        .content
        .iter()
        .flatten()
        .filter_map(|block| block.as_text().map(|text| text.to_string()))
        .collect();
    let roots = roots.to::<ListRootsResult<'_>>()?.roots.len();
    ctx.reply(&TextResult::new(&format!("{said}, {first} {last}, of {roots} roots")))
}

/// The client's response to an input request of [`interview`].
fn answer_to(question: &Value) -> Value {
    let accept = |name: &str| json!({"action": "accept", "content": {"name": name}});
    match question["method"].as_str().unwrap() {
        "elicitation/create" if question["params"]["message"] == "First name?" => accept("Ada"),
        "elicitation/create" if question["params"]["message"] == "Ada who?" => accept("Lovelace"),
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hello"}})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///srv"}]}),
        other => panic!("{other} {question}"),
    }
}

#[test]
fn mrtr_01_one_handler_requests_input_in_both_eras() {
    let app = App::new(&CONFIG, interview).catalog(&CATALOG);
    for sizes in [WIDE, (7, 3), (1, 1)] {
        let (text, end) = talk(&app, sizes, async move |mut client| {
            client.initialize().await;
            client.send(&legacy(1, "tools/call", json!({"name": "ask"}))).await;
            loop {
                let message = client.next().await;
                if message["id"] == 1 && message["result"].is_object() {
                    return message["result"]["content"][0]["text"].clone();
                }
                client.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": answer_to(&message)})).await;
            }
        });
        assert_eq!(text, "Hello, Ada Lovelace, of 1 roots");
        assert_eq!(end, ConnectionEnd::Closed);

        let (rounds, _) = talk(&app, sizes, async move |mut client| {
            let mut params = json!({"name": "ask"});
            let mut rounds = Vec::new();
            for id in 1.. {
                let answer = client.ask(&modern(id, "tools/call", params)).await;
                if answer["result"]["resultType"] == "complete" {
                    rounds
                        .push(answer["result"]["content"][0]["text"].as_str().unwrap().to_owned());
                    break;
                }
                let questions = answer["result"]["inputRequests"].as_object().unwrap();
                rounds.push(questions.keys().cloned().collect::<Vec<_>>().join(" "));
                let answers: Value = questions
                    .iter()
                    .map(|(key, question)| (key.clone(), answer_to(question)))
                    .collect();
                params = json!({"name": "ask", "inputResponses": answers});
                // The client sends the state back, if there is one, and never repeats responses.
                if let Some(state) = answer["result"].get("requestState") {
                    params["requestState"] = state.clone();
                }
            }
            rounds
        });
        assert_eq!(rounds, ["first", "last", "greeting roots", "Hello, Ada Lovelace, of 1 roots"]);
    }
}

#[test]
fn all_missing_input_is_requested_in_one_round_also_by_joined_futures() {
    let app = App::new(&CONFIG, |ctx: Context| async move {
        let request = ctx.request()?;
        let tool = ctx.tool(&request);
        let (one, two) =
            future::zip(tool.request_input("one", form("1")), tool.request_input("two", form("2")))
                .await;
        ctx.reply(&TextResult::new(&format!("{} {}", name(&one?)?, name(&two?)?)))
    })
    .catalog(&CATALOG);
    talk(&app, WIDE, async move |mut client| {
        let first = client.ask(&modern(1, "tools/call", json!({"name": "ask"}))).await;
        assert_eq!(first["result"]["inputRequests"].as_object().unwrap().len(), 2, "{first}");
        assert_eq!(first["result"].get("requestState"), None);
        // A partial delivery: the rest is requested again.
        let answers = json!({"one": {"action": "accept", "content": {"name": "A"}}});
        let second = client
            .ask(&modern(2, "tools/call", json!({"name": "ask", "inputResponses": answers})))
            .await;
        assert_eq!(
            second["result"]["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(),
            ["two"]
        );
    });
}

/// A request whose handler requests input costs no more than a constant times its length: up to the
/// limit each response is compared, beyond it the request is rejected before.
#[test]
fn s1_more_input_responses_than_the_limit_are_refused_before_they_are_compared() {
    let answers = |from: usize, to: usize| -> serde_json::Map<String, Value> {
        (from..to).map(|key| (format!("k{key}"), json!({}))).collect()
    };
    let app = App::new(&CONFIG, interview).catalog(&CATALOG);
    talk(&app, WIDE, async move |mut client| {
        for members in [MAX_INPUT_RESPONSES + 1, 4_000, 16_000] {
            let request = modern(
                1,
                "tools/call",
                json!({"name": "ask", "inputResponses": answers(0, members)}),
            );
            let refused = client.ask(&request).await;
            assert_eq!(refused["error"]["code"], -32602, "{members}: {refused}");
        }
        // As many as allowed are kept for the next round, each once.
        let mut text = modern(
            2,
            "tools/call",
            json!({"name": "ask", "inputResponses": answers(0, MAX_INPUT_RESPONSES - 1)}),
        )
        .to_string();
        text = text.replace(r#""k0":{}"#, r#""k0":{},"\u006b0":{}"#);
        let asked = client.ask_text(&text).await;
        let state = asked["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{asked}"));
        // The state stands behind its seal.
        let (_, plain) = state.split_at(state.find('{').unwrap());
        assert_eq!(
            serde_json::from_str::<Value>(plain).unwrap()["answers"].as_object().unwrap().len(),
            MAX_INPUT_RESPONSES - 1
        );
        assert_eq!(
            state.matches("k0\"").count() + state.matches("\\u006b0\"").count(),
            1,
            "{state}"
        );
        // Responses that were kept count together with new ones.
        let params =
            json!({"name": "ask", "requestState": state, "inputResponses": answers(1_000, 1_002)});
        assert_eq!(client.ask(&modern(3, "tools/call", params)).await["error"]["code"], -32602);
    });
}

#[test]
fn an_unsupported_or_refused_input_request_fails_the_call_and_not_the_connection() {
    let app = App::new(&CONFIG, interview).catalog(&CATALOG);
    talk(&app, WIDE, async move |mut client| {
        let mut request = modern(1, "tools/call", json!({"name": "ask"}));
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        assert_eq!(client.ask(&request).await["error"]["code"], -32021);
        let bad = json!({"name": "ask", "inputResponses": {"first": {"action": "shrug"}}});
        assert_eq!(client.ask(&modern(2, "tools/call", bad)).await["error"]["code"], -32602);

        client.initialize().await;
        let question = client.ask(&legacy(3, "tools/call", json!({"name": "ask"}))).await;
        let error =
            json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}});
        let failed = client.ask(&error).await;
        assert_eq!(
            (&failed["id"], &failed["result"]["isError"]),
            (&json!(3), &json!(true)),
            "{failed}"
        );
    });
}

#[test]
fn cancelling_a_request_cancels_its_input_request() {
    let app = App::new(&CONFIG, interview).catalog(&CATALOG);
    for sizes in [WIDE, (1, 1)] {
        talk(&app, sizes, async move |mut client| {
            client.initialize().await;
            let question = client.ask(&legacy(7, "tools/call", json!({"name": "ask"}))).await;
            let withdrawn = client.ask(&cancel(7)).await;
            assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
            assert_eq!(withdrawn["params"]["requestId"], question["id"]);
            assert_eq!(client.ask(&legacy(8, "ping", json!({}))).await["id"], 8);
        });
    }
}

#[test]
fn a_dropped_input_request_is_cancelled_while_its_handler_continues() {
    let (release, gate) = smol::channel::bounded::<()>(1);
    let app = App::new(&CONFIG, |ctx: Context| {
        let gate = gate.clone();
        async move {
            let asked = async {
                ctx.tool(&ctx.request()?).request_input("name", form("Name?")).await.map(Some)
            };
            let late = async {
                gate.recv().await.or_internal()?;
                Ok(None)
            };
            let answer = future::or(asked, late).await?;
            ctx.reply(&TextResult::new(if answer.is_some() { "answered" } else { "too late" }))
        }
    })
    .catalog(&CATALOG);
    for sizes in [WIDE, (1, 1)] {
        talk(&app, sizes, async |mut client| {
            client.initialize().await;
            let question = client.ask(&legacy(1, "tools/call", json!({"name": "ask"}))).await;
            release.send(()).await.unwrap();
            let (one, two) = (client.next().await, client.next().await);
            let (withdrawn, answer) =
                if one["method"].is_string() { (one, two) } else { (two, one) };
            assert_eq!(withdrawn["params"]["requestId"], question["id"], "{withdrawn}");
            assert_eq!(answer["result"]["content"][0]["text"], "too late");
        });
    }
}

#[test]
fn an_input_request_dropped_in_the_middle_of_its_frame_is_finished_and_cancelled() {
    let long = "x".repeat(5000);
    let (release, gate) = smol::channel::bounded::<()>(1);
    let app = App::new(&CONFIG, |ctx: Context| {
        let (long, gate) = (long.clone(), gate.clone());
        async move {
            let asked = async {
                ctx.tool(&ctx.request()?).request_input("name", form(&long)).await.map(drop)
            };
            let late = async { gate.recv().await.or_internal() };
            future::or(asked, late).await?;
            ctx.reply(&TextResult::new("went on"))
        }
    })
    .catalog(&CATALOG)
    // The buffer is so small that the frame is written in pieces.
    .limits(Limits { max_pending: 1024, ..Limits::new() });
    talk(&app, (16, 16), async move |mut client| {
        client.initialize().await;
        client.send(&legacy(1, "tools/call", json!({"name": "ask"}))).await;
        client.begin().await;
        release.send(()).await.unwrap();
        let messages = [client.next().await, client.next().await, client.next().await];
        assert_eq!(messages[0]["method"], "elicitation/create");
        assert_eq!(messages[1]["params"]["requestId"], messages[0]["id"]);
        assert_eq!(messages[2]["result"]["content"][0]["text"], "went on");
        assert_eq!(client.ask(&legacy(2, "ping", json!({}))).await["id"], 2);
    });
}

#[test]
fn an_input_request_dropped_before_there_is_room_for_it_is_not_sent() {
    // Each fits into the buffer, and both do not.
    let long = "x".repeat(500);
    let (release, gate) = smol::channel::bounded::<()>(1);
    let app = App::new(&CONFIG, |ctx: Context| {
        let (long, gate) = (long.clone(), gate.clone());
        async move {
            let request = ctx.request()?;
            let tool = ctx.tool(&request);
            tool.log(&LogMessage::new(LoggingLevel::Error, &long)).await?;
            let asked = async { tool.request_input("name", form(&long)).await.map(drop) };
            let late = async { gate.recv().await.or_internal() };
            future::or(asked, late).await?;
            gate.recv().await.or_internal()?;
            ctx.reply(&TextResult::new("went on"))
        }
    })
    .catalog(&CATALOG)
    .limits(Limits { max_pending: 1024, ..Limits::new() });
    talk(&app, (16, 16), async move |mut client| {
        client.initialize().await;
        client.send(&legacy(1, "tools/call", json!({"name": "ask"}))).await;
        sleep(Duration::from_millis(1)).await;
        release.send(()).await.unwrap();
        sleep(Duration::from_millis(1)).await;
        assert_eq!(client.next().await["method"], "notifications/message");
        sleep(Duration::from_millis(1)).await;
        release.send(()).await.unwrap();
        assert_eq!(client.next().await["result"]["content"][0]["text"], "went on");
        assert_eq!(client.ask(&legacy(2, "ping", json!({}))).await["id"], 2);
    });
}

#[test]
fn mrtr_10_request_state_is_returned_and_a_response_without_it_does_not_count() {
    let app = App::new(&CONFIG, remembering).catalog(&CATALOG);
    talk(&app, WIDE, async move |mut client| try_states(&mut client).await);
}

async fn remembering(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    let before = tool.request_state();
    tool.set_request_state("se\"cret");
    let name = name(&tool.request_input("name", form("Name?")).await?)?;
    ctx.reply(&TextResult::new(&format!("{name} {}", before.unwrap_or_default())))
}

async fn try_states(client: &mut crate::client::Client<crate::pipe::Pipe>) {
    let answers = json!({"name": {"action": "accept", "content": {"name": "Ada"}}});
    let first = client.ask(&modern(1, "tools/call", json!({"name": "ask"}))).await;
    let state = first["result"]["requestState"].as_str().unwrap();
    let mut params = json!({"name": "ask", "inputResponses": answers, "requestState": state});
    let done = client.ask(&modern(2, "tools/call", params.clone())).await;
    assert_eq!(done["result"]["content"][0]["text"], "Ada se\"cret");
    let changed = state.replacen("cret", "CRET", 1);
    assert_ne!(changed, state);
    for forged in ["", "{}", "[]", "{\"answers\":1}", "x", &changed] {
        params["requestState"] = json!(forged);
        assert_eq!(
            client.ask(&modern(3, "tools/call", params.clone())).await["error"]["code"],
            -32602,
            "{forged}"
        );
    }
    params.as_object_mut().unwrap().remove("requestState");
    let without = client.ask(&modern(4, "tools/call", params)).await;
    assert_eq!(without["result"]["resultType"], "input_required");
}

#[test]
fn mrtr_09_a_state_is_for_servers_with_the_same_keys() {
    let app = |keys| App::new(&CONFIG, remembering).catalog(&CATALOG).key_ring(keys);
    let (one, other) = (KeyRing::new([1; 32]), KeyRing::new([2; 32]));
    let ask = |keys, params: Value| {
        let answer = Rc::new(Cell::new(Value::Null));
        let to = Rc::clone(&answer);
        talk(&app(keys), WIDE, async move |mut client| {
            to.set(client.ask(&modern(1, "tools/call", params)).await);
        });
        answer.take()
    };
    let asked = ask(one.clone(), json!({"name": "ask"}));
    let answers = json!({"name": {"action": "accept", "content": {"name": "Ada"}}});
    let state = &asked["result"]["requestState"];
    let again = json!({"name": "ask", "inputResponses": answers, "requestState": state});
    for keys in [one, KeyRing { previous: Some([1; 32]), ..other.clone() }] {
        let answered = ask(keys, again.clone());
        assert_eq!(answered["result"]["content"][0]["text"], "Ada se\"cret");
    }
    let refused = ask(other, again);
    assert_eq!(refused["error"]["code"], -32602);
    assert!(refused["error"]["message"].as_str().unwrap().contains("one KeyRing"), "{refused}");
}

#[test]
fn an_input_request_that_times_out_fails_its_handler() {
    static IMPATIENT: mcp_sansio::ServerConfig<'_> =
        CONFIG_COPY.call_timeout(Duration::from_millis(5));
    const CONFIG_COPY: mcp_sansio::ServerConfig<'_> = mcp_sansio::ServerConfig::new(
        mcp_sansio::types::Implementation::new("test", "1"),
        mcp_sansio::ServerFeatures::TOOLS,
    );
    let app = App::new(&IMPATIENT, interview).catalog(&CATALOG);
    talk(&app, WIDE, async move |mut client| {
        client.initialize().await;
        let question = client.ask(&legacy(1, "tools/call", json!({"name": "ask"}))).await;
        let withdrawn = client.next().await;
        assert_eq!(withdrawn["params"]["requestId"], question["id"]);
        assert_eq!(client.next().await["result"]["isError"], true);
    });
}

#[test]
fn handlers_that_wait_for_input_are_dropped_with_their_connection() {
    let alive = Rc::new(Cell::new(false));
    let app = App::new(&CONFIG, |ctx: Context| {
        let alive = alive.clone();
        async move {
            let _guard = Guard(alive);
            ctx.tool(&ctx.request()?).request_input("name", form("Name?")).await?;
            pending().await
        }
    })
    .catalog(&CATALOG);
    talk(&app, WIDE, async |mut client| {
        client.initialize().await;
        client.ask(&legacy(1, "tools/call", json!({"name": "ask"}))).await;
        assert!(!alive.get());
        drop(client);
    });
    assert!(alive.get());
}

struct Guard(Rc<Cell<bool>>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.set(true);
    }
}
