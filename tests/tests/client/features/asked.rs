//! Requests of servers: roots, sampling, elicitation.

use mcp_sansio::types::*;
use mcp_sansio::{
    CallOptions, ClientEvent, ErrorCode, InputResponseParams, InvalidPayload, Revision, RpcError,
    SendError, TxBuffer, to_slice,
};
use serde_json::{Value, json};

use super::support::{NOW, Peer, REVISIONS, raw};

const LEGACY: [Revision; 4] = [REVISIONS[0], REVISIONS[1], REVISIONS[2], REVISIONS[3]];

#[test]
fn root_02_root_05_only_files_are_given_as_roots() {
    for good in [
        "file:///",
        "file:///home/me",
        "FILE:///C:/x",
        "file://host/share/a.b/..c/.d",
        "file:///a%20b/%C3%A9",
        "file:///.../a",
        "file:///a?b",
    ] {
        assert!(Root::new(good).is_valid(), "{good}");
    }
    assert!(raw(r#"{"uri":"file:\/\/\/a"}"#).to::<Root<'_>>().unwrap().is_valid());
    for bad in [
        "",
        "file:a",
        "file:/a",
        "/home",
        "http://example.com/",
        "files:///a",
        "file:///a/../b",
        "file:///..",
        "file:///a/.",
        "file:///a/./b",
        "file:///a/%2e%2E/b",
        "file:///a/.%2e/b",
        "file:///a/..?b",
        "file:///a/%2e%2e#b",
        "file:///a%2fb",
        "file:///a%5Cb",
        "file:///a\\b",
        "file:///a%00",
        "file:///a%",
        "file:///a%zz",
    ] {
        assert!(!Root::new(bad).is_valid(), "{bad}");
        let roots = [Root::new("file:///a"), Root::new(bad)];
        for revision in LEGACY {
            let sent =
                Peer::new(revision).is_asked("roots/list", json!({}), |client, event, tx| {
                    let ClientEvent::Request(request) = event else { panic!("{event:?}") };
                    assert_eq!(
                        client.respond(request.handle, &ListRootsResult::new(&roots), tx),
                        Err(SendError::Invalid(InvalidPayload::RootUri)),
                        "{bad}"
                    );
                    assert!(client.is_request_open(request.handle), "a response is still possible");
                    assert_eq!(
                        client.respond(request.handle, &ListRootsResult::new(&roots[..1]), tx),
                        Ok(())
                    );
                });
            assert_eq!(sent[0]["result"]["roots"], json!([{"uri": "file:///a"}]));
            // Nothing is written, even if it would not fit the buffer.
            Peer::new(revision).is_asked("roots/list", json!({}), |client, event, _| {
                let ClientEvent::Request(request) = event else { panic!("{event:?}") };
                let mut small = TxBuffer::new([0; 16]);
                let answered =
                    client.respond(request.handle, &ListRootsResult::new(&roots), &mut small);
                assert_eq!(
                    (answered, small.is_idle()),
                    (Err(SendError::Invalid(InvalidPayload::RootUri)), true),
                    "{bad}"
                );
            });
            assert_eq!(sent.len(), 1, "no part of the refused result was sent");
        }
        // Nor on a retry.
        let answers = [("k", InputResponse::ListRoots(ListRootsResult::new(&roots)))];
        let answers = InputResponses::new(&answers);
        let sent = Peer::new(Revision::LATEST).does(|client, tx| {
            let (params, inputs) =
                (CallToolParams::new("t"), InputResponseParams::new(0).responses(&answers));
            let again = client.retry(NOW, "tools/call", &params, &inputs, CallOptions::new(), tx);
            assert_eq!(again, Err(SendError::Invalid(InvalidPayload::RootUri)));
        });
        assert!(sent.is_empty(), "{sent:?}");
    }
}

#[test]
fn root_03_samp_08_failures_get_the_specified_error_code() {
    for revision in LEGACY {
        let sent = Peer::new(revision).is_asked("roots/list", json!({}), |client, event, tx| {
            let ClientEvent::Request(request) = event else { panic!("{event:?}") };
            assert_eq!(
                client.respond_error(request.handle, &RpcError::internal("no disk"), tx),
                Ok(())
            );
        });
        assert_eq!(sent[0]["error"], json!({"code": -32603, "message": "no disk"}));
        let question = json!({"messages": [], "maxTokens": 1});
        let sent = Peer::new(revision).is_asked(
            "sampling/createMessage",
            question,
            |client, event, tx| {
                let ClientEvent::Request(request) = event else { panic!("{event:?}") };
                let refusal =
                    RpcError::new(ErrorCode::Application(-1), "User rejected sampling request");
                assert_eq!(client.respond_error(request.handle, &refusal, tx), Ok(()));
            },
        );
        assert_eq!(
            sent[0]["error"],
            json!({"code": -1, "message": "User rejected sampling request"})
        );
    }
}

/// Returns the response to `sampling/createMessage` of a client that checks the request.
fn sample(revision: Revision, params: Value) -> Value {
    let sent =
        Peer::new(revision).is_asked("sampling/createMessage", params, |client, event, tx| {
            let ClientEvent::Request(request) = event else { panic!("{event:?}") };
            let answered = match request.input_request() {
                Ok(InputRequest::CreateMessage(question)) if question.validate().is_ok() => {
                    let said = SamplingMessageContent::text("said");
                    client.respond(
                        request.handle,
                        &CreateMessageResult::new(Role::Assistant, said, "model"),
                        tx,
                    )
                }
                _ => client.respond_error(
                    request.handle,
                    &RpcError::invalid_params("Not a conversation"),
                    tx,
                ),
            };
            assert_eq!(answered, Ok(()));
        });
    sent[0].clone()
}

#[test]
fn samp_09_samp_11_samp_15_conversations_are_checked_before_a_model_sees_them() {
    let text = json!({"type": "text", "text": "t"});
    let used = json!({"type": "tool_use", "id": "1", "name": "n", "input": {}});
    let result = json!({"type": "tool_result", "toolUseId": "1", "content": []});
    let says = |role: &str, content: Value| json!({"role": role, "content": content});
    for (messages, good) in [
        (json!([says("user", text.clone())]), true),
        (json!([says("assistant", used.clone()), says("user", result.clone())]), true),
        (json!([says("assistant", used.clone())]), false),
        (
            json!([
                says("assistant", used.clone()),
                says("user", json!([result.clone(), text.clone()]))
            ]),
            false,
        ),
        (json!([says("user", result.clone())]), false),
        (json!([says("system", text.clone())]), false),
        (json!([{"content": text.clone()}]), false),
        (json!([{"role": "user"}]), false),
        (json!([7]), false),
    ] {
        let answer = sample(Revision::V2025_11_25, json!({"messages": messages, "maxTokens": 5}));
        let code = if good { Value::Null } else { json!(-32602) };
        assert_eq!(answer["error"]["code"], code, "{messages}");
    }
    assert_eq!(
        sample(Revision::V2025_11_25, json!({"messages": []}))["error"]["code"],
        -32602,
        "maxTokens is required"
    );
}

#[test]
fn samp_12_nothing_of_one_question_is_in_the_next() {
    let mut peer = Peer::new(Revision::V2025_11_25);
    for text in ["first", "second"] {
        let params = json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 1});
        peer.is_asked("sampling/createMessage", params, |client, event, tx| {
            let ClientEvent::Request(request) = event else { panic!("{event:?}") };
            let Ok(InputRequest::CreateMessage(question)) = request.input_request() else {
                panic!("expected an input request")
            };
            assert_eq!(
                (question.messages.len(), request.params.as_json().as_str().contains(text)),
                (1, true)
            );
            assert!(client.respond_error(request.handle, &RpcError::internal("no"), tx).is_ok());
        });
    }
    assert_eq!(peer.client.open_requests(), 0);
}

