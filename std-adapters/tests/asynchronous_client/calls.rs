//! Calls: several at once, cancelled; lists.

use std::cell::RefCell;

use futures_lite::future;
use mcp_sansio::{RawJson, ServerEvent};
use mcp_sansio_adapters::asynchronous::client::{ClientLimits, Connector};

use crate::script::{Session, call, play, text, tool};
use crate::{CLIENT, LEGACY, MODERN};

#[test]
fn a_call_whose_future_is_dropped_is_cancelled_and_its_slot_is_free() {
    for config in [&MODERN, &LEGACY] {
        let seen = RefCell::new(Vec::new());
        let script = |event: &ServerEvent<'_>, session: &mut Session| match event {
            ServerEvent::Request(request) if tool(request) == "wait" => {
                seen.borrow_mut().push("wait")
            }
            ServerEvent::Request(request) => session.text(request.handle, "done"),
            ServerEvent::RequestCancelled { .. } => seen.borrow_mut().push("cancelled"),
            _ => {}
        };
        // The table has one entry, so the second call waits for the first.
        let limits = ClientLimits { max_in_flight: 1, ..ClientLimits::new() };
        let connector = Connector::new(&CLIENT).limits(limits);
        let (result, _) = play(connector, config, script, async |client| {
            let gone = async {
                while seen.borrow().is_empty() {
                    future::yield_now().await;
                }
            };
            future::or(async { drop(call(&client, "wait").await) }, gone).await;
            call(&client, "next").await
        });
        assert_eq!(text(&result.unwrap()), "done");
        assert_eq!(*seen.borrow(), ["wait", "cancelled"]);
    }
}

#[test]
fn a_new_call_waits_behind_those_that_wait_for_a_place() {
    let mut seen = Vec::new();
    let script = |event: &ServerEvent<'_>, session: &mut Session| {
        if let ServerEvent::Request(request) = event {
            seen.push(tool(request));
            session.text(request.handle, "done");
        }
    };
    let connector =
        Connector::new(&CLIENT).limits(ClientLimits { max_in_flight: 1, ..ClientLimits::new() });
    play(connector, &MODERN, script, async |client| {
        let first = async {
            call(&client, "first").await.unwrap();
            call(&client, "new").await.unwrap();
        };
        future::zip(first, call(&client, "waiting")).await.1.unwrap();
    });
    assert_eq!(seen, ["first", "waiting", "new"]);
}

#[test]
fn all_pages_of_a_list_are_requested() {
    for config in [&MODERN, &LEGACY] {
        let script = |event: &ServerEvent<'_>, session: &mut Session| {
            let ServerEvent::Request(request) = event else { return };
            let page = match request.cursor().map(|cursor| cursor.to_string()).as_deref() {
                None => {
                    r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"\"2\""}"#
                }
                Some("\"2\"") => {
                    r#"{"tools":[{"name":7},{"name":"b","inputSchema":{"type":"object"}}],"nextCursor":"3"}"#
                }
                Some("3") => r#"{"tools":[]}"#,
                other => panic!("{other:?}"),
            };
            session
                .server
                .respond_raw(request.handle, RawJson::parse(page).unwrap(), &mut session.tx)
                .unwrap();
        };
        let (tools, _) = play(Connector::new(&CLIENT), config, script, async |client| {
            client.list_tools().await.unwrap()
        });
        let names: Vec<_> =
            tools.iter().map(|tool| tool.map(|tool| tool.name.to_string()).ok()).collect();
        assert_eq!(names, [Some("a".into()), None, Some("b".into())]);
        assert_eq!(tools.pages().len(), 3);
    }
}
