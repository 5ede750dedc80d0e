//! Limits, deadlines, and the end of a site.

use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{Change, ServerConfig, ServerFeatures};
use mcp_sansio_engine::site::{Principal, SiteBody, SiteStep};

use super::host::{
    CONFIG, Connection, Host, INITIALIZED, PING, bare, ids, in_session, initialize, listen, modern,
    modern_call, post, resume, to, tool_call, with_token,
};

#[test]
fn d2_at_the_limit_a_session_replaces_the_oldest_that_was_not_initialized() {
    let mut host = Host::of(&CONFIG, |options| options.max_sessions = 3);
    let used = host.open("2025-11-25");
    let [first, second, third] = [(); 3].map(|()| host.send(&initialize("2025-11-25")).session());
    assert_eq!((host.site.sessions(), host.ended.len()), (3, 1));
    assert_eq!(host.call(&first, PING).status, 404);
    for id in [second, third] {
        assert_eq!(host.call(&id, INITIALIZED).status, 202);
    }
    assert_eq!(host.call(&used, PING).status, 200);
    let refused = host.send(&initialize("2025-11-25"));
    assert_eq!((refused.status, refused.field("retry-after")), (503, Some("5")));
    assert_eq!(host.delete(&used), 204);
    assert_eq!(host.send(&initialize("2025-11-25")).status, 200);
    // Requests without a session are not limited.
    assert_eq!(host.send(&modern("tools/list", "{}", &[])).status, 200);
    // Sessions that are about to be opened count as well.
    let mut host = Host::of(&CONFIG, |options| options.max_sessions = 2);
    let request = initialize("2025-11-25");
    host.connect_all([&*request; 5]);
    assert!(host.site.sessions() <= 2, "{:?}", host.site);
}

// Many clients never delete their sessions.
#[test]
fn d2_at_the_limit_a_session_replaces_the_one_unused_for_longest_and_a_minute() {
    let mut host = Host::of(&CONFIG, |options| options.max_sessions = 4);
    let [listening, calling, first, second] = [(); 4].map(|()| host.open("2025-11-25"));
    let mut stream = host.connect(&bare("GET", &[("Mcp-Session-Id", &listening)]));
    let mut wait = |host: &mut Host, seconds: u64| {
        for _ in 0..seconds {
            host.serve_after(Duration::from_secs(1), [&mut stream]);
        }
    };
    let slow = host.tool(&calling, 1, "slow");
    wait(&mut host, 30);
    assert_eq!(host.call(&first, PING).status, 200);
    wait(&mut host, 29);
    assert_eq!(host.send(&initialize("2025-11-25")).status, 503);
    wait(&mut host, 1);
    let third = host.open("2025-11-25");
    assert_eq!(host.call(&second, PING).status, 404);
    assert_eq!(host.send(&initialize("2025-11-25")).status, 503);
    wait(&mut host, 30);
    let fourth = host.open("2025-11-25");
    assert_eq!(host.call(&first, PING).status, 404);
    assert_eq!(host.send(&initialize("2025-11-25")).status, 503);
    // Those with a stream or a request stay, however long they say nothing.
    wait(&mut host, 60);
    assert!(slow.exchange.is_some());
    for _ in 0..2 {
        host.open("2025-11-25");
    }
    for (id, status) in [(&listening, 200), (&calling, 200), (&third, 404), (&fourth, 404)] {
        assert_eq!(host.call(id, PING).status, status);
    }
}

