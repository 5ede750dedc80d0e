//! Skills: what a catalog says about them, of their files and directories.

use mcp_sansio::types::{
    CacheScope, Implementation, ResourceData, Skill, SkillResource, SkillResources, Text,
};
use mcp_sansio::{
    Catalog, RawJson, Revision, ServedSkill, ServerConfig, ServerFeatures, Target, skill,
};
use serde_json::{Value, json};

use super::support::{Peer, REVISIONS, can_do_everything, declared};

static SKILLS: &[ServedSkill<'static>] = &[
    skill!("skill://lab/soldering" in "../../../../examples/skills/soldering", "references/IRONS.md"),
    skill!("skill://tea" in "skills/tea", "cups/SKILL.md", "cups/small/one.bin", "pots.json"),
    skill!("skill://tea/cups" in "skills/tea/cups", "small/one.bin"),
];
static CATALOG: Catalog<'static> =
    Catalog::new().skills(SKILLS).cache(60_000, CacheScope::Private).page_size(2);
static CONFIG: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), CATALOG.features()).send_server_info(false);
static WITHOUT: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::RESOURCES);

const KNOW_SKILLS: [Revision; 3] =
    [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];

fn peer(revision: Revision) -> Peer {
    Peer::with_config(revision, &CONFIG, can_do_everything())
}

/// Returns the result of a request.
fn result(revision: Revision, method: &str, params: Value) -> Value {
    let answer = peer(revision).look_up(&CATALOG, method, params);
    answer.get("result").cloned().unwrap_or_else(|| panic!("{answer}"))
}

fn code(method: &str, params: Value) -> Value {
    code_in(Revision::LATEST, method, params)
}

fn code_in(revision: Revision, method: &str, params: Value) -> Value {
    peer(revision).look_up(&CATALOG, method, params)["error"]["code"].clone()
}

/// Returns all pages of a list.
fn all(revision: Revision, method: &str, member: &str) -> Vec<Value> {
    let (mut found, mut params) = (Vec::new(), json!({}));
    loop {
        let page = result(revision, method, params);
        found.extend(page[member].as_array().expect("a list").clone());
        match page.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return found,
        }
    }
}

