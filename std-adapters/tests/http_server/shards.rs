//! Servers on several threads.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mcp_sansio::types::{Implementation, TaskSupport, TextResult, Tool, ToolExecution};
use mcp_sansio::{Catalog, Change, Progress, RawJson, ServerConfig, ServerFeatures, entries};
use mcp_sansio_adapters::asynchronous::http::{
    HttpOptions, HttpShards, serve_on_all_cores, serve_on_threads,
};
use mcp_sansio_adapters::asynchronous::{
    App, Broadcaster, Context, HandlerResult, Limits, TaskOptions,
};

use crate::bodies::{self, is_silent, long};
use crate::exchange::{head, rest};
use crate::sessions;
use crate::site::{
    Client, Site, THREADS, call, fields_of, get, in_session, initialize, initialize_body, modern,
    modern_body, request,
};

/// Each new connection is to the next thread, so that requests of a session come to others than
/// its own.
#[test]
fn any_thread_serves_what_another_has_begun() {
    THREADS.set(3);
    for scenario in [
        sessions::sess_09_ids_are_different_each_time,
        sessions::canc_12_sse_09_events_after_a_lost_connection_are_replayed,
        sessions::a_stream_that_is_resumed_elsewhere_ends_on_its_old_connection,
        an_answer_comes_to_another_thread_than_its_question,
        a_message_of_http_sse_comes_to_another_thread_than_its_stream,
    ] {
        scenario();
    }
}

