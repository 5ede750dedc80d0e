//! Everything that clients can make the server keep: each table is filled to its limit.

use std::future::{Future, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Wake, Waker};

use mcp_sansio::Progress;
use mcp_sansio::types::TextResult;
use mcp_sansio_adapters::asynchronous::http::{AuthorizationError, Credentials, HttpOptions};
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult, Limits};

use crate::site::{Site, call, get, initialize, modern, post, principal, request};

/// Reports progress until there is no room. Returns the number of wakers that are kept for one
/// future that is polled a thousand times, and for a thousand futures that are dropped.
pub(crate) async fn flood(ctx: &Context) -> HandlerResult {
    struct Counted;

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {}
    }

    let counted = Arc::new(Counted);
    let waker = Waker::from(Arc::clone(&counted));
    let mut cx = task::Context::from_waker(&waker);
    let own = Arc::strong_count(&counted);
    let message = "x".repeat(10_000);
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    let mut step = 1;
    while pin!(tool.progress(&Progress::of(step).message(&message))).poll(&mut cx).is_ready() {
        step += 1;
    }
    let progress = Progress::of(1000).message(&message);
    let mut told = Box::pin(tool.progress(&progress));
    for _ in 0..1000 {
        assert!(told.as_mut().poll(&mut cx).is_pending());
    }
    let kept = Arc::strong_count(&counted) - own;
    drop(told);
    for _ in 0..1000 {
        assert!(pin!(tool.progress(&progress)).poll(&mut cx).is_pending());
    }
    let left = Arc::strong_count(&counted) - own;
    ctx.reply(&TextResult::new(&format!("{kept} kept, {left} left")))
}

#[test]
fn s5_a_handler_that_waits_for_room_keeps_one_waker() {
    assert_eq!(Site::new().send(&modern("flood")).text(), "1 kept, 0 left");
}

/// Opens a session without `initialized`, and returns its id.
fn begin(site: &Site, token: &str) -> String {
    let answer = site.send(&with(&initialize("2025-11-25"), token));
    answer.field("mcp-session-id").unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

/// Adds a token to a request.
fn with(request: &str, token: &str) -> String {
    request.replace("Host:", &format!("Authorization: Bearer {token}\r\nHost:"))
}

fn by_name() -> HttpOptions {
    HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() }.authorize(
        |credentials: Credentials| {
            ready(credentials.token().map(principal).ok_or_else(AuthorizationError::missing_token))
        },
    )
}

#[test]
fn d2_sessions_that_were_never_initialized_end_first() {
    let site = Site::with(HttpOptions { max_sessions: 3, ..HttpOptions::new() });
    let used = site.open("2025-11-25");
    let begun = [begin(&site, ""), begin(&site, "")];
    // Each replaces the oldest one without `initialized`.
    let third = begin(&site, "");
    assert_eq!(site.call(&begun[0], 2, "echo").status, 404);
    let fourth = site.open("2025-11-25");
    assert_eq!(site.call(&begun[1], 2, "echo").status, 404);
    let fifth = site.open("2025-11-25");
    assert_eq!(site.call(&third, 2, "echo").status, 404);
    // All three are initialized.
    assert_eq!(site.send(&initialize("2025-11-25")).status, 503);
    for session in [&used, &fourth, &fifth] {
        assert_eq!(site.call(session, 3, "echo").text(), "done");
    }
    assert_eq!(site.send(&request("DELETE", "/mcp", &[("Mcp-Session-Id", &used)], "")).status, 204);
    site.open("2025-11-25");
    assert_eq!(site.send(&initialize("2025-11-25")).status, 503);
}

