//! Input that a modern server requires before it responds.

use mcp_sansio::types::*;
use mcp_sansio::{
    CallOptions, CallOutcome, ClientEvent, InputRequired, InputResponseParams, RawJson, Revision,
};
use mcp_sansio_tests::line::Line;
use serde_json::json;

use super::support::{NOW, Peer, outcome_of, raw};

fn questions() -> serde_json::Value {
    json!({
        "resultType": "input_required",
        "requestState": "opaque",
        "inputRequests": {
            "form": {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}},
            "model": {"method": "sampling/createMessage", "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 9}},
            "wh\u{e9}re": {"method": "roots/list"},
        },
    })
}

fn input_of(event: ClientEvent<'_>) -> InputRequired<'_> {
    let CallOutcome::InputRequired(input) = outcome_of(event) else { panic!("{event:?}") };
    input
}

#[test]
fn mrtr_16_mrtr_17_mrtr_22_each_input_response_has_the_key_of_its_request() {
    let mut peer = Peer::new(Revision::LATEST);
    let params = json!({"name": "t", "arguments": {"a": 1}});
    let sent = peer.asks("tools/call", &params, &questions(), |client, event, tx| {
        let input = input_of(event);
        let mut answers = Vec::new();
        for (key, question) in input.requests().iter() {
            let answer = match question.expect("an input request") {
                InputRequest::Elicit(ElicitParams::Form(form)) => InputResponse::Elicit(
                    form.accept(raw(r#"{"name":"Ada"}"#)).expect("the content is valid"),
                ),
                InputRequest::CreateMessage(request) => {
                    assert_eq!(request.max_tokens, 9);
                    let text = SamplingMessageContent::text("!");
                    let result = CreateMessageResult::new(Role::Assistant, text, "m");
                    InputResponse::CreateMessage(result)
                }
                InputRequest::ListRoots => InputResponse::ListRoots(ListRootsResult::new(&[])),
                other => panic!("{other:?}"),
            };
            answers.push((key.to_string(), answer));
        }
        let answers: Vec<(&str, InputResponse<'_>)> =
            answers.iter().map(|(key, answer)| (key.as_str(), *answer)).collect();
        let answers = InputResponses::new(&answers);
        let mut out = [0; 512];
        let json = mcp_sansio::to_slice(&answers, Revision::LATEST, &mut out)
            .expect("the values can be written");
        assert!(input.missing_response(json).is_none());
        let (text, inputs) = (params.to_string(), input.retry_params(&answers));
        client
            .retry(NOW, "tools/call", &raw(&text), &inputs, CallOptions::new(), tx)
            .expect("the request is sent");
    });
    let expected = json!({
        "form": {"action": "accept", "content": {"name": "Ada"}},
        "model": {"role": "assistant", "content": {"type": "text", "text": "!"}, "model": "m"},
        "wh\u{e9}re": {"roots": []},
    });
    assert_eq!(sent[0]["params"]["inputResponses"], expected);
    assert_eq!(sent[0]["params"]["requestState"], "opaque");
    assert_eq!(sent[0]["params"]["arguments"], json!({"a": 1}));
}

#[test]
fn mrtr_17_missing_input_responses_are_named() {
    Peer::new(Revision::LATEST).asks(
        "tools/call",
        &json!({"name": "t"}),
        &questions(),
        |_, event, _| {
            let input = input_of(event);
            let missing =
                |answers: &str| input.missing_response(raw(answers)).map(|key| key.to_string());
            assert_eq!(missing("{}").as_deref(), Some("form"));
            assert_eq!(missing(r#"{"model":{},"form":{}}"#).as_deref(), Some("wh\u{e9}re"));
            assert_eq!(
                missing(r#"{"model":{},"f\u006frm":{},"wh\u00e9re":{}}"#),
                None,
                "keys are compared after resolving escapes"
            );
        },
    );
}

#[test]
fn mrtr_18_mrtr_19_the_request_state_is_returned_byte_for_byte_through_any_buffer() {
    for state in [r#""""#, r#""{\"a\":1}""#, r#""\u00e9\/\ud83e\udd80\\""#, r#""é🦀 'x'""#] {
        for size in [1, 7, 64, 4096] {
            let mut peer = Peer::new(Revision::LATEST);
            let sent = peer.sends("tools/call", &CallToolParams::new("t"));
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"input_required","requestState":{state}}}}}"#,
                sent["id"]
            );
            let mut output = Line::new(size);
            peer.hears_text(&line, |client, event, _| {
                let input = input_of(event);
                assert_eq!(input.state().map(|s| s.as_json().as_str()), Some(state));
                assert_eq!((input.round(), input.raw_requests().is_none()), (0, true));
                let inputs: InputResponseParams<'_, RawJson<'_>> =
                    InputResponseParams::new(input.round())
                        .state(input.state().map(Text::from_json));
                let (params, options) = (CallToolParams::new("t"), CallOptions::new());
                output
                    .send(|tx| client.retry(NOW, "tools/call", &params, &inputs, options, tx))
                    .expect("the request is sent");
            });
            let out = output.take();
            assert!(out.contains(&format!(r#""requestState":{state}"#)), "{out}");
        }
    }
}
