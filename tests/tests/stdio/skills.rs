//! Skills, between the adapters' clients and a server that a test can make dishonest.

use std::sync::{Arc, Mutex};

use mcp_sansio::types::{
    EmptyResult, GetSkillResult, Implementation, ListSkillsResult, ReadResourceResult,
    ResourceContents, ResourceData, Skill, Text,
};
use mcp_sansio::{
    Catalog, Era, Method, ServedSkill, ServerConfig, ServerFeatures, SkillError, skill,
};
use mcp_sansio_adapters::asynchronous::client::{CallError, Connector};
use mcp_sansio_adapters::asynchronous::{App as AsyncApp, Context};
use mcp_sansio_adapters::blocking::App;
use mcp_sansio_adapters::blocking::client::{Client, Error};

use super::CLIENT;

static SERVER: ServerConfig =
    ServerConfig::new(Implementation::new("server", "1"), ServerFeatures::SKILLS_DIRECTORIES);
static CATALOG: Catalog = Catalog::new().skills(SKILLS).page_size(1);
static SKILLS: &[ServedSkill] = &[
    skill!("skill://tea" in "../server/features/skills/tea", "cups/small/one.bin", "pots.json"),
    skill!("skill://lab/soldering" in "../../../examples/skills/soldering", "references/IRONS.md"),
];
const TEA: &str = "skill://tea/SKILL.md";
const POTS: &str = "skill://tea/pots.json";

/// Returns why a call about a skill failed.
fn fault<R: std::fmt::Debug>(result: Result<R, Error>) -> SkillError {
    let Err(Error::Call { error: CallError::Skill(fault), .. }) = result else {
        panic!("{result:?}")
    };
    fault
}

/// Calls `check` with the entry of the skill.
fn with_tea<R>(client: &mut Client<'_>, check: impl FnOnce(&mut Client<'_>, &Skill<'_>) -> R) -> R {
    let entry = client.get_skill(TEA).unwrap();
    let skill = entry.as_json().to::<GetSkillResult<'_>>().unwrap().skill;
    check(client, &skill)
}

#[test]
fn skl_12_skl_16_skl_20_a_skill_is_listed_loaded_by_its_uri_and_read() {
    for era in Era::ALL {
        let server = App::new(&SERVER).catalog(&CATALOG).memory(|_| Ok(()));
        let mut client = server.connect(&CLIENT, era).unwrap();
        let listed = client.list_skills().unwrap();
        assert_eq!((listed.len(), listed.pages().len()), (2, 2));
        // A skill that no list has is loaded in the same way.
        with_tea(&mut client, |client, skill| {
            assert_eq!(skill.name().unwrap(), "tea");
            let skill_md = client.read_skill_file(skill, TEA).unwrap();
            assert!(skill_md.ends_with(b"Boil water.\n"));
            assert_eq!(client.read_skill_file(skill, POTS).unwrap(), b"{\"pots\": 2}\n");
            let one = client.read_skill_file(skill, "skill://tea/cups/small/one.bin").unwrap();
            assert_eq!(one, b"\xff\x00\x80\x81");
        });
        if era == Era::Modern {
            // It has not asked what the server declares.
            let unknown = client.read_directory("skill://tea");
            let Err(Error::Call { error: CallError::NotSent(_), .. }) = unknown else {
                panic!("{unknown:?}")
            };
            continue;
        }
        let children = client.read_directory("skill://tea").unwrap();
        let names: Vec<_> = children.iter().map(|child| child.unwrap().name.to_string()).collect();
        assert_eq!(names, ["SKILL.md", "cups", "pots.json"]);
        let file = client.read_directory(POTS);
        let Err(Error::Call { error: CallError::Server(error), .. }) = file else {
            panic!("{file:?}")
        };
        assert_eq!(error.code, -32602);
    }
}

