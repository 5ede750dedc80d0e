//! The place where the browser returns to.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sansio_adapters::asynchronous::client::http::oauth::{
    LoopbackListener, MAX_VISITS, pasted,
};
use mcp_sansio_adapters::asynchronous::{
    Accepted, BoxedListener, BoxedStream, Listener, Runtime, RuntimeFuture, within,
};

const LONG: Duration = Duration::from_secs(10);
const ANSWER: &str = "state=right&code=c";

/// Host and port, and path.
fn parts(uri: &str) -> (&str, &str) {
    let rest = uri.strip_prefix("http://").unwrap();
    rest.split_at(rest.find('/').unwrap())
}

fn connect(uri: &str) -> TcpStream {
    let stream = TcpStream::connect(parts(uri).0).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Sends a request and returns the response.
fn send(uri: &str, request: &str) -> String {
    let mut stream = connect(uri);
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// Brings the answer, and reads no response.
pub(crate) fn visit(uri: &str, answer: &str) -> TcpStream {
    let (host, path) = parts(uri);
    let mut stream = connect(uri);
    write!(stream, "GET {path}?{answer} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    stream
}

fn get(uri: &str, target: &str, host: &str) -> String {
    send(uri, &format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
}

/// Waits in a runtime of smol and in one of tokio, while `browse` runs.
fn in_both(browse: impl Fn(&str) + Send + Sync, expected: &str) {
    let run = |wait: &dyn Fn(&LoopbackListener) -> io::Result<String>| {
        let listener = LoopbackListener::bind(None).unwrap();
        thread::scope(|scope| {
            let browser = scope.spawn(|| browse(listener.redirect_uri()));
            assert_eq!(wait(&listener).unwrap(), expected);
            browser.join().unwrap();
        });
    };
    run(&|listener| smol::block_on(listener.wait("right", LONG)));
    #[cfg(feature = "tokio")]
    run(&|listener| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(listener.wait("right", LONG))
    });
}

#[test]
fn auth_69_a_browser_returns_to_a_port_of_the_systems_choice() {
    let browse = |uri: &str| {
        let (host, path) = parts(uri);
        assert!(uri.starts_with("http://127.0.0.1:") && path.len() == 33, "{uri}");
        let page = get(uri, &format!("{path}?state=right&code=c%2F1&iss=https%3A%2F%2Fa"), host);
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        assert!(page.contains("The program has your answer. You can close this page."), "{page}");
        for field in [
            "referrer-policy: no-referrer\r\n",
            "cache-control: no-store\r\n",
            "content-security-policy: default-src 'none'",
            "connection: close\r\n",
        ] {
            assert!(page.contains(field), "{field}: {page}");
        }
        for forbidden in ["script", "c%2F1", "right", "href", "src="] {
            let body = page.split_once("\r\n\r\n").unwrap().1;
            assert!(!body.contains(forbidden), "{forbidden}: {body}");
        }
    };
    in_both(browse, "state=right&code=c%2F1&iss=https%3A%2F%2Fa");
    // Each login has a path of its own.
    let [first, second] = [(), ()].map(|()| LoopbackListener::bind(None).unwrap());
    assert_ne!(parts(first.redirect_uri()).1, parts(second.redirect_uri()).1);
    assert!(!format!("{first:?}").contains(parts(first.redirect_uri()).1));
}

#[test]
fn auth_78_everything_but_the_answer_to_this_login_is_404() {
    let browse = |uri: &str| {
        let (host, path) = parts(uri);
        let good = format!("{path}?{ANSWER}");
        for target in [
            "/",
            "/favicon.ico",
            path,
            &format!("{path}?code=c"),
            &format!("{path}?state=wrong&code=c"),
            &format!("{path}?state=&code=c"),
            &format!("{path}?state=right&state=right&code=c"),
            &format!("{path}?state=wrong&state=right&code=c"),
            &format!("{path}/?state=right&code=c"),
            "/guessed?state=right&code=c",
        ] {
            let response = get(uri, target, host);
            assert!(response.starts_with("HTTP/1.1 404 "), "{target}: {response}");
        }
        // Another name for this machine is that of a page that has it resolved so.
        for other in ["evil.example", "localhost", &host.replace("127.0.0.1", "127.0.0.2")] {
            assert!(get(uri, &good, other).starts_with("HTTP/1.1 404 "), "{other}");
        }
        for method in ["POST", "HEAD", "OPTIONS", "PUT"] {
            let request = format!("{method} {good} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert!(send(uri, &request).starts_with("HTTP/1.1 404 "), "{method}");
        }
        for broken in [
            "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n",
            "GET / HTTP/9\r\n\r\n",
            "\x16\x03\x01\r\n\r\n",
        ] {
            send(uri, broken);
        }
        let denied = get(uri, &format!("{path}?error=access_denied&state=right"), host);
        assert!(denied.starts_with("HTTP/1.1 200 ") && denied.contains("has failed"), "{denied}");
    };
    in_both(browse, "error=access_denied&state=right");
}

#[test]
fn connections_that_say_nothing_hinder_no_others() {
    let browse = |uri: &str| {
        let (host, path) = parts(uri);
        let silent: Vec<TcpStream> = (0..3 * MAX_VISITS).map(|_| connect(uri)).collect();
        let mut slow = connect(uri);
        slow.write_all(b"GET / HT").unwrap();
        let page = get(uri, &format!("{path}?{ANSWER}"), host);
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        drop((silent, slow));
    };
    in_both(browse, ANSWER);
}

#[test]
fn a_long_request_is_refused() {
    let browse = |uri: &str| {
        let (host, path) = parts(uri);
        let long = format!("{path}?state=right&code={}", "c".repeat(40 << 10));
        let mut stream = connect(uri);
        let _ = stream.write_all(format!("GET {long} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        assert!(!response.starts_with(b"HTTP/1.1 200 "));
        get(uri, &format!("{path}?{ANSWER}"), host);
    };
    in_both(browse, ANSWER);
}

#[test]
fn auth_113_waiting_ends_and_can_begin_again() {
    let listener = LoopbackListener::bind(None).unwrap();
    let begun = Instant::now();
    let short = Duration::from_millis(50);
    let ended = smol::block_on(listener.wait("right", short)).unwrap_err();
    assert_eq!(ended.kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() >= short && begun.elapsed() < LONG);
    // A browser that returned in between is served then.
    let _visit = visit(listener.redirect_uri(), ANSWER);
    let query = smol::block_on(listener.wait("right", LONG)).unwrap();
    assert_eq!(query, ANSWER);
}

/// A runtime of smol whose listeners have an aborted connection before the first.
struct Aborting;

struct AfterAnother(smol::Async<TcpListener>, AtomicBool);

impl Runtime for Aborting {
    fn sleep_until(&self, at: Instant) -> RuntimeFuture<()> {
        Box::pin(async move {
            smol::Timer::at(at).await;
        })
    }

    fn listen(&self, listener: TcpListener) -> io::Result<BoxedListener> {
        let listener = smol::Async::new(listener)?;
        Ok(Box::new(AfterAnother(listener, AtomicBool::new(false))))
    }
}

impl Listener for AfterAnother {
    type Stream = BoxedStream;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted<BoxedStream>>> {
        if !self.1.swap(true, Ordering::Relaxed) {
            return Poll::Ready(Err(ErrorKind::ConnectionAborted.into()));
        }
        let accepted = self.0.poll_accept(cx);
        accepted.map_ok(|(stream, peer)| (Box::new(stream) as BoxedStream, peer))
    }
}

#[test]
fn a_visitor_that_has_gone_before_it_is_accepted_ends_no_login() {
    let listener = LoopbackListener::bind(None).unwrap();
    let _visit = visit(listener.redirect_uri(), ANSWER);
    let query = smol::block_on(within(&Aborting, listener.wait("right", LONG))).unwrap();
    assert_eq!(query, ANSWER);
}

#[test]
fn auth_68_a_redirect_uri_that_is_known_is_used_again() {
    let first = LoopbackListener::bind(None).unwrap();
    let uri = first.redirect_uri().to_owned();
    let (_, path) = parts(&uri);
    // Its port is taken: the path stays.
    let second = LoopbackListener::bind(Some(&uri)).unwrap();
    assert_ne!(second.redirect_uri(), uri);
    assert_eq!(parts(second.redirect_uri()).1, path);
    drop(first);
    assert_eq!(LoopbackListener::bind(Some(&uri)).unwrap().redirect_uri(), uri);
    // A client that was registered beforehand knows a name and no port.
    let named = LoopbackListener::bind(Some("http://localhost/callback")).unwrap();
    let (host, path) = parts(named.redirect_uri());
    assert!(host.starts_with("localhost:") && path == "/callback", "{named:?}");
    let port = host.strip_prefix("localhost:").unwrap();
    assert!(TcpStream::connect(format!("127.0.0.1:{port}")).is_ok());
    if TcpListener::bind(("::1", 0)).is_ok() {
        assert!(TcpStream::connect(format!("[::1]:{port}")).is_ok());
        let v6 = LoopbackListener::bind(Some("http://[::1]:0/callback")).unwrap();
        assert!(v6.redirect_uri().starts_with("http://[::1]:"), "{v6:?}");
    }
    // Browsers leave out this port. Not every program may listen on it.
    let plain = LoopbackListener::bind(Some("http://127.0.0.1:80/a")).unwrap();
    if plain.redirect_uri() == "http://127.0.0.1:80/a" {
        thread::scope(|scope| {
            scope.spawn(|| get(plain.redirect_uri(), &format!("/a?{ANSWER}"), "127.0.0.1"));
            assert_eq!(smol::block_on(plain.wait("right", LONG)).unwrap(), ANSWER);
        });
    }
    for other in ["https://127.0.0.1/a", "http://example.com/a", "http://10.0.0.1/", "myapp:/a", ""]
    {
        let error = LoopbackListener::bind(Some(other)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{other}");
    }
}

#[test]
fn auth_78_an_answer_can_be_pasted_if_it_belongs_to_the_login() {
    const URI: &str = "http://127.0.0.1:4711/a";
    for text in [ANSWER, &format!("{URI}?{ANSWER}"), &format!(" {URI}?{ANSWER}#\n")] {
        assert_eq!(pasted(text, URI, "right").unwrap(), ANSWER, "{text}");
    }
    for text in [
        "",
        "c",
        "state=wrong&code=c",
        &format!("{URI}?state=wrong&code=c"),
        &format!("http://evil.example/a?{ANSWER}"),
        "https://auth.example.com/authorize?client_id=1&state=right",
    ] {
        let why = pasted(text, URI, "right").unwrap_err().to_string();
        assert!(why.contains("copy the whole address"), "{text}");
    }
}