#[test]
fn d2_sessions_of_one_principal_leave_room_for_others() {
    let site =
        Site::with(HttpOptions { max_sessions: 5, max_sessions_per_principal: 2, ..by_name() });
    let ready = |session: &str, token: &str| {
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let answer = site.send(&with(&post(&[("Mcp-Session-Id", session)], body), token));
        assert_eq!(answer.status, 202);
    };
    let anna = [begin(&site, "anna"), begin(&site, "anna")];
    let otto = begin(&site, "otto");
    // Her own is replaced, although there is room for more.
    let again = begin(&site, "anna");
    assert_eq!(site.send(&with(&call(&anna[0], 2, "echo"), "anna")).status, 404);
    ready(&anna[1], "anna");
    ready(&again, "anna");
    assert_eq!(site.send(&with(&initialize("2025-11-25"), "anna")).status, 503);
    assert_eq!(site.send(&with(&call(&otto, 2, "who"), "otto")).text(), "otto");
    let others = [begin(&site, "otto"), begin(&site, "ida")];
    // There are five: the oldest of all without `initialized` is replaced by another principal.
    begin(&site, "eva");
    assert_eq!(site.send(&with(&call(&otto, 3, "who"), "otto")).status, 404);
    assert_eq!(site.send(&with(&call(&others[1], 3, "who"), "ida")).text(), "ida");
    let delete = request("DELETE", "/mcp", &[("Mcp-Session-Id", &again)], "");
    assert_eq!(site.send(&with(&delete, "anna")).status, 204);
    begin(&site, "anna");
}

#[test]
fn d2_sessions_of_http_and_sse_have_the_same_limits() {
    let site =
        Site::with(HttpOptions { max_sessions: 3, max_sessions_per_principal: 2, ..by_name() });
    let open = |token: &str| {
        let mut stream = site.connect();
        stream.write(&with(&request("GET", "/sse", &[], ""), token));
        (stream.head().status, stream)
    };
    let streams = ["anna", "anna", "otto"].map(|token| {
        let (status, stream) = open(token);
        assert_eq!(status, 200);
        stream
    });
    assert_eq!(open("otto").0, 503);
    let [first, ..] = streams;
    drop(first);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while open("anna").0 != 200 {
        assert!(std::time::Instant::now() < end);
    }
}

#[test]
fn d2_sessions_without_authorization_have_only_the_general_limit() {
    let site = Site::with(HttpOptions { max_sessions_per_principal: 1, ..HttpOptions::new() });
    for _ in 0..3 {
        site.open("2025-11-25");
    }
}

#[test]
fn m1_handlers_of_a_session_have_a_limit_that_lost_connections_do_not_raise() {
    let site = Site::new();
    let session = site.open("2025-11-25");
    let send = |number: usize| {
        let mut client = site.connect();
        client.write(&call(&session, u32::try_from(number).unwrap() + 2, "wait"));
        client
    };
    let max_running = Limits::new().max_running;
    for number in 0..max_running {
        assert_eq!(send(number).head().status, 200);
    }
    site.wait_for(max_running, 0);
    let more: Vec<_> = (max_running..max_running + 10).map(send).collect();
    // They have been processed once another request of the session has a response.
    let ping =
        post(&[("Mcp-Session-Id", &session)], r#"{"jsonrpc":"2.0","id":1000,"method":"ping"}"#);
    assert_eq!(site.send(&ping).status, 200);
    drop(more);
    site.wait_for(max_running, 0);
    assert_eq!(
        site.send(&request("DELETE", "/mcp", &[("Mcp-Session-Id", &session)], "")).status,
        204
    );
    site.wait_for(max_running, max_running);
}

#[test]
fn m1_subscriptions_of_a_session_have_a_limit() {
    let site = Site::new();
    let session = site.open("2025-11-25");
    let mut client = site.connect();
    let is_refused = (2..3000).any(|id| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"test://{id}"}}}}"#);
        client.write(&post(&[("Mcp-Session-Id", &session)], &body));
        client.answer().body.contains("\"error\"")
    });
    assert!(is_refused);
}

#[test]
fn m1_replay_keeps_the_newest_events_that_there_is_room_for() {
    let site = Site::with(HttpOptions { replay: 400, ..HttpOptions::new() });
    let session = site.open("2025-11-25");
    assert_eq!(site.call(&session, 2, "steps").text(), "done");
    let rest = site.send(&get(&session, &[("Last-Event-ID", "3-0")])).body;
    assert!(rest.contains("id: 3-4\n") && !rest.contains("id: 3-1\n"), "{rest}");
}
