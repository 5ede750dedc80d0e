//! `subscriptions/listen`: an event stream that stays open.

use mcp_sansio::Change;
use mcp_sansio_adapters::embedded_async::ConnectionEnd;
use serde_json::json;

use crate::app::{call, events, joined, listen, parts, serving, with_clients};

#[test]
fn sub_01_a_subscriber_hears_of_changes_and_is_kept_awake() {
    with_clients(30, 1, |server, mut net| {
        let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]});
        let stream = parts(&net.exchange(0, listen(wanted))).1;
        assert_eq!(events(&stream)[0]["method"], "notifications/subscriptions/acknowledged");
        assert!(server.publish(Change::tools()) && server.publish(Change::prompts()));
        // One that is queued already.
        assert!(server.publish(Change::tools()));
        net.run();
        let heard = events(&joined(&net.clients[0].received()));
        assert_eq!(
            (heard.len(), &heard[0]["method"]),
            (1, &json!("notifications/tools/list_changed"))
        );
        // A handler of another connection tells it, too.
        for uri in ["a:b", "c:d"] {
            let next = net.connect(serving(server));
            let told = net.exchange(next, call("tell", json!({ "uri": uri })));
            assert!(told.contains("\"told\""), "{told}");
        }
        let heard = events(&joined(&net.clients[0].received()));
        assert_eq!((heard.len(), &heard[0]["params"]["uri"]), (1, &json!("a:b")));
        net.pass(14_900);
        assert_eq!(net.clients[0].received(), "");
        net.pass(100);
        assert_eq!(net.clients[0].received(), "3\r\n:\n\n\r\n");
        net.clients[0].port.end();
        net.run();
        assert_eq!(net.clients[0].end, Some(Ok(ConnectionEnd::Closed)));
    });
}

#[test]
fn one_connection_is_left_for_calls() {
    with_clients(usize::MAX, 2, |server, mut net| {
        let wanted = || listen(json!({"toolsListChanged": true}));
        assert!(net.exchange(0, wanted()).starts_with("HTTP/1.1 200"));
        assert!(net.exchange(1, wanted()).starts_with("HTTP/1.1 503"));
        let next = net.connect(serving(server));
        assert!(net.exchange(next, call("say", json!({"text": "x"}))).starts_with("HTTP/1.1 200"));
    });
}

#[test]
fn a_subscriber_that_takes_nothing_misses_nothing_in_silence() {
    with_clients(usize::MAX, 1, |server, mut net| {
        let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": ["a:b"]});
        net.exchange(0, listen(wanted));
        net.clients[0].port.takes(0);
        // Eight changes may wait, each once.
        let unheard = ["1:", "2:", "3:", "4:", "5:", "6:"].map(Change::resource);
        let changes = [Change::tools(), Change::resource("a:b")].into_iter().chain(unheard);
        for change in changes.clone().chain(changes) {
            assert!(server.publish(change));
        }
        assert!(!server.publish(Change::prompts()));
        net.clients[0].port.takes(usize::MAX);
        net.run();
        let heard = events(&joined(&net.clients[0].received()));
        let of = |method: &str| heard.iter().filter(|event| event["method"] == method).count();
        assert_eq!(of("notifications/tools/list_changed"), 1, "{heard:?}");
        assert_eq!(of("notifications/resources/updated"), 1, "{heard:?}");
        assert!(server.publish(Change::prompts()));
        // A change whose URI cannot be kept disconnects a subscriber without room.
        net.clients[0].port.takes(0);
        for _ in 0..20 {
            let next = net.connect(serving(server));
            net.exchange(next, call("tell", json!({"uri": "a:b"})));
        }
        assert_eq!(net.clients[0].end, Some(Ok(ConnectionEnd::Closed)));
    });
}
