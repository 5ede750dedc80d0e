//! Typed views by their name in the schema.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use allocation_counter::measure;
use mcp_sansio::types::*;
use mcp_sansio::{Encode, RawJson, Revision, to_slice};
use serde_json::Value;

pub(crate) use mcp_sansio_tests::json::{REVISIONS, raw};

/// Writes a value for a peer of `revision`.
pub(crate) fn written<T: Encode + ?Sized>(value: &T, revision: Revision) -> Value {
    let mut buffer = vec![0; 1 << 16];
    let text = without_allocation(|| to_slice(value, revision, &mut buffer));
    value_of(text.expect("the value can be written"))
}

/// Reads or writes a value. The message of an error may allocate.
fn without_allocation<T, E>(call: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let mut result = None;
    let allocations = measure(|| result = Some(call()));
    let result = result.expect("the call was made");
    assert!(allocations.count_total == 0 || result.is_err(), "{allocations:?}");
    result
}

pub(crate) fn value_of(text: RawJson<'_>) -> Value {
    serde_json::from_str(text.as_str()).expect("RawJson holds valid JSON")
}

/// Leaks a text.
pub(crate) fn leaked(value: &Value) -> RawJson<'static> {
    raw(Box::leak(value.to_string().into_boxed_str()))
}

/// Returns a directory of the specification beside the checkout, or prints that it is missing.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    static SAID: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    if SAID.lock().expect("no test fails here").insert(path.clone()) {
        say(&format!("SKIPPED: NOT compared with {}: there is no such directory", path.display()));
    }
    None
}

/// Prints past the test harness, which hides the output of tests.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns the JSON files of a directory, by name.
pub(crate) fn files(directory: &Path) -> Vec<(String, String)> {
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .expect("the directory can be read")
        .map(|entry| entry.expect("its entries, too").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("a file of the specification"))
        })
        .collect();
    files.sort();
    files
}

macro_rules! views {
    ($raw:expr, $revision:expr, $name:expr; $($($schema:literal)|+ => $type:ty,)+) => {
        match $name {
            $($($schema)|+ => without_allocation(|| $raw.to::<$type>()).map(|view| written(&view, $revision)).map_err(|error| format!("{}: {error}", $name)),)+
            other => Err(format!("no typed view for {other}")),
        }
    };
}

/// Reads `raw` as the schema type `name`, and writes it again.
pub(crate) fn again(name: &str, raw: RawJson<'_>, revision: Revision) -> Result<Value, String> {
    views! { raw, revision, name;
        "Annotations" => Annotations<'_>,
        "AudioContent" => AudioContent<'_>,
        "BlobResourceContents" | "TextResourceContents" | "ResourceContents" => ResourceContents<'_>,
        "BooleanSchema" | "EnumSchema" | "LegacyTitledEnumSchema" | "NumberSchema" | "StringSchema" | "TitledMultiSelectEnumSchema"
            | "TitledSingleSelectEnumSchema" | "UntitledMultiSelectEnumSchema" | "UntitledSingleSelectEnumSchema"
            | "PrimitiveSchemaDefinition" => PrimitiveSchema<'_>,
        "CallToolRequestParams" => CallToolParams<'_>,
        "CallToolResult" => CallToolResult<'_>,
        "CancelledNotificationParams" => CancelledParams<'_>,
        "ClientCapabilities" => ClientCapabilities<'_>,
        "CompleteRequestParams" => CompleteParams<'_>,
        "CompleteResult" => CompleteResult<'_>,
        "ContentBlock" => ContentBlock<'_>,
        "CreateMessageRequestParams" => CreateMessageParams<'_>,
        "CreateMessageResult" => CreateMessageResult<'_>,
        "DiscoverResult" => DiscoverResult<'_>,
        "ElicitRequestFormParams" | "ElicitRequestURLParams" | "ElicitRequestParams" => ElicitParams<'_>,
        "ElicitResult" => ElicitResult<'_>,
        "EmbeddedResource" => EmbeddedResource<'_>,
        "EmptyResult" | "SubscriptionsListenResult" => EmptyResult<'_>,
        "Error" | "InternalError" | "InvalidParamsError" | "MethodNotFoundError" | "ParseError" => ErrorObject<'_>,
        "GetPromptRequestParams" => GetPromptParams<'_>,
        "GetPromptResult" => GetPromptResult<'_>,
        "Icon" => Icon<'_>,
        "ImageContent" => ImageContent<'_>,
        "Implementation" => Implementation<'_>,
        "InitializeRequestParams" => InitializeParams<'_>,
        "InitializeResult" => InitializeResult<'_>,
        "InputRequest" | "CreateMessageRequest" | "ElicitRequest" | "ListRootsRequest" => InputRequest<'_>,
        "InputRequests" => InputRequests<'_>,
        "InputRequiredResult" => InputRequiredResult<'_>,
        "InputResponse" => InputResponse<'_>,
        "InputResponses" => InputResponses<'_>,
        "ListPromptsResult" => ListPromptsResult<'_>,
        "ListResourceTemplatesResult" => ListResourceTemplatesResult<'_>,
        "ListResourcesResult" => ListResourcesResult<'_>,
        "ListRootsResult" => ListRootsResult<'_>,
        "ListToolsResult" => ListToolsResult<'_>,
        "LoggingMessageNotificationParams" => LoggingMessageParams<'_>,
        "MissingRequiredClientCapabilityData" => MissingRequiredClientCapabilityData<'_>,
        "ModelHint" => ModelHint<'_>,
        "ModelPreferences" => ModelPreferences<'_>,
        "PaginatedRequestParams" => PaginatedParams<'_>,
        "ProgressNotificationParams" => ProgressParams<'_>,
        "Prompt" => Prompt<'_>,
        "PromptArgument" => PromptArgument<'_>,
        "PromptMessage" => PromptMessage<'_>,
        "ReadResourceRequestParams" => ReadResourceParams<'_>,
        "ReadResourceResult" => ReadResourceResult<'_>,
        "RequestParams" | "NotificationParams" => EmptyParams<'_>,
        "RequestedSchema" => RequestedSchema<'_>,
        "Resource" => Resource<'_>,
        "ResourceErrorData" => ResourceErrorData<'_>,
        "ResourceLink" => ResourceLink<'_>,
        "ResourceTemplate" => ResourceTemplate<'_>,
        "ResourceUpdatedNotificationParams" | "SubscribeRequestParams" | "UnsubscribeRequestParams" => ResourceParams<'_>,
        "Root" => Root<'_>,
        "Root[]" => List<'_, Root<'_>>,
        "SamplingMessage" => SamplingMessage<'_>,
        "SamplingMessageContentBlock" => SamplingMessageContentBlock<'_>,
        "ServerCapabilities" => ServerCapabilities<'_>,
        "SetLevelRequestParams" => SetLevelParams<'_>,
        "SubscriptionFilter" => SubscriptionFilter<'_>,
        "SubscriptionsListenRequestParams" | "SubscriptionsAcknowledgedNotificationParams" => SubscriptionsListenParams<'_>,
        "TextContent" => TextContent<'_>,
        "Tool" => Tool<'_>,
        "ToolAnnotations" => ToolAnnotations<'_>,
        "ToolExecution" => ToolExecution,
        "ToolResultContent" => ToolResultContent<'_>,
        "ToolUseContent" => ToolUseContent<'_>,
        "UnsupportedProtocolVersionData" => UnsupportedProtocolVersionData<'_>,
    }
}