#[test]
fn d2_sessions_of_one_principal_leave_room_for_others() {
    let mut host = Host::of(&CONFIG, |options| {
        options.authorizes = true;
        (options.max_sessions, options.max_sessions_per_principal) = (5, 2);
    });
    let begin = |host: &mut Host, token: &str| {
        let answer = host.send(&with_token(token, &initialize("2025-11-25")));
        (answer.status, answer.field("mcp-session-id").unwrap_or_default().to_owned())
    };
    let send = |host: &mut Host, token: &str, id: &str, body: &str| {
        host.send(&with_token(token, &in_session(id, body))).status
    };
    let [(_, first), (_, second)] = [(); 2].map(|()| begin(&mut host, "anna"));
    let (_, otto) = begin(&mut host, "otto");
    // Her own is replaced, although there is room for more.
    let (_, third) = begin(&mut host, "anna");
    assert_eq!(send(&mut host, "anna", &first, PING), 404);
    for session in [&second, &third] {
        assert_eq!(send(&mut host, "anna", session, INITIALIZED), 202);
    }
    assert_eq!(begin(&mut host, "anna").0, 503);
    assert_eq!(send(&mut host, "otto", &otto, PING), 200);
    begin(&mut host, "otto");
    let (_, ida) = begin(&mut host, "ida");
    // There are five: the oldest of all without `initialized` is replaced by another principal.
    begin(&mut host, "eva");
    assert_eq!(send(&mut host, "otto", &otto, PING), 404);
    assert_eq!(send(&mut host, "ida", &ida, PING), 200);
    let delete = bare("DELETE", &[("Mcp-Session-Id", &third)]);
    assert_eq!(host.send(&with_token("anna", &delete)).status, 204);
    assert_eq!(begin(&mut host, "anna").0, 200);
    // Without authorization there is only the general limit.
    let mut host = Host::of(&CONFIG, |options| options.max_sessions_per_principal = 1);
    assert!((0..3).all(|_| !host.open("2025-11-25").is_empty()));
}

#[test]
fn d2_sessions_of_http_and_sse_have_the_same_limits() {
    let mut host = Host::of(&CONFIG, |options| {
        (options.authorizes, options.sse_path) = (true, Some("/sse"));
        (options.max_sessions, options.max_sessions_per_principal) = (3, 2);
    });
    let open = |host: &mut Host, token: &str| {
        host.connect(&with_token(token, &to("/sse", &bare("GET", &[]))))
    };
    let streams = ["anna", "anna", "otto", "otto"].map(|token| open(&mut host, token));
    assert_eq!(streams.each_ref().map(|stream| stream.answer.status), [200, 200, 200, 503]);
    let [mut first, ..] = streams;
    first.close(&mut host);
    host.run();
    assert_eq!(open(&mut host, "anna").answer.status, 200);
}

#[test]
fn exchanges_and_bodies_have_limits() {
    let mut host = Host::of(&CONFIG, |options| options.max_exchanges = 2);
    let slow = modern_call("slow");
    let first = host.send(&slow);
    host.send(&slow);
    assert_eq!(host.send(&slow).status, 503);
    host.finish(host.open[0]);
    assert_eq!(host.rest(first.exchange.unwrap()).status, 200);
    assert_eq!(host.send(&modern("tools/list", "{}", &[])).status, 200);

    let mut host = Host::of(&CONFIG, |options| options.max_body = 1000);
    assert_eq!(host.send(&post(&[], &" ".repeat(1001))).error(), (413, -32600));
    assert_eq!(host.send(&post(&[], &" ".repeat(1000))).error(), (400, -32700));
}

