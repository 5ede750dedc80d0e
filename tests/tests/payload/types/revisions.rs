//! Fields by revision. Each type is written with all fields set; the tables list the fields in the
//! output.

use std::collections::BTreeSet;

use mcp_sansio::types::*;
use mcp_sansio::{ClientFeatures, RawJson, Revision, Revisions, ServerFeatures};
use serde_json::{Value, json};

use super::support::{REVISIONS, leaked, raw, shared, written};

const OBJECT: RawJson = RawJson::from_static(r#"{"type":"object"}"#);
const META: RawJson = RawJson::from_static(r#"{"com.example/x":1}"#);
const ICONS: &[Icon] = &[ICON];
const ICON: Icon =
    Icon::new("data:,").mime_type("image/png").sizes(&[Text::new("any")]).theme(IconTheme::Dark);
const ANNOTATIONS: Annotations = Annotations::new()
    .audience(&[Role::User])
    .priority(Number::decimal(5, 1))
    .last_modified("2025-01-12T15:00:58Z");
const TEXT: ContentBlock = ContentBlock::text("t");
const IMPLEMENTATION: Implementation = Implementation::new("n", "1")
    .title("t")
    .description("d")
    .icons(ICONS)
    .website_url("https://example.com");
const STATE: &str = "s";
const TASK: TaskMetadata = TaskMetadata::new().ttl(1);

/// Which keys a value has, revision by revision: `key` for all, `key:CE` for some.
fn expect<T: mcp_sansio::Encode + Copy>(name: &str, value: T, keys: &str) {
    let (mut faults, mut compared) = (Vec::new(), 0);
    for (index, revision) in REVISIONS.into_iter().enumerate() {
        let expected: BTreeSet<&str> = keys
            .split_whitespace()
            .filter_map(|entry| {
                let (key, range) = entry.split_once(':').unwrap_or((entry, "AE"));
                let place = |at: usize| "ABCDE".find(&range[at..=at]).expect("a revision's letter");
                (place(0)..=place(1)).contains(&index).then_some(key)
            })
            .collect();
        let value = written(&value, revision);
        let found: BTreeSet<&str> =
            value.as_object().expect("an object").keys().map(String::as_str).collect();
        if found != expected {
            faults.push(format!("{name} in {revision}: {found:?} instead of {expected:?}"));
        }
        compared += usize::from(compare_with_schema(name, revision, &found, &mut faults));
    }
    assert!(compared > 0 || shared("schema").is_none(), "missing schema of {name}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Fields that the schema of a revision does not list although they are right, or lists although
/// they belong to the envelope.
fn differs_from_schema(name: &str, key: &str, revision: Revision) -> bool {
    let modern = revision.is_modern();
    match (name, key) {
        // Members of the envelope, and one that the documentation puts inside a resource.
        (_, "resultType") | ("TextResourceContents" | "BlobResourceContents", "annotations") => {
            true
        }
        // Schema 2024-11-05 to 2025-06-18 write `_meta` of parameters in the base type only.
        (_, "_meta") => !modern && (name.ends_with("Params") || name.ends_with("Result")),
        // SEP-2133 adds extensions to capabilities from 2025-06-18 on; only the last schema lists
        // them.
        ("ServerCapabilities" | "ClientCapabilities", "extensions") => {
            !modern && revision >= Revision::V2025_06_18
        }
        _ => false,
    }
}

/// Checks the fields against the properties of the schema type. `false` if the revision has no such
/// type.
fn compare_with_schema(
    name: &str,
    revision: Revision,
    found: &BTreeSet<&str>,
    faults: &mut Vec<String>,
) -> bool {
    let Some(directory) = shared("schema") else { return false };
    let text = std::fs::read_to_string(directory.join(format!("{revision}.json")))
        .expect("a schema of each revision");
    let schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    let types = schema.get("$defs").or(schema.get("definitions")).expect("definitions of types");
    // Parameters without a type of their own are a member of the request.
    let request = name
        .strip_suffix("Params")
        .and_then(|name| types.get(name))
        .and_then(|request| request.pointer("/properties/params"));
    let Some(properties) = types.get(name).or(request).and_then(|schema| schema.get("properties"))
    else {
        return false;
    };
    let properties: BTreeSet<&str> =
        properties.as_object().expect("properties by name").keys().map(String::as_str).collect();
    for key in found.symmetric_difference(&properties) {
        if !differs_from_schema(name, key, revision) {
            let side = if found.contains(key) { "is not in" } else { "is missing, but is in" };
            faults.push(format!("{name}.{key} {side} the schema of {revision}"));
        }
    }
    true
}

#[test]
fn names_and_icons_by_revision() {
    expect(
        "Implementation",
        IMPLEMENTATION,
        "name version title:CE description:DE icons:DE websiteUrl:DE",
    );
    expect("Annotations", ANNOTATIONS, "audience priority lastModified:CE");
    assert_eq!(
        written(&ICON, Revision::LATEST),
        json!({"src": "data:,", "mimeType": "image/png", "sizes": ["any"], "theme": "dark"})
    );
}

#[test]
fn tools_by_revision() {
    let tool = Tool::new("n", OBJECT)
        .title("t")
        .description("d")
        .icons(ICONS)
        .output_schema(OBJECT)
        .annotations(
            ToolAnnotations::new()
                .title("t")
                .read_only_hint(true)
                .destructive_hint(true)
                .idempotent_hint(true)
                .open_world_hint(true),
        )
        .execution(ToolExecution::new().task_support(TaskSupport::Optional))
        .meta(META);
    expect(
        "Tool",
        tool,
        "name inputSchema title:CE description icons:DE outputSchema:CE annotations:BE execution:DD _meta:CE",
    );
    let answers: &[(&str, InputResponse)] = &[];
    let params = CallToolParams::new("n")
        .arguments(RawJson::EMPTY)
        .input_responses(InputResponses::new(answers))
        .request_state(STATE)
        .task(TASK)
        .meta(META);
    expect(
        "CallToolRequestParams",
        params,
        "name arguments inputResponses:EE requestState:EE task:DD _meta",
    );
    let content = [TEXT];
    let result = CallToolResult::new(&content).structured_content(OBJECT).is_error(true).meta(META);
    expect("CallToolResult", result, "content structuredContent:CE isError _meta");
    let tools = [tool];
    let list = ListToolsResult::new(&tools)
        .next_cursor("c")
        .ttl_ms(1)
        .cache_scope(CacheScope::Public)
        .meta(META);
    expect("ListToolsResult", list, "tools nextCursor ttlMs:EE cacheScope:EE _meta");
    expect("PaginatedRequestParams", PaginatedParams::new().cursor("c").meta(META), "cursor _meta");
}

#[test]
fn content_by_revision() {
    let data = Blob::new(b"x");
    expect(
        "TextContent",
        TextContent::new("t").annotations(ANNOTATIONS).meta(META),
        "type text annotations _meta:CE",
    );
    expect(
        "ImageContent",
        ImageContent::new(data, "image/png").annotations(ANNOTATIONS).meta(META),
        "type data mimeType annotations _meta:CE",
    );
    expect(
        "AudioContent",
        AudioContent::new(data, "audio/wav").annotations(ANNOTATIONS).meta(META),
        "type text:AA data:BE mimeType:BE annotations _meta:CE",
    );
    let contents = ResourceContents::text("u:", "t").mime_type("text/plain").meta(META);
    expect("TextResourceContents", contents, "uri mimeType text _meta:CE");
    let contents = ResourceContents::blob("u:", b"t").mime_type("text/plain").meta(META);
    expect("BlobResourceContents", contents, "uri mimeType blob _meta:CE");
    expect(
        "EmbeddedResource",
        EmbeddedResource::new(contents).annotations(ANNOTATIONS).meta(META),
        "type resource annotations _meta:CE",
    );
}

#[test]
fn resources_by_revision() {
    let resource = Resource::new("u:", "n")
        .title("t")
        .description("d")
        .mime_type("text/plain")
        .size(1)
        .icons(ICONS)
        .annotations(ANNOTATIONS)
        .meta(META);
    expect(
        "Resource",
        resource,
        "uri name title:CE description mimeType size icons:DE annotations _meta:CE",
    );
    let template = ResourceTemplate::new("u:{x}", "n")
        .title("t")
        .description("d")
        .mime_type("text/plain")
        .icons(ICONS)
        .annotations(ANNOTATIONS)
        .meta(META);
    expect(
        "ResourceTemplate",
        template,
        "uriTemplate name title:CE description mimeType icons:DE annotations _meta:CE",
    );
    let (resources, templates) = ([resource], [template]);
    let list = ListResourcesResult::new(&resources).next_cursor("c").meta(META);
    expect("ListResourcesResult", list, "resources nextCursor ttlMs:EE cacheScope:EE _meta");
    let list = ListResourceTemplatesResult::new(&templates).next_cursor("c").meta(META);
    expect(
        "ListResourceTemplatesResult",
        list,
        "resourceTemplates nextCursor ttlMs:EE cacheScope:EE _meta",
    );
    let params = ReadResourceParams::new("u:")
        .request_state(STATE)
        .input_responses(InputResponses::new(&[]))
        .meta(META);
    expect("ReadResourceRequestParams", params, "uri inputResponses:EE requestState:EE _meta");
    let contents = [ResourceContents::text("u:", "t")];
    expect(
        "ReadResourceResult",
        ReadResourceResult::new(&contents).meta(META),
        "contents ttlMs:EE cacheScope:EE _meta",
    );
    let link =
        ResourceLink::new("u:", "n").title("t").icons(ICONS).annotations(ANNOTATIONS).meta(META);
    let link = link.description("d").mime_type("text/plain").size(1);
    assert_eq!(written(&link, Revision::V2025_06_18).get("icons"), None);
    assert_eq!(written(&link, Revision::V2025_11_25).as_object().expect("an object").len(), 10);
}

#[test]
fn prompts_by_revision() {
    let argument = PromptArgument::new("n").title("t").description("d").required(true);
    expect("PromptArgument", argument, "name title:CE description required");
    let arguments = [argument];
    let prompt =
        Prompt::new("n").title("t").description("d").arguments(&arguments).icons(ICONS).meta(META);
    expect("Prompt", prompt, "name title:CE description arguments icons:DE _meta:CE");
    let params = GetPromptParams::new("n")
        .arguments(OBJECT)
        .input_responses(InputResponses::new(&[]))
        .request_state(STATE)
        .meta(META);
    expect(
        "GetPromptRequestParams",
        params,
        "name arguments inputResponses:EE requestState:EE _meta",
    );
    let code = RawJson::from_static(r#"{"code":"a\u0062","n":1}"#);
    let params = GetPromptParams::new("n").arguments(code);
    assert!(params.argument("code").is_some_and(|code| code == "ab"));
    assert!(params.argument("n").is_none() && params.argument("other").is_none());
    let messages = [PromptMessage::user("t")];
    expect(
        "GetPromptResult",
        GetPromptResult::new(&messages).description("d").meta(META),
        "messages description _meta",
    );
    let prompts = [prompt];
    let list = ListPromptsResult::new(&prompts).next_cursor("c").meta(META);
    expect("ListPromptsResult", list, "prompts nextCursor ttlMs:EE cacheScope:EE _meta");
    let reference = CompletionReference::Prompt(PromptReference::new("n").title("t"));
    let params = CompleteParams::new(reference, CompletionArgument::new("a", "v"))
        .context(CompletionContext::new().arguments(OBJECT))
        .meta(META);
    expect("CompleteRequestParams", params, "ref argument context:CE _meta");
    expect("PromptReference", PromptReference::new("n").title("t"), "type name title:CE");
}

#[test]
fn messages_of_a_session_by_revision() {
    let client = ClientCapabilities::new(ClientFeatures::ROOTS);
    let params = InitializeParams::new(Revision::V2025_11_25, client, IMPLEMENTATION).meta(META);
    assert_eq!(written(&params, Revision::V2025_11_25).as_object().expect("an object").len(), 4);
    let server = ServerCapabilities::new(ServerFeatures::TOOLS);
    let result = InitializeResult::new(Revision::V2025_06_18, server, IMPLEMENTATION)
        .instructions("i")
        .meta(META);
    let expected = json!({"name": "n", "version": "1", "title": "t"});
    assert_eq!(written(&result, Revision::V2025_06_18)["serverInfo"], expected);
    let result = DiscoverResult::new(Revisions::ALL, server).instructions("i").meta(META);
    let keys = "supportedVersions capabilities instructions ttlMs cacheScope _meta";
    expect("DiscoverResult", result, keys);
    let token = raw("1");
    let progress =
        ProgressParams::new(token, Number::new(1)).total(Number::new(2)).message("m").meta(META);
    expect("ProgressNotificationParams", progress, "progressToken progress total message:BE _meta");
    expect(
        "CancelledNotificationParams",
        CancelledParams::new(token).reason("r").meta(META),
        "requestId reason _meta",
    );
    let log = LoggingMessageParams::new(LoggingLevel::Error, RawJson::NULL).logger("l").meta(META);
    expect("LoggingMessageNotificationParams", log, "level data logger _meta");
    let filter = SubscriptionFilter::new()
        .tools_list_changed(true)
        .prompts_list_changed(true)
        .resources_list_changed(true);
    let uris = [Text::new("u:")];
    let params = SubscriptionsListenParams::new(filter.resource_subscriptions(&uris)).meta(META);
    assert_eq!(
        written(&params, Revision::LATEST),
        json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
            "resourceSubscriptions": ["u:"]}, "_meta": {"com.example/x": 1}})
    );
}

#[test]
fn questions_to_the_client_by_revision() {
    let hints = [ModelHint::new().name("m")];
    let half = Number::decimal(5, 1);
    let preferences = ModelPreferences::new()
        .hints(&hints)
        .cost_priority(half)
        .speed_priority(half)
        .intelligence_priority(half);
    expect(
        "ModelPreferences",
        preferences,
        "hints costPriority speedPriority intelligencePriority",
    );
    let message = SamplingMessage::user("t").meta(META);
    expect("SamplingMessage", message, "role content _meta:DE");
    let (messages, stops, tools) = ([message], [Text::new("s")], [Tool::new("n", OBJECT)]);
    let params = CreateMessageParams::new(&messages, 1)
        .model_preferences(preferences)
        .system_prompt("s")
        .include_context(IncludeContext::None)
        .temperature(half)
        .stop_sequences(&stops)
        .metadata(OBJECT)
        .tools(&tools)
        .tool_choice(ToolChoice::new().mode(ToolChoiceMode::Auto))
        .task(TASK)
        .meta(META);
    let keys = "messages maxTokens modelPreferences systemPrompt includeContext temperature stopSequences metadata tools:DE toolChoice:DE \
                task:DD _meta:AD";
    expect("CreateMessageRequestParams", params, keys);
    let result = CreateMessageResult::new(Role::Assistant, SamplingMessageContent::text("t"), "m")
        .stop_reason("endTurn")
        .meta(META);
    expect("CreateMessageResult", result, "role content model stopReason _meta");
    let root = Root::new("file:///").name("n").meta(META);
    expect("Root", root, "uri name _meta:CE");
    let roots = [root];
    expect("ListRootsResult", ListRootsResult::new(&roots).meta(META), "roots _meta:AD");
    let form = ElicitFormParams::new("m", RequestedSchema::new(&[]))
        .mode(FormMode::Form)
        .task(TASK)
        .meta(META);
    expect("ElicitRequestFormParams", form, "message requestedSchema mode:DE task:DD _meta:AD");
    let url =
        ElicitUrlParams::new("m", "https://example.com").elicitation_id("1").task(TASK).meta(META);
    expect("ElicitRequestURLParams", url, "mode message url elicitationId:DD task:DD _meta:AD");
    expect("ElicitResult", ElicitResult::accept(OBJECT).meta(META), "action content _meta:AD");
    let (uses, input) = ([("k", InputRequest::ListRoots)], OBJECT);
    let result = InputRequiredResult::new()
        .input_requests(InputRequests::new(&uses))
        .request_state(STATE)
        .meta(META);
    expect("InputRequiredResult", result, "resultType inputRequests requestState _meta");
    assert_eq!(
        written(&ToolUseContent::new("1", "n", input).meta(META), Revision::LATEST)
            .as_object()
            .expect("an object")
            .len(),
        5
    );
}

#[test]
fn cap_05_cap_10_cap_11_capabilities_by_revision() {
    use ServerFeatures as S;
    let all = S::TOOLS_LIST_CHANGED
        .with(S::RESOURCES_SUBSCRIBE)
        .with(S::RESOURCES_LIST_CHANGED)
        .with(S::PROMPTS_LIST_CHANGED)
        .with(S::COMPLETIONS)
        .with(S::LOGGING);
    let tasks = all.with(S::TASKS);
    let server = ServerCapabilities::new(tasks).experimental(OBJECT).extensions(OBJECT);
    expect(
        "ServerCapabilities",
        server,
        "tools resources prompts completions:BE logging experimental tasks:DD extensions:CE",
    );
    assert_eq!(
        written(&ServerCapabilities::new(all), Revision::LATEST),
        json!({"tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true}, "prompts": {"listChanged": true},
            "completions": {}, "logging": {}})
    );
    let found = written(&ServerCapabilities::new(S::TOOLS.with(S::PROMPTS)), Revision::LATEST);
    assert_eq!(found, json!({"tools": {}, "prompts": {}}));
    let read: ServerCapabilities =
        leaked(&written(&server, Revision::LATEST)).to().expect("an object");
    assert_eq!(read.features(Revision::LATEST), tasks);
    assert_eq!(
        read.extension("type")
            .and_then(|value| value.as_string())
            .map(|text| text.to_string())
            .as_deref(),
        Some("object")
    );

    use ClientFeatures as C;
    let all = C::ROOTS_LIST_CHANGED
        .with(C::SAMPLING_TOOLS)
        .with(C::SAMPLING_CONTEXT)
        .with(C::ELICITATION_FORM)
        .with(C::ELICITATION_URL);
    let tasks = all.with(C::TASKS_ELICITATION);
    let client = ClientCapabilities::new(tasks).experimental(OBJECT).extensions(OBJECT);
    expect(
        "ClientCapabilities",
        client,
        "roots sampling elicitation:CE experimental tasks:DD extensions:CE",
    );
    let modes = json!({"form": {}, "url": {}});
    for (revision, roots, sampling, elicitation) in [
        (Revision::V2024_11_05, json!({"listChanged": true}), json!({}), Value::Null),
        (Revision::V2025_03_26, json!({"listChanged": true}), json!({}), Value::Null),
        (Revision::V2025_06_18, json!({"listChanged": true}), json!({}), json!({})),
        (
            Revision::V2025_11_25,
            json!({"listChanged": true}),
            json!({"tools": {}, "context": {}}),
            modes.clone(),
        ),
        (Revision::V2026_07_28, json!({}), json!({"tools": {}, "context": {}}), modes),
    ] {
        let value = written(&client, revision);
        assert_eq!(
            (&value["roots"], &value["sampling"], &value["elicitation"]),
            (&roots, &sampling, &elicitation),
            "{revision}"
        );
        let read: ClientCapabilities = leaked(&value).to().expect("an object");
        assert_eq!(read.features(revision), ClientFeatures::read(leaked(&value), revision));
    }
    // 2025-06-18 has no URL mode, so a client with nothing else has no elicitation there.
    let pages = ClientCapabilities::new(C::ELICITATION_URL);
    assert_eq!(written(&pages, Revision::V2025_06_18), json!({}));
    assert_eq!(written(&pages, Revision::V2025_11_25), json!({"elicitation": {"url": {}}}));
    let only_form: ClientCapabilities = raw(r#"{"elicitation": {}}"#).to().expect("an object");
    assert_eq!(only_form.features(Revision::LATEST), C::ELICITATION_FORM);
}