/// Nested types: member of type, and its type, or that of its elements or members (`*`).
const INSIDE: &[(&str, &str, &str)] = &[
    ("CallToolRequestParams", "inputResponses", "InputResponses"),
    ("CallToolResult", "content", "ContentBlock"),
    ("CompleteRequestParams", "ref", "CompletionReference"),
    ("CreateMessageRequestParams", "messages", "SamplingMessage"),
    ("CreateMessageRequestParams", "modelPreferences", "ModelPreferences"),
    ("CreateMessageRequestParams", "tools", "Tool"),
    ("CreateMessageResult", "content", "SamplingMessageContentBlock"),
    ("DiscoverResult", "capabilities", "ServerCapabilities"),
    ("ElicitRequestParams", "requestedSchema", "RequestedSchema"),
    ("EmbeddedResource", "resource", "ResourceContents"),
    ("GetPromptResult", "messages", "PromptMessage"),
    ("InitializeRequestParams", "capabilities", "ClientCapabilities"),
    ("InitializeRequestParams", "clientInfo", "Implementation"),
    ("InitializeResult", "capabilities", "ServerCapabilities"),
    ("InitializeResult", "serverInfo", "Implementation"),
    ("InputRequests", "*", "InputRequest"),
    ("InputRequiredResult", "inputRequests", "InputRequests"),
    ("InputResponses", "*", "InputResponse"),
    ("ListPromptsResult", "prompts", "Prompt"),
    ("ListResourceTemplatesResult", "resourceTemplates", "ResourceTemplate"),
    ("ListResourcesResult", "resources", "Resource"),
    ("ListRootsResult", "roots", "Root"),
    ("ListToolsResult", "tools", "Tool"),
    ("ModelPreferences", "hints", "ModelHint"),
    ("Prompt", "arguments", "PromptArgument"),
    ("Prompt", "icons", "Icon"),
    ("PromptMessage", "content", "ContentBlock"),
    ("ReadResourceResult", "contents", "ResourceContents"),
    ("RequestedSchema", "properties", "Properties"),
    ("Resource", "icons", "Icon"),
    ("ResourceTemplate", "icons", "Icon"),
    ("Root[]", "*", "Root"),
    ("SamplingMessage", "content", "SamplingMessageContentBlock"),
    ("SubscriptionsListenRequestParams", "notifications", "SubscriptionFilter"),
    ("Tool", "annotations", "ToolAnnotations"),
    ("Tool", "execution", "ToolExecution"),
    ("Tool", "icons", "Icon"),
    ("ToolResultContent", "content", "ContentBlock"),
    ("Properties", "*", "PrimitiveSchemaDefinition"),
];

