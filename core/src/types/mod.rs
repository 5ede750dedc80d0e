//! Payloads: what the messages of the protocol carry, by the names of its schema.
//!
//! Each type is both what an application writes down, in a `const` if it likes, and what it reads
//! from a message with [`RawJson::to`]; read or written, it borrows and copies nothing. The
//! serializer of this crate leaves out what the peer's revision does not know; any other
//! (serde_json, say) writes everything.
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
//! What is required is an argument of `new`; all else has a setter with the name of its field.
//! Unknown members are skipped when a type is read. Whoever passes a message on takes its
//! [`RawJson`] instead.
//!
//! [`RawJson::to`]: crate::RawJson::to
//! [`RawJson`]: crate::RawJson

mod common;
mod completion;
mod content;
mod elicitation;
pub(crate) mod encode;
mod input;
mod lifecycle;
mod logging;
mod progress;
mod prompt;
mod resource;
mod roots;
mod sampling;
mod subscription;
mod task;
mod tool;

// Common types.
pub use common::meta::{self, SERVER_INFO, SUBSCRIPTION_ID};
pub use common::{
    Blob, BlobError, CacheHint, CacheScope, Icon, IconTheme, List, ListIter, Map, MapIter, Number,
    PaginatedParams, Text,
};
pub use content::{
    Annotations, AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, Role,
    TextContent,
};
// Errors.
pub use common::{
    ErrorObject, MissingRequiredClientCapabilityData, ResourceErrorData,
    UnsupportedProtocolVersionData, UrlElicitationRequiredData,
};
// `initialize` and `server/discover`.
pub use lifecycle::{
    ClientCapabilities, DiscoverResult, Implementation, InitializeParams, InitializeResult,
    ServerCapabilities, SupportedVersions,
};
// Server features.
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext,
    CompletionReference, PromptReference, ResourceTemplateReference,
};
pub use logging::{LoggingLevel, LoggingMessageParams, SetLevelParams};
pub use prompt::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult,
    Resource, ResourceContents, ResourceData, ResourceParams, ResourceTemplate,
};
pub use subscription::{SubscriptionFilter, SubscriptionsListenParams};
pub(crate) use tool::StructuredContent;
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
pub use input::{InputRequest, InputRequests, InputRequiredResult, InputResponse, InputResponses};
pub use roots::{ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    SamplingError, SamplingMessage, SamplingMessageContent, SamplingMessageContentBlock,
    SamplingMessageContentIter, ToolChoice, ToolChoiceMode, ToolResultContent, ToolUseContent,
};
// Messages of both sides.
pub use progress::{CancelledParams, EmptyParams, EmptyResult, ProgressParams};
pub use task::TaskMetadata;
