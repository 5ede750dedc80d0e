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
mod seal;
mod slow;
mod tools;
mod transports;

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ErrorCode, RpcError, ServerConfig, ServerFeatures, Target};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};

use catalog::CATALOG;
use resources::Watched;
use seal::Signature;
#[cfg(unix)]
pub use transports::serve_unix;
pub use transports::{serve_http, serve_stdio, serve_tcp};

/// Creates the application that all connections share.
fn app() -> App<impl Fn(Context) -> Answering> {
    let watched = Arc::new(Watched::default());
    let handler = move |ctx| -> Answering { Box::pin(handle(ctx, Arc::clone(&watched))) };
    App::new(&CONFIG, handler).catalog(&CATALOG).state_protector(Signature::default())
}

/// Responds to the requests that the catalog does not: lists, unknown names and missing arguments
/// of prompts have been handled before.
async fn handle(ctx: Context, watched: Arc<Watched>) -> HandlerResult {
    match ctx.target() {
        Target::Tool(_) => tools::call(&ctx, &watched).await,
        Target::Prompt(_) => prompts::get(&ctx).await,
        Target::Resource(_) | Target::Template(_) => resources::read(&ctx, &watched),
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

/// The future of a handler.
type Answering = std::pin::Pin<Box<dyn Future<Output = HandlerResult>>>;

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
