//! Results of servers: tools, errors, content.

use mcp_sansio::types::*;
use mcp_sansio::{CallOutcome, ConnectError, Entry, Era, Revision};
use serde_json::{Value, json};

use super::support::{Peer, REVISIONS, outcome_of, raw, result_of};

/// Calls a tool, and hands over its result.
fn call(revision: Revision, result: &Value, mut read: impl FnMut(CallToolResult<'_>)) {
    let mut is_read = false;
    Peer::new(revision).asks("tools/call", &json!({"name": "t"}), result, |_, event, _| {
        read(result_of(event).to().expect("a result"));
        is_read = true;
    });
    assert!(is_read);
}

#[test]
fn comp_07_arguments_that_are_known_go_along_from_2025_06_18_on() {
    for revision in REVISIONS {
        let mut peer = Peer::new(revision);
        let known = raw(r#"{"owner":"me"}"#);
        let argument = CompletionArgument::new("repository", "mc");
        let prompt = CompletionReference::Prompt(PromptReference::new("open"));
        let context = CompletionContext::new().arguments(known);
        let params = CompleteParams::new(prompt, argument).context(context);
        let sent = peer.sends("completion/complete", &params);
        let context =
            (revision >= Revision::V2025_06_18).then(|| json!({"arguments": {"owner": "me"}}));
        assert_eq!(sent["params"].get("context").cloned(), context, "in {revision}");
    }
}

#[test]
fn tool_14_structured_content_has_the_type_of_the_revision() {
    let read = |revision: Revision, content: &str| {
        let text = format!(r#"{{"content":[]{content}}}"#);
        let result: CallToolResult<'_> = raw(&text).to().expect("a result");
        result.structured_content_for(revision).map(|content| content.as_str().to_owned())
    };
    for (content, known_in) in
        [("{\"a\":1}", "CDE"), ("[1]", "E"), ("7", "E"), ("\"x\"", "E"), ("null", "E")]
    {
        for (code, revision) in "ABCDE".chars().zip(REVISIONS) {
            let expected = known_in.contains(code).then(|| content.to_owned());
            let found = read(revision, &format!(",\"structuredContent\":{content}"));
            assert_eq!(found, expected, "{content} in {revision}");
            assert_eq!(read(revision, ""), None, "an absent member is not null");
        }
    }
}

#[test]
fn tool_12_tool_21_structured_content_is_checked_before_it_is_believed() {
    let tool = r#"{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}"#;
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let tool: Tool<'_> = raw(tool).to().expect("a tool");
        for (result, good) in [
            (json!({"content": [], "structuredContent": {"n": 1}}), true),
            (json!({"content": [], "structuredContent": {"n": "1"}}), false),
            (json!({"content": [], "structuredContent": {}}), false),
            (json!({"content": [], "structuredContent": [1]}), false),
            (json!({"content": []}), false),
        ] {
            call(revision, &result, |read| {
                let (entry, content) = (Entry::from(&tool), read.structured_content_for(revision));
                let is_good = entry.check_structured(content).is_ok();
                assert_eq!(is_good, good, "{result} in {revision}");
            });
        }
    }
}

#[test]
fn tool_22_a_tool_that_failed_is_a_result_for_the_model() {
    for revision in REVISIONS {
        let result =
            json!({"content": [{"type": "text", "text": "no such city"}], "isError": true});
        call(revision, &result, |result| {
            assert_eq!(result.is_error, Some(true));
            let Some(Ok(ContentBlock::Text(said))) = result.content.get(0) else { panic!() };
            assert!(said.text == "no such city", "in {revision}");
        });
    }
}

#[test]
fn tool_06_tools_are_called_by_the_name_that_was_listed() {
    let mut peer = Peer::new(Revision::LATEST);
    for name in ["read", "Read", "READ"] {
        let sent = peer.sends("tools/call", &CallToolParams::new(name));
        assert_eq!(sent["params"]["name"], name);
    }
}

#[test]
fn tool_24_a_schema_reaches_a_client_with_all_its_keywords() {
    let schema = r#"{"type":"object","x-mcp-header":"X","properties":{"a":{"$comment":"é","contentEncoding":"base64"}},"unheard":[1.50]}"#;
    let tool = format!(r#"{{"name":"t","inputSchema":{schema},"outputSchema":{schema}}}"#);
    let tool: Tool<'_> = raw(&tool).to().expect("a tool");
    let read = [Some(tool.input_schema), tool.output_schema];
    assert_eq!(read.map(|read| read.unwrap().as_str()), [schema; 2]);
}

#[test]
fn prm_12_content_of_any_type_is_read() {
    let content = json!([
        {"type": "text", "text": "t"}, {"type": "image", "data": "iQ==", "mimeType": "image/png"}, {"type": "hologram", "x": 1},
        {"type": "audio", "data": "Ug==", "mimeType": "audio/wav"}, {"type": "resource_link", "uri": "file:///a", "name": "a"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "t"}}, {"type": "text"}, 7,
    ]);
    for revision in REVISIONS {
        call(revision, &json!({"content": content}), |result| {
            let kind = |block| match block {
                Ok(ContentBlock::Text(_)) => 't',
                Ok(ContentBlock::Image(_)) => 'i',
                Ok(ContentBlock::Audio(_)) => 'a',
                Ok(ContentBlock::ResourceLink(_)) => 'l',
                Ok(ContentBlock::Resource(_)) => 'r',
                Ok(_) => 'o',
                Err(_) => '-',
            };
            let kinds: String = result.content.iter().map(kind).collect();
            assert_eq!(kinds, "tioalr--", "in {revision}");
        });
    }
}

#[test]
fn res_05_no_such_resource_is_understood_in_both_codes() {
    let verdict = |revision: Revision, error: Value| {
        let mut peer = Peer::new(revision);
        let sent = peer.sends("resources/read", &ResourceParams::new("file:///a"));
        let mut verdict = None;
        peer.is_answered(&sent, "error", &error, |_, event, _| {
            let CallOutcome::Error(error) = outcome_of(event) else { panic!("{event:?}") };
            verdict = Some(error.is_resource_not_found());
        });
        verdict.expect("a response")
    };
    for revision in REVISIONS {
        for (code, data, is_not_found) in [
            (-32002, json!(null), true),
            (-32602, json!({"uri": "file:///a"}), true),
            (-32602, json!(null), false),
            (-32603, json!({"uri": "file:///a"}), false),
        ] {
            let error = json!({"code": code, "message": "no", "data": data});
            assert_eq!(verdict(revision, error.clone()), is_not_found, "{error}");
        }
    }
}

#[test]
fn err_01_err_09_errors_of_the_server_have_their_own_type() {
    for revision in REVISIONS {
        for code in [-32700, -32600, -32601, -32602, -32603] {
            let mut peer = Peer::new(revision);
            let sent = peer.sends("tools/list", &PaginatedParams::new());
            let mut seen = None;
            let error = json!({"code": code, "message": "m", "data": [1]});
            peer.is_answered(&sent, "error", &error, |_, event, _| {
                let CallOutcome::Error(error) = outcome_of(event) else { panic!("{event:?}") };
                seen = Some((error.code(), error.data().map(|data| data.as_str().to_owned())));
            });
            assert_eq!(seen, Some((code, Some("[1]".to_owned()))), "in {revision}");
        }
    }
    assert_ne!(ConnectError::TimedOut.to_string(), "", "every connect error has a message");
    assert_eq!(Peer::new(Revision::LATEST).client.era(), Some(Era::Modern));
}