fn an_answer_comes_to_another_thread_than_its_question() {
    let site = Site::new();
    for version in ["2025-06-18", "2025-11-25"] {
        let session = site.open(version);
        let mut asking = site.begin(&call(&session, 2, "ask"));
        assert_eq!(asking.head().field("content-type"), Some("text/event-stream"));
        let question = asking.chunk().unwrap();
        assert!(question.contains("elicitation/create"), "{question}");
        let ping = site.send(&in_session(&session, r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#));
        assert_eq!(ping.body, r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
        let answer =
            in_session(&session, r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#);
        assert_eq!(site.send(&answer).status, 202);
        let result = asking.chunk().unwrap();
        assert!(result.contains("decline") && result.contains("\"id\":2"), "{result}");
        assert!(asking.chunk().is_none());
    }
}

fn a_message_of_http_sse_comes_to_another_thread_than_its_stream() {
    let site = Site::with(HttpOptions { sse_path: Some("/sse"), ..HttpOptions::new() });
    let mut stream = site.begin(&request("GET", "/sse", &[("Accept", "text/event-stream")], ""));
    assert_eq!(stream.head().status, 200);
    let first = stream.chunk().unwrap();
    let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap().trim_end();
    // Means nothing on the path of HTTP+SSE.
    let strange = ("Mcp-Session-Id", "00000001");
    let send = |body: &str| {
        let answer = site.send(&request("POST", endpoint, &[("Accept", "*/*"), strange], body));
        assert_eq!((answer.status, answer.body.as_str()), (202, ""), "{body}");
    };
    send(&initialize_body("2024-11-05"));
    assert!(stream.chunk().unwrap().contains(r#""id":1,"result""#));
    send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}"#);
    site.wait_for(1, 0);
    // The end of the stream ends everything.
    drop(stream);
    site.wait_for(1, 1);
    assert_eq!(site.send(&request("POST", endpoint, &[], "{}")).status, 404);
}

#[test]
fn limits_are_of_all_threads() {
    THREADS.set(3);
    bodies::d1_bodies_wait_while_there_is_no_room_and_go_on_when_there_is();
    bodies_that_have_all_begun_come_to_their_end();
    let site = Site::with(HttpOptions { max_sessions: 3, ..HttpOptions::new() });
    // None is initialized, so a fourth takes the place of one of them, wherever that is.
    let begin = || site.send(&initialize("2025-11-25"));
    let begun = [begin(), begin(), begin(), begin(), begin(), begin(), begin()];
    let ids = begun.iter().map(|answer| answer.field("mcp-session-id").unwrap());
    let is_open = |id: &&str| site.call(id, 2, "echo").status == 200;
    assert_eq!(ids.filter(is_open).count(), 3);
}

fn bodies_that_have_all_begun_come_to_their_end() {
    let site = Site::with(HttpOptions { body_budget: 250_000, ..HttpOptions::new() });
    let text = long("echo", 80_000);
    let mut clients: Vec<_> = (0..20).map(|_| site.connect()).collect();
    for client in &mut clients {
        client.write(&text[..40_000]);
    }
    // Partly read bodies have taken all of the room.
    assert!(is_silent(clients.last_mut().unwrap()));
    for client in &mut clients {
        client.write(&text[40_000..]);
    }
    for client in clients.iter_mut().rev() {
        assert_eq!(client.answer().text(), "done");
    }
}

#[test]
fn sessions_that_are_in_use_are_not_replaced_by_any_thread() {
    THREADS.set(2);
    let site = Site::with(HttpOptions { max_sessions: 3, ..HttpOptions::new() });
    let open = [site.open("2025-11-25"), site.open("2025-06-18"), site.open("2025-11-25")];
    for _ in 0..2 {
        assert_eq!(site.send(&initialize("2025-11-25")).status, 503);
    }
    assert_eq!(open.iter().filter(|id| site.call(id, 2, "echo").status == 200).count(), 3);
    site.delete(&open[0]);
    site.open("2025-11-25");
}

#[test]
fn a_change_is_told_on_every_thread() {
    THREADS.set(3);
    let site = Site::new();
    let mut streams: Vec<_> = (0..6)
        .map(|_| {
            let session = site.open("2025-11-25");
            site.stream(&get(&session, &[]))
        })
        .collect();
    site.hub.publish(Change::tools());
    for stream in &mut streams {
        assert!(stream.chunk().unwrap().contains("list_changed"));
    }
}

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("test", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::TASKS_LIST),
);
static CATALOG: Catalog<'_> = Catalog::new().tools(entries![
    Tool::new("local", RawJson::from_static(r#"{"type":"object"}"#))
        .execution(ToolExecution::new().task_support(TaskSupport::Optional))
]);

/// Its future is not `Send`, and it needs the timers of a runtime.
async fn local(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let steps = Rc::new(Cell::new(0));
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        steps.set(steps.get() + 1);
        ctx.tool(&request).progress(&Progress::of(steps.get())).await?;
    }
    ctx.reply(&TextResult::new(&format!("{} on {:?}", steps.get(), thread::current().id())))
}

fn app(bind_to_connection: bool) -> App<fn(Context) -> LocalHandler> {
    let handler: fn(Context) -> LocalHandler = |ctx| Box::pin(local(ctx));
    App::new(&CONFIG, handler)
        .catalog(&CATALOG)
        .tasks(TaskOptions { bind_to_connection, ..TaskOptions::new() })
        .limits(Limits { address_share: 100, ..Limits::new() })
}

/// Shuts an application down, also after a failed assertion.
struct Stopping<'a>(&'a Broadcaster);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.shut_down();
    }
}

type LocalHandler = std::pin::Pin<Box<dyn Future<Output = HandlerResult>>>;

#[test]
fn a_session_is_not_the_one_with_the_same_key_of_another_thread() {
    two_sessions(true);
    two_sessions(false);
}

