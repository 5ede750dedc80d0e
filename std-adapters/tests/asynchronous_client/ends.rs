//! Ends of connections, and of the calls on them.

use std::cell::Cell;
use std::io;
use std::task::Poll;
use std::time::Duration;

use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
use mcp_sansio::{CallOptions, ClientConfig, Era, RawJson, Revision, ServerEvent};
use mcp_sansio_adapters::asynchronous::client::{
    CallError, ClientLimits, ConnectionEnd, Connector,
};
use tokio::time::sleep;

use crate::hooked::{Hooked, Operation};
use crate::pipe::{Pipe, pipe};
use crate::script::{Session, call, echo, first_response, play, play_on, run, serve, text, tool};
use crate::{CLIENT, LEGACY, MODERN};

const SHORT: Duration = Duration::from_millis(20);
static PINGING: ClientConfig<'_> = CLIENT.ping_interval(SHORT).ping_timeout(SHORT);

/// Responds to all but `wait` until so many requests have come, then closes.
async fn serve_until(pipe: Pipe, count: usize) {
    let requests = Cell::new(0);
    let script = |event: &ServerEvent<'_>, session: &mut Session| {
        let ServerEvent::Request(request) = event else { return };
        requests.set(requests.get() + 1);
        if tool(request) != "wait" {
            echo(event, session);
        }
    };
    let gone = async {
        while requests.get() < count {
            future::yield_now().await;
        }
    };
    future::or(serve(pipe, &MODERN, script), gone).await;
}

#[test]
fn when_the_server_closes_every_call_that_waits_ends() {
    let server = |pipe| serve_until(pipe, 3);
    let (calls, end) =
        play_on(Connector::new(&CLIENT), pipe(1 << 16, 1 << 16), server, async |client| {
            let waiting = future::zip(
                call(&client, "wait"),
                future::zip(call(&client, "wait"), call(&client, "wait")),
            );
            let (first, (second, third)) = waiting.await;
            [first, second, third, call(&client, "late").await]
        });
    for call in calls {
        assert!(matches!(call, Err(CallError::Closed)), "{call:?}");
    }
    assert!(matches!(end, ConnectionEnd::ServerClosed), "{end:?}");
}

#[test]
fn what_the_server_sent_before_it_closed_is_read() {
    let server = |pipe| serve_until(pipe, 1);
    let (result, end) =
        play_on(Connector::new(&CLIENT), pipe(1 << 16, 1 << 16), server, async |client| {
            call(&client, "last words").await
        });
    assert_eq!(text(&result.unwrap()), "last words");
    assert!(matches!(end, ConnectionEnd::ServerClosed), "{end:?}");
}

#[test]
fn close_ends_open_calls_and_delivers_what_was_sent() {
    let mut heard = Vec::new();
    let script = |event: &ServerEvent<'_>, _: &mut Session| {
        if let ServerEvent::Notification { method, .. } = event {
            heard.push(method.to_string());
        }
    };
    let (calls, end) = play(Connector::new(&CLIENT), &LEGACY, script, async |client| {
        let closing = async {
            client.notify("notifications/bye", &RawJson::EMPTY).await.unwrap();
            client.close();
        };
        let (waiting, ()) = future::zip(call(&client, "wait"), closing).await;
        [waiting, call(&client, "late").await]
    });
    for call in calls {
        assert!(matches!(call, Err(CallError::Closed)), "{call:?}");
    }
    assert!(matches!(end, ConnectionEnd::Closed), "{end:?}");
    assert_eq!(heard, ["notifications/bye"]);
}

#[test]
fn close_waits_for_output_behind_what_was_flushed() {
    // The writes of one round fill the pipe: they are flushed, and much is left.
    let (ours, mut theirs) = pipe(64, 4);
    let (client, connection) = Connector::new(&CLIENT).era(Era::Modern).connect(ours);
    let long = RawJson::from_static(concat!(
        r#"{"a":"0123456789012345678901234567890123456789","#,
        r#""b":"0123456789012345678901234567890123456789"}"#
    ));
    let work = async {
        client.notify("notifications/bye", &long).await.unwrap();
        client.close();
    };
    let server = async {
        sleep(Duration::from_millis(1)).await;
        let mut heard = String::new();
        theirs.read_to_string(&mut heard).await.unwrap();
        drop(theirs);
        heard
    };
    let (((), end), heard) = run(future::zip(future::zip(work, connection), server));
    assert!(matches!(end, Ok(ConnectionEnd::Closed)), "{end:?}");
    assert!(heard.contains(long.as_str()) && heard.ends_with("}\n"), "{heard}");
}

#[test]
fn a_server_that_does_not_close_is_not_waited_for_long() {
    let (ours, _theirs) = pipe(1 << 16, 1 << 16);
    let connector = Connector::new(&CLIENT)
        .era(Era::Modern)
        .limits(ClientLimits { close_timeout: SHORT, ..ClientLimits::new() });
    let (client, connection) = connector.connect(ours);
    drop(client);
    let end = run(connection);
    assert!(matches!(end, Ok(ConnectionEnd::Closed)), "{end:?}");
}

