//! Time limits, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use mcp_sansio_adapters::asynchronous::http::HttpOptions;

use crate::scripted::{Then, World};
use crate::site::{call, get, modern};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn sess_05_an_unused_session_expires() {
    let mut world = World::new(HttpOptions { idle_timeout: LIMIT, ..HttpOptions::new() });
    let [idle, used, working] = [(); 3].map(|()| world.open_session());
    let stream = world.connect(&get(&used, &[]));
    world.until("the stream begins", || stream.answers("200") == 1);
    let called = world.connect(&call(&working, 2, "wait"));
    let counts = Arc::clone(&world.counts);
    world.until("it waits", || counts.get() == (1, 0));
    called.hang_up();
    world.until("it is let go", || called.is_gone());
    for (wait, status) in [(LIMIT / 2, "200"), (4 * LIMIT, "404")] {
        world.sleep(wait);
        for (session, status) in [(&idle, status), (&used, "200"), (&working, "200")] {
            let peer = world.connect(&call(session, 3, "echo"));
            world.until(status, || peer.answers(status) == 1);
        }
    }
}

#[test]
fn a_silent_client_is_disconnected() {
    let mut world = World::new(HttpOptions { read_timeout: LIMIT, ..HttpOptions::new() });
    for beginning in
        ["", "POST /mcp HT", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n", &modern("echo")[..400]]
    {
        let peer = world.connect(beginning).then(Then::Silence);
        world.sleep(LIMIT - Duration::from_millis(1));
        assert!(!peer.is_gone(), "{beginning}");
        world.sleep(2 * LIMIT);
        assert!(peer.is_gone(), "{beginning}");
        assert_eq!(peer.answers("408"), usize::from(beginning.contains("\r\n\r\n")));
    }
}

/// A proxy keeps its connections for longer than a client may take for a request.
#[test]
fn a_connection_is_idle_between_requests_for_longer_than_a_request_takes() {
    const IDLE: Duration = Duration::from_secs(600);
    let mut world = World::new(HttpOptions { read_timeout: LIMIT, ..HttpOptions::new() });
    for (next, limit) in [("", IDLE), ("POST /mcp HT", LIMIT)] {
        let peer = world.connect(&modern("echo")).then(Then::Silence);
        world.until("a response", || peer.answers("200") == 1);
        world.sleep(IDLE / 2);
        assert!(!peer.is_gone());
        peer.send(next);
        let left = if next.is_empty() { limit / 2 } else { limit };
        world.sleep(left - Duration::from_millis(1));
        assert!(!peer.is_gone(), "{next}");
        world.sleep(Duration::from_secs(2));
        assert!(peer.is_gone(), "{next}");
    }
}
