//! An echo server on the official Rust SDK, written as in its documentation.
//!
//! `rmcp-echo stdio`: `stdio()` on the multi-thread runtime, as in its examples. `rmcp-echo pipes`:
//! `stdio_pipes()` on a current-thread runtime, its fastest configuration (Linux).

use std::error::Error;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::{stdio, stdio_pipes};
use rmcp::{ServiceExt, schemars, tool, tool_router};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Builder;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct EchoArguments {
    /// The text to send back.
    text: String,
}

#[derive(Clone)]
struct Echo;

#[tool_router(server_handler)]
impl Echo {
    #[tool(description = "Sends the text back")]
    async fn echo(&self, Parameters(arguments): Parameters<EchoArguments>) -> String {
        arguments.text
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("stdio") => Builder::new_multi_thread().enable_all().build()?.block_on(serve(stdio)),
        Some("pipes") => {
            Builder::new_current_thread().enable_all().build()?.block_on(serve(stdio_pipes))
        }
        _ => Err("usage: rmcp-echo stdio|pipes".into()),
    }
}

/// Takes the transport's constructor, because it must run inside the runtime.
async fn serve<R, W>(transport: impl FnOnce() -> (R, W)) -> Result<(), Box<dyn Error>>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    Echo.serve(transport()).await?.waiting().await?;
    Ok(())
}
