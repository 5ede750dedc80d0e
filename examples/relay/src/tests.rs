//! Tests as traces: `>` and `<` on the line of the device, the client's output, and times.

use std::time::{Duration, Instant};

use mcp_sansio::{Frame, RawJson};

use super::*;

mod process;

struct Bridge {
    relay: Relay,
    now: Instant,
}

impl Bridge {
    fn new() -> Self {
        Self::with(ServerKind::Device)
    }

    fn with(kind: ServerKind) -> Self {
        let now = Instant::now();
        let timing = Timing { wait: Duration::from_secs(20), patience: Duration::from_secs(3) };
        Self { relay: Relay::new(kind, "/dev/ttyX".to_owned(), timing, now), now }
    }

    /// A device that has responded to the ping.
    fn open() -> Self {
        let mut bridge = Self::new();
        bridge.up();
        bridge
    }

    /// A device with an initialized session.
    fn initialized() -> Self {
        let mut bridge = Self::open();
        bridge.client(INITIALIZE);
        bridge.device(INITIALIZED);
        bridge.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        bridge.out();
        bridge
    }

    fn up(&mut self) {
        self.relay.link_up(self.now);
        let (_, device) = self.out();
        let ping = device.last().expect("a ping");
        self.device(&empty_answer(ping));
    }

    fn client(&mut self, line: &str) {
        self.relay.client_line(self.now, Frame::Complete(line.as_bytes()));
    }

    fn device(&mut self, line: &str) {
        self.relay.server_line(self.now, Frame::Complete(line.as_bytes()));
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.relay.tick(self.now);
    }

