//! Responses that are longer than their buffer.

use super::host::{CONFIG, Host, modern, modern_call};

#[test]
fn a_response_of_any_length_fits_through_a_buffer_of_any_size() {
    let whole = Host::new().send(&modern_call("long"));
    let text = whole.json()["result"]["content"][0]["text"].take();
    assert_eq!(text, "0123456789\n".repeat(1000));
    let list = Host::new().send(&modern("tools/list", "{}", &[]));
    for room in [64, 65, 100, 255, 256, 1000, 4096] {
        let mut host = Host::of(&CONFIG, |options| options.max_pending = room);
        let answer = host.send(&modern_call("long"));
        assert_eq!(answer.trace(), whole.trace(), "{room}");
        assert_eq!(host.send(&modern("tools/list", "{}", &[])).trace(), list.trace());
        let error = host.send(&modern_call("fails"));
        assert_eq!(error.error(), (200, -32603), "{room}");
        let refused = host.send(&modern("no/such", "{}", &[]));
        assert_eq!(refused.error(), (404, -32601), "{room}");
    }
}

#[test]
fn an_unfinished_response_cuts_a_body_and_is_skipped_in_a_stream() {
    let mut host = Host::new();
    let answer = host.send(&modern_call("broken"));
    assert_eq!(answer.body, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[(cut)");
    // In a batch it is an event: an unknown event type ends it, and an error follows.
    let session = host.open("2025-03-26");
    let batch = r#"[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"broken"}}]"#;
    assert_eq!(
        host.call(&session, batch).body,
        "id: 3-0\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[\nevent: abandoned\n\n\
         id: 3-1\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603,\"message\":\"the source failed\"}}\n\n"
    );
}
