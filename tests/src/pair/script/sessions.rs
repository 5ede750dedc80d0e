//! Features that differ between the eras: logs, subscriptions, input requests, pings.

use mcp_sansio::types::{LoggingLevel, SubscriptionFilter};
use mcp_sansio::{
    CallOptions, Change, ClientFeatures, ClientRequest, Delivery, LogMessage, Progress, RawJson,
    SendError,
};

use super::super::Stage;
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
            let told = stage.server.send(|server, tx| server.log_unrelated(&message, tx));
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
            let told = stage.server.send(|server, tx| server.log_unrelated(&message, tx));
            assert_eq!(told, Ok(Delivery::NotRequested));
            is_refused(stage, "logging/setLevel", r#"{"level":"debug"}"#);
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
            change_everything(stage);
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
            change_everything(stage);
            // An acknowledged subscription has no deadline.
            stage.wait(secs(1000));
            let listen = stage.server.app.listens.remove(0);
            let mut end = || stage.server.send(|server, tx| server.end_listen(listen, tx));
            while end().expect("room").is_more() {}
            stage.run();
            assert!(stage.client.cancel("two", Some("enough")));
            stage.run();
            stage.server.publish(Change::tools());
            is_refused(stage, "resources/subscribe", r#"{"uri":"m://a"}"#);
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
            let call = stage.server.send(|server, tx| server.request(now, request, tx));
            stage.server.app.asked.push((call.expect("declared"), None));
            stage.run();
            let asked = stage.client.app.asked.remove(0);
            for done in [1, 1, 2] {
                let progress = Progress::of(done).total(2);
                _ = stage.client.send(|client, tx| client.progress(now, asked, &progress, tx));
            }
            let answered = stage
                .client
                .respond(asked, |client, tx| client.respond_raw(asked, RawJson::EMPTY, tx));
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
            stage.server.ask(now, "ping").expect("the ping is allowed");
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
            is_refused(stage, "ping", "{}");
            let told = stage.client.send(|client, tx| client.roots_changed(tx));
            assert!(matches!(told, Err(SendError::NotAllowed(_))));
            for what in ["ping", "roots", "sampling", "elicitation"] {
                let asked = stage.server.ask(now, what);
                assert!(matches!(asked, Err(SendError::NotAllowed(_))));
            }
        },
        expect: "",
    },
    Step {
        name: "notifications of both sides",
        era: LEGACY,
        play: |stage| {
            let (own, empty) = ("notifications/own", RawJson::EMPTY);
            stage.client.send(|client, tx| client.roots_changed(tx)).expect("declared");
            stage.client.send(|client, tx| client.notify(own, &empty, tx)).expect("open");
            stage.server.send(|server, tx| server.notify(own, &empty, tx)).expect("ready");
        },
        expect: r#"
            s notification "notifications/roots/list_changed"
            s notification "notifications/own"
            c notification "notifications/own""#,
    },
];

/// Publishes a change of a subscribed resource, of another one, and of two lists.
fn change_everything(stage: &mut Stage<'_>) {
    for uri in ["m://a", "m://b"] {
        stage.server.publish(Change::resource(uri));
    }
    stage.server.publish(Change::tools());
    stage.server.publish(Change::prompts());
}

/// Asserts that the client does not send this request.
fn is_refused(stage: &mut Stage<'_>, method: &str, params: &str) {
    let now = stage.instant();
    let refused = stage.client.request(now, "", method, params, CallOptions::new());
    assert!(matches!(refused, Err(SendError::NotAllowed(_))), "{refused:?}");
}
