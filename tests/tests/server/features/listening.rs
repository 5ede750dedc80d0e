//! Subscriptions with slow output.

use mcp_sansio::{
    Change, Frame, Messages, Remaining, RequestHandle, Revision, SendError, Server, ServerEvent,
    TxBuffer,
};
use mcp_sansio_tests::memory::new_server;
use serde_json::{Value, json};

use super::support::{CONFIG, NOW, Peer, in_frames, lines, published, through};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn listen(id: Value, uris: &[&str]) -> String {
    let filter = json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": uris});
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": {"notifications": filter, "_meta": meta}})
        .to_string()
}

/// Returns the subscription of each message.
fn subscriptions(sent: &[Value]) -> Vec<Value> {
    sent.iter().map(|message| message["params"]["_meta"][SUBSCRIPTION].clone()).collect()
}

/// Opens a listen to a resource.
fn opened(server: &mut Server<'static>, id: Value) -> RequestHandle {
    let line = listen(id, &["u:a"]);
    let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
    let (event, _) = through(4096, |tx| server.next_event(NOW, &mut messages, tx));
    let Some(ServerEvent::Listening { request }) = event else { panic!("{event:?}") };
    request
}

fn cancelled(id: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        .to_string()
}

#[test]
fn sub_03_sub_04_no_change_gets_in_front_of_the_acknowledgement() {
    let line = listen(json!("new"), &["u:a", "u:b"]);
    let mut held_back = 0;
    for size in 1..400 {
        let mut server = new_server::<8, 8>(&CONFIG);
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        let mut tx = TxBuffer::new(vec![0; size]);
        let mut sent = Vec::new();
        loop {
            let event = server.next_event(NOW, &mut messages, &mut tx);
            let acknowledged = matches!(event, Ok(Some(ServerEvent::Listening { .. })));
            // A change at every point, before or after the drain.
            for drain_first in [false, true] {
                if drain_first {
                    sent.extend_from_slice(tx.pending());
                    tx.advance(usize::MAX);
                }
                for mut change in [Change::tools(), Change::resource("u:a")] {
                    if !acknowledged {
                        // Not even `Full`: a caller that drains and repeats would wait forever.
                        assert_eq!(server.publish(&mut change, &mut tx), Ok(Remaining::Done));
                        held_back += 1;
                    }
                }
            }
            if acknowledged {
                break;
            }
            assert!(event.is_err_and(|error| error == SendError::Full));
        }
        let mut sent = lines(&sent);
        sent.extend(published(&mut server, &mut Change::tools(), size));
        let methods: Vec<&Value> = sent.iter().map(|message| &message["method"]).collect();
        assert_eq!(
            methods,
            ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"],
            "{size}"
        );
    }
    assert!(held_back > 1000);
}

#[test]
fn sub_04_a_listen_that_is_cancelled_in_the_middle_of_a_change() {
    // The notification of the first of two is partly written when its cancellation arrives: the
    // line is finished, and the second gets its own.
    for size in 8..200 {
        let mut server = new_server::<8, 8>(&CONFIG);
        for id in [1, 2] {
            opened(&mut server, json!(id));
        }
        let line = cancelled(&json!(1));
        let mut tx = TxBuffer::new(vec![0; size]);
        let mut sent = Vec::new();
        let (mut change, mut told, mut gone) = (Change::resource("u:a"), false, false);
        for turn in 0..1000 {
            sent.extend_from_slice(tx.pending());
            tx.advance(usize::MAX);
            if turn % 2 == 0 {
                match server.publish(&mut change, &mut tx) {
                    Ok(Remaining::More) => {}
                    Ok(Remaining::Done) => told = true,
                    Err(error) => assert_eq!(error, SendError::Full),
                }
            } else if !gone {
                let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
                match server.next_event(NOW, &mut messages, &mut tx) {
                    Ok(event) => gone = matches!(event, Some(ServerEvent::RequestCancelled { .. })),
                    Err(error) => assert_eq!(error, SendError::Full),
                }
            }
            if told && gone {
                break;
            }
        }
        assert!(told && gone, "both frames are sent: {size}");
        sent.extend_from_slice(tx.pending());
        let ids = subscriptions(&lines(&sent));
        assert!(ids == [1, 2] || ids == [2], "{size}: {ids:?}");
        assert_eq!(server.open_requests(), 1);
    }
}

#[test]
fn sub_05_a_uri_of_more_than_4096_bytes_is_not_acknowledged() {
    // With its quotes.
    let uri = |len: usize| format!("u:{}", "x".repeat(len - 4));
    let (longest, longer) = (uri(4096), uri(4097));
    let mut peer = Peer::new(Revision::V2026_07_28);
    let sent = peer.say_text(&listen(json!(1), &[&longer, "u:a", &longest]), |_, event, _| {
        assert!(matches!(event, ServerEvent::Listening { .. }))
    });
    let granted = &sent[0]["params"]["notifications"]["resourceSubscriptions"];
    assert!(*granted == json!(["u:a", longest]));
    assert!(peer.server.is_subscribed(&Change::resource(&longest)));
    assert!(!peer.server.is_subscribed(&Change::resource(&longer)));
}

#[test]
fn sub_09_sub_10_the_end_of_a_listen_is_its_last_message_through_any_buffer() {
    for size in [1, 20, 64, 4096] {
        let mut server = new_server::<8, 8>(&CONFIG);
        let request = opened(&mut server, json!("id"));
        let sent = in_frames(size, |tx| {
            let ended = server.end_listen(request, tx);
            // Nor is anything sent between the two frames.
            if ended == Ok(Remaining::More) {
                let (told, sent) = through(4096, |tx| server.publish(&mut Change::tools(), tx));
                assert!(!told.is_more() && sent.is_empty());
            }
            ended
        });
        assert_eq!((sent.len(), &sent[1]["id"]), (2, &json!("id")));
        assert_eq!(server.open_requests(), 0);
    }
}
