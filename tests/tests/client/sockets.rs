//! A client over sockets: the bytes are those on the pipes of a child process.
#![cfg(unix)]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;

use mcp_sansio::types::{CallToolParams, Implementation, SubscriptionFilter, Text, TextResult};
use mcp_sansio::{
    CallOptions, CallOutcome, Change, ClientConfig, ClientEvent, ClientFeatures, Instant, Revision,
    Revisions, RxBuffer, SendError, ServerConfig, ServerEvent, ServerFeatures, Tx, TxBuffer,
};
use mcp_sansio_adapters::blocking::{self, Context, Error, Polled};
use mcp_sansio_tests::memory::new_client;

#[test]
fn cust_04_cust_05_a_client_speaks_to_a_modern_server_over_sockets() {
    let (sent, events) = everywhere(Revision::LATEST);
    let methods = ["server/discover", "subscriptions/listen", "tools/call"];
    assert_eq!(methods_of(&sent), methods, "requests and notifications go to the server");
    assert_eq!(
        events,
        ["opened", "listening", "changed by a listen", "answer"],
        "answers and notifications come back"
    );
}

#[test]
fn cust_01_cust_05_a_client_speaks_to_a_legacy_server_over_sockets() {
    for revision in
        [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25]
    {
        let (sent, events) = everywhere(revision);
        assert_eq!(
            methods_of(&sent),
            ["server/discover", "initialize", "notifications/initialized", "tools/call"]
        );
        assert_eq!(events, ["opened", "changed", "answer"], "{revision}");
    }
}

/// Returns the methods of the messages, which must be one a line as on standard input.
fn methods_of(sent: &str) -> Vec<String> {
    assert!(sent.ends_with('\n') && !sent.contains('\r'), "{sent}");
    let line = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line)
            .unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    sent.lines().map(|text| line(text)["method"].as_str().unwrap_or("answer").to_owned()).collect()
}

static CLIENT: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE);
static SERVER: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS_LIST_CHANGED);

/// Compares output and events over a Unix socket and TCP, with input at once and byte by byte.
fn everywhere(theirs: Revision) -> (String, Vec<&'static str>) {
    let mut seen = Vec::new();
    for piece in [4096, 1] {
        let (client, server) = UnixStream::pair().expect("a pair of sockets");
        let output = server.try_clone().expect("a second handle");
        seen.push(converse(theirs, piece, client, server, output));

        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client =
            TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let server = listener.accept().expect("a connection").0;
        let output = server.try_clone().expect("a second handle");
        seen.push(converse(theirs, piece, client, server, output));
    }
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
    seen.swap_remove(0)
}

/// An adapter's loop, until the tool's result arrives or the server closes.
fn converse<S: Read + Write, T: Read + AsFd + Send + 'static, W: Write + Send + 'static>(
    theirs: Revision,
    piece: usize,
    mut line: S,
    server: T,
    output: W,
) -> (String, Vec<&'static str>) {
    let serving = thread::spawn(move || {
        let config: &'static _ = Box::leak(Box::new(SERVER.revisions(Revisions::only(theirs))));
        blocking::serve_on(config, Polled::new(server), output, handle)
    });
    let (mut client, mut rx, mut tx) =
        (new_client::<8>(&CLIENT), RxBuffer::new([0; 4096]), TxBuffer::new([0; 256]));
    let (mut sent, mut events, now) = (String::new(), Vec::new(), Instant::from_millis(0));
    send(&mut line, &mut sent, &mut tx, |tx| client.connect(now, tx)).expect("connecting starts");
    while events.last() != Some(&"answer") {
        let spare = rx.spare();
        let end = spare.len().min(piece);
        let read = line.read(&mut spare[..end]).expect("the server writes");
        assert!(read > 0, "the server closed the connection: {events:?}");
        rx.commit(read);
        while let Some(mut messages) = rx.next_messages() {
            while let Some(event) =
                send(&mut line, &mut sent, &mut tx, |tx| client.next_event(now, &mut messages, tx))
                    .expect("an event")
            {
                events.push(match event {
                    ClientEvent::Connected(_) => "opened",
                    ClientEvent::Listening { .. } => "listening",
                    ClientEvent::Changed { listen: Some(_), .. } => "changed by a listen",
                    ClientEvent::Changed { .. } => "changed",
                    ClientEvent::CallFinished { outcome: CallOutcome::Result(_), .. } => "answer",
                    other => panic!("{other:?}"),
                });
                let (options, listens) =
                    (CallOptions::new(), client.revision().is_some_and(Revision::is_modern));
                if listens && matches!(event, ClientEvent::Connected(_)) {
                    let filter = SubscriptionFilter::new().tools_list_changed(true);
                    send(&mut line, &mut sent, &mut tx, |tx| {
                        client.listen(now, &filter, options, tx)
                    })
                    .expect("a listen");
                } else if matches!(event, ClientEvent::Connected(_) | ClientEvent::Listening { .. })
                {
                    let params = CallToolParams::new("publish");
                    send(&mut line, &mut sent, &mut tx, |tx| {
                        client.request(now, "tools/call", &params, options, tx)
                    })
                    .expect("a request");
                }
            }
        }
    }
    drop(line);
    serving.join().expect("no panic").expect("the server succeeds");
    (sent, events)
}

fn handle(event: ServerEvent<'_>, session: &mut Context<'_>) -> Result<(), Error> {
    let ServerEvent::Request(request) = event else { return Ok(()) };
    session.publish(Change::tools())?;
    session.respond(request.handle, &TextResult::from(Text::new("told")))
}

fn send<R>(
    line: &mut impl Write,
    sent: &mut String,
    tx: &mut TxBuffer<[u8; 256]>,
    mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
) -> io::Result<R> {
    loop {
        let result = call(tx);
        line.write_all(tx.pending())?;
        sent.push_str(std::str::from_utf8(tx.pending()).expect("only plain text is sent here"));
        tx.advance(usize::MAX);
        match result {
            Err(SendError::Full) => {}
            other => return other.map_err(io::Error::other),
        }
    }
}