/// Reads and writes a value as the schema type `name`, and nested values as their types. Counts the
/// values and reports differences.
pub(crate) fn round_trip(
    name: &str,
    raw: RawJson<'_>,
    revision: Revision,
    faults: &mut Vec<String>,
) -> usize {
    let mut count = 0;
    // Names that only stand for their contents.
    if !matches!(name, "Properties" | "CompletionReference") {
        count += 1;
        match again(name, raw, revision) {
            Err(fault) => faults.push(fault),
            Ok(value) => {
                let expected = without_envelope(value_of(raw));
                if value != expected {
                    faults.push(format!("{name}: {expected} became {value}"));
                }
            }
        }
    }
    for (_, member, inside) in INSIDE.iter().filter(|(outside, ..)| *outside == name) {
        let values: Vec<_> = match *member {
            "*" => raw.members().map(|(_, value)| value).chain(raw.elements()).collect(),
            member => match raw.get(member) {
                Some(list) if list.is_array() => list.elements().collect(),
                other => other.into_iter().collect(),
            },
        };
        count += values
            .into_iter()
            .map(|value| round_trip(inside, value, revision, faults))
            .sum::<usize>();
    }
    count
}

/// `resultType` and the id belong to the envelope (the machine adds them), except in the result
/// that `resultType` distinguishes.
fn without_envelope(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        if object.get("resultType").is_some_and(|kind| kind == "complete") {
            object.remove("resultType");
        }
        if object.contains_key("method") {
            object.remove("id");
        }
    }
    value
}

/// The schema type of a method's parameters.
pub(crate) fn params_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "initialize" => "InitializeRequestParams",
        "server/discover" | "ping" | "roots/list" => "RequestParams",
        "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list" => {
            "PaginatedRequestParams"
        }
        "tools/call" => "CallToolRequestParams",
        "resources/read" => "ReadResourceRequestParams",
        "resources/subscribe" => "SubscribeRequestParams",
        "resources/unsubscribe" => "UnsubscribeRequestParams",
        "prompts/get" => "GetPromptRequestParams",
        "completion/complete" => "CompleteRequestParams",
        "logging/setLevel" => "SetLevelRequestParams",
        "subscriptions/listen" => "SubscriptionsListenRequestParams",
        "sampling/createMessage" => "CreateMessageRequestParams",
        "elicitation/create" => "ElicitRequestParams",
        "notifications/cancelled" => "CancelledNotificationParams",
        "notifications/progress" => "ProgressNotificationParams",
        "notifications/message" => "LoggingMessageNotificationParams",
        "notifications/resources/updated" => "ResourceUpdatedNotificationParams",
        "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotificationParams",
        "notifications/initialized"
        | "notifications/tools/list_changed"
        | "notifications/prompts/list_changed"
        | "notifications/resources/list_changed"
        | "notifications/roots/list_changed" => "NotificationParams",
        _ => return None,
    })
}

/// The schema type of a result or another payload, by a member that only it has.
pub(crate) fn shape_of(raw: RawJson<'_>) -> Option<&'static str> {
    if raw.is_array() {
        return raw.elements().all(|element| element.get("uri").is_some()).then_some("Root[]");
    }
    let has = |key| raw.get(key).is_some();
    let kind = raw.get("type").and_then(RawJson::as_string);
    if kind.is_some() {
        return Some("ContentBlock");
    }
    let by_key = [
        ("supportedVersions", "DiscoverResult"),
        ("protocolVersion", "InitializeResult"),
        ("inputRequests", "InputRequiredResult"),
        ("inputSchema", "Tool"),
        ("arguments", "CallToolRequestParams"),
        ("tools", "ListToolsResult"),
        ("resources", "ListResourcesResult"),
        ("resourceTemplates", "ListResourceTemplatesResult"),
        ("contents", "ReadResourceResult"),
        ("prompts", "ListPromptsResult"),
        ("messages", "GetPromptResult"),
        ("completion", "CompleteResult"),
        ("roots", "ListRootsResult"),
        ("model", "CreateMessageResult"),
        ("content", "CallToolResult"),
        ("text", "ResourceContents"),
        ("blob", "ResourceContents"),
        ("code", "Error"),
    ];
    if let Some((_, name)) = by_key.iter().find(|(key, _)| has(key)) {
        return Some(name);
    }
    match raw.members().next() {
        None => Some("EmptyResult"),
        _ if has("uri") && has("description") => Some("Resource"),
        _ if has("uri") && has("name") => Some("Root"),
        _ if has("name") && raw.members().count() == 1 => Some("ModelHint"),
        _ => None,
    }
}
