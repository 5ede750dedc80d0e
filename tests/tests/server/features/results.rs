//! Results, in each revision and through buffers of any size.

use mcp_sansio::types::*;
use mcp_sansio::{
    Catalog, Delivery, Json, LogMessage, MAX_ID, Revision, ServerConfig, ServerEvent, Target,
};
use mcp_sansio_tests::delivery::respond;
use serde_json::{Value, json};

use super::support::{
    EVERYTHING, Peer, REVISIONS, assert_refused, can_do_everything, entries, raw,
};

/// Responds to a `tools/call`; returns the result without members of the envelope.
fn result_of<T: mcp_sansio::Encode>(revision: Revision, result: &T) -> Value {
    let answer = Peer::new(revision).call(|server, request, tx| {
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
            let answer = Peer::new(revision).call(|server, request, tx| {
                assert_eq!(server.respond_structured(request.handle, raw(data), tx), Ok(()));
            });
            let result = &answer["result"];
            let value: Value = serde_json::from_str(data).expect("JSON");
            let structured = revisions.contains(code).then_some(&value);
            assert_eq!(result.get("structuredContent"), structured, "{data} in {revision}");
            let same = json!([{"type": "text", "text": data}]);
            assert_eq!(result["content"], same, "{revision}");
        }
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
            let params = json!({"name": "t", "arguments": arguments});
            Peer::new(revision).ask("tools/call", params, |server, request, tx| {
                if let Target::Responded = catalog.respond(server, request, tx).unwrap() {
                    let late = respond(server, request.handle, tx, |server, tx| {
                        server.respond_invalid_arguments(request.handle, &"not so", tx)
                    });
                    return assert_eq!(late, Ok(Delivery::Gone));
                }
                runs += 1;
                assert_eq!(server.respond(request.handle, &TextResult::new("ran"), tx), Ok(()));
            })
        };
        for (arguments, reason) in [
            (json!({}), "n: is missing"),
            (json!({"n": "1"}), r#"n: must be of type integer, is "1""#),
            (json!({"n": -1}), "n: must be at least 0, is -1"),
        ] {
            assert_refused(revision, &call(arguments), reason);
        }
        assert_eq!(call(json!({"n": 0}))["result"]["content"][0]["text"], "ran");
        assert_eq!(runs, 1, "the tool ran only with valid arguments");
    }
}

#[test]
fn tool_17_reasons_are_escaped_and_come_through_any_buffer() {
    for revision in REVISIONS {
        for size in [1, 7, 64, 4096] {
            let (mut peer, params) = (Peer::new(revision), json!({"name": "t"}));
            let answer = peer.ask_through(size, "tools/call", params, |server, request, tx| {
                server.respond_invalid_arguments(request.handle, &"a \"b\"\n\u{1}é", tx)
            });
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
            let blocks = list.as_array().expect("a list").iter();
            blocks.map(|block| block["type"].as_str().expect("a type").to_owned()).collect()
        };
        let audio = if revision == Revision::V2024_11_05 { "text" } else { "audio" };
        let link = if revision < Revision::V2025_06_18 { "text" } else { "resource_link" };
        let expected = ["text", "image", audio, link, "resource", "resource"];
        let content = result_of(revision, &CallToolResult::new(&blocks))["content"].clone();
        assert_eq!(kinds(&content), expected, "{revision}");
        assert_eq!(content[1], json!({"type": "image", "data": "iQ==", "mimeType": "image/png"}));
        let text = json!({"uri": "file:///a", "mimeType": "text/plain", "text": "t"});
        let bytes = json!({"uri": "file:///b", "mimeType": "image/png", "blob": "/w=="});
        assert_eq!((&content[4]["resource"], &content[5]["resource"]), (&text, &bytes));
        // The same blocks, one in each message of a prompt.
        let messages = blocks.map(|block| PromptMessage::new(Role::Assistant, block));
        let answer =
            Peer::new(revision).ask("prompts/get", json!({"name": "p"}), |server, request, tx| {
                let result = GetPromptResult::new(&messages);
                assert_eq!(server.respond(request.handle, &result, tx), Ok(()));
            });
        let messages = answer["result"]["messages"].as_array().expect("a list");
        let content: Vec<Value> =
            messages.iter().map(|message| message["content"].clone()).collect();
        assert_eq!(kinds(&Value::from(content)), expected, "{revision}");
        assert!(messages.iter().all(|message| message["role"] == "assistant"));
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
        let members = value.as_object().expect("an object");
        let members: BTreeMap<_, _> = members.iter().map(|(key, it)| (key.as_str(), it)).collect();
        for revision in REVISIONS {
            let mut peer = Peer::with_config(revision, &NAMED, can_do_everything());
            let answers = [0, 1, 2, 3].map(|form| {
                let mut answer = peer.call(|server, request, tx| {
                    let flat = || Flat { members: members.clone() };
                    let answered = match form {
                        0 => server.respond(request.handle, &raw(text), tx),
                        1 => server.respond(request.handle, &Json(&value), tx),
                        2 => server.respond(request.handle, &Json(&members), tx),
                        _ => server.respond(request.handle, &Json(flat()), tx),
                    };
                    assert_eq!(answered, Ok(()));
                });
                answer["result"].take()
            });
            for answer in &answers {
                assert_eq!(answer, &answers[0], "{text} in {revision}");
                for (key, value) in &members {
                    let is_kept = *key == "_meta" || answer[key] == **value;
                    assert!(is_kept, "{text} in {revision}: {answer}");
                }
            }
            let name = &answers[0]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
            let added = |added: &'static str| revision.is_modern().then_some(added);
            let own = if text.contains("serverInfo") { Some("x") } else { added("s") };
            assert_eq!(name.as_str(), own, "{text}");
            let own = if text.contains("mine") { Some("mine") } else { added("complete") };
            assert_eq!(answers[0]["resultType"].as_str(), own, "{text} in {revision}");
        }
    }
}

#[test]
fn every_form_of_a_text_is_logged_alike() {
    fn warning<T: ?Sized>(data: &T) -> LogMessage<'_, T> {
        LogMessage::new(LoggingLevel::Warning, data).logger("boot")
    }
    let string = raw("\"ready\"").as_string().expect("a string");
    for revision in REVISIONS {
        let mut peer = Peer::new(revision);
        let mut message = peer.request("tools/call", json!({"name": "t"}));
        if revision.is_modern() {
            message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
        }
        let sent = peer.say(&message, |server, event, tx| {
            let ServerEvent::Request(request) = event else { panic!("{event:?}") };
            let (owned, handle) = (String::from("ready"), request.handle);
            let logged = [
                server.log(handle, &warning("ready"), tx),
                server.log(handle, &warning(&"ready"), tx),
                server.log(handle, &warning(&owned), tx),
                server.log(handle, &warning(&string), tx),
                server.log(handle, &warning(&raw("\"ready\"")), tx),
                server.log(handle, &warning(&Json("ready")), tx),
                server.log(handle, &warning(&Text::new("ready")), tx),
            ];
            assert_eq!(logged, [Ok(Delivery::Sent); 7]);
            assert_eq!(server.respond(request.handle, &TextResult::new("x"), tx), Ok(()));
        });
        assert_eq!(sent.len(), 8, "{sent:?}");
        for message in &sent[..7] {
            let params = json!({"level": "warning", "logger": "boot", "data": "ready"});
            assert_eq!(message["method"], "notifications/message");
            assert_eq!(message["params"], params);
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
