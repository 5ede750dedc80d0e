//! Frames written in pieces, with deadlines, messages and cancellations in between.

use std::time::Duration;

use mcp_sansio::types::{Implementation, SubscriptionFilter};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures,
    ClientRequest, Era, Frame, Instant, Messages, RawJson, Revisions, SendError, Server,
    ServerConfig, ServerEvent, ServerFeatures, Tx,
};
use mcp_sansio_tests::line::Line;
use mcp_sansio_tests::memory::{new_client, new_server};

const SERVER: ServerConfig =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
const CLIENT: ClientConfig = ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE);
const OPENED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
const CANCELLED: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

#[test]
fn a_servers_ping_is_finished_before_a_timeout_that_passes_meanwhile() {
    let config = SERVER.ping_interval(Duration::from_secs(2)).call_timeout(Duration::from_secs(3));
    let (mut server, mut line) = (new_server::<8, 8>(&config), Line::new(16));
    let hear = |server: &mut Server<'_>, line: &mut Line, text: &str| {
        let mut messages = Messages::new(Frame::Complete(text.as_bytes()));
        while line.send(|tx| server.next_event(at(0), &mut messages, tx)).unwrap().is_some() {}
    };
    hear(
        &mut server,
        &mut line,
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#,
    );
    hear(&mut server, &mut line, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    line.send(|tx| server.request(at(0), ClientRequest::roots(), tx)).unwrap();
    line.sent.clear();
    half(&mut line, |tx| server.handle_timeout(at(2000), tx));
    // The ping is partly written when the call times out.
    assert!(line.send(|tx| server.handle_timeout(at(3000), tx)).unwrap().is_none());
    let event = line.send(|tx| server.handle_timeout(at(3000), tx)).unwrap();
    let Some(ServerEvent::CallFinished { outcome: CallOutcome::TimedOut, .. }) = event else {
        panic!("{event:?}")
    };
    let cancelled = CANCELLED.replace("2}", "1}");
    line.is(&[r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#, &cancelled]);
}

#[test]
fn a_clients_ping_is_finished_before_a_timeout_that_passes_meanwhile() {
    let config = CLIENT.revisions(Revisions::LEGACY).ping_interval(Duration::from_secs(2));
    let options = CallOptions::new().timeout(Duration::from_secs(3));
    let (mut client, mut line, call) = called(&config, options);
    half(&mut line, |tx| client.handle_timeout(at(2000), tx));
    assert!(line.send(|tx| client.handle_timeout(at(3000), tx)).unwrap().is_none());
    assert!(client.poll_timeout().is_some_and(|due| due <= at(3000)), "a deadline is left");
    let event = line.send(|tx| client.handle_timeout(at(3000), tx)).unwrap();
    assert!(is_timeout(&event) && !client.is_call_open(call), "{event:?}");
    line.is(&[r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":{}}"#, CANCELLED]);
}

#[test]
fn a_cancellation_with_a_reason_is_finished_with_that_reason() {
    let config = CLIENT.revisions(Revisions::LEGACY);
    let (mut client, mut line, call) = called(&config, CallOptions::new());
    let reason = Some("the person went away for lunch");
    half(&mut line, |tx| client.cancel_call(call, reason, tx));
    // It times out as well, and its response arrives: both are too late.
    assert!(line.send(|tx| client.handle_timeout(at(100_000), tx)).unwrap().is_none());
    let mut late = Messages::new(Frame::Complete(br#"{"jsonrpc":"2.0","id":2,"result":{}}"#));
    assert!(client.next_event(at(100_000), &mut late, &mut line.tx).unwrap().is_none());
    assert_eq!(line.send(|tx| client.cancel_call(call, reason, tx)), Ok(()));
    line.is(&[&CANCELLED.replace("2}", r#"2,"reason":"the person went away for lunch"}"#)]);
    assert_eq!((client.open_calls(), client.poll_timeout()), (0, None));
}

#[test]
fn a_timeouts_cancellation_keeps_its_reason_when_the_application_cancels() {
    let config = CLIENT.revisions(Revisions::LEGACY);
    let (mut client, mut line, call) = called(&config, CallOptions::new());
    half(&mut line, |tx| client.handle_timeout(at(100_000), tx));
    line.drain();
    let cancelled = client.cancel_call(call, Some("no longer needed"), &mut line.tx);
    assert_eq!(cancelled, Err(SendError::Full));
    let event = line.send(|tx| client.handle_timeout(at(100_000), tx)).unwrap();
    assert!(is_timeout(&event), "{event:?}");
    assert!(!client.is_call_open(call));
    assert_eq!(client.cancel_call(call, Some("no longer needed"), &mut line.tx), Ok(()));
    line.is(&[CANCELLED]);
}

#[test]
fn an_acknowledgement_during_the_cancellation_of_a_listen_is_late() {
    let (mut client, mut line) = (new_client::<8>(&CLIENT), Line::new(16));
    client.set_era(Some(Era::Modern));
    line.send(|tx| client.connect(at(0), tx)).unwrap();
    let filter = SubscriptionFilter::new().tools_list_changed(true);
    line.send(|tx| client.listen(at(0), &filter, CallOptions::new(), tx)).unwrap();
    line.sent.clear();
    half(&mut line, |tx| client.handle_timeout(at(60_000), tx));
    line.drain();
    let acknowledgement = br#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#;
    let mut messages = Messages::new(Frame::Complete(acknowledgement));
    let event = client.next_event(at(60_000), &mut messages, &mut line.tx).unwrap();
    assert!(event.is_none(), "{event:?}");
    let event = line.send(|tx| client.handle_timeout(at(60_000), tx)).unwrap();
    assert!(is_timeout(&event), "{event:?}");
}

#[test]
fn a_partly_sent_offer_of_an_older_revision_is_not_a_timeout() {
    let config = CLIENT.revisions(Revisions::LEGACY);
    let (mut client, mut line) = connecting(&config);
    let refusal = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":{"supported":["2025-03-26"]}}}"#;
    let mut messages = Messages::new(Frame::Complete(refusal));
    half(&mut line, |tx| client.next_event(at(1), &mut messages, tx));
    line.drain();
    // Handle timeouts early and late.
    for now in [2, 100_000] {
        let event = client.handle_timeout(at(now), &mut line.tx);
        assert!(matches!(event, Ok(None)), "{event:?}");
    }
    assert!(line.send(|tx| client.next_event(at(100_000), &mut messages, tx)).unwrap().is_none());
    line.is(&[&INITIALIZE.replace("2025-11-25", "2025-03-26")]);
    assert!(client.poll_timeout().is_some_and(|due| due > at(100_000)));
}

#[test]
fn connecting_does_not_time_out_while_its_last_message_is_sent() {
    let config = CLIENT.revisions(Revisions::LEGACY);
    let (mut client, mut line) = connecting(&config);
    let mut messages = Messages::new(Frame::Complete(OPENED.as_bytes()));
    half(&mut line, |tx| client.next_event(at(1), &mut messages, tx));
    line.drain();
    assert_eq!(client.handle_timeout(at(100_000), &mut line.tx).unwrap_err(), SendError::Full);
    let event = line.send(|tx| client.next_event(at(100_000), &mut messages, tx)).unwrap();
    assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
    assert!(matches!(client.handle_timeout(at(100_000), &mut line.tx), Ok(None)));
    line.is(&[r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#]);
}

#[test]
fn an_invalid_probe_response_while_initialize_is_sent_keeps_the_same_offer() {
    let (mut client, mut line) = connecting(&CLIENT);
    half(&mut line, |tx| client.handle_timeout(at(10_000), tx));
    line.drain();
    let mut broken = Messages::new(Frame::Complete(br#"{"id":1,"result":{}}"#));
    assert!(line.send(|tx| client.next_event(at(10_000), &mut broken, tx)).unwrap().is_none());
    assert!(line.send(|tx| client.handle_timeout(at(10_000), tx)).unwrap().is_none());
    line.is(&[INITIALIZE]);
}

/// A client whose first message has been sent.
fn connecting<'c>(config: &'c ClientConfig<'c>) -> (Client<'c>, Line) {
    let (mut client, mut line) = (new_client::<8>(config), Line::new(16));
    line.send(|tx| client.connect(at(0), tx)).unwrap();
    line.sent.clear();
    (client, line)
}

/// A session of 2025-11-25, opened with id 1, and a call with id 2.
fn called<'c>(config: &'c ClientConfig<'c>, options: CallOptions) -> (Client<'c>, Line, Call) {
    let (mut client, mut line) = connecting(config);
    let mut messages = Messages::new(Frame::Complete(OPENED.as_bytes()));
    let event = line.send(|tx| client.next_event(at(0), &mut messages, tx)).unwrap();
    assert!(matches!(event, Some(ClientEvent::Connected(_))), "{event:?}");
    let call = line.send(|tx| client.request(at(0), "tools/list", &RawJson::EMPTY, options, tx));
    line.sent.clear();
    (client, line, call.unwrap())
}

/// Writes the first part of a frame.
fn half<R>(line: &mut Line, call: impl FnOnce(&mut Tx<'_>) -> Result<R, SendError>) {
    assert_eq!(call(&mut line.tx).err(), Some(SendError::Full));
    assert!(line.tx.is_mid_frame());
}

fn is_timeout(event: &Option<ClientEvent<'_>>) -> bool {
    matches!(event, Some(ClientEvent::CallFinished { outcome: CallOutcome::TimedOut, .. }))
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}
