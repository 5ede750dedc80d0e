//! Checks of credentials that wait.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_io::Timer;
use futures_lite::future;
use mcp_sansio::types::TextResult;
use mcp_sansio_adapters::asynchronous::http::{
    AuthorizationError, Authorizer, Credentials, HttpOptions, HttpServer, OwnedHead, Principal,
    ProtectedResource,
};
use mcp_sansio_adapters::asynchronous::{App, Context};

use crate::site::{CONFIG, Counted, Counts, Site, modern_with, principal, request};

/// Takes its time for tokens that say so.
#[derive(Clone, Default)]
struct Check {
    counts: Arc<Counts>,
    /// Whether the token `slow` waits no longer.
    is_open: Arc<AtomicBool>,
}

impl Authorizer for Check {
    async fn check(&self, sent: &Credentials) -> Result<Arc<Principal>, AuthorizationError> {
        let _counted = Counted::new(Arc::clone(&self.counts));
        match sent.token() {
            None => return Err(AuthorizationError::missing_token()),
            Some("never") => return pending().await,
            Some("broken") => {
                Timer::after(Duration::from_millis(5)).await;
                panic!("a broken check");
            }
            Some("wrong") => {
                Timer::after(Duration::from_millis(5)).await;
                return Err(AuthorizationError::invalid_token());
            }
            Some("unreachable") => return Err(AuthorizationError::unavailable()),
            Some("slow") => {
                while !self.is_open.load(Ordering::SeqCst) {
                    Timer::after(Duration::from_millis(1)).await;
                }
            }
            Some(_) => {}
        }
        Ok(Arc::new(principal(sent.token().unwrap_or_default())))
    }
}

fn who(token: &str) -> String {
    modern_with("who", &[("Authorization", &format!("Bearer {token}"))])
}

#[test]
fn auth_143_a_request_waits_for_the_check_of_its_token() {
    let check = Check::default();
    let site = Site::with(HttpOptions::new().authorize(check.clone()));
    let mut slow = site.begin(&who("slow"));
    // Others do not wait for it.
    assert_eq!(site.send(&who("anna")).text(), "anna");
    site.wait_for(1, 1);
    check.is_open.store(true, Ordering::SeqCst);
    assert_eq!(slow.answer().text(), "slow");
    let wrong = site.send(&who("wrong"));
    assert_eq!(wrong.status, 401);
    assert_eq!(wrong.field("www-authenticate"), Some("Bearer error=\"invalid_token\""));
    assert_eq!(site.send(&who("broken")).status, 500);
    site.wait_for(2, 2);
}

/// Knows Ada, and no others.
#[derive(Clone, Default)]
struct Knows(Check);

impl Authorizer for Knows {
    fn known(&self, sent: &Credentials) -> Option<Arc<Principal>> {
        match sent.token()? {
            "ada" => Some(Arc::new(principal("ada"))),
            "broken" => panic!("a broken check"),
            _ => None,
        }
    }

    async fn check(&self, sent: &Credentials) -> Result<Arc<Principal>, AuthorizationError> {
        self.0.check(sent).await
    }
}

#[test]
fn auth_143_known_credentials_are_not_checked_again() {
    let knows = Knows::default();
    let site = Site::with(HttpOptions::new().authorize(knows.clone()));
    assert_eq!(site.send(&who("ada")).text(), "ada");
    assert_eq!(knows.0.counts.get(), (0, 0));
    assert_eq!(site.send(&who("bob")).text(), "bob");
    assert_eq!(site.send(&who("broken")).status, 500);
    assert_eq!(knows.0.counts.get(), (2, 2));
    // A path that does not exist is refused nevertheless.
    let elsewhere = who("ada").replacen("/mcp", "/other", 1);
    assert_eq!(site.send(&elsewhere).status, 404);
    site.wait_for(2, 2);
}

#[test]
fn auth_156_a_token_that_cannot_be_checked_is_503_and_not_401() {
    let limit = Duration::from_millis(50);
    let options =
        HttpOptions { authorize_timeout: limit, ..HttpOptions::new() }.authorize(Check::default());
    let site = Site::with(options);
    for token in ["unreachable", "never"] {
        let answer = site.send(&who(token));
        assert_eq!(answer.status, 503, "{token}");
        assert_eq!(answer.field("www-authenticate"), None);
        assert_eq!(answer.field("retry-after"), Some("5"));
    }
    site.wait_for(0, 0);
}

