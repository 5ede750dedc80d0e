//! A handler that requests input before it responds, in both eras, with responses that are missing,
//! declined or invalid.

use mcp_sansio::types::*;
use mcp_sansio::{
    CallOutcome, ClientRequest, Instant, InvalidPayload, RawJson, Request, Revision, RpcError,
    SendError, Server, ServerEvent, Tx,
};
use serde_json::{Value, json};

use super::support::{NOW, Peer, lines, through};

const SIZES: [Text<'static>; 2] = [Text::new("S"), Text::new("M")];
const FIELDS: [Field<'static>; 5] = [
    Field::required("name", StringSchema::new().min_length(1).schema()),
    Field::optional(
        "age",
        NumberSchema::integer().minimum(Number::new(0)).maximum(Number::new(150)).schema(),
    ),
    Field::optional("size", SingleSelectEnumSchema::untitled(&SIZES).schema()),
    Field::optional("sizes", MultiSelectEnumSchema::untitled(&SIZES).max_items(1).schema()),
    Field::optional("share", NumberSchema::number().maximum(Number::new(1)).schema()),
];
const FORM: RequestedSchema<'static> = RequestedSchema::new(&FIELDS);

type Failed = Box<dyn std::error::Error>;

/// Returns the user's input, or why it cannot be used.
fn name(answer: RawJson<'_>) -> Result<String, Failed> {
    let answer: ElicitResult<'_> = answer.to()?;
    match answer.action {
        ElicitAction::Decline => Ok("somebody".into()),
        ElicitAction::Cancel => Ok("nobody".into()),
        ElicitAction::Accept => {
            let content = answer.content.unwrap_or(RawJson::EMPTY);
            FORM.validate_content(content).map_err(|error| error.to_string())?;
            let name = content.get("name").and_then(RawJson::as_string).ok_or("no name")?;
            Ok(name.to_string())
        }
        action => Err(format!("no such action: {}", action.as_str()).into()),
    }
}

/// The modern handler: `who` by elicitation, `what` by sampling, `where` from the roots; then a
/// sentence.
fn attempt(server: &mut Server<'static>, request: &Request<'_>, tx: &mut Tx<'_>) {
    let answers = || -> Result<_, Failed> {
        let who = request.input_response("who").map(name).transpose()?;
        let what = request.input_response("what").map(|answer| {
            let answer: CreateMessageResult<'_> = answer.to()?;
            let mut text = String::new();
            for block in answer.content.iter() {
                text.extend(block?.as_text().map(|text| text.to_string()));
            }
            Ok::<_, Failed>(text)
        });
        let places = request.input_response("where").map(|answer| {
            let answer: ListRootsResult<'_> = answer.to()?;
            let roots = answer.roots.iter().collect::<Result<Vec<_>, _>>()?;
            if !roots.iter().all(Root::is_valid) {
                return Err(Failed::from("a root is not a file"));
            }
            Ok(roots.len())
        });
        Ok((who, what.transpose()?, places.transpose()?))
    };
    let answered = match answers() {
        Err(reason) => {
            let reason = reason.to_string();
            server.respond_error(request.handle, &RpcError::invalid_params(&reason), tx)
        }
        Ok((Some(who), Some(what), Some(places))) => server.respond(
            request.handle,
            &TextResult::new(&format!("{who} wants {what} in {places}")),
            tx,
        ),
        Ok((who, what, places)) => {
            let messages = [SamplingMessage::user("What?")];
            let (form, sampling) =
                (ElicitParams::form("Who?", FORM), CreateMessageParams::new(&messages, 9));
            let questions = [
                ("who", ClientRequest::from(&form)),
                ("what", ClientRequest::from(&sampling)),
                ("where", ClientRequest::roots()),
            ];
            let missing = [who.is_none(), what.is_none(), places.is_none()];
            let missing: Vec<_> = questions
                .into_iter()
                .zip(missing)
                .filter_map(|(question, missing)| missing.then_some(question))
                .collect();
            server.input_required(request.handle, &missing, None, tx)
        }
    };
    assert_eq!(answered, Ok(()));
}

fn retry(peer: &mut Peer, answers: Value) -> Value {
    peer.ask("tools/call", json!({"name": "t", "inputResponses": answers}), attempt)
}

fn good() -> Value {
    json!({
        "who": {"action": "accept", "content": {"name": "Ada"}},
        "what": {"role": "assistant", "content": [{"type": "text", "text": "te"}, {"type": "text", "text": "a"}], "model": "m"},
        "where": {"roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]},
    })
}

fn keys(answer: &Value) -> Vec<&str> {
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    answer["result"]["inputRequests"]
        .as_object()
        .expect("questions")
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn mrtr_23_input_responses_are_read_by_their_kind() {
    let mut peer = Peer::new(Revision::LATEST);
    let first = peer.call(attempt);
    assert_eq!(keys(&first), ["what", "where", "who"]);
    assert!(
        first["result"]["inputRequests"].as_object().is_some_and(|all| all
            .values()
            .all(|one| one.get("id").or(one.get("jsonrpc")).is_none()))
    );
    let last = retry(&mut peer, good());
    assert_eq!(last["result"]["content"][0]["text"], "Ada wants tea in 2");
    // Also without a record of the input requests.
    let text = good().to_string();
    let answers: InputResponses<'_> = RawJson::parse(&text).expect("JSON").to().expect("answers");
    assert!(
        matches!(answers.get("who"), Some(Ok(InputResponse::Elicit(answer))) if answer.action == ElicitAction::Accept)
    );
    assert!(
        matches!(answers.get("what"), Some(Ok(InputResponse::CreateMessage(answer))) if answer.role == Role::Assistant)
    );
    assert!(
        matches!(answers.get("where"), Some(Ok(InputResponse::ListRoots(answer))) if answer.roots.len() == 2)
    );
}

#[test]
fn mrtr_24_invalid_input_responses_are_invalid_params() {
    for (key, wrong) in [
        ("who", json!({})),
        ("who", json!({"action": "maybe"})),
        ("who", json!({"action": "accept", "content": []})),
        ("who", json!({"action": "accept", "content": {"name": 7}})),
        ("what", json!({"role": "wizard", "content": {"type": "text", "text": "a"}, "model": "m"})),
        ("what", json!({"role": "assistant", "content": "a", "model": "m"})),
        ("what", json!({"role": "assistant", "content": [{"type": "text"}], "model": "m"})),
        ("where", json!({"roots": {}})),
        ("where", json!({"roots": [{"name": "a"}]})),
        ("where", json!({"roots": [{"uri": "https://example.com"}]})),
        // These do not reach the handler.
        ("who", json!("accept")),
        ("who", json!(null)),
        ("where", json!([])),
    ] {
        let mut answers = good();
        answers[key] = wrong.clone();
        let mut peer = Peer::new(Revision::LATEST);
        let message = peer.request("tools/call", json!({"name": "t", "inputResponses": answers}));
        let sent = peer.say(&message, |server, event, tx| match event {
            ServerEvent::Request(request) => attempt(server, &request, tx),
            ServerEvent::Violation(_) => {}
            other => panic!("{other:?}"),
        });
        assert_eq!((sent.len(), &sent[0]["error"]["code"]), (1, &json!(-32602)), "{key}: {wrong}");
        assert_eq!(peer.server.open_requests(), 0);
    }
}

#[test]
fn mrtr_25_superfluous_input_responses_are_ignored() {
    let mut answers = good();
    answers["more"] = json!({"anything": [1, {"goes": null}]});
    answers["WHO"] = json!({"action": "maybe"});
    assert_eq!(
        retry(&mut Peer::new(Revision::LATEST), answers)["result"]["content"][0]["text"],
        "Ada wants tea in 2"
    );
}

#[test]
fn mrtr_26_missing_input_responses_are_requested_again() {
    let mut peer = Peer::new(Revision::LATEST);
    for missing in ["who", "what", "where"] {
        let mut answers = good();
        answers.as_object_mut().expect("an object").remove(missing);
        assert_eq!(keys(&retry(&mut peer, answers.clone())), [missing]);
        assert_eq!(keys(&retry(&mut peer, json!({missing: good()[missing]}))).len(), 2);
        // Any number of rounds, with the same input requests.
        let again = retry(&mut peer, answers.clone());
        assert_eq!(again["result"], retry(&mut peer, answers)["result"]);
    }
    assert_eq!(keys(&retry(&mut peer, json!({}))).len(), 3);
}

#[test]
fn mrtr_06_mrtr_15_no_state_is_kept_after_input_required() {
    static CONFIG: mcp_sansio::ServerConfig<'static> =
        super::support::CONFIG.request_timeout(std::time::Duration::from_secs(5));
    let mut peer: Peer =
        Peer::with_config(Revision::LATEST, &CONFIG, super::support::can_do_everything());
    let before = format!("{:?}", peer.server).len();
    for _ in 0..100 {
        let answer = peer.call(|server, request, tx| {
            assert!(server.poll_timeout().is_some());
            // A result with neither input requests nor a state is invalid.
            let asked = server.input_required(request.handle, &[], None, tx);
            assert_eq!(asked, Err(SendError::Invalid(InvalidPayload::Empty)));
            assert!(server.is_request_open(request.handle) && tx.pending().is_empty());
            attempt(server, request, tx);
            assert!(!server.is_request_open(request.handle));
        });
        assert_eq!(keys(&answer).len(), 3);
        assert_eq!(
            (peer.server.open_requests(), peer.server.open_calls(), peer.server.poll_timeout()),
            (0, 0, None)
        );
    }
    let (event, sent) =
        through(64, |tx| peer.server.handle_timeout(Instant::from_millis(1_000_000), tx));
    assert!(event.is_none() && sent.is_empty());
    assert!(format!("{:?}", peer.server).len() <= before + 200, "the server keeps no state");
}

#[test]
fn elic_17_a_person_may_decline_or_go_away() {
    let mut peer = Peer::new(Revision::LATEST);
    for (action, expected) in
        [("decline", "somebody wants tea in 2"), ("cancel", "nobody wants tea in 2")]
    {
        // Content is ignored then.
        for content in [None, Some(json!({"name": 7}))] {
            let mut answers = good();
            answers["who"] = json!({"action": action});
            if let Some(content) = content {
                answers["who"]["content"] = content;
            }
            assert_eq!(retry(&mut peer, answers)["result"]["content"][0]["text"], expected);
        }
    }
    // A client that does not retry does not block others.
    assert_eq!(keys(&peer.call(attempt)).len(), 3);
    assert_eq!(peer.server.open_requests(), 0);
    assert_eq!(retry(&mut peer, good())["result"]["content"][0]["text"], "Ada wants tea in 2");
}

#[test]
fn elic_18_elic_20_content_is_validated_by_the_form() {
    for (content, reason) in [
        (json!({"name": "Ada"}), None),
        (
            json!({"name": "Ada", "age": 36, "size": "M", "sizes": ["S"], "share": 0.5, "more": true}),
            None,
        ),
        (json!({}), Some("name")),
        (json!({"name": ""}), Some("name")),
        (json!({"name": 7}), Some("name")),
        (json!({"name": "Ada", "age": "36"}), Some("age")),
        (json!({"name": "Ada", "age": 3.5}), Some("age")),
        (json!({"name": "Ada", "age": 151}), Some("age")),
        (json!({"name": "Ada", "size": "XL"}), Some("size")),
        (json!({"name": "Ada", "sizes": ["XL"]}), Some("sizes")),
        (json!({"name": "Ada", "sizes": ["S", "M"]}), Some("sizes")),
        (json!({"name": "Ada", "share": 1.5}), Some("share")),
    ] {
        // A legacy session: the response is an event, and the handler validates its content.
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
            let mut peer = Peer::new(revision);
            let params = ElicitParams::form("Who?", FORM);
            let (_, sent) =
                through(64, |tx| peer.server.request(NOW, ClientRequest::from(&params), tx));
            assert_eq!(lines(&sent)[0]["method"], "elicitation/create");
            let mut verdict = None;
            peer.say(&json!({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": content}}), |_, event, _| {
                let ServerEvent::CallFinished { outcome: CallOutcome::Result(answer), .. } = event else { panic!("{event:?}") };
                verdict = Some(name(answer).map_err(|error| error.to_string()));
            });
            match (verdict.expect("a response"), reason) {
                (Ok(_), None) => {}
                (Err(found), Some(field)) => assert!(found.contains(field), "{content}: {found}"),
                (other, _) => panic!("{content} in {revision}: {other:?}"),
            }
        }
        // A modern request.
        let mut answers = good();
        answers["who"]["content"] = content.clone();
        let answer = retry(&mut Peer::new(Revision::LATEST), answers);
        assert_eq!(answer["error"]["code"] == -32602, reason.is_some(), "{content}: {answer}");
    }
}

#[test]
fn samp_11_messages_have_a_role_and_content() {
    let messages =
        [SamplingMessage::user("q"), SamplingMessage::assistant("a"), SamplingMessage::user("q")];
    let params = CreateMessageParams::new(&messages, 9);
    let questions = [("k", ClientRequest::from(&params))];
    let answer = Peer::new(Revision::LATEST).call(|server, request, tx| {
        assert_eq!(server.input_required(request.handle, &questions, None, tx), Ok(()));
    });
    let said = |role, text| json!({"role": role, "content": {"type": "text", "text": text}});
    assert_eq!(
        answer["result"]["inputRequests"]["k"]["params"]["messages"],
        json!([said("user", "q"), said("assistant", "a"), said("user", "q")])
    );
    // Messages given as JSON must have both as well, or they are not sent.
    for wrong in [
        r#"{"content":{"type":"text","text":"t"}}"#,
        r#"{"role":"user"}"#,
        r#"{"role":"system","content":{"type":"text","text":"t"}}"#,
    ] {
        let text = format!(r#"{{"messages":[{wrong}],"maxTokens":9}}"#);
        let params: CreateMessageParams<'_> =
            RawJson::parse(&text).expect("JSON").to().expect("params");
        let questions = [("k", ClientRequest::from(&params))];
        Peer::new(Revision::LATEST).call(|server, request, tx| {
            let asked = server.input_required(request.handle, &questions, None, tx);
            assert_eq!(asked, Err(SendError::Invalid(InvalidPayload::ToolResults)));
            assert_eq!(server.respond(request.handle, &TextResult::new("t"), tx), Ok(()));
        });
    }
}