#[test]
fn skl_01_skills_are_declared_with_resources_and_settings_of_their_own() {
    const ID: &str = "io.modelcontextprotocol/skills";
    static PLAIN: ServerConfig<'static> =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::SKILLS)
            .extensions(RawJson::from_static(r#"{"com.example/own":{"a":1}}"#));
    for revision in REVISIONS {
        let (full, plain) = (declared(revision, &CONFIG), declared(revision, &PLAIN));
        assert_eq!(full["resources"], json!({}), "{revision:?}");
        let is_known = KNOW_SKILLS.contains(&revision);
        let expected = if is_known { json!({"directoryRead": true}) } else { Value::Null };
        assert_eq!(full["extensions"][ID], expected, "{revision:?}");
        let expected =
            if is_known { json!({"com.example/own": {"a": 1}, ID: {}}) } else { Value::Null };
        assert_eq!(plain["extensions"], expected, "{revision:?}");
        assert_eq!(declared(revision, &WITHOUT)["extensions"], Value::Null);
    }
}

#[test]
fn skl_02_methods_of_skills_exist_where_they_are_declared() {
    let uri = json!({"uri": "skill://tea/SKILL.md"});
    for method in ["skills/list", "skills/get", "resources/directory/read"] {
        for revision in REVISIONS {
            let answers = |config| {
                let mut peer = Peer::with_config(revision, config, can_do_everything());
                let request = peer.request(method, uri.clone());
                let mut handled = 0;
                let sent = peer.say(&request, |_, event, _| {
                    handled += usize::from(matches!(event, mcp_sansio::ServerEvent::Request(_)));
                });
                (handled, sent.first().map(|sent| sent["error"]["code"].clone()))
            };
            assert_eq!(answers(&WITHOUT), (0, Some(json!(-32601))), "{method} {revision:?}");
            let expected =
                if KNOW_SKILLS.contains(&revision) { (1, None) } else { (0, Some(json!(-32601))) };
            assert_eq!(answers(&CONFIG), expected, "{method} {revision:?}");
        }
    }
}

#[test]
fn skl_04_skl_05_skl_07_skl_08_skl_09_an_entry_is_what_its_files_say() {
    for revision in KNOW_SKILLS {
        let skills = all(revision, "skills/list", "skills");
        let uris: Vec<_> = skills.iter().map(|skill| skill["uri"].as_str().unwrap()).collect();
        assert_eq!(
            uris,
            ["skill://lab/soldering/SKILL.md", "skill://tea/SKILL.md", "skill://tea/cups/SKILL.md"]
        );
        assert_eq!(
            skills[1],
            json!({
                "uri": "skill://tea/SKILL.md",
                "frontmatter": {
                    "name": "tea",
                    "description": "Makes tea. Not \"coffee\".",
                    "metadata": {"strength": "4", "hot": true},
                },
                // The digests are of the tool `sha256sum`.
                "resources": [
                    {"uri": "skill://tea/SKILL.md", "digest": SUMS[0], "size": 126},
                    {"uri": "skill://tea/cups/SKILL.md", "digest": SUMS[1], "size": 53},
                    {"uri": "skill://tea/cups/small/one.bin", "digest": SUMS[2], "size": 4},
                    {"uri": "skill://tea/pots.json", "digest": SUMS[3], "size": 12},
                ],
            })
        );
        // The files of a nested skill are also files of the skill around it.
        assert_eq!(skills[2]["resources"][0], skills[1]["resources"][1]);
    }
}

#[test]
fn skl_06_the_resource_of_a_skill_has_the_name_and_description_of_its_frontmatter() {
    let listed = all(Revision::LATEST, "resources/list", "resources");
    assert_eq!(listed.len(), 3);
    assert_eq!(
        listed[1],
        json!({"uri": "skill://tea/SKILL.md", "name": "tea", "mimeType": "text/markdown",
            "description": "Makes tea. Not \"coffee\".", "size": 126})
    );
}

#[test]
fn skl_11_results_about_skills_are_complete_and_have_cache_hints() {
    let get = json!({"uri": "skill://tea/SKILL.md"});
    for (method, params) in [("skills/list", json!({})), ("skills/get", get)] {
        let modern = result(Revision::LATEST, method, params.clone());
        assert_eq!(modern["resultType"], "complete", "{method}");
        assert_eq!((&modern["ttlMs"], &modern["cacheScope"]), (&json!(60_000), &json!("private")));
        let legacy = result(Revision::V2025_11_25, method, params);
        assert_eq!((legacy.get("resultType"), legacy.get("ttlMs")), (None, None), "{method}");
    }
    let directory = json!({"uri": "skill://tea"});
    let directory = result(Revision::LATEST, "resources/directory/read", directory);
    assert_eq!((&directory["resultType"], directory.get("ttlMs")), (&json!("complete"), None));
}

#[test]
fn skl_12_a_list_of_skills_has_pages_of_whole_entries() {
    let page = result(Revision::LATEST, "skills/list", json!({}));
    assert_eq!(page["skills"].as_array().unwrap().len(), 2);
    let next = json!({"cursor": page["nextCursor"]});
    let last = result(Revision::LATEST, "skills/list", next.clone());
    assert_eq!(last["skills"].as_array().unwrap().len(), 1);
    assert_eq!(last.get("nextCursor"), None);
    // The cursor of one list is not that of another.
    assert_eq!(code("resources/list", next), -32602);
    for wrong in [json!("1"), json!(""), json!(7), json!("-2"), json!("99999999999999999999")] {
        let mut peer = peer(Revision::LATEST);
        let request = peer.request("skills/list", json!({"cursor": wrong}));
        let sent = peer.say(&request, |server, event, tx| {
            if let mcp_sansio::ServerEvent::Request(request) = event {
                CATALOG.respond(server, &request, tx).unwrap();
            }
        });
        assert_eq!(sent[0]["error"]["code"], -32602, "{wrong}");
    }
}

#[test]
fn skl_13_a_skill_is_returned_by_the_uri_of_its_skill_md_and_no_other() {
    for revision in KNOW_SKILLS {
        let listed = all(revision, "skills/list", "skills");
        for entry in &listed {
            let got = result(revision, "skills/get", json!({"uri": entry["uri"]}));
            assert_eq!((&got["skill"], got.get("nextCursor")), (entry, None));
        }
    }
    for unknown in [
        "skill://tea",
        "skill://tea/",
        "skill://tea/pots.json",
        "skill://lab/SKILL.md",
        "skill://TEA/SKILL.md",
        "skill://tea/./SKILL.md",
        "http://tea/SKILL.md",
    ] {
        assert_eq!(code("skills/get", json!({"uri": unknown})), -32602, "{unknown}");
    }
}

#[test]
fn skl_14_res_03_each_file_of_a_skill_can_be_read() {
    let read = |uri: &str| result(Revision::LATEST, "resources/read", json!({"uri": uri}));
    let pots = read("skill://tea/pots.json");
    assert_eq!(
        pots["contents"],
        json!([{"uri": "skill://tea/pots.json", "mimeType": "application/json",
            "text": "{\"pots\": 2}\n"}])
    );
    assert_eq!((&pots["ttlMs"], &pots["cacheScope"]), (&json!(60_000), &json!("private")));
    let one = &read("skill://tea/cups/small/one.bin")["contents"][0];
    assert_eq!(
        (&one["blob"], &one["mimeType"]),
        (&json!("/wCAgQ=="), &json!("application/octet-stream"))
    );
    let skill_md = &read("skill://tea/cups/SKILL.md")["contents"][0];
    assert_eq!(skill_md["mimeType"], "text/markdown");
    assert!(skill_md["text"].as_str().unwrap().starts_with("---\nname: cups\n"));
    for revision in KNOW_SKILLS {
        let read = result(revision, "resources/read", json!({"uri": "skill://tea/pots.json"}));
        assert_eq!(read["contents"], pots["contents"], "{revision}");
        // The specification of skills is for 2026-07-28: before it the older rule holds.
        let not_found = if revision.is_modern() { -32602 } else { -32002 };
        for unknown in
            ["skill://tea", "skill://tea/cups", "skill://tea/x.md", "skill://tea/pots.json?x"]
        {
            let code = code_in(revision, "resources/read", json!({"uri": unknown}));
            assert_eq!(code, not_found, "{unknown} {revision}");
        }
    }
}

#[test]
fn skl_15_a_directory_lists_what_is_directly_in_it() {
    let read = |uri: &str| {
        let read = result(Revision::V2025_06_18, "resources/directory/read", json!({"uri": uri}));
        let children = read["resources"].as_array().unwrap().iter();
        let members = ["uri", "name", "mimeType"];
        let of = |child: &Value| members.map(|it| child[it].as_str().unwrap().to_owned());
        children.map(of).collect::<Vec<_>>()
    };
    const DIRECTORY: &str = "inode/directory";
    assert_eq!(
        read("skill://tea"),
        [
            ["skill://tea/SKILL.md", "SKILL.md", "text/markdown"],
            ["skill://tea/cups", "cups", DIRECTORY],
            ["skill://tea/pots.json", "pots.json", "application/json"],
        ]
    );
    assert_eq!(
        read("skill://tea/cups"),
        [
            ["skill://tea/cups/SKILL.md", "SKILL.md", "text/markdown"],
            ["skill://tea/cups/small", "small", DIRECTORY],
        ]
    );
    let one = ["skill://tea/cups/small/one.bin", "one.bin", "application/octet-stream"];
    assert_eq!(read("skill://tea/cups/small"), [one]);
    for wrong in [
        "skill://tea/",
        "skill://tea/cups/",
        "skill://tea/SKILL.md",
        "skill://te",
        "skill://lab",
        "skill://te/a",
        "skill:/",
        "skill://tea/cup",
        "skill://tea/cups/small/one.bin",
    ] {
        assert_eq!(code("resources/directory/read", json!({"uri": wrong})), -32602, "{wrong}");
    }
    let again = json!({"uri": "skill://tea", "cursor": "1"});
    assert_eq!(code("resources/directory/read", again), -32602);
}

#[test]
fn skl_08_a_dynamic_skill_is_listed_and_its_files_are_left_to_the_application() {
    const FRONTMATTER: RawJson<'static> =
        RawJson::from_static(r#"{"name":"daily","description":"Reports the day"}"#);
    static DAILY: ServedSkill<'static> = ServedSkill::new(
        Skill::new("skill://reports/daily/SKILL.md", FRONTMATTER, SkillResources::Dynamic),
        &[],
    );
    let catalog = Catalog::new().skills(core::slice::from_ref(&DAILY));
    assert!(catalog.check().is_ok());
    assert!(catalog.features().contains(ServerFeatures::SKILLS));
    assert!(!catalog.features().contains(ServerFeatures::SKILLS_DIRECTORIES));
    let mut peer = peer(Revision::LATEST);
    let listed = peer.look_up(&catalog, "skills/list", json!({}));
    assert_eq!(listed["result"]["skills"][0]["resources"], "dynamic");
    for (method, uri, is_left) in [
        ("resources/directory/read", "skill://reports/daily", true),
        ("resources/read", "skill://reports/daily/SKILL.md", true),
        ("resources/read", "skill://reports/daily/sales/today.md", true),
        ("resources/read", "skill://reports/daily/../weekly/SKILL.md", false),
        ("resources/read", "skill://reports/dailies/SKILL.md", false),
    ] {
        let request = peer.request(method, json!({"uri": uri}));
        let sent = peer.say(&request, |server, event, tx| {
            let mcp_sansio::ServerEvent::Request(request) = event else { panic!("{event:?}") };
            let found = catalog.respond(server, &request, tx);
            assert_eq!(matches!(found, Ok(Target::Other)), is_left, "{uri}: {found:?}");
        });
        assert_eq!(sent.is_empty(), is_left, "{uri}");
    }
}

#[test]
fn a_file_whose_name_cannot_stand_in_a_uri_does_not_compile() {
    use mcp_sansio::internal::skills::{DIGEST, files};
    const DIGESTS: [[u8; DIGEST]; 2] = [[b'0'; DIGEST]; 2];
    // The directory is a URI as it is written.
    let compiles = |name: &'static str| {
        let uris = ["skill://a%20b/SKILL.md", name];
        std::panic::catch_unwind(|| files::<2>(&uris, &[b"", b""], &DIGESTS)).is_ok()
    };
    assert!(compiles("skill://a%20b/to/A-z_0~9.md"));
    for name in ["a b.md", "100%.md", "a?", "a#b", "a\\b", "\u{e9}"] {
        assert!(!compiles(format!("skill://a%20b/{name}").leak()), "{name}");
    }
}

#[test]
fn skl_10_a_catalog_checks_skills_of_the_running_program() {
    let frontmatter = RawJson::from_static(r#"{"name":"a","description":"b"}"#);
    let digest = SUMS[0];
    let files = [SkillResource::new("skill://a/SKILL.md", digest, 1)];
    let contents = [ResourceData::Text(Text::new("x"))];
    let entry = |uri| Skill::new(uri, frontmatter, SkillResources::Files((&files).into()));
    let fault = |skills: &[ServedSkill<'_>]| {
        Catalog::new().skills(skills).check().err().map(|error| error.reason)
    };
    let good = ServedSkill::new(entry("skill://a/SKILL.md"), &contents);
    let good = [good.clone(), good];
    assert_eq!(fault(&good[..1]), None);
    assert_eq!(fault(&good), Some("two skills have this URI"));
    let bare = ServedSkill::new(entry("skill://a/SKILL.md"), &[]);
    assert_eq!(fault(&[bare]), Some("a skill must have the contents of its files"));
    let misnamed = ServedSkill::new(entry("skill://b/SKILL.md"), &contents);
    assert_eq!(fault(&[misnamed]), Some("the last directory of its URI must be its name"));
    let large = [SkillResource::new("skill://a/SKILL.md", digest, (16 << 20) + 1)];
    let large = SkillResources::Files((&large).into());
    let large = Skill::new("skill://a/SKILL.md", frontmatter, large);
    let reason = "the files of a skill have at most 16 MiB";
    assert_eq!(fault(&[ServedSkill::new(large, &contents)]), Some(reason));
    // `SKILL.md` is listed with its own size wherever it stands.
    let files = [SkillResource::new("skill://a/b.md", SUMS[1], 2), files[0]];
    let files = SkillResources::Files((&files).into());
    let skill = Skill::new("skill://a/SKILL.md", frontmatter, files);
    let contents = [contents[0]; 2];
    let skill = ServedSkill::new(skill, &contents);
    let lists = Catalog::new().skills(core::slice::from_ref(&skill)).snapshot(Revision::LATEST);
    assert!(lists.lines().nth(1).is_some_and(|resource| resource.ends_with(r#""size":1}"#)));
}

/// Written by `sha256sum`.
const SUMS: [&str; 4] = [
    "sha256:a1f6195ab9d4c8bd418992822c990d0b9e5c233ed826201eb1bfe01dfad60630",
    "sha256:bde0f9ef6402f907e6c460e4968b729b75ec8a859836867d2c1646daa45a1f8f",
    "sha256:826bb44f66e91b53614652b356e75bba9ee412129bff3ac57a4544aba0f39b57",
    "sha256:d79519870ebf416c2c94b951f29af2d975676acfb23c417ee690dbab8f670661",
];
