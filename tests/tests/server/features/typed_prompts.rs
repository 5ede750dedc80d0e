//! Prompts as an enum, through a server.

use mcp_sansio::typed::{Input, Prompts};
use mcp_sansio::types::{GetPromptResult, PromptMessage, Text};
use mcp_sansio::{Catalog, Revision, Target};
use serde_json::{Value, json};

use super::support::{Peer, REVISIONS};

#[derive(Prompts)]
enum Ask<'a> {
    /// Asks for a poem.
    Poem { style: Style, topic: Option<Text<'a>> },
}

#[derive(Input)]
enum Style {
    Haiku,
    Half,
    Sonnet,
    #[input(name = "h\u{e9}las")]
    Lament,
}

static CATALOG: Catalog = Catalog::new().prompts_of::<Ask>();

fn ask(revision: Revision, method: &str, params: Value) -> Value {
    Peer::new(revision).ask(method, params, |server, request, tx| {
        match CATALOG.respond(server, request, tx).unwrap() {
            Target::Prompt(_) => {
                let Some(Ok(Ask::Poem { style, topic })) = Ask::from_request(request) else {
                    panic!("the catalog has checked {:?}", request.params);
                };
                let style = if matches!(style, Style::Haiku) { "short" } else { "long" };
                let text = format!("{style}: {}", topic.unwrap_or(Text::new("anything")));
                let messages = [PromptMessage::user(&text)];
                server.respond(request.handle, &GetPromptResult::new(&messages), tx).unwrap();
            }
            Target::Responded => {}
            Target::CompletePrompt(_) => {
                let result = json!({"completion": {"values": ["by the application"]}});
                server.respond(request.handle, &mcp_sansio::Json(&result), tx).unwrap();
            }
            other => panic!("{other:?}"),
        }
    })
}

#[test]
fn prm_04_prm_06_arguments_are_checked_and_all_faults_named_in_every_revision() {
    for revision in REVISIONS {
        let params = json!({"name": "poem", "arguments": {"style": "haiku", "topic": "rust"}});
        let result = ask(revision, "prompts/get", params);
        assert_eq!(result["result"]["messages"][0]["content"]["text"], "short: rust");
        let params = json!({"name": "poem", "arguments": {"topik": "rust"}});
        let words = "topik: is unknown, must be one of style, topic\n\
                     style: is missing, must be one of \"haiku\", \"half\", \"sonnet\", \"h\u{e9}las\"";
        let refused = ask(revision, "prompts/get", params);
        assert_eq!(refused["error"], json!({"code": -32602, "message": words}));
        let refused = ask(revision, "prompts/get", json!({"name": "poet"}));
        assert_eq!(refused["error"], json!({"code": -32602, "message": "Unknown prompt: poet"}));
    }
}

fn complete(revision: Revision, name: &str, value: &str) -> Value {
    let reference = json!({"type": "ref/prompt", "name": "poem"});
    let argument = json!({"name": name, "value": value});
    ask(revision, "completion/complete", json!({"ref": reference, "argument": argument}))
}

#[test]
fn comp_04_choices_complete_themselves() {
    for revision in REVISIONS {
        for (value, values) in [
            ("", json!(["haiku", "half", "sonnet", "h\u{e9}las"])),
            ("h", json!(["haiku", "half", "h\u{e9}las"])),
            ("ha", json!(["haiku", "half"])),
            ("h\u{e9}", json!(["h\u{e9}las"])),
            ("haikus", json!([])),
            ("\"", json!([])),
        ] {
            let completion = &complete(revision, "style", value)["result"]["completion"];
            let total = values.as_array().unwrap().len();
            assert_eq!(*completion, json!({"values": values, "total": total, "hasMore": false}));
        }
        let text = complete(revision, "topic", "r");
        assert_eq!(text["result"]["completion"]["values"], json!(["by the application"]));
        let unknown = complete(revision, "topik", "r");
        assert_eq!(unknown["error"], json!({"code": -32602, "message": "Unknown argument"}));
    }
}

/// Prompts with a choice among many, written by hand.
struct Many;

const NAMES: [&str; 101] = {
    let mut names = ["x"; 101];
    names[100] = "y";
    names
};

impl<'a> Input<'a> for Many {
    const RULE: mcp_sansio::typed::Rule = mcp_sansio::typed::Rule::Enum(&NAMES);
    fn read(_: mcp_sansio::RawJson<'a>) -> Self {
        Self
    }
}

#[derive(Prompts)]
#[allow(dead_code, reason = "only completed")]
enum Pick {
    Poem { style: Many },
}

#[test]
fn comp_01_at_most_100_names_are_written_and_the_others_counted() {
    let catalog: Catalog = Catalog::new().prompts_of::<Pick>();
    let reference = json!({"type": "ref/prompt", "name": "poem"});
    for (value, written, total) in [("", 100, 101), ("x", 100, 100), ("y", 1, 1)] {
        let argument = json!({"name": "style", "value": value});
        let params = json!({"ref": reference, "argument": argument});
        let mut peer = Peer::new(Revision::LATEST);
        let response = peer.look_up(&catalog, "completion/complete", params);
        let completion = &response["result"]["completion"];
        assert_eq!(completion["values"].as_array().unwrap().len(), written);
        assert_eq!(completion["total"], total);
        assert_eq!(completion["hasMore"], written < total);
    }
}

#[test]
fn prompts_by_hand_take_the_place_of_typed_ones() {
    let prompts = mcp_sansio::entries![mcp_sansio::types::Prompt::new("poem")];
    let catalog = CATALOG.prompts(prompts);
    let params = json!({"name": "poem", "arguments": {"style": "none"}});
    let response = Peer::new(Revision::LATEST).ask("prompts/get", params, |server, request, tx| {
        let target = catalog.respond(server, request, tx).unwrap();
        assert!(matches!(target, Target::Prompt(prompt) if prompt.key() == "poem"));
        server.respond(request.handle, &GetPromptResult::new(&[]), tx).unwrap();
    });
    assert_eq!(response["result"]["messages"], json!([]));
}
