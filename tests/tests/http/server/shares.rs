//! What one user opens and keeps open is not what others need: each fills all that it can.

use std::net::IpAddr;

use mcp_sansio_engine::site::{ExchangeKey, Holder, Principal, SiteOptions};

use super::host::{
    CONFIG, Connection, Host, INITIALIZED, bare, in_session, initialize, listen, modern_call, to,
    with_token,
};

/// How users are told apart.
#[derive(Clone, Copy, PartialEq, Debug)]
enum By {
    Principal,
    Address,
}

const MALLORY: usize = 1;
const ADA: usize = 2;

fn host(by: By, set: impl Fn(&mut SiteOptions<'static>)) -> Host {
    Host::of(&CONFIG, |options| {
        options.authorizes = by == By::Principal;
        options.sse_path = Some("/sse");
        (options.max_exchanges, options.max_streams) = (40, 20);
        set(options);
    })
}

impl By {
    /// Makes a request one of a user.
    fn from(self, host: &mut Host, user: usize, request: &str) -> String {
        match self {
            Self::Principal => with_token(&format!("u{user}"), request),
            Self::Address => {
                host.peer = Some(format!("192.0.2.{user}").parse().unwrap());
                request.to_owned()
            }
        }
    }

    fn send(self, host: &mut Host, user: usize, request: &str) -> Connection {
        let request = self.from(host, user, request);
        host.connect(&request)
    }

    /// Sends a request again and again, until one is refused. Returns the open ones.
    fn fill(self, host: &mut Host, user: usize, request: &str) -> Vec<Connection> {
        let mut open = Vec::new();
        loop {
            assert!(open.len() < 100, "{self:?}: nothing limits {request}");
            let connection = self.send(host, user, request);
            if connection.is_done {
                let refused = &connection.answer;
                assert_eq!(refused.error(), (503, -32603), "{self:?} {refused:?}");
                assert_eq!(refused.field("retry-after"), Some("5"));
                return open;
            }
            open.push(connection);
        }
    }

    fn open_session(self, host: &mut Host, user: usize) -> Option<String> {
        let opened = self.send(host, user, &initialize("2025-11-25")).answer;
        let id = opened.field("mcp-session-id")?.to_owned();
        let done = self.send(host, user, &in_session(&id, INITIALIZED));
        assert_eq!(done.answer.status, 202);
        Some(id)
    }

    fn assert_served(self, host: &mut Host, user: usize) {
        let answer = self.send(host, user, &modern_call("echo")).answer;
        assert_eq!(answer.status, 200, "{self:?} {user}: {answer:?}");
    }
}

#[test]
fn r3_h1_one_user_takes_its_share_of_exchanges_and_streams_and_others_are_served() {
    for (by, share) in [(By::Principal, 25), (By::Address, 75)] {
        let sse = to("/sse", &bare("GET", &[]));
        for (request, total) in [(modern_call("slow"), 40), (listen(), 20), (sse, 20)] {
            let mut host = host(by, |_| {});
            // Twice, since places come back.
            for _ in 0..2 {
                let open = by.fill(&mut host, MALLORY, &request);
                assert_eq!(open.len(), total * share / 100, "{by:?} {request}");
                by.assert_served(&mut host, ADA);
                let own = by.send(&mut host, ADA, &request);
                assert!(!own.is_done, "{by:?} {own:?}");
                for mut connection in open.into_iter().chain([own]) {
                    connection.close(&mut host);
                }
                host.run();
            }
            assert_eq!((host.site.exchanges(), host.site.sessions()), (0, 0));
        }
    }
}

#[test]
fn r3_h1_streams_of_sessions_are_event_streams_as_others() {
    for (by, most) in [(By::Principal, 5), (By::Address, 15)] {
        let mut host = host(by, |_| {});
        let ids: Vec<_> =
            (0..=most).map(|_| by.open_session(&mut host, MALLORY).unwrap()).collect();
        let get = |id: &str| bare("GET", &[("Mcp-Session-Id", id)]);
        let mut open = Vec::new();
        for (number, id) in ids.iter().enumerate() {
            let reader = by.send(&mut host, MALLORY, &get(id));
            assert_eq!(reader.answer.status, if number < most { 200 } else { 503 });
            open.push(reader);
        }
        // A client that has lost its connection takes the place of its own stream.
        let again = by.send(&mut host, MALLORY, &get(&ids[0]));
        assert!(!again.is_done && again.answer.status == 200);
        let own = by.open_session(&mut host, ADA).unwrap();
        let reader = by.send(&mut host, ADA, &get(&own));
        assert!(!reader.is_done && reader.answer.status == 200);
        by.assert_served(&mut host, ADA);
        by.assert_served(&mut host, MALLORY);
    }
}

#[test]
fn r3_h1_streams_of_all_users_leave_a_reserve_to_calls() {
    let mut host = host(By::Principal, |_| {});
    let mut open = Vec::new();
    for user in 0..10 {
        open.extend(By::Principal.fill(&mut host, user, &listen()));
    }
    assert_eq!(open.len(), 20);
    let calls: usize = (0..3)
        .map(|user| By::Principal.fill(&mut host, 20 + user, &modern_call("slow")).len())
        .sum();
    assert_eq!(calls, 20);
    // All exchanges are taken: there is an answer, and nothing is kept for it.
    let refused = By::Principal.send(&mut host, ADA, &modern_call("slow"));
    assert_eq!(refused.answer.error(), (503, -32603));
    assert_eq!(host.site.exchanges(), 40);
}

#[test]
fn r3_h1_bodies_under_way_and_kept_of_one_user_leave_room_for_others() {
    for (by, share) in [(By::Principal, 20 << 10), (By::Address, 60 << 10)] {
        let mut host = host(by, |options| {
            (options.max_body, options.body_budget) = (10 << 10, 80 << 10);
        });
        let request = modern_call("slow");
        let (head, _) = request.split_at(request.find("\r\n\r\n").unwrap() + 4);
        let begin = |host: &mut Host, user| -> ExchangeKey {
            let head = by.from(host, user, head);
            host.begin(&head)
        };
        let mallory = match by {
            By::Principal => {
                Holder::Principal(Principal::new("https://issuer.example", "u1").into())
            }
            By::Address => Holder::Address(IpAddr::from([192, 0, 2, 1]).into()),
        };
        // A handler keeps a part.
        host.site.keep_bytes(5 << 10, Some(&mallory));
        let mut taken = 5 << 10;
        let piece = [b' '; 5 << 10];
        loop {
            let exchange = begin(&mut host, MALLORY);
            assert_eq!(host.site.feed_body(exchange, &piece), piece.len());
            if let Some(refused) = host.site.response(exchange) {
                assert_eq!(refused.status(), 503);
                break;
            }
            taken += piece.len();
        }
        assert_eq!(taken, share, "{by:?}");
        let whole = begin(&mut host, ADA);
        for _ in 0..2 {
            assert_eq!(host.site.feed_body(whole, &piece), piece.len());
        }
        assert!(host.site.wants_body(whole));
        host.site.release_bytes(5 << 10, Some(&mallory));
        let exchange = begin(&mut host, MALLORY);
        assert_eq!(host.site.feed_body(exchange, &piece), piece.len());
        assert!(host.site.wants_body(exchange));
    }
}

#[test]
fn r3_h1_sessions_of_one_user_leave_room_for_others() {
    for (by, most) in [(By::Principal, 5), (By::Address, 15)] {
        let mut host = host(by, |options| {
            (options.max_sessions, options.max_sessions_per_principal) = (20, 5);
        });
        let open = (0..40).map_while(|_| by.open_session(&mut host, MALLORY)).count();
        assert_eq!(open, most, "{by:?}");
        assert!(by.open_session(&mut host, ADA).is_some());
    }
}
