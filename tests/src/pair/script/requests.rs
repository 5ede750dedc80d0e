//! Requests and responses that are the same, or nearly so, in all revisions.

use mcp_sansio::{CallOptions, Delivery, NotAllowed, SendError};

use super::{Step, ask, tool};

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "a list in pages",
        era: None,
        play: |stage| {
            ask(stage, "first", "tools/list", "{}");
            stage.run();
            ask(stage, "second", "tools/list", r#"{"cursor":"2"}"#);
        },
        expect: r#"
            s ToolsList
            c first: {"nextCursor":"2","tools":[{"inputSchema":{"type":"object"},"name":"echo"},{"inputSchema":{"type":"object"},"name":"count"}]}
            s ToolsList "2"
            c second: {"tools":[{"inputSchema":{"type":"object"},"name":"fail"}]}"#,
    },
    Step {
        name: "tools: answers of all kinds, asked at once",
        era: None,
        play: |stage| {
            ask(
                stage,
                "echo",
                "tools/call",
                r#"{"name":"echo","arguments":{"text":"\u00e9 \"\n\ud83e\udd80"}}"#,
            );
            tool(stage, "structured", "structured", CallOptions::new());
            tool(stage, "wrong", "wrong", CallOptions::new());
            tool(stage, "fail", "fail", CallOptions::new());
        },
        expect: r#"
            s ToolsCall "echo"
            s ToolsCall "structured"
            s ToolsCall "wrong"
            s ToolsCall "fail"
            c echo: {"content":[{"text":"é \"\n🦀","type":"text"}]}
            A-B|c structured: {"content":[{"text":"{\"n\":[1,2.50]}","type":"text"}]}
            C-E|c structured: {"content":[{"text":"{\"n\":[1,2.50]}","type":"text"}],"structuredContent":{"n":[1,2.5]}}
            A-C|c wrong: error -32602
            D-E|c wrong: {"content":[{"text":"not so","type":"text"}],"isError":true}
            c fail: error -32603"#,
    },
    Step {
        name: "progress",
        era: None,
        play: |stage| {
            tool(stage, "count", "count", CallOptions::new().progress(true));
            stage.run();
            tool(stage, "silent", "count", CallOptions::new());
        },
        expect: r#"
            s ToolsCall "count"
            ~A|c count: progress 1/3 no message
            ~A|c count: progress 2/3 no message
            ~A|c count: progress 3/3 no message
            ~B-E|c count: progress 1/3 on
            ~B-E|c count: progress 2/3 on
            ~B-E|c count: progress 3/3 on
            c count: {"content":[{"text":"counted","type":"text"}]}
            s ToolsCall "count"
            c silent: {"content":[{"text":"counted","type":"text"}]}"#,
    },
    Step {
        name: "what a server refuses by itself, and what a client does not even ask",
        era: None,
        play: |stage| {
            ask(stage, "unknown", "own/method", "{}");
            ask(stage, "nameless", "prompts/get", "{}");
            ask(stage, "nobody", "tools/call", r#"{"name":"nobody"}"#);
            let now = stage.instant();
            for method in ["initialize", "subscriptions/listen", "notifications/own"] {
                let refused = stage.client.request(now, "", method, "{}", CallOptions::new());
                assert_eq!(refused, Err(SendError::NotAllowed(NotAllowed::Method)), "{method}");
            }
        },
        expect: r#"
            s Violation(UnknownMethod)
            s Violation(InvalidParams)
            s ToolsCall "nobody"
            c unknown: error -32601
            c nameless: error -32602
            c nobody: error -32602"#,
    },
    Step {
        name: "no more than fit the table",
        era: None,
        play: |stage| {
            for label in ["1", "2", "3", "4"] {
                tool(stage, label, "slow", CallOptions::new());
            }
            let now = stage.instant();
            let fifth = stage.client.request(now, "5", "tools/list", "{}", CallOptions::new());
            assert_eq!(fifth, Err(SendError::TooManyCalls));
            stage.run();
            // In reverse order.
            while let Some(slow) = stage.server.app.slow.pop() {
                assert_eq!(stage.answer(slow), Ok(Delivery::Sent));
            }
        },
        expect: r#"
            s ToolsCall "slow"
            s ToolsCall "slow"
            s ToolsCall "slow"
            s ToolsCall "slow"
            c 4: {}
            c 3: {}
            c 2: {}
            c 1: {}"#,
    },
    Step {
        name: "resources",
        era: None,
        play: |stage| {
            ask(stage, "list", "resources/list", "{}");
            ask(stage, "templates", "resources/templates/list", "{}");
            ask(stage, "read", "resources/read", r#"{"uri":"m://a"}"#);
            ask(stage, "none", "resources/read", r#"{"uri":"m://none"}"#);
        },
        expect: r#"
            s ResourcesList
            s ResourcesTemplatesList
            s ResourcesRead "m://a"
            s ResourcesRead "m://none"
            c list: {"resources":[{"name":"a","uri":"m://a"}]}
            c templates: {"resourceTemplates":[{"name":"any","uriTemplate":"m://{x}"}]}
            c read: {"contents":[{"text":"líne\n","uri":"m://a"},{"blob":"AP8H","uri":"m://b"}]}
            A-D|c none: error -32002
            E|c none: error -32602"#,
    },
    Step {
        name: "prompts and completion",
        era: None,
        play: |stage| {
            ask(stage, "list", "prompts/list", "{}");
            ask(stage, "get", "prompts/get", r#"{"name":"greet","arguments":{"who":"you"}}"#);
            let params = r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"y"}}"#;
            ask(stage, "complete", "completion/complete", params);
        },
        expect: r#"
            s PromptsList
            s PromptsGet "greet"
            s CompletionComplete
            c list: {"prompts":[{"name":"greet"}]}
            c get: {"messages":[{"content":{"text":"Hello","type":"text"},"role":"user"}]}
            c complete: {"completion":{"total":2,"values":["yes","yeah"]}}"#,
    },
];
