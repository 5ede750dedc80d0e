//! `prompts/get`.

use mcp_sansio::types::{
    ContentBlock, GetPromptParams, GetPromptResult, PromptMessage, ResourceContents, ResourceData,
    Role, Text,
};
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};

use super::{media, questions};

/// Returns the messages of the prompt.
pub(super) async fn get(ctx: &Context) -> HandlerResult {
    let request = ctx.request();
    let params = request.params.to::<GetPromptParams<'_>>().ok();
    let argument = |name| params.and_then(|params| params.argument(name)).unwrap_or_default();
    let text;
    let messages: &[PromptMessage<'_>] = match ctx.name() {
        "test_simple_prompt" => &[PromptMessage::user("This is a simple prompt")],
        "test_prompt_with_arguments" => {
            text = format!("The arguments are '{}' and '{}'", argument("arg1"), argument("arg2"));
            &[PromptMessage::user(&text)]
        }
        "test_prompt_with_embedded_resource" => {
            let data = ResourceData::Text(Text::new("The contents of the resource"));
            let contents =
                ResourceContents::new(argument("resourceUri"), data).mime_type("text/plain");
            &[
                PromptMessage::new(Role::User, ContentBlock::resource(contents)),
                PromptMessage::user("Look at this resource"),
            ]
        }
        "test_prompt_with_image" => &[
            PromptMessage::new(Role::User, ContentBlock::image(media::PNG, "image/png")),
            PromptMessage::user("Look at this picture"),
        ],
        _ => {
            text = questions::ask(ctx).await?;
            &[PromptMessage::user(&text)]
        }
    };
    ctx.reply(&GetPromptResult::new(messages))
}
