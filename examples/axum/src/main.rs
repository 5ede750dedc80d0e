//! The everything server in an axum application: `cargo run -- --http 127.0.0.1:8080`
//!
//! With `--token TOKEN`, requests need this bearer token, and with `--issuer URL` clients are told
//! which authorization server has it. Ctrl-C shuts it down.

use std::error::Error;
use std::future::{IntoFuture as _, ready};
use std::time::Duration;

use axum::Router;
use lexopt::{Arg, Parser, ValueExt as _};
use mcp_sansio_adapters::asynchronous::http::{
    AuthorizationError, Authorizer, Credentials, HttpOptions, HttpServer, Principal,
    ProtectedResource,
};
use mcp_sansio_examples::everything_server;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (mut address, mut options) =
        ("127.0.0.1:0".to_owned(), HttpOptions::new().sse_path("/sse"));
    let (mut issuer, mut well_known) = (None, Vec::new());
    let mut arguments = Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Long("http") => address = arguments.value()?.parse()?,
            Arg::Long("token") => {
                options = options.authorize(one_user(arguments.value()?.parse()?))
            }
            Arg::Long("issuer") => issuer = Some(arguments.value()?.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    if let Some(issuer) = issuer {
        // The URL by which clients know the endpoint.
        let resource = ProtectedResource::new(format!("http://{address}/mcp"), issuer);
        well_known = resource.paths();
        options = options.protected_resource(resource);
    }
    let app = everything_server::app().shutdown_timeout(Duration::from_secs(5));
    let server = HttpServer::new(&app, options)?;
    let router =
        Router::new().route_service("/mcp", server.clone()).route_service("/sse", server.clone());
    let router =
        well_known.iter().fold(router, |router, path| router.route_service(path, server.clone()));
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    eprintln!(
        "axum-server: listening on http://{address}/mcp, and for HTTP+SSE on http://{address}/sse"
    );
    let broadcaster = app.broadcaster().clone();
    let stopped = async move {
        let _ = tokio::signal::ctrl_c().await;
        broadcaster.shut_down();
    };
    // The handlers run here, and connections in tasks of axum.
    let served = axum::serve(listener, router).with_graceful_shutdown(stopped).into_future();
    let ((), served) = tokio::join!(server.run(&app), served);
    Ok(served?)
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
