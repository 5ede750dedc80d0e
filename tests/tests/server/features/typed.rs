//! Tools as an enum, through a server.

use mcp_sansio::typed::{Called, Input, Tools};
use mcp_sansio::types::{TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, Revision, Target};
use serde_json::{Value, json};

use super::support::{Peer, REVISIONS, assert_refused};

#[derive(Tools)]
enum Call {
    /// Waits.
    Wait(Wait),
}

#[derive(Input, Debug)]
pub(super) struct Wait {
    #[arg(range = 1..=9)]
    seconds: u8,
}

static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

fn call(revision: Revision, name: &str, arguments: Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    Peer::new(revision).ask("tools/call", params, |server, request, tx| {
        match CATALOG.call(server, request, tx).unwrap() {
            Called::Call(Call::Wait(Wait { seconds })) => {
                let text = seconds.to_string();
                server.respond(request.handle, &TextResult::new(&text), tx).unwrap();
            }
            Called::Other(target) => assert!(matches!(target, Target::Responded)),
        }
    })
}

#[test]
fn tool_17_faults_of_typed_arguments_are_for_the_model_from_2025_11_25_on() {
    for revision in REVISIONS {
        let result = call(revision, "wait", json!({"seconds": 7}));
        assert_eq!(result["result"]["content"][0]["text"], "7");
        assert_eq!(call(revision, "walk", json!({}))["error"]["message"], "Unknown tool: walk");
        let refused = call(revision, "wait", json!({"second": 7}));
        let words = "second: is unknown, must be one of seconds\n\
                     seconds: is missing, must be an integer from 1 to 9";
        assert_refused(revision, &refused, words);
    }
}

/// A tool written by hand, with the same arguments.
const BY_HAND: Tool = Tool::new(
    "wait",
    RawJson::from_static(
        r#"{"type":"object","properties":{"seconds":{"type":"integer","minimum":1,"maximum":9}},"required":["seconds"],"additionalProperties":false}"#,
    ),
);

#[test]
fn tool_17_a_catalog_refuses_arguments_by_itself_derived_or_by_hand() {
    let by_hand = Catalog::new().tools(mcp_sansio::entries![BY_HAND]);
    for (catalog, words) in [
        (by_hand, "seconds: must be at least 1, is 0"),
        (CATALOG, "seconds: must be an integer from 1 to 9, is 0"),
        (by_hand, "second: is unknown, must be one of seconds"),
    ] {
        for revision in REVISIONS {
            let name = if words.starts_with("seconds") { "seconds" } else { "second" };
            let mut params = json!({"name": "wait", "arguments": {"seconds": 1}});
            params["arguments"][name] = json!(0);
            let refused = Peer::new(revision).ask("tools/call", params, |server, request, tx| {
                let target = catalog.target(request).unwrap();
                assert!(matches!(target, Target::InvalidArguments(tool) if tool.key() == "wait"));
                let target = catalog.respond(server, request, tx).unwrap();
                assert!(matches!(target, Target::Responded));
            });
            assert_refused(revision, &refused, words);
        }
    }
}

/// Tools of an enum and a tool by hand.
static JOINED: Catalog = Catalog::new()
    .tools(mcp_sansio::entries![Tool::new(
        "walk",
        RawJson::from_static(r#"{"type":"object","properties":{"steps":{"type":"integer"}}}"#),
    )])
    .tools_of::<Call>();

#[test]
fn tools_of_an_enum_and_by_hand_stand_in_one_catalog_and_all_are_checked() {
    assert_eq!(
        JOINED.snapshot(Revision::LATEST).lines().collect::<Vec<_>>(),
        [
            "tools",
            CATALOG.snapshot(Revision::LATEST).lines().nth(1).unwrap(),
            r#"{"name":"walk","inputSchema":{"type":"object","properties":{"steps":{"type":"integer"}}}}"#,
        ]
    );
    JOINED.check().unwrap();
    let ask = |name, arguments, is_call| {
        let params = json!({"name": name, "arguments": arguments});
        let ask = Peer::new(Revision::LATEST).ask("tools/call", params, |server, request, tx| {
            let called = match is_call {
                true => JOINED.call(server, request, tx).unwrap(),
                false => Called::Other(JOINED.respond(server, request, tx).unwrap()),
            };
            let text = match called {
                Called::Call(Call::Wait(Wait { seconds })) => seconds.to_string(),
                Called::Other(Target::Tool(tool)) => tool.key().to_string(),
                Called::Other(target) => return assert!(matches!(target, Target::Responded)),
            };
            server.respond(request.handle, &TextResult::new(&text), tx).unwrap();
        });
        ask["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(ask("wait", json!({"seconds": 7}), true), "7");
    assert_eq!(ask("wait", json!({"seconds": 7}), false), "wait");
    for is_call in [true, false] {
        let words = "seconds: must be an integer from 1 to 9, is 0";
        assert_eq!(ask("wait", json!({"seconds": 0}), is_call), words);
        assert_eq!(ask("walk", json!({"steps": 7}), is_call), "walk");
        let words = "steps: must be of type integer, is \"7\"";
        assert_eq!(ask("walk", json!({"steps": "7"}), is_call), words);
    }
}

#[test]
fn a_call_of_another_enum_than_that_of_the_catalog_is_checked() {
    #[derive(Tools)]
    enum Other {
        /// Has another name.
        Run,
    }
    for (seconds, text) in [(7, "wait"), (0, "seconds: must be an integer from 1 to 9, is 0")] {
        let params = json!({"name": "wait", "arguments": {"seconds": seconds}});
        let peer = &mut Peer::new(Revision::LATEST);
        let answer = peer.ask("tools/call", params, |server, request, tx| {
            match CATALOG.call(server, request, tx).unwrap() {
                Called::Call(Other::Run) => unreachable!(),
                Called::Other(Target::Tool(tool)) => {
                    let text = tool.key().to_string();
                    server.respond(request.handle, &TextResult::new(&text), tx).unwrap();
                }
                Called::Other(target) => assert!(matches!(target, Target::Responded)),
            }
        });
        assert_eq!(answer["result"]["content"][0]["text"], text);
    }
}

#[test]
fn pages_go_on_from_the_tools_of_an_enum_to_those_by_hand() {
    let catalog = JOINED.page_size(1);
    let mut peer = Peer::new(Revision::LATEST);
    let mut list = |params| peer.look_up(&catalog, "tools/list", params);
    let first = list(json!({}));
    assert_eq!(first["result"]["tools"][0]["name"], "wait");
    let second = list(json!({"cursor": first["result"]["nextCursor"]}));
    assert_eq!(second["result"]["tools"][0]["name"], "walk");
    assert_eq!(second["result"]["tools"].as_array().unwrap().len(), 1);
    assert_eq!(second["result"].get("nextCursor"), None);
}

#[test]
fn unchecked_arguments_reach_the_tool() {
    for catalog in [CATALOG, Catalog::new().tools(mcp_sansio::entries![BY_HAND])] {
        let (mut peer, catalog) = (Peer::new(Revision::LATEST), catalog.unchecked());
        let params = json!({"name": "wait", "arguments": {"seconds": 0}});
        let response = peer.ask("tools/call", params, |server, request, tx| {
            let target = catalog.respond(server, request, tx).unwrap();
            assert!(matches!(target, Target::Tool(tool) if tool.key() == "wait"));
            server.respond(request.handle, &TextResult::new("ran"), tx).unwrap();
        });
        assert_eq!(response["result"]["content"][0]["text"], "ran");
    }
}
