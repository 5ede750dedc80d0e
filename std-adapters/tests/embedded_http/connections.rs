//! Connections that are slow, silent, lost, or too many.

use embedded_io_async::{ErrorKind, ErrorType, Write};
use mcp_sansio_adapters::embedded_async::{ConnectionEnd, Error};
use serde_json::json;

use crate::app::{LONGEST, call, modern, server, serving, with_clients};
use crate::net::Net;
use crate::port::Time;

const CLOSED: Option<crate::net::Served> = Some(Ok(ConnectionEnd::Closed));
const WRITE_ZERO: Option<crate::net::Served> = Some(Err(Error::WriteZero));

#[test]
fn a_client_that_closes_its_connection_cancels_its_call() {
    with_clients(9, 1, |server, mut net| {
        net.exchange(0, call("boil", json!({"cups": 5})));
        net.pass(1500);
        assert_eq!(server.handler().running.get(), 1);
        net.clients[0].port.end();
        net.run();
        assert_eq!((server.handler().running.get(), &net.clients[0].end), (0, &CLOSED));
        // The place is free again.
        let next = net.connect(serving(server));
        assert!(net.exchange(next, call("say", json!({"text": "x"}))).starts_with("HTTP/1.1 200"));
    });
}

#[test]
fn s6_bytes_sent_ahead_hide_no_client_that_has_gone() {
    for ends in [true, false] {
        with_clients(9, 1, |server, mut net| {
            net.exchange(0, call("boil", json!({"cups": 1})));
            for _ in 0..2 {
                net.exchange(0, "POST /mcp HTTP/1.1\r\n".repeat(10));
                assert_eq!((net.clients[0].port.unread(), server.handler().running.get()), (0, 1));
            }
            if ends {
                net.clients[0].port.end();
                net.run();
            } else {
                // The client sends them again, on another connection.
                net.pass(1000);
                let response = net.clients[0].received();
                assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
                assert!(response.ends_with("\r\n0\r\n\r\n"), "{response}");
            }
            assert_eq!((server.handler().running.get(), &net.clients[0].end), (0, &CLOSED));
        });
    }
}

#[test]
fn a_client_that_reads_slowly_may_send_requests_ahead() {
    with_clients(9, 1, |_, mut net| {
        net.clients[0].port.takes(100);
        let mut all = net.exchange(0, modern("tools/list", json!({})).repeat(2));
        net.clients[0].port.takes(usize::MAX);
        net.run();
        all += &net.clients[0].received();
        assert_eq!((all.matches("HTTP/1.1 200").count(), &net.clients[0].end), (2, &None), "{all}");
    });
}

#[test]
fn a_request_that_a_read_error_has_cut_is_not_handled() {
    let usual = call("say", json!({"text": "x"}));
    let (part, rest) = usual.split_at(usual.len() - 30);
    for (error, end) in [
        (ErrorKind::Interrupted, None),
        (ErrorKind::Other, Some(Err(Error::Read(ErrorKind::Other)))),
    ] {
        with_clients(usize::MAX, 1, |_, mut net| {
            net.clients[0].port.bytes(part);
            net.clients[0].port.fault(error);
            let response = net.exchange(0, rest);
            assert_eq!((response.is_empty(), &net.clients[0].end), (end.is_some(), &end));
        });
    }
}

#[test]
fn a_call_has_its_response_if_the_client_closes_behind_it() {
    with_clients(usize::MAX, 1, |_, mut net| {
        net.clients[0].port.bytes(call("say", json!({"text": "x"})));
        net.clients[0].port.end();
        net.run();
        assert!(net.clients[0].received().starts_with("HTTP/1.1 200"));
        assert_eq!(net.clients[0].end, CLOSED);
    });
}

