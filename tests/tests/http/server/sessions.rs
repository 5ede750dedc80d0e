//! Sessions of legacy clients.

use mcp_sansio::Change;
use mcp_sansio_engine::site::{Destination, SiteOptions, SiteStep};

use super::host::{
    CONFIG, Connection, Host, INITIALIZED, PING, bare, cancelled, in_session, initialize, modern,
    post, tool_call,
};

#[test]
fn sess_01_sess_02_sess_12_only_the_response_to_initialize_issues_an_id() {
    let mut host = Host::new();
    let answer = host.send(&initialize("2025-11-25"));
    let id = answer.session();
    assert!(id.len() == 32 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(host.call(&id, INITIALIZED).field("mcp-session-id"), None);
    assert_eq!(host.tool(&id, 2, "echo").field("mcp-session-id"), None);
    // A failed `initialize` opens no session.
    let answer =
        host.send(&post(&[], r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#));
    assert_eq!((answer.field("mcp-session-id"), host.site.sessions()), (None, 1));
    // An `initialize` with the id of another session opens a new one.
    let stale =
        initialize("2025-06-18").replace("Host:", &format!("Mcp-Session-Id: {id}\r\nHost:"));
    assert_ne!(host.send(&stale).session(), id);
}

#[test]
fn sess_04_sess_05_sess_11_requests_without_a_session_or_with_a_foreign_one_are_refused() {
    let (mut host, id) = Host::opened("2025-11-25");
    let version = ("MCP-Protocol-Version", "2025-11-25");
    assert_eq!(host.send(&post(&[version], PING)).status, 400);
    assert_eq!(host.send(&post(&[version], PING)).json()["id"], 9);
    let is_unknown = |host: &mut Host, session: &str| {
        let own = ("Mcp-Session-Id", session);
        for request in [post(&[own], PING), bare("GET", &[own]), bare("DELETE", &[own])] {
            assert_eq!(host.send(&request).error(), (404, -32001), "{request}");
        }
    };
    let other_case = id.to_uppercase().replace('0', "1");
    for foreign in ["x", "", "00000000000000000000000000000001", &id[..31], &other_case] {
        is_unknown(&mut host, foreign);
    }
    let twice = post(&[("mcp-session-id", &id), ("MCP-SESSION-ID", &id)], PING);
    assert_eq!(host.send(&twice).status, 400);
    for name in ["mcp-session-id", "MCP-Session-Id", "Mcp-Session-Id"] {
        assert_eq!(host.send(&post(&[(name, &id)], PING)).status, 200);
    }
    assert_eq!(host.delete(&id), 204);
    is_unknown(&mut host, &id);
    // Nothing is kept of it, its time limit included.
    assert!(matches!(host.site.next(host.now), SiteStep::Wait(None)));
}

#[test]
fn sess_05_a_request_that_waits_when_its_session_ends_is_refused() {
    let mut host = Host::of(&CONFIG, |options| options.max_in_flight = 1);
    let id = host.open("2025-11-25");
    let mut all = [tool_call(2, "slow"), tool_call(3, "echo")]
        .map(|body| Connection::new(&in_session(&id, &body)));
    host.serve(&mut all);
    assert_eq!(host.delete(&id), 204);
    host.serve(&mut all);
    assert_eq!(all.each_ref().map(|one| one.answer.status), [200, 404]);
    assert_eq!(host.site.exchanges(), 0);
}

#[test]
fn http_28_http_29_a_version_that_is_named_must_be_spoken() {
    let (mut host, id) = Host::opened("2025-06-18");
    for version in ["1999-01-01", "latest", ""] {
        let fields = [("Mcp-Session-Id", id.as_str()), ("MCP-Protocol-Version", version)];
        assert_eq!(host.send(&post(&fields, PING)).status, 400, "{version}");
        assert_eq!(host.send(&bare("GET", &fields)).status, 400, "{version}");
        assert_eq!(host.send(&bare("DELETE", &fields)).status, 400, "{version}");
    }
    // The session knows its revision.
    assert_eq!(host.call(&id, PING).status, 200);
    let mut without = Host::of(&CONFIG, |options| options.has_sessions = false);
    let answer = without.send(&initialize("2025-06-18"));
    assert_eq!((answer.status, answer.field("mcp-session-id")), (200, None));
    // Only 2025-03-26, which is assumed without a version field, has batches.
    let batch = format!("[{PING}]");
    assert_eq!(without.send(&post(&[], &batch)).status, 200);
    let newer = post(&[("MCP-Protocol-Version", "2025-06-18")], &batch);
    assert_eq!(without.send(&newer).error(), (400, -32600));
    assert_eq!(without.send(&bare("GET", &[])).status, 405);
}

#[test]
fn a_request_that_stands_alone_knows_nothing_of_the_one_before() {
    let mut host = Host::of(&CONFIG, |options| options.has_sessions = false);
    let list = modern("tools/list", "{}", &[]);
    let first = host.send(&list).trace();
    assert!(first.starts_with("200") && first.contains("resultType"), "{first}");
    for other in [initialize("2025-06-18"), post(&[], PING), modern("x/unknown", "{}", &[])] {
        host.send(&other);
        assert_eq!(host.send(&list).trace(), first, "{other}");
    }
}

#[test]
fn http_11_http_13_notifications_and_responses_are_accepted_without_a_body() {
    let mut host = Host::new();
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let id = host.open(version);
        for (body, status) in [
            (INITIALIZED, 202),
            (r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#, 202),
            (r#"{"jsonrpc":"2.0","id":99,"result":{}}"#, 400),
            (r#"{"jsonrpc":"1.0","method":"notifications/x"}"#, 400),
        ] {
            let answer = host.call(&id, body);
            assert_eq!(answer.status, status, "{body}");
            assert!(status != 202 || answer.trace() == "202\n\n", "{answer:?}");
        }
    }
}

#[test]
fn http_14_http_16_http_17_http_20_http_25_questions_go_to_the_exchange_of_their_request() {
    let (mut host, id) = Host::opened("2025-06-18");
    let asked = host.tool(&id, 2, "ask");
    assert_eq!(asked.field("content-type"), Some("text/event-stream"));
    let first = "id: 3-0\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\"";
    assert!(asked.body.starts_with(first) && asked.body.ends_with("(open)"), "{asked:?}");
    // Another request of the same session in between.
    assert_eq!(host.tool(&id, 3, "echo").field("content-type"), Some("application/json"));
    let answered = host.call(&id, r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#);
    assert_eq!(answered.trace(), "202\n\n");
    let rest = host.rest(asked.exchange.unwrap());
    let last = "id: 3-1\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":";
    assert!(rest.body.starts_with(last), "{rest:?}");
    assert!(rest.exchange.is_none());
    assert_eq!(host.send(&bare("GET", &[("Mcp-Session-Id", &id)])).body, "");
}

#[test]
fn http_22_http_23_http_24_messages_unrelated_to_a_request_go_to_the_get_stream() {
    let (mut host, id) = Host::opened("2025-11-25");
    let get = bare("GET", &[("Mcp-Session-Id", &id)]);
    assert_eq!(host.send(&get).trace().split("\n\n").nth(1), Some(""));
    let slow = host.tool(&id, 2, "slow");
    host.site.publish(&Change::tools());
    // No stream was open: the message waits.
    let told = host.send(&get);
    assert_eq!(
        told.trace(),
        "200\ncontent-type: text/event-stream\ncache-control: no-cache, no-transform\nx-accel-buffering: no\n\n\
         id: 0-0\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{}}\n\n"
    );
    assert_eq!(host.send(&get).body, "", "the message is sent once");
    host.finish(host.open[0]);
    let done = host.rest(slow.exchange.unwrap());
    assert_eq!(done.json()["result"]["content"][0]["text"], "done");
    assert_eq!(host.send(&get).body, "", "responses belong to the request's stream");
}

#[test]
fn canc_12_a_lost_connection_cancels_nothing_and_a_notification_does() {
    let (mut host, id) = Host::opened("2025-11-25");
    let (first, second) = (host.tool(&id, 2, "slow"), host.tool(&id, 3, "slow"));
    let open = |host: &mut Host| {
        let server = host.open[0].server;
        host.site.turn(host.now, server).unwrap().parts(Destination::Session).0.open_requests()
    };
    host.site.close(host.now, first.exchange.unwrap());
    assert_eq!(open(&mut host), 2);
    assert_eq!(host.call(&id, &cancelled(3)).trace(), "202\n\n");
    assert_eq!(open(&mut host), 1);
    // The other connection ends without a response.
    let rest = host.rest(second.exchange.unwrap());
    assert_eq!((rest.status, rest.body.as_str(), rest.exchange), (202, "", None));
    host.finish(host.open[0]);
    host.run();
    assert_eq!(open(&mut host), 0);
    assert!(host.ended.is_empty());
}

#[test]
fn canc_12_a_response_that_has_begun_is_finished_although_its_request_is_cancelled() {
    for is_closed in [false, true] {
        let mut host = Host::of(&CONFIG, |options| options.max_pending = 400);
        let id = host.open("2025-11-25");
        let mut reading = Connection::new(&in_session(&id, &tool_call(2, "long")));
        reading.read_to(&mut host, 1, 11);
        assert_eq!(host.call(&id, &cancelled(2)).trace(), "202\n\n");
        if is_closed {
            reading.close(&mut host);
        } else {
            host.serve([&mut reading]);
            assert!(reading.is_done && reading.answer.body.contains("9\\n\"}]}}"));
        }
        // Nothing keeps the session.
        host.wait(SiteOptions::new().idle_timeout);
        assert_eq!((host.site.exchanges(), host.site.sessions()), (0, 0), "{is_closed}");
    }
}

#[test]
fn bat_01_bat_04_bat_05_bat_06_rpc_13_batches_are_answered_with_events_or_accepted() {
    let (mut host, id) = Host::opened("2025-03-26");
    let [first, last] = [2, 3].map(|id| tool_call(id, "echo"));
    let answer = host.call(&id, &format!("[{first},{PING},{INITIALIZED},{last}]"));
    assert_eq!(answer.field("content-type"), Some("text/event-stream"));
    let ids = answer.body.split("\"id\":").skip(1).map(|rest| rest.split(',').next().unwrap());
    assert!(ids.eq(["2", "9", "3"]), "{answer:?}");
    assert_eq!(host.call(&id, &format!("[{INITIALIZED},{INITIALIZED}]")).trace(), "202\n\n");
    assert_eq!(host.call(&id, "[]").error(), (400, -32600));
    let newer = host.open("2025-06-18");
    assert_eq!(host.call(&newer, &format!("[{PING}]")).error(), (400, -32600));
}

#[test]
fn errors_of_legacy_requests_have_status_200() {
    let mut host = Host::new();
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let id = host.open(version);
        assert_eq!(host.tool(&id, 2, "fails").error(), (200, -32603));
        assert_eq!(host.tool(&id, 3, "nobody").error(), (200, -32602));
        let unknown = host.call(&id, r#"{"jsonrpc":"2.0","id":4,"method":"no/such"}"#);
        assert_eq!(unknown.error(), (200, -32601));
    }
}
