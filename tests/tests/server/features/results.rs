//! Results, in each revision and through buffers of any size.

use mcp_sansio::types::*;
use mcp_sansio::{
    CallOutcome, Catalog, Change, ClientRequest, Delivery, ErrorCode, Frame, InvalidPayload, Json,
    LogMessage, MAX_ID, Messages, NotAllowed, Revision, RpcError, SendError, ServerConfig,
    ServerEvent, Target,
};
use mcp_sansio_tests::delivery::respond;
use serde_json::{Value, json};

use super::support::{
    EVERYTHING, NOW, Peer, REVISIONS, can_do_everything, entries, lines, raw, through,
};

/// Responds to a `tools/call`; returns the result without members of the envelope.
fn result_of<T: mcp_sansio::Encode>(revision: Revision, result: &T) -> Value {
    let answer =
        Peer::new(revision).ask("tools/call", json!({"name": "t"}), |server, request, tx| {
            assert_eq!(server.respond(request.handle, result, tx), Ok(()));
        });
    let mut result = answer["result"].clone();
    let kind = result.as_object_mut().expect("an object").remove("resultType");
    assert_eq!(kind, revision.is_modern().then(|| json!("complete")));
    result
}

#[test]
fn tool_13_structured_content_is_also_text() {
    for (data, revisions) in [
        (r#"{"degrees":21.50,"sky":"\u2600 \"sun\""}"#, "CDE"),
        ("[1,null]", "E"),
        ("null", "E"),
        (r#""text""#, "E"),
    ] {
        for (code, revision) in "ABCDE".chars().zip(REVISIONS) {
            let answer = Peer::new(revision).ask(
                "tools/call",
                json!({"name": "t"}),
                |server, request, tx| {
                    assert_eq!(server.respond_structured(request.handle, raw(data), tx), Ok(()));
                },
            );
            let result = &answer["result"];
            let structured = revisions
                .contains(code)
                .then(|| serde_json::from_str::<Value>(data).expect("JSON"));
            assert_eq!(
                result.get("structuredContent").cloned(),
                structured,
                "{data} in {revision}"
            );
            assert_eq!(
                result["content"],
                json!([{"type": "text", "text": data}]),
                "the same JSON, {revision}"
            );
        }
    }
}

#[test]
fn tool_16_a_tools_failure_is_a_result() {
    let error = std::io::Error::other("no \"such\" sensor");
    for revision in REVISIONS {
        let text = error.to_string();
        let result = result_of(revision, &TextResult::error(&text));
        assert_eq!(
            result,
            json!({"content": [{"type": "text", "text": "no \"such\" sensor"}], "isError": true})
        );
    }
}

#[test]
fn tool_17_tool_19_wrong_arguments_are_for_the_model_from_2025_11_25_on() {
    let tools = [Tool::new(
        "t",
        raw(
            r#"{"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"]}"#,
        ),
    )];
    let catalog = Catalog::new().tools(entries(&tools));
    for revision in REVISIONS {
        let mut runs = 0;
        let mut call = |arguments: Value| {
            Peer::new(revision).ask(
                "tools/call",
                json!({"name": "t", "arguments": arguments}),
                |server, request, tx| {
                    if let Target::Responded = catalog.respond(server, request, tx).unwrap() {
                        assert_eq!(
                            respond(server, request.handle, tx, |server, tx| {
                                server.respond_invalid_arguments(request.handle, &"not so", tx)
                            }),
                            Ok(Delivery::Gone)
                        );
                        return;
                    }
                    runs += 1;
                    assert_eq!(server.respond(request.handle, &TextResult::new("ran"), tx), Ok(()));
                },
            )
        };
        for (arguments, reason) in [
            (json!({}), "n: is missing"),
            (json!({"n": "1"}), r#"n: must be of type integer, is "1""#),
            (json!({"n": -1}), "n: must be at least 0, is -1"),
        ] {
            let answer = call(arguments);
            if revision < Revision::V2025_11_25 {
                assert_eq!(
                    (&answer["error"], answer.get("result")),
                    (&json!({"code": -32602, "message": reason}), None)
                );
            } else {
                assert_eq!(
                    (&answer["result"]["isError"], answer.get("error")),
                    (&json!(true), None)
                );
                assert_eq!(answer["result"]["content"], json!([{"type": "text", "text": reason}]));
            }
        }
        assert_eq!(call(json!({"n": 0}))["result"]["content"][0]["text"], "ran");
        assert_eq!(runs, 1, "the tool ran only with valid arguments");
    }
}

#[test]
fn tool_17_reasons_are_escaped_and_come_through_any_buffer() {
    for revision in REVISIONS {
        let line =
            Peer::<8, 8>::new(revision).request("tools/call", json!({"name": "t"})).to_string();
        for size in [1, 7, 64, 4096] {
            let mut peer = Peer::new(revision);
            let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
            let (event, _) = through(64, |tx| peer.server.next_event(NOW, &mut messages, tx));
            let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
            let (answered, sent) = through(size, |tx| {
                peer.server.respond_invalid_arguments(request.handle, &"a \"b\"\n\u{1}é", tx)
            });
            assert_eq!(answered, ());
            let answer = &lines(&sent)[0];
            let reason = if revision < Revision::V2025_11_25 {
                &answer["error"]["message"]
            } else {
                &answer["result"]["content"][0]["text"]
            };
            assert_eq!(reason, "a \"b\"\n\u{1}é");
        }
    }
}

#[test]
fn prm_12_each_kind_of_content_in_each_revision() {
    let link = ResourceLink::new("file:///a", "a").title("A").size(5);
    let text = ResourceContents::text("file:///a", "t").mime_type("text/plain");
    let bytes = ResourceContents::blob("file:///b", b"\xff").mime_type("image/png");
    let blocks = [
        ContentBlock::text("t"),
        ContentBlock::image(b"\x89", "image/png"),
        ContentBlock::audio(b"R", "audio/wav"),
        ContentBlock::ResourceLink(link),
        ContentBlock::resource(text),
        ContentBlock::resource(bytes),
    ];
    for revision in REVISIONS {
        let kinds = |list: &Value| -> Vec<String> {
            list.as_array()
                .expect("a list")
                .iter()
                .map(|block| block["type"].as_str().expect("a type").to_owned())
                .collect()
        };
        let audio = if revision == Revision::V2024_11_05 { "text" } else { "audio" };
        let link = if revision < Revision::V2025_06_18 { "text" } else { "resource_link" };
        let expected = ["text", "image", audio, link, "resource", "resource"];
        let content = result_of(revision, &CallToolResult::new(&blocks))["content"].clone();
        assert_eq!(kinds(&content), expected, "{revision}");
        assert_eq!(content[1], json!({"type": "image", "data": "iQ==", "mimeType": "image/png"}));
        assert_eq!(
            content[4]["resource"],
            json!({"uri": "file:///a", "mimeType": "text/plain", "text": "t"})
        );
        assert_eq!(
            content[5]["resource"],
            json!({"uri": "file:///b", "mimeType": "image/png", "blob": "/w=="})
        );
        // The same blocks, one in each message of a prompt.
        let messages = blocks.map(|block| PromptMessage::new(Role::Assistant, block));
        let answer =
            Peer::new(revision).ask("prompts/get", json!({"name": "p"}), |server, request, tx| {
                assert_eq!(
                    server.respond(request.handle, &GetPromptResult::new(&messages), tx),
                    Ok(())
                );
            });
        let messages = answer["result"]["messages"].as_array().expect("a list");
        let content: Vec<Value> =
            messages.iter().map(|message| message["content"].clone()).collect();
        assert_eq!(kinds(&Value::from(content)), expected, "{revision}");
        assert!(messages.iter().all(|message| message["role"] == "assistant"));
    }
}

#[test]
fn res_09_prm_08_prm_09_prm_10_bytes_of_any_length_come_through_any_buffer_as_base64() {
    let bytes: Vec<u8> = (0..1000u32).map(|n| (n.wrapping_mul(167) >> 2) as u8).collect();
    for length in (0..100).chain([255, 256, 257, 511, 998, 999, 1000]) {
        let data = &bytes[..length];
        let contents = [ResourceContents::blob("u:b", data)];
        let blocks = [
            ContentBlock::image(data, "image/png"),
            ContentBlock::audio(data, "audio/wav"),
            ContentBlock::resource(contents[0]),
        ];
        for size in [1, 5, 64, 200] {
            let mut peer = Peer::<8, 8>::new(Revision::V2025_03_26);
            let read = peer.request("resources/read", json!({"uri": "u:b"}));
            let call = peer.request("tools/call", json!({"name": "t"}));
            let mut blobs = Vec::new();
            for line in [read.to_string(), call.to_string()] {
                let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
                let (event, _) = through(64, |tx| peer.server.next_event(NOW, &mut messages, tx));
                let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
                let (read, call) =
                    (ReadResourceResult::new(&contents), CallToolResult::new(&blocks));
                let (_, sent) = match request.uri() {
                    Some(_) => through(size, |tx| peer.server.respond(request.handle, &read, tx)),
                    None => through(size, |tx| peer.server.respond(request.handle, &call, tx)),
                };
                let answer = lines(&sent).remove(0);
                blobs.push(answer["result"]["contents"][0]["blob"].clone());
                blobs.extend(
                    ["data", "data"]
                        .iter()
                        .enumerate()
                        .map(|(n, key)| answer["result"]["content"][n][key].clone()),
                );
                blobs.push(answer["result"]["content"][2]["resource"]["blob"].clone());
            }
            blobs.retain(|blob| !blob.is_null());
            assert_eq!(blobs.len(), 4);
            for blob in blobs {
                let text = blob.as_str().expect("a string");
                assert_eq!(decode(text), data, "{length} through {size}");
            }
        }
    }
}

/// RFC 4648, section 4, with padding: written for this test.
fn decode(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert_eq!(text.len() % 4, 0);
    let mut bytes = Vec::new();
    for quad in text.as_bytes().chunks(4) {
        let padding = quad.iter().rev().take_while(|byte| **byte == b'=').count();
        assert!(padding < 3);
        let bits = quad[..4 - padding].iter().fold(0u32, |bits, byte| {
            bits << 6
                | ALPHABET.iter().position(|known| known == byte).expect("the alphabet") as u32
        }) << (6 * padding);
        assert_eq!(bits & ((1 << (8 * padding)) - 1), 0, "unused bits are zero");
        bytes.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    bytes
}

#[test]
fn res_10_file_uris_lead_nowhere_else() {
    let path = |uri: &str| {
        let (mut peer, mut found) = (Peer::new(Revision::LATEST), None);
        let message = peer.request("resources/read", json!({"uri": uri}));
        peer.say(&message, |_, event, _| {
            let ServerEvent::Request(request) = event else { panic!("{event:?}") };
            let mut out = [0; 64];
            found = request.file_path(&mut out).map(ToOwned::to_owned);
            assert_eq!(request.file_path(&mut [0; 1]), None);
        });
        found
    };
    for (uri, expected) in [
        ("file:///srv/a.txt", "/srv/a.txt"),
        ("file:/srv/a.txt", "/srv/a.txt"),
        ("FILE://localhost/srv/a", "/srv/a"),
        ("file:///", "/"),
        ("file:///srv/a%20b%C3%A9/...", "/srv/a bé/..."),
        ("file:///srv/é", "/srv/é"),
        ("file:///C:/Users/x", "/C:/Users/x"),
        ("file:///srv/.hidden/a..b", "/srv/.hidden/a..b"),
        ("file:///srv/%252e%252e/x", "/srv/%2e%2e/x"),
    ] {
        assert_eq!(path(uri).as_deref(), Some(expected), "{uri}");
    }
    let long = format!("file:///{}", "x".repeat(64));
    for uri in [
        "file:///srv/../etc/passwd",
        "file:///..",
        "file:///srv/./a",
        "file:///srv/%2e%2e/etc/passwd",
        "file:///srv/%2E%2e/etc/passwd",
        "file:///srv/.%2e",
        "file:///srv/..%2fetc",
        "file:///srv/a%2Fb",
        "file:///srv/a%5cb",
        "file:///srv\\..\\etc",
        "file:///srv/a%00.txt",
        "file:///srv/%ff",
        "file:///srv/%zz",
        "file:///srv/%2",
        "file://example.com/srv/a",
        "file://localhost.example.com/a",
        "file://localhost",
        "file:////example.com/a",
        "file:srv/a",
        "file:../a",
        "file:///srv/a?b",
        "file:///srv/a#b",
        "files:///srv/a",
        "https://example.com/a",
        &long,
    ] {
        assert_eq!(path(uri), None, "{uri}");
    }
}

#[test]
fn res_06_an_unknown_resource_is_never_empty() {
    let resources = [Resource::new("u:a", "a")];
    let templates = [ResourceTemplate::new("u:t/{id}", "t")];
    let catalog = Catalog::new().resources(entries(&resources)).templates(entries(&templates));
    for revision in REVISIONS {
        for uri in ["u:b", "u:", "u:t/", "U:a", "u:a/", "u:a?"] {
            let answer = Peer::new(revision).ask(
                "resources/read",
                json!({"uri": uri}),
                |server, request, tx| {
                    assert!(matches!(catalog.respond(server, request, tx), Ok(Target::Responded)));
                },
            );
            let code = if revision.is_modern() { -32602 } else { -32002 };
            assert_eq!(
                answer["error"],
                json!({"code": code, "message": "Resource not found", "data": {"uri": uri}})
            );
            assert!(answer.get("result").is_none());
        }
    }
}

#[test]
fn comp_01_more_than_100_values_are_cut_and_counted() {
    let names: Vec<String> = (0..250).map(|n| format!("v{n}")).collect();
    let values: Vec<Text> = names.iter().map(|name| Text::new(name)).collect();
    for revision in REVISIONS {
        for count in [0, 1, 99, 100, 101, 250] {
            let answer = Peer::new(revision).ask(
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}),
                |server, request, tx| {
                    let result = CompleteResult::new(Completion::new(&values[..count]));
                    assert_eq!(server.respond(request.handle, &result, tx), Ok(()));
                },
            );
            let completion = &answer["result"]["completion"];
            let sent: Vec<&str> = completion["values"]
                .as_array()
                .expect("a list")
                .iter()
                .flat_map(Value::as_str)
                .collect();
            assert_eq!(sent, names[..count.min(100)], "in the order of the handler");
            let more = count > 100;
            assert_eq!(
                (completion.get("total").is_some(), completion.get("hasMore").is_some()),
                (more, more),
                "{count}"
            );
            assert!(!more || completion["total"] == count && completion["hasMore"] == true);
        }
    }
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
    let answer = peer.ask("tools/call", json!({"name": "t"}), |server, request, tx| {
        let mut refused = |pages: &[ElicitUrlParams<'_>]| {
            assert_eq!(
                server.require_url_elicitation(request.handle, "m", pages, tx),
                Err(SendError::Invalid(if pages.is_empty() {
                    InvalidPayload::Empty
                } else {
                    InvalidPayload::Url
                }))
            )
        };
        refused(&[]);
        refused(&[page, ElicitUrlParams::new("m", "https://example.com")]);
        refused(&[ElicitUrlParams::new("m", "example").elicitation_id("e")]);
        assert!(server.is_request_open(request.handle) && tx.pending().is_empty());
        assert_eq!(server.require_url_elicitation(request.handle, "First this", &both, tx), Ok(()));
        assert_eq!(
            respond(server, request.handle, tx, |server, tx| {
                server.require_url_elicitation(request.handle, "First this", &both, tx)
            }),
            Ok(Delivery::Gone)
        );
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
            let answer = session(revision, capabilities).ask(
                "tools/call",
                json!({"name": "t"}),
                |server, request, tx| {
                    assert!(matches!(
                        server.require_url_elicitation(request.handle, "m", &both, tx),
                        Err(SendError::NotAllowed(NotAllowed::Capability | NotAllowed::Revision))
                    ));
                    match server.respond_error(request.handle, &general, tx) {
                        Err(SendError::NotAllowed(_)) => {
                            assert_eq!(
                                server.respond_error(request.handle, &RpcError::internal("m"), tx),
                                Ok(())
                            );
                        }
                        sent => assert_eq!(sent, Ok(())),
                    }
                },
            );
            assert!(
                answer["error"]["code"] == -32602
                    || revision == Revision::V2025_11_25 && answer["error"]["code"] == -32603,
                "{answer}"
            );
        }
    }
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
        let (_, sent) =
            through(64, |tx| peer.server.request(NOW, ClientRequest::from(&params), tx));
        let sent = lines(&sent).remove(0);
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
            let _ = through(64, |tx| peer.server.request(NOW, ClientRequest::from(&params), tx));
            let mut seen = 0;
            peer.say(&answer, |_, event, _| {
                let ServerEvent::CallFinished { outcome: CallOutcome::Result(result), .. } = event
                else {
                    panic!("{event:?}")
                };
                let result: CreateMessageResult<'_> = result.to().expect("a result");
                assert!(result.stop_reason.is_some_and(|reason| reason == "bored"));
                seen = result.content.iter().flatten().count();
            });
            assert_eq!(seen, count);
        }
    }
    let question = [("k", ClientRequest::from(&params))];
    let answer = Peer::new(Revision::LATEST).ask(
        "tools/call",
        json!({"name": "t"}),
        |server, request, tx| {
            assert_eq!(server.input_required(request.handle, &question, None, tx), Ok(()));
        },
    );
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
            let _ = through(64, |tx| peer.server.request(NOW, ClientRequest::from(&params), tx));
            let mut verdict = None;
            peer.say(&json!({"jsonrpc": "2.0", "id": 1, "result": result}), |_, event, _| {
                let ServerEvent::CallFinished { outcome: CallOutcome::Result(result), .. } = event
                else {
                    panic!("{event:?}")
                };
                let read = result.to::<CreateMessageResult<'_>>();
                verdict =
                    Some(read.is_ok_and(|result| result.content.iter().all(|block| block.is_ok())));
            });
            assert_eq!(verdict, Some(good), "{result}");
            assert_eq!(peer.server.open_calls(), 0);
        }
    }
}

