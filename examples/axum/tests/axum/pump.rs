//! The server behind axum.

use std::future::{Future, IntoFuture as _};
use std::net::TcpListener;
use std::sync::Arc;

use axum::Router;
use mcp_sansio_adapters::asynchronous::http::{HttpOptions, HttpServer};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use tokio::sync::Notify;

/// Serves an application until it has shut down.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn serve<F: Future<Output = HandlerResult>>(
    app: &App<impl Fn(Context) -> F>,
    listener: TcpListener,
    options: HttpOptions,
) {
    let server = HttpServer::new(app, options).unwrap();
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let ended = Arc::new(Notify::new());
    let stopped = Arc::clone(&ended).notified_owned();
    let served = axum::serve(listener, Router::new().fallback_service(server.clone()))
        .with_graceful_shutdown(stopped)
        .into_future();
    let run = async {
        server.run(app).await;
        ended.notify_one();
    };
    let ((), served) = tokio::join!(run, served);
    served.unwrap();
}
