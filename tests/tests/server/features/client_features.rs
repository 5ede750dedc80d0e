//! Sampling, and elicitation by URL: what is sent to the client and what comes back.

use mcp_sansio::types::*;
use mcp_sansio::{
    CallOutcome, ClientRequest, Delivery, ErrorCode, InvalidPayload, NotAllowed, RawJson, Revision,
    RpcError, SendError, Server, ServerEvent, Tx, TxBuffer,
};
use mcp_sansio_tests::delivery::respond;
use serde_json::{Value, json};

use super::support::{NOW, Peer, REVISIONS, lines, through};

/// Requests sampling of a client; returns the request.
fn sample(peer: &mut Peer, params: &CreateMessageParams<'_>) -> Value {
    let request = ClientRequest::from(params);
    let (_, sent) = through(64, |tx| peer.server.request(NOW, request, tx));
    lines(&sent).remove(0)
}

/// Looks at the result of sampling.
fn sampled<R>(peer: &mut Peer, answer: &Value, look: impl Fn(RawJson<'_>) -> R) -> R {
    let mut seen = None;
    peer.say(answer, |_, event, _| {
        let ServerEvent::CallFinished { outcome: CallOutcome::Result(result), .. } = event else {
            panic!("{event:?}")
        };
        seen = Some(look(result));
    });
    seen.expect("the result")
}

#[test]
fn samp_19_messages_are_lists_of_blocks_from_2025_11_25_on() {
    let blocks = [
        SamplingMessageContentBlock::Text(TextContent::new("a")),
        SamplingMessageContentBlock::Text(TextContent::new("b")),
    ];
    let messages = [
        SamplingMessage::user("q"),
        SamplingMessage::new(Role::User, SamplingMessageContent::many(&blocks)),
    ];
    let params = CreateMessageParams::new(&messages, 9);
    for revision in REVISIONS.into_iter().filter(|revision| !revision.is_modern()) {
        let mut peer = Peer::new(revision);
        let sent = sample(&mut peer, &params);
        let messages = sent["params"]["messages"].as_array().expect("a list");
        let lists = messages.iter().filter(|message| message["content"].is_array()).count();
        assert_eq!(
            (messages.len(), lists),
            if revision < Revision::V2025_11_25 { (3, 0) } else { (2, 1) },
            "{sent}"
        );
        // Results of both shapes are accepted in any revision; `stopReason` is any text.
        for (content, count) in [
            (json!({"type": "text", "text": "a"}), 1),
            (json!([{"type": "text", "text": "a"}, {"type": "hologram"}]), 2),
        ] {
            let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"role": "assistant", "content": content, "model": "m", "stopReason": "bored"}});
            let mut peer = Peer::new(revision);
            sample(&mut peer, &params);
            let seen = sampled(&mut peer, &answer, |result| {
                let result: CreateMessageResult<'_> = result.to().expect("a result");
                assert!(result.stop_reason.is_some_and(|reason| reason == "bored"));
                result.content.iter().flatten().count()
            });
            assert_eq!(seen, count);
        }
    }
    let question = [("k", ClientRequest::from(&params))];
    let answer = Peer::new(Revision::LATEST).call(|server, request, tx| {
        assert_eq!(server.input_required(request.handle, &question, None, tx), Ok(()));
    });
    assert!(answer["result"]["inputRequests"]["k"]["params"]["messages"][1]["content"].is_array());
}

#[test]
fn samp_15_prm_12_invalid_sampling_results_are_errors_of_the_handler() {
    let params = CreateMessageParams::new(&[], 9);
    for (result, good) in [
        (
            json!({"role": "assistant", "content": {"type": "text", "text": "a"}, "model": "m"}),
            true,
        ),
        (json!({"role": "assistant", "content": {"type": "hologram", "x": 1}, "model": "m"}), true),
        (json!({"role": "wizard", "content": {"type": "text", "text": "a"}, "model": "m"}), false),
        (json!({"content": {"type": "text", "text": "a"}, "model": "m"}), false),
        (json!({"role": "assistant", "content": "a", "model": "m"}), false),
        (json!({"role": "assistant", "content": {"type": "text"}, "model": "m"}), false),
        (json!({"role": "assistant", "content": {"text": "a"}, "model": "m"}), false),
        (json!({"role": "assistant", "content": [7], "model": "m"}), false),
        (json!({"role": "assistant", "content": {"type": "text", "text": "a"}}), false),
        (json!({}), false),
    ] {
        for revision in REVISIONS.into_iter().filter(|revision| !revision.is_modern()) {
            let mut peer = Peer::new(revision);
            sample(&mut peer, &params);
            let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result});
            let is_good = sampled(&mut peer, &answer, |result| {
                let read = result.to::<CreateMessageResult<'_>>();
                read.is_ok_and(|result| result.content.iter().all(|block| block.is_ok()))
            });
            assert_eq!(is_good, good, "{result}");
            assert_eq!(peer.server.open_calls(), 0);
        }
    }
}

