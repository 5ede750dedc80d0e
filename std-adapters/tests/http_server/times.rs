//! Time limits, in virtual time.

use std::time::Duration;

use mcp_sansio_adapters::asynchronous::http::HttpOptions;

use crate::scripted::World;
use crate::site::modern;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_silent_client_is_disconnected() {
    let mut world = World::new(HttpOptions { read_timeout: LIMIT, ..HttpOptions::new() });
    for beginning in
        ["", "POST /mcp HT", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n", &modern("echo")[..400]]
    {
        let peer = world.connect(beginning);
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
        let peer = world.connect(&modern("echo"));
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
