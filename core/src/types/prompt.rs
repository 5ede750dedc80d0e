//! Prompts: messages that a person picks, filled in by a server.

use super::encode::macros::payload;
use super::{CacheScope, ContentBlock, Icon, InputResponses, Role, Text};
use crate::json::RawJson;

payload! {
    /// A prompt. Schema type `Prompt`.
    pub struct Prompt<'a> {
        new {
            /// For programs.
            "name" name: text;
        }
        with {
            /// The name for people. From 2025-06-18 on.
            "title" title: text, in CE;
            /// What it is for.
            "description" description: text;
            /// What can be filled in.
            "arguments" arguments: list(PromptArgument<'a>);
            /// Pictures of it. From 2025-11-25 on.
            "icons" icons: list(Icon<'a>), in DE;
            /// From 2025-06-18 on.
            "_meta" meta: object, in CE;
        }
    }
}

payload! {
    /// What can be filled in in a prompt. Schema type `PromptArgument`.
    pub struct PromptArgument<'a> {
        new {
            /// For programs.
            "name" name: text;
        }
        with {
            /// The name for people. From 2025-06-18 on.
            "title" title: text, in CE;
            /// What it is for.
            "description" description: text;
            /// Whether it must be given. Default: false.
            "required" required: of(bool);
        }
    }
}

payload! {
    /// A message of a prompt. Schema type `PromptMessage`.
    pub struct PromptMessage<'a> {
        new {
            /// Who says it.
            "role" role: of(Role);
            /// What is said.
            "content" content: of(ContentBlock<'a>);
        }
    }
}

impl<'a> PromptMessage<'a> {
    /// Text that the person says.
    #[must_use]
    pub const fn user(text: &'a str) -> Self {
        Self::new(Role::User, ContentBlock::text(text))
    }

    /// Text that the model says.
    #[must_use]
    pub const fn assistant(text: &'a str) -> Self {
        Self::new(Role::Assistant, ContentBlock::text(text))
    }
}

payload! {
    /// The answer to `prompts/list`. Schema type `ListPromptsResult`.
    pub struct ListPromptsResult<'a> {
        new {
            /// The prompts of this page.
            "prompts" prompts: list(Prompt<'a>);
        }
        with {
            /// Where the next page begins; none when this is the last.
            "nextCursor" next_cursor: text;
            /// For how many milliseconds it stays fresh. From 2026-07-28 on, where it is required.
            "ttlMs" ttl_ms: millis = 0, in EE;
            /// Who may share it. From 2026-07-28 on, where it is required.
            "cacheScope" cache_scope: of(CacheScope) = CacheScope::Private, in EE;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload! {
    /// What `prompts/get` asks for. Schema type `GetPromptRequestParams`.
    pub struct GetPromptParams<'a> {
        new {
            /// The prompt.
            "name" name: text;
        }
        with {
            /// What is filled in: names and strings.
            "arguments" arguments: object;
            /// Answers to what the server wanted to know first. From 2026-07-28 on.
            "inputResponses" input_responses: of(InputResponses<'a>), in EE;
            /// What the server wants back, as it was. From 2026-07-28 on.
            "requestState" request_state: text, in EE;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

impl<'a> GetPromptParams<'a> {
    /// What is filled in for the argument with this name.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<Text<'a>> {
        self.arguments?.get(name).and_then(RawJson::as_string).map(Text::from_json)
    }
}

payload! {
    /// The answer to `prompts/get`. Schema type `GetPromptResult`.
    pub struct GetPromptResult<'a> {
        new {
            /// The prompt, filled in.
            "messages" messages: list(PromptMessage<'a>);
        }
        with {
            /// What it is for.
            "description" description: text;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}
