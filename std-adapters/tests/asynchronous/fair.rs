//! Peers that use as much as they can, beside an ordinary one. Polls, reads, writes and lines are
//! counted, not seconds.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::types::TextResult;
use mcp_sansio_adapters::asynchronous::{
    BoxedStream, Connection, Context, HandlerResult, Limits, serve,
};
use serde_json::json;

use crate::client::{Client, call};
use crate::door::Door;
use crate::hostile_stream::{Hostile, Manner};
use crate::pipe::pipe;
use crate::{serving, virtual_time};

async fn echo(ctx: Context) -> HandlerResult {
    ctx.reply(&TextResult::new("done"))
}

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

#[test]
fn p1_a_poll_of_a_connection_reads_takes_in_and_writes_a_bounded_number_of_times() {
    // A long line first, so that the buffers are large from then on.
    let long = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}\n", "x".repeat(1 << 20));
    for (manner, first, is_answered) in [
        (Manner::FLOODS, long.as_str(), true),
        (Manner::FLOODS_DEAF, long.as_str(), false),
        (Manner::DRIPS_ON, "", true),
    ] {
        let app = serving(echo);
        let counts = Arc::default();
        let mut connection =
            pin!(Connection::new(&app, Hostile::new(manner, first, PING, &counts)));
        let mut cx = TaskContext::from_waker(Waker::noop());
        let mut answered = 0;
        for poll in 0..5_000 {
            assert!(connection.as_mut().poll(&mut cx).is_pending());
            let [reads, writes, lines] = counts.take();
            assert!(
                reads <= 16 && writes <= 64 && lines <= 256 + 16,
                "poll {poll}: {reads} {writes} {lines}"
            );
            answered += lines;
        }
        assert_eq!(answered > 0, is_answered);
    }
}

/// Peers in front of a door.
fn door(peers: impl IntoIterator<Item = BoxedStream>) -> Door<BoxedStream> {
    let door = Door::default();
    peers.into_iter().for_each(|peer| door.enter(peer, None));
    door
}

#[test]
fn p1_three_hostile_peers_do_not_delay_the_calls_of_an_ordinary_one() {
    let calls = format!("{}\n", call(1, "echo", json!({})));
    let counts = Arc::default();
    let (server, client) = pipe(4096, 4096);
    let door = door([
        Box::new(Hostile::new(Manner::DRIPS_ON, "", &calls, &counts)) as BoxedStream,
        Box::new(Hostile::new(Manner::FLOODS_DEAF, "", &calls, &counts)),
        Box::new(Hostile::new(Manner::FLOODS, "", PING, &counts)),
        Box::new(server),
    ]);
    let idle_timeout = Some(Duration::MAX);
    let limits = Limits { idle_timeout, max_pending: 4096, ..Limits::new() };
    let app = serving(echo).limits(limits);
    let mut client = Client::new(client);
    let mut server = pin!(serve(&app, &door));
    let mut ordinary = pin!(async {
        for id in 1..=20 {
            assert_eq!(client.ask(&call(id, "echo", json!({}))).await["id"], id);
        }
    });
    let mut cx = TaskContext::from_waker(Waker::noop());
    let mut polls = 0;
    loop {
        polls += 1;
        assert!(server.as_mut().poll(&mut cx).is_pending());
        let [reads, writes, _] = counts.take();
        assert!(
            reads <= 64 * 16 && writes <= 64 * 64,
            "{reads} reads and {writes} writes in a poll"
        );
        if ordinary.as_mut().poll(&mut cx).is_ready() {
            break;
        }
        assert!(polls < 100, "twenty calls take at least a hundred polls");
    }
}

#[test]
fn p1_a_client_that_never_reads_is_disconnected_beside_busy_ones() {
    let calls = format!("{}\n", call(1, "echo", json!({})));
    let counts = Arc::default();
    let door = door([
        Box::new(Hostile::new(Manner::FLOODS_DEAF, "", &calls, &counts)) as BoxedStream,
        Box::new(Hostile::new(Manner::FLOODS, "", PING, &counts)),
    ]);
    let idle_timeout = Some(Duration::from_millis(50));
    let limits = Limits { idle_timeout, max_pending: 4096, ..Limits::new() };
    let app = serving(echo).limits(limits);
    let mut server = pin!(serve(&app, &door));
    let mut most = 0;
    virtual_time::block_on(async {
        for _ in 0..100 {
            assert!(future::poll_once(server.as_mut()).await.is_none());
            most = most.max(app.broadcaster().connections());
            tokio::time::advance(Duration::from_millis(1)).await;
        }
    });
    assert_eq!((most, app.broadcaster().connections()), (2, 1));
}
