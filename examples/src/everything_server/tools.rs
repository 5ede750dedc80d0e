//! `tools/call`.

use mcp_sansio::types::{CallToolResult, ContentBlock, LoggingLevel, ResourceContents, TextResult};
use mcp_sansio::{Json, LogMessage, OrToolError as _, RawJson};
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};

use super::resources::Watched;
use super::{media, questions, slow};

/// Returns the result of the tool.
pub(super) async fn call(ctx: &Context, watched: &Watched) -> HandlerResult {
    let text = match ctx.name() {
        "slow" => return slow::slow(ctx).await,
        "slow_cancelled" => return slow::slow_cancelled(ctx),
        "test_tool_with_progress" => return slow::progress(ctx).await,
        "test_tool_with_logging" => return slow::logging(ctx).await,
        "test_reconnection" => return slow::pause(ctx).await,
        "test_logging_tool" => {
            // Not sent unless the client asked for messages of this level.
            ctx.log(&LogMessage::new(LoggingLevel::Info, "test_logging_tool was called")).await?;
            "Logged, if you wanted to know"
        }
        "test_trigger_tool_change" => {
            ctx.broadcaster().tools_changed();
            "The list of tools has changed"
        }
        "test_trigger_prompt_change" => {
            ctx.broadcaster().prompts_changed();
            "The list of prompts has changed"
        }
        "test_trigger_resource_update" => {
            watched.change();
            ctx.broadcaster().resource_changed(Watched::URI);
            "The watched resource has changed"
        }
        "structured" => return structured(ctx),
        "test_custom_header" => {
            return ctx.reply(&TextResult::new(&argument(ctx, "value")?));
        }
        "json_schema_2020_12_tool" => {
            return ctx.reply(&TextResult::new(ctx.arguments().raw().as_str()));
        }
        "test_image_content" => return ctx.reply(&IMAGE),
        "test_audio_content" => return ctx.reply(&AUDIO),
        "test_embedded_resource" => return ctx.reply(&RESOURCE),
        "test_multiple_content_types" => return ctx.reply(&MIXED),
        "test_error_handling" => return Err("This tool always fails".into()),
        "test_simple_text" => "This is a simple text",
        _ => return ctx.reply(&TextResult::new(&questions::ask(ctx).await?)),
    };
    ctx.reply(&TextResult::new(text))
}

/// Returns structured content, and the same as text for models and older clients.
fn structured(ctx: &Context) -> HandlerResult {
    let city = argument(ctx, "city").or_arguments()?;
    let weather = serde_json::json!({"city": city, "temperature": 21.5, "conditions": "sun"});
    ctx.structured(&Json(weather))
}

/// Returns a string argument, or an error text.
pub(super) fn argument(ctx: &Context, name: &str) -> Result<String, String> {
    let argument = ctx.arguments().get(name).and_then(RawJson::as_string);
    argument
        .map(|text| text.to_string())
        .ok_or_else(|| format!("The argument {name} must be a string"))
}

// Constant results.
const IMAGE: CallToolResult<'_> = CallToolResult::new(&[PICTURE]);
const AUDIO: CallToolResult<'_> =
    CallToolResult::new(&[ContentBlock::audio(media::WAV, "audio/wav")]);
const RESOURCE: CallToolResult<'_> = CallToolResult::new(&[EMBEDDED]);
const MIXED: CallToolResult<'_> = CallToolResult::new(&[
    ContentBlock::text("A text, a picture and a resource"),
    PICTURE,
    EMBEDDED,
]);

const PICTURE: ContentBlock<'_> = ContentBlock::image(media::PNG, "image/png");
const EMBEDDED: ContentBlock<'_> = ContentBlock::resource(
    ResourceContents::text("test://embedded-resource", "The contents of an embedded resource")
        .mime_type("text/plain"),
);
