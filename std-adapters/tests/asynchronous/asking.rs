//! Handlers that request input from their client, in both eras.

use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::types::{
    CreateMessageParams, CreateMessageResult, InputRequest, ListRootsResult, LoggingLevel,
    SamplingMessage, TextResult,
};
use mcp_sansio::{LogMessage, OrToolError as _, ServerConfig};
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::asynchronous::{
    App, BoxedHandler, Context, HandlerResult, Limits, MAX_INPUT_RESPONSES, boxed,
};
use serde_json::{Value, json};
use smol::channel::{Receiver, bounded};
use tokio::time::sleep;

use crate::client::{
    WIDE, cancel, converse, filled_in, form, in_session, legacy, legacy_call, modern, name, short,
    talk,
};
use crate::{CATALOG, TOOLS, serving};

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
    match question["method"].as_str().unwrap() {
        "elicitation/create" if question["params"]["message"] == "First name?" => filled_in("Ada"),
        "elicitation/create" if question["params"]["message"] == "Ada who?" => {
            filled_in("Lovelace")
        }
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hello"}})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///srv"}]}),
        other => panic!("{other} {question}"),
    }
}

#[test]
fn mrtr_01_one_handler_requests_input_in_both_eras() {
    let app = serving(interview);
    for sizes in [WIDE, (7, 3), (1, 1)] {
        for (is_modern, rounds) in [(false, &[][..]), (true, &["first", "last", "greeting roots"])]
        {
            let (done, asked) = converse(&app, sizes, is_modern, answer_to);
            let said = &done["result"]["content"][0]["text"];
            assert_eq!(said, "Hello, Ada Lovelace, of 1 roots", "{done}");
            assert_eq!(asked, rounds);
        }
    }
}

#[test]
fn all_missing_input_is_requested_in_one_round_also_by_joined_futures() {
    let app = serving(|ctx: Context| async move {
        let request = ctx.request()?;
        let tool = ctx.tool(&request);
        let (one, two) =
            future::zip(tool.request_input("one", form("1")), tool.request_input("two", form("2")))
                .await;
        ctx.reply(&TextResult::new(&format!("{} {}", name(&one?)?, name(&two?)?)))
    });
    talk(&app, WIDE, async move |mut client| {
        let first = client.ask(&modern(1, "tools/call", json!({"name": "ask"}))).await;
        assert_eq!(first["result"]["inputRequests"].as_object().unwrap().len(), 2, "{first}");
        assert_eq!(first["result"].get("requestState"), None);
        // A partial delivery: the rest is requested again.
        let answers = json!({"one": filled_in("A")});
        let second = client
            .ask(&modern(2, "tools/call", json!({"name": "ask", "inputResponses": answers})))
            .await;
        assert_eq!(
            second["result"]["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(),
            ["two"]
        );
    });
}

#[test]
fn cap_14_only_the_capabilities_that_the_client_lacks_are_named() {
    let app = serving(|ctx: Context| async move {
        let request = ctx.request()?;
        let messages = [SamplingMessage::user("Greet somebody")];
        let sampling = InputRequest::CreateMessage(CreateMessageParams::new(&messages, 10));
        let inputs = [("name", form("Name?")), ("greeting", sampling)];
        ctx.tool(&request).request_inputs(inputs).await?;
        ctx.text("done")
    });
    talk(&app, WIDE, async move |mut client| {
        let mut call = modern(1, "tools/call", json!({"name": "ask"}));
        call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({"elicitation": {"form": {}}});
        let refused = client.ask(&call).await;
        assert_eq!(refused["error"]["data"], json!({"requiredCapabilities": {"sampling": {}}}));
    });
}

/// A request whose handler requests input costs no more than a constant times its length: up to the
/// limit each response is compared, beyond it the request is rejected before.
#[test]
fn s1_more_input_responses_than_the_limit_are_refused_before_they_are_compared() {
    let answers = |from: usize, to: usize| -> serde_json::Map<String, Value> {
        (from..to).map(|key| (format!("k{key}"), json!({}))).collect()
    };
    let app = serving(interview);
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
    let app = serving(interview);
    talk(&app, WIDE, async move |mut client| {
        let mut request = modern(1, "tools/call", json!({"name": "ask"}));
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        assert_eq!(client.ask(&request).await["error"]["code"], -32021);
        let bad = json!({"name": "ask", "inputResponses": {"first": {"action": "shrug"}}});
        assert_eq!(client.ask(&modern(2, "tools/call", bad)).await["error"]["code"], -32602);

        client.initialize().await;
        let question = client.ask(&legacy_call(3, "ask")).await;
        let error =
            json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}});
        let failed = client.ask(&error).await;
        assert!(failed["id"] == 3 && failed["result"]["isError"] == true, "{failed}");
    });
}

#[test]
fn cancelling_a_request_cancels_its_input_request() {
    let app = serving(interview);
    for sizes in [WIDE, (1, 1)] {
        in_session(&app, sizes, async move |mut client| {
            let question = client.ask(&legacy_call(7, "ask")).await;
            let withdrawn = client.ask(&cancel(7)).await;
            assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
            assert_eq!(withdrawn["params"]["requestId"], question["id"]);
            assert_eq!(client.ask(&legacy(8, "ping", json!({}))).await["id"], 8);
        });
    }
}

