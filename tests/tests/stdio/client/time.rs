//! Timeouts, progress and cancellation. Tests that need an event before a deadline use a clock of
//! their own.

use std::sync::atomic::Ordering;

use mcp_sansio::Era;

use super::limits::{Scene, Scripted, connector};
use super::*;

#[test]
fn time_02_canc_14_canc_15_a_call_that_times_out_is_cancelled() {
    let mut client = connect("");
    let options = CallOptions::new().timeout(Duration::from_millis(100));
    let call = start(&mut client, "mute", &json!({}), options);
    let error = client.wait(call).unwrap_err();
    assert!(
        matches!(&error, Error::Call { method, error: CallError::TimedOut } if method == "tools/call"),
        "{error}"
    );
    let heard = data(&trick(&mut client, "heard", &json!({})).unwrap());
    // The request is the second, after the probe.
    assert_eq!(
        heard[2].as_str(),
        Some(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#)
    );
}

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
fn time_04_progress_prolongs_a_call() {
    let (notes, scene) = (Notes::default(), Arc::<Scene>::default());
    // Two seconds of work, in steps shorter than the timeout.
    let server = Scripted::new(&scene, |message| {
        let progress = |n| {
            let token = &message["params"]["_meta"]["progressToken"];
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": n}})
        };
        let result = json!({"resultType": "complete", "content": []});
        (1..=20)
            .map(progress)
            .chain([json!({"jsonrpc": "2.0", "id": message["id"], "result": result})])
            .collect()
    });
    let connector = connector(&CONFIG, &scene, Era::Modern).handler(Listener(Arc::clone(&notes)));
    let mut client = connector.connect(server.line_by_line()).unwrap();
    let options = CallOptions::new().timeout(Duration::from_millis(500)).progress(true);
    let call = start(&mut client, "slow", &json!({}), options);
    client.wait(call).unwrap();
    assert_eq!(noted(&notes, "true Progress"), 20);
}

#[test]
fn time_04_a_hard_limit_ends_a_call_whatever_its_progress() {
    let mut client = Client::spawn(&CONFIG, server("")).unwrap();
    let options = CallOptions::new().limit(Duration::from_millis(350)).progress(true);
    let call = start(&mut client, "slow", &json!({}), options);
    assert!(matches!(client.wait(call), Err(Error::Call { error: CallError::TimedOut, .. })));
}

#[test]
fn a_response_received_in_time_counts_however_late_it_is_read() {
    let scene = Arc::<Scene>::default();
    let server = Scripted::new(&scene, |message| {
        let result = json!({"resultType": "complete", "content": [], "structuredContent": message["params"]["arguments"]});
        vec![json!({"jsonrpc": "2.0", "id": message["id"], "result": result})]
    });
    let mut client = connector(&CONFIG, &scene, Era::Modern).connect(server).unwrap();
    let call = start(
        &mut client,
        "echo",
        &json!({"kept": true}),
        CallOptions::new().timeout(Duration::from_millis(500)),
    );
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

#[test]
fn ping_06_an_unanswered_ping_is_the_end_of_the_connection() {
    static PINGING: ClientConfig<'static> =
        ClientConfig::new(Implementation::new("tests", "1"), ClientFeatures::NONE)
            .ping_interval(Duration::from_millis(100))
            .ping_timeout(Duration::from_millis(200));
    let mut client = Client::spawn(&PINGING, server("legacy")).unwrap();
    // A server that is busy for ten minutes and sends nothing.
    let call = start(&mut client, "sleep", &json!({}), CallOptions::new());
    assert!(matches!(client.wait(call), Err(Error::Closed(_))));
}
