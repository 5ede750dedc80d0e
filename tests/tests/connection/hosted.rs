//! The connection of a hosted server: changes, shutdown, and limits of the loop.

use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Admission, Change, Connection, GrowingServerState, RxBuffer, ServerConfig, ServerEvent,
    ServerFeatures, TxBuffer,
};

use crate::world::*;

static NOTIFYING: ServerConfig = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS_LIST_CHANGED.with(ServerFeatures::RESOURCES_SUBSCRIBE),
);

fn notifying(tx: usize) -> Growing {
    let (rx, tx) = (RxBuffer::new(vec![0; 1024]), TxBuffer::new(vec![0; tx]));
    Connection::new(&NOTIFYING, GrowingServerState::new(4, 2), rx, tx)
}

/// A `subscriptions/listen` for the list of tools and two resources.
fn listen(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["test://a","test://b"]}},{META}}}}}"#
    ) + "\n"
}

fn modern_call(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t{id}",{META}}}}}"#
    ) + "\n"
}

fn cancel(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    ) + "\n"
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

#[test]
fn changes_are_sent_when_there_is_room_in_any_pieces() {
    for (way, tx) in WAYS.iter().flat_map(|way| [1, 12, 64, 4096].map(|tx| (*way, tx))) {
        let mut connection = notifying(tx);
        assert!(!connection.publish(&Change::tools()), "no subscriber");
        let input = listen(1);
        let mut pipe = Pipe::new(&input, way);
        pipe.run(&mut connection, 0, |event, _| {
            assert!(matches!(event, ServerEvent::Listening { .. }), "{event:?}");
        });
        pipe.output.clear();
        for uri in ["test://a", "test://b"] {
            assert!(connection.publish(&Change::resource(uri)));
            assert!(!connection.publish(&Change::resource(uri)), "it waits already");
        }
        assert!(connection.publish(&Change::tools()));
        assert!(!connection.publish(&Change::resource("test://c")));
        pipe.run(&mut connection, 0, |_, _| {});
        let lines: Vec<_> = pipe.output().lines().collect();
        let texts = ["\"uri\":\"test://a\"", "\"uri\":\"test://b\"", "tools/list_changed"];
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().zip(texts).all(|(line, text)| line.contains(text)), "{lines:?}");
        assert!(connection.publish(&Change::tools()), "it was sent");
    }
}

#[test]
fn short_responses_do_not_delay_a_change() {
    let mut connection = notifying(128);
    let open = OPEN.to_owned()
        + r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://a"}}"#
        + "\n";
    Pipe::new(&open, WAYS[0]).run(&mut connection, 0, |_, _| {});
    // There is always room for a pong, and never for the change.
    let input = (2..100).map(ping).collect::<String>();
    let mut pipe = Pipe::new(&input, (usize::MAX, 40));
    connection.publish(&Change::resource("test://a"));
    pipe.run(&mut connection, 0, |_, _| {});
    let lines: Vec<_> = pipe.output().lines().collect();
    assert_eq!(lines.len(), 99);
    let at = lines.iter().position(|line| line.contains("resources/updated")).expect("a change");
    assert!(at < 4, "{lines:?}");
}

#[test]
fn shutting_down_ends_subscriptions_and_then_the_connection() {
    for (way, tx) in WAYS.iter().flat_map(|way| [1, 64, 4096].map(|tx| (*way, tx))) {
        let mut connection = notifying(tx);
        let input = listen(1) + &modern_call(2);
        let mut pipe = Pipe::new(&input, way);
        let open = pipe.requests(&mut connection)[0];
        pipe.output.clear();
        connection.publish(&Change::tools());
        connection.shut_down();
        assert!(!pipe.run(&mut connection, 0, |_, _| {}), "a request is open");
        assert!(connection.answer(open, Reply::Text("a".into())).is_ok());
        assert!(pipe.run(&mut connection, 0, |_, _| {}));
        let lines: Vec<_> = pipe.output().lines().collect();
        let texts = [
            "tools/list_changed",
            r#""params":{"requestId":1}"#,
            r#""id":1,"result":{"resultType":"complete""#,
            r#""id":2,"result":{"content""#,
        ];
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines.iter().zip(texts).all(|(line, text)| line.contains(text)), "{lines:?}");
    }
}

#[test]
fn requests_are_held_although_the_table_has_room() {
    let mut connection = growing(1024, 256);
    let open = Pipe::new(&format!("{OPEN}{}", call(1)), WAYS[0]).requests(&mut connection);
    assert_eq!(open.len(), 1);
    connection.admit(Admission::Hold);
    // A ping and a cancellation before the next request are handled.
    let input = ping(2) + &cancel(1) + &call(3) + &ping(4);
    let (mut pipe, mut cancelled) = (Pipe::new(&input, WAYS[0]), 0);
    pipe.run(&mut connection, 0, |event, _| match event {
        ServerEvent::RequestCancelled { request, .. } if request == open[0] => cancelled += 1,
        event => panic!("{event:?}"),
    });
    assert_eq!((pipe.output(), cancelled), (pong(2).as_str(), 1));
    assert!(connection.awaits_entry());
    connection.admit(Admission::Wait);
    assert_eq!(pipe.requests(&mut connection).len(), 1);
    assert!(!connection.awaits_entry());
    assert_eq!(pipe.output(), pong(2) + &pong(4));
}

#[test]
fn a_refusal_that_has_begun_is_finished_whatever_the_loop_says_now() {
    let invalid = "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/list\",\"params\":[]}\n";
    let calls = (1..=4).map(call).collect::<String>();
    for (next, now) in
        [(invalid, Admission::Hold), (&call(9), Admission::Hold), (&call(9), Admission::Wait)]
    {
        let mut connection = growing(1024, 64);
        Pipe::new(&format!("{OPEN}{calls}"), WAYS[0]).requests(&mut connection);
        connection.admit(Admission::Refuse);
        let mut pipe = Pipe::new(next, (usize::MAX, 0));
        pipe.run(&mut connection, 0, |event, _| panic!("{event:?}"));
        connection.admit(now);
        pipe.take = usize::MAX;
        pipe.run(&mut connection, 0, |_, _| {});
        let lines: Vec<_> = pipe.output().lines().collect();
        assert!(lines.len() == 1 && lines[0].ends_with("}}"), "{now:?}: {lines:?}");
    }
}

#[test]
fn requests_without_an_entry_are_refused_when_the_loop_says_so() {
    let mut connection = growing(1024, 256);
    let calls = (1..=4).map(call).collect::<String>();
    let open = Pipe::new(&format!("{OPEN}{calls}"), WAYS[0]).requests(&mut connection);
    let input = call(5) + &cancel(2) + &call(6);
    let (mut pipe, mut events) = (Pipe::new(&input, WAYS[0]), Vec::new());
    let mut run = |connection: &mut Growing, pipe: &mut Pipe<'_>| {
        pipe.run(connection, 0, |event, _| events.push(format!("{event:?}")));
        std::mem::take(&mut events)
    };
    assert!(run(&mut connection, &mut pipe).is_empty());
    assert!(connection.awaits_entry());
    connection.admit(Admission::Refuse);
    let events = run(&mut connection, &mut pipe);
    assert_eq!(events.len(), 3, "a violation, a cancellation, a request: {events:?}");
    assert!(pipe.output().starts_with(r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"#));
    assert_eq!((open.len(), pipe.output().lines().count()), (4, 1));
}