    /// Returns the output to the client and to the device since the last call.
    fn out(&mut self) -> (Vec<String>, Vec<String>) {
        let lines = |bytes: &mut Vec<u8>| {
            let text = String::from_utf8(std::mem::take(bytes)).expect("UTF-8");
            text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        self.relay.out.entries.clear();
        (lines(&mut self.relay.out.to_client), lines(&mut self.relay.out.to_server))
    }

    fn noise(&self) -> Vec<&str> {
        let entries = self.relay.out.entries.iter();
        entries
            .filter_map(
                |entry| if let Entry::Noise(text) = entry { Some(text.as_str()) } else { None },
            )
            .collect()
    }
}

/// Returns the response `{}` to a request.
fn empty_answer(request: &str) -> String {
    answer(request, "{}")
}

fn answer(request: &str, result: &str) -> String {
    let id = RawJson::parse(request).expect("JSON").get("id").expect("an id");
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn lines_pass_untouched_both_ways() {
    let mut bridge = Bridge::open();
    for line in [
        r#"{"jsonrpc":"2.0", "id":1.0, "method":"tools\/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#,
        r#"[{"jsonrpc":"2.0","id":"a","method":"x"},{"jsonrpc":"2.0","id":"b","method":"x"}]"#,
    ] {
        bridge.client(line);
        assert_eq!(bridge.out(), (none(), vec![line.to_owned()]));
    }
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
        r#"{"id":1, "jsonrpc":"2.0","result":{}}"#,
        r#"[{"jsonrpc":"2.0","id":"b","result":{}},{"jsonrpc":"2.0","id":"a","result":{}}]"#,
    ] {
        bridge.device(line);
        assert_eq!(bridge.out(), (vec![line.to_owned()], none()));
    }
    let line = r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#;
    bridge.client(line);
    assert_eq!(bridge.out(), (none(), vec![line.to_owned()]));
}

#[test]
fn a_booting_device_is_pinged_until_it_responds() {
    let mut bridge = Bridge::new();
    bridge.client(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#);
    bridge.relay.link_up(bridge.now);
    let (_, first) = bridge.out();
    bridge.pass(1);
    let (_, second) = bridge.out();
    assert_eq!((first.len(), &first), (1, &second));
    bridge.device("ROM boot v3");
    assert_eq!(bridge.noise(), ["ROM boot v3"]);
    bridge.device(&empty_answer(&first[0]));
    assert_eq!(
        bridge.out(),
        (none(), vec![r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#.to_owned()])
    );
}

#[test]
fn requests_to_a_silent_device_end_with_an_error() {
    let mut bridge = Bridge::new();
    bridge.relay.link_up(bridge.now);
    bridge.client(INITIALIZE);
    bridge.pass(19);
    assert_eq!(bridge.out().0, none());
    bridge.pass(1);
    let (told, _) = bridge.out();
    assert!(told.len() == 1 && told[0].contains("there is no response"), "{told:?}");
}

#[test]
fn open_requests_end_with_an_error_and_are_cancelled_when_the_device_is_back() {
    let mut bridge = Bridge::open();
    bridge.client(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}"#);
    bridge.client(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    bridge
        .client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    bridge.out();
    bridge.relay.link_down(bridge.now, "the line was closed");
    let (told, _) = bridge.out();
    assert!(told.len() == 1 && told[0].starts_with(r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"/dev/ttyX was disconnected while it processed this request (the line was closed). The request may"#), "{told:?}");
    bridge.up();
    let (told, sent) = bridge.out();
    assert!(
        told.is_empty() && sent.len() == 1 && sent[0].contains(r#""requestId":"a""#),
        "{sent:?}"
    );
    // A late response of a device that was not reset.
    bridge.device(r#"{"jsonrpc":"2.0","id":"a","result":{}}"#);
    assert_eq!(bridge.out().0, none());
}

#[test]
fn requests_wait_a_moment_for_a_lost_device_and_pings_do_not() {
    let mut bridge = Bridge::open();
    bridge.relay.link_down(bridge.now, "the line was closed");
    bridge.client(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(bridge.out().0, [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
    bridge.client(
        r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    );
    bridge
        .client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    assert_eq!(bridge.out().0, none());
    bridge.pass(2);
    bridge.client(CALL);
    assert_eq!(bridge.out(), (none(), none()));
    bridge.pass(1);
    assert!(bridge.out().0[0].contains("/dev/ttyX is gone: the line was closed"));
    bridge.relay.link_refused(bridge.now, "/dev/ttyX does not exist");
    bridge.client(CALL);
    assert!(bridge.out().0[0].contains("is unavailable: /dev/ttyX does not exist"));
    // A handshake request waits longer, and a cancelled one does not wait.
    bridge.client(INITIALIZE);
    bridge.pass(4);
    bridge
        .client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#);
    bridge.up();
    assert_eq!(bridge.out(), (none(), none()));
}

#[test]
fn a_device_that_was_reset_gets_its_session_back() {
    let mut bridge = Bridge::initialized();
    for (request, is_taken) in [
        (r#"{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"info"}}"#, true),
        (
            r#"{"jsonrpc":"2.0","id":6,"method":"resources/subscribe","params":{"uri":"a:\/1"}}"#,
            true,
        ),
        (r#"{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"a:2"}}"#, true),
        (
            r#"{"jsonrpc":"2.0","id":8,"method":"resources/unsubscribe","params":{"uri":"a:2"}}"#,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":"a:3"}}"#,
            false,
        ),
    ] {
        bridge.client(request);
        if is_taken {
            bridge.device(&empty_answer(request));
        } else {
            bridge.device(r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"no"}}"#);
        }
    }
    bridge.relay.link_down(bridge.now, "gone");
    bridge.client(CALL);
    bridge.out();
    bridge.up();
    let (told, sent) = bridge.out();
    let params = r#""method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
    assert!(told.is_empty() && sent.len() == 1 && sent[0].ends_with(params), "{sent:?}");
    bridge.device(&answer(&sent[0], r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#));
    let (told, sent) = bridge.out();
    assert_eq!(
        told,
        [
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:\/1"}}"#,
        ]
    );
    assert_eq!(sent[0], r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert!(
        sent[1].ends_with(r#""method":"logging/setLevel","params":{"level":"info"}}"#),
        "{sent:?}"
    );
    assert!(
        sent[2].ends_with(r#""method":"resources/subscribe","params":{"uri":"a:\/1"}}"#),
        "{sent:?}"
    );
    assert_eq!(sent[3..], [CALL]);
    // Responses to the bridge's own requests are not passed on.
    bridge.device(&empty_answer(&sent[1]));
    bridge.device(r#"{"jsonrpc":"2.0","id":4,"result":{"content":[]}}"#);
    assert_eq!(bridge.out().0, [r#"{"jsonrpc":"2.0","id":4,"result":{"content":[]}}"#]);
}

#[test]
fn a_reset_that_the_line_does_not_show_is_noticed_and_the_request_is_sent_again() {
    let mut bridge = Bridge::initialized();
    let slow = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}"#;
    bridge.client(slow);
    bridge.client(CALL);
    bridge.out();
    bridge.device(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"Not initialized: send initialize, or set _meta"}}"#);
    let (told, sent) = bridge.out();
    assert!(
        told.len() == 1 && told[0].contains(r#""id":3,"error""#) && told[0].contains("was reset"),
        "{told:?}"
    );
    bridge.device(&answer(&sent[0], r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#));
    let (_, sent) = bridge.out();
    assert_eq!(sent, [r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, CALL]);
    // Once only.
    let refused = r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"Not initialized: send initialize first"}}"#;
    bridge.relay.in_flight.values_mut().for_each(|pending| assert!(pending.again, "{pending:?}"));
    bridge.device(refused);
    assert_eq!(bridge.out().0, [refused]);
}

#[test]
fn an_error_of_the_application_repeats_no_call() {
    let mut bridge = Bridge::initialized();
    let slow = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow"}}"#;
    bridge.client(slow);
    bridge.client(CALL);
    bridge.out();
    for (id, why) in [(4, "The sensor could not be initialized"), (3, "initialize the pump first")]
    {
        let failed =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"{why}"}}}}"#);
        bridge.device(&failed);
        assert_eq!(bridge.out(), (vec![failed], none()));
    }
}

#[test]
fn a_session_that_another_client_left_behind_is_ended_first() {
    let mut bridge = Bridge::open();
    bridge.client(INITIALIZE);
    bridge.out();
    let refused = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"The session is initialized already"}}"#;
    bridge.device(refused);
    let (told, sent) = bridge.out();
    assert!(told.is_empty() && sent[0].contains("\"method\":\"shutdown\""), "{sent:?}");
    bridge.device(&empty_answer(&sent[0]));
    assert_eq!(bridge.out(), (none(), vec![INITIALIZE.to_owned()]));
    // If that fails as well, the client gets the error.
    bridge.device(refused);
    assert_eq!(bridge.out().0, [refused]);
    // The end of this client ends its session in turn.
    let mut bridge = Bridge::initialized();
    bridge.client(CALL);
    bridge.out();
    bridge.relay.close();
    let (_, sent) = bridge.out();
    assert!(
        sent[0].contains("notifications/cancelled") && sent[1].contains("\"method\":\"shutdown\""),
        "{sent:?}"
    );
}

#[test]
fn a_request_of_the_device_does_not_get_the_response_to_an_older_one() {
    let question = r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#;
    let mut bridge = Bridge::initialized();
    bridge.device(question);
    assert_eq!(bridge.out().0, [question]);
    bridge.relay.link_down(bridge.now, "gone");
    let (told, _) = bridge.out();
    assert!(
        told[0].contains("notifications/cancelled") && told[0].contains(r#""requestId":1,"#),
        "{told:?}"
    );
    bridge.up();
    let (_, sent) = bridge.out();
    bridge.device(&answer(&sent[0], r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#));
    bridge.out();
    bridge.device(question);
    assert_eq!(
        bridge.out().0,
        [r#"{"jsonrpc":"2.0","id":"1~1","method":"elicitation/create","params":{}}"#]
    );
    // The person answers the old form all the same, and then the new one.
    bridge.client(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#);
    assert_eq!(bridge.out().1, none());
    bridge.client(r#"{"jsonrpc":"2.0","id":"1~1","result":{"action":"decline"}}"#);
    assert_eq!(bridge.out().1, [r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#]);
}

#[test]
fn a_request_that_the_device_cancels_is_cancelled_by_its_id_at_the_client() {
    let mut bridge = Bridge::initialized();
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
    bridge.device(question);
    bridge.relay.link_down(bridge.now, "gone");
    bridge.out();
    bridge.up();
    let (_, sent) = bridge.out();
    bridge.device(&format!(
        r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32600,"message":"already"}}}}"#,
        id_of(&sent[0])
    ));
    bridge.device(question);
    bridge.out();
    bridge.device(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}"#,
    );
    assert_eq!(
        bridge.out().0,
        [r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q~1"}}"#]
    );
}

fn id_of(request: &str) -> String {
    RawJson::parse(request).expect("JSON").get("id").expect("an id").to_string()
}

#[test]
fn noise_is_dropped_and_messages_after_it_pass() {
    let mut bridge = Bridge::open();
    bridge.client(CALL);
    bridge.client(r#"{"jsonrpc":"2.0","id":5,"method":"x"}"#);
    bridge.client(r#"{"jsonrpc":"2.0","id":6,"method":"x"}"#);
    bridge.out();
    for noise in [
        "",
        "I (312) boot: ok",
        "{\"level\":\"info\"}",
        "[1,2]",
        "{\"jsonrpc\":\"2.0\",\"id\":4,\"resul",
    ] {
        bridge.device(noise);
    }
    bridge.relay.server_line(bridge.now, Frame::Complete(b"\xff\xfe"));
    assert_eq!(bridge.out().0, none());
    bridge.relay.server_line(
        bridge.now,
        Frame::Complete(b"\0\xffrst:0x1 {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}"),
    );
    assert_eq!(bridge.noise(), ["\0\u{fffd}rst:0x1 "]);
    assert_eq!(bridge.out().0, [r#"{"jsonrpc":"2.0","id":4,"result":{}}"#]);
    // A damaged response ends its request with an error.
    bridge.device(r#"{"id":5,"result":{}}"#);
    bridge.relay.server_line(
        bridge.now,
        Frame::Oversized { prefix: br#"{"jsonrpc":"2.0","id":6,"result":{"#, tail: b"}}" },
    );
    let (told, _) = bridge.out();
    assert!(told[0].contains(r#""id":5,"error""#) && told[1].contains("longer than"), "{told:?}");
}

#[test]
fn invalid_messages_of_the_client_are_rejected_by_the_bridge() {
    let mut bridge = Bridge::open();
    bridge.client("hello");
    bridge.client(r#"{"id":7,"method":"x"}"#);
    bridge.relay.client_line(
        bridge.now,
        Frame::Oversized {
            prefix: br#"{"jsonrpc":"2.0","id":8,"method":"x","params":"#,
            tail: b"}",
        },
    );
    let (told, sent) = bridge.out();
    assert!(sent.is_empty() && told[0].contains(r#""id":null,"error":{"code":-32700"#), "{told:?}");
    assert!(
        told[1].contains(r#""id":7,"error":{"code":-32600"#)
            && told[2].contains(r#""id":8,"error""#),
        "{told:?}"
    );
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"prompts":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x"}}"#;

#[test]
fn t2_open_requests_of_the_device_are_limited() {
    let mut bridge = Bridge::initialized();
    for id in 0..2000 {
        bridge.device(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#));
    }
    assert_eq!(bridge.relay.asked.len(), MAX_ASKED);
    let events =
        bridge.relay.out.entries.iter().filter(|entry| matches!(entry, Entry::Event(_))).count();
    assert_eq!(events, 1, "the log has one line about it, not one for each question");
    let (client, device) = bridge.out();
    assert_eq!((client.len(), device.len()), (MAX_ASKED, 2000 - MAX_ASKED));
    for (line, id) in device.iter().zip(MAX_ASKED..) {
        let answer = RawJson::parse(line).expect("JSON");
        assert_eq!(answer.get("id").and_then(RawJson::as_i64), i64::try_from(id).ok());
        assert_eq!(
            answer.get("error").and_then(|error| error.get("code")).and_then(RawJson::as_i64),
            Some(-32603)
        );
    }
    // There is room as soon as the client responds.
    bridge.client(r#"{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}"#);
    bridge.device(r#"{"jsonrpc":"2.0","id":"next","method":"roots/list"}"#);
    assert_eq!(bridge.out().0.len(), 1);
}

#[test]
fn t2_error_responses_do_not_accumulate_for_a_device_that_does_not_read() {
    let mut bridge = Bridge::initialized();
    for id in 0..20_000 {
        bridge.relay.out.to_client.clear();
        bridge.relay.out.entries.clear();
        bridge.device(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#));
    }
    let waiting = bridge.relay.out.to_server.len();
    assert!((MAX_UNREAD..MAX_UNREAD + 1024).contains(&waiting), "{waiting} bytes");
}

#[test]
fn t2_requests_from_before_a_reset_make_room() {
    let mut bridge = Bridge::initialized();
    for life in 0..3 {
        for at in 0..MAX_ASKED {
            bridge.device(&format!(
                r#"{{"jsonrpc":"2.0","id":"{life}-{at}","method":"roots/list"}}"#
            ));
        }
        let asked = bridge.out().0.iter().filter(|line| line.contains("roots/list")).count();
        assert_eq!(asked, MAX_ASKED, "in life {life}");
        bridge.relay.link_down(bridge.now, "unplugged");
        bridge.up();
        let (_, device) = bridge.out();
        bridge.device(&answer(
            device.last().expect("initialize"),
            r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#,
        ));
        bridge.out();
    }
    assert_eq!(bridge.relay.asked.len(), MAX_ASKED);
}

#[test]
fn t2_open_requests_of_the_client_are_limited() {
    let mut bridge = Bridge::initialized();
    for id in 100..100 + 2 * MAX_IN_FLIGHT {
        bridge.client(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#));
    }
    assert_eq!(bridge.relay.in_flight.len(), MAX_IN_FLIGHT);
    let (client, device) = bridge.out();
    assert_eq!((client.len(), device.len()), (MAX_IN_FLIGHT, MAX_IN_FLIGHT));
    assert!(client.iter().all(|line| line.contains("-32603")));
    // While the device is away they are held, up to the same limit.
    bridge.relay.link_down(bridge.now, "unplugged");
    bridge.out();
    for id in 0..2 * MAX_IN_FLIGHT {
        bridge.client(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#));
    }
    assert_eq!(bridge.relay.held.len(), MAX_IN_FLIGHT);
    assert_eq!(bridge.out().0.len(), MAX_IN_FLIGHT);
}

#[test]
fn t2_subscriptions_are_limited() {
    let mut bridge = Bridge::initialized();
    for at in 0..1100 {
        bridge.client(&format!(r#"{{"jsonrpc":"2.0","id":{at},"method":"resources/subscribe","params":{{"uri":"a:{at}"}}}}"#));
        let (_, device) = bridge.out();
        bridge.device(&empty_answer(&device[0]));
    }
    assert_eq!(bridge.relay.session.requests().len(), 1024);
}
