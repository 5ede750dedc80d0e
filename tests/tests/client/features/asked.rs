//! Requests of servers: roots, sampling, elicitation.

use mcp_sansio::types::*;
use mcp_sansio::{
    CallOptions, Client, ErrorCode, InputResponseParams, InvalidPayload, Revision, RpcError,
    SendError, SendResult, ServerRequest, Tx, TxBuffer, to_slice,
};
use serde_json::{Value, json};

use super::support::{NOW, Peer, REVISIONS, raw, request_of};

const LEGACY: [Revision; 4] = [REVISIONS[0], REVISIONS[1], REVISIONS[2], REVISIONS[3]];

#[test]
fn root_02_root_05_only_files_are_given_as_roots() {
    for good in [
        "file:///",
        "file:///home/me",
        "FILE:///C:/x",
        "file://host/share/a.b/..c/.d",
        "file:///a%20b/%c3%A9",
        "file:///.../a",
        "file:///a/..b",
        "file:///a?b#c",
        "file:///..%3Fa",
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
        "file:///a/..#",
        "file:///a/%2e%2e#b",
        "file:///a\nb",
        "file:///a%2fb",
        "file:///a%5Cb",
        "file:///a\\b",
        "file:///a%00",
        "file:///a%",
        "file:///a%2",
        "file:///a%zz",
        "file:///a%g0",
        "file:///a%0g",
    ] {
        assert!(!Root::new(bad).is_valid(), "{bad}");
        let roots = [Root::new("file:///a"), Root::new(bad)];
        for revision in LEGACY {
            let sent =
                Peer::new(revision).is_asked("roots/list", json!({}), |client, event, tx| {
                    let request = request_of(event).handle;
                    let [all, good] = [&roots[..], &roots[..1]].map(ListRootsResult::new);
                    let refused = Err(SendError::Invalid(InvalidPayload::RootUri));
                    assert_eq!(client.respond(request, &all, tx), refused, "{bad}");
                    // Nothing is written, even if it would not fit the buffer.
                    let mut small = TxBuffer::new([0; 16]);
                    assert_eq!(client.respond(request, &all, &mut small), refused, "{bad}");
                    assert!(small.is_idle());
                    assert!(client.is_request_open(request), "a response is still possible");
                    assert_eq!(client.respond(request, &good, tx), Ok(()));
                });
            assert_eq!(sent[0]["result"]["roots"], json!([{"uri": "file:///a"}]));
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
    let rejection = RpcError::new(ErrorCode::Application(-1), "User rejected sampling request");
    for revision in LEGACY {
        let sampling = json!({"messages": [], "maxTokens": 1});
        for (method, params, error, code) in [
            ("roots/list", json!({}), RpcError::internal("no disk"), -32603),
            ("sampling/createMessage", sampling, rejection, -1),
        ] {
            let answer = answers(revision, method, params, |client, request, tx| {
                client.respond_error(request.handle, &error, tx)
            });
            assert_eq!(answer["error"], json!({"code": code, "message": error.message}));
        }
    }
}

/// Returns what a client sends in response to a request.
fn answers(
    revision: Revision,
    method: &str,
    params: Value,
    mut answer: impl FnMut(&mut Client<'static>, ServerRequest<'_>, &mut Tx<'_>) -> SendResult,
) -> Value {
    let mut sent = Peer::new(revision).is_asked(method, params, |client, event, tx| {
        assert_eq!(answer(client, request_of(event), tx), Ok(()));
    });
    sent.remove(0)
}

/// Returns the response to `sampling/createMessage` of a client that checks the request.
fn sample(revision: Revision, params: Value) -> Value {
    answers(revision, "sampling/createMessage", params, |client, request, tx| {
        match request.input_request() {
            Ok(InputRequest::CreateMessage(question)) if question.validate().is_ok() => {
                let said = SamplingMessageContent::text("said");
                let result = CreateMessageResult::new(Role::Assistant, said, "model");
                client.respond(request.handle, &result, tx)
            }
            _ => {
                let error = RpcError::invalid_params("Not a conversation");
                client.respond_error(request.handle, &error, tx)
            }
        }
    })
}

#[test]
fn samp_09_samp_11_samp_15_conversations_are_checked_before_a_model_sees_them() {
    let text = json!({"type": "text", "text": "t"});
    let used = json!({"type": "tool_use", "id": "1", "name": "n", "input": {}});
    let result = json!({"type": "tool_result", "toolUseId": "1", "content": []});
    let both = json!([result, text]);
    let says = |role: &str, content: Value| json!({"role": role, "content": content});
    for (messages, good) in [
        (json!([says("user", text.clone())]), true),
        (json!([says("assistant", used.clone()), says("user", result.clone())]), true),
        (json!([says("assistant", used.clone())]), false),
        (json!([says("assistant", used.clone()), says("user", both)]), false),
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
    let without_limit = sample(Revision::V2025_11_25, json!({"messages": []}));
    assert_eq!(without_limit["error"]["code"], -32602, "maxTokens is required");
}

#[test]
fn samp_12_nothing_of_one_question_is_in_the_next() {
    let mut peer = Peer::new(Revision::V2025_11_25);
    for text in ["first", "second"] {
        let params = json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 1});
        peer.is_asked("sampling/createMessage", params, |client, event, tx| {
            let request = request_of(event);
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
    for (preferences, chosen) in [
        (r#"{"hints":[{"name":"sonnet"},{"name":"opus"}]}"#, Some(1)),
        (r#"{"hints":[{"name":"mistral"},{"name":"gpt"},{"name":"claude"}]}"#, Some(2)),
        (r#"{"hints":[{"name":"claude"}]}"#, Some(0)),
        // Independent of the priorities.
        (
            r#"{"hints":[{"name":"opus"}],"costPriority":1,"speedPriority":1,"intelligencePriority":0}"#,
            Some(0),
        ),
        (r#"{"hints":[{"name":"g\u0065mini"}]}"#, Some(3)),
        ("{}", None),
        (r#"{"hints":[]}"#, None),
        (r#"{"hints":[{},{"name":""},{"name":"gpt-5-mini"},7]}"#, None),
    ] {
        let preferences: ModelPreferences<'_> = raw(preferences).to().expect("preferences");
        assert_eq!(preferences.select_model(&models), chosen, "{preferences:?}");
    }
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
        let params = json!({"messages": [], "maxTokens": 1});
        let sent = answers(revision, "sampling/createMessage", params, |client, request, tx| {
            let content = SamplingMessageContent::many(&blocks);
            let result = CreateMessageResult::new(Role::Assistant, content, "m");
            client.respond(request.handle, &result.stop_reason("because"), tx)
        });
        let result = &sent["result"];
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
            let sent =
                answers(revision, "elicitation/create", form.clone(), |client, request, tx| {
                    let Ok(InputRequest::Elicit(ElicitParams::Form(form))) =
                        request.input_request()
                    else {
                        panic!("a form")
                    };
                    let answer = form.accept(raw(content));
                    assert_eq!(answer.is_ok(), good, "{content}");
                    let answer = answer.unwrap_or(ElicitResult::new(ElicitAction::Cancel));
                    client.respond(request.handle, &answer, tx)
                });
            assert_eq!(sent["result"]["action"], if good { "accept" } else { "cancel" });
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
        let request = request_of(event);
        let Ok(InputRequest::Elicit(ElicitParams::Url(page))) = request.input_request() else {
            panic!("a page")
        };
        assert!(page.elicitation_id.is_some_and(|given| given == id));
    });
}
