//! A server that demands tokens, and the authorization server that gives them.

use std::collections::HashSet;
use std::future::ready;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};
use mcp_sansio_adapters::asynchronous::http::{
    self, AuthorizationError, Credentials, HttpOptions, Principal, ProtectedResource,
};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use mcp_sansio_oauth::form::pairs;
use serde_json::json;
use smol::Async;

/// Both servers, on threads that end with the process.
pub(crate) struct World {
    /// URL of the MCP server.
    pub(crate) url: String,
    pub(crate) issuer: String,
    tokens: Arc<Mutex<Tokens>>,
}

/// State of the authorization server, and the requests that it got.
#[derive(Default)]
pub(crate) struct Tokens {
    number: u32,
    codes: HashSet<String>,
    access: HashSet<String>,
    refresh: HashSet<String>,
    pub(crate) registered: u32,
    pub(crate) refreshed: u32,
    /// Refreshes with a token that was used before, or that is unknown.
    pub(crate) refused: u32,
    pub(crate) denies: bool,
    /// Pages that were asked for.
    pub(crate) pages: u32,
}

impl Tokens {
    fn new_text(&mut self, kind: &str) -> String {
        self.number += 1;
        format!("{kind}-secret-{}", self.number)
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let tokens = Arc::new(Mutex::new(Tokens::default()));
        let authorization = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let issuer = format!("http://{}", authorization.local_addr().unwrap());
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let world = Self { url, issuer, tokens };
        let (issuer, tokens) = (world.issuer.clone(), Arc::clone(&world.tokens));
        thread::spawn(move || {
            for stream in authorization.incoming() {
                let (issuer, tokens) = (issuer.clone(), Arc::clone(&tokens));
                thread::spawn(move || authorize(stream.unwrap(), &issuer, &tokens));
            }
        });
        let resource = ProtectedResource::new(&world.url, &world.issuer).scopes(["greet"]);
        let (issuer, tokens) = (world.issuer.clone(), Arc::clone(&world.tokens));
        let options =
            HttpOptions::new().protected_resource(resource).authorize(move |it: Credentials| {
                ready(match it.token() {
                    Some(token) if tokens.lock().unwrap().access.contains(token) => {
                        Ok(Principal::new(issuer.as_str(), "ada"))
                    }
                    Some(_) => Err(AuthorizationError::invalid_token()),
                    None => Err(AuthorizationError::missing_token()),
                })
            });
        thread::spawn(move || {
            let app = App::new(&CONFIG, greet).catalog(&CATALOG);
            smol::block_on(http::serve(&app, Async::new(listener).unwrap(), options))
        });
        world
    }

    /// Ends all access tokens before their time.
    pub(crate) fn expire(&self) {
        self.with(|tokens| tokens.access.clear());
    }

    /// Ends the refresh tokens, too.
    pub(crate) fn revoke(&self) {
        self.expire();
        self.with(|tokens| tokens.refresh.clear());
    }

    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut Tokens) -> R) -> R {
        call(&mut self.tokens.lock().unwrap())
    }
}

/// The person at a browser: goes to the page, and where it redirects to. Returns the status there.
pub(crate) fn person(page: &str) -> u16 {
    get(&redirect(page)).0
}

/// Returns where a page redirects to.
pub(crate) fn redirect(page: &str) -> String {
    let (_, head) = get(page);
    head.lines().find_map(|line| line.strip_prefix("location: ")).expect(&head).to_owned()
}

/// Returns status and head of a response.
fn get(url: &str) -> (u16, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, target) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{target} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let status = response.split(' ').nth(1).unwrap().parse().unwrap();
    (status, response)
}

/// Serves one request to the authorization server.
fn authorize(mut stream: TcpStream, issuer: &str, tokens: &Mutex<Tokens>) {
    let Some((target, body)) = request(&mut stream) else { return };
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let value = |text: &str, name: &str| {
        pairs(text).find(|(other, _)| *other == *name).map(|(_, value)| value.to_string())
    };
    let (status, location, answer) = match path {
        "/.well-known/oauth-authorization-server" => {
            let metadata = json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "registration_endpoint": format!("{issuer}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            });
            (200, None, metadata)
        }
        "/register" => {
            let mut client: serde_json::Value = serde_json::from_str(&body).unwrap();
            let mut tokens = tokens.lock().unwrap();
            tokens.registered += 1;
            client["client_id"] = format!("client-{}", tokens.registered).into();
            (201, None, client)
        }
        "/authorize" => {
            let mut tokens = tokens.lock().unwrap();
            tokens.pages += 1;
            let answer = if tokens.denies {
                "error=access_denied".to_owned()
            } else {
                let code = tokens.new_text("code");
                tokens.codes.insert(code.clone());
                format!("code={code}")
            };
            let [home, state] = ["redirect_uri", "state"].map(|it| value(query, it).unwrap());
            let issuer = issuer.replace(':', "%3A").replace('/', "%2F");
            (302, Some(format!("{home}?{answer}&state={state}&iss={issuer}")), json!({}))
        }
        "/token" => {
            let is_refresh = value(&body, "grant_type").as_deref() == Some("refresh_token");
            if is_refresh {
                // Time for another process to come in between.
                thread::sleep(Duration::from_millis(200));
            }
            let mut tokens = tokens.lock().unwrap();
            let is_good = if is_refresh {
                value(&body, "refresh_token").is_some_and(|it| tokens.refresh.remove(&it))
            } else {
                value(&body, "code").is_some_and(|it| tokens.codes.remove(&it))
            };
            if is_good {
                tokens.refreshed += u32::from(is_refresh);
                let [access, refresh] = ["access", "refresh"].map(|kind| tokens.new_text(kind));
                tokens.access.insert(access.clone());
                tokens.refresh.insert(refresh.clone());
                let answer = json!({
                    "access_token": access,
                    "refresh_token": refresh,
                    "token_type": "Bearer",
                    "expires_in": 3600,
                });
                (200, None, answer)
            } else {
                tokens.refused += 1;
                // As after a theft: nothing is good any more (OAuth 2.1, 4.3.1).
                tokens.access.clear();
                tokens.refresh.clear();
                (400, None, json!({"error": "invalid_grant"}))
            }
        }
        _ => (404, None, json!({})),
    };
    let location = location.map(|place| format!("location: {place}\r\n")).unwrap_or_default();
    let answer = answer.to_string();
    let length = answer.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} x\r\n{location}content-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{answer}"
    );
}

/// Reads a request: its target and body.
fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase().lines().find_map(|line| {
                line.strip_prefix("content-length:").map(|length| length.trim().parse().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return Some((head.split(' ').nth(1)?.to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(len) => read.extend_from_slice(chunk.get(..len)?),
        }
    }
}

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("guarded", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog<'_> = Catalog::new()
    .tools(entries![Tool::new("greet", RawJson::from_static(r#"{"type":"object"}"#))]);

async fn greet(ctx: Context) -> HandlerResult {
    ctx.reply(&TextResult::new("Hello, Ada!"))
}
