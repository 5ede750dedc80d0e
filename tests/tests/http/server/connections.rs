//! Many connections at once, in any pieces, and lost at any byte; events that are replayed then.

use mcp_sansio::Change;
use mcp_sansio_engine::site::SiteBody;

use super::host::{
    CONFIG, Connection, Host, Reply, bare, ids, in_session, initialize, modern, modern_call,
    resume, tool_call,
};

/// Returns the requests of a client of each era, in a session that is open.
fn requests(host: &mut Host) -> Vec<String> {
    let (old, new) = (host.open("2025-03-26"), host.open("2025-11-25"));
    let batch = format!("[{},{}]", tool_call(8, "echo"), tool_call(9, "progress"));
    vec![
        modern_call("progress"),
        modern("tools/list", "{}", &[]),
        modern("no/such", "{}", &[]),
        initialize("2025-06-18"),
        in_session(&old, &batch),
        in_session(&old, &tool_call(2, "long")),
        in_session(&new, &tool_call(3, "progress")),
        in_session(&new, &tool_call(4, "long")),
        in_session(&new, r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#),
        in_session("unknown", r#"{"jsonrpc":"2.0","id":6,"method":"ping"}"#),
        bare("OPTIONS", &[]),
    ]
}

/// Removes what differs from run to run: the numbers of streams and sessions.
fn comparable(answer: &super::host::Answer) -> String {
    let lines = answer.body.lines().map(|line| match line.strip_prefix("id: ") {
        Some(id) => format!("id: {}", id.split('-').next_back().unwrap()),
        None => line.to_owned(),
    });
    format!("{} {}", answer.status, lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn connections_that_are_served_in_turns_get_what_they_would_get_alone() {
    let mut host = Host::new();
    let alone: Vec<_> =
        requests(&mut host).iter().map(|request| comparable(&host.send(request))).collect();
    for (chunk, room) in [(1, 1 << 16), (7, 400), (1000, 401), (usize::MAX, 500)] {
        let mut host = Host::of(&CONFIG, |options| options.max_pending = room);
        let requests = requests(&mut host);
        host.chunk = chunk;
        let mut connections: Vec<_> =
            requests.iter().chain(&requests[..2]).map(|request| Connection::new(request)).collect();
        host.serve(&mut connections);
        for (connection, alone) in connections.iter().zip(alone.iter().chain(&alone[..2])) {
            assert!(connection.is_done, "{chunk} {:?}", connection.answer);
            assert_eq!(&comparable(&connection.answer), alone, "{chunk} {room}");
        }
        assert_eq!((host.site.exchanges(), host.site.sessions()), (0, 3));
        assert!(host.ended.is_empty());
    }
}

#[test]
fn a_connection_that_is_lost_at_any_byte_leaves_nothing_behind() {
    let count = requests(&mut Host::new()).len();
    for number in 0..count {
        for steps in (0..).step_by(3) {
            let mut host = Host::of(&CONFIG, |options| options.max_pending = 400);
            let request = requests(&mut host).remove(number);
            let mut connection = Connection::new(&request);
            let mut has_moved = true;
            for _ in 0..steps {
                has_moved = host.run() | connection.step(&mut host, 11);
            }
            connection.close(&mut host);
            host.run();
            assert_eq!(host.site.exchanges(), 0);
            let next = modern_call("echo");
            assert_eq!(host.send(&next).status, 200);
            // Sessions go on, and requests without one do not.
            assert!((2..=3).contains(&host.site.sessions()), "{}", host.site.sessions());
            host.site.shut_down(host.now.saturating_add(std::time::Duration::from_secs(1)));
            host.run();
            assert!(host.site.is_over(), "{request} {steps}");
            if !has_moved {
                break;
            }
        }
    }
}

#[test]
fn bat_01_the_rest_of_a_batch_is_handled_although_its_connection_is_lost() {
    let mut host = Host::of(&CONFIG, |options| options.max_in_flight = 1);
    let id = host.open("2025-03-26");
    let batch = format!("[{},{}]", tool_call(2, "slow"), tool_call(3, "slow"));
    let mut lost = host.connect(&in_session(&id, &batch));
    let first = host.open.remove(0);
    host.progress(first, 1);
    host.serve([&mut lost]);
    assert_eq!(lost.answer.body.matches("data:").count(), 1, "{}", lost.answer.body);
    lost.close(&mut host);
    host.run();
    assert!(host.open.is_empty(), "the second one waits for the end of the first");
    host.finish(first);
    host.run();
    let second = host.open.remove(0);
    host.finish(second);
    host.run();
    assert_eq!(host.site.exchanges(), 0);
    let rest = host.send(&resume(&id, ids(&lost.answer.body)[0])).body;
    assert!(rest.contains(r#""id":2"#) && rest.contains(r#""id":3"#), "{rest}");
}

#[test]
fn a_stream_that_is_lost_at_any_byte_is_resumed_with_what_follows() {
    // The server knows of the loss, or not yet.
    for (cut, is_known) in (0..).flat_map(|cut| [(cut, true), (cut, false)]) {
        let mut host = Host::of(&CONFIG, |options| options.max_pending = 400);
        let id = host.open("2025-11-25");
        let (mut lost, open) = host.slow(&id);
        host.progress(open, 1);
        host.run();
        while lost.answer.body.len() < cut && lost.step(&mut host, 1) {}
        let is_whole = lost.answer.body.len() < cut;
        if is_known {
            lost.close(&mut host);
        }
        host.progress(open, 2);
        host.finish(open);
        host.run();
        let seen = &lost.answer.body;
        let complete = &seen[..seen.rfind("\n\n").map_or(0, |at| at + 2)];
        if let Some(last) = ids(complete).last() {
            host.chunk = 1 + cut % 7;
            let resumed = host.connect(&resume(&id, last));
            let whole = format!("{complete}{}", resumed.answer.body);
            assert_eq!(whole.matches("\ndata: {").count(), 3, "{cut} {whole}");
            assert_eq!(ids(&whole), ["3-0", "3-1", "3-2", "3-3"], "{cut}");
            // The stream ends with the response.
            assert!(resumed.is_done);
        }
        if is_whole {
            assert!(cut > 100, "{cut}");
            return;
        }
    }
}

#[test]
fn sse_09_a_resumed_stream_brings_a_response_longer_than_what_is_kept() {
    let text = "x".repeat(100_000);
    for (chunk, replay) in [(1000, 64 << 10), (7000, 500), (usize::MAX, 0)] {
        let mut host = Host::of(&CONFIG, |options| options.replay = replay);
        host.chunk = chunk;
        let id = host.open("2025-11-25");
        let (mut slow, open) = host.slow(&id);
        assert!(host.site.turn(host.now, open.server).unwrap().release(open.request));
        host.serve([&mut slow]);
        // This time there is nothing to release.
        assert!(host.site.turn(host.now, open.server).unwrap().release(open.request));
        let mut resumed = host.connect(&resume(&id, "3-0"));
        assert!(slow.is_done && !resumed.is_done, "{replay}");
        host.site.answer(open, Reply::Text(text.clone()));
        host.serve([&mut resumed]);
        assert!(resumed.is_done, "{replay}");
        let event = resumed.answer.body.strip_prefix("id: 3-1\ndata: ").unwrap();
        let response: serde_json::Value = serde_json::from_str(event).unwrap();
        assert_eq!(response["result"]["content"][0]["text"], text);
        host.run();
        assert_eq!(host.site.exchanges(), 0);
    }
}

#[test]
fn http_25_a_stream_that_is_resumed_several_times_belongs_to_the_latest_connection() {
    let (mut host, id) = Host::opened("2025-11-25");
    let (mut lost, open) = host.slow(&id);
    host.progress(open, 1);
    host.serve([&mut lost]);
    let mut all = [(); 3].map(|()| Connection::new(&resume(&id, "3-0")));
    // The second one has not read all that was recorded.
    host.serve(&mut all[..1]);
    all[1].read_to(&mut host, 20, 10);
    host.run();
    while all[2].exchange.is_none() || host.run() {
        all[2].step(&mut host, usize::MAX);
    }
    host.progress(open, 2);
    host.finish(open);
    host.serve(&mut all);
    assert!(all.iter().all(|one| one.is_done), "{all:?}");
    let [first, second, latest] = all.each_ref().map(|one| ids(&one.answer.body));
    assert_eq!((first, second.len() < 2, latest), (vec!["3-1"], true, vec!["3-1", "3-2", "3-3"]));
    lost.close(&mut host);
    host.run();
    assert_eq!(host.site.exchanges(), 0);
}

#[test]
fn bytes_that_were_on_their_way_to_a_connection_go_to_the_one_that_resumes_its_stream() {
    let (mut host, id) = Host::opened("2025-11-25");
    let (mut lost, open) = host.slow(&id);
    host.progress(open, 1);
    host.serve([&mut lost]);
    host.progress(open, 2);
    host.run();
    let key = lost.exchange.unwrap();
    let SiteBody::Piece(piece) = host.site.body(key) else { panic!("there is an event") };
    let len = piece.len();
    let mut resumed = Connection::new(&resume(&id, "3-1"));
    resumed.read_to(&mut host, 10, 10);
    host.site.wrote(host.now, key, len);
    host.finish(open);
    host.serve([&mut lost, &mut resumed]);
    assert!(lost.is_done && resumed.is_done);
    assert_eq!(ids(&resumed.answer.body), ["3-2", "3-3"], "{resumed:?}");
    assert!(resumed.answer.body.contains(r#""progress":2}}"#), "{resumed:?}");
}

#[test]
fn the_standalone_stream_belongs_to_the_latest_connection() {
    let (mut host, id) = Host::opened("2025-11-25");
    let get = bare("GET", &[("Mcp-Session-Id", &id)]);
    let (mut first, mut second) = (host.connect(&get), Connection::new(&get));
    host.site.publish(&Change::tools());
    host.serve([&mut first]);
    assert!(first.answer.body.starts_with("id: 0-0\ndata: {") && !first.is_done);
    host.serve([&mut first, &mut second]);
    assert!(first.is_done && first.answer.body.ends_with("\n\nretry: 500\n\n"), "{first:?}");
    host.site.publish(&Change::tools());
    host.serve([&mut second]);
    assert!(second.answer.body.starts_with("id: 0-1\ndata: {"), "{second:?}");
    // The end of the first connection does not take the stream from the second.
    assert!(!second.is_done);
    assert_eq!(host.delete(&id), 204);
    host.serve([&mut second]);
    assert!(second.is_done);
    assert_eq!((host.site.exchanges(), host.site.sessions(), host.ended.len()), (0, 0, 1));
}

#[test]
fn http_25_an_event_that_is_being_sent_goes_to_the_latest_connection_alone() {
    let (mut host, id) = Host::opened("2025-11-25");
    let get = bare("GET", &[("Mcp-Session-Id", &id)]);
    let (mut first, mut second) = (Connection::new(&get), Connection::new(&get));
    host.site.publish(&Change::tools());
    first.read_to(&mut host, 20, 10);
    host.serve([&mut second]);
    host.serve([&mut first, &mut second]);
    assert!(first.is_done && !first.answer.body.contains("\n\n"), "{first:?}");
    assert!(second.answer.body.starts_with("id: 0-0\ndata: {"), "{second:?}");
}

#[test]
fn an_event_that_was_cut_off_is_sent_again_to_the_next_connection() {
    let (mut host, id) = Host::opened("2025-06-18");
    let get = bare("GET", &[("Mcp-Session-Id", &id)]);
    host.site.publish(&Change::tools());
    let mut first = Connection::new(&get);
    first.read_to(&mut host, 20, 5);
    first.close(&mut host);
    assert!(host.send(&get).body.starts_with("id: 0-0\ndata: {"));
    assert_eq!(host.send(&get).body, "");
}

#[test]
fn a_request_goes_on_while_its_connection_is_released() {
    for (version, is_possible) in [("2025-11-25", true), ("2025-06-18", false)] {
        let (mut host, id) = Host::opened(version);
        let (mut slow, open) = host.slow(&id);
        let mut turn = host.site.turn(host.now, open.server).unwrap();
        assert_eq!(turn.release(open.request), is_possible);
        host.serve([&mut slow]);
        assert_eq!(slow.is_done, is_possible);
        host.finish(open);
        if is_possible {
            assert_eq!(slow.answer.body, "id: 3-0\nretry: 500\ndata:\n\n");
            let resumed = host.connect(&resume(&id, "3-0"));
            assert!(resumed.is_done && resumed.answer.body.starts_with("id: 3-1\ndata: {"));
        } else {
            host.serve([&mut slow]);
            assert_eq!(slow.answer.json()["id"], 2);
        }
    }
}

#[test]
fn sse_01_sse_02_sse_06_events_of_2025_11_25_begin_with_an_empty_one_and_have_ids_of_their_stream()
{
    let (mut host, new) = Host::opened("2025-11-25");
    let answer = host.tool(&new, 2, "progress");
    let lines: Vec<_> = answer.body.lines().filter(|line| !line.starts_with("data: {")).collect();
    assert_eq!(
        lines,
        ["id: 3-0", "retry: 500", "data:", "", "id: 3-1", "", "id: 3-2", "", "id: 3-3", ""]
    );
    let answer = host.tool(&new, 3, "progress");
    assert_eq!(ids(&answer.body), ["4-0", "4-1", "4-2", "4-3"]);
    // Older clients take an event without data for a message.
    for version in ["2025-03-26", "2025-06-18"] {
        let old = host.open(version);
        assert_eq!(ids(&host.tool(&old, 2, "progress").body), ["3-0", "3-1", "3-2"]);
    }
}

#[test]
fn sse_04_only_missed_events_of_the_same_stream_are_replayed() {
    let (mut host, id) = Host::opened("2025-11-25");
    let whole = host.tool(&id, 2, "progress").body;
    host.tool(&id, 3, "progress");
    host.site.publish(&Change::tools());
    let events: Vec<_> = whole.split_inclusive("\n\n").collect();
    for (number, _) in events.iter().enumerate() {
        let after = format!("3-{number}");
        let again = host.send(&resume(&id, &after));
        assert_eq!(again.body, events[number + 1..].concat(), "{after}");
    }
    for unknown in ["", "x", "3", "3-", "+3-1", "03-1", "99999999999-1"] {
        // Treated as missing: the standalone stream continues with new events.
        let fresh = host.send(&resume(&id, unknown));
        assert!(fresh.status == 200 && !fresh.body.contains("\"id\""), "{unknown}: {fresh:?}");
    }
}