/// A handler that asks with this text, perhaps behind a line of the log, and goes on without its
/// answer when the gate lets it.
fn hasty(text: &str, gate: &Receiver<()>, logs: bool) -> BoxedHandler {
    let (text, gate) = (text.to_owned(), gate.clone());
    boxed(move |ctx: Context| {
        let (text, gate) = (text.clone(), gate.clone());
        async move {
            let request = ctx.request()?;
            let tool = ctx.tool(&request);
            if logs {
                tool.log(&LogMessage::new(LoggingLevel::Error, &*text)).await?;
            }
            let asked = async { tool.request_input("name", form(&text)).await.map(drop) };
            let late = async { gate.recv().await.or_internal() };
            future::or(asked, late).await?;
            if logs {
                gate.recv().await.or_internal()?;
            }
            ctx.text("went on")
        }
    })
}

#[test]
fn a_dropped_input_request_is_cancelled_while_its_handler_continues() {
    let (release, gate) = bounded(1);
    let app = serving(hasty("Name?", &gate, false));
    for sizes in [WIDE, (1, 1)] {
        in_session(&app, sizes, async |mut client| {
            let question = client.ask(&legacy_call(1, "ask")).await;
            release.send(()).await.unwrap();
            let (one, two) = (client.next().await, client.next().await);
            let (withdrawn, answer) =
                if one["method"].is_string() { (one, two) } else { (two, one) };
            assert_eq!(withdrawn["params"]["requestId"], question["id"], "{withdrawn}");
            assert_eq!(short(&answer), "1 went on");
        });
    }
}

#[test]
fn an_input_request_dropped_in_the_middle_of_its_frame_is_finished_and_cancelled() {
    let (release, gate) = bounded(1);
    // The buffer is so small that the frame is written in pieces.
    let app = serving(hasty(&"x".repeat(5000), &gate, false));
    let app = app.limits(Limits { max_pending: 1024, ..Limits::new() });
    in_session(&app, (16, 16), async move |mut client| {
        client.send(&legacy_call(1, "ask")).await;
        client.begin().await;
        release.send(()).await.unwrap();
        let messages = [client.next().await, client.next().await, client.next().await];
        assert_eq!(messages[0]["method"], "elicitation/create");
        assert_eq!(messages[1]["params"]["requestId"], messages[0]["id"]);
        assert_eq!(short(&messages[2]), "1 went on");
        assert_eq!(client.ask(&legacy(2, "ping", json!({}))).await["id"], 2);
    });
}

#[test]
fn an_input_request_dropped_before_there_is_room_for_it_is_not_sent() {
    let (release, gate) = bounded(1);
    // The line of the log and the question fit into the buffer, and both do not.
    let app = serving(hasty(&"x".repeat(500), &gate, true));
    let app = app.limits(Limits { max_pending: 1024, ..Limits::new() });
    in_session(&app, (16, 16), async move |mut client| {
        client.send(&legacy_call(1, "ask")).await;
        sleep(Duration::from_millis(1)).await;
        release.send(()).await.unwrap();
        sleep(Duration::from_millis(1)).await;
        assert_eq!(client.next().await["method"], "notifications/message");
        sleep(Duration::from_millis(1)).await;
        release.send(()).await.unwrap();
        assert_eq!(short(&client.next().await), "1 went on");
        assert_eq!(client.ask(&legacy(2, "ping", json!({}))).await["id"], 2);
    });
}

async fn remembering(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    let before = tool.request_state();
    tool.set_request_state("se\"cret");
    let name = name(&tool.request_input("name", form("Name?")).await?)?;
    ctx.reply(&TextResult::new(&format!("{name} {}", before.unwrap_or_default())))
}

#[test]
fn mrtr_10_request_state_is_returned_and_a_response_without_it_does_not_count() {
    let app = serving(remembering);
    talk(&app, WIDE, async move |mut client| {
        let answers = json!({"name": filled_in("Ada")});
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
    });
}

#[test]
fn mrtr_09_a_state_is_for_servers_with_the_same_keys() {
    let (one, other) = (KeyRing::new([1; 32]), KeyRing::new([2; 32]));
    let ask = |keys, params: Value| {
        let app = serving(remembering).key_ring(keys);
        let request = modern(1, "tools/call", params);
        talk(&app, WIDE, async |mut client| client.ask(&request).await).0
    };
    let asked = ask(one.clone(), json!({"name": "ask"}));
    let answers = json!({"name": filled_in("Ada")});
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
    static IMPATIENT: ServerConfig<'_> = TOOLS.call_timeout(Duration::from_millis(5));
    let app = App::new(&IMPATIENT, interview).catalog(&CATALOG);
    in_session(&app, WIDE, async move |mut client| {
        let question = client.ask(&legacy_call(1, "ask")).await;
        let withdrawn = client.next().await;
        assert_eq!(withdrawn["params"]["requestId"], question["id"]);
        assert_eq!(client.next().await["result"]["isError"], true);
    });
}

#[test]
fn handlers_that_wait_for_input_are_dropped_with_their_connection() {
    let alive = Rc::new(());
    let app = serving(async |ctx: Context| {
        let _held = Rc::clone(&alive);
        ctx.tool(&ctx.request()?).request_input("name", form("Name?")).await?;
        pending().await
    });
    in_session(&app, WIDE, async |mut client| {
        client.ask(&legacy_call(1, "ask")).await;
        assert_eq!(Rc::strong_count(&alive), 2);
        drop(client);
    });
    assert_eq!(Rc::strong_count(&alive), 1);
}
