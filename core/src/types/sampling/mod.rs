//! Sampling: a server asks the client's model. Deprecated in 2026-07-28, where it travels in
//! results.

mod content;
mod downgrade;
mod hints;
mod validation;

pub use content::{
    SamplingMessageContent, SamplingMessageContentBlock, SamplingMessageContentIter,
    ToolResultContent, ToolUseContent,
};
pub use validation::SamplingError;

use crate::lifecycle::ClientFeatures;
use crate::types::encode::macros::{names, payload};
use crate::types::encode::tell::{Tell, Teller, serialize_told};
use crate::types::{List, Number, Role, TaskMetadata, Text, Tool};
use downgrade::{AsOneBlock, OneBlockEach};

payload! {
    /// What `sampling/createMessage` asks for. Schema type `CreateMessageRequestParams`.
    ///
    /// A message of several blocks becomes several messages of one block where the revision has no lists of blocks (before 2025-11-25).
    pub struct CreateMessageParams<'a> {
        new {
            /// The conversation.
            "messages" messages: list(SamplingMessage<'a>), via Messages;
            /// How long the answer may be.
            "maxTokens" max_tokens: of(u64);
        }
        with {
            /// Which model.
            "modelPreferences" model_preferences: of(ModelPreferences<'a>);
            /// Instructions for the model.
            "systemPrompt" system_prompt: text;
            /// Context that the client should add. Other than `none`: deprecated, and needs `sampling.context` from 2025-11-25 on.
            "includeContext" include_context: of(IncludeContext);
            /// How random the answer is.
            "temperature" temperature: of(Number<'a>);
            /// Texts at which to stop.
            "stopSequences" stop_sequences: list(Text<'a>);
            /// For the provider of the model: its own.
            "metadata" metadata: object;
            /// Tools that the model may use. From 2025-11-25 on, needs `sampling.tools`.
            "tools" tools: list(Tool<'a>), in DE;
            /// Whether it must use them. From 2025-11-25 on, needs `sampling.tools`.
            "toolChoice" tool_choice: of(ToolChoice), in DE;
            /// To be run as a task. 2025-11-25 only.
            "task" task: of(TaskMetadata), in DD;
            /// Up to 2025-11-25.
            "_meta" meta: object, in AD;
        }
    }
}

struct Messages<'x, 'a>(&'x List<'a, SamplingMessage<'a>>);

impl Tell for Messages<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.or_else("$mcp?DE", self.0, &OneBlockEach(self.0));
    }
}

serialize_told!(Messages<'_, '_>, Contents<'_, '_>);

impl CreateMessageParams<'_> {
    /// What the client must have declared.
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
            /// Who says it.
            "role" role: of(Role);
            /// What is said.
            "content" content: of(SamplingMessageContent<'a>), via Contents;
        }
        with {
            /// From 2025-11-25 on.
            "_meta" meta: object, in DE;
        }
    }
}

struct Contents<'x, 'a>(&'x SamplingMessageContent<'a>);

impl Tell for Contents<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.or_else("$mcp?DE", self.0, &AsOneBlock(self.0));
    }
}

impl<'a> SamplingMessage<'a> {
    /// Text that the person says.
    #[must_use]
    pub const fn user(text: &'a str) -> Self {
        Self::new(Role::User, SamplingMessageContent::text(text))
    }

    /// Text that the model says.
    #[must_use]
    pub const fn assistant(text: &'a str) -> Self {
        Self::new(Role::Assistant, SamplingMessageContent::text(text))
    }
}

payload! {
    /// Which model a server would like. Schema type `ModelPreferences`.
    pub struct ModelPreferences<'a> {
        new {}
        with {
            /// The first that matches a model wins.
            "hints" hints: list(ModelHint<'a>);
            /// From 0 to 1: it should be cheap.
            "costPriority" cost_priority: of(Number<'a>);
            /// From 0 to 1: it should be fast.
            "speedPriority" speed_priority: of(Number<'a>);
            /// From 0 to 1: it should be capable.
            "intelligencePriority" intelligence_priority: of(Number<'a>);
        }
    }
}

payload! {
    /// The name of a model. Schema type `ModelHint`.
    pub struct ModelHint<'a> {
        new {}
        with {
            /// A part of the name.
            "name" name: text;
        }
    }
}

names! {
    /// Context that a client should add to a conversation.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum IncludeContext {
        /// None.
        None = "none",
        /// What it has from the server that asks. Deprecated.
        ThisServer = "thisServer",
        /// What it has from all servers. Deprecated.
        AllServers = "allServers",
    }
}

payload! {
    /// Whether a model must use tools. From 2025-11-25 on, schema type `ToolChoice`.
    pub struct ToolChoice {
        new {}
        with {
            /// Default: auto.
            "mode" mode: of(ToolChoiceMode);
        }
    }
}

names! {
    /// Whether a model must use tools.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum ToolChoiceMode {
        /// It decides.
        Auto = "auto",
        /// It must.
        Required = "required",
        /// It must not.
        None = "none",
    }
}

payload! {
    /// What the model said: the answer to `sampling/createMessage`. Schema type `CreateMessageResult`.
    ///
    /// Several blocks become one text where the revision has no lists of blocks (before 2025-11-25).
    pub struct CreateMessageResult<'a> {
        new {
            /// The model.
            "role" role: of(Role);
            /// What it said.
            "content" content: of(SamplingMessageContent<'a>), via Contents;
            /// Its name.
            "model" model: text;
        }
        with {
            /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse` (from 2025-11-25 on), or anything else.
            "stopReason" stop_reason: text;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}
