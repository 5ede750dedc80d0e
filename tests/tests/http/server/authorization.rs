//! Authorization as a step, and what belongs to a principal.

use std::time::Duration;

use mcp_sansio_engine::site::Principal;

use super::host::{
    CONFIG, Host, PING, bare, in_session, initialize, listen, modern, modern_call, post, resume,
    tool_call, with_token,
};

fn host() -> Host {
    Host::of(&CONFIG, |options| options.authorizes = true)
}

#[test]
fn d3_a_request_without_a_valid_token_gets_a_challenge_whatever_else_is_wrong_with_it() {
    let mut host = host();
    let html = [("Accept", "text/html"), ("Mcp-Session-Id", "x")];
    for request in [
        modern("tools/list", "{}", &[]),
        initialize("2025-11-25"),
        bare("PUT", &[]),
        bare("GET", &[]),
        bare("GET", &html),
        post(&html, PING),
        post(&[("Content-Type", "text/html")], PING),
    ] {
        let answer = host.send(&request);
        assert_eq!((answer.status, answer.field("www-authenticate")), (401, Some("Bearer")));
        let answer = host.send(&with_token("expired", &request));
        assert_eq!(answer.field("www-authenticate"), Some("Bearer error=\"invalid_token\""));
    }
    assert_eq!((host.site.sessions(), host.principals.len()), (0, 0));
    // Browsers ask without credentials, and hosts are checked before.
    let origin = ("Origin", "http://localhost:1");
    let answer = host.send(&bare("OPTIONS", &[origin]));
    assert_eq!(answer.status, 204);
    assert_eq!(answer.field("access-control-allow-origin"), Some("http://localhost:1"));
    assert_eq!(host.send(&bare("GET", &[("Host", "evil.example")])).status, 403);
}

#[test]
fn a_principal_has_the_scopes_of_its_token_and_no_parts_of_them() {
    let principal =
        Principal { scopes: "read files:write".to_owned(), ..Principal::new("issuer", "a") };
    let has = ["read", "files:write", "write", "rea", "", "read files:write"]
        .map(|scope| principal.has_scope(scope));
    assert_eq!(has, [true, true, false, false, false, false]);
    assert!(!Principal::new("issuer", "a").has_scope("read"));
}

#[test]
fn a_request_waits_for_its_authorization_and_others_do_not() {
    let mut host = host();
    host.authorizes_at_once = false;
    let call = modern_call("echo");
    let mut all = host.connect_all([&with_token("a", &call), &with_token("b", &call)]);
    assert!(host.principals.is_empty());
    let asked = std::mem::take(&mut host.asked);
    for ((exchange, token), number) in asked.into_iter().rev().zip([1, 0]) {
        assert_eq!(token.as_deref(), Some(["a", "b"][number]));
        host.authorize(exchange, token);
        host.serve(&mut all);
        assert_eq!(all[number].answer.status, 200);
    }
    assert_eq!(host.principals, [Some("b".to_owned()), Some("a".to_owned())]);
    // A connection that is lost meanwhile is not served.
    let mut lost = host.connect(&with_token("c", &call));
    lost.close(&mut host);
    let (exchange, token) = host.asked.remove(0);
    host.authorize(exchange, token);
    host.run();
    assert_eq!((host.principals.len(), host.site.exchanges()), (2, 0));
}

#[test]
fn auth_142_a_field_is_added_to_the_response_while_a_request_waits_for_its_authorization() {
    let mut host = host();
    host.authorizes_at_once = false;
    for (token, status) in [("a", 200), ("expired", 401)] {
        let mut one = host.connect(&with_token(token, &modern("tools/list", "{}", &[])));
        let (exchange, token) = host.asked.remove(0);
        host.site.add_field(exchange, "dpop-nonce", "n-1");
        host.authorize(exchange, token);
        host.site.add_field(exchange, "dpop-nonce", "n-2");
        host.serve([&mut one]);
        assert_eq!((one.answer.status, one.answer.field("dpop-nonce")), (status, Some("n-1")));
    }
}

#[test]
fn auth_143_a_request_that_is_authorized_when_it_begins_is_a_request_like_others() {
    let mut host = host();
    (host.authorizes_at_once, host.known) = (false, &["a", "b", "short-c"]);
    let call = modern_call("echo");
    for token in ["a", "b"] {
        assert_eq!(host.send(&with_token(token, &call)).status, 200);
    }
    assert_eq!(host.principals, [Some("a".to_owned()), Some("b".to_owned())]);
    // Credentials do not change the other checks.
    let elsewhere = call.replacen("Host: localhost", "Host: evil.example", 1);
    assert_ne!(elsewhere, call);
    assert_eq!(host.send(&with_token("a", &elsewhere)).status, 403);
    assert_eq!(host.send(&with_token("a", &bare("PUT", &[]))).status, 405);
    let mut cut = host.connect(&with_token("short-c", &modern_call("slow")));
    assert!(!cut.is_done);
    host.serve_after(Duration::from_secs(6), [&mut cut]);
    assert!(cut.is_done, "the token has expired");
    assert!(host.asked.is_empty());
    host.connect(&with_token("d", &call));
    assert_eq!(host.asked.len(), 1);
}

#[test]
fn sess_10_a_session_is_found_only_by_the_principal_that_opened_it() {
    let mut host = host();
    let id = host.send(&with_token("a", &initialize("2025-11-25"))).session();
    let own = [("Mcp-Session-Id", id.as_str())];
    for (token, status) in [("b", 404), ("a", 200)] {
        assert_eq!(host.send(&with_token(token, &post(&own, PING))).status, status);
        assert_eq!(host.send(&with_token(token, &bare("GET", &own))).status, status);
    }
    assert_eq!(host.send(&with_token("b", &bare("DELETE", &own))).status, 404);
    assert_eq!(host.send(&with_token("a", &bare("DELETE", &own))).status, 204);
}

#[test]
fn a_stream_ends_when_its_token_expires_and_is_resumed_with_a_new_one() {
    let mut host = host();
    let id = host.send(&with_token("short-a", &initialize("2025-11-25"))).session();
    let get = bare("GET", &[("Mcp-Session-Id", &id)]);
    let all = [get, in_session(&id, &tool_call(2, "slow")), listen()];
    let all = all.map(|text| with_token("short-a", &text));
    let mut all = host.connect_all(all.each_ref().map(String::as_str));
    let open = host.open[0];
    host.progress(open, 1);
    host.serve_after(Duration::from_millis(4999), &mut all);
    assert!(all.iter().all(|stream| !stream.is_done));
    host.serve_after(Duration::from_millis(1), &mut all);
    assert!(all.iter().all(|stream| stream.is_done), "{:?}", all[1].answer);
    // The request of the session goes on, the subscription without one has ended.
    assert_eq!((host.site.sessions(), host.ended.len()), (1, 1));
    host.finish(open);
    host.now = mcp_sansio::Instant::from_millis(4000);
    let resumed = host.connect(&with_token("short-a", &resume(&id, "2-1")));
    assert!(resumed.answer.body.starts_with("id: 2-2\ndata: {"), "{:?}", resumed.answer);
    assert!(resumed.is_done);
}
