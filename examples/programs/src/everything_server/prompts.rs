//! `prompts/get`.

use mcp_sansio::types::{
    ContentBlock, GetPromptResult, PromptMessage, ResourceContents, ResourceData, Role, Text,
};
use mcp_sansio::{Link, ToolContext};
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};

use super::catalog::Ask;
use super::forms::Purpose;
use super::media;
use super::questions::form;

/// Returns the messages of the prompt.
pub(super) async fn get(ctx: &Context) -> HandlerResult {
    let text;
    let messages: &[PromptMessage<'_>] = match ctx.prompt()? {
        Ask::Simple => &[PromptMessage::user("This is a simple prompt")],
        Ask::Arguments { arg1, arg2 } => {
            text = format!("The arguments are '{arg1}' and '{arg2}'");
            &[PromptMessage::user(&text)]
        }
        Ask::EmbeddedResource { resource_uri } => {
            let data = ResourceData::Text(Text::new("The contents of the resource"));
            let contents = ResourceContents::new(resource_uri, data).mime_type("text/plain");
            &[
                PromptMessage::new(Role::User, ContentBlock::resource(contents)),
                PromptMessage::user("Look at this resource"),
            ]
        }
        Ask::Image => &[
            PromptMessage::new(Role::User, ContentBlock::image(media::PNG, "image/png")),
            PromptMessage::user("Look at this picture"),
        ],
        Ask::InputRequired => {
            let request = ctx.request()?;
            let ctx = ToolContext::<dyn Link>::new(&request, ctx).inputs(ctx);
            text = form::<Purpose>(ctx, "user_context", "What is the prompt for?").await?;
            &[PromptMessage::user(&text)]
        }
    };
    ctx.reply(&GetPromptResult::new(messages))
}
