//! What one client keeps open, and what others get meanwhile.

use std::cell::Cell;
use std::future::{pending, ready};
use std::net::IpAddr;
use std::time::Duration;

use futures_lite::future;
use mcp_sansio_adapters::asynchronous::http::{Credentials, HttpExchange, HttpOptions, HttpServer};
use mcp_sansio_adapters::asynchronous::{App, Context, Limits};
use tokio::time::sleep;

use crate::exchange::{head, rest, send, serve, session_of};
use crate::scripted::{Takes, World};
use crate::site::{CONFIG, fields_of, initialize_body, modern, modern_body, principal};

const MALLORY: [u8; 4] = [192, 0, 2, 1];
const ADA: [u8; 4] = [192, 0, 2, 2];
const BOB: [u8; 4] = [192, 0, 2, 3];

#[test]
fn r3_h1_connections_beyond_a_share_get_503_and_those_of_others_are_served() {
    let mut world = World::with(HttpOptions::new(), Limits { max_connections: 8, ..Limits::new() });
    let held: Vec<_> = (0..6).map(|_| world.connect_from(Some(MALLORY), "POST /")).collect();
    world.until("the connections are open", || held.iter().all(|peer| peer.get().is_silent()));
    let refused = world.connect_from(Some(MALLORY), &modern("echo"));
    world.until("an answer", || refused.answers("503") == 1 && refused.get().is_closed);
    assert!(refused.text().contains("retry-after: 5\r\n"), "{}", refused.text());
    assert!(refused.text().contains("\"code\":-32603"), "{}", refused.text());
    let ordinary = world.connect_from(Some(ADA), "");
    world.ask(&ordinary, &modern("echo"), 3, &[]);
    // All are taken: there is an answer, as soon as one is free there is a place.
    let last = world.connect_from(Some(ADA), "");
    world.ask(&last, &modern("echo"), 1, &[]);
    let refused = world.connect_from(Some(BOB), &modern("echo"));
    world.until("an answer", || refused.answers("503") == 1);
    // Those that do not read it are not kept without a limit.
    let deaf: Vec<_> =
        (0..100).map(|_| world.connect_from(Some(BOB), "").takes(Takes::Nothing)).collect();
    world.until("most are dropped", || deaf.iter().filter(|peer| peer.is_gone()).count() >= 36);
    world.ask(&ordinary, &modern("echo"), 3, &[]);
    held[0].send("nonsense\r\n\r\n");
    world.until("a connection ends", || held[0].is_gone());
    let next = world.connect_from(Some(BOB), "");
    world.ask(&next, &modern("echo"), 1, &[]);
}

/// Sends a POST.
async fn post(
    server: &HttpServer,
    token: &str,
    fields: &[(&'static str, &str)],
    body: &str,
) -> HttpExchange {
    let token = format!("Bearer {token}");
    let fields = [fields, &[("Authorization", &token)]].concat();
    send(server, head("POST", &fields).peer(IpAddr::from(MALLORY)), body).await
}

#[test]
fn r3_h1_handlers_of_one_principal_leave_places_to_others() {
    let app = App::new(&CONFIG, |ctx: Context| async move {
        if ctx.name() == "wait" {
            pending::<()>().await;
        }
        ctx.text("done")
    });
    let options = HttpOptions { max_handlers: 12, ..HttpOptions::new() }.authorize(
        |credentials: Credentials| ready(Ok(principal(credentials.token().unwrap_or_default()))),
    );
    serve(&app, options, async |server| {
        // Calls of sessions go on without their connections.
        let mut ended = Vec::new();
        for _ in 0..4 {
            let body = initialize_body("2025-11-25");
            let mut opened = post(server, "mallory", &[], &body).await;
            let id = session_of(&mut opened).await;
            let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}"#;
            let mut called = post(server, "mallory", &[("Mcp-Session-Id", &id)], body).await;
            let answer = future::poll_once(rest(&mut called)).await;
            ended.push(answer.map(|text| text.contains("-32603")));
        }
        assert_eq!(ended, [None, None, None, Some(true)]);
        // From the same address.
        let mut called = post(server, "ada", &fields_of("echo"), &modern_body(7, "echo")).await;
        let (status, text) = (called.response().await.status, rest(&mut called).await);
        assert!(status == 200 && text.contains("done"), "{status} {text}");
    });
}

#[test]
fn m1_results_that_are_not_read_have_a_limit_and_a_share() {
    let begun = Cell::new(0);
    let app = App::new(&CONFIG, async |ctx: Context| {
        begun.set(begun.get() + 1);
        ctx.text(&"x".repeat(1 << 20))
    })
    .limits(Limits { max_running: 8, ..Limits::new() });
    // The share of a principal is a quarter of the handlers.
    for (max_handlers, results, is_refused) in [(1000, 100, false), (32, 8, true)] {
        begun.set(0);
        let options = HttpOptions { max_handlers, ..HttpOptions::new() }.authorize(
            |credentials: Credentials| {
                ready(Ok(principal(credentials.token().unwrap_or_default())))
            },
        );
        serve(&app, options, async |server| {
            let call = async |token| {
                let body = modern_body(7, "echo");
                let mut called = post(server, token, &fields_of("echo"), &body).await;
                rest(&mut called).await.contains("-32603")
            };
            let mut opened = post(server, "mallory", &[], &initialize_body("2025-03-26")).await;
            let id = session_of(&mut opened).await;
            let calls: Vec<_> = (1..=100)
                .map(|id| {
                    let params = r#""params":{"name":"echo"}"#;
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call",{params}}}"#)
                })
                .collect();
            let batch = format!("[{}]", calls.join(","));
            let mut called = post(server, "mallory", &[("Mcp-Session-Id", &id)], &batch).await;
            // It reads the head and nothing else.
            assert_eq!(called.response().await.status, 200);
            sleep(Duration::from_secs(1)).await;
            // One is being written.
            assert!((8..=9).contains(&begun.get()), "{begun:?}");
            assert_eq!(call("mallory").await, is_refused);
            assert!(!call("ada").await);
            assert_eq!(rest(&mut called).await.matches("xxx\"").count(), results);
        });
    }
}

#[test]
fn r3_h1_checks_of_tokens_from_one_address_leave_places_to_others() {
    let app = App::new(&CONFIG, |ctx: Context| async move { ctx.text("done") });
    let options = HttpOptions { max_waiting_checks: 4, ..HttpOptions::new() }.authorize(
        |credentials: Credentials| async move {
            if credentials.token() == Some("junk") {
                pending::<()>().await;
            }
            future::yield_now().await;
            Ok(principal("ada"))
        },
    );
    serve(&app, options, async |server| {
        let mut junk: Vec<_> = (0..4).map(|_| put(server, MALLORY, "Bearer junk")).collect();
        let mut statuses = Vec::new();
        for exchange in &mut junk {
            let response = future::poll_once(exchange.response()).await;
            statuses.push(response.map(|response| response.status));
        }
        assert_eq!(statuses, [None, None, None, Some(503)]);
        assert_eq!(put(server, ADA, "Bearer good").response().await.status, 405);
    });
}

/// A request that is refused once it is authorized.
fn put(server: &HttpServer, from: [u8; 4], authorization: &str) -> HttpExchange {
    server.exchange(head("PUT", &[("Authorization", authorization)]).peer(IpAddr::from(from)))
}