#[test]
fn samp_12_a_second_request_has_only_its_own_messages() {
    let mut peer = Peer::new(Revision::V2025_11_25);
    for (id, text) in (1..).zip(["the first secret", "the second"]) {
        let messages = [SamplingMessage::user(text)];
        let params = CreateMessageParams::new(&messages, 9);
        let (_, sent) =
            through(64, |tx| peer.server.request(NOW, ClientRequest::from(&params), tx));
        let sent = lines(&sent).remove(0);
        assert_eq!(
            sent["params"]["messages"],
            json!([{"role": "user", "content": {"type": "text", "text": text}}])
        );
        assert!(
            !format!("{:?}", peer.server).contains("secret"),
            "the server does not keep the secret"
        );
        peer.say(
            &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no"}}),
            |_, _, _| {},
        );
    }
}

#[test]
fn members_are_added_to_a_result_in_every_form() {
    use std::collections::BTreeMap;
    #[derive(serde::Serialize)]
    struct Flat<'a> {
        #[serde(flatten)]
        members: BTreeMap<&'a str, &'a Value>,
    }
    // Added keys; some are present already, some are only similar.
    for text in [
        r#"{}"#,
        r#"{"a":1}"#,
        r#"{"resultType":"mine"}"#,
        r#"{"_meta":{}}"#,
        r#"{"_meta":{"a":1},"b":2}"#,
        r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","version":"2"}},"resultType":"mine"}"#,
        r#"{"resultTyp":1,"resultTypes":2,"_met":3,"":4,"a key of more than sixty-four bytes, which is longer than any that is completed":5}"#,
        r#"{"a":{"resultType":1,"_meta":2}}"#,
    ] {
        static NAMED: ServerConfig<'static> =
            ServerConfig::new(Implementation::new("s", "1"), EVERYTHING);
        let value: Value = serde_json::from_str(text).expect("JSON");
        let members: BTreeMap<&str, &Value> = value
            .as_object()
            .expect("an object")
            .iter()
            .map(|(key, value)| (key.as_str(), value))
            .collect();
        for revision in REVISIONS {
            let mut peer: Peer = Peer::sized(revision, &NAMED, can_do_everything());
            let mut answers = Vec::new();
            for form in 0..4 {
                let answer = peer.ask("tools/call", json!({"name": "t"}), |server, request, tx| {
                    let answered = match form {
                        0 => server.respond(request.handle, &raw(text), tx),
                        1 => server.respond(request.handle, &Json(&value), tx),
                        2 => server.respond(request.handle, &Json(&members), tx),
                        _ => server.respond(
                            request.handle,
                            &Json(Flat { members: members.clone() }),
                            tx,
                        ),
                    };
                    assert_eq!(answered, Ok(()));
                });
                answers.push(answer["result"].clone());
            }
            for answer in &answers {
                assert_eq!(answer, &answers[0], "{text} in {revision}");
                for (key, value) in value.as_object().expect("an object") {
                    assert!(
                        key == "_meta" || answer[key] == *value,
                        "{text} in {revision}: {answer}"
                    );
                }
            }
            let meta = &answers[0]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
            let own = text.contains("serverInfo");
            assert_eq!(
                meta.as_str(),
                if own {
                    Some("x")
                } else if revision.is_modern() {
                    Some("s")
                } else {
                    None
                },
                "{text}"
            );
            let kind = answers[0]["resultType"].as_str();
            let expected = if text.contains("mine") {
                Some("mine")
            } else {
                revision.is_modern().then_some("complete")
            };
            assert_eq!(kind, expected, "{text} in {revision}");
        }
    }
}

