//! What clients can make the server keep: each table has a limit, and comes to it here.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Wake, Waker};

use mcp_sansio::Progress;
use mcp_sansio::types::TextResult;
use mcp_sansio_adapters::smol::{Context, Failure, Reply};

use crate::site::{Site, modern};

/// Tells of progress until there is no room, and answers how many wakers are kept of a future that is polled a thousand times,
/// and then of a thousand futures that are dropped.
pub(crate) async fn flood(ctx: &Context) -> Result<Reply, Failure> {
    struct Counted;

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {}
    }

    let counted = Arc::new(Counted);
    let waker = Waker::from(Arc::clone(&counted));
    let mut cx = task::Context::from_waker(&waker);
    let own = Arc::strong_count(&counted);
    let message = "x".repeat(10_000);
    let mut step = 1;
    while pin!(ctx.progress(&Progress::of(step).message(&message))).poll(&mut cx).is_ready() {
        step += 1;
    }
    let progress = Progress::of(1000).message(&message);
    let mut told = Box::pin(ctx.progress(&progress));
    for _ in 0..1000 {
        assert!(told.as_mut().poll(&mut cx).is_pending());
    }
    let kept = Arc::strong_count(&counted) - own;
    drop(told);
    for _ in 0..1000 {
        assert!(pin!(ctx.progress(&progress)).poll(&mut cx).is_pending());
    }
    let left = Arc::strong_count(&counted) - own;
    ctx.reply(&TextResult::new(&format!("{kept} kept, {left} left")))
}

#[test]
fn s5_a_handler_that_waits_for_room_keeps_one_waker() {
    assert_eq!(Site::new().send(&modern("flood")).text(), "1 kept, 0 left");
}
