//! Catalogs that change while requests are open.

use mcp_sansio::typed::{Prompts, Tools};
use mcp_sansio::types::{
    Prompt, PromptArgument, Resource, ResourceTemplate, Skill, SkillResources, TextResult, Tool,
};
use mcp_sansio::{
    AddError, Catalog, OwnedCatalog, RawJson, Revision, ServedSkill, Target, entries,
};
use serde_json::{Value, json};

use super::support::{Peer, REVISIONS, published, raw};

const OBJECT: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);

static CONSTANT: Catalog = Catalog::new()
    .tools(entries![Tool::new("a", OBJECT), Tool::new("b", OBJECT), Tool::new("c", OBJECT)])
    .page_size(2);

fn changed(
    catalog: &OwnedCatalog,
    change: impl FnOnce(&mut OwnedCatalog) -> Result<(), AddError>,
) -> OwnedCatalog {
    let mut changed = catalog.clone();
    change(&mut changed).unwrap();
    changed
}

fn ask(peer: &mut Peer, catalog: &OwnedCatalog, method: &str, params: Value) -> Value {
    peer.ask(method, params, |server, request, tx| {
        match catalog.catalog().respond(server, request, tx).unwrap() {
            Target::Responded => {}
            Target::Tool(entry) | Target::Prompt(entry) | Target::Template(entry) => {
                let text = entry.key().to_string();
                server.respond(request.handle, &TextResult::new(&text), tx).unwrap();
            }
            target => panic!("{target:?}"),
        }
    })
}

/// Whether a request reaches its tool, prompt or template.
fn works(peer: &mut Peer, catalog: &OwnedCatalog, method: &str, params: Value) -> bool {
    let answer = ask(peer, catalog, method, params);
    answer["result"]["content"].is_array() && answer["result"]["isError"] != true
}

fn page(peer: &mut Peer, catalog: &OwnedCatalog, cursor: Option<&Value>) -> (Vec<String>, Value) {
    let params = cursor.map_or(json!({}), |cursor| json!({"cursor": cursor}));
    let mut answer = peer.look_up(&catalog.catalog(), "tools/list", params);
    let tools = answer["result"]["tools"].as_array().into_iter().flatten();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    let next = answer["result"]["nextCursor"].take();
    (names, if answer.get("error").is_some() { answer["error"]["code"].take() } else { next })
}

