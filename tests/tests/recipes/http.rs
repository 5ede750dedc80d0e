//! Recipes for servers at a URL.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::net::TcpListener;
use std::time::Duration;

use mcp_sansio::http::server::HostPolicy;
use mcp_sansio::typed::Tools;
use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{Catalog, Era, RawJson, ServerConfig};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::client::{CallError, Connector, HttpError};
use mcp_sansio_adapters::asynchronous::http::{
    self, AuthorizationError, Credentials, HttpOptions, Principal,
};
use mcp_sansio_adapters::asynchronous::{App, Connection, Context, HandlerResult, Limits};
use smol::Async;

use super::content;

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("recipes", "0.1.0"), CATALOG.features());
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Counts your calls.
    Count,
}

/// `pipes` is `app.serve_stdio()`. The program ends with its input.
async fn serve_both<F: Future<Output = HandlerResult>>(
    app: &App<impl Fn(Context) -> F>,
    pipes: impl Future<Output = io::Result<()>>,
    listener: Async<TcpListener>,
) -> io::Result<()> {
    smol::future::or(pipes, http::serve(app, listener, HttpOptions::new())).await
}

/// A real program verifies a signature, or asks the authorization server.
fn check(credentials: &Credentials) -> Result<Principal, AuthorizationError> {
    let user = match credentials.token() {
        Some("token-of-ada") => "ada",
        Some("token-of-bob") => "bob",
        Some(_) => return Err(AuthorizationError::invalid_token()),
        None => return Err(AuthorizationError::missing_token()),
    };
    Ok(Principal::new("https://auth.example.com", user))
}

fn options() -> HttpOptions {
    HttpOptions::new().authorize(|credentials: Credentials| ready(check(&credentials)))
}

/// The number of calls of each user.
type Counts = RefCell<BTreeMap<String, u32>>;

async fn count(ctx: Context, counts: &Counts) -> HandlerResult {
    let user = ctx.principal().ok_or("nobody is logged in")?.subject.clone();
    let mut counts = counts.borrow_mut();
    let count = counts.entry(user).or_default();
    *count += 1;
    ctx.reply(&TextResult::new(&count.to_string()))
}

fn limited(options: HttpOptions) -> (Limits, HttpOptions) {
    let limits = Limits {
        max_line: 64 << 10,   // bytes of a message
        max_running: 8,       // calls of one session at a time
        max_connections: 100, // of the program
        shutdown_timeout: Duration::from_secs(20),
        ..Limits::new()
    };
    let options = HttpOptions {
        host_policy: HostPolicy::hosts(&["mcp.example.com", "localhost"]),
        max_sessions: 50,
        body_budget: 8 << 20, // bytes of all bodies together
        read_timeout: Duration::from_secs(10),
        ..options
    };
    (limits, options)
}

/// `stop` ends when the program is to: in a program with the crate `async-signal`, at Ctrl-C.
async fn serve_until<F: Future<Output = HandlerResult>>(
    app: &App<impl Fn(Context) -> F>,
    listener: Async<TcpListener>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let stopped = async {
        stop.await;
        app.broadcaster().shut_down(); // calls that run may end, until `Limits::shutdown_timeout`
    };
    let serve = http::serve(app, listener, HttpOptions::new());
    smol::future::zip(serve, stopped).await.0
}

fn listen() -> (Async<TcpListener>, String) {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
    let url = format!("http://{}/mcp", listener.get_ref().local_addr().unwrap());
    (listener, url)
}

async fn call(url: &str, token: &str) -> Result<String, CallError> {
    let transport = HttpTransport::new(url).unwrap().bearer(token);
    let connector = Connector::new(&super::CONFIG).era(Era::Modern);
    let (client, connection) = connector.connect(transport);
    let result = connection.drive(client.call_tool("count", &RawJson::EMPTY)).await?;
    Ok(content(&result))
}

#[test]
fn one_program_serves_pipes_and_a_url() {
    let counts = Counts::default();
    let app = App::new(&CONFIG, |ctx| count(ctx, &counts)).catalog(&CATALOG);
    let (listener, url) = listen();
    let (ours, theirs) = smol::block_on(super::pair()).unwrap();
    let client = async {
        assert_eq!(call(&url, "").await.unwrap(), "nobody is logged in");
        let (client, connection) = Connector::new(&super::CONFIG).connect(ours);
        let result = connection.drive(client.call_tool("count", &RawJson::EMPTY)).await;
        assert_eq!(content(&result.unwrap()), "nobody is logged in");
    };
    let pipes = async { Connection::new(&app, theirs).await.map(drop) };
    let both = serve_both(&app, pipes, listener);
    let (served, ()) = smol::block_on(smol::future::zip(both, client));
    served.unwrap();
}

#[test]
fn each_user_has_a_state_and_a_stranger_none() {
    let counts = Counts::default();
    let (limits, options) = limited(options());
    let app = App::new(&CONFIG, |ctx| count(ctx, &counts)).catalog(&CATALOG).limits(limits);
    let (listener, url) = listen();
    let url = url.replace("127.0.0.1", "localhost");
    let served = async { http::serve(&app, listener, options).await.unwrap() };
    smol::block_on(smol::future::or(served, async {
        assert_eq!(call(&url, "token-of-ada").await.unwrap(), "1");
        assert_eq!(call(&url, "token-of-ada").await.unwrap(), "2");
        assert_eq!(call(&url, "token-of-bob").await.unwrap(), "1");
        let error = call(&url, "token-of-eve").await.unwrap_err();
        assert!(matches!(error, CallError::Http(HttpError::Unauthorized { .. })), "{error}");
    }));
}

#[test]
fn a_server_ends_when_it_is_stopped() {
    let counts = Counts::default();
    let app = App::new(&CONFIG, |ctx| count(ctx, &counts)).catalog(&CATALOG);
    let (listener, url) = listen();
    let stop = async { assert_eq!(call(&url, "").await.unwrap(), "nobody is logged in") };
    smol::block_on(serve_until(&app, listener, stop)).unwrap();
}
