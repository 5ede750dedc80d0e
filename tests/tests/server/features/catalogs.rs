//! Names, URIs, lists and their pages.

use mcp_sansio::types::{
    CacheScope, Prompt, PromptArgument, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, TextResult, Tool,
};
use mcp_sansio::{Catalog, Entry, RawJson, Revision, Target};
use serde_json::{Value, json};

use super::support::{Peer, REVISIONS, entries, raw};

const OBJECT: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);

fn fault_of_tool(tool: Tool<'_>) -> Option<&'static str> {
    Catalog::new().tools(&[Entry::from(&tool)]).check().err().map(|error| error.reason)
}

#[test]
fn tool_05_tool_07_tool_08_names_of_tools_have_a_length_and_a_charset() {
    for length in [1, 2, 64, 127, 128] {
        assert_eq!(fault_of_tool(Tool::new(&"n".repeat(length), OBJECT)), None, "{length}");
    }
    for length in [0, 129, 1000] {
        assert!(fault_of_tool(Tool::new(&"n".repeat(length), OBJECT)).is_some(), "{length}");
    }
    let allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    for c in (0..=0x250).filter_map(char::from_u32).chain(['中', '\u{1f600}']) {
        let found = fault_of_tool(Tool::new(&format!("a{c}b"), OBJECT));
        assert_eq!(found.is_none(), allowed.contains(c), "{c:?}");
        assert!(found.is_none_or(|fault| fault.contains("A-Z a-z 0-9 _ - .")), "{found:?}");
    }
}

#[test]
fn tool_09_no_two_tools_have_one_name() {
    let tools = [
        Tool::new("a", OBJECT),
        Tool::new("b", OBJECT),
        Tool::new("A", OBJECT),
        Tool::new("b", OBJECT),
    ];
    let fault = Catalog::new().tools(entries(&tools)).check().unwrap_err();
    assert_eq!((fault.entry, fault.to_string().as_str()), ("b", "b: two tools have this name"));
    assert!(Catalog::new().tools(&entries(&tools)[..3]).check().is_ok());
    let prompts = [Prompt::new("p"), Prompt::new("p")];
    assert!(Catalog::new().prompts(entries(&prompts)).check().is_err());
    let resources = [Resource::new("u:a", "a"), Resource::new("u:a", "b")];
    assert!(Catalog::new().resources(entries(&resources)).check().is_err());
    let templates = [ResourceTemplate::new("u:{a}", "a"), ResourceTemplate::new("u:{a}", "b")];
    assert!(Catalog::new().templates(entries(&templates)).check().is_err());
}

#[test]
fn a_catalog_declares_what_it_has() {
    use mcp_sansio::ServerFeatures as Features;

    let tool = [Tool::new("a", OBJECT)];
    let (resource, prompt) = ([Resource::new("u:a", "a")], [Prompt::new("p")]);
    let template = [ResourceTemplate::new("u:{a}", "a")];
    for (catalog, features) in [
        (Catalog::new(), Features::NONE),
        (Catalog::new().tools(entries(&tool)), Features::TOOLS),
        (Catalog::new().resources(entries(&resource)), Features::RESOURCES),
        (Catalog::new().templates(entries(&template)), Features::RESOURCES),
        (Catalog::new().prompts(entries(&prompt)), Features::PROMPTS),
    ] {
        assert_eq!(catalog.features(), features);
    }
}

#[test]
fn comp_01_what_can_be_completed_is_found() {
    let arguments = [PromptArgument::new("a")];
    let (prompt, template) =
        ([Prompt::new("p").arguments(&arguments)], [ResourceTemplate::new("u:{a}", "a")]);
    let prompts =
        json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}});
    let templates = json!({"ref": {"type": "ref/resource", "uri": "u:{a}"}, "argument": {"name": "a", "value": ""}});
    for (catalog, params, other) in [
        (Catalog::new().prompts(entries(&prompt)), &prompts, &templates),
        (Catalog::new().templates(entries(&template)), &templates, &prompts),
    ] {
        let find = |params: &Value| {
            let mut found = None;
            let mut peer = Peer::new(Revision::LATEST);
            peer.ask("completion/complete", params.clone(), |server, request, tx| {
                let target = catalog.target(request);
                found = Some(target.is_ok_and(|it| !matches!(it, Target::Other)));
                server.respond(request.handle, &TextResult::new(""), tx).unwrap();
            });
            found
        };
        assert_eq!((find(params), find(other)), (Some(true), Some(false)), "{params}");
    }
}

