//! The everything server in an axum application: `cargo run -- --http 127.0.0.1:8080`
//!
//! With `--token TOKEN`, requests need this bearer token, and with `--issuer URL` beside it clients
//! are told which authorization server has it. Ctrl-C shuts it down.
//!
//! Its connections have limits: of their number, of the time for a head, and for output that a
//! client does not read. `axum::serve` has none of them, and waits for the last connection.

use std::error::Error;
use std::future::{Future, ready};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use lexopt::{Arg, Parser, ValueExt as _};
use mcp_sansio_adapters::asynchronous::Limits;
use mcp_sansio_adapters::asynchronous::http::{
    AuthorizationError, Authorizer, Credentials, HttpOptions, HttpServer, Principal,
    ProtectedResource,
};
use mcp_sansio_programs::everything_server;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (mut address, mut options) =
        ("127.0.0.1:0".to_owned(), HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() });
    let (mut token, mut issuer, mut well_known) = (None::<String>, None, Vec::new());
    let mut arguments = Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Long("http") => address = arguments.value()?.parse()?,
            Arg::Long("token") => token = Some(arguments.value()?.string()?),
            Arg::Long("issuer") => issuer = Some(arguments.value()?.string()?),
            other => return Err(format!("{}; {USAGE}", other.unexpected()).into()),
        }
    }
    let listener =
        TcpListener::bind(&address).await.map_err(|error| format!("{address}: {error}"))?;
    let bound = listener.local_addr()?;
    if let Some(issuer) = issuer {
        if token.is_none() {
            return Err("--issuer needs --token: nothing checks tokens otherwise".into());
        }
        // The URL by which clients know the endpoint: with the host as given, and the port that a
        // 0 stands for.
        let host = address.rsplit_once(':').map_or(&*address, |(host, _)| host);
        let url = format!("http://{host}:{}/mcp", bound.port());
        let resource = ProtectedResource::new(url, issuer);
        well_known = resource.paths();
        options = options.protected_resource(resource);
    }
    if let Some(token) = token {
        options = options.authorize(one_user(token));
    }
    let app = everything_server::app()
        .limits(Limits { shutdown_timeout: SHUTDOWN_TIMEOUT, ..Limits::new() });
    let server = HttpServer::new(&app, options)?;
    let router =
        Router::new().route_service("/mcp", server.clone()).route_service("/sse", server.clone());
    let router =
        well_known.iter().fold(router, |router, path| router.route_service(path, server.clone()));
    eprintln!(
        "axum-server: listening on http://{bound}/mcp, and for HTTP+SSE on http://{bound}/sse"
    );
    let broadcaster = app.broadcaster().clone();
    let stopped = async move {
        let _ = tokio::signal::ctrl_c().await;
        broadcaster.shut_down();
    };
    // The handlers run here, and connections in tasks of their own.
    tokio::join!(server.run(&app), serve(listener, router, stopped));
    Ok(())
}

/// Serves connections until `stopped`, and those that are open a little longer than their calls.
async fn serve(listener: TcpListener, router: Router, stopped: impl Future<Output = ()>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(TIMEOUT).max_buf_size(64 << 10);
    let (places, open) = (Arc::new(Semaphore::new(MAX_CONNECTIONS)), GracefulShutdown::new());
    let mut stopped = pin!(stopped);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stopped => break,
        };
        let Ok((stream, _)) = accepted else {
            // Out of files: some may be free in a while.
            sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            let _ = stream.try_write(BUSY);
            continue;
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(TIMEOUT));
        let service = TowerToHyperService::new(router.clone());
        let connection = http.serve_connection(TokioIo::new(Box::pin(stream)), service);
        let connection = open.watch(connection);
        tokio::spawn(async move {
            let _ = connection.await;
            drop(place);
        });
    }
    // Not for ever: a client may have sent half a head, or read nothing.
    let _ = timeout(SHUTDOWN_TIMEOUT + PAUSE * 10, open.shutdown()).await;
}

/// Accepts the token of one user. A real program verifies its signature, audience and expiry.
fn one_user(token: String) -> impl Authorizer {
    move |credentials: Credentials| {
        ready(match credentials.token() {
            Some(sent) if sent == token => Ok(Principal::new("axum-server", "user")),
            Some(_) => Err(AuthorizationError::invalid_token()),
            None => Err(AuthorizationError::missing_token()),
        })
    }
}

const USAGE: &str = "usage: axum-server [--http ADDRESS] [--token TOKEN [--issuer URL]]";
/// Maximum number of connections. Others are told to come later.
const MAX_CONNECTIONS: usize = 1024;
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
/// Time for a head, and for output that a client does not read.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Time for calls after Ctrl-C.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Time without accepting after the operating system ran out of files.
const PAUSE: Duration = Duration::from_millis(100);
