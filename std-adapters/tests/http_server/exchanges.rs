//! A server without sockets.

use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_lite::future;
use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::{Catalog, NoOutput, Progress, ToolContext, ToolResult};
use mcp_sansio_adapters::asynchronous::http::{Credentials, HttpOptions, HttpServer};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, Limits};
use tokio::time::{Instant, sleep, timeout};

use crate::exchange::{head, rest, send, serve, session_of};
use crate::recorder::Recorder;
use crate::site::{CONFIG, Counted, Counts, fields_of, initialize_body, modern_body, principal};
use crate::virtual_time;

static CATALOG: Catalog<'_> = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Says who calls, and from where.
    Who,
}

struct Caller;

impl ToolHandler for Caller {
    type Tools = Call;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, _: Call, ctx: ToolContext<'a>) -> ToolResult<'a> {
        let who = ctx.principal().map_or("nobody", |principal| &principal.subject);
        let place = ctx.http_head().and_then(|head| head.fields.nth("x-place", 0)).unwrap();
        Ok(format!("{who} in {}", String::from_utf8_lossy(place)).into())
    }
}

const MINUTE: Duration = Duration::from_secs(60);

fn call(tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}"}}}}"#)
}

async fn open_session(server: &HttpServer, fields: &[(&'static str, &str)]) -> String {
    let body = initialize_body("2025-11-25");
    session_of(&mut send(server, head("POST", fields), &body).await).await
}

#[test]
fn a_tool_knows_who_calls_and_the_head_of_its_request() {
    let caller = Mutex::new(Caller);
    let app = App::new(&CONFIG, |ctx: Context| ctx.call_tool(&caller)).catalog(&CATALOG);
    let options = HttpOptions::new()
        .authorize(|sent: Credentials| ready(Ok(principal(sent.token().unwrap_or_default()))));
    serve(&app, options, async |server| {
        let anna = ("Authorization", "Bearer anna");
        let id = open_session(server, &[anna]).await;
        let fields = [anna, ("Mcp-Session-Id", id.as_str()), ("X-Place", "Ulm")];
        let mut exchange = send(server, head("POST", &fields), &call("who")).await;
        assert!(rest(&mut exchange).await.contains("anna in Ulm"));
    });
}

#[test]
fn r3_h2_a_response_that_nobody_takes_is_cut_off_and_its_handler_dropped() {
    let counts = Arc::<Counts>::default();
    let app = App::new(&CONFIG, |ctx: Context| {
        let counted = Counted::new(Arc::clone(&counts));
        async move {
            let _counted = counted;
            for step in 1.. {
                ctx.tool(&ctx.request()?).progress(&Progress::of(step)).await?;
            }
            ctx.text("never")
        }
    });
    serve(&app, HttpOptions::new(), async |server| {
        let head = head("POST", &fields_of("x"));
        let mut exchange = send(server, head, &modern_body(1, "x")).await;
        assert_eq!(exchange.response().await.status, 200);
        sleep(MINUTE).await;
        assert_eq!(counts.get(), (1, 1), "the response is kept");
        // What it held is gone.
        assert!(matches!(exchange.next_piece().await, None | Some(Err(_))));
    });
}

#[test]
fn a_shutdown_ends_streams_at_once_and_calls_after_its_limit() {
    let limit = Duration::from_millis(100);
    let app = App::new(&CONFIG, |ctx: Context| async move {
        future::pending::<()>().await;
        ctx.text("never")
    });
    let app = app.limits(Limits { shutdown_timeout: limit, ..Limits::new() });
    let server = HttpServer::new(&app, HttpOptions::new()).unwrap();
    let served = future::zip(server.run(&app), async {
        let id = open_session(&server, &[]).await;
        let session = [("Mcp-Session-Id", id.as_str())];
        let mut stream = send(&server, head("GET", &session), "").await;
        assert_eq!(stream.response().await.status, 200);
        let mut called = send(&server, head("POST", &session), &call("wait")).await;
        let began = Instant::now();
        app.broadcaster().shut_down();
        assert!(rest(&mut stream).await.contains("retry: 1000"));
        drop(stream);
        assert_eq!(began.elapsed(), Duration::ZERO);
        let mut late = send(&server, head("POST", &session), &call("wait")).await;
        assert_eq!(late.response().await.status, 503);
        drop(late);
        // Without a response, since the client could repeat a request that had effects.
        assert_eq!((called.response().await.status, rest(&mut called).await.as_str()), (200, ""));
        // The server counts whole milliseconds.
        assert!(limit.abs_diff(began.elapsed()) <= Duration::from_millis(1));
        drop(called);
    });
    // It ends, because the server has.
    virtual_time::block_on(served);
}

#[test]
fn a_handler_that_waits_for_room_goes_on_when_its_client_has_read() {
    let app = App::new(&CONFIG, async |ctx: Context| {
        for step in 1..=200 {
            ctx.tool(&ctx.request()?).progress(&Progress::of(step)).await?;
        }
        ctx.text("done")
    });
    let app = app.limits(Limits { max_pending: 1024, ..Limits::new() });
    let text = serve(&app, HttpOptions::new(), async |server| {
        let id = open_session(server, &[]).await;
        let session = [("Mcp-Session-Id", id.as_str())];
        let body = call("steps").replace(r#""}}"#, r#"","_meta":{"progressToken":1}}}"#);
        let mut called = send(server, head("POST", &session), &body).await;
        timeout(MINUTE, rest(&mut called)).await.expect("it goes on")
    });
    assert_eq!(text.matches("notifications/progress").count(), 200, "{text}");
    assert!(text.contains("done"), "{text}");
}

#[test]
fn a_context_knows_whether_its_response_is_awaited() {
    let (give, given) = smol::channel::unbounded();
    let app = App::new(&CONFIG, |ctx: Context| {
        give.try_send(ctx).unwrap();
        future::pending::<HandlerResult>()
    });
    serve(&app, HttpOptions::new(), async |server| {
        let id = open_session(server, &[]).await;
        let session = [("Mcp-Session-Id", id.as_str())];
        let mut called = send(server, head("POST", &session), &call("wait")).await;
        let ctx = given.recv().await.unwrap();
        assert!(!ctx.is_gone());
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        let mut cancelled = send(server, head("POST", &session), cancel).await;
        assert_eq!(cancelled.response().await.status, 202);
        assert!(ctx.is_gone());
        rest(&mut called).await;
    });
}

#[test]
fn a_shutdown_ends_any_number_of_sessions_at_once() {
    let app = App::new(&CONFIG, |ctx: Context| async move { ctx.text("never") });
    let server = HttpServer::new(&app, HttpOptions::new()).unwrap();
    let served = future::zip(server.run(&app), async {
        for _ in 0..1000 {
            open_session(&server, &[]).await;
        }
        let began = Instant::now();
        app.broadcaster().shut_down();
        began
    });
    let ended = async {
        let ((), began) = served.await;
        began.elapsed()
    };
    assert_eq!(virtual_time::block_on(ended), Duration::ZERO);
}

#[test]
fn an_observer_is_told_why_a_session_has_ended() {
    let recorder = Recorder::default();
    let app = App::new(&CONFIG, async |_| HandlerResult::Err("never called".into()));
    let app = app.observer(recorder.clone());
    let idle_timeout = Duration::from_secs(60);
    let options = HttpOptions { max_sessions: 1, idle_timeout, ..HttpOptions::new() };
    let server = HttpServer::new(&app, options).unwrap();
    let clients = async {
        open_session(&server, &[]).await;
        // It takes the place of the first.
        open_session(&server, &[]).await;
        sleep(idle_timeout * 2).await;
        let session = open_session(&server, &[]).await;
        send(&server, head("DELETE", &[("Mcp-Session-Id", &session)]), "").await.response().await;
        open_session(&server, &[]).await;
        app.broadcaster().shut_down();
    };
    virtual_time::block_on(future::zip(server.run(&app), clients));
    let reasons = ["replaced by another session", "idle", "deleted by the client", "shut down"];
    assert_eq!(
        recorder.lines_with("disconnected"),
        reasons.map(|reason| format!("disconnected: {reason}"))
    );
}

#[test]
fn an_observer_is_told_of_sessions_of_a_server_that_never_ran() {
    let recorder = Recorder::default();
    let app = App::new(&CONFIG, async |_| HandlerResult::Err("never called".into()));
    let app = app.observer(recorder.clone());
    let server = HttpServer::new(&app, HttpOptions::new()).unwrap();
    virtual_time::block_on(async {
        let session = open_session(&server, &[]).await;
        let mut exchange = send(&server, head("DELETE", &[("Mcp-Session-Id", &session)]), "").await;
        assert_eq!(exchange.response().await.status, 204);
        open_session(&server, &[]).await;
    });
    assert_eq!(recorder.lines(), [""; 0]);
    drop(server);
    assert_eq!(
        recorder.lines(),
        [
            "connected: HTTP",
            "disconnected: deleted by the client",
            "connected: HTTP",
            "disconnected: shut down"
        ]
    );
}
