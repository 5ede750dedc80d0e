//! `tools/call`.

use std::time::Duration;

use mcp_sansio::types::{CallToolResult, ContentBlock, LoggingLevel, ResourceContents, TextResult};
use mcp_sansio::{Change, LogMessage, RawJson, Request};

use super::attempt::Subject;
use super::jobs::Work;
use super::resources::Watched;
use super::{Everything, Result, Session, media, questions};

impl Everything {
    /// Answers with the tool's result, at once or later.
    pub(super) fn call_tool(&mut self, name: &'static str, request: &Request<'_>, session: &mut Session<'_, '_>) -> Result<()> {
        if let Some(script) = questions::of_tool(name) {
            return self.conversations.start(script, Subject::Tool(name), request, session);
        }
        let handle = request.handle;
        match name {
            "slow" => return self.slow(request, session),
            "test_tool_with_progress" => return self.jobs.start(handle, Work::Progress { done: 0 }, session),
            "test_tool_with_logging" => return self.jobs.start(handle, Work::Logging { number: 1 }, session),
            "test_reconnection" => {
                let until = session.now().saturating_add(Duration::from_millis(100));
                return self.jobs.start(handle, Work::Pause { until }, session);
            }
            "test_logging_tool" => {
                // Dropped unless the client asked for messages of this level.
                let _ = session.log(handle, &LogMessage::new(LoggingLevel::Info, "test_logging_tool was called"))?;
                session.respond(handle, &TextResult::new("Logged, if you wanted to know"))
            }
            "test_trigger_tool_change" => {
                session.publish(Change::tools())?;
                session.respond(handle, &TextResult::new("The list of tools has changed"))
            }
            "test_trigger_prompt_change" => {
                session.publish(Change::prompts())?;
                session.respond(handle, &TextResult::new("The list of prompts has changed"))
            }
            "test_trigger_resource_update" => {
                self.watched.change();
                session.publish(Change::resource(Watched::URI))?;
                session.respond(handle, &TextResult::new("The watched resource has changed"))
            }
            "structured" => return structured(request, session),
            "test_custom_header" => match text_argument(request, "value") {
                Some(value) => session.respond(handle, &TextResult::new(&value)),
                None => session.respond(handle, &TextResult::error("The argument value must be a string")),
            },
            "json_schema_2020_12_tool" => session.respond(handle, &TextResult::new(request.arguments().raw().as_str())),
            "test_image_content" => session.respond(handle, &IMAGE),
            "test_audio_content" => session.respond(handle, &AUDIO),
            "test_embedded_resource" => session.respond(handle, &RESOURCE),
            "test_multiple_content_types" => session.respond(handle, &MIXED),
            "test_error_handling" => session.respond(handle, &TextResult::error("This tool always fails")),
            _ => session.respond(handle, &TextResult::new("This is a simple text")),
        }
        .map(|_| ())
    }

    fn slow(&mut self, request: &Request<'_>, session: &mut Session<'_, '_>) -> Result<()> {
        let seconds =
            request.arguments().get("seconds").and_then(RawJson::as_f64).filter(|seconds| (0.0..=3600.0).contains(seconds));
        let Some(seconds) = seconds else {
            let result = TextResult::error("The argument seconds must be a number from 0 to 3600");
            return session.respond(request.handle, &result).map(|_| ());
        };
        let lasts = Duration::from_secs_f64(seconds);
        self.jobs.start(request.handle, Work::Slow { begun: session.now(), lasts, report: request.wants_progress }, session)
    }
}

/// Data for programs, and the same as text for models and older clients.
fn structured(request: &Request<'_>, session: &mut Session<'_, '_>) -> Result<()> {
    let Some(city) = text_argument(request, "city") else {
        return session.refuse_arguments(request.handle, &"The argument city must be a string").map(|_| ());
    };
    let weather = serde_json::json!({"city": city, "temperature": 21.5, "conditions": "sun"}).to_string();
    session.respond_structured(request.handle, RawJson::parse(&weather).unwrap_or(RawJson::EMPTY)).map(|_| ())
}

fn text_argument(request: &Request<'_>, name: &str) -> Option<String> {
    request.arguments().get(name).and_then(RawJson::as_string).map(|text| text.to_string())
}

// Results that never change can be constants.
const IMAGE: CallToolResult<'_> = CallToolResult::new(&[PICTURE]);
const AUDIO: CallToolResult<'_> = CallToolResult::new(&[ContentBlock::audio(media::WAV, "audio/wav")]);
const RESOURCE: CallToolResult<'_> = CallToolResult::new(&[EMBEDDED]);
const MIXED: CallToolResult<'_> =
    CallToolResult::new(&[ContentBlock::text("A text, a picture and a resource"), PICTURE, EMBEDDED]);

const PICTURE: ContentBlock<'_> = ContentBlock::image(media::PNG, "image/png");
const EMBEDDED: ContentBlock<'_> = ContentBlock::resource(
    ResourceContents::text("test://embedded-resource", "The contents of an embedded resource").mime_type("text/plain"),
);
