//! An echo server on the official Rust SDK, written as in its documentation.
//!
//! `rmcp-echo stdio`: `stdio()` on the multi-thread runtime, as in its examples. `rmcp-echo pipes`:
//! `stdio_pipes()` on a current-thread runtime, its fastest configuration (Linux).

use std::error::Error;

use echo::Echo;
use rmcp::ServiceExt;
use rmcp::transport::{stdio, stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Builder;

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
