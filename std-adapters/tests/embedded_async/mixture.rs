//! Random mix of all operations: in any order, each request gets one response or is cancelled, and
//! no request stays open.

use std::collections::BTreeMap;

use embedded_io_async::ErrorKind;
use serde_json::{Value, json};

use crate::app::{call, cancel, list, scene};
use crate::random::Random;

#[test]
fn each_request_gets_one_response_or_is_cancelled() {
    let rounds =
        std::env::var("CHAOS_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(40);
    for seed in 1..=rounds {
        mix::<512, 64>(seed);
        mix::<700, 300>(seed);
        mix::<4096, 1024>(seed);
    }
}

fn mix<const RX: usize, const TX: usize>(seed: u64) {
    let mut random = Random(seed);
    let mut scene = scene::<RX, TX, 3>([1, 7, 64, usize::MAX][random.below(4)]);
    let mut cancelled = BTreeMap::new();
    let mut spoiled = 0;
    let count = 30;
    for id in 1..=count {
        scene.send(&match random.below(8) {
            0 => call(id, "wait", json!({"n": random.below(50)})),
            1 => call(id, "steps", json!({"n": random.below(5)})),
            2 => call(id, "again", json!({"text": "a".repeat(random.below(90))})),
            3 => call(id, "long", json!({"n": random.below(900)})),
            4 => call(id, "group", json!({})),
            5 => call(id, "nobody", json!({})),
            6 => list(id),
            _ => call(id, "echo", json!({"text": "e".repeat(random.below(90))})),
        });
        cancelled.insert(id, false);
        match random.below(8) {
            0 => {
                let victim = 1 + random.below(id as usize) as u32;
                scene.send(&cancel(victim));
                cancelled.insert(victim, true);
            }
            1 => scene.bytes("noise\n"),
            2 => scene.bytes(format!("{}\n", "n".repeat(2 * RX))),
            3 => {
                scene.bytes(r#"{"jsonrpc":"2.0","id":0,"#);
                scene.fault(ErrorKind::Other);
                scene.bytes("\n");
                spoiled += 1;
            }
            4 => scene.time.pass(random.below(40) as u64),
            5 => scene.takes([0, 1, 100, usize::MAX][random.below(4)]),
            _ => {}
        }
        if random.below(3) == 0 {
            assert_eq!(scene.run(), None, "seed {seed}");
        }
    }
    for _ in 0..10_000 {
        scene.takes(usize::MAX);
        assert_eq!(scene.run(), None, "seed {seed}");
        if scene.unread() == 0 && scene.running() == 0 {
            break;
        }
        scene.time.pass(10);
    }
    scene.end();
    assert!(scene.run().is_some(), "seed {seed}: the connection does not end");
    let mut answers = BTreeMap::<u64, u32>::new();
    let output = scene.output();
    assert!(output.is_empty() || output.ends_with(b"\n"));
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value =
            serde_json::from_slice(line).unwrap_or_else(|_| panic!("seed {seed}: no JSON"));
        if let Some(id) = message["id"].as_u64() {
            *answers.entry(id).or_default() += 1;
        }
    }
    for (id, cancelled) in cancelled {
        let answered = answers.remove(&u64::from(id)).unwrap_or_default();
        assert!(
            answered == 1 || cancelled && answered == 0,
            "seed {seed}: {id} has {answered} responses"
        );
    }
    assert!(answers.is_empty(), "seed {seed}: responses without a request: {answers:?}");
    let faults = scene.notes().iter().filter(|note| note.starts_with("fault")).count();
    assert_eq!(faults, spoiled, "seed {seed}");
    assert_eq!(scene.running(), 0, "seed {seed}");
}
