//! Timeouts, progress and cancellation. Tests that need an event before a deadline use a clock of
//! their own.

use std::sync::atomic::Ordering;

use mcp_sansio::Era;

use super::limits::{connector, respond};
use super::scripted::{Scene, Scripted};
use super::*;

#[test]
fn canc_14_canc_15_a_cancelled_call_sends_a_notification() {
    let mut client = connect("");
    let call = start(&mut client, "mute", &json!({}), CallOptions::new());
    assert!(client.cancel(call, Some("enough")).unwrap());
    assert!(!client.cancel(call, None).unwrap());
    assert!(matches!(client.wait(call), Err(Error::UnknownCall)));
    let heard = data(&trick(&mut client, "heard", &json!({})).unwrap());
    assert!(heard[2].as_str().unwrap().contains(r#""requestId":2,"reason":"enough""#), "{heard}");
}

#[test]
fn a_response_received_in_time_counts_however_late_it_is_read() {
    let scene = Arc::<Scene>::default();
    let server = Scripted::new(&scene, |message| {
        let arguments = &message["params"]["arguments"];
        let result =
            json!({"resultType": "complete", "content": [], "structuredContent": arguments});
        respond(message, result)
    });
    let mut client = connector(&CONFIG, &scene, Era::Modern).connect(server).unwrap();
    let options = CallOptions::new().timeout(Duration::from_millis(500));
    let call = start(&mut client, "echo", &json!({"kept": true}), options);
    scene.clock.fetch_add(700, Ordering::Relaxed);
    // Pending output is sent first.
    let other = start(&mut client, "echo", &json!({}), CallOptions::new());
    assert_eq!(data(&client.wait(call).unwrap()), json!({"kept": true}));
    client.wait(other).unwrap();
}

#[test]
fn several_calls_are_waited_for_in_any_order() {
    let mut client = connect("");
    let calls: Vec<_> =
        (0..10).map(|n| start(&mut client, "echo", &json!({"n": n}), CallOptions::new())).collect();
    assert_eq!(data(&client.wait(calls[7]).unwrap()), json!({"n": 7}));
    let mut others = Vec::new();
    while let Some((call, result)) = client.wait_any().unwrap() {
        others.push((call, data(&result.unwrap())["n"].as_u64().unwrap()));
    }
    let expected: Vec<_> = calls.iter().copied().zip(0..).filter(|(_, n)| *n != 7).collect();
    assert_eq!(others, expected);
}
