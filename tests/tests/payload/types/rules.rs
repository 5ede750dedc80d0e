//! Common types, and rules for tools, resources and prompts.

use mcp_sansio::types::*;
use mcp_sansio::{JsonStr, RawJson, Revision};
use serde_json::json;

use super::support::{REVISIONS, raw, value_of, written};

/// All types can be built in a `const`.
const TOOLS: [Tool; 1] = [Tool::new("read", RawJson::from_static(r#"{"type":"object"}"#))
    .description("Reads the thermometer")
    .annotations(ToolAnnotations::new().read_only_hint(true))];
const LIST: ListToolsResult = ListToolsResult::new(&TOOLS).next_cursor("2");

#[test]
fn constants_are_written_with_the_members_that_the_newest_revision_requires() {
    let expected = json!({
        "tools": [{"name": "read", "inputSchema": {"type": "object"}, "description": "Reads the thermometer",
            "annotations": {"readOnlyHint": true}}],
        "nextCursor": "2", "ttlMs": 0, "cacheScope": "private",
    });
    assert_eq!(written(&LIST, Revision::LATEST), expected);
}

#[test]
fn objects_must_be_objects_without_duplicate_keys() {
    for wrong in [
        r#"{"name":"a","inputSchema":null}"#,
        r#"{"name":"a","inputSchema":[]}"#,
        r#"{"name":"a"}"#,
        r#"{"name":1,"inputSchema":{}}"#,
        r#"{"name":"a","name":"a","inputSchema":{}}"#,
        r#"["a",{}]"#,
        r#"{"name":"a","inputSchema":{},"_meta":7}"#,
    ] {
        assert!(raw(wrong).to::<Tool>().is_err(), "{wrong}");
    }
    // Escapes in keys, unknown members of any length, and null for optional members.
    let long = "\\u0041".repeat(300);
    let text = format!(r#"{{"\u006eame":"a","inputSchema":{{}},"title":null,"{long}":[{{}}]}}"#);
    let tool: Tool = raw(&text).to().expect("a tool");
    assert!(tool.name == "a" && tool.title.is_none());
}

#[test]
fn tool_10_input_schemas_are_never_null() {
    assert!(raw(r#"{"name":"a","inputSchema":null}"#).to::<Tool>().is_err());
    assert_eq!(written(&TOOLS[0], Revision::LATEST)["inputSchema"], json!({"type": "object"}));
}

#[test]
fn tool_14_structured_content_is_any_value_in_the_newest_revision_only() {
    let result: CallToolResult =
        raw(r#"{"content":[],"structuredContent":null}"#).to().expect("a result");
    assert!(result.structured_content.is_some_and(RawJson::is_null), "null is a value");
    let absent: CallToolResult = raw(r#"{"content":[]}"#).to().expect("a result");
    assert!(absent.structured_content.is_none());
    for (text, revisions) in [("null", "E"), ("[1]", "E"), (r#"{"a":1}"#, "CDE")] {
        for (letter, revision) in "ABCDE".chars().zip(REVISIONS) {
            let value = written(&CallToolResult::new(&[]).structured_content(raw(text)), revision);
            assert_eq!(
                value.get("structuredContent").is_some(),
                revisions.contains(letter),
                "{text} in {revision}"
            );
        }
    }
    let result = ToolResultContent::new("1", &[]).structured_content(raw("[1]"));
    assert_eq!(written(&result, Revision::V2025_11_25).get("structuredContent"), None);
    assert_eq!(written(&result, Revision::LATEST)["structuredContent"], json!([1]));
    let list = Tool::new("a", RawJson::EMPTY).output_schema(raw(r#"{"type":"array"}"#));
    assert_eq!(written(&list, Revision::V2025_11_25).get("outputSchema"), None);
    assert_eq!(written(&list, Revision::LATEST)["outputSchema"], json!({"type": "array"}));
}

#[test]
fn tool_16_failures_are_results() {
    let content = [ContentBlock::text("no such sensor")];
    let expected =
        json!({"content": [{"type": "text", "text": "no such sensor"}], "isError": true});
    assert_eq!(written(&CallToolResult::error(&content), Revision::LATEST), expected);
    assert_eq!(written(&TextResult::error("no such sensor"), Revision::LATEST), expected);
    assert_eq!(
        written(&TextResult::new("21"), Revision::LATEST),
        json!({"content": [{"type": "text", "text": "21"}]})
    );
}

#[test]
fn tool_24_unknown_schema_keywords_survive() {
    let schema = r##"{"type":"object","$schema":"x","unevaluatedProperties":false,"properties":{"a":{"x-mcp-header":"A","$ref":"#/$defs/a"}},"allOf":[{}]}"##;
    let text = format!(r#"{{"name":"a","inputSchema":{schema},"outputSchema":{schema}}}"#);
    let tool: Tool = raw(&text).to().expect("a tool");
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let value = written(&tool, revision);
        let expected = (&value_of(raw(schema)), &value_of(raw(schema)));
        assert_eq!((&value["inputSchema"], &value["outputSchema"]), expected);
    }
}

#[test]
fn cache_02_cache_03_cache_09_cache_10_hints_are_read_leniently_and_written_right() {
    for (text, ttl) in [("-5", Some(0)), ("0.5", Some(0)), ("60000", Some(60000)), ("null", None)] {
        let text = format!(r#"{{"tools":[],"ttlMs":{text},"cacheScope":"public"}}"#);
        let list: ListToolsResult = raw(&text).to().expect("a list");
        assert_eq!((list.ttl_ms, list.cache_scope), (ttl, Some(CacheScope::Public)));
    }
    let absent: ListToolsResult = raw(r#"{"tools":[]}"#).to().expect("a list");
    assert_eq!((absent.ttl_ms.unwrap_or_default(), absent.cache_scope), (0, None));
    let value = written(
        &ListToolsResult::new(&[]).ttl_ms(5).cache_scope(CacheScope::Public),
        Revision::LATEST,
    );
    assert_eq!((&value["ttlMs"], &value["cacheScope"]), (&json!(5), &json!("public")));
}

#[test]
fn res_09_prm_08_prm_09_binary_data_is_base64() {
    const BYTES: &[u8] = &[0, 255, 254, 62, 63];
    for value in [
        written(&ResourceContents::blob("u:", BYTES), Revision::LATEST)["blob"].clone(),
        written(&ContentBlock::image(BYTES, "image/png"), Revision::V2024_11_05)["data"].clone(),
        written(&ContentBlock::audio(BYTES, "audio/wav"), Revision::V2025_03_26)["data"].clone(),
    ] {
        assert_eq!(value, "AP/+Pj8=");
    }
    // Written as it was read, even if it is not base64.
    let image: ContentBlock =
        raw(r#"{"type":"image","data":"base64-data","mimeType":"image/png"}"#)
            .to()
            .expect("an image");
    assert_eq!(written(&image, Revision::LATEST)["data"], "base64-data");
}

#[test]
fn prm_10_embedded_resources_have_text_or_data() {
    let block =
        ContentBlock::resource(ResourceContents::text("file:///a", "t").mime_type("text/plain"));
    assert_eq!(
        written(&block, Revision::V2024_11_05),
        json!({"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "t"}})
    );
    assert!(
        raw(r#"{"type":"resource","resource":{"uri":"file:///a"}}"#).to::<ContentBlock>().is_err()
    );
    assert!(raw(r#"{"type":"resource","resource":{"text":"a"}}"#).to::<ContentBlock>().is_err());
    // `type` is not required when reading; hints are accepted where the documentation once put
    // them.
    let text = r#"{"type":"resource","resource":{"uri":"file:///a","blob":"AA==","annotations":{"priority":1}}}"#;
    let block: ContentBlock = raw(text).to().expect("a block");
    assert_eq!(written(&block, Revision::LATEST), value_of(raw(text)));
}

#[test]
fn prm_12_unknown_content_types_are_kept() {
    let text = r#"{"type":"hologram","data":[1,{"a":null}],"x":"\u0041"}"#;
    let block: ContentBlock = raw(text).to().expect("a block");
    assert!(matches!(block, ContentBlock::Other(_)));
    let spoken: SamplingMessageContentBlock = raw(text).to().expect("a block");
    for revision in REVISIONS {
        assert_eq!(written(&block, revision), value_of(raw(text)));
        assert_eq!(written(&spoken, revision), value_of(raw(text)));
    }
    assert!(
        raw(r#"{"text":"a"}"#).to::<ContentBlock>().is_err()
            && raw("7").to::<ContentBlock>().is_err()
    );
}

#[test]
fn prm_12_content_that_a_revision_does_not_know_leaves_a_notice() {
    let audio = AudioContent::new(Blob::new(b"x"), "audio/wav")
        .annotations(Annotations::new().priority(Number::new(1)));
    let link = ContentBlock::ResourceLink(ResourceLink::new("file:///a\"b", "a"));
    let blocks = [ContentBlock::Audio(audio), link, ContentBlock::text("t")];
    let kinds = |revision| -> Vec<String> {
        let value = written(&CallToolResult::new(&blocks), revision);
        value["content"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|block| block["type"].as_str().unwrap_or("?").to_owned())
            .collect()
    };
    assert_eq!(kinds(Revision::V2024_11_05), ["text", "text", "text"]);
    assert_eq!(kinds(Revision::V2025_03_26), ["audio", "text", "text"]);
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        assert_eq!(kinds(revision), ["audio", "resource_link", "text"]);
    }
    let old = written(&CallToolResult::new(&blocks), Revision::V2024_11_05);
    let audio = "[audio/wav audio: this protocol revision has no audio content]";
    let expected = json!({"type": "text", "text": audio, "annotations": {"priority": 1}});
    assert_eq!(old["content"][0], expected);
    assert_eq!(old["content"][1], json!({"type": "text", "text": "[resource a: file:///a\"b]"}));
    let message = PromptMessage::new(Role::User, blocks[0]);
    assert_eq!(written(&message, Revision::V2024_11_05)["content"]["text"], audio);
}

#[test]
fn comp_01_at_most_100_values_are_written() {
    let names: Vec<String> = (0..150).map(|n| n.to_string()).collect();
    let values: Vec<Text> = names.iter().map(|name| Text::new(name)).collect();
    for revision in REVISIONS {
        for count in [0, 1, 99, 100, 101, 150] {
            let result = CompleteResult::new(Completion::new(&values[..count]));
            let value = &written(&result, revision)["completion"];
            assert_eq!(
                value["values"],
                json!(names[..count.min(100)]),
                "in the order of the handler"
            );
            let more = count > 100;
            assert_eq!(value.get("total"), more.then(|| json!(count)).as_ref());
            assert_eq!(value.get("hasMore"), more.then_some(json!(true)).as_ref());
        }
    }
    let value = written(&Completion::new(&values).total(4000).has_more(false), Revision::LATEST);
    assert_eq!((&value["total"], &value["hasMore"]), (&json!(4000), &json!(true)));
    // The same for received values.
    let text = json!({"completion": {"values": names}}).to_string();
    let read: CompleteResult = raw(&text).to().expect("a result");
    let value = written(&read, Revision::V2024_11_05);
    let found = (value["completion"]["values"][99].as_str(), &value["completion"]["total"]);
    assert_eq!(found, (Some("99"), &json!(150)));
}

#[test]
fn comp_07_resolved_arguments_are_in_the_context() {
    let text = r#"{"ref":{"type":"ref/resource","uri":"file:///{a}"},"argument":{"name":"b","value":""},"context":{"arguments":{"a":"1"}}}"#;
    let params: CompleteParams = raw(text).to().expect("params");
    assert!(
        params.context_argument("a").is_some_and(|a| a == "1")
            && params.context_argument("b").is_none()
    );
    assert!(
        matches!(params.reference, CompletionReference::Resource(reference) if reference.uri == "file:///{a}")
    );
}

#[test]
fn levels_of_log_messages_are_ordered() {
    let names = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    let levels: Vec<_> =
        names.iter().map(|name| LoggingLevel::parse(name).expect("a level")).collect();
    assert!(levels.is_sorted() && levels.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(levels.iter().zip(names).all(|(level, name)| level.as_str() == name));
    assert_eq!(LoggingLevel::parse("fatal"), None);
    let expected = Some(LoggingLevel::Info);
    assert_eq!(LoggingLevel::from_json(JsonStr::from_static(r#""\u0069nfo""#)), expected);
    assert!(raw(r#"{"level":"fatal"}"#).to::<SetLevelParams>().is_err());
}

#[test]
fn meta_01_unknown_keys_pass_untouched() {
    let meta = r#"{"io.modelcontextprotocol/unknown":{"a":[1.0,"\u00e9"]},"com.example/b":null}"#;
    let text = format!(r#"{{"name":"a","inputSchema":{{}},"_meta":{meta}}}"#);
    let tool: Tool = raw(&text).to().expect("a tool");
    assert_eq!(tool.meta.expect("the member is present").as_str(), meta);
    assert_eq!(written(&tool, Revision::V2025_06_18)["_meta"], value_of(raw(meta)));
}

#[test]
fn meta_02_meta_03_meta_04_cap_16_keys_follow_the_grammar() {
    for key in [
        "a",
        "a/b",
        "com.example/x",
        "a-b.c1/",
        "progressToken",
        "x/a.b_c-d",
        "1",
        "",
        "traceparent",
        meta::RELATED_TASK,
    ] {
        assert!(meta::is_valid_key(key), "{key}");
    }
    for key in [
        "/a", "a./b", ".a/b", "1a/b", "a-/b", "a_b/c", "a/b/c", "-a", "a-", "a b", "é", "a/_b",
        "a..b/c", "a/b.",
    ] {
        assert!(!meta::is_valid_key(key), "{key}");
    }
    assert!(meta::is_valid_extension_id("io.modelcontextprotocol/tasks"));
    assert!(!meta::is_valid_extension_id("tasks") && !meta::is_valid_extension_id("com.example/"));
}

#[test]
fn meta_06_meta_07_reserved_prefixes_by_revision() {
    let (c, d, e) = (Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28);
    for (key, in_c, in_d) in [
        ("io.modelcontextprotocol/a", false, true),
        ("modelcontextprotocol.io/a", true, false),
        ("mcp.dev/", true, false),
        ("dev.mcp/", false, true),
        ("tools.mcp.com/a", true, true),
        ("com.mcp.tools/a", true, true),
        ("com.example.mcp/a", false, false),
        ("a.b.mcp.com/x", true, false),
        ("mcp/a", false, false),
        ("mcp", false, false),
        ("com.example/a", false, false),
    ] {
        assert_eq!(
            (meta::is_reserved(key, c), meta::is_reserved(key, d), meta::is_reserved(key, e)),
            (in_c, in_d, in_d),
            "{key}"
        );
        assert!(!meta::is_reserved(key, Revision::V2025_03_26));
    }
}
