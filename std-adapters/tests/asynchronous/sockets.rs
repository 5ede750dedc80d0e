//! Real sockets.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{self, Poll};

use async_io::Async;
use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _, future};
use mcp_sansio::Json;
#[cfg(unix)]
use mcp_sansio::{OrToolError as _, types::TextResult};
use mcp_sansio_adapters::asynchronous::{
    Accepted, Context, HandlerResult, Limits, Listener, accept, serve,
};
use serde_json::json;

use crate::client::{Client, call};
use crate::serving;

fn listen() -> (Async<TcpListener>, std::net::SocketAddr) {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
    let address = listener.get_ref().local_addr().unwrap();
    (listener, address)
}

async fn connect(address: std::net::SocketAddr) -> Client<Async<TcpStream>> {
    Client::new(Async::<TcpStream>::connect(address).await.unwrap())
}

async fn empty(ctx: Context) -> HandlerResult {
    ctx.reply(&Json(json!({"content": []})))
}

/// Serves until the clients are done.
fn run<T>(
    server: impl Future<Output = std::io::Result<()>>,
    clients: impl Future<Output = T>,
) -> T {
    smol::block_on(async {
        let server = async {
            server.await.unwrap();
            std::future::pending().await
        };
        future::or(clients, server).await
    })
}

/// A thousand, or as many as the limit of open files allows for both ends.
#[cfg(unix)]
fn as_many_as_possible() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let files = limit.maximum.map_or(usize::MAX, |files| usize::try_from(files).unwrap());
    (files.saturating_sub(100) / 2).min(1000)
}

#[cfg(unix)]
#[test]
fn a_thousand_connections_at_once_are_all_served() {
    let many = as_many_as_possible();
    let here = AtomicUsize::new(0);
    let (open, gate) = smol::channel::bounded::<()>(1);
    let (all_here, full) = smol::channel::bounded::<()>(1);
    let app = serving(async |ctx: Context| {
        // No response is sent before all requests have arrived.
        if here.fetch_add(1, Ordering::Relaxed) + 1 == many {
            all_here.send(()).await.or_internal()?;
        }
        let _ = gate.recv().await;
        ctx.reply(&TextResult::new("done"))
    })
    .limits(Limits { address_share: 100, ..Limits::new() });
    let (listener, address) = listen();
    run(serve(&app, &listener), async {
        let mut clients = Vec::new();
        for _ in 0..many {
            let mut client = connect(address).await;
            client.send(&call(1, "wait", json!({}))).await;
            clients.push(client);
        }
        full.recv().await.unwrap();
        assert_eq!(app.broadcaster().connections(), many);
        drop(open);
        for client in &mut clients {
            assert_eq!(client.next().await["id"], 1);
        }
    });
}

#[test]
fn r3_h1_connections_beyond_the_limit_are_closed_and_do_not_wait() {
    let most = AtomicUsize::new(0);
    let app = serving(async |ctx: Context| {
        most.fetch_max(ctx.broadcaster().connections(), Ordering::Relaxed);
        empty(ctx).await
    })
    .limits(Limits { max_connections: 2, ..Limits::new() });
    let (listener, address) = listen();
    run(serve(&app, &listener), async {
        let (mut one, mut two) = (connect(address).await, connect(address).await);
        one.ask(&call(1, "echo", json!({}))).await;
        two.ask(&call(1, "echo", json!({}))).await;
        let mut three = connect(address).await;
        assert!(three.line().await.is_none());
        // The others continue, and there is a place when one has ended.
        for id in 2..20 {
            one.ask(&call(id, "echo", json!({}))).await;
        }
        drop(two);
        while app.broadcaster().connections() > 1 {
            future::yield_now().await;
        }
        let mut three = connect(address).await;
        assert_eq!(three.ask(&call(3, "echo", json!({}))).await["id"], 3);
        one.ask(&call(20, "echo", json!({}))).await;
    });
    assert_eq!(most.into_inner(), 2);
}

