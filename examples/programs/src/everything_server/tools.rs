//! `tools/call`.

use std::sync::atomic::Ordering;

use mcp_sansio::typed::AsyncToolHandler;
use mcp_sansio::types::{ContentBlock, LoggingLevel, ResourceContents};
use mcp_sansio::{Change, LogMessage, ToolContext, ToolOutput, ToolResult};

use super::catalog::{Call, Conditions, SchemaCall, Weather};
use super::resources::WATCHED;
use super::{Everything, media};

/// The tools, in which no adapter is named.
impl AsyncToolHandler for Everything {
    type Tools = Call<'static>;
    type Output<'a> = Weather<'a>;

    async fn call<'a>(
        &'a self,
        call: Call<'a>,
        ctx: ToolContext<'a>,
    ) -> ToolResult<'a, Weather<'a>> {
        Ok(match call {
            Call::TestSimpleText => "This is a simple text".into(),
            Call::TestImageContent => ToolOutput::Blocks(&[PICTURE]),
            Call::TestAudioContent => ToolOutput::Blocks(&[SOUND]),
            Call::TestEmbeddedResource => ToolOutput::Blocks(&[EMBEDDED]),
            Call::TestMultipleContentTypes => ToolOutput::Blocks(MIXED),
            Call::TestErrorHandling => Err("This tool always fails")?,
            Call::Structured { city } => ToolOutput::Structured(Weather {
                city,
                temperature: 21.5,
                conditions: Conditions::Sun,
            }),
            Call::TestCustomHeader { value } => value.into(),
            Call::TestLoggingTool => {
                // Not sent unless the client asked for messages of this level.
                ctx.log(&LogMessage::new(LoggingLevel::Info, "test_logging_tool was called"))
                    .await?;
                "Logged, if you wanted to know".into()
            }
            Call::TestTriggerToolChange => {
                ctx.publish(Change::tools()).await?;
                "The list of tools has changed".into()
            }
            Call::TestTriggerPromptChange => {
                ctx.publish(Change::prompts()).await?;
                "The list of prompts has changed".into()
            }
            Call::TestTriggerResourceUpdate => {
                self.changes.fetch_add(1, Ordering::Relaxed);
                ctx.publish(Change::resource(WATCHED)).await?;
                "The watched resource has changed".into()
            }
            Call::Slow(call) => call.run(ctx).await?.into(),
            Call::Task(call) => call.run(ctx).await?.into(),
            Call::Question(call) => call.run(ctx).await?.into(),
            Call::Schema(SchemaCall::JsonSchema202012(_)) => {
                ctx.request().arguments().as_json().as_str().into()
            }
        })
    }
}

const PICTURE: ContentBlock<'_> = ContentBlock::image(media::PNG, "image/png");
const SOUND: ContentBlock<'_> = ContentBlock::audio(media::WAV, "audio/wav");
const EMBEDDED: ContentBlock<'_> = ContentBlock::resource(
    ResourceContents::text("test://embedded-resource", "The contents of an embedded resource")
        .mime_type("text/plain"),
);
const MIXED: &[ContentBlock<'_>] =
    &[ContentBlock::text("A text, a picture and a resource"), PICTURE, EMBEDDED];