#[test]
fn skl_16_skl_19_skl_20_skills_are_read_with_the_asynchronous_client() {
    let app = AsyncApp::new(&SERVER, async |ctx: Context| ctx.reply(&EmptyResult::new()))
        .catalog(&CATALOG);
    smol::block_on(app.memory(Connector::new(&CLIENT), async |client| {
        assert_eq!(client.list_skills().await.unwrap().len(), 2);
        let entry = client.get_skill(TEA).await.unwrap();
        let skill = entry.as_json().to::<GetSkillResult<'_>>().unwrap().skill;
        assert_eq!(client.read_skill_file(&skill, POTS).await.unwrap(), b"{\"pots\": 2}\n");
        let unlisted = client.read_skill_file(&skill, "skill://tea/cups/SKILL.md").await;
        assert!(matches!(unlisted, Err(CallError::Skill(SkillError::Unlisted))));
        let children = client.read_directory("skill://tea/cups").await.unwrap();
        assert_eq!(children.iter().next().unwrap().unwrap().name, "small");
        let unknown = client.get_skill("skill://coffee/SKILL.md").await;
        assert!(matches!(unknown, Err(CallError::Server(error)) if error.code == -32602));
    }));
}

#[test]
fn skl_16_skl_17_skl_18_skl_19_a_dishonest_server_is_found_out_and_asked_for_nothing_early() {
    // Respond to everything by hand: with what `lie` makes of a file.
    let requests = Arc::new(Mutex::new(Vec::new()));
    let served = Arc::clone(&requests);
    let lie = Arc::new(Mutex::new(String::new()));
    let lies = Arc::clone(&lie);
    let mut client = App::new(&SERVER)
        .memory(move |ctx| {
            let skill = SKILLS[0].skill();
            let request = ctx.request()?;
            let uri = request.uri().map(|uri| uri.to_string()).unwrap_or_default();
            served.lock().unwrap().push(format!("{} {uri}", request.method));
            let text = lies.lock().unwrap().clone();
            let (uri, text) = text.split_once(' ').unwrap_or((&uri, &text));
            let contents = ResourceData::Text(Text::new(text));
            let contents = [ResourceContents::new(Text::new(uri), contents)];
            match request.method {
                Method::SkillsList => ctx.respond(&ListSkillsResult::new(&[skill])),
                Method::SkillsGet => ctx.respond(&GetSkillResult::new(skill)),
                _ => ctx.respond(&ReadResourceResult::new(&contents)),
            }
        })
        .connect(&CLIENT, Era::Modern)
        .unwrap();
    client.list_skills().unwrap();
    // The server returns the entry of another skill.
    let other = fault(client.get_skill("skill://lab/soldering/SKILL.md"));
    assert!(matches!(other, SkillError::Entry(_)), "{other}");
    with_tea(&mut client, |client, skill| {
        let early = [
            "skills/list ",
            "skills/get skill://lab/soldering/SKILL.md",
            "skills/get skill://tea/SKILL.md",
        ];
        assert_eq!(*requests.lock().unwrap(), early);
        let mut read = |uri: &str, text: &str| {
            text.clone_into(&mut lie.lock().unwrap());
            client.read_skill_file(skill, uri)
        };
        let pots = "{\"pots\":\u{a0}2}\n";
        let size = fault(read(POTS, "skill://tea/pots.json x"));
        assert!(matches!(size, SkillError::Size { expected: 12, actual: 1 }), "{size}");
        let digest = fault(read(POTS, "skill://tea/pots.json {\"pots\": 3}\n"));
        assert!(matches!(digest, SkillError::Digest), "{digest}");
        let other = fault(read(POTS, &format!("skill://tea/cups.json {pots}")));
        assert!(matches!(other, SkillError::NoContent), "{other}");
        let honest = read(POTS, "skill://tea/pots.json {\"pots\": 2}\n");
        assert_eq!(honest.unwrap(), b"{\"pots\": 2}\n");
        let asked = requests.lock().unwrap().len();
        let unlisted = fault(read("skill://tea/new.md", "skill://tea/new.md new"));
        assert!(matches!(unlisted, SkillError::Unlisted), "{unlisted}");
        assert_eq!(requests.lock().unwrap().len(), asked, "nothing is requested");
    });
    // The digest is right, and the frontmatter is not what was approved.
    let other = r#"{"name":"tea","description":"Something else"}"#;
    let other = mcp_sansio::RawJson::parse(other).unwrap();
    let skill = SKILLS[0].skill();
    let lying = Skill::new(TEA, other, skill.resources);
    *lie.lock().unwrap() =
        format!("{TEA} {}", include_str!("../server/features/skills/tea/SKILL.md"));
    let differs = fault(client.read_skill_file(&lying, TEA));
    assert!(matches!(differs, SkillError::FrontmatterDiffers), "{differs}");
    assert!(client.read_skill_file(&skill, TEA).is_ok());
}
