//! `prompts/get`.

use mcp_sansio::types::{
    ContentBlock, GetPromptParams, GetPromptResult, PromptMessage, ResourceContents, ResourceData, Role, Text,
};
use mcp_sansio::{Request, RpcError};

use super::attempt::Subject;
use super::{Everything, Result, Session, media, questions};

impl Everything {
    /// Answers with the prompt's messages, at once or when the client has answered.
    pub(super) fn get_prompt(&mut self, name: &'static str, request: &Request<'_>, session: &mut Session<'_, '_>) -> Result<()> {
        if let Some(script) = questions::of_prompt(name) {
            return self.conversations.start(script, Subject::Prompt(name), request, session);
        }
        let params = request.params.to::<GetPromptParams<'_>>().ok();
        let argument = |name| params.and_then(|params| params.argument(name)).unwrap_or_default();
        let text;
        let messages: &[PromptMessage<'_>] = match name {
            "test_simple_prompt" => &[PromptMessage::user("This is a simple prompt")],
            "test_prompt_with_arguments" => {
                text = format!("The arguments are '{}' and '{}'", argument("arg1"), argument("arg2"));
                &[PromptMessage::user(&text)]
            }
            "test_prompt_with_embedded_resource" => {
                let data = ResourceData::Text(Text::new("The contents of the resource"));
                let contents = ResourceContents::new(argument("resourceUri"), data).mime_type("text/plain");
                &[PromptMessage::new(Role::User, ContentBlock::resource(contents)), PromptMessage::user("Look at this resource")]
            }
            "test_prompt_with_image" => &[
                PromptMessage::new(Role::User, ContentBlock::image(media::PNG, "image/png")),
                PromptMessage::user("Look at this picture"),
            ],
            _ => return session.respond_error(request.handle, &RpcError::internal("The prompt is only listed")).map(|_| ()),
        };
        session.respond(request.handle, &GetPromptResult::new(messages)).map(|_| ())
    }
}