#[test]
fn a_request_must_come_in_time_and_a_silent_connection_ends() {
    with_clients(usize::MAX, 1, |server, mut net| {
        let usual = call("say", json!({"text": "x"}));
        let (part, rest) = usual.split_at(200);
        net.pass(9000);
        // The time for a request begins with its first byte.
        net.exchange(0, part);
        net.pass(9000);
        assert!(net.exchange(0, rest).starts_with("HTTP/1.1 200"));
        net.exchange(0, part);
        net.pass(9900);
        assert_eq!((net.clients[0].received().as_str(), &net.clients[0].end), ("", &None));
        net.pass(100);
        let late = net.clients[0].received();
        assert!(late.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{late}");
        assert_eq!(net.clients[0].end, CLOSED);
        let silent = net.connect(serving(server));
        net.pass(9900);
        assert_eq!(net.clients[silent].end, None);
        net.pass(100);
        assert_eq!(
            (net.clients[silent].received().as_str(), &net.clients[silent].end),
            ("", &CLOSED)
        );
    });
}

#[test]
fn while_all_connections_are_in_use_none_is_kept_for_long() {
    with_clients(usize::MAX, 1, |server, mut net| {
        net.pass(5000);
        let second = net.connect(serving(server));
        net.run();
        // The first one has waited long enough.
        assert_eq!((&net.clients[0].end, &net.clients[second].end), (&CLOSED, &None));
        let third = net.connect(serving(server));
        let fourth = net.connect(serving(server));
        assert_eq!(net.clients[fourth].end, Some(Err(Error::InUse)));
        assert!(net.clients[fourth].received().starts_with("HTTP/1.1 503 "));
        let response = net.exchange(second, call("say", json!({"text": "x"})));
        assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
        assert_eq!((&net.clients[second].end, &net.clients[third].end), (&CLOSED, &None));
        net.pass(5000);
        // There is room for another, so it may wait.
        assert_eq!(net.clients[third].end, None);
    });
}

/// A socket that accepts nothing.
struct Full;

impl ErrorType for Full {
    type Error = ErrorKind;
}

impl Write for Full {
    async fn write(&mut self, _: &[u8]) -> Result<usize, ErrorKind> {
        Ok(0)
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

#[test]
fn a_socket_that_accepts_nothing_ends_its_connection() {
    with_clients(usize::MAX, 1, |server, mut net| {
        let serve = |port, _, time| async move { server.serve(port, Full, &time).await };
        let usual = net.connect(serve);
        let beyond = net.connect(serve);
        assert_eq!((&net.clients[usual].end, &net.clients[beyond].end), (&None, &WRITE_ZERO));
        net.exchange(usual, call("say", json!({"text": "x"})));
        assert_eq!(net.clients[usual].end, WRITE_ZERO);
    });
}

#[test]
fn s8_the_longest_limits_are_never() {
    let time = Time::default();
    let server = server::<2>(&LONGEST, &time);
    let mut net = Net::new(&time, usize::MAX);
    net.connect(serving(&server));
    net.clients[0].port.takes(0);
    let usual = call("say", json!({"text": "x"}));
    let (part, rest) = usual.split_at(200);
    for bytes in ["", part, rest] {
        net.exchange(0, bytes);
        assert_eq!(time.timers(), 0, "{bytes:?}");
    }
}

#[test]
fn a_client_that_takes_nothing_is_given_up() {
    with_clients(usize::MAX, 2, |_, mut net| {
        net.clients[0].port.takes(100);
        net.exchange(0, call("say", json!({"text": "x"})));
        // The other one does not notice.
        assert!(net.exchange(1, call("say", json!({"text": "x"}))).starts_with("HTTP/1.1 200"));
        net.pass(9900);
        assert_eq!(net.clients[0].end, None);
        net.pass(100);
        assert_eq!(net.clients[0].end, Some(Ok(ConnectionEnd::Unresponsive)));
    });
}

#[test]
fn a_call_may_take_as_long_as_its_configuration_says() {
    with_clients(usize::MAX, 1, |server, mut net| {
        net.exchange(0, call("boil", json!({"cups": 90})));
        net.pass(59_000);
        assert_eq!((server.handler().running.get(), &net.clients[0].end), (1, &None));
        net.pass(1100);
        assert_eq!(server.handler().running.get(), 0);
        let all = net.clients[0].received();
        assert!(all.contains("\"error\":{\"code\":-32") && all.ends_with("\r\n0\r\n\r\n"), "{all}");
    });
}
