//! Requests that end before their response.

use std::time::Duration;

use mcp_sansio::{CallOptions, Delivery, Progress, RawJson, SendError};

use super::{LEGACY, Step, ask, secs, tool};

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "a client gives up",
        era: None,
        play: |stage| {
            tool(stage, "slow", "slow", CallOptions::new().progress(true));
            stage.run();
            let slow = stage.server.app.slow[0];
            assert!(stage.client.cancel("slow", Some("tired")));
            // Late messages are ignored meanwhile.
            let now = stage.instant();
            let progress = Progress::of(1);
            let told = stage.server.send(|server, tx| server.progress(now, slow, &progress, tx));
            assert!(matches!(told, Ok(Delivery::Sent) | Err(SendError::TooLarge)));
            stage.run();
            assert_eq!(stage.answer(slow), Ok(Delivery::Gone));
            tool(stage, "crossing", "slow", CallOptions::new());
            stage.run();
            // The response is in transit when the cancellation is sent.
            let slow = stage.server.app.slow.remove(0);
            assert_eq!(stage.answer(slow), Ok(Delivery::Sent));
            assert!(stage.client.cancel("crossing", None));
        },
        expect: r#"
            s ToolsCall "slow"
            s cancelled: Some("tired")
            s ToolsCall "slow""#,
    },
    Step {
        name: "a server gives up",
        era: LEGACY,
        play: |stage| {
            stage.client.app.deaf = true;
            let now = stage.instant();
            stage.server.ask(now, "roots").expect("declared");
            stage.run();
            let (call, _) = stage.server.app.asked.remove(0);
            assert_eq!(stage.server.send(|server, tx| server.cancel_call(now, call, tx)), Ok(()));
            let late = stage.client.app.asked[0];
            stage.run();
            let answered = stage
                .client
                .respond(late, |client, tx| client.respond_raw(late, RawJson::EMPTY, tx));
            assert_eq!(answered, Ok(Delivery::Gone));
            // A nested call ends with its request.
            ask(stage, "ask", "tools/call", r#"{"name":"ask","arguments":{"what":["roots"]}}"#);
            stage.run();
            assert!(stage.client.cancel("ask", None));
            stage.run();
            stage.client.app.deaf = false;
        },
        expect: r#"
            c asked roots
            c RequestCancelled
            s ToolsCall "ask"
            c asked roots
            s cancelled: None
            s call: Cancelled
            c RequestCancelled"#,
    },
    Step {
        name: "a client's time limits",
        era: None,
        play: |stage| {
            let options = CallOptions::new().timeout(secs(2)).limit(secs(5)).progress(true);
            tool(stage, "slow", "slow", options);
            stage.run();
            let slow = stage.server.app.slow[0];
            let mut alive = 0;
            for done in 1..10 {
                stage.wait(Duration::from_millis(1500));
                alive += stage.client.app.waiting.len();
                let (now, progress) = (stage.instant(), Progress::of(done).total(10));
                _ = stage.server.send(|server, tx| server.progress(now, slow, &progress, tx));
                stage.run();
            }
            // Progress extends the timeout up to the limit; a small buffer fits no progress.
            assert!([1, 3].contains(&alive), "{alive}");
        },
        expect: r#"
            s ToolsCall "slow"
            ~c slow: progress 1/10 no message
            ~c slow: progress 2/10 no message
            ~c slow: progress 3/10 no message
            c slow: TimedOut
            s cancelled: None"#,
    },
    Step {
        name: "a server's time limit",
        era: LEGACY,
        play: |stage| {
            stage.client.app.deaf = true;
            let now = stage.instant();
            stage.server.ask(now, "sampling").expect("declared");
            stage.wait(secs(59));
            assert_eq!(stage.server.app.asked.len(), 1);
            stage.wait(secs(2));
            stage.client.app.deaf = false;
        },
        expect: "
            c asked sampling
            s call: TimedOut
            c RequestCancelled",
    },
];
