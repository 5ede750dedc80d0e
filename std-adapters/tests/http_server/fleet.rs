//! Servers that a bus joins.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use async_io::Async;
use futures_lite::future;
use mcp_sansio::Change;
use mcp_sansio::types::{ElicitParams, InputRequest, RequestedSchema, TextResult};
use mcp_sansio_adapters::KeyRing;
use mcp_sansio_adapters::asynchronous::http::{
    HttpExchange, HttpOptions, HttpServer, OwnedHead, serve,
};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
use mcp_sansio_adapters::bus::{Bus as _, Topic};

use crate::bus::TestBus;
use crate::exchange::{head, read_until, send, session_of};
use crate::recorder::Recorder;
use crate::site::{CONFIG, initialize_body};
use crate::virtual_time;

const RING: KeyRing = KeyRing::new([5; 32]);

async fn ask(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let form = ElicitParams::form("Who?", RequestedSchema::new(&[]));
    ctx.tool(&request).request_input("who", InputRequest::Elicit(form)).await?;
    ctx.reply(&TextResult::new("answered"))
}

fn options(bus: &Arc<TestBus>, name: &'static str) -> HttpOptions {
    HttpOptions { node: Some(name.into()), bus: Some(bus.clone()), ..HttpOptions::new() }
}

async fn ask_in(server: &HttpServer, method: &str, session: &str, body: &str) -> HttpExchange {
    send(server, head(method, &[("Mcp-Session-Id", session)]), body).await
}

async fn post(server: &HttpServer, session: &str, body: &str) -> HttpExchange {
    ask_in(server, "POST", session, body).await
}

#[test]
fn a_client_does_not_notice_which_server_has_its_requests() {
    let bus = Arc::new(TestBus::default());
    let [one, two] = [(); 2].map(|()| App::new(&CONFIG, ask).key_ring(RING));
    let first = HttpServer::new(&one, options(&bus, "a")).unwrap();
    let second = HttpServer::new(&two, options(&bus, "b")).unwrap();
    let clients = async {
        let initialize = initialize_body("2025-11-25");
        let id = session_of(&mut send(&first, head("POST", &[]), &initialize).await).await;
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(post(&second, &id, ready).await.response().await.status, 202);
        // A question of the first is answered through the second.
        let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}"#;
        let mut asked = post(&first, &id, call).await;
        let question = read_until(&mut asked, "elicitation/create").await;
        let asks = question.split_once(r#""id":"#).unwrap().1;
        let number = asks.split([',', '}']).next().unwrap();
        let reply = format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{{"action":"decline"}}}}"#);
        assert_eq!(post(&second, &id, &reply).await.response().await.status, 202);
        read_until(&mut asked, "answered").await;
        // A change of the one is told by the other.
        let mut stream = ask_in(&second, "GET", &id, "").await;
        let subscribe =
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:1"}}"#;
        assert_eq!(post(&first, &id, subscribe).await.response().await.status, 200);
        one.broadcaster().publish(Change::resource("a:1"));
        read_until(&mut stream, r#""uri":"a:1""#).await;
        assert_eq!(bus.topics().last(), Some(&Topic::All));
        // A call that nothing else concerns needs no bus.
        let ping = r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#;
        assert_eq!(post(&second, &id, ping).await.response().await.status, 200);
        assert_eq!(bus.topics(), []);
        let mut deleted = ask_in(&second, "DELETE", &id, "").await;
        assert_eq!(deleted.response().await.status, 204);
        while post(&first, &id, ping).await.response().await.status != 404 {
            future::yield_now().await;
        }
    };
    let servers = future::or(async { first.run(&one).await }, async { second.run(&two).await });
    virtual_time::block_on(future::or(future::or(servers, bus.run(Duration::ZERO)), clients));
}

#[test]
fn the_health_of_a_server_says_that_its_bus_is_lost() {
    let bus = Arc::new(TestBus::default());
    let app = App::new(&CONFIG, ask).key_ring(RING);
    let health = HttpOptions { health: Some("/health"), ..options(&bus, "a") };
    let server = HttpServer::new(&app, health).unwrap();
    let asked = async |method| {
        let head = OwnedHead::new(method, "/health", [("Host", "10.1.2.3")]);
        let mut exchange = send(&server, head, "").await;
        let status = exchange.response().await.status;
        (status, read_until(&mut exchange, "}").await)
    };
    virtual_time::block_on(async {
        assert_eq!(asked("GET").await, (200, r#"{"status":"ok"}"#.to_owned()));
        bus.set_lost(true);
        let degraded = r#"{"status":"degraded","bus":"disconnected"}"#;
        assert_eq!(asked("GET").await, (200, degraded.to_owned()));
        assert_eq!(asked("POST").await.0, 403, "it is not the endpoint");
        app.broadcaster().shut_down();
        assert_eq!(asked("GET").await, (503, r#"{"status":"shutting down"}"#.to_owned()));
    });
}

#[test]
fn a_bus_joins_servers_of_one_ring_that_have_names() {
    let bus = Arc::new(TestBus::default());
    let recorder = Recorder::default();
    let app = App::new(&CONFIG, ask).key_ring(RING).observer(recorder.clone());
    let nameless = HttpOptions { bus: Some(bus.clone()), ..HttpOptions::new() };
    let error = HttpServer::new(&app, nameless).unwrap_err();
    assert!(error.to_string().contains("HttpOptions::node"), "{error}");
    let server = HttpServer::new(&app, options(&bus, "a")).unwrap();
    let client = async {
        bus.publish(Topic::All, b"not an envelope".to_vec());
        let mut refused = send(&server, head("PUT", &[]), "").await;
        assert_eq!(refused.response().await.status, 405);
        while recorder.lines_with("FleetFailed").is_empty() {
            future::yield_now().await;
        }
    };
    let server = async { server.run(&app).await };
    virtual_time::block_on(future::or(future::or(server, bus.run(Duration::ZERO)), client));
    assert!(recorder.lines_with("FleetFailed")[0].contains("one KeyRing"));
}

/// The operating system accepts connections before the program does. A proxy sends the requests of
/// those that get 503 to another server.
#[test]
fn connections_that_wait_at_a_shutdown_get_503_and_later_ones_are_refused() {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
    let address = listener.get_ref().local_addr().unwrap();
    let app = App::new(&CONFIG, ask);
    let mut waiting = TcpStream::connect(address).unwrap();
    waiting.write_all(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    app.broadcaster().shut_down();
    async_io::block_on(serve(&app, listener, HttpOptions::new())).unwrap();
    let mut response = String::new();
    waiting.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    assert!(TcpStream::connect(address).is_err());
}
