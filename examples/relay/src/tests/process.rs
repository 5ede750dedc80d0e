//! A server that is a process, which is started again with another program.

use super::*;

/// A process that was started.
fn started() -> Bridge {
    let mut proxy = Bridge::with(ServerKind::Process);
    proxy.relay.link_up(proxy.now);
    // Some servers accept nothing before `initialize`.
    assert_eq!(proxy.out(), (none(), none()));
    proxy
}

fn initialized() -> Bridge {
    let mut proxy = started();
    proxy.client(INITIALIZE);
    proxy.device(INITIALIZED);
    proxy.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    proxy.out();
    proxy
}

#[test]
fn the_client_keeps_its_session_and_hears_of_the_lists_that_the_server_declared() {
    let mut proxy = initialized();
    proxy.client(CALL);
    proxy.out();
    proxy.relay.link_down(proxy.now, "The server was restarted");
    let (told, sent) = proxy.out();
    assert!(sent.is_empty() && told.len() == 1, "{told:?}");
    let why = "The server was restarted while it processed this request. The request may have been";
    assert!(told[0].contains(r#""id":4,"error":{"code":-32603"#) && told[0].contains(why));
    // What comes meanwhile waits.
    let next = CALL.replace(":4", ":5");
    proxy.client(&next);
    proxy.relay.link_up(proxy.now);
    let (told, sent) = proxy.out();
    let params = r#""method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
    assert!(told.is_empty() && sent.len() == 1 && sent[0].ends_with(params), "{sent:?}");
    // A process reads its input in order: nothing is repeated.
    proxy.pass(2);
    assert_eq!(proxy.out(), (none(), none()));
    proxy.device(&answer(&sent[0], r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#));
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(proxy.out(), (vec![changed.to_owned()], vec![ready.to_owned(), next]));
}

#[test]
fn a_subscription_goes_on_with_the_new_process() {
    let mut proxy = started();
    let listen = r#"{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:1","a:2"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let acknowledged = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:1"]},"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}"#;
    proxy.client(listen);
    proxy.device(acknowledged);
    assert_eq!(proxy.out(), (vec![acknowledged.to_owned()], vec![listen.to_owned()]));
    for _ in 0..2 {
        proxy.relay.link_down(proxy.now, "The server was restarted");
        assert_eq!(proxy.out(), (none(), none()));
        proxy.relay.link_up(proxy.now);
        assert_eq!(proxy.out(), (none(), vec![listen.to_owned()]));
        proxy.device(acknowledged);
        let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}"#;
        let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1","_meta":{"io.modelcontextprotocol/subscriptionId":3}}}"#;
        assert_eq!(proxy.out(), (vec![changed.to_owned(), updated.to_owned()], none()));
    }
}

#[test]
fn a_server_that_does_not_come_back_is_said_so() {
    let mut proxy = initialized();
    proxy.relay.link_down(proxy.now, "The server has ended (exit status: 101)");
    proxy.client(CALL);
    assert_eq!(proxy.out(), (none(), none()));
    proxy.pass(4);
    let (told, _) = proxy.out();
    let why =
        "The server has ended (exit status: 101). It is started again when its program changes";
    assert!(told.len() == 1 && told[0].contains(why), "{told:?}");
}

#[test]
fn errors_of_a_process_pass_and_its_other_output_does_not() {
    let mut proxy = initialized();
    proxy.device("hello from println");
    proxy.client(CALL);
    let refused = r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"Not initialized"}}"#;
    proxy.device(refused);
    assert_eq!(proxy.out(), (vec![refused.to_owned()], vec![CALL.to_owned()]));
}