#[test]
fn s5_bodies_wait_for_room_and_never_for_each_other() {
    let mut host = Host::of(&CONFIG, |options| {
        (options.max_body, options.body_budget) = (16 << 10, 40 << 10);
    });
    // Each body is allowed; all together are not. They arrive in small pieces at the same time.
    let request = modern(
        "tools/call",
        &format!(r#"{{"name":"echo","arguments":{{"x":"{}"}}}}"#, "x".repeat(12_000)),
        &[("Mcp-Name", "echo")],
    );
    host.chunk = 512;
    let mut all: Vec<_> = (0..20).map(|_| Connection::new(&request)).collect();
    // Some of them are lost on the way.
    for _ in 0..30 {
        for connection in &mut all {
            connection.step(&mut host, 512);
        }
        host.run();
    }
    for lost in all.drain(3..8) {
        { lost }.close(&mut host);
    }
    host.serve(&mut all);
    for connection in &all {
        assert!(connection.is_done, "{:?}", connection.answer);
        assert_eq!(connection.answer.status, 200);
    }
    assert_eq!(host.site.exchanges(), 0);
}

#[test]
fn s5_a_body_that_may_use_the_reserve_goes_on_before_those_that_wait_longer() {
    let mut host = Host::of(&CONFIG, |options| {
        (options.max_body, options.body_budget) = (16 << 10, 20 << 10);
    });
    // A handler keeps half of the budget.
    host.site.keep_bytes(10 << 10, None);
    let request = modern("tools/list", "{}", &[]);
    let (head, _) = request.split_at(request.find("\r\n\r\n").unwrap() + 4);
    let [first, second] = [(); 2].map(|()| host.begin(head));
    let piece = [b' '; 8 << 10];
    assert_eq!(host.site.feed_body(first, &piece), piece.len());
    assert_eq!(host.site.feed_body(second, &piece), 0);
    assert_eq!(host.site.feed_body(first, &piece), 0);
    assert!(!host.site.wants_body(first));
    host.site.release_bytes(10 << 10, None);
    assert!(host.site.wants_body(first));
    assert_eq!(host.site.feed_body(first, &piece), piece.len());
}

#[test]
fn a_body_that_is_not_complete_in_time_is_refused() {
    let mut host = Host::new();
    let request = modern("tools/list", "{}", &[]);
    let mut slow = Connection::new(&request[..request.len() - 1]);
    while host.run() | slow.step(&mut host, 100) {}
    host.wait(Duration::from_millis(29_999));
    assert!(!slow.step(&mut host, 100));
    host.wait(Duration::from_millis(1));
    while slow.step(&mut host, 1000) {}
    assert_eq!((slow.answer.status, slow.is_done, host.site.exchanges()), (408, true, 0));
}

/// Takes a part of a response.
fn take(connection: &mut Connection, host: &mut Host, bytes: usize) {
    connection.read_to(host, connection.answer.body.len() + bytes, 100);
}

#[test]
fn r3_h2_a_response_that_is_not_taken_is_cut_off_and_its_server_ends() {
    let mut host = Host::of(&CONFIG, |options| options.max_pending = 4096);
    let long = modern_call("long");
    let [mut deaf, mut dripping, mut slow] = [(); 3].map(|()| Connection::new(&long));
    for connection in [&mut deaf, &mut dripping, &mut slow] {
        take(connection, &mut host, 1);
    }
    for _ in 0..2 {
        host.wait(Duration::from_secs(10));
        take(&mut dripping, &mut host, 1000);
    }
    host.wait(Duration::from_millis(9_999));
    assert!(host.ended.is_empty());
    take(&mut slow, &mut host, 4096);
    host.wait(Duration::from_millis(1));
    assert_eq!(host.ended.len(), 2);
    for cut in [&mut deaf, &mut dripping] {
        host.serve([&mut *cut]);
        assert!(cut.is_done && cut.answer.body.ends_with("(cut)"), "{cut:?}");
    }
    while !slow.is_done {
        host.wait(Duration::from_secs(29));
        take(&mut slow, &mut host, 4096);
    }
    assert!(slow.answer.json()["result"].is_object());
    assert_eq!((host.ended.len(), host.site.exchanges()), (2, 0));
}

#[test]
fn r3_h2_streams_that_are_not_taken_end_and_the_session_goes_on() {
    let (mut host, id) = Host::opened("2025-11-25");
    let mut own = host.connect(&bare("GET", &[("Mcp-Session-Id", &id)]));
    let (mut called, open) = host.slow(&id);
    host.progress(open, 1);
    host.serve([&mut own, &mut called]);
    let last = (*ids(&called.answer.body).last().unwrap()).to_owned();
    // Streams without output are not measured, and comments are output.
    host.wait(Duration::from_secs(14));
    host.progress(open, 2);
    host.run();
    host.wait(Duration::from_secs(1));
    host.serve_after(Duration::from_secs(29), [&mut called]);
    assert!(called.is_done && !called.answer.body.contains("\"progress\":2"), "{called:?}");
    host.wait(Duration::from_millis(999));
    assert_eq!(host.site.exchanges(), 1);
    host.serve_after(Duration::from_millis(1), [&mut own]);
    assert!(own.is_done && own.answer.body.is_empty(), "{own:?}");
    host.finish(open);
    host.run();
    let resumed = host.send(&resume(&id, &last));
    assert!(resumed.body.contains("\"progress\":2") && resumed.body.contains("done"));
    assert_eq!(host.call(&id, PING).status, 200);
}

#[test]
fn bat_01_the_rest_of_a_batch_is_handled_although_its_responses_are_not_taken() {
    let mut host = Host::of(&CONFIG, |options| options.max_pending = 400);
    let id = host.open("2025-03-26");
    let [progress, long, slow] =
        ["progress", "long", "slow"].map(|name| tool_call(name.len() as u32, name));
    let batch = format!("[{progress},{long},{PING},{slow}]");
    let mut called = Connection::new(&in_session(&id, &batch));
    take(&mut called, &mut host, 400);
    host.run();
    assert!(host.open.is_empty(), "the long response is in the way");
    host.serve_after(Duration::from_secs(30), [&mut called]);
    assert!(called.is_done);
    host.finish(host.open[0]);
    host.run();
    assert_eq!(host.site.exchanges(), 0);
    let rest = host.send(&resume(&id, ids(&called.answer.body)[0])).body;
    for part in ["9\\n\"}]", "\"id\":9,\"result\"", "done"] {
        assert!(rest.contains(part), "{rest}");
    }
}

#[test]
fn r3_l1_bodies_end_at_the_time_of_a_shutdown() {
    let mut host = Host::new();
    let request = modern("tools/list", "{}", &[]);
    let half = &request[..request.len() - 1];
    let (mut before, mut after) = (Connection::new(half), Connection::new(half));
    while host.run() | before.step(&mut host, 100) {}
    host.site.shut_down(host.now.saturating_add(Duration::from_secs(10)));
    while host.run() | after.step(&mut host, 100) {}
    host.wait(Duration::from_millis(9_999));
    assert!(!before.step(&mut host, 100) && !after.step(&mut host, 100));
    host.wait(Duration::from_millis(1));
    for connection in [&mut before, &mut after] {
        host.serve([&mut *connection]);
        assert_eq!((connection.answer.status, connection.is_done), (503, true));
    }
    assert!(host.site.is_over() && host.site.exchanges() == 0);
}

#[test]
fn sess_05_an_unused_session_expires() {
    let mut host = Host::new();
    let minute = Duration::from_secs(60);
    let id = host.open("2025-11-25");
    host.wait(29 * minute);
    assert_eq!(host.call(&id, PING).status, 200);
    let get = bare("GET", &[("Mcp-Session-Id", &id)]);
    let mut stream = Connection::new(&get);
    host.serve_after(29 * minute, [&mut stream]);
    host.wait(60 * minute);
    stream.close(&mut host);
    assert_eq!(host.site.sessions(), 1, "a stream was open");
    let slow = host.tool(&id, 2, "slow");
    host.site.close(host.now, slow.exchange.unwrap());
    host.wait(60 * minute);
    assert_eq!(host.site.sessions(), 1, "a request was open");
    host.finish(host.open[0]);
    host.run();
    host.wait(30 * minute - Duration::from_millis(1));
    assert_eq!(host.site.sessions(), 0, "the clock was running since the connection was lost");
    assert_eq!((host.call(&id, PING).status, host.ended.len()), (404, 1));
}

#[test]
fn silent_streams_get_comments_between_events() {
    let (mut host, id) = Host::opened("2025-11-25");
    let slow = in_session(&id, &tool_call(2, "slow"));
    let mut all = host.connect_all([&bare("GET", &[("Mcp-Session-Id", &id)]), &listen(), &slow]);
    host.serve_after(Duration::from_secs(14), &mut all);
    assert!(all.iter().all(|stream| !stream.answer.body.contains(":\n\n")));
    for count in 1..4 {
        host.serve_after(Duration::from_secs(15), &mut all);
        let counts = all.each_ref().map(|stream| stream.answer.body.matches(":\n\n").count());
        // A response that has not begun may still be one JSON body.
        assert_eq!(counts, [count, count, 0]);
    }
    host.site.publish(&Change::tools());
    host.serve(&mut all);
    assert!(all[1].answer.body.ends_with("}}\n\n") && all[0].answer.body.ends_with("}}\n\n"));
}

#[test]
fn a_request_that_takes_too_long_is_answered_by_the_site() {
    static CONFIG: ServerConfig<'static> =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
            .request_timeout(Duration::from_secs(10));
    let mut host = Host::of(&CONFIG, |_| {});
    let id = host.open("2025-11-25");
    let slow = in_session(&id, &tool_call(2, "slow"));
    let mut all = host.connect_all([&slow, &modern_call("slow")]);
    host.serve_after(Duration::from_secs(10), &mut all);
    for connection in &all {
        assert!(connection.is_done);
        assert_eq!(connection.answer.error(), (200, -32603), "{:?}", connection.answer);
    }
}

#[test]
fn shutting_down_ends_streams_and_lets_requests_finish_until_a_limit() {
    let mut host = Host::of(&CONFIG, |options| options.sse_path = Some("/sse"));
    let id = host.open("2025-11-25");
    let idle = host.open("2025-06-18");
    let old = host.open("2025-03-26");
    let slow = in_session(&id, &tool_call(2, "slow"));
    let get = bare("GET", &[("Mcp-Session-Id", &id)]);
    let sse = to("/sse", &bare("GET", &[]));
    let mut all = host.connect_all([&slow, &modern_call("slow"), &get, &sse]);
    let called = host.tool(&old, 2, "slow").exchange.unwrap();
    host.site.shut_down(host.now.saturating_add(Duration::from_secs(10)));
    host.serve(&mut all);
    assert_eq!(all.each_ref().map(|connection| connection.is_done), [false, false, true, true]);
    assert!(all[2].answer.body.ends_with("retry: 500\n\n"));
    assert_eq!(host.call(&idle, PING).status, 404);
    for late in [initialize("2025-11-25"), modern("tools/list", "{}", &[])] {
        assert_eq!(host.send(&late).status, 503);
    }
    // A session with an open request still takes what that request needs.
    assert_eq!(host.call(&id, &tool_call(3, "echo")).status, 503);
    assert_eq!(host.call(&id, PING).status, 200);
    assert_eq!(host.call(&old, &format!("[{PING},{}]", tool_call(3, "echo"))).status, 503);
    assert_eq!(host.call(&old, &format!("[{PING},{PING}]")).status, 200);
    host.finish(host.open[2]);
    assert!(host.rest(called).body.contains("done"));
    host.finish(host.open[0]);
    host.serve(&mut all);
    assert_eq!(all[0].answer.json()["id"], 2);
    assert!(!host.site.is_over());
    host.serve_after(Duration::from_secs(10), &mut all);
    assert!(host.site.is_over() && all[1].is_done && host.site.exchanges() == 0);
    assert_eq!(host.ended.last(), Some(&host.open[1].server));
}

#[test]
fn a_session_ends_with_its_last_call_during_a_shutdown() {
    let mut host = Host::of(&CONFIG, |options| options.sse_path = Some("/sse"));
    let id = host.open("2025-11-25");
    let slow = in_session(&id, &tool_call(2, "slow"));
    let mut all = host.connect_all([&slow, &to("/sse", &bare("GET", &[]))]);
    host.site.shut_down(host.now.saturating_add(Duration::from_secs(60)));
    host.finish(host.open[0]);
    host.serve(&mut all);
    assert!(all.iter().all(|connection| connection.is_done));
    assert!(host.site.is_over() && host.site.exchanges() == 0);
}

#[test]
fn keys_of_closed_exchanges_and_ended_servers_do_nothing() {
    let mut host = Host::new();
    let answer = host.send(&modern_call("slow"));
    let (stale, request) = (answer.exchange.unwrap(), host.open[0]);
    host.site.close(host.now, stale);
    host.run();
    let other = host.send(&modern_call("slow"));
    host.site.close(host.now, stale);
    host.site.wrote(host.now, stale, 100);
    host.site.end_of_body(host.now, stale);
    host.site.authorized(host.now, stale, Ok(Principal::new("i", "s").into()));
    assert_eq!(host.site.feed_body(stale, b"{"), 1);
    assert!(host.site.response(stale).is_none() && !host.site.wants_body(stale));
    assert_eq!(host.site.body(stale), SiteBody::End);
    host.finish(request);
    assert!(matches!(host.site.next(host.now), SiteStep::Wait(Some(_))));
    assert_eq!(host.site.exchanges(), 1);
    host.finish(host.open[1]);
    assert_eq!(host.rest(other.exchange.unwrap()).status, 200);
}
