//! Many calls of one session at once, and code that panics.

use std::future::{Future, ready};
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::thread::JoinHandle;
use std::time::Duration;

use async_io::Timer;
use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};
use mcp_sansio_adapters::asynchronous::http::{Credentials, HttpOptions};
use mcp_sansio_adapters::asynchronous::{App, Broadcaster, Context, HandlerResult, Limits};

use crate::pump;
use crate::recorder::Recorder;
use crate::site::{Client, call, initialize, modern, modern_with, post, principal};

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog<'_> = Catalog::new().tools(entries![
    tool("slow"),
    tool("early"),
    tool("late"),
    tool("fine"),
    tool("wait")
]);

const fn tool(name: &'static str) -> Tool<'static> {
    Tool::new(name, RawJson::from_static(r#"{"type":"object"}"#))
}

pub(crate) type Handler = fn(Context) -> Pin<Box<dyn Future<Output = HandlerResult>>>;

fn handler(ctx: Context) -> Pin<Box<dyn Future<Output = HandlerResult>>> {
    assert!(ctx.name() != "early", "before there is a future");
    Box::pin(async move {
        match ctx.name() {
            "slow" => drop(Timer::after(Duration::from_millis(5)).await),
            "wait" => std::future::pending().await,
            "late" => {
                Timer::after(Duration::from_millis(1)).await;
                panic!("in the future");
            }
            _ => {}
        }
        ctx.reply(&TextResult::new("done"))
    })
}

/// A server on a thread of its own, which must shut down cleanly.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) hub: Broadcaster,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn new(
        options: HttpOptions,
        configure: fn(App<Handler>) -> App<Handler>,
        recorder: Recorder,
    ) -> Self {
        let (tell, ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let app = App::new(&CONFIG, handler as Handler).catalog(&CATALOG);
            let app = configure(app).observer(recorder);
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            tell.send((listener.local_addr().unwrap(), app.broadcaster().clone())).unwrap();
            pump::serve(&app, listener, options);
        });
        let (address, hub) = ready.recv().unwrap();
        Self { address, hub, thread: Some(thread) }
    }

    pub(crate) fn open(&self) -> String {
        let mut client = Client::to(self.address);
        client.write(&initialize("2025-11-25"));
        client.answer().field("mcp-session-id").unwrap().to_owned()
    }

    pub(crate) fn ask(&self, request: &str) -> crate::site::Answer {
        let mut client = Client::to(self.address);
        client.write(request);
        client.answer()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.hub.shut_down();
        if let Some(thread) = self.thread.take().filter(|_| !std::thread::panicking()) {
            thread.join().unwrap();
        }
    }
}

#[test]
fn b1_two_hundred_posts_at_once_to_a_session_all_get_a_response() {
    for configure in [
        |app: App<Handler>| app,
        |app: App<Handler>| app.limits(Limits { max_in_flight: 10, ..Limits::new() }),
    ] {
        let server = Server::new(HttpOptions::new(), configure, Recorder::default());
        let session = server.open();
        let mut clients: Vec<Client> = (0..200).map(|_| Client::to(server.address)).collect();
        for (id, client) in (2..).zip(&mut clients) {
            client.write(&call(&session, id, "slow"));
        }
        for client in &mut clients {
            assert_eq!(client.answer().text(), "done");
        }
    }
}

#[test]
fn b1_a_post_waits_for_a_place_and_a_cancellation_makes_one() {
    let server = Server::new(
        HttpOptions::new(),
        |app| app.limits(Limits { max_in_flight: 2, full_timeout: Duration::MAX, ..Limits::new() }),
        Recorder::default(),
    );
    let session = server.open();
    let mut waiting = [2, 3].map(|id| {
        let mut client = Client::to(server.address);
        client.write(&call(&session, id, "wait"));
        client
    });
    // Until both have arrived.
    let mut third = Client::to(server.address);
    third.write(&call(&session, 4, "fine"));
    for client in &mut waiting {
        client.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(std::io::Read::read(&mut client.stream, &mut [0]).is_err());
    }
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
    assert_eq!(server.ask(&post(&[("Mcp-Session-Id", &session)], cancel)).status, 202);
    assert_eq!(third.answer().text(), "done");
    drop(waiting);
    let request = crate::site::request("DELETE", "/mcp", &[("Mcp-Session-Id", &session)], "");
    assert_eq!(server.ask(&request).status, 204);
}

#[test]
fn f9_a_handler_that_panics_ends_its_own_request() {
    let recorder = Recorder::default();
    let server = Server::new(HttpOptions::new(), |app| app, recorder.clone());
    let session = server.open();
    for tool in ["early", "late"] {
        for request in [modern(tool), call(&session, 7, tool)] {
            let answer = server.ask(&request);
            assert!(answer.body.contains("-32603"), "{answer:?}");
        }
        assert_eq!(server.ask(&modern("fine")).text(), "done");
        assert_eq!(server.ask(&call(&session, 8, "fine")).text(), "done");
    }
    drop(server);
    let told = recorder.lines_with("panicked: ");
    assert_eq!(told[0], "7 ended: panicked: before there is a future");
    assert_eq!((told.len(), told[3].as_str()), (4, "7 ended: panicked: in the future"));
}

#[test]
fn f9_a_check_that_panics_refuses_its_own_request() {
    let options = HttpOptions::new().authorize(|credentials: Credentials| {
        assert!(credentials.token() != Some("bad"), "a broken check");
        ready(Ok(principal("somebody")))
    });
    let recorder = Recorder::default();
    let server = Server::new(options, |app| app, recorder.clone());
    let mut bystander = Client::to(server.address);
    bystander.write(&modern("fine"));
    assert_eq!(bystander.answer().text(), "done");
    let mut client = Client::to(server.address);
    client.write(&modern_with("fine", &[("Authorization", "Bearer bad")]));
    assert_eq!(client.answer().status, 500);
    // On an existing connection, and on a new one.
    bystander.write(&modern("fine"));
    assert_eq!(bystander.answer().text(), "done");
    assert_eq!(server.ask(&modern("fine")).text(), "done");
    drop(server);
    assert_eq!(recorder.lines_with("panicked"), ["other code panicked: a broken check"]);
    assert_eq!(recorder.lines_with("denied"), [""; 0]);
}
