//! The server that speaks HTTP/1.1 itself. `examples/axum` runs some of the tests with others.

use std::future::Future;
use std::net::TcpListener;

use async_io::Async;
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};

/// Serves an application until it has shut down.
pub(crate) fn serve<F: Future<Output = HandlerResult>>(
    app: &App<impl Fn(Context) -> F>,
    listener: TcpListener,
    options: HttpOptions,
) {
    smol::block_on(http::serve(app, Async::new(listener).unwrap(), options)).unwrap();
}
