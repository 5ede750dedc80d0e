//! Features that differ between the eras: logs, subscriptions, input requests, pings.

use crate::delivery::respond;
use mcp_sansio::types::{LoggingLevel, SubscriptionFilter};
use mcp_sansio::{
    CallOptions, Change, ClientFeatures, ClientRequest, Delivery, LogMessage, Progress, RawJson,
    SendError,
};

use super::super::End;
use super::{LEGACY, MODERN, Step, ask, secs, tool};

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "a session's log level",
        era: LEGACY,
        play: |stage| {
            ask(stage, "level", "logging/setLevel", r#"{"level":"warning"}"#);
            stage.run();
            tool(stage, "chatter", "chatter", CallOptions::new());
            stage.run();
            let message = LogMessage::new(LoggingLevel::Alert, "by the way");
            let told =
                stage.server.line.send(|tx| stage.server.machine.log_unrelated(&message, tx));
            assert!(matches!(told, Ok(Delivery::Sent) | Err(SendError::TooLarge)), "{told:?}");
        },
        expect: r#"
            s LogLevel(Warning)
            c level: {}
            s ToolsCall "chatter"
            ~c log {"level":"error","data":"so"}
            c chatter: {"content":[{"text":"said","type":"text"}]}
            ~c log {"level":"alert","data":"by the way"}"#,
    },
    Step {
        name: "a request's log level",
        era: MODERN,
        play: |stage| {
            tool(stage, "chatter", "chatter", CallOptions::new().log_level(LoggingLevel::Info));
            stage.run();
            tool(stage, "silent", "chatter", CallOptions::new());
            let message = LogMessage::new(LoggingLevel::Alert, "by the way");
            assert_eq!(
                stage.server.line.send(|tx| stage.server.machine.log_unrelated(&message, tx)),
                Ok(Delivery::NotRequested)
            );
            let now = stage.instant();
            let refused = stage.client.request(
                now,
                "",
                "logging/setLevel",
                r#"{"level":"debug"}"#,
                CallOptions::new(),
            );
            assert!(matches!(refused, Err(SendError::NotAllowed(_))), "{refused:?}");
        },
        expect: r#"
            s ToolsCall "chatter"
            ~c log {"level":"info","data":"so"}
            ~c log {"level":"error","data":"so"}
            c chatter: {"content":[{"text":"said","type":"text"}]}
            s ToolsCall "chatter"
            c silent: {"content":[{"text":"said","type":"text"}]}"#,
    },
    Step {
        name: "subscriptions of a session",
        era: LEGACY,
        play: |stage| {
            ask(stage, "subscribe", "resources/subscribe", r#"{"uri":"m://a"}"#);
            stage.run();
            for change in [
                Change::resource("m://a"),
                Change::resource("m://b"),
                Change::tools(),
                Change::prompts(),
            ] {
                stage.server.publish(change);
            }
            stage.run();
            ask(stage, "unsubscribe", "resources/unsubscribe", r#"{"uri":"m://a"}"#);
            stage.run();
            stage.server.publish(Change::resource("m://a"));
            let now = stage.instant();
            assert!(matches!(
                stage.client.listen(now, "", &SubscriptionFilter::new()),
                Err(SendError::NotAllowed(_))
            ));
        },
        expect: r#"
            s subscribed "m://a"
            c subscribe: {}
            c session: changed "m://a"
            c session: changed Tools
            c session: changed Prompts
            s unsubscribed "m://a"
            c unsubscribe: {}"#,
    },
    Step {
        name: "subscriptions that are requests",
        era: MODERN,
        play: |stage| {
            let now = stage.instant();
            let uris = ["m://a".into(), "m://c".into()];
            let filter =
                SubscriptionFilter::new().tools_list_changed(true).resource_subscriptions(&uris);
            stage.client.listen(now, "one", &filter).expect("the listen is allowed");
            stage.run();
            let filter =
                SubscriptionFilter::new().tools_list_changed(true).prompts_list_changed(true);
            stage.client.listen(now, "two", &filter).expect("the listen is allowed");
            stage.run();
            for change in [
                Change::resource("m://a"),
                Change::resource("m://b"),
                Change::tools(),
                Change::prompts(),
            ] {
                stage.server.publish(change);
            }
            // An acknowledged subscription has no deadline.
            stage.wait(secs(1000));
            let listen = stage.server.app.listens.remove(0);
            while stage
                .server
                .line
                .send(|tx| stage.server.machine.end_listen(listen, tx))
                .expect("room")
                .is_more()
            {}
            stage.run();
            assert!(stage.client.cancel("two", Some("enough")));
            stage.run();
            stage.server.publish(Change::tools());
            let refused = stage.client.request(
                now,
                "",
                "resources/subscribe",
                r#"{"uri":"m://a"}"#,
                CallOptions::new(),
            );
            assert!(matches!(refused, Err(SendError::NotAllowed(_))), "{refused:?}");
        },
        expect: r#"
            s listening
            c one: listening {"toolsListChanged":true,"resourceSubscriptions":["m://a","m://c"]}
            s listening
            c two: listening {"toolsListChanged":true,"promptsListChanged":true}
            c one: changed "m://a"
            c one: changed Tools
            c two: changed Tools
            c two: changed Prompts
            c one: EndedByServer
            s cancelled: Some("enough")"#,
    },
    Step {
        name: "a legacy server asks",
        era: LEGACY,
        play: |stage| {
            for what in ["roots", "sampling", "elicitation"] {
                ask(
                    stage,
                    what,
                    "tools/call",
                    &format!(r#"{{"name":"ask","arguments":{{"what":["{what}"]}}}}"#),
                );
                stage.run();
            }
        },
        expect: r#"
            s ToolsCall "ask"
            c asked roots
            s answer {"roots":[{"uri":"file:///home"}]}
            c roots: {"content":[{"text":"{\"roots\":[{\"uri\":\"file:///home\"}]}","type":"text"}]}
            s ToolsCall "ask"
            c asked sampling
            s answer {"role":"assistant","content":{"type":"text","text":"42"},"model":"m"}
            c sampling: {"content":[{"text":"{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"42\"},\"model\":\"m\"}","type":"text"}]}
            s ToolsCall "ask"
            A-B|c elicitation: error -32603
            C-D|c asked elicitation
            C-D|s answer {"action":"accept","content":{"who":"me"}}
            C-D|c elicitation: {"content":[{"text":"{\"action\":\"accept\",\"content\":{\"who\":\"me\"}}","type":"text"}]}"#,
    },
    Step {
        name: "a modern server needs input, round by round",
        era: MODERN,
        play: |stage| {
            let params =
                r#"{"name":"ask","arguments":{"what":["roots","sampling","elicitation"]}}"#;
            ask(stage, "ask", "tools/call", params);
        },
        expect: r#"
            s ToolsCall "ask"
            c ask: round 0 roots
            s ToolsCall "ask"
            c ask: round 1 sampling
            s ToolsCall "ask"
            c ask: round 2 elicitation
            s ToolsCall "ask"
            c ask: {"content":[{"text":"{\"action\":\"accept\",\"content\":{\"who\":\"me\"}}","type":"text"}]}"#,
    },
    Step {
        name: "prompts and resources need input, too",
        era: MODERN,
        play: |stage| {
            ask(stage, "prompt", "prompts/get", r#"{"name":"more"}"#);
            ask(stage, "resource", "resources/read", r#"{"uri":"m://more"}"#);
            ask(stage, "list", "tools/list", r#"{"cursor":"2"}"#);
        },
        expect: r#"
            s PromptsGet "more"
            s ResourcesRead "m://more"
            s ToolsList "2"
            c prompt: round 0 roots
            c resource: round 0 roots
            c list: {"tools":[{"inputSchema":{"type":"object"},"name":"fail"}]}
            s PromptsGet "more"
            s ResourcesRead "m://more"
            c prompt: {"messages":[{"content":{"text":"Hello","type":"text"},"role":"user"}]}
            c resource: {"contents":[{"text":"líne\n","uri":"m://a"},{"blob":"AP8H","uri":"m://b"}]}"#,
    },
    Step {
        name: "a modern server that is never content",
        era: MODERN,
        play: |stage| tool(stage, "loop", "loop", CallOptions::new()),
        expect: r#"
            s ToolsCall "loop"
            s ToolsCall "loop"
            s ToolsCall "loop"
            s ToolsCall "loop"
            s ToolsCall "loop"
            c loop: round 0
            c loop: round 1
            c loop: round 2
            c loop: round 3
            c loop: invalid: TooManyRounds"#,
    },
    Step {
        name: "a client reports progress",
        era: LEGACY,
        play: |stage| {
            stage.client.app.deaf = true;
            let now = stage.instant();
            let params = RawJson::from_static(
                r#"{"messages":[],"maxTokens":1,"_meta":{"progressToken":"t"}}"#,
            );
            let request = ClientRequest::new(
                "sampling/createMessage",
                Some(&params),
                ClientFeatures::SAMPLING,
            );
            let call = stage
                .server
                .line
                .send(|tx| stage.server.machine.request(now, request, tx))
                .expect("declared");
            stage.server.app.asked.push((call, None));
            stage.run();
            let asked = stage.client.app.asked.remove(0);
            for done in [1, 1, 2] {
                let progress = Progress::of(done).total(2);
                _ = stage
                    .client
                    .line
                    .send(|tx| stage.client.machine.progress(now, asked, &progress, tx));
            }
            let answered = stage.client.line.send(|tx| {
                respond(&mut stage.client.machine, asked, tx, |client, tx| {
                    client.respond_raw(asked, RawJson::EMPTY, tx)
                })
            });
            assert_eq!(answered, Ok(Delivery::Sent));
            stage.run();
            stage.client.app.deaf = false;
        },
        expect: r#"
            c asked sampling
            ~s notification "notifications/progress"
            ~s notification "notifications/progress"
            s answer {}"#,
    },
    Step {
        name: "ping, both ways",
        era: LEGACY,
        play: |stage| {
            ask(stage, "ping", "ping", "{}");
            let now = stage.instant();
            let End { machine: server, line, app, .. } = &mut stage.server;
            app.ask(server, line, now, "ping", None).expect("the ping is allowed");
        },
        expect: "
            c ping: {}
            s answer {}",
    },
    Step {
        name: "nothing of the legacy era in the modern one",
        era: MODERN,
        play: |stage| {
            let now = stage.instant();
            let refused = stage.client.request(now, "", "ping", "{}", CallOptions::new());
            assert!(matches!(refused, Err(SendError::NotAllowed(_))), "{refused:?}");
            assert!(matches!(
                stage.client.line.send(|tx| stage.client.machine.roots_changed(tx)),
                Err(SendError::NotAllowed(_))
            ));
            let End { machine: server, line, app, .. } = &mut stage.server;
            for what in ["ping", "roots", "sampling", "elicitation"] {
                assert!(matches!(
                    app.ask(server, line, now, what, None),
                    Err(SendError::NotAllowed(_))
                ));
            }
        },
        expect: "",
    },
    Step {
        name: "notifications of both sides",
        era: LEGACY,
        play: |stage| {
            stage.client.line.send(|tx| stage.client.machine.roots_changed(tx)).expect("declared");
            stage
                .client
                .line
                .send(|tx| stage.client.machine.notify("notifications/own", &RawJson::EMPTY, tx))
                .expect("open");
            stage
                .server
                .line
                .send(|tx| stage.server.machine.notify("notifications/own", &RawJson::EMPTY, tx))
                .expect("ready");
        },
        expect: r#"
            s notification "notifications/roots/list_changed"
            s notification "notifications/own"
            c notification "notifications/own""#,
    },
];
