//! Sampling: a server requests a message of the client's model. Deprecated in 2026-07-28, where the
//! request is an [`InputRequest`](crate::types::InputRequest).

mod content;
mod downgrade;
mod hints;
mod validation;

pub use content::{
    SamplingMessageContent, SamplingMessageContentBlock, SamplingMessageContentIter,
    ToolResultContent, ToolUseContent,
};
pub use validation::SamplingError;

use crate::encode::{Encode, Encoder};
use crate::lifecycle::{ClientFeatures, Revision};
use crate::types::macros::{names, payload};
use crate::types::{List, Number, Role, TaskMetadata, Text, Tool};
use downgrade::{AsOneBlock, OneBlockEach};

payload! {
    /// Parameters of `sampling/createMessage`. Schema type `CreateMessageRequestParams`.
    ///
    /// Before 2025-11-25, a message has one block: a message of several blocks is written as
    /// several messages.
    ///
    /// ```
    /// use mcp_sansio::types::{CreateMessageParams, ModelHint, ModelPreferences, SamplingMessage};
    ///
    /// let messages = [SamplingMessage::user("What is the capital of France?")];
    /// let hints = [ModelHint::new().name("sonnet")];
    /// let params = CreateMessageParams::new(&messages, 100)
    ///     .system_prompt("Answer in one word.")
    ///     .model_preferences(ModelPreferences::new().hints(&hints));
    /// assert!(params.validate().is_ok());
    /// ```
    pub struct CreateMessageParams<'a> {
        writer write_members;
        new {
            /// Messages of the conversation.
            "messages" messages: list(SamplingMessage<'a>) => via Messages;
            /// Maximum number of tokens that the model may generate.
            "maxTokens" max_tokens: of(u64);
        }
        with {
            /// Preferences for the choice of a model; the client may ignore them.
            "modelPreferences" model_preferences: of(ModelPreferences<'a>);
            /// System prompt; the client may modify or omit it.
            "systemPrompt" system_prompt: text;
            /// Context that the client should add. Values other than `none` are deprecated and
            /// require the client capability `sampling.context` since 2025-11-25.
            "includeContext" include_context: of(IncludeContext);
            /// Sampling temperature.
            "temperature" temperature: of(Number<'a>);
            /// Sequences at which generation stops.
            "stopSequences" stop_sequences: list(Text<'a>);
            /// Metadata for the provider of the model, in a format of its own.
            "metadata" metadata: object;
            /// Tools that the model may use. Since 2025-11-25, requires the client capability
            /// `sampling.tools`.
            "tools" tools: list(Tool<'a>), since V2025_11_25;
            /// Whether the model may or must use tools. Since 2025-11-25, requires the client
            /// capability `sampling.tools`.
            "toolChoice" tool_choice: of(ToolChoice), since V2025_11_25;
            /// Asks for execution as a task. 2025-11-25 only.
            "task" task: of(TaskMetadata), only V2025_11_25;
            /// Metadata by key: see [`meta`](crate::types::meta). Up to 2025-11-25.
            "_meta" meta: object, until V2025_11_25;
        }
    }
}

/// Messages of one block each, for revisions before 2025-11-25.
struct Messages<'x, 'a>(&'x List<'a, SamplingMessage<'a>>);

impl Encode for Messages<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        if to.revision() < Revision::V2025_11_25 {
            OneBlockEach(self.0).encode(to);
        } else {
            self.0.encode(to);
        }
    }
}

impl CreateMessageParams<'_> {
    /// Returns the client capabilities that the request requires.
    #[must_use]
    pub const fn required_capabilities(&self) -> ClientFeatures {
        let mut features = ClientFeatures::SAMPLING;
        if self.tools.is_some() || self.tool_choice.is_some() {
            features = features.with(ClientFeatures::SAMPLING_TOOLS);
        }
        if matches!(
            self.include_context,
            Some(IncludeContext::ThisServer | IncludeContext::AllServers)
        ) {
            features = features.with(ClientFeatures::SAMPLING_CONTEXT);
        }
        features
    }
}

payload! {
    /// A message of a conversation. Schema type `SamplingMessage`.
    pub struct SamplingMessage<'a> {
        new {
            /// Sender of the message.
            "role" role: of(Role);
            /// Content of the message.
            "content" content: of(SamplingMessageContent<'a>) => via Contents;
        }
        with {
            /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-11-25.
            "_meta" meta: object, since V2025_11_25;
        }
    }
}

/// Content of one block, for revisions before 2025-11-25.
struct Contents<'x, 'a>(&'x SamplingMessageContent<'a>);

impl Encode for Contents<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        if to.revision() < Revision::V2025_11_25 {
            AsOneBlock(self.0).encode(to);
        } else {
            self.0.encode(to);
        }
    }
}

impl<'a> SamplingMessage<'a> {
    /// Creates a text message of the user.
    #[must_use]
    pub const fn user(text: &'a str) -> Self {
        Self::new(Role::User, SamplingMessageContent::text(text))
    }

    /// Creates a text message of the model.
    #[must_use]
    pub const fn assistant(text: &'a str) -> Self {
        Self::new(Role::Assistant, SamplingMessageContent::text(text))
    }
}

payload! {
    /// Preferences of a server for the choice of a model. Schema type `ModelPreferences`.
    pub struct ModelPreferences<'a> {
        new {}
        with {
            /// Names of models, of which the first that matches is taken.
            "hints" hints: list(ModelHint<'a>);
            /// Importance of low cost, from 0 to 1.
            "costPriority" cost_priority: of(Number<'a>);
            /// Importance of low latency, from 0 to 1.
            "speedPriority" speed_priority: of(Number<'a>);
            /// Importance of intelligence and capabilities, from 0 to 1.
            "intelligencePriority" intelligence_priority: of(Number<'a>);
        }
    }
}

payload! {
    /// Hint for the choice of a model. Schema type `ModelHint`.
    pub struct ModelHint<'a> {
        new {}
        with {
            /// Part of the name of a model or family of models, e.g. `sonnet`.
            "name" name: text;
        }
    }
}

names! {
    /// Context that a client should add: `includeContext` of schema type
    /// `CreateMessageRequestParams`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum IncludeContext {
        /// No context.
        None = "none",
        /// Context of the requesting server. Deprecated.
        ThisServer = "thisServer",
        /// Context of all connected servers. Deprecated.
        AllServers = "allServers",
    }
}

payload! {
    /// Whether a model may or must use tools. Since 2025-11-25, schema type `ToolChoice`.
    pub struct ToolChoice {
        new {}
        with {
            /// Mode of tool use. Default: auto.
            "mode" mode: of(ToolChoiceMode);
        }
    }
}

names! {
    /// Mode of tool use: `mode` of schema type `ToolChoice`. Since 2025-11-25.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum ToolChoiceMode {
        /// The model decides.
        Auto = "auto",
        /// The model must use at least one tool.
        Required = "required",
        /// The model must not use tools.
        None = "none",
    }
}

payload! {
    /// Result of `sampling/createMessage`: the message of the model. Schema type
    /// `CreateMessageResult`.
    ///
    /// Before 2025-11-25, a message has one block: several blocks are written as one text block.
    pub struct CreateMessageResult<'a> {
        writer write_members;
        new {
            /// Sender of the message: the assistant.
            "role" role: of(Role);
            /// Content of the message.
            "content" content: of(SamplingMessageContent<'a>) => via Contents;
            /// Name of the model.
            "model" model: text;
        }
        with {
            /// The reason why generation stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`
            /// (since 2025-11-25) or another string.
            "stopReason" stop_reason: text;
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}
