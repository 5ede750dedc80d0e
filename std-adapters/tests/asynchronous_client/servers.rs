//! Against the asynchronous server, and over sockets.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use async_io::Async;
use futures_lite::io::{BufWriter, split};
use futures_lite::{AsyncRead, AsyncWrite, future};
use mcp_sansio::types::{CallToolParams, ElicitResult, InputRequest, TextResult, Tool};
use mcp_sansio::{
    CallOptions, Catalog, Progress, RawJson, Revision, Revisions, ServerConfig, entries,
};
use mcp_sansio_adapters::asynchronous::client::{Client, ConnectionEnd, Connector};
use mcp_sansio_adapters::asynchronous::{self as server, App, Context, HandlerResult, JoinedIo};

use crate::asking::{ELICIT, answer};
use crate::pipe::{Pipe, pipe};
use crate::script::{run, run_in_real_time, text};
use crate::{CLIENT, LEGACY, MODERN, SERVER};

static BOTH: ServerConfig<'_> = SERVER.revisions(Revisions::ALL);
static CATALOG: Catalog<'_> = Catalog::new().tools(entries![tool("greet")]);

const fn tool(name: &'static str) -> Tool<'static> {
    Tool::new(name, RawJson::from_static(r#"{"type":"object"}"#))
}

async fn greet(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    let answer = tool.request_input("who", InputRequest::Elicit(ELICIT)).await?;
    let Some(form) = answer.to::<ElicitResult<'_>>()?.content else {
        return ctx.reply(&TextResult::new("As you like"));
    };
    let name = form.get("name").and_then(RawJson::as_string).ok_or("There is no name")?;
    for step in 1..=3 {
        future::yield_now().await;
        tool.progress(&Progress::of(step).total(3)).await?;
    }
    ctx.reply(&TextResult::new(&format!("Hello, {name}")))
}

/// Lists, and calls with progress and an input request.
async fn visit(client: &Client) {
    let tools = client.list_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.unwrap().name.to_string()).collect();
    assert_eq!(names, ["greet"]);
    let mut steps = Vec::new();
    let params = CallToolParams::new("greet");
    let greeting =
        client.request_with_progress("tools/call", &params, CallOptions::new(), |progress| {
            steps.push(progress.progress.as_i64().unwrap());
        });
    assert_eq!(text(&greeting.await.unwrap()), "Hello, Ada");
    assert_eq!(steps, [1, 2, 3]);
}

/// Returns a stream that keeps what is written until it is flushed.
fn buffered(pipe: Pipe) -> impl AsyncRead + AsyncWrite + Unpin {
    let (reader, writer) = split(pipe);
    JoinedIo::new(reader, BufWriter::new(writer))
}

#[test]
fn cust_01_cust_05_both_adapters_understand_each_other_in_both_eras_over_any_stream() {
    for (config, revision) in
        [(&BOTH, Revision::LATEST), (&MODERN, Revision::LATEST), (&LEGACY, Revision::V2025_11_25)]
    {
        for (capacity, chunk) in [(1, 1), (50, 7), (1 << 16, 1 << 16)] {
            let (ours, theirs) = pipe(capacity, chunk);
            let app = App::new(config, greet).catalog(&CATALOG);
            let (client, connection) =
                Connector::new(&CLIENT).on_input_request(answer).connect(buffered(ours));
            let work = async {
                visit(&client).await;
                assert_eq!(client.connected().await.unwrap().revision, revision);
                drop(client);
            };
            let (((), end), served) = run(future::zip(
                future::zip(work, connection),
                server::Connection::new(&app, buffered(theirs)),
            ));
            assert!(matches!(end, Ok(ConnectionEnd::Closed)), "{end:?}");
            assert_eq!(served.unwrap(), server::ConnectionEnd::Closed);
        }
    }
}

#[test]
fn cust_04_over_tcp_from_several_threads_through_one_connection() {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
    let address = listener.get_ref().local_addr().unwrap();
    let app = Arc::new(App::new(&BOTH, greet).catalog(&CATALOG));
    let serving = smol::spawn(async move { server::serve(&*app, &listener).await });
    run_in_real_time(async {
        let stream = Async::<TcpStream>::connect(address).await.unwrap();
        let (client, connection) = Connector::new(&CLIENT).on_input_request(answer).connect(stream);
        // On the global executor, which requires `Send`.
        let connection = smol::spawn(connection);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let client = client.clone();
                std::thread::spawn(move || {
                    for _ in 0..20 {
                        future::block_on(visit(&client));
                    }
                })
            })
            .collect();
        drop(client);
        assert!(matches!(connection.await, Ok(ConnectionEnd::Closed)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    drop(serving);
}

#[cfg(unix)]
#[test]
fn cust_04_over_a_unix_socket() {
    let (ours, theirs) = Async::<std::os::unix::net::UnixStream>::pair().unwrap();
    let app = App::new(&BOTH, greet).catalog(&CATALOG);
    let (client, connection) = Connector::new(&CLIENT).on_input_request(answer).connect(ours);
    let work = async {
        visit(&client).await;
        client.close();
    };
    let (((), end), served) = run_in_real_time(future::zip(
        future::zip(work, connection),
        server::Connection::new(&app, theirs),
    ));
    assert!(matches!(end, Ok(ConnectionEnd::Closed)), "{end:?}");
    assert_eq!(served.unwrap(), server::ConnectionEnd::Closed);
}
