//! `tools/call`.

use mcp_sansio::types::{ContentBlock, LoggingLevel, ResourceContents};
use mcp_sansio::{LogMessage, ToolError, ToolOutput};
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};

use super::catalog::{Call, Conditions, Weather};
use super::media;
use super::resources::Watched;

/// Returns the result of the tool.
pub(super) async fn call(ctx: &Context, watched: &Watched) -> HandlerResult {
    // The schema of this tool cannot be derived.
    if ctx.name() == "json_schema_2020_12_tool" {
        return ctx.text(ctx.arguments()?.raw().as_str());
    }
    ctx.reply(&run(ctx.call()?, ctx, watched).await?)
}

async fn run<'a>(
    call: Call<'a>,
    ctx: &Context,
    watched: &Watched,
) -> Result<ToolOutput<'a>, ToolError<'static>> {
    Ok(match call {
        Call::TestSimpleText => "This is a simple text".into(),
        Call::TestImageContent => ToolOutput::Blocks(&[PICTURE]),
        Call::TestAudioContent => ToolOutput::Blocks(&[SOUND]),
        Call::TestEmbeddedResource => ToolOutput::Blocks(&[EMBEDDED]),
        Call::TestMultipleContentTypes => ToolOutput::Blocks(MIXED),
        Call::TestErrorHandling => Err("This tool always fails")?,
        Call::Structured { city } => {
            ToolOutput::boxed(Weather { city, temperature: 21.5, conditions: Conditions::Sun })
        }
        Call::TestCustomHeader { value } => value.into(),
        Call::TestLoggingTool => {
            // Not sent unless the client asked for messages of this level.
            ctx.log(&LogMessage::new(LoggingLevel::Info, "test_logging_tool was called")).await?;
            "Logged, if you wanted to know".into()
        }
        Call::TestTriggerToolChange => {
            ctx.broadcaster().tools_changed();
            "The list of tools has changed".into()
        }
        Call::TestTriggerPromptChange => {
            ctx.broadcaster().prompts_changed();
            "The list of prompts has changed".into()
        }
        Call::TestTriggerResourceUpdate => {
            watched.change();
            ctx.broadcaster().resource_changed(Watched::URI);
            "The watched resource has changed".into()
        }
        Call::Slow(call) => call.run(ctx).await?.into(),
        Call::Question(call) => call.run(ctx).await?.into(),
    })
}

const PICTURE: ContentBlock<'_> = ContentBlock::image(media::PNG, "image/png");
const SOUND: ContentBlock<'_> = ContentBlock::audio(media::WAV, "audio/wav");
const EMBEDDED: ContentBlock<'_> = ContentBlock::resource(
    ResourceContents::text("test://embedded-resource", "The contents of an embedded resource")
        .mime_type("text/plain"),
);
const MIXED: &[ContentBlock<'_>] =
    &[ContentBlock::text("A text, a picture and a resource"), PICTURE, EMBEDDED];
