//! Prompts: templates of messages that a server offers and a user selects.

use super::macros::{page, payload};
use super::{ContentBlock, InputResponses, Role, Text};
use crate::json::RawJson;

payload! {
    #![rendered]
    /// A prompt or prompt template that a server offers. Schema type `Prompt`.
    ///
    /// ```
    /// use mcp_sansio::types::{Prompt, PromptArgument};
    ///
    /// const REVIEW: Prompt = Prompt::new("review")
    ///     .description("Asks for a review of code.")
    ///     .arguments(&[PromptArgument::new("code").required(true)]);
    /// ```
    pub struct Prompt<'a> {
        /// Name for programmatic use.
        "name" name: text;
        optional:
        /// Display name for user interfaces. Since 2025-06-18.
        "title" title: text, since V2025_06_18;
        /// Description of what the prompt provides.
        "description" description: text;
        /// Arguments of the template.
        "arguments" arguments: list(PromptArgument<'a>);
        /// Icons for user interfaces. Since 2025-11-25.
        "icons" icons: icons, since V2025_11_25;
        /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
        "_meta" meta: object, since V2025_06_18;
    }
}

payload! {
    #![rendered]
    /// An argument of a prompt template. Schema type `PromptArgument`.
    pub struct PromptArgument<'a> {
        /// Name for programmatic use.
        "name" name: text;
        optional:
        /// Display name for user interfaces. Since 2025-06-18.
        "title" title: text, since V2025_06_18;
        /// Description of the argument.
        "description" description: text;
        /// Whether the argument is required. Default: false.
        "required" required: of(bool);
    }
}

payload! {
    /// A message of a prompt. Schema type `PromptMessage`.
    pub struct PromptMessage<'a> {
        /// Sender of the message.
        "role" role: of(Role);
        /// Content of the message.
        "content" content: of(ContentBlock<'a>);
    }
}

impl<'a> PromptMessage<'a> {
    /// Creates a text message of the user.
    pub const fn user(text: &'a str) -> Self {
        Self::new(Role::User, ContentBlock::text(text))
    }

    /// Creates a text message of the model.
    pub const fn assistant(text: &'a str) -> Self {
        Self::new(Role::Assistant, ContentBlock::text(text))
    }
}

page! {
    /// Result of `prompts/list`. Schema type `ListPromptsResult`.
    pub struct ListPromptsResult<'a> {
        /// The prompts of this page.
        "prompts" prompts: Prompt<'a>;
    }
}

payload! {
    /// Parameters of `prompts/get`. Schema type `GetPromptRequestParams`.
    pub struct GetPromptParams<'a> {
        /// Name of the prompt.
        "name" name: text;
        optional:
        /// Arguments for the template: an object of strings.
        "arguments" arguments: object;
        /// Responses to the input requests of an
        /// [`InputRequiredResult`](crate::types::InputRequiredResult), by the same keys. Since
        /// 2026-07-28.
        "inputResponses" input_responses: of(InputResponses<'a>), since V2026_07_28;
        /// The `requestState` of that result, unchanged. Since 2026-07-28.
        "requestState" request_state: text, since V2026_07_28;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

impl<'a> GetPromptParams<'a> {
    /// Returns the argument `name`, if it is a string.
    pub fn argument(&self, name: &str) -> Option<Text<'a>> {
        self.arguments?.get(name).and_then(RawJson::as_string).map(Text::from_json)
    }
}

payload! {
    /// Result of `prompts/get`. Schema type `GetPromptResult`.
    ///
    /// ```
    /// use mcp_sansio::types::{GetPromptResult, PromptMessage};
    ///
    /// let messages = [PromptMessage::user("Please review this code: fn main() {}")];
    /// let result = GetPromptResult::new(&messages).description("A review of code");
    /// assert_eq!(result.messages.len(), 1);
    /// ```
    pub struct GetPromptResult<'a> {
        /// Messages of the prompt, with its arguments filled in.
        "messages" messages: list(PromptMessage<'a>);
        optional:
        /// Description of the prompt.
        "description" description: text;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}