#[test]
fn samp_13_samp_14_samp_15_hints_are_tried_in_order_and_are_parts_of_names() {
    let models = ["claude-opus-4", "Claude-Sonnet-4", "gpt-5", "gemini-pro"];
    let choose = |preferences: Value| {
        let text = preferences.to_string();
        raw(&text)
            .to::<ModelPreferences<'_>>()
            .expect("preferences")
            .select_model(&models)
            .map(|at| models[at])
    };
    assert_eq!(
        choose(json!({"hints": [{"name": "sonnet"}, {"name": "opus"}]})),
        Some("Claude-Sonnet-4")
    );
    assert_eq!(
        choose(json!({"hints": [{"name": "mistral"}, {"name": "gpt"}, {"name": "claude"}]})),
        Some("gpt-5")
    );
    assert_eq!(choose(json!({"hints": [{"name": "claude"}]})), Some("claude-opus-4"));
    // Independent of the priorities.
    let cheap = json!({"hints": [{"name": "opus"}], "costPriority": 1, "speedPriority": 1, "intelligencePriority": 0});
    assert_eq!(choose(cheap), Some("claude-opus-4"));
    for nothing in [
        json!({}),
        json!({"hints": []}),
        json!({"hints": [{}, {"name": ""}, {"name": "gpt-5-mini"}, 7]}),
    ] {
        assert_eq!(choose(nothing.clone()), None, "{nothing}");
    }
    let escaped = r#"{"hints":[{"name":"g\u0065mini"}]}"#;
    assert_eq!(
        raw(escaped).to::<ModelPreferences<'_>>().expect("preferences").select_model(&models),
        Some(3)
    );
}