#[test]
fn what_is_added_is_listed_and_called_and_what_is_removed_is_not() {
    let schema = raw(r#"{"type":"object","required":["x"]}"#);
    let before = OwnedCatalog::new(&CONSTANT);
    let after = changed(&before, |catalog| {
        assert!(catalog.remove_tool("b") && !catalog.remove_tool("b"));
        catalog.add(Tool::new("d", schema).description("line\n\"é\""))?;
        let arguments = [PromptArgument::new("x").required(true)];
        catalog.add(Prompt::new("p").arguments(&arguments))?;
        catalog.add(ResourceTemplate::new("u:{x}", "x"))
    });
    for revision in REVISIONS {
        let mut peer = Peer::new(revision);
        let (first, next) = page(&mut peer, &after, None);
        let (second, end) = page(&mut peer, &after, Some(&next));
        assert_eq!(
            (first, second, end),
            (vec!["a".into(), "c".into()], vec!["d".into()], Value::Null)
        );
        for (method, params, expected) in [
            ("tools/call", json!({"name": "a"}), [true, true]),
            ("tools/call", json!({"name": "b"}), [true, false]),
            ("tools/call", json!({"name": "d", "arguments": {"x": 1}}), [false, true]),
            ("tools/call", json!({"name": "d"}), [false, false]),
            ("prompts/get", json!({"name": "p", "arguments": {"x": "1"}}), [false, true]),
            ("prompts/get", json!({"name": "p"}), [false, false]),
            ("resources/read", json!({"uri": "u:1"}), [false, true]),
        ] {
            let found = [&before, &after].map(|it| works(&mut peer, it, method, params.clone()));
            assert_eq!(found, expected, "{method} {params} in {revision}");
        }
    }
}

#[test]
fn a_call_that_runs_ends_although_its_tool_is_removed() {
    for revision in REVISIONS {
        let mut peer = Peer::new(revision);
        let mut catalog = OwnedCatalog::new(&CONSTANT);
        let answer = peer.ask("tools/call", json!({"name": "a"}), |server, request, tx| {
            let target = catalog.catalog().respond(server, request, tx);
            assert!(matches!(target, Ok(Target::Tool(tool)) if tool.key() == "a"));
            assert!(catalog.remove_tool("a"));
            server.respond(request.handle, &TextResult::new("done"), tx).unwrap();
        });
        assert_eq!(answer["result"]["content"][0]["text"], "done");
        let answer = ask(&mut peer, &catalog, "tools/call", json!({"name": "a"}));
        assert_eq!(answer["error"], json!({"code": -32602, "message": "Unknown tool: a"}));
    }
}

#[test]
fn page_02_page_04_a_cursor_is_of_the_list_that_it_came_with() {
    let first = OwnedCatalog::new(&CONSTANT);
    let other_list = changed(&first, |catalog| catalog.add(Prompt::new("p")));
    let longer = changed(&first, |catalog| catalog.add(Tool::new("d", OBJECT)));
    let again = changed(&longer, |catalog| {
        catalog.remove_tool("d");
        Ok(())
    });
    // The same names, but another text.
    let replaced = changed(&first, |catalog| {
        catalog.remove_tool("c");
        catalog.add(Tool::new("c", OBJECT).description("new"))
    });
    static VALUES: [Tool<'_>; 2] =
        [Tool::new("c", OBJECT), Tool::new("c", OBJECT).description("other")];
    let [value, other_value] = VALUES.each_ref().map(|value| {
        changed(&first, |catalog| {
            catalog.remove_tool("c");
            catalog.add(value)
        })
    });
    assert!(value.changes_since(&other_value).next().is_some());
    for revision in REVISIONS {
        let mut peer = Peer::new(revision);
        let (names, cursor) = page(&mut peer, &first, None);
        assert_eq!(names, ["a", "b"]);
        for (catalog, is_valid) in [
            (&first, true),
            (&other_list, true),
            (&longer, false),
            (&again, true),
            (&replaced, false),
        ] {
            let (names, code) = page(&mut peer, catalog, Some(&cursor));
            match is_valid {
                true => assert_eq!((names, code), (vec!["c".to_owned()], Value::Null)),
                false => assert_eq!((names, code), (vec![], json!(-32602))),
            }
        }
    }
}

#[test]
fn a_list_in_pieces_is_of_the_catalog_that_it_began_with() {
    let catalog = changed(&OwnedCatalog::new(&CONSTANT), |catalog| {
        catalog.add(Resource::new("u:a", "a").description("a \"quoted\" text"))?;
        catalog.add(Resource::new("u:b", "b").size(7))
    });
    for revision in REVISIONS {
        let whole = Peer::new(revision).look_up(&catalog.catalog(), "resources/list", json!({}));
        for size in 1..300 {
            let (held, mut current, mut changes) = (catalog.clone(), catalog.clone(), 0);
            let sent = Peer::new(revision).ask_through(
                size,
                "resources/list",
                json!({}),
                |server, request, tx| {
                    let sent = held.catalog().respond(server, request, tx);
                    current.remove_resource("u:a");
                    current.add(Resource::new(&format!("u:{changes}"), "new")).unwrap();
                    changes += 1;
                    sent.map(|_| ())
                },
            );
            assert_eq!(sent, whole, "{size} in {revision}");
        }
    }
}

#[test]
fn each_client_is_told_once_of_each_list_that_has_changed() {
    type Update = fn(&mut OwnedCatalog) -> Result<(), AddError>;
    let updates: [(Update, &[&str]); 7] = [
        (|_| Ok(()), &[]),
        (|catalog| catalog.add(Tool::new("d", OBJECT)), &["tools"]),
        (
            |catalog| {
                catalog.add(Tool::new("d", OBJECT))?;
                catalog.remove_tool("d");
                Ok(())
            },
            &[],
        ),
        (
            |catalog| {
                catalog.add(Resource::new("u:a", "a"))?;
                catalog.add(Resource::new("u:b", "b"))?;
                catalog.add(ResourceTemplate::new("u:{x}", "x"))
            },
            &["resources"],
        ),
        (|catalog| catalog.add(ResourceTemplate::new("u:{x}", "x")), &["resources"]),
        (|catalog| catalog.add(Prompt::new("p")), &["prompts"]),
        (
            |catalog| {
                catalog.add(Prompt::new("p"))?;
                catalog.remove_tool("a");
                catalog.add(Resource::new("u:a", "a"))
            },
            &["tools", "resources", "prompts"],
        ),
    ];
    let before = OwnedCatalog::new(&CONSTANT);
    for (update, expected) in updates {
        let after = changed(&before, update);
        for revision in REVISIONS {
            let mut peer = Peer::new(revision);
            if revision.is_modern() {
                let all = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
                let listen = peer.request("subscriptions/listen", json!({"notifications": all}));
                peer.say(&listen, |_, _, _| {});
            }
            let mut told = Vec::new();
            for mut change in after.changes_since(&before) {
                let sent = published(&mut peer.server, &mut change, 1 << 10);
                told.extend(sent.iter().map(|message| message["method"].to_string()));
            }
            let expected: Vec<String> =
                expected.iter().map(|it| format!("\"notifications/{it}/list_changed\"")).collect();
            assert_eq!(told, expected, "{revision}");
        }
    }
}

#[test]
fn skills_of_which_only_the_entry_differs_are_another_list() {
    let skill = |description| {
        let frontmatter = raw(description);
        let uri = "skill://daily/SKILL.md";
        ServedSkill::new(Skill::new(uri, frontmatter, SkillResources::Dynamic), &[])
    };
    let weekly = RawJson::from_static(r#"{"name":"weekly","description":"Reports"}"#);
    let weekly = Skill::new("skill://weekly/SKILL.md", weekly, SkillResources::Dynamic);
    let of = |description| {
        changed(&OwnedCatalog::new(&CONSTANT.page_size(1)), |catalog| {
            catalog.set_skills(vec![skill(description), ServedSkill::new(weekly, &[])])
        })
    };
    let before = of(r#"{"name":"daily","description":"Reports the day"}"#);
    let after = of(r#"{"name":"daily","description":"Reports the hours"}"#);
    assert_eq!(after.changes_since(&before.clone()).count(), 1);
    let mut peer = Peer::new(Revision::LATEST);
    let first = ask(&mut peer, &before, "resources/list", json!({}));
    let cursor = json!({"cursor": first["result"]["nextCursor"]});
    for (catalog, is_valid) in [(&before, true), (&after, false)] {
        let second = ask(&mut peer, catalog, "resources/list", cursor.clone());
        assert_eq!(second["result"]["resources"].is_array(), is_valid, "{second}");
    }
}

#[test]
fn what_is_removed_is_gone_and_can_be_added_again() {
    let mut catalog = OwnedCatalog::new(&CONSTANT);
    for _ in 0..2 {
        catalog.add(Tool::new("k", OBJECT)).unwrap();
        catalog.add(Resource::new("u:k", "k")).unwrap();
        catalog.add(ResourceTemplate::new("u:k/{x}", "k")).unwrap();
        catalog.add(Prompt::new("k")).unwrap();
        assert!(!catalog.remove_tool("u:k") && catalog.remove_tool("k"));
        assert!(!catalog.remove_resource("k") && catalog.remove_resource("u:k"));
        assert!(!catalog.remove_template("u:k") && catalog.remove_template("u:k/{x}"));
        assert!(!catalog.remove_prompt("u:k") && catalog.remove_prompt("k"));
    }
    assert!(!catalog.remove_tool("k") && !catalog.remove_resource("u:k"));
    assert!(!catalog.remove_template("u:k/{x}") && !catalog.remove_prompt("k"));
}

#[test]
fn what_breaks_a_rule_is_not_added() {
    let mut catalog = OwnedCatalog::new(&CONSTANT);
    catalog.add(Resource::new("u:a", "a")).unwrap();
    let before = catalog.clone();
    let long = "n".repeat(129);
    for (added, expected) in [
        (catalog.add(Tool::new("a", OBJECT)), "a: two tools have this name"),
        (
            catalog.add(Tool::new(&long, OBJECT)),
            &format!("{long}: a tool name must be 1 to 128 characters of A-Z a-z 0-9 _ - ."),
        ),
        (
            catalog.add(Tool::new("array", RawJson::EMPTY)),
            "array: the type of an input schema must be object",
        ),
        (
            catalog.add(Tool::new("list", RawJson::parse("[1]").unwrap())),
            "list: a schema must be a JSON object",
        ),
        (
            catalog.add(Tool::new("out", OBJECT).output_schema(raw(r#"{"$ref":"http://x"}"#))),
            "out: a schema may not contain external references",
        ),
        (catalog.add(Resource::new("u:a", "b")), "u:a: two resources have this URI"),
        (
            catalog.add(Resource::new("\u{7}", "b")),
            "\\u0007: a resource URI must have a scheme and only characters that RFC 3986 allows",
        ),
        (
            catalog.add(ResourceTemplate::new("u:{x", "x")),
            "u:{x: only {name} and {+name} are supported in a template, with literal text between two of them",
        ),
        (catalog.add(Prompt::new("")), ": a prompt must have a name"),
    ] {
        assert_eq!(added.unwrap_err().to_string(), expected);
        assert_eq!(catalog.changes_since(&before).count(), 0);
    }
    assert!(catalog.catalog().check().is_ok());
}

#[derive(Tools)]
#[allow(dead_code, reason = "only checked")]
enum Call {
    /// Is always there.
    Typed { n: u32 },
}

#[derive(Prompts)]
#[allow(dead_code, reason = "only checked")]
enum Ask {
    /// Is there from the start.
    Typed { topic: String },
}

#[test]
fn tools_and_prompts_that_are_types_go_with_those_that_are_added() {
    static CATALOG: Catalog = Catalog::new().tools_of::<Call>().prompts_of::<Ask>();
    let mut catalog = OwnedCatalog::new(&CATALOG);
    assert!(!catalog.remove_tool("typed") && !catalog.remove_prompt("typed"));
    assert!(catalog.add(Tool::new("typed", OBJECT)).is_err());
    assert!(catalog.add(Prompt::new("typed")).is_err());
    catalog.add(Tool::new("added", raw(r#"{"type":"object","required":["x"]}"#))).unwrap();
    let arguments = [PromptArgument::new("x").required(true)];
    catalog.add(Prompt::new("added").arguments(&arguments)).unwrap();
    for revision in REVISIONS {
        let mut peer = Peer::new(revision);
        assert_eq!(page(&mut peer, &catalog, None).0, ["typed", "added"]);
        for (method, arguments) in [
            ("tools/call", [json!({"n": 1}), json!({"x": 1})]),
            ("prompts/get", [json!({"topic": "t"}), json!({"x": "1"})]),
        ] {
            for (name, valid) in ["typed", "added"].into_iter().zip([0, 1]) {
                let found = arguments.each_ref().map(|arguments| {
                    let params = json!({"name": name, "arguments": arguments});
                    works(&mut peer, &catalog, method, params)
                });
                assert_eq!(found, [valid == 0, valid == 1], "{method} {name} in {revision}");
            }
        }
    }
}