#[test]
fn calls_end_when_the_connection_is_dropped() {
    let (ours, _theirs) = pipe(1 << 16, 1 << 16);
    let (client, connection) = Connector::new(&CLIENT).connect(ours);
    let gone = async {
        future::or(async { drop(connection.await) }, future::yield_now()).await;
    };
    let (result, ()) = run(future::zip(call(&client, "a"), gone));
    assert!(matches!(result, Err(CallError::Closed)), "{result:?}");
}

#[test]
fn the_connection_ends_if_the_server_does_not_respond_to_a_ping() {
    let server = async |mut pipe: Pipe| {
        let initialized = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{initialized}}}\n");
        pipe.write_all(answer.as_bytes()).await.unwrap();
        // Sends nothing from here on.
        while pipe.read(&mut [0; 64]).await.unwrap() > 0 {}
    };
    let connector = Connector::new(&PINGING).era(Era::Legacy);
    let (result, end) = play_on(connector, pipe(1 << 16, 1 << 16), server, async |client| {
        assert_eq!(client.connected().await.unwrap().revision, Revision::V2025_11_25);
        client.request("ping", &RawJson::EMPTY, CallOptions::new()).await
    });
    assert!(matches!(result, Err(CallError::Closed)), "{result:?}");
    assert!(matches!(end, ConnectionEnd::Unresponsive), "{end:?}");
}

#[test]
fn the_connection_ends_if_the_server_reads_nothing() {
    let (ours, theirs) = pipe(5, 5);
    let connector = Connector::new(&CLIENT)
        .limits(ClientLimits { stall_timeout: SHORT, ..ClientLimits::new() });
    let (client, connection) = connector.connect(ours);
    let (result, end) = run(future::zip(call(&client, "a"), connection));
    assert!(matches!(result, Err(CallError::Closed)), "{result:?}");
    assert!(matches!(end, Ok(ConnectionEnd::Unresponsive)), "{end:?}");
    drop(theirs);
}

#[test]
fn a_server_that_reads_slowly_is_not_unresponsive() {
    let (ours, mut theirs) = pipe(5, 5);
    let connector = Connector::new(&CLIENT)
        .era(Era::Modern)
        .limits(ClientLimits { stall_timeout: SHORT, ..ClientLimits::new() });
    let (client, connection) = connector.connect(ours);
    let server = async {
        let (mut heard, mut read) = (Vec::new(), [0; 5]);
        while !heard.ends_with(b"\n") {
            sleep(SHORT / 2).await;
            let len = theirs.read(&mut read).await.unwrap();
            heard.extend_from_slice(&read[..len]);
        }
        theirs.write_all(&first_response("here")).await.unwrap();
        theirs.read(&mut read).await.unwrap()
    };
    let work = async move { call(&client, "a").await };
    let ((result, end), rest) = run(future::zip(future::zip(work, connection), server));
    assert_eq!((text(&result.unwrap()).as_str(), rest), ("here", 0));
    assert!(matches!(end, Ok(ConnectionEnd::Closed)), "{end:?}");
}

/// Fails a write after this number of them.
fn broken(
    mut writes: usize,
    kind: io::ErrorKind,
) -> impl FnMut(Operation) -> Option<Poll<io::Error>> {
    move |operation| {
        if operation != Operation::Write {
            return None;
        }
        let is_over = writes == 0;
        writes = writes.saturating_sub(1);
        is_over.then(|| Poll::Ready(kind.into()))
    }
}

#[test]
fn a_stream_that_fails_ends_the_connection_and_its_calls() {
    let (ours, _theirs) = pipe(1 << 16, 1 << 16);
    let broken = Hooked(ours, broken(0, io::ErrorKind::Other));
    let (client, connection) = Connector::new(&CLIENT).connect(broken);
    let (result, end) = run(future::zip(call(&client, "a"), connection));
    assert!(matches!(result, Err(CallError::Closed)), "{result:?}");
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::Other);
}

#[test]
fn a_server_that_takes_nothing_any_more_may_still_say_something() {
    let (ours, theirs) = pipe(1 << 16, 1 << 16);
    let (open, gate) = smol::channel::bounded::<()>(1);
    // One write for the call; the next one fails.
    let broken = Hooked(ours, broken(1, io::ErrorKind::BrokenPipe));
    let (client, connection) = Connector::new(&CLIENT).era(Era::Modern).connect(broken);
    let server = async {
        let (mut theirs, mut read) = (theirs, [0; 4096]);
        assert!(theirs.read(&mut read).await.unwrap() > 0);
        gate.recv().await.unwrap_err();
        theirs.write_all(&first_response("bye")).await.unwrap();
    };
    let unheard = async {
        // It is accepted, and then the server sends.
        client.notify("notifications/unheard", &RawJson::EMPTY).await.unwrap();
        future::yield_now().await;
        drop(open);
    };
    let calls = future::zip(call(&client, "a"), unheard);
    let (((result, ()), end), ()) = run(future::zip(future::zip(calls, connection), server));
    assert_eq!(text(&result.unwrap()), "bye");
    assert!(matches!(end, Ok(ConnectionEnd::ServerClosed)), "{end:?}");
}