#[test]
fn samp_16_hints_on_blocks_go_back_as_they_came() {
    let block = json!({"type": "tool_use", "id": "1", "name": "n", "input": {"a": [1]}, "_meta": {"cache": {"x": 1}}});
    let answer = block.to_string();
    let block: SamplingMessageContentBlock<'_> = raw(&answer).to().expect("a block");
    let blocks = [block];
    let message = SamplingMessage::new(Role::Assistant, SamplingMessageContent::many(&blocks));
    for revision in [Revision::V2025_11_25, Revision::LATEST] {
        let mut out = [0; 512];
        let written = to_slice(&message, revision, &mut out).expect("the value can be written");
        let written: Value = serde_json::from_str(written.as_str()).expect("JSON");
        assert_eq!(written["content"][0]["_meta"], json!({"cache": {"x": 1}}), "{written}");
    }
}

#[test]
fn samp_19_prm_12_results_have_one_or_several_blocks_by_revision() {
    let blocks = [
        SamplingMessageContentBlock::Text(TextContent::new("a")),
        SamplingMessageContentBlock::Text(TextContent::new("b")),
    ];
    for revision in LEGACY {
        let sent = Peer::new(revision).is_asked(
            "sampling/createMessage",
            json!({"messages": [], "maxTokens": 1}),
            |client, event, tx| {
                let ClientEvent::Request(request) = event else { panic!("{event:?}") };
                let result = CreateMessageResult::new(
                    Role::Assistant,
                    SamplingMessageContent::many(&blocks),
                    "m",
                )
                .stop_reason("because");
                assert_eq!(client.respond(request.handle, &result, tx), Ok(()));
            },
        );
        let result = &sent[0]["result"];
        assert_eq!(result["content"].is_array(), revision >= Revision::V2025_11_25, "{result}");
        assert_eq!(result["stopReason"], "because");
    }
}

