//! Streamable HTTP in an axum application, without an adapter or this library's HTTP/1.1: `cargo
//! run -- 127.0.0.1:8080`
//!
//! A [`Site`](mcp_sansio::http::site::Site) serves all revisions, with sessions, streams that are
//! resumed, and cancellation. `exchange.rs` connects it with axum, and would connect it with any
//! other framework in the same way; `tools.rs` has the tools.

mod exchange;
mod tools;

use std::io;

use axum::Router;
use axum::extract::Request;
use axum::routing::any;
use exchange::Shared;
use mcp_sansio::http::site::SiteOptions;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("axum-server: listening on http://{}/mcp", listener.local_addr()?);
    let shared = Shared::new(&tools::CONFIG, SiteOptions::new());
    let serve = move |request: Request| shared.clone().serve(request);
    axum::serve(listener, Router::new().route("/mcp", any(serve))).await
}