#[test]
fn every_form_of_a_text_is_logged_alike() {
    let string = raw("\"ready\"").as_string().expect("a string");
    for revision in REVISIONS {
        let mut peer = Peer::new(revision);
        let mut message = peer.request("tools/call", json!({"name": "t"}));
        if revision.is_modern() {
            message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
        }
        let sent = peer.say(&message, |server, event, tx| {
            let ServerEvent::Request(request) = event else { panic!("{event:?}") };
            let owned = String::from("ready");
            let level = LoggingLevel::Warning;
            assert!(
                server
                    .log(request.handle, &LogMessage::new(level, "ready").logger("boot"), tx)
                    .is_ok()
            );
            assert!(
                server
                    .log(request.handle, &LogMessage::new(level, &"ready").logger("boot"), tx)
                    .is_ok()
            );
            assert!(
                server
                    .log(request.handle, &LogMessage::new(level, &owned).logger("boot"), tx)
                    .is_ok()
            );
            assert!(
                server
                    .log(request.handle, &LogMessage::new(level, &string).logger("boot"), tx)
                    .is_ok()
            );
            assert!(
                server
                    .log(
                        request.handle,
                        &LogMessage::new(level, &raw("\"ready\"")).logger("boot"),
                        tx
                    )
                    .is_ok()
            );
            assert!(
                server
                    .log(request.handle, &LogMessage::new(level, &Json("ready")).logger("boot"), tx)
                    .is_ok()
            );
            assert!(
                server
                    .log(
                        request.handle,
                        &LogMessage::new(level, &Text::new("ready")).logger("boot"),
                        tx
                    )
                    .is_ok()
            );
            assert_eq!(server.respond(request.handle, &TextResult::new("x"), tx), Ok(()));
        });
        assert_eq!(sent.len(), 8, "{sent:?}");
        for message in &sent[..7] {
            assert_eq!(message["method"], "notifications/message");
            assert_eq!(message["params"]["data"], "ready", "{message}");
            assert_eq!(
                (&message["params"]["logger"], &message["params"]["level"]),
                (&json!("boot"), &json!("warning"))
            );
        }
    }
}