#[test]
fn elic_18_elic_19_a_result_is_validated_by_the_form_before_it_is_sent() {
    let form = json!({"message": "?", "requestedSchema": {"type": "object", "required": ["age"],
        "properties": {"age": {"type": "integer", "minimum": 0}, "mail": {"type": "string", "format": "email"}}}});
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        for (content, good) in [
            (r#"{"age":30}"#, true),
            (r#"{"age":30,"mail":"a@b"}"#, true),
            (r#"{"age":-1}"#, false),
            (r#"{"age":"30"}"#, false),
            (r#"{"mail":"a@b"}"#, false),
            (r#"{"age":1,"mail":"x"}"#, false),
        ] {
            let sent = Peer::new(revision).is_asked(
                "elicitation/create",
                form.clone(),
                |client, event, tx| {
                    let ClientEvent::Request(request) = event else { panic!("{event:?}") };
                    let Ok(InputRequest::Elicit(ElicitParams::Form(form))) =
                        request.input_request()
                    else {
                        panic!("a form")
                    };
                    let answer = form.accept(raw(content));
                    assert_eq!(answer.is_ok(), good, "{content}");
                    let answer = answer.unwrap_or(ElicitResult::new(ElicitAction::Cancel));
                    assert_eq!(client.respond(request.handle, &answer, tx), Ok(()));
                },
            );
            assert_eq!(sent[0]["result"]["action"], if good { "accept" } else { "cancel" });
        }
    }
}

#[test]
fn elic_21_a_form_has_default_values() {
    let schema = r##"{"type":"object","properties":{
        "name":{"type":"string","default":"A\u0064a"},"age":{"type":"integer","default":36},"ratio":{"type":"number","default":0.5},
        "news":{"type":"boolean","default":false},"size":{"type":"string","enum":["S","M"],"default":"M"},
        "color":{"type":"string","oneOf":[{"const":"r","title":"Red"}],"default":"r"},
        "tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"default":["b"]},
        "old":{"type":"string","enum":["x"],"enumNames":["X"],"default":"x"},"empty":{"type":"string"}}}"##;
    let form: RequestedSchema<'_> = raw(schema).to().expect("a form");
    let mut out = [0; 256];
    let defaults =
        to_slice(&form.defaults(), Revision::LATEST, &mut out).expect("the values can be written");
    let expected = json!({"name": "Ada", "age": 36, "ratio": 0.5, "news": false, "size": "M", "color": "r", "tags": ["b"], "old": "x"});
    assert_eq!(serde_json::from_str::<Value>(defaults.as_str()).expect("JSON"), expected);
    assert_eq!(form.validate_content(defaults), Ok(()), "the defaults are a valid result");
}

#[test]
fn elic_22_only_accept_has_content() {
    let answer = |action, content: &'static str| ElicitResult::new(action).content(raw(content));
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let lists = revision >= Revision::V2025_11_25;
        for (answer, good) in [
            (ElicitResult::new(ElicitAction::Accept), true),
            (ElicitResult::new(ElicitAction::Decline), true),
            (ElicitResult::new(ElicitAction::Cancel), true),
            (
                answer(ElicitAction::Accept, r#"{"a":"x","b":1.5,"c":true,"d":9007199254740993}"#),
                true,
            ),
            (answer(ElicitAction::Accept, r#"{"a":["x","y"]}"#), lists),
            (answer(ElicitAction::Accept, r#"{"a":[1]}"#), false),
            (answer(ElicitAction::Accept, r#"{"a":{}}"#), false),
            (answer(ElicitAction::Accept, r#"{"a":null}"#), false),
            (answer(ElicitAction::Decline, "{}"), false),
            (answer(ElicitAction::Cancel, r#"{"a":"x"}"#), false),
        ] {
            assert_eq!(answer.is_valid_for(revision), good, "{answer:?} in {revision}");
        }
    }
}

#[test]
fn elic_13_the_id_of_an_elicitation_is_handed_over_as_it_is() {
    let id = " \u{1}../\"é🦀";
    let params =
        json!({"mode": "url", "message": "m", "url": "https://example.org/", "elicitationId": id});
    Peer::new(Revision::V2025_11_25).is_asked("elicitation/create", params, |_, event, _| {
        let ClientEvent::Request(request) = event else { panic!("{event:?}") };
        let Ok(InputRequest::Elicit(ElicitParams::Url(page))) = request.input_request() else {
            panic!("a page")
        };
        assert!(page.elicitation_id.is_some_and(|given| given == id));
    });
}
