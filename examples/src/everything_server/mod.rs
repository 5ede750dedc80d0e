//! A server with one of everything: each kind of content, slow tools, tools that ask the client, resources, prompts, completion.
//!
//! It serves every revision of the protocol at once. Nothing in it blocks: what takes time is a value in [`jobs`], what waits for the
//! client's answer a value in [`asking`], and requests are served in between. The names are those that the conformance suite of the
//! protocol calls.

mod asking;
mod attempt;
mod catalog;
mod completion;
mod forms;
mod jobs;
mod media;
mod prompts;
mod questions;
mod resources;
mod seal;
mod tools;

use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ErrorCode, Instant, Request, RpcError, ServerCapability, ServerConfig, ServerEvent, Target};
use mcp_sansio_adapters::stdio;

use asking::Conversations;
use catalog::CATALOG;
use jobs::Jobs;
use resources::Watched;

/// Serves this process's standard input and output until the input ends.
///
/// # Errors
/// Of reading or writing.
pub fn serve() -> Result<()> {
    stdio::serve(&CONFIG, Everything::default())
}

/// The application: all that it remembers between two events.
#[derive(Default)]
struct Everything {
    jobs: Jobs,
    conversations: Conversations,
    watched: Watched,
}

impl stdio::Handler for Everything {
    fn event(&mut self, event: ServerEvent<'_>, session: &mut Session<'_, '_>) -> Result<()> {
        match event {
            ServerEvent::Request(request) => self.request(&request, session),
            ServerEvent::Cancelled { request, .. } | ServerEvent::Expired { request } => {
                self.jobs.drop_request(request);
                self.conversations.drop_request(request);
                Ok(())
            }
            ServerEvent::Answer { call, outcome } => self.conversations.answered(call, outcome, session),
            ServerEvent::CallTimedOut { call } => self.conversations.timed_out(call, session),
            // The rest has been answered already: `initialize`, `ping`, log levels, subscriptions, and whatever was wrong.
            _ => Ok(()),
        }
    }

    fn wake(&self) -> Option<Instant> {
        self.jobs.wake()
    }

    fn woken(&mut self, session: &mut Session<'_, '_>) -> Result<()> {
        self.jobs.run(session)
    }
}

impl Everything {
    fn request(&mut self, request: &Request<'_>, session: &mut Session<'_, '_>) -> Result<()> {
        // Lists, unknown names and missing arguments of prompts are dealt with here.
        let Some(target) = session.answer_from(&CATALOG, request)? else { return Ok(()) };
        match target {
            Target::Tool(tool) => self.call_tool(tool.name.as_plain().unwrap_or_default(), request, session),
            Target::Prompt(prompt) => self.get_prompt(prompt.name.as_plain().unwrap_or_default(), request, session),
            Target::Resource(_) | Target::Template(_) => resources::read(&self.watched, &target, request, session),
            Target::CompletePrompt(_) | Target::CompleteTemplate(_) => completion::complete(request, session),
            _ => session.respond_error(request.handle, &RpcError::new(ErrorCode::MethodNotFound, "Method not found")).map(|_| ()),
        }
    }
}

/// What handlers speak through.
type Session<'s, 'c> = stdio::Session<'s, 'c>;
/// What its calls return.
type Result<T> = std::result::Result<T, stdio::Error>;

const CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("everything-server", env!("CARGO_PKG_VERSION")).title("Everything server"),
    ServerCapability::TOOLS_LIST_CHANGED
        .and(ServerCapability::RESOURCES_LIST_CHANGED)
        .and(ServerCapability::RESOURCES_SUBSCRIBE)
        .and(ServerCapability::PROMPTS_LIST_CHANGED)
        .and(ServerCapability::COMPLETIONS)
        .and(ServerCapability::LOGGING),
)
.instructions("Tools whose names begin with test_ do what the conformance suite expects; begin with test_simple_text.")
// A person may need that long to fill in a form.
.call_timeout(Duration::from_secs(300));

#[cfg(test)]
mod tests {
    #[test]
    fn catalog_has_no_fault() {
        super::CATALOG.check().unwrap();
    }
}
