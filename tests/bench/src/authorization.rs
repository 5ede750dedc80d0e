//! Cases of the asynchronous HTTP server, on a connection in memory, with and without a check of
//! access tokens, and in a fleet: from the bytes of a call to the bytes of its response.

use std::cell::{Cell, RefCell};
use std::future::{Future, ready};
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_sansio::types::{Text, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ToolError, entries};
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::asynchronous::http::{
    self, AuthorizationError, Credentials, HttpOptions, Principal, tokens,
};
use mcp_sansio_adapters::asynchronous::{Accepted, App, HandlerResult, Listener};
use mcp_sansio_adapters::bus::{Bus, BusReceiver, Topic};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

use crate::ours::CONFIG;
use crate::stream::{Peer, Stream, take};
use crate::{Case, messages, site};

pub(crate) static CATALOG: Catalog = Catalog::new().tools(entries![ECHO]);
static SCOPED: Catalog = Catalog::new().tools(entries![ECHO.scopes("mcp:tools")]);
const ECHO: Tool<'static> = Tool::new("echo", RawJson::from_static(r#"{"type":"object"}"#));

const ISSUER: &str = "https://auth.example";
const AUDIENCE: &str = "https://mcp.example/mcp";

/// The check of requests.
#[derive(Clone, Copy, PartialEq)]
enum Check {
    None,
    /// None, by a server with others on a bus.
    Fleet,
    /// By a closure that compares the token, and returns a principal that is kept.
    Closure,
    /// As a JWT that was found valid before.
    Jwt,
    /// The same, and the tool takes a scope.
    Scope,
}

/// Returns the case of this name, or all of them: keys and signatures are drawn, and take so many
/// instructions that other cases would seem to take them.
pub(crate) fn cases(wanted: Option<&str>) -> Vec<Case> {
    let is_wanted = |name: &str| wanted.is_none_or(|wanted| name == wanted);
    let mut cases = Vec::new();
    if is_wanted("server-session") {
        cases.push(session());
    }
    for (era, legacy) in [("legacy", true), ("modern", false)] {
        for (name, check, token) in [
            ("none", Check::None, None),
            ("fleet", Check::Fleet, None),
            // The field is read, and not checked.
            ("none-300", Check::None, Some(300)),
            ("none-800", Check::None, Some(800)),
            ("closure-300", Check::Closure, Some(300)),
            ("jwt-300", Check::Jwt, Some(300)),
            ("jwt-800", Check::Jwt, Some(800)),
            ("scope-300", Check::Scope, Some(300)),
        ] {
            let name = format!("server-{era}-{name}");
            if is_wanted(&name) {
                cases.push(case(name, legacy, (check, token), 64, &[""]));
            }
        }
        // A client whose next head is another.
        let fields = &["x-one: a\r\n", "x-two: a\r\n"];
        cases.push(case(format!("server-{era}-heads"), legacy, (Check::None, None), 64, fields));
        let long = 64 << 10;
        cases.push(case(format!("server-{era}-64k"), legacy, (Check::None, None), long, &[""]));
    }
    cases
}

/// `fields` are those of one call after the other.
fn case(
    name: String,
    legacy: bool,
    (check, token): (Check, Option<usize>),
    text: usize,
    fields: &'static [&'static str],
) -> Case {
    let (token, keys) = token.map(token_of).unzip();
    let authorization = token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n"));
    let authorization = authorization.unwrap_or_default();
    let mut called = server(check, token, keys);
    let session = if legacy { open_session(&mut called, &authorization) } else { String::new() };
    let body = messages::call(legacy, text);
    let request_with = |field: &&str| {
        let fields = format!("{authorization}{field}");
        site::request(legacy, "tools/call", "echo", &session, &fields, &body)
    };
    let requests: Vec<_> = fields.iter().map(request_with).collect();
    let expected = called(&requests[0]);
    assert!(expected.starts_with(b"HTTP/1.1 200") && expected.ends_with(b"}"));
    let (bytes, mut times) = (requests[0].len(), 0);
    Case::new(name, bytes, move || {
        times += 1;
        let response = called(&requests[times % requests.len()]);
        assert!(response == expected);
        response.len()
    })
}

/// A session that is opened, initialized and ended.
fn session() -> Case {
    let mut called = server(Check::None, None, None);
    Case::new("server-session", messages::INITIALIZE.len(), move || {
        let session = open_session(&mut called, "");
        let end = site::head(true, "DELETE", &format!("mcp-session-id: {session}\r\n"));
        let ended = called(&(end + "\r\n"));
        assert!(ended.starts_with(b"HTTP/1.1 200") || ended.starts_with(b"HTTP/1.1 204"));
        ended.len()
    })
}

