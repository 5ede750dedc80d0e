//! The tools, resources and prompts: a syntax error in a schema does not compile.
#![allow(dead_code, reason = "tests use the catalog without the handlers")]

use std::borrow::Cow;

use mcp_sansio::typed::{Input, Output, Prompts, Tools};
use mcp_sansio::types::{Resource, ResourceTemplate, Text};
use mcp_sansio::{Catalog, Entry, RawJson, ServedSkill, entries, skill};

/// Everything that the server lists.
pub(super) static CATALOG: Catalog<'_> = Catalog::new()
    .tools_of::<Call<'_>>()
    .resources(RESOURCES)
    .templates(TEMPLATES)
    .skills(SKILLS)
    .prompts_of::<Ask<'_>>();

#[derive(Tools)]
pub(super) enum Call<'a> {
    /// Returns text
    TestSimpleText,
    /// Returns an image
    TestImageContent,
    /// Returns audio
    TestAudioContent,
    /// Returns an embedded resource
    TestEmbeddedResource,
    /// Returns text, an image and an embedded resource
    TestMultipleContentTypes,
    /// Returns a result with isError
    TestErrorHandling,
    /// Returns structured content: an invented weather report for a city
    #[tool(read_only, returns = Weather<'static>)]
    Structured {
        /// Any name will do
        city: Text<'a>,
    },
    /// Echoes a value, which HTTP clients repeat in a header field
    TestCustomHeader {
        #[arg(header = "Value")]
        value: Text<'a>,
    },
    /// Logs a message, if the request sets a log level
    TestLoggingTool,
    /// Notifies subscribers of a change of the list of tools
    TestTriggerToolChange,
    /// Notifies subscribers of a change of the list of prompts
    TestTriggerPromptChange,
    /// Changes test://watched-resource and notifies its subscribers
    TestTriggerResourceUpdate,
    #[tool(flatten)]
    Slow(SlowCall),
    #[tool(flatten)]
    Task(TaskCall<'a>),
    #[tool(flatten)]
    Question(Question<'a>),
    #[tool(flatten)]
    Schema(SchemaCall<'a>),
}

#[derive(Output)]
pub(super) struct Weather<'a> {
    pub(super) city: Text<'a>,
    /// In degrees Celsius
    pub(super) temperature: f64,
    pub(super) conditions: Conditions,
}

#[derive(Output)]
pub(super) enum Conditions {
    Sun,
    Clouds,
    Rain,
}

/// They take time; other requests are served meanwhile.
#[derive(Tools)]
pub(super) enum SlowCall {
    /// Takes the given time, reports progress every 100 ms, and can be cancelled
    Slow(Slow),
    /// Returns whether a call of slow with that name was cancelled: yes or no
    SlowCancelled {
        #[arg(length = ..=100)]
        name: String,
    },
    /// Reports progress: 0, 50 and 100 of 100
    TestToolWithProgress,
    /// Logs three messages, 50 ms apart
    TestToolWithLogging,
    /// Responds after 100 ms
    TestReconnection,
}

/// Open, since the slow tools of other servers have other arguments beside these.
#[derive(Input)]
#[input(open)]
pub(super) struct Slow {
    #[arg(range = 0.0..=3600.0)]
    pub(super) seconds: f64,
    /// Name of the call in slow_cancelled
    #[arg(length = ..=100)]
    pub(super) name: Option<String>,
}

/// They may go on as tasks, as the suite expects it of them.
#[derive(Tools)]
pub(super) enum TaskCall<'a> {
    /// Greets at once, never as a task
    Greet { name: Text<'a> },
    /// Takes the given time, as a task if the client supports it
    #[tool(task)]
    SlowCompute {
        #[arg(range = 0.0..=3600.0)]
        seconds: f64,
        label: Option<Text<'a>>,
    },
    /// Fails after a second: a result with isError
    #[tool(task = "required")]
    FailingJob,
    /// Ends with a JSON-RPC error
    #[tool(task = "required")]
    ProtocolErrorJob,
    /// Asks for a confirmation
    #[tool(task)]
    ConfirmDelete { filename: Text<'a> },
    /// Asks two questions at once
    #[tool(task)]
    MultiInput,
    /// Asks for a name, and goes on as a task after that
    #[tool(task = "required")]
    TestToolWithTask,
}

/// They request input from the client.
#[derive(Tools)]
pub(super) enum Question<'a> {
    /// Asks the client's model
    TestSampling { prompt: Cow<'a, str> },
    /// Asks the person for a name and an address
    TestElicitation { message: Cow<'a, str> },
    /// Asks the person, with a default in each field
    TestElicitationSep1034Defaults,
    /// Asks the person to choose, with each kind of enum
    TestElicitationSep1330Enums,
    /// Asks the person for a confirmation
    TestStreamingElicitation,
    /// Rejects clients without the capability sampling
    TestMissingCapability,
    /// Asks the person for a name
    TestInputRequiredResultElicitation,
    /// Asks the client's model for a capital
    TestInputRequiredResultSampling,
    /// Asks for the client's roots
    TestInputRequiredResultListRoots,
    /// Asks for a confirmation, and wants a state back
    TestInputRequiredResultRequestState,
    /// Asks three questions at once
    TestInputRequiredResultMultipleInputs,
    /// Asks two questions, one after the other
    TestInputRequiredResultMultiRound,
    /// Asks for a confirmation, and notices a forged state
    TestInputRequiredResultTamperedState,
    /// Asks whatever the client is able to answer
    TestInputRequiredResultCapabilities,
}

#[derive(Tools)]
pub(super) enum SchemaCall<'a> {
    /// Has an input schema with keywords of JSON Schema 2020-12
    #[tool(name = "json_schema_2020_12_tool")]
    JsonSchema202012(Contact<'a>),
}

#[derive(Input)]
#[input(schema = JSON_SCHEMA_2020_12, rename_all = "camelCase")]
pub(super) struct Contact<'a> {
    name: Option<Text<'a>>,
    address: Option<RawJson<'a>>,
    contact_method: Option<ContactMethod>,
    phone: Option<Text<'a>>,
    email: Option<Text<'a>>,
}

#[derive(Input)]
enum ContactMethod {
    Phone,
    Email,
}

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

const SKILLS: &[ServedSkill<'_>] =
    &[skill!("skill://soldering" in "../../../skills/soldering", "references/IRONS.md")];

#[derive(Prompts)]
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
