//! Payloads: the parameters, results and data types of the protocol, named as in its schema.
//!
//! The names are those of the schema without `Request` and `Notification`: [`CallToolParams`] is
//! schema type `CallToolRequestParams`. Each type can be written, also as a `const`, and read from
//! a message with [`RawJson::to`]; both borrow, and copy nothing. The serializer of this crate
//! omits members that the peer's revision does not define; other serializers (e.g. serde_json)
//! write all.
//!
//! ```
//! use mcp_sansio::types::{CallToolParams, CallToolResult, ContentBlock, Tool, ToolAnnotations};
//! use mcp_sansio::{RawJson, Revision, to_slice};
//!
//! const ECHO: Tool = Tool::new("echo", RawJson::from_static(r#"{"type": "object"}"#))
//!     .title("Echo")
//!     .annotations(ToolAnnotations::new().read_only_hint(true));
//!
//! let mut buffer = [0; 256];
//! let old = to_slice(&ECHO, Revision::V2024_11_05, &mut buffer).unwrap();
//! assert_eq!(old.as_str(), r#"{"name":"echo","inputSchema":{"type": "object"}}"#);
//!
//! let params: CallToolParams =
//!     RawJson::from_static(r#"{"name": "echo", "arguments": {"text": "hi"}}"#).to().unwrap();
//! assert!(params.name == ECHO.name);
//! ```
//!
//! Required members are arguments of `new`. Optional members have a setter with the name of the
//! field. Reading skips unknown members, so a proxy should forward the [`RawJson`] instead.
//!
//! | Section of the schema | Types |
//! | --- | --- |
//! | Common types | [`Text`], [`List`], [`Map`], [`Number`], [`Blob`], [`Icon`], [`Icons`], [`Annotations`], [`Role`], [`PaginatedParams`], [`CacheHint`], [`EmptyParams`], [`EmptyResult`] |
//! | Content | [`ContentBlock`] |
//! | Errors | [`ErrorObject`] and its `...Data` |
//! | `initialize`, `server/discover` | [`InitializeParams`], [`InitializeResult`], [`DiscoverResult`], [`Implementation`], [`ClientCapabilities`], [`ServerCapabilities`] |
//! | Tools | [`Tool`], [`ListToolsResult`], [`CallToolParams`], [`CallToolResult`], [`TextResult`] |
//! | Resources | [`Resource`], [`ResourceTemplate`], [`ListResourcesResult`], [`ListResourceTemplatesResult`], [`ReadResourceParams`], [`ReadResourceResult`], [`ResourceContents`], [`ResourceParams`] |
//! | Prompts | [`Prompt`], [`ListPromptsResult`], [`GetPromptParams`], [`GetPromptResult`] |
//! | Completion | [`CompleteParams`], [`CompleteResult`] |
//! | Subscriptions | [`SubscriptionsListenParams`], [`SubscriptionFilter`] |
//! | Logging | [`LoggingLevel`], [`SetLevelParams`], [`LoggingMessageParams`] |
//! | Progress, cancellation | [`ProgressParams`], [`CancelledParams`] |
//! | Elicitation | [`ElicitParams`], [`RequestedSchema`], [`ElicitResult`] |
//! | Sampling | [`CreateMessageParams`], [`SamplingMessage`], [`CreateMessageResult`] |
//! | Roots | [`Root`], [`ListRootsResult`] |
//! | Skills, with the feature `skills` | `Skill`, `ListSkillsResult`, `GetSkillResult`, `ReadDirectoryParams`, `ReadDirectoryResult` |
//! | Multi round-trip requests | [`InputRequiredResult`], [`InputRequest`], [`InputResponse`] |
//! | Tasks | [`Task`], [`TaskStatus`], [`TaskMetadata`], [`TaskParams`], [`UpdateTaskParams`], [`ListTasksResult`] |
//! | MCP Apps | [`ui`] |
//!
//! [`RawJson::to`]: crate::RawJson::to
//! [`RawJson`]: crate::RawJson

mod capabilities;
mod common;
mod content;
mod elicitation;
mod initialize;
mod input;
mod list;
mod macros;
pub mod meta;
mod prompt;
pub(crate) mod rendered;
mod resource;
mod sampling;
#[cfg(feature = "skills")]
mod skill;
pub(crate) mod task;
pub(crate) mod tool;
pub mod ui;
pub(crate) mod utilities;

pub(crate) use macros::setters;

// Common types.
pub use common::{
    Blob, BlobError, CacheHint, CacheScope, Icon, IconTheme, Icons, List, ListIter, Map, MapIter,
    Number, PaginatedParams, Text,
};
pub use content::{
    Annotations, AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, Role,
    TextContent,
};
pub use meta::{SERVER_INFO, SUBSCRIPTION_ID};
// Errors.
pub use common::{
    ErrorObject, MissingRequiredClientCapabilityData, ResourceErrorData,
    UnsupportedProtocolVersionData, UrlElicitationRequiredData,
};
// `initialize` and `server/discover`.
pub use capabilities::{ClientCapabilities, DeclaredExtensions, ServerCapabilities};
pub(crate) use initialize::Info;
pub use initialize::{
    DiscoverResult, Implementation, InitializeParams, InitializeResult, SupportedVersions,
};
// Server features.
pub use prompt::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult,
    Resource, ResourceContents, ResourceData, ResourceParams, ResourceTemplate, SubscriptionFilter,
    SubscriptionsListenParams,
};
#[cfg(feature = "skills")]
pub use skill::{
    DIRECTORY, GetSkillResult, ListSkillsResult, ReadDirectoryParams, ReadDirectoryResult, Skill,
    SkillResource, SkillResources,
};
pub(crate) use tool::knows_structured_content;
pub use tool::{
    CallToolParams, CallToolResult, ListToolsResult, TaskSupport, TextResult, Tool,
    ToolAnnotations, ToolExecution,
};
// Client features.
pub use elicitation::{
    BooleanSchema, ElicitAction, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams,
    ElicitationCompleteParams, EnumOption, EnumOptions, Field, Fields, FormDefaults, FormError,
    FormErrorKind, FormMode, MAX_FORM_FIELDS, MultiSelectEnumSchema, MultiSelectItems, NumberKind,
    NumberSchema, PrimitiveSchema, RequestedSchema, SingleSelectEnumSchema, StringSchema,
};
pub use input::{
    InputRequest, InputRequests, InputRequiredResult, InputResponse, InputResponses,
    ListRootsResult, Root,
};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, MAX_TOOL_USES, ModelHint,
    ModelPreferences, SamplingError, SamplingMessage, SamplingMessageContent,
    SamplingMessageContentBlock, SamplingMessageContentIter, ToolChoice, ToolChoiceMode,
    ToolResultContent, ToolUseContent,
};
// Messages of both roles.
pub use task::{ListTasksResult, Task, TaskMetadata, TaskParams, TaskStatus, UpdateTaskParams};
pub use utilities::{
    CancelledParams, CompleteParams, CompleteResult, Completion, CompletionArgument,
    CompletionContext, CompletionReference, EmptyParams, EmptyResult, LoggingLevel,
    LoggingMessageParams, ProgressParams, PromptReference, ResourceTemplateReference,
    SetLevelParams,
};
