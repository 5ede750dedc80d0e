//! Everything that clients can make the server keep: each table is filled to its limit.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Wake, Waker};

use mcp_sansio::Progress;
use mcp_sansio::types::TextResult;
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult, Limits};

use crate::site::{Site, call, in_session, modern};

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

#[test]
fn m1_handlers_of_a_session_have_a_limit_that_lost_connections_do_not_raise() {
    let site = Site::new();
    let session = site.open("2025-11-25");
    let send =
        |number: usize| site.begin(&call(&session, u32::try_from(number).unwrap() + 2, "wait"));
    let max_running = Limits::new().max_running;
    for number in 0..max_running {
        assert_eq!(send(number).head().status, 200);
    }
    site.wait_for(max_running, 0);
    let more: Vec<_> = (max_running..max_running + 10).map(send).collect();
    // They have been processed once another request of the session has a response.
    let ping = in_session(&session, r#"{"jsonrpc":"2.0","id":1000,"method":"ping"}"#);
    assert_eq!(site.send(&ping).status, 200);
    drop(more);
    site.wait_for(max_running, 0);
    site.delete(&session);
    site.wait_for(max_running, max_running);
}

#[test]
fn m1_subscriptions_of_a_session_have_a_limit() {
    let site = Site::new();
    let session = site.open("2025-11-25");
    let mut client = site.connect();
    let is_refused = (2..3000).any(|id| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"test://{id}"}}}}"#);
        client.write(&in_session(&session, &body));
        client.answer().body.contains("\"error\"")
    });
    assert!(is_refused);
}
