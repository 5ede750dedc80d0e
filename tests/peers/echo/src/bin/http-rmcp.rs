//! An echo server on the official Rust SDK's Streamable HTTP service behind axum. Prints its port,
//! and serves all connections on one thread.
//!
//! `http-rmcp sessions`: configured as in its documentation.
//! `http-rmcp json`: without sessions and with JSON responses, its fastest configuration.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::serve::ListenerExt;
use echo::Echo;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = StreamableHttpServerConfig::default();
    match std::env::args().nth(1).as_deref() {
        Some("sessions") => {}
        Some("json") => {
            config.legacy_session_mode = false;
            config.json_response = true;
        }
        _ => return Err("usage: http-rmcp sessions|json".into()),
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let service = StreamableHttpService::new(
            || Ok(Echo),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("{}", listener.local_addr()?.port());
        let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
        axum::serve(listener, Router::new().nest_service("/mcp", service)).await?;
        Ok(())
    })
}
