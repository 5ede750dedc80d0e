//! Servers that never pause, never read, or drip, beside an ordinary one on the same thread; and
//! everything that a server can make the client keep or do, filled to the limit. Steps and
//! connections are counted, not seconds.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::types::{CallToolParams, ListRootsResult};
use mcp_sansio::{CallOptions, Era};
use mcp_sansio_adapters::asynchronous::client::http::{
    Dial, HttpLimits, HttpTransport, MAX_ONE_WAY_POSTS,
};
use mcp_sansio_adapters::asynchronous::client::{
    CallError, Client, ClientLimits, ConnectError, ConnectionEnd, Connector, OwnedInputRequest,
};
use serde_json::json;

use crate::hostile_stream::{Counts, Hostile, Manner};
use crate::pipe::Pipe;
use crate::scene::{Response, call, event, legacy, modern, play, play_with, run};
use crate::{CLIENT, LEGACY, MODERN};

const SHORT: Duration = Duration::from_millis(50);

const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const JSON: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
const REFUSAL: &str = "HTTP/1.1 500 No\r\nContent-Type: application/json\r\n\r\n";

/// Text that is sent once, and text that is repeated for ever.
const NOISE: [(&str, &str); 9] = [
    (EVENTS, "data: x\n"),
    (EVENTS, "id: 1\n\n"),
    (EVENTS, ":\n\n"),
    (EVENTS, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"),
    (CHUNKED, "1\r\n\n\r\n"),
    (JSON, " "),
    (REFUSAL, " "),
    ("", "HTTP/1.1 100 Continue\r\n\r\n"),
    ("HTTP/1.1 200 OK\r\nx: ", "x"),
];

fn hostile(
    kind: Manner,
    (first, repeated): (&'static str, &'static str),
    steps: &Arc<Counts>,
) -> HttpTransport {
    let steps = Arc::clone(steps);
    let dial = move |_| {
        let stream = Hostile::new(kind, first, repeated, &steps);
        async move { Ok(stream) }
    };
    HttpTransport::with_connector("http://hostile/mcp", dial).unwrap()
}

#[test]
fn c3_calls_of_hostile_servers_end_in_time_and_those_of_another_go_on() {
    for (kind, noise) in Manner::ALL.into_iter().flat_map(|kind| NOISE.map(|noise| (kind, noise))) {
        let steps = Arc::new(Counts::default());
        let connector = Connector::new(&CLIENT)
            .era(Era::Modern)
            .limits(ClientLimits { close_timeout: SHORT, ..ClientLimits::new() });
        let (client, connection) = connector.connect(
            hostile(kind, noise, &steps)
                .limits(HttpLimits { max_message: 1 << 30, ..HttpLimits::new() }),
        );
        let hostile = async {
            let call = client
                .request("tools/call", &CallToolParams::new("a"), CallOptions::new().limit(SHORT))
                .await;
            // A head that is too long, or has no end, is rejected before.
            assert!(
                matches!(call, Err(CallError::TimedOut | CallError::Http(_))),
                "{kind:?} {noise:?}: {call:?}"
            );
            client.close();
        };
        // The ordinary one, meanwhile.
        let both = Box::pin(future::zip(hostile, connection));
        let most = beside(both, &steps);
        assert!(
            most < 2_500,
            "{kind:?} {noise:?}: {most} steps of the hostile server during one call of the other"
        );
    }
}

/// Makes calls to an ordinary server meanwhile. Returns the maximum number of steps during one of
/// them.
fn beside(hostile: impl Future, steps: &Counts) -> usize {
    let mut hostile = Some(Box::pin(hostile));
    let most = Mutex::new(0);
    let played = play(&MODERN, 1 << 16, modern, async |client| {
        let calls = async {
            for _ in 0..50 {
                let before = steps.steps();
                call(&client, "a").await.unwrap();
                let mut most = most.lock().unwrap();
                *most = (*most).max(steps.steps() - before);
            }
        };
        future::zip(calls, hostile.take().unwrap()).await;
        drop(client);
    });
    played.end.unwrap();
    most.into_inner().unwrap()
}

/// Requests the roots this many times.
fn asks(times: usize) -> String {
    (0..times)
        .map(|n| event(&json!({"jsonrpc": "2.0", "id": format!("q-{n}"), "method": "roots/list"})))
        .collect()
}

#[test]
fn c1_sending_a_response_times_out_and_the_next_one_is_sent() {
    let roots = async |question: OwnedInputRequest| question.respond(&ListRootsResult::new(&[]));
    let posted = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&posted);
    let played = play_with(
        Connector::new(&LEGACY).on_input_request(roots),
        |http| http.limits(HttpLimits { accept_timeout: SHORT, ..HttpLimits::new() }),
        1 << 16,
        move |seen| match seen.message() {
            "tools/call" => Response::events(&asks(40)).hold(),
            "answer" => {
                kept.lock().unwrap().push(seen.body["id"].clone());
                Response::silence()
            }
            _ => legacy(seen),
        },
        async |client: Client| {
            let all_posted = async {
                while posted.lock().unwrap().len() < 40 {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            };
            future::or(async { drop(call(&client, "ask").await) }, all_posted).await;
        },
    );
    assert!(played.notices.len() >= 40 - MAX_ONE_WAY_POSTS, "{:?}", played.notices);
    assert!(
        played.notices.iter().all(|notice| notice.starts_with("message rejected")),
        "{:?}",
        played.notices
    );
}

#[test]
fn f9_functions_of_the_application_that_panic_end_one_call() {
    let mut calls = 0;
    let played = play_with(
        Connector::new(&MODERN),
        |http| {
            http.authorize(|challenge| async move {
                assert!(challenge.is_empty(), "it panics");
                None
            })
            .on_diagnostic(|_| panic!("at every notice"))
        },
        1 << 16,
        move |seen| match seen.message() {
            "tools/call" => {
                calls += 1;
                if calls == 1 {
                    Response::status(401).field("WWW-Authenticate", "Bearer")
                } else {
                    modern(seen)
                }
            }
            "tools/list" => {
                let schema = json!({"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}});
                Response::result(seen, &json!({"tools": [{"name": "bad", "inputSchema": schema}]}))
            }
            _ => modern(seen),
        },
        async |client| {
            let refused = call(&client, "a").await.is_err();
            let listed = client
                .request("tools/list", &mcp_sansio::RawJson::EMPTY, CallOptions::new())
                .await
                .is_ok();
            (refused, listed, call(&client, "a").await.unwrap())
        },
    );
    assert_eq!(played.result, (true, true, "called".to_owned()));
}

#[test]
fn f9_a_connector_that_panics_ends_connecting_with_an_error() {
    async fn never(_: Dial) -> io::Result<Pipe> {
        panic!("it panics")
    }
    let stream = HttpTransport::with_connector("http://server/mcp", never).unwrap();
    let (client, connection) = Connector::new(&CLIENT).connect(stream);
    let (called, end) = run(future::zip(call(&client, "a"), connection));
    assert!(matches!(end, Ok(ConnectionEnd::ConnectFailed(ConnectError::Http(_)))), "{end:?}");
    let said = "cannot connect to `http://server/mcp`: no connection: connector panicked; \
                nothing was sent";
    assert_eq!(called.unwrap_err().to_string(), said);
}
