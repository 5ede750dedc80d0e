//! The tools, resources and prompts as constants: a syntax error in a schema does not compile.

use mcp_sansio::typed::Prompts;
use mcp_sansio::types::{Resource, ResourceTemplate, Text, Tool, ToolAnnotations};
use mcp_sansio::{Catalog, Entry, RawJson, entries};

/// Everything that the server lists.
pub(super) static CATALOG: Catalog<'_> =
    Catalog::new().tools(TOOLS).resources(RESOURCES).templates(TEMPLATES).prompts_of::<Ask<'_>>();

const TOOLS: &[Entry<'_>] = entries![
    // One for each kind of content.
    simple("test_simple_text", "Returns text"),
    simple("test_image_content", "Returns an image"),
    simple("test_audio_content", "Returns audio"),
    simple("test_embedded_resource", "Returns an embedded resource"),
    simple("test_multiple_content_types", "Returns text, an image and an embedded resource"),
    simple("test_error_handling", "Returns a result with isError"),
    Tool::new("structured", CITY)
        .description("Returns structured content: an invented weather report for a city")
        .output_schema(WEATHER)
        .annotations(ToolAnnotations::new().read_only_hint(true)),
    Tool::new("test_custom_header", VALUE)
        .description("Echoes a value, which HTTP clients repeat in a header field"),
    Tool::new("json_schema_2020_12_tool", JSON_SCHEMA_2020_12)
        .description("Has an input schema with keywords of JSON Schema 2020-12"),
    // Slow tools.
    Tool::new("slow", SECONDS)
        .description("Takes the given time, reports progress every 100 ms, and can be cancelled"),
    Tool::new("slow_cancelled", NAME)
        .description("Returns whether a call of slow with that name was cancelled: yes or no"),
    simple("test_tool_with_progress", "Reports progress: 0, 50 and 100 of 100"),
    simple("test_tool_with_logging", "Logs three messages, 50 ms apart"),
    simple("test_logging_tool", "Logs a message, if the request sets a log level"),
    simple("test_reconnection", "Responds after 100 ms"),
    // Tools that notify subscribers.
    simple("test_trigger_tool_change", "Notifies subscribers of a change of the list of tools"),
    simple("test_trigger_prompt_change", "Notifies subscribers of a change of the list of prompts"),
    simple(
        "test_trigger_resource_update",
        "Changes test://watched-resource and notifies its subscribers",
    ),
    // Tools that send requests to the client, or ask for input (2026-07-28).
    Tool::new("test_sampling", PROMPT).description("Asks the client's model"),
    Tool::new("test_elicitation", MESSAGE).description("Asks the person for a name and an address"),
    simple("test_elicitation_sep1034_defaults", "Asks the person, with a default in each field"),
    simple("test_elicitation_sep1330_enums", "Asks the person to choose, with each kind of enum"),
    simple("test_streaming_elicitation", "Asks the person for a confirmation"),
    simple("test_missing_capability", "Rejects clients without the capability sampling"),
    simple("test_input_required_result_elicitation", "Asks the person for a name"),
    simple("test_input_required_result_sampling", "Asks the client's model for a capital"),
    simple("test_input_required_result_list_roots", "Asks for the client's roots"),
    simple(
        "test_input_required_result_request_state",
        "Asks for a confirmation, and wants a state back",
    ),
    simple("test_input_required_result_multiple_inputs", "Asks three questions at once"),
    simple("test_input_required_result_multi_round", "Asks two questions, one after the other"),
    simple(
        "test_input_required_result_tampered_state",
        "Asks for a confirmation, and notices a forged state",
    ),
    simple("test_input_required_result_capabilities", "Asks whatever the client is able to answer"),
];

const RESOURCES: &[Entry<'_>] = entries![
    Resource::new("test://static-text", "Static text")
        .description("A text that never changes")
        .mime_type("text/plain"),
    Resource::new("test://static-binary", "Static picture")
        .description("A picture that never changes")
        .mime_type("image/png"),
    Resource::new("test://watched-resource", "Watched text")
        .description("A text that test_trigger_resource_update changes")
        .mime_type("text/plain"),
];

const TEMPLATES: &[Entry<'_>] = entries![
    ResourceTemplate::new("test://template/{id}/data", "Data by id")
        .description("Data that shows the id in its URI")
        .mime_type("application/json")
];

#[derive(Prompts)]
#[allow(dead_code, reason = "tests use the catalog without the prompts")]
pub(super) enum Ask<'a> {
    /// Says one thing
    #[prompt(name = "test_simple_prompt")]
    Simple,
    /// Shows its two arguments
    #[prompt(name = "test_prompt_with_arguments")]
    Arguments {
        /// The first
        arg1: Text<'a>,
        /// The second
        arg2: Text<'a>,
    },
    /// Contains the contents of a resource
    #[prompt(name = "test_prompt_with_embedded_resource")]
    EmbeddedResource {
        /// Its URI
        #[arg(name = "resourceUri")]
        resource_uri: Text<'a>,
    },
    /// Contains a picture
    #[prompt(name = "test_prompt_with_image")]
    Image,
    /// Asks the person for context first
    #[prompt(name = "test_input_required_result_prompt")]
    InputRequired,
}

/// Creates a tool without arguments.
const fn simple(name: &'static str, description: &'static str) -> Tool<'static> {
    Tool::new(
        name,
        RawJson::from_static(r#"{"type":"object","properties":{},"additionalProperties":false}"#),
    )
    .description(description)
}

const CITY: RawJson<'_> = RawJson::from_static(
    r#"{"type":"object","properties":{"city":{"type":"string","description":"Any name will do"}},"required":["city"]}"#,
);

const WEATHER: RawJson<'_> = RawJson::from_static(
    r#"{
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "temperature": {"type": "number", "description": "In degrees Celsius"},
            "conditions": {"type": "string", "enum": ["sun", "clouds", "rain"]}
        },
        "required": ["city", "temperature", "conditions"]
    }"#,
);

const VALUE: RawJson<'_> = RawJson::from_static(
    r#"{"type":"object","properties":{"value":{"type":"string","x-mcp-header":"Value"}},"required":["value"]}"#,
);

const SECONDS: RawJson<'_> = RawJson::from_static(
    r#"{"type":"object","properties":{"seconds":{"type":"number","minimum":0,"maximum":3600},
    "name":{"type":"string","maxLength":100,"description":"What slow_cancelled calls it"}},"required":["seconds"]}"#,
);

const NAME: RawJson<'_> = RawJson::from_static(
    r#"{"type":"object","properties":{"name":{"type":"string","maxLength":100}},"required":["name"]}"#,
);

const PROMPT: RawJson<'_> = RawJson::from_static(
    r#"{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}"#,
);

const MESSAGE: RawJson<'_> = RawJson::from_static(
    r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#,
);

/// The schema is sent as it is written here.
const JSON_SCHEMA_2020_12: RawJson<'_> = RawJson::from_static(
    r##"{
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    }"##,
);