#[test]
fn checks_that_wait_are_limited_and_those_that_do_not_are_not() {
    let app = App::new(&CONFIG, |ctx: Context| async move { ctx.reply(&TextResult::new("done")) });
    let options =
        HttpOptions { max_waiting_checks: 2, ..HttpOptions::new() }.authorize(Check::default());
    let server = HttpServer::new(&app, options).unwrap();
    let sent = |token| {
        let fields = [("Host", "localhost"), ("Authorization", token)];
        let mut exchange = server.exchange(OwnedHead::new("GET", "/mcp", fields));
        exchange.end_body();
        exchange
    };
    let requests = async {
        let mut waiting = [sent("Bearer never"), sent("Bearer never")];
        for exchange in &mut waiting {
            assert!(future::poll_once(exchange.response()).await.is_none());
        }
        assert_eq!(sent("Bearer wrong").response().await.status, 503);
        // The credentials are in order, but there is no session.
        assert_eq!(sent("Bearer anna").response().await.status, 405);
        let [first, _second] = waiting;
        drop(first);
        assert_eq!(sent("Bearer wrong").response().await.status, 401);
        app.broadcaster().shut_down();
    };
    future::block_on(future::zip(server.run(&app), requests));
}

#[test]
fn a_check_is_dropped_with_its_exchange_and_the_body_may_have_ended_before() {
    let check = Check { is_open: Arc::new(AtomicBool::new(true)), ..Check::default() };
    let app = App::new(&CONFIG, |ctx: Context| async move { ctx.reply(&TextResult::new("done")) });
    let server = HttpServer::new(&app, HttpOptions::new().authorize(check.clone())).unwrap();
    let fields = |token| [("Host", "localhost"), ("Authorization", token)];
    let requests = async {
        let mut slow = server.exchange(OwnedHead::new("GET", "/mcp", fields("Bearer slow")));
        slow.end_body();
        // The credentials are in order, but there is no session.
        assert_eq!(slow.response().await.status, 405);
        let mut never = server.exchange(OwnedHead::new("POST", "/mcp", fields("Bearer never")));
        assert!(future::poll_once(never.response()).await.is_none());
        assert_eq!(check.counts.get(), (2, 1));
        drop(never);
        assert_eq!(check.counts.get(), (2, 2));
        // A preflight needs no credentials, so they are not checked.
        let mut preflight =
            server.exchange(OwnedHead::new("OPTIONS", "/mcp", fields("Bearer never")));
        assert_eq!(preflight.response().await.status, 204);
        assert_eq!(check.counts.get(), (2, 2));
        app.broadcaster().shut_down();
    };
    future::block_on(future::zip(server.run(&app), requests));
}

#[test]
fn auth_08_auth_10_auth_149_auth_153_metadata_is_served_to_anyone_at_both_places() {
    let resource = ProtectedResource::new("https://mcp.example.com/mcp", "https://a.example")
        .authorization_server("https://b.example/tenant")
        .scopes(["files:read", "offline_access", "files:write"])
        .name("Files")
        .documentation("https://mcp.example.com/docs")
        .jwks_uri("https://mcp.example.com/keys")
        .dpop(["ES256", "EdDSA"])
        .dpop_required();
    let options = HttpOptions::new().protected_resource(resource).authorize(Check::default());
    let site = Site::with(options);
    // Any page may read it, and the server may have any name.
    let from = [("Origin", "https://anywhere.example"), ("Host", "mcp.example.com")];
    for target in ["", "/mcp"].map(|path| format!("/.well-known/oauth-protected-resource{path}")) {
        let answer = site.send(&request("GET", &target, &from, ""));
        assert_eq!(answer.status, 200);
        assert_eq!(answer.field("content-type"), Some("application/json"));
        assert_eq!(answer.field("access-control-allow-origin"), Some("*"));
        let json: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        let expected = serde_json::json!({
            "resource": "https://mcp.example.com/mcp",
            "authorization_servers": ["https://a.example", "https://b.example/tenant"],
            "scopes_supported": ["files:read", "files:write"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Files",
            "resource_documentation": "https://mcp.example.com/docs",
            "jwks_uri": "https://mcp.example.com/keys",
            "dpop_signing_alg_values_supported": ["ES256", "EdDSA"],
            "dpop_bound_access_tokens_required": true,
        });
        assert_eq!(json, expected);
        let asked = ("Access-Control-Request-Headers", "mcp-protocol-version");
        let preflight = [from.as_slice(), &[asked]].concat();
        let answer = site.send(&request("OPTIONS", &target, &preflight, ""));
        assert_eq!(answer.status, 204);
        for (name, value) in [
            ("access-control-allow-origin", "*"),
            ("access-control-allow-methods", "GET, HEAD, OPTIONS"),
            ("access-control-allow-headers", "mcp-protocol-version"),
        ] {
            assert_eq!(answer.field(name), Some(value));
        }
    }
    for (site, path) in [(&site, "/other"), (&Site::new(), "")] {
        let target = format!("/.well-known/oauth-protected-resource{path}");
        assert_eq!(site.send(&request("GET", &target, &[], "")).status, 404);
    }
    // The endpoint is as strict as before.
    assert_eq!(site.send(&request("GET", "/mcp", &from, "")).status, 403);
}