/// Returns a connection of a server: a function from requests to responses.
fn server(
    check: Check,
    token: Option<String>,
    keys: Option<String>,
) -> impl FnMut(&str) -> Vec<u8> {
    let options = HttpOptions::new();
    let options = match check {
        Check::None => options,
        Check::Fleet => {
            HttpOptions { node: Some("web1".into()), bus: Some(Arc::new(Silence)), ..options }
        }
        Check::Closure => {
            let ada = Arc::new(Principal::new(ISSUER, "ada"));
            options.authorize(move |credentials: Credentials| {
                ready(if credentials.token() == token.as_deref() {
                    Ok(Arc::clone(&ada))
                } else {
                    Err(AuthorizationError::invalid_token())
                })
            })
        }
        Check::Jwt | Check::Scope => {
            let keys = tokens::Jwks::from_json(&keys.unwrap_or_default()).expect("a key");
            options.authorize(tokens::Jwt::new(ISSUER, AUDIENCE).keys(keys))
        }
    };
    let app =
        App::new(&CONFIG, echo).catalog(if check == Check::Scope { &SCOPED } else { &CATALOG });
    let app = if check == Check::Fleet { app.key_ring(KeyRing::new([7; 32])) } else { app };
    let wire = Rc::new(Wire::default());
    let listener = Accepts(Cell::new(Some(Rc::clone(&wire))));
    let mut served = Box::pin(http::serve(Box::new(app), listener, options));
    move |request| {
        wire.send(request);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(served.as_mut().poll(&mut cx).is_pending(), "the server goes on");
        wire.output.take()
    }
}

fn open_session(called: &mut impl FnMut(&str) -> Vec<u8>, authorization: &str) -> String {
    let open = site::request(true, "initialize", "", "", authorization, messages::INITIALIZE);
    let opened = String::from_utf8(called(&open)).expect("it is text");
    let id = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let session = id.expect("a session is open").to_owned();
    called(&site::request(true, "", "", &session, authorization, messages::INITIALIZED));
    session
}

pub(crate) async fn echo(ctx: mcp_sansio_adapters::asynchronous::Context) -> HandlerResult {
    let request = ctx.request()?;
    let text = request.arguments().get("text").and_then(RawJson::as_string);
    let text = text.ok_or(ToolError::invalid_arguments("no text"))?;
    ctx.reply(&TextResult::from(Text::from(text)))
}

/// Returns a JWT of this length, signed by ES256, and the set of keys for it.
fn token_of(length: usize) -> (String, String) {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
    let key = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("a key");
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let header = encode(br#"{"typ":"at+jwt","alg":"ES256"}"#);
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("a clock").as_secs();
    let claims = |jti: usize| {
        let (exp, jti) = (now + 3600, "x".repeat(jti));
        format!(
            r#"{{"iss":"{ISSUER}","aud":"{AUDIENCE}","sub":"a","exp":{exp},"scope":"mcp:tools","x":"{jti}"}}"#
        )
    };
    let without = header.len() + 2 + encode(&[0; 64]).len();
    let jti = ((length - without) * 3 / 4).checked_sub(claims(0).len()).expect("a longer token");
    let signed = format!("{header}.{}", encode(claims(jti).as_bytes()));
    let signature = key.sign(&random, signed.as_bytes()).expect("a signature");
    let token = format!("{signed}.{}", encode(signature.as_ref()));
    assert!(token.len().abs_diff(length) <= 1, "{}", token.len());
    let (x, y) = key.public_key().as_ref()[1..].split_at(32);
    let (x, y) = (encode(x), encode(y));
    (token, format!(r#"{{"keys":[{{"kty":"EC","crv":"P-256","x":"{x}","y":"{y}"}}]}}"#))
}

/// A bus on which nobody says anything.
struct Silence;

impl Bus for Silence {
    fn publish(&self, _: Topic, _: Vec<u8>) {}

    fn join(&self, _: Weak<dyn BusReceiver>) {}
}

/// The bytes of a connection.
#[derive(Default)]
struct Wire {
    input: RefCell<Vec<u8>>,
    output: RefCell<Vec<u8>>,
    reader: Cell<Option<Waker>>,
}

impl Wire {
    fn send(&self, request: &str) {
        self.input.borrow_mut().extend_from_slice(request.as_bytes());
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }
}

impl Peer for Rc<Wire> {
    fn read(&mut self, into: &mut [u8]) -> Option<usize> {
        let mut input = self.input.borrow_mut();
        (!input.is_empty()).then(|| take(&mut input, into))
    }

    fn write(&mut self, bytes: &[u8]) {
        self.output.borrow_mut().extend_from_slice(bytes);
    }

    fn waits(&mut self, waker: &Waker) {
        self.reader.set(Some(waker.clone()));
    }
}

/// A listener with one connection.
struct Accepts(Cell<Option<Rc<Wire>>>);

impl Listener for Accepts {
    type Stream = Stream<Rc<Wire>>;

    fn poll_accept(&self, _: &mut Context<'_>) -> Poll<io::Result<Accepted<Self::Stream>>> {
        self.0.take().map_or(Poll::Pending, |wire| Poll::Ready(Ok((Stream(wire), None))))
    }
}
