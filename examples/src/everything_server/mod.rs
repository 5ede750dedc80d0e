//! A server with one of everything: each kind of content, slow tools, tools that ask the client,
//! resources, prompts, completion.
//!
//! It serves every revision of the protocol at once, on standard input and output or for any number
//! of clients on sockets. Its handlers are asynchronous: what takes time awaits it, what asks the
//! client awaits the answer, and requests are served in between. The names are those that the
//! conformance suite of the protocol calls.

mod catalog;
mod completion;
mod forms;
mod media;
mod prompts;
mod questions;
mod resources;
mod seal;
mod slow;
mod tools;
mod transports;

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ErrorCode, ServerConfig, ServerFeatures, Target};
use mcp_sansio_adapters::asynchronous::{App, Context, Failure, Reply};

use catalog::CATALOG;
use resources::Watched;
use seal::Signature;
#[cfg(unix)]
pub use transports::serve_unix;
pub use transports::{serve_http, serve_stdio, serve_tcp};

/// The application, for all connections.
fn app() -> App<impl Fn(Context) -> Answering> {
    let watched = Arc::new(Watched::default());
    let handler = move |ctx| -> Answering { Box::pin(handle(ctx, Arc::clone(&watched))) };
    App::new(&CONFIG, handler).catalog(&CATALOG).state_protector(Signature::default())
}

/// Answers what the catalog does not: lists, unknown names and missing arguments of prompts are
/// dealt with when this is called.
async fn handle(ctx: Context, watched: Arc<Watched>) -> Result<Reply, Failure> {
    match ctx.target() {
        Target::Tool(_) => tools::call(&ctx, &watched).await,
        Target::Prompt(_) => prompts::get(&ctx).await,
        Target::Resource(_) | Target::Template(_) => resources::read(&ctx, &watched),
        Target::CompletePrompt(_) | Target::CompleteTemplate(_) => completion::complete(&ctx),
        _ => Err(Failure::error(ErrorCode::MethodNotFound, "Method not found")),
    }
}

/// A handler at work.
type Answering = std::pin::Pin<Box<dyn Future<Output = Result<Reply, Failure>>>>;

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("everything-server", env!("CARGO_PKG_VERSION")).title("Everything server"),
    ServerFeatures::TOOLS_LIST_CHANGED
        .with(ServerFeatures::RESOURCES_LIST_CHANGED)
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::PROMPTS_LIST_CHANGED)
        .with(ServerFeatures::COMPLETIONS)
        .with(ServerFeatures::LOGGING),
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