#[test]
fn samp_12_a_second_request_has_only_its_own_messages() {
    let mut peer = Peer::new(Revision::V2025_11_25);
    for (id, text) in (1..).zip(["the first secret", "the second"]) {
        let messages = [SamplingMessage::user(text)];
        let sent = sample(&mut peer, &CreateMessageParams::new(&messages, 9));
        let expected = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
        assert_eq!(sent["params"]["messages"], expected);
        let kept = format!("{:?}", peer.server);
        assert!(!kept.contains("secret"), "the server does not keep the secret");
        let refused = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no"}});
        peer.say(&refused, |_, _, _| {});
    }
}

#[test]
fn tsk_02_tsk_03_only_a_client_that_declared_it_is_asked_for_a_task() {
    let task = TaskMetadata::new();
    let sampling = CreateMessageParams::new(&[], 9).task(task);
    let form = ElicitFormParams::new("Who?", RequestedSchema::new(&[])).task(task);
    let page = ElicitUrlParams::new("Who?", "https://example.com").elicitation_id("1").task(task);
    let requests = [
        ("sampling", "createMessage", ClientRequest::from(&sampling)),
        ("elicitation", "create", ClientRequest::from(&form)),
        ("elicitation", "create", ClientRequest::from(&page)),
    ];
    let mut plain = json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}});
    for (capability, method, request) in requests {
        let ask = |revision, can: &Value| {
            let mut tx = TxBuffer::with_limit(Vec::new(), 1 << 20);
            let mut peer = Peer::that_can(revision, can.clone());
            peer.server.request(NOW, request, &mut tx)?;
            Ok(lines(tx.pending())[0]["params"].get("task").is_some())
        };
        plain["tasks"] = json!({"requests": {"sampling": {}, "elicitation": {}}});
        let refused = ask(Revision::V2025_11_25, &plain);
        assert_eq!(refused, Err(SendError::NotAllowed(NotAllowed::Capability)), "{capability}");
        plain["tasks"]["requests"][capability][method] = json!({});
        assert_eq!(ask(Revision::V2025_11_25, &plain), Ok(true), "{capability}");
    }
    let mut peer = Peer::new(Revision::V2025_06_18);
    assert_eq!(sample(&mut peer, &sampling)["params"].get("task"), None);
}

#[test]
fn elic_14_elic_15_elic_16_pages_that_must_be_seen_first() {
    let page = ElicitUrlParams::new("Sign in", "https://example.com/in").elicitation_id("e-1");
    let both =
        [page, ElicitUrlParams::new("Agree", "https://example.com/agree").elicitation_id("e-2")];
    let session = |revision, capabilities: Value| {
        Peer::that_can(revision, json!({"elicitation": capabilities}))
    };
    let mut peer = session(Revision::V2025_11_25, json!({"url": {}}));
    let answer = peer.call(|server, request, tx| {
        let required = |pages: &[ElicitUrlParams<'_>], server: &mut Server<'_>, tx: &mut Tx<'_>| {
            server.require_url_elicitation(request.handle, "First this", pages, tx)
        };
        for (pages, rule) in [
            (&[][..], InvalidPayload::Empty),
            (&[page, ElicitUrlParams::new("m", "https://example.com")], InvalidPayload::Url),
            (&[ElicitUrlParams::new("m", "example").elicitation_id("e")], InvalidPayload::Url),
        ] {
            assert_eq!(required(pages, server, tx), Err(SendError::Invalid(rule)));
        }
        assert!(server.is_request_open(request.handle) && tx.pending().is_empty());
        assert_eq!(required(&both, server, tx), Ok(()));
        let late = respond(server, request.handle, tx, |server, tx| required(&both, server, tx));
        assert_eq!(late, Ok(Delivery::Gone));
    });
    assert_eq!(
        answer["error"],
        json!({"code": -32042, "message": "First this", "data": {"elicitations": [
            {"mode": "url", "message": "Sign in", "url": "https://example.com/in", "elicitationId": "e-1"},
            {"mode": "url", "message": "Agree", "url": "https://example.com/agree", "elicitationId": "e-2"},
        ]}})
    );
    // Not sent in other revisions, nor to clients without URL mode, nor by `respond_error`.
    let general = RpcError::new(ErrorCode::UrlElicitationRequired, "m");
    for revision in REVISIONS {
        for capabilities in [json!({}), json!({"form": {}}), json!({"url": {}})] {
            let can = revision == Revision::V2025_11_25 && capabilities.get("url").is_some();
            if can {
                continue;
            }
            let answer = session(revision, capabilities).call(|server, request, tx| {
                let required = server.require_url_elicitation(request.handle, "m", &both, tx);
                assert!(matches!(
                    required,
                    Err(SendError::NotAllowed(NotAllowed::Capability | NotAllowed::Revision))
                ));
                let sent = server.respond_error(request.handle, &general, tx);
                if matches!(sent, Err(SendError::NotAllowed(_))) {
                    let error = RpcError::internal("m");
                    assert_eq!(server.respond_error(request.handle, &error, tx), Ok(()));
                }
            });
            assert!(
                answer["error"]["code"] == -32602
                    || revision == Revision::V2025_11_25 && answer["error"]["code"] == -32603,
                "{answer}"
            );
        }
    }
}