#[test]
fn a_busy_connection_and_a_slow_handler_delay_no_other() {
    let app = serving(|ctx: Context| async move {
        match ctx.name() {
            "wait" => std::future::pending().await,
            // Wakes itself for ever.
            "steps" => loop {
                future::yield_now().await;
            },
            _ => ctx.reply(&Json(json!({"content": []}))),
        }
    });
    let (listener, address) = listen();
    run(serve(&app, &listener), async {
        let (mut busy, mut other) = (connect(address).await, connect(address).await);
        busy.send(&call(1, "wait", json!({}))).await;
        busy.send(&call(2, "steps", json!({}))).await;
        for id in 3..100 {
            assert_eq!(other.ask(&call(id, "echo", json!({}))).await["id"], id);
            assert_eq!(busy.ask(&call(id, "echo", json!({}))).await["id"], id);
        }
    });
}

#[test]
fn connections_can_be_spawned_on_threads() {
    let app = Arc::new(serving(empty));
    let (listener, address) = listen();
    let server = {
        let app = app.clone();
        async move {
            while let Some(connection) = accept(app.clone(), &listener).await? {
                smol::spawn(connection.serve()).detach();
            }
            Ok(())
        }
    };
    run(server, async {
        let mut clients = Vec::new();
        for _ in 0..20 {
            clients.push(connect(address).await);
        }
        for client in &mut clients {
            assert_eq!(client.ask(&call(1, "echo", json!({}))).await["id"], 1);
        }
    });
}

#[cfg(unix)]
#[test]
fn unix_sockets_are_served_as_well() {
    use std::os::unix::net::{UnixListener, UnixStream};
    let path = std::env::temp_dir().join(format!("mcp-sansio-{}.socket", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = Async::<UnixListener>::bind(&path).unwrap();
    let app = serving(empty);
    run(serve(&app, &listener), async {
        let mut client = Client::new(Async::<UnixStream>::connect(&path).await.unwrap());
        assert_eq!(client.ask(&call(1, "echo", json!({}))).await["id"], 1);
    });
    std::fs::remove_file(&path).unwrap();
}

/// A socket with unread data resets its connection when it is closed.
#[test]
fn a_reset_connection_is_an_error_of_reading() {
    smol::block_on(async {
        let (listener, address) = listen();
        let client = TcpStream::connect(address).unwrap();
        let (mut served, _) = poll_fn(|cx| listener.poll_accept(cx)).await.unwrap();
        served.write_all(b"unread").await.unwrap();
        client.peek(&mut [0]).unwrap();
        drop(client);
        let error = served.read(&mut [0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[cfg(unix)]
#[test]
fn a_listener_that_cannot_accept_ends_the_server() {
    use std::os::fd::OwnedFd;
    // A socket that does not listen.
    let socket = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    let listener = Async::new(TcpListener::from(OwnedFd::from(socket))).unwrap();
    let app = serving(empty);
    smol::block_on(serve(&app, &listener)).unwrap_err();
}

/// A listener whose first clients have gone before they are accepted.
struct Gone<L>(L, RefCell<Vec<ErrorKind>>);

impl<L: Listener> Listener for Gone<L> {
    type Stream = L::Stream;

    fn poll_accept(
        &self,
        cx: &mut task::Context<'_>,
    ) -> Poll<std::io::Result<Accepted<L::Stream>>> {
        match self.1.borrow_mut().pop() {
            Some(error) => Poll::Ready(Err(error.into())),
            None => self.0.poll_accept(cx),
        }
    }
}

#[test]
fn clients_that_have_gone_before_they_are_accepted_end_no_server() {
    let app = serving(empty);
    let (listener, address) = listen();
    let errors = [
        ErrorKind::ConnectionAborted,
        ErrorKind::ConnectionReset,
        ErrorKind::HostUnreachable,
        ErrorKind::Interrupted,
        ErrorKind::NetworkUnreachable,
    ];
    let listener = Gone(&listener, RefCell::new(errors.into()));
    run(serve(&app, &listener), async {
        let mut client = connect(address).await;
        assert_eq!(client.ask(&call(1, "echo", json!({}))).await["id"], 1);
    });
    assert!(listener.1.borrow().is_empty());
    // A listener that has failed for good may return this for ever.
    let failed = Gone(listener.0, RefCell::new(vec![ErrorKind::BrokenPipe]));
    let ended = smol::block_on(future::poll_once(serve(&app, &failed)));
    assert_eq!(ended.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
}
