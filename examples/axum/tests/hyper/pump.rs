//! The server behind hyper.

use std::future::Future;
use std::io;
use std::net::TcpListener;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use mcp_sansio_adapters::asynchronous::http::{HttpOptions, HttpServer};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};

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
    tokio::select! {
        () = server.run(app) => {}
        served = accept(listener, &server) => served.unwrap(),
    }
}

async fn accept(listener: tokio::net::TcpListener, server: &HttpServer) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(server.clone());
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new());
        tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
    }
}