#[test]
fn ids_and_progress_tokens_have_a_greatest_length() {
    for (len, fits) in [(MAX_ID - 1, true), (MAX_ID, true), (MAX_ID + 1, false)] {
        let text = "i".repeat(len - 2);
        for revision in REVISIONS {
            let mut peer = Peer::new(revision);
            let mut message = peer.request("tools/call", json!({"name": "t"}));
            message["id"] = json!(text);
            let mut token = peer.request("tools/call", json!({"name": "t"}));
            token["params"]["_meta"]["progressToken"] = json!(text);
            for message in [message, token] {
                let mut handed = false;
                let sent = peer.say(&message, |server, event, tx| {
                    let ServerEvent::Request(request) = event else { return };
                    handed = true;
                    assert_eq!(server.respond(request.handle, &TextResult::new("x"), tx), Ok(()));
                });
                assert_eq!(
                    (handed, sent.len(), sent[0].get("result").is_some()),
                    (fits, 1, fits),
                    "{len} {message} {sent:?}"
                );
            }
        }
    }
}

#[test]
fn only_local_absolute_file_uris_have_a_path() {
    let mut peer = Peer::new(Revision::LATEST);
    for (uri, path) in [
        ("file:///a/b", Some("/a/b")),
        ("FILE:/a", Some("/a")),
        ("file://localhost/a", Some("/a")),
        ("file:///a%20b%C3%a9", Some("/a b\u{e9}")),
        ("file:///\u{e9}", Some("/\u{e9}")),
        ("file:///C:/x", Some("/C:/x")),
        ("file:///a/..b", Some("/a/..b")),
        ("file://elsewhere/a", None),
        ("file:a", None),
        ("http:/a", None),
        ("file:////a", None),
        ("file:///a/../b", None),
        ("file:///a/%2e%2e/b", None),
        ("file:///a/.", None),
        ("file:///a%2fb", None),
        ("file:///a%5cb", None),
        ("file:///a%00", None),
        ("file:///a%g0", None),
        ("file:///a%0g", None),
        ("file:///a%ff", None),
        ("file:///a?b", None),
        ("file:///a#b", None),
        ("file:///a\\b", None),
        ("file:///longer-than-the-output", None),
    ] {
        peer.ask("resources/read", json!({"uri": uri}), |server, request, tx| {
            assert_eq!(request.file_path(&mut [0; 20]), path, "{uri}");
            assert_eq!(server.respond_error(request.handle, &RpcError::internal("?"), tx), Ok(()));
        });
    }
}

#[test]
fn subscriptions_end_with_their_session() {
    let mut peer = Peer::new(Revision::V2025_11_25);
    let told = |peer: &mut Peer| {
        let mut change = Change::resource("file:///a");
        let (_, sent) = through(256, |tx| peer.server.publish(&mut change, tx));
        lines(&sent).len()
    };
    assert_eq!(told(&mut peer), 0);
    let answer = peer.request("resources/subscribe", json!({"uri": "file:///a"}));
    let sent = peer.say(&answer, |server, event, tx| {
        if let ServerEvent::Request(request) = event {
            assert_eq!(server.respond(request.handle, &EmptyResult::new(), tx), Ok(()));
        }
    });
    assert_eq!((sent.len(), told(&mut peer)), (1, 1));
    peer.server.close();
    assert_eq!(told(&mut peer), 0);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let open = json!({"jsonrpc": "2.0", "id": "again", "method": "initialize", "params": params});
    assert_eq!(peer.say(&open, |_, _, _| {}).len(), 1);
    peer.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), |_, _, _| {});
    assert_eq!(told(&mut peer), 0, "the next session has no subscriptions");
}