#[test]
fn tool_06_names_that_differ_in_case_are_two_tools() {
    let tools = [Tool::new("Echo", OBJECT), Tool::new("echo", OBJECT)];
    let catalog = Catalog::new().tools(entries(&tools));
    assert!(catalog.check().is_ok());
    for revision in REVISIONS {
        let mut peer = Peer::new(revision);
        for name in ["Echo", "echo", "\u{45}cho"] {
            let answer = peer.ask("tools/call", json!({"name": name}), |server, request, tx| {
                let Ok(Target::Tool(tool)) = catalog.respond(server, request, tx) else {
                    panic!("{name} is a tool")
                };
                let text = tool.key().to_string();
                assert_eq!(server.respond(request.handle, &TextResult::new(&text), tx), Ok(()));
            });
            assert_eq!(answer["result"]["content"][0]["text"], name);
        }
        let answer = peer.look_up(&catalog, "tools/call", json!({"name": "ECHO"}));
        assert_eq!(answer["error"]["code"], -32602);
    }
}

#[test]
fn tool_10_input_schemas_of_a_catalog_are_of_objects() {
    for (schema, good) in [
        (r#"{"type":"object"}"#, true),
        (r#"{"properties":{},"type":"\u006fbject"}"#, true),
        ("null", false),
        ("{}", false),
        ("[]", false),
        ("true", false),
        (r#"{"type":null}"#, false),
        (r#"{"type":"array"}"#, false),
        (r#"{"type":["object"]}"#, false),
        (r#""object""#, false),
    ] {
        assert_eq!(fault_of_tool(Tool::new("t", raw(schema))).is_none(), good, "{schema}");
    }
    // The lists of the example, in each revision.
    let catalog = super::everything_catalog::CATALOG;
    for revision in REVISIONS {
        let list = list(&mut Peer::new(revision), &catalog, "tools/list", None);
        let tools = list["result"]["tools"].as_array().expect("a list");
        assert!(
            tools.len() > 20 && tools.iter().all(|tool| tool["inputSchema"]["type"] == "object")
        );
    }
}

#[test]
fn tool_24_a_schema_leaves_the_catalog_as_it_is() {
    let schema = r##"{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","unevaluatedProperties":false,"$defs":{"a":{"$anchor":"x"}},"properties":{"a":{"x-mcp-header":"A","$ref":"#/$defs/a"},"b":1.50},"x-own":[{"\u00e9":null}]}"##;
    let tools = [Tool::new("t", raw(schema)).output_schema(raw(schema))];
    let catalog = Catalog::new().tools(entries(&tools));
    for revision in REVISIONS {
        let mut sent = String::new();
        Peer::new(revision).ask("tools/list", json!({}), |server, request, tx| {
            assert!(matches!(catalog.respond(server, request, tx), Ok(Target::Responded)));
            sent = String::from_utf8(tx.pending().to_vec()).expect("UTF-8");
        });
        let expected = if revision < Revision::V2025_06_18 { 1 } else { 2 };
        assert_eq!(sent.matches(schema).count(), expected, "{revision}: {sent}");
    }
}

fn list(peer: &mut Peer, catalog: &Catalog<'_>, method: &str, cursor: Option<&Value>) -> Value {
    let params = cursor.map_or(json!({}), |cursor| json!({"cursor": cursor}));
    peer.look_up(catalog, method, params)
}

const METHODS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ("prompts/list", "prompts", "name"),
];

#[test]
fn tool_03_all_lists_in_pages_of_any_size() {
    let names: Vec<String> = (0..7).rev().map(|n| format!("u:n{n}")).collect();
    let tools: Vec<Tool> = names.iter().map(|name| Tool::new(&name[2..], OBJECT)).collect();
    let resources: Vec<Resource> = names.iter().map(|name| Resource::new(name, name)).collect();
    let templates: Vec<ResourceTemplate> =
        names.iter().map(|name| ResourceTemplate::new(name, name)).collect();
    let prompts: Vec<Prompt> = names.iter().map(|name| Prompt::new(&name[2..])).collect();
    let whole = Catalog::new()
        .tools(entries(&tools))
        .resources(entries(&resources))
        .templates(entries(&templates))
        .prompts(entries(&prompts));
    assert!(whole.check().is_ok());
    for revision in REVISIONS {
        for size in [1, 2, 3, 6, 7, 8, usize::MAX] {
            let catalog = whole.page_size(size);
            for (method, member, key) in METHODS {
                let mut peer = Peer::new(revision);
                let (mut listed, mut pages, mut next) = (Vec::new(), 0, None);
                while pages == 0 || next.is_some() {
                    let answer = list(&mut peer, &catalog, method, next.as_ref());
                    let entries = answer["result"][member].as_array().expect("a list").iter();
                    listed.extend(entries.map(|it| it[key].as_str().unwrap().to_owned()));
                    next = answer["result"].get("nextCursor").cloned();
                    pages += 1;
                }
                assert_eq!(pages, 7usize.div_ceil(size.min(7)), "{method} {size}");
                let prefix = if key == "name" { 2 } else { 0 };
                let expected: Vec<&str> = names.iter().map(|name| &name[prefix..]).collect();
                assert_eq!(listed, expected, "entries are in the order of the catalog");
            }
        }
    }
}

#[test]
fn cache_01_cache_02_cache_03_the_six_results_say_for_how_long_and_for_whom() {
    static CONFIG: mcp_sansio::ServerConfig<'static> =
        super::support::CONFIG.discover_cache(86_400_000, CacheScope::Private);
    let tools = [Tool::new("t", OBJECT)];
    let catalog = Catalog::new().tools(entries(&tools)).cache(u64::MAX, CacheScope::Private);
    for revision in REVISIONS {
        let mut plain: Peer = Peer::new(revision);
        let mut kept = Peer::with_config(revision, &CONFIG, json!({}));
        let mut results = Vec::new();
        for (method, ..) in METHODS {
            results.push((list(&mut plain, &Catalog::new(), method, None), 0, "public"));
            results.push((list(&mut kept, &catalog, method, None), u64::MAX, "private"));
        }
        let contents = [ResourceContents::text("u:a", "t")];
        let silent = ReadResourceResult::new(&contents);
        for (result, ttl, scope) in [
            (silent, 0, "private"),
            (silent.ttl_ms(5).cache_scope(CacheScope::Public), 5, "public"),
        ] {
            let answer =
                plain.ask("resources/read", json!({"uri": "u:a"}), |server, request, tx| {
                    assert_eq!(server.respond(request.handle, &result, tx), Ok(()));
                });
            results.push((answer, ttl, scope));
        }
        if revision.is_modern() {
            for (peer, ttl, scope) in
                [(&mut plain, 0, "public"), (&mut kept, 86_400_000, "private")]
            {
                let message = peer.request("server/discover", json!({}));
                results.push((peer.say(&message, |_, _, _| {}).remove(0), ttl, scope));
            }
        }
        for (answer, ttl, scope) in results {
            let result = &answer["result"];
            let hints = (result["ttlMs"].as_u64(), result["cacheScope"].as_str());
            assert_eq!(
                hints,
                if revision.is_modern() { (Some(ttl), Some(scope)) } else { (None, None) },
                "{answer}"
            );
        }
    }
}

#[test]
fn res_11_uris_and_templates_follow_rfc_3986() {
    let is_uri = |uri: &str| {
        Catalog::new().resources(&[Entry::from(&Resource::new(uri, "n"))]).check().is_ok()
    };
    let is_template = |template: &str| {
        let template = ResourceTemplate::new(template, "n");
        Catalog::new().templates(&[Entry::from(&template)]).check().is_ok()
    };
    for good in [
        "file:///a",
        "https://example.com/a?b=c#d",
        "custom+x-1.y:z",
        "A:b",
        "urn:isbn:0451450523",
        "db://[::1]:80/a%20b%C3%A9",
        "a:~!$&'()*,;=@",
    ] {
        assert!(is_uri(good) && is_template(good), "{good}");
    }
    for bad in [
        "", ":", "a", "/a", "file", "1a:b", "+a:b", "a_b:c", "é:b", "a:b c", "a:é", "a:b\"",
        "a:<b>", "a:b\\c", "a:b^", "a:b`c", "a:b|c", "a:%", "a:%2", "a:%2g", "a:b%+1", "a:b\n",
    ] {
        assert!(!is_uri(bad) && !is_template(bad), "{bad}");
    }
    for good in [
        "file:///{+path}",
        "u:{a}/{b}",
        "row://{table}/{id}.json",
        "{+uri}",
        "{scheme}:x",
        "u:%20{a}",
    ] {
        assert!(is_template(good) && !is_uri(good), "{good}");
    }
    for bad in [
        "u:{a", "u:a}", "u:{}", "u:{a,b}", "u:{?a}", "u:{a*}", "u:{a:3}", "u:{a}{b}", "u:a b{c}",
        "u:{a}%2", "u:{a b}", "a b:{c}", "1:{c}", "u:}{a}",
    ] {
        assert!(!is_template(bad), "{bad}");
    }
}

/// The template that matches a URI, and two of its variables; the URI is JSON text.
fn variables(template: &str, uri: &str) -> Option<(Option<String>, Option<String>)> {
    let templates = [ResourceTemplate::new(template, "n")];
    let catalog = Catalog::new().templates(entries(&templates));
    assert!(catalog.check().is_ok());
    let mut peer = Peer::new(Revision::V2025_11_25);
    let mut found = None;
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":URI}}"#;
    peer.say_text(&line.replace("URI", uri), |_, event, _| {
        let mcp_sansio::ServerEvent::Request(request) = event else { panic!("{event:?}") };
        let uri = request.uri().expect("a URI");
        if let Ok(target @ Target::Template(_)) = catalog.target(&request) {
            let value = |name| target.variable(name, uri).map(Iterator::collect);
            found = Some((value("a"), value("b")));
        }
    });
    found
}

#[test]
fn templates_match_and_give_their_variables() {
    let some = |a: &str, b: &str| Some((Some(a.to_owned()), Some(b.to_owned())));
    let only = |a: &str| Some((Some(a.to_owned()), None));
    assert_eq!(variables("row://{a}/{b}", r#""row://users/7""#), some("users", "7"));
    // Escaped slashes, as PHP writes them, and other escapes.
    assert_eq!(variables("row://{a}/{b}", r#""row:\/\/users\/7""#), some("users", "7"));
    assert_eq!(
        variables("row://{a}/{b}", r#""\u0072ow://us\u0065rs\u002f\ud83d\ude00""#),
        some("users", "😀")
    );
    assert_eq!(variables("u:{a}.json", r#""u:x.json""#), only("x"));
    assert_eq!(variables("file:///{+a}", r#""file:///x/y?z""#), only("x/y?z"));
    assert_eq!(variables("u:{a}", r#""u:%2e%2e""#), only("%2e%2e"), "variables are not decoded");
    for (template, uri) in [
        ("row://{a}/{b}", r#""row://users/""#),
        ("row://{a}/{b}", r#""row:///7""#),
        ("row://{a}/{b}", r#""row://users/7/8""#),
        ("row://{a}/{b}", r#""row://users/7?x""#),
        ("row://{a}/{b}", r#""row://users""#),
        ("row://{a}/{b}", r#""ROW://users/7""#),
        ("u:{a}.json", r#""u:x.jso""#),
        ("u:{a}", r#""u:""#),
        ("u:x", r#""u:xy""#),
    ] {
        assert_eq!(variables(template, uri), None, "{template} {uri}");
    }
    let long = format!("\"u:{}\"", "x".repeat(3000));
    assert_eq!(variables("u:{a}", &long), only(&"x".repeat(3000)));
}
