//! Connections of a listener.

use std::future::Future;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::connection;
use super::options::HttpOptions;
use super::server::{HttpServer, Table};
use crate::asynchronous::server::app::App;
use crate::asynchronous::server::context::Context;
use crate::asynchronous::server::life::live;
use crate::asynchronous::server::listener::{Listener, serve_streams};
use crate::asynchronous::server::reply::IntoReply;

/// Serves an application over HTTP: accepts connections, and serves all of them in the returned
/// future. It completes when the application [shuts
/// down](crate::asynchronous::Broadcaster::shut_down) and the last connection and the last request
/// have ended, at most one second after
/// [`Limits::shutdown_timeout`](crate::asynchronous::Limits::shutdown_timeout).
///
/// Not cancel safe: dropping the future closes all connections and ends all sessions.
///
/// # Errors
/// As [`HttpServer::new`], and I/O errors of the operating system while accepting. Lack of
/// resources is only an error while there are no connections; otherwise it is retried.
pub async fn serve<A, H, L, F>(app: A, listener: L, mut options: HttpOptions) -> io::Result<()>
where
    A: Deref<Target = App<H>>,
    H: Fn(Context) -> F,
    L: Listener,
    F: Future<Output: IntoReply>,
{
    options.max_exchanges = options.max_exchanges.min(app.settings.limits.max_connections);
    // Connections measure themselves what their clients read.
    let server = HttpServer::with_write_timeout(&app, options, Duration::MAX)?;
    let source = server.source();
    let live = |request| live(&app, request, Arc::clone(&source));
    let table = Mutex::new(Table::new(live));
    let serve = |stream, peer| connection::serve(&server, &table, stream, peer);
    let refuse = |stream| connection::refuse_connection(&server, stream);
    serve_streams(&app, &listener, serve, refuse, server.drive(&table)).await
}