/// Their tasks are bound to them, or those of all clients.
fn two_sessions(are_bound: bool) {
    let app = app(are_bound);
    let listen = |_| std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let listeners: Vec<_> = (0..2).map(listen).collect();
    let addresses: Vec<_> = listeners.iter().map(|it| it.local_addr().unwrap()).collect();
    let send = |address: usize, session: &str, body: &str| {
        let mut client = Client::to(addresses[address]);
        client.write(&in_session(session, body));
        client.answer().body
    };
    thread::scope(|scope| {
        let _stopping = Stopping(app.broadcaster());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (app, listeners) = (&app, listeners);
        scope.spawn(move || {
            let _entered = runtime.enter();
            serve_on_threads(app, listeners, HttpOptions::new()).unwrap();
        });
        // Each is the first session of its thread.
        let sessions = [0, 1].map(|at| {
            let mut client = Client::to(addresses[at]);
            client.write(&initialize("2025-11-25"));
            let answer = client.answer();
            let id = answer.field("mcp-session-id").unwrap_or_else(|| panic!("{answer:?}"));
            send(at, id, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
            id.to_owned()
        });
        let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"local","task":{"ttl":60000},"_meta":{"progressToken":7}}}"#;
        let created = send(1, &sessions[0], call);
        let id = created.split("\"taskId\":\"").nth(1).unwrap_or_else(|| panic!("{created}"));
        let id = id.split('"').next().unwrap();
        let result = format!(
            r#"{{"jsonrpc":"2.0","id":3,"method":"tasks/result","params":{{"taskId":"{id}"}}}}"#
        );
        for connection in [0, 1] {
            // Messages of a task are for the session that has created it.
            let foreign = send(connection, &sessions[1], &result);
            let expected = if are_bound { "-32602" } else { "3 on " };
            assert!(foreign.contains(expected) && !foreign.contains("progress"), "{foreign}");
        }
        let own = send(1, &sessions[0], &result);
        assert!(own.contains("3 on "), "{own}");
    });
}

#[test]
fn handlers_of_shards_are_in_the_runtime_that_has_started_them() {
    use tokio::runtime::Builder;

    // In a runtime with one thread they have timers of their own, for it may wait for them.
    check_shards(Builder::new_multi_thread().enable_all().build().unwrap());
    check_shards(Builder::new_current_thread().enable_all().build().unwrap());
}

fn check_shards(runtime: tokio::runtime::Runtime) {
    runtime.block_on(async {
        let app = Arc::new(app(true));
        let threads = NonZeroU32::new(3).unwrap();
        let shards = HttpShards::start(&app, threads, HttpOptions::new()).unwrap();
        let mut answers = BTreeSet::new();
        for _ in 0..6 {
            let fields = fields_of("local");
            let shards = shards.clone();
            // A task of tokio moves between threads, so its exchange is `Send`.
            let answer = tokio::spawn(async move {
                let mut exchange = shards.exchange(head("POST", &fields));
                exchange.feed(modern_body(7, "local").as_bytes()).await;
                exchange.end_body();
                assert_eq!(exchange.response().await.status, 200);
                let answer = rest(&mut exchange).await;
                answer.split("text\":\"").nth(1).unwrap_or_else(|| panic!("{answer}")).to_owned()
            });
            let answer = answer.await.unwrap();
            assert!(answer.contains("3 on "), "{answer}");
            answers.insert(answer);
        }
        assert_eq!(answers.len(), 3, "one for each thread: {answers:?}");
        app.broadcaster().shut_down();
        shards.join().unwrap();
        shards.join().unwrap();
    });
}

#[test]
fn all_cores_listen_at_one_address_that_no_other_server_has() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let app = App::new(&CONFIG, |ctx: Context| async move { ctx.reply(&TextResult::new("done")) });
    let address = taken.local_addr().unwrap();
    let refused = serve_on_all_cores(&app, address, HttpOptions::new()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::AddrInUse);
    assert!(refused.to_string().starts_with(&format!("{address}: ")), "{refused}");
    drop(taken);
    thread::scope(|scope| {
        let _stopping = Stopping(app.broadcaster());
        scope.spawn(|| serve_on_all_cores(&app, address, HttpOptions::new()).unwrap());
        while std::net::TcpStream::connect(address).is_err() {
            thread::yield_now();
        }
        let mut client = Client::to(address);
        client.write(&modern("any"));
        assert_eq!(client.answer().text(), "done");
    });
}
