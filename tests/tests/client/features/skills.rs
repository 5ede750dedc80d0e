//! Skills: what a client checks before it uses one.

use mcp_sansio::types::{GetSkillResult, Skill, SkillResources};
use mcp_sansio::{
    CallOptions, MAX_FRONTMATTER_JSON, NotAllowed, OwnedJson, RawJson, Revision, SendError,
    SkillError,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::support::{CONFIG, Peer, REVISIONS, raw};

const SKILL_MD: &str = "---\nname: tea\ndescription: Makes tea\n---\nBoil water.\n";

fn digest(content: &[u8]) -> String {
    let hex: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn file(uri: &str, content: &str) -> Value {
    json!({"uri": uri, "digest": digest(content.as_bytes()), "size": content.len()})
}

fn entry() -> Value {
    json!({
        "uri": "skill://tea/SKILL.md",
        "frontmatter": {"name": "tea", "description": "Makes tea"},
        "resources": [file("skill://tea/SKILL.md", SKILL_MD), file("skill://tea/a/pots.md", "Two.")],
    })
}

/// Calls `check` with the entry, as it is received.
fn with<R>(entry: &Value, check: impl FnOnce(&Skill<'_>) -> R) -> R {
    let text = entry.to_string();
    check(&RawJson::parse(&text).unwrap().to::<Skill<'_>>().unwrap())
}

#[test]
fn skl_03_methods_of_skills_are_sent_only_to_servers_that_declared_them() {
    for revision in REVISIONS {
        for method in ["skills/list", "skills/get", "resources/directory/read"] {
            let params = raw(r#"{"uri":"skill://tea/SKILL.md"}"#);
            let result = Peer::new(revision).tries(method, &params, CallOptions::new());
            let refused = |rule| Err(SendError::NotAllowed(rule));
            let expected = match revision {
                Revision::V2024_11_05 | Revision::V2025_03_26 => refused(NotAllowed::Revision),
                // This client has not asked what the server declares.
                Revision::V2026_07_28 if method.starts_with("skills/") => Ok(()),
                _ => refused(NotAllowed::Capability),
            };
            assert_eq!(result, expected, "{method} {revision:?}");
        }
    }
}

#[test]
fn skl_03_directories_are_read_only_where_the_settings_say_so() {
    let uri = raw(r#"{"uri":"skill://tea/SKILL.md"}"#);
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        for (settings, reads_directories) in [
            (json!({}), false),
            (json!({"directoryRead": false}), false),
            (json!({"directoryRead": "true"}), false),
            (json!({"directoryread": true}), false),
            (json!({"directoryRead": true}), true),
        ] {
            let id = "io.modelcontextprotocol/skills";
            let declared = json!({"resources": {}, "extensions": {id: settings}});
            let mut peer = match revision {
                Revision::V2026_07_28 => Peer::discovers(&declared),
                _ => Peer::with(&CONFIG, revision, &declared),
            };
            for (method, is_declared) in [
                ("skills/list", true),
                ("skills/get", true),
                ("resources/directory/read", reads_directories),
            ] {
                let sent = peer.tries(method, &uri, CallOptions::new());
                let refused = Err(SendError::NotAllowed(NotAllowed::Capability));
                let expected = if is_declared { Ok(()) } else { refused };
                assert_eq!(sent, expected, "{method} {settings} {revision}");
            }
        }
    }
}

#[test]
fn skl_08_entries_of_another_form_are_no_skills() {
    for resources in [json!(null), json!({}), json!("static"), json!(1), json!(true)] {
        let entry =
            json!({"uri": "skill://tea/SKILL.md", "frontmatter": {}, "resources": resources});
        let text = entry.to_string();
        assert!(RawJson::parse(&text).unwrap().to::<Skill<'_>>().is_err(), "{resources}");
    }
    let without = r#"{"uri":"skill://tea/SKILL.md","frontmatter":{}}"#;
    assert!(RawJson::parse(without).unwrap().to::<Skill<'_>>().is_err());
    let mut dynamic = entry();
    dynamic["resources"] = json!("dynamic");
    with(&dynamic, |skill| {
        assert!(matches!(skill.resources, SkillResources::Dynamic));
        assert_eq!(skill.check(), Ok(()));
    });
}

#[test]
fn skl_05_skl_08_skl_09_an_entry_that_breaks_a_rule_is_refused() {
    with(&entry(), |skill| assert_eq!(skill.check(), Ok(())));
    let changed = |path: &str, value: Value| {
        let mut entry = entry();
        *entry.pointer_mut(path).unwrap() = value;
        entry
    };
    let short = format!("sha256:{}", "0".repeat(63));
    for (broken, rule) in [
        (changed("/uri", json!("skill://tea/skill.md")), "its URI must end with"),
        (changed("/uri", json!("skill://coffee/SKILL.md")), "the last directory of its URI"),
        (changed("/uri", json!("skill://x/SKILL.md?tea/SKILL.md")), "its URI must end with"),
        (changed("/frontmatter/name", json!("Tea")), "a name must be"),
        (changed("/frontmatter/name", json!("")), "a name must be"),
        (changed("/frontmatter/name", json!("t--a")), "a name must be"),
        (changed("/frontmatter/name", json!(1)), "it has no name"),
        (changed("/frontmatter/description", json!("")), "it has no description"),
        (changed("/resources/0", json!(1)), "a file must have"),
        (changed("/resources/0/size", json!(-1)), "a file must have"),
        (changed("/resources/0/size", json!("53")), "a file must have"),
        (changed("/resources/0/digest", json!("md5:00")), "a digest must be"),
        (changed("/resources/0/digest", json!(short)), "a digest must be"),
        (changed("/resources/0/digest", json!(format!("{short}A"))), "a digest must be"),
        (changed("/resources/0/uri", json!("skill://tea/b.md")), "its files lack SKILL.md"),
        (changed("/resources/1/uri", json!("skill://tea/SKILL.md")), "two files have"),
        (changed("/resources/1/uri", json!("skill://teapot/a.md")), "a file is not in"),
        (changed("/resources/1/uri", json!("skill://tea/../b.md")), "a file is not in"),
        (changed("/resources/1/uri", json!("skill://tea/a/%2e%2E/b.md")), "a file is not in"),
        (changed("/resources/1/uri", json!("skill://tea/a%2fb.md")), "a file is not in"),
        (changed("/resources/1/uri", json!("skill://tea/a/")), "a file is not in"),
        (changed("/resources/1/uri", json!("skill://tea//a.md")), "a file is not in"),
        (changed("/resources/1/uri", json!("skill://tea/a.md#b")), "a file is not in"),
    ] {
        let error = with(&broken, |skill| skill.check()).unwrap_err();
        assert!(
            matches!(error, SkillError::Entry(text) if text.starts_with(rule)),
            "{error} {rule}"
        );
    }
}

#[test]
fn skl_10_a_skill_at_the_limits_is_accepted_and_one_beyond_them_says_why() {
    let of = |count: usize, size: u64| {
        let mut entry = entry();
        let sum = digest(b"");
        let files = (1..count)
            .map(|at| json!({"uri": format!("skill://tea/{at}.md"), "digest": sum, "size": 0}));
        let own = json!({"uri": "skill://tea/SKILL.md", "digest": sum, "size": size});
        entry["resources"] = std::iter::once(own).chain(files).collect();
        with(&entry, |skill| skill.check())
    };
    assert_eq!((of(512, 0), of(1, 16 << 20)), (Ok(()), Ok(())));
    assert_eq!(of(513, 0), Err(SkillError::TooManyFiles));
    assert_eq!(of(1, (16 << 20) + 1), Err(SkillError::TooLarge));
    assert_eq!(SkillError::TooManyFiles.to_string(), "the skill has more than 512 files");
}

#[test]
fn skl_16_skl_17_skl_24_only_listed_files_with_their_size_and_digest_are_used() {
    with(&entry(), |skill| {
        let pots = "skill://tea/a/pots.md";
        assert_eq!(skill.verify(pots, b"Two."), Ok(()));
        assert_eq!(skill.verify(pots, b"Six."), Err(SkillError::Digest));
        let size = SkillError::Size { expected: 4, actual: 5 };
        assert_eq!(skill.verify(pots, b"Two.\n"), Err(size));
        assert_eq!(size.to_string(), "the file has 5 bytes instead of 4");
        // A directory may list a file that the entry does not have.
        for unlisted in ["skill://tea/a/new.md", "skill://tea/a", "skill://other/SKILL.md", ""] {
            assert_eq!(skill.file(unlisted).unwrap_err(), SkillError::Unlisted);
            assert_eq!(skill.verify(unlisted, b"Two."), Err(SkillError::Unlisted));
        }
    });
}

#[test]
fn skl_08_skl_10_of_a_dynamic_skill_only_the_directory_and_the_size_are_known() {
    let mut dynamic = entry();
    dynamic["resources"] = json!("dynamic");
    with(&dynamic, |skill| {
        assert_eq!(skill.verify("skill://tea/any.md", b"Any."), Ok(()));
        assert_eq!(skill.verify("skill://coffee/any.md", b"Any."), Err(SkillError::Unlisted));
        assert_eq!(skill.verify("skill://tea/../any.md", b"Any."), Err(SkillError::Unlisted));
        let large = vec![0; (16 << 20) + 1];
        assert_eq!(skill.verify("skill://tea/any.md", &large[1..]), Ok(()));
        assert_eq!(skill.verify("skill://tea/any.md", &large), Err(SkillError::TooLarge));
    });
}

#[test]
fn skl_07_skl_18_the_frontmatter_is_compared_field_by_field() {
    let verify = |skill_md: &str, frontmatter: Value| {
        let mut entry = entry();
        entry["frontmatter"] = frontmatter;
        with(&entry, |skill| {
            skill.verify_frontmatter(skill_md.as_bytes(), &mut vec![0; MAX_FRONTMATTER_JSON])
        })
    };
    let skill_md =
        "---\nmetadata:\n  level: 1.50\n  tags: [a, b]\nname: tea\ndescription: |\n  Ü\n---\n";
    let same = json!({"name": "tea", "description": "\u{dc}\n",
        "metadata": {"tags": ["a", "b"], "level": 1.5}});
    assert_eq!(verify(skill_md, same.clone()), Ok(()));
    for (path, value) in [
        ("/name", json!("Tea")),
        ("/description", json!("Ü")),
        ("/metadata/level", json!("1.50")),
        ("/metadata/tags", json!(["b", "a"])),
        ("/metadata/tags", json!(["a"])),
        ("/metadata/tags", json!(["a", "b", "c"])),
        ("/metadata", json!(null)),
    ] {
        let mut other = same.clone();
        *other.pointer_mut(path).unwrap() = value;
        assert_eq!(verify(skill_md, other), Err(SkillError::FrontmatterDiffers), "{path}");
    }
    // A member more or less, also where the number of members is the same.
    let mut more = same.clone();
    more["allowed-tools"] = json!("Bash");
    assert_eq!(verify(skill_md, more.clone()), Err(SkillError::FrontmatterDiffers));
    more.as_object_mut().unwrap().remove("metadata");
    assert_eq!(verify(skill_md, more), Err(SkillError::FrontmatterDiffers));
    let no_frontmatter = verify("# Tea\n", same.clone());
    assert!(matches!(no_frontmatter, Err(SkillError::Frontmatter(_))), "{no_frontmatter:?}");
    let twice = verify("---\nname: tea\nname: coffee\n---\n", same);
    assert_eq!(twice, Err(SkillError::Frontmatter("a key occurs twice")));
}

/// Comparing them costs the number of members of the file times the length of the entry.
#[test]
fn skl_18_frontmatter_with_repeated_keys_or_longer_than_any_file_s_is_another() {
    let verify = |frontmatter: &str| {
        let frontmatter = RawJson::parse(frontmatter).unwrap();
        Skill::new("skill://tea/SKILL.md", frontmatter, SkillResources::Dynamic)
            .verify_frontmatter(SKILL_MD.as_bytes(), &mut vec![0; MAX_FRONTMATTER_JSON])
    };
    let entry = r#"{"name":"tea","description":"Makes tea"}"#;
    let longest = " ".repeat(MAX_FRONTMATTER_JSON - entry.len());
    assert_eq!(verify(entry), Ok(()));
    assert_eq!(verify(&entry.replace(',', &format!("{longest},"))), Ok(()));
    for other in [
        &entry.replace("description", "name"),
        &entry.replace("Makes ", "").replace("description", "name"),
        &entry.replace(',', &format!("{longest} ,")),
    ] {
        assert_eq!(verify(other), Err(SkillError::FrontmatterDiffers));
    }
}

#[test]
fn skl_11_hints_of_an_entry_are_read_leniently() {
    let result = json!({"skill": entry(), "ttlMs": -1}).to_string();
    let result = OwnedJson::from(RawJson::parse(&result).unwrap());
    let result = result.as_json().to::<GetSkillResult<'_>>().unwrap();
    assert_eq!((result.ttl_ms, result.cache_scope), (Some(0), None));
    assert!(result.skill.name().unwrap() == "tea");
}
