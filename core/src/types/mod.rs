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

mod blob;
mod cache;
mod capabilities;
mod completion;
mod content;
mod elicitation;
mod error;
mod form;
mod form_check;
mod form_defaults;
mod implementation;
mod initialize;
mod input;
mod list;
mod logging;
mod macros;
pub mod meta;
mod model_choice;
mod number;
mod older;
mod page;
mod progress;
mod prompt;
mod resource;
mod roots;
mod sampling;
mod sampling_check;
mod sampling_content;
mod sampling_older;
mod select;
mod subscription;
mod task;
pub(crate) mod tell;
mod text;
mod told;
mod tool;

pub use blob::{Blob, BlobError};
pub use cache::CacheHint;
pub use capabilities::{ClientCapabilities, ServerCapabilities};
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext,
    CompletionRef, PromptReference, ResourceTemplateReference,
};
pub use content::{
    Annotations, AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, Role,
    TextContent,
};
pub use elicitation::{
    ElicitAction, ElicitForm, ElicitParams, ElicitResult, ElicitUrl, ElicitationCompleteParams,
    FormMode,
};
pub use error::{
    ErrorObject, MissingCapabilityData, ResourceErrorData, UnsupportedVersionData,
    UrlElicitationRequiredData,
};
pub use form::{
    BooleanSchema, Field, FieldSchema, Fields, MAX_FORM_FIELDS, NumberKind, NumberSchema,
    RequestedSchema, StringSchema,
};
pub use form_check::{FormError, FormFault};
pub use form_defaults::FormDefaults;
pub use implementation::{Icon, IconTheme, Implementation};
pub use initialize::{DiscoverResult, InitializeParams, InitializeResult, SupportedVersions};
pub use input::{InputRequest, InputRequests, InputRequiredResult, InputResponse, InputResponses};
pub use list::{List, ListIter, Map, MapIter};
pub use logging::{LoggingLevel, LoggingMessageParams, SetLevelParams};
pub use meta::{SERVER_INFO, SUBSCRIPTION_ID};
pub use number::Number;
pub use page::{CacheScope, PaginatedParams};
pub use progress::{CancelledParams, EmptyParams, EmptyResult, ProgressParams};
pub use prompt::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult,
    Resource, ResourceContents, ResourceData, ResourceParams, ResourceTemplate,
};
pub use roots::{ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    SamplingMessage, ToolChoice, ToolChoiceMode,
};
pub use sampling_check::SamplingError;
pub use sampling_content::{
    Blocks, SamplingContent, SamplingContents, ToolResultContent, ToolUseContent,
};
pub use select::{Choice, Items, Options, SelectManySchema, SelectSchema};
pub use subscription::{SubscriptionFilter, SubscriptionParams};
pub use task::TaskMetadata;
pub use text::Text;
pub(crate) use tool::StructuredContent;
pub use tool::{
    CallToolParams, CallToolResult, ListToolsResult, TaskSupport, TextResult, Tool,
    ToolAnnotations, ToolExecution,
};
