//! A server with all features: each kind of content, slow tools, tools that send requests to the
//! client, resources, prompts, completion.
//!
//! It serves every revision of the protocol, on standard input and output or for any number of
//! clients on sockets. The handlers are asynchronous, so other requests are served while one waits
//! for time to pass or for the client. The names are those of the official conformance suite.

mod catalog;
mod forms;
mod media;
mod prompts;
mod questions;
mod resources;
mod slow;
mod tasks;
mod tools;
mod transports;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ErrorCode, Revisions, RpcError, ServerConfig, ServerFeatures, Target, ToolError};
use mcp_sansio_adapters::asynchronous::{App, BoxedHandler, Context, HandlerResult, boxed};

use catalog::CATALOG;
#[cfg(unix)]
pub use transports::serve_unix;
pub use transports::{serve_http, serve_legacy_stdio, serve_stdio, serve_tcp};

/// The state that all connections share.
#[derive(Default)]
struct Everything {
    /// Number of changes of the watched resource.
    changes: AtomicU32,
}

/// The text of a tool.
type Answer = Result<String, ToolError<'static>>;

/// Creates the application that all connections share, for a `main` with a transport of its own.
pub fn app() -> App<BoxedHandler> {
    app_of(&CONFIG)
}

fn app_of(config: &'static ServerConfig<'static>) -> App<BoxedHandler> {
    let server = Arc::new(Everything::default());
    let handler = boxed(move |ctx| handle(ctx, Arc::clone(&server)));
    App::new(config, handler).catalog(&CATALOG).tasks(tasks::options())
}

/// Responds to the requests that the catalog does not: lists, unknown names and missing arguments
/// of prompts have been handled before.
async fn handle(ctx: Context, server: Arc<Everything>) -> HandlerResult {
    match ctx.target() {
        Target::Tool(_) => ctx.call_async_tool(&*server).await,
        Target::Prompt(_) => prompts::get(&ctx).await,
        Target::Resource(_) | Target::Template(_) => resources::read(&ctx, &server),
        Target::CompletePrompt(_) | Target::CompleteTemplate(_) => {
            ctx.complete(|name| -> &[&str] {
                match name {
                    "arg1" => &["paris", "park", "party"],
                    "id" => &["1", "12", "123"],
                    _ => &[],
                }
            })
        }
        _ => Err(RpcError::new(ErrorCode::MethodNotFound, "Method not found").into()),
    }
}

static LEGACY: ServerConfig<'_> = CONFIG.revisions(Revisions::LEGACY);

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("everything-server", env!("CARGO_PKG_VERSION")).title("Everything server"),
    ServerFeatures::TOOLS_LIST_CHANGED
        .with(ServerFeatures::RESOURCES_LIST_CHANGED)
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::SKILLS_DIRECTORIES)
        .with(ServerFeatures::PROMPTS_LIST_CHANGED)
        .with(ServerFeatures::COMPLETIONS)
        .with(ServerFeatures::LOGGING)
        .with(ServerFeatures::TASKS)
        .with(ServerFeatures::TASKS_CANCEL)
        .with(ServerFeatures::TASKS_LIST),
)
.instructions("Tools whose names begin with test_ do what the conformance suite expects; begin with test_simple_text.")
// Filling in a form may take a person this long.
.call_timeout(Duration::from_secs(300));

#[cfg(test)]
mod tests {
    use mcp_sansio::Revision;

    #[test]
    fn the_catalog_is_valid() {
        super::CATALOG.check().unwrap();
    }

    /// Write the text that the failure prints into the file if the change is meant.
    #[test]
    fn the_contract_is_that_of_the_file() {
        let now = super::CATALOG.snapshot(Revision::LATEST);
        assert!(now == include_str!("catalog.txt"), "the catalog has changed:\n{now}");
    }
}
