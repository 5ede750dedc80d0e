//! Skills of a folder that is read again while servers run.

use std::fs;
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[cfg(unix)]
use mcp_sansio::types::SkillResources;
use mcp_sansio::types::{
    EmptyResult, GetSkillResult, Implementation, SubscriptionFilter, Text, Tool,
};
use mcp_sansio::{
    CallOptions, Catalog, Changed, ClientEvent, Era, RawJson, ServedSkill, ServerConfig,
    ServerFeatures, entries, skill,
};
use mcp_sansio_adapters::asynchronous::client::{Client, Connector};
use mcp_sansio_adapters::asynchronous::{App as AsyncApp, Context};
use mcp_sansio_adapters::blocking::client::{CallId, Handler, InputResponse, OwnedInputRequest};
use mcp_sansio_adapters::blocking::{self, App};
use mcp_sansio_adapters::{SharedCatalog, SkillChanges, SkillFolder, SkillLimits};
use smol::stream::StreamExt as _;

use super::CLIENT;

static SERVER: ServerConfig = ServerConfig::new(
    Implementation::new("server", "1"),
    ServerFeatures::TOOLS
        .with(ServerFeatures::SKILLS_DIRECTORIES)
        .with(ServerFeatures::RESOURCES_LIST_CHANGED)
        .with(ServerFeatures::RESOURCES_SUBSCRIBE),
);
/// A tool, and a skill of the program.
static CATALOG: Catalog = Catalog::new()
    .tools(entries![Tool::new("boil", RawJson::from_static(r#"{"type":"object"}"#))])
    .skills(SKILLS);
static SKILLS: &[ServedSkill] =
    &[skill!("skill://soldering" in "../../../examples/skills/soldering", "references/IRONS.md")];
const CUPS: &str = "skill://tea/my%20cups.txt";

/// A folder of a test, which is removed after it.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("mcp-sansio-{test}-{}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(folder.path("skills")).unwrap();
        folder
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Writes a file in the folder of the skills.
    fn write(&self, path: &str, content: &str) {
        let path = self.path("skills").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn skill(&self, name: &str) {
        let text = format!("---\nname: {name}\ndescription: Makes {name}\n---\nBoil water.\n");
        self.write(&format!("{name}/SKILL.md"), &text);
    }

    fn load(&self, limits: SkillLimits) -> (SharedCatalog, SkillFolder) {
        let catalog = SharedCatalog::new(&CATALOG);
        let skills = SkillFolder::load(self.path("skills"), &catalog, limits).unwrap();
        (catalog, skills)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn changes(added: &[&str], changed: &[&str], removed: &[&str]) -> SkillChanges {
    let [added, changed, removed] =
        [added, changed, removed].map(|names| names.iter().map(|name| (*name).into()).collect());
    SkillChanges { added, changed, removed }
}

/// Returns the URIs of the skills, and the tools.
async fn listed(client: &Client) -> Vec<String> {
    let (skills, tools) = (client.list_skills().await.unwrap(), client.list_tools().await.unwrap());
    let skills = skills.iter().map(|skill| skill.unwrap().uri.to_string());
    skills.chain(tools.iter().map(|tool| tool.unwrap().name.to_string())).collect()
}

async fn read(client: &Client, file: &str) -> Vec<u8> {
    let entry = client.get_skill("skill://tea/SKILL.md").await.unwrap();
    let skill = entry.as_json().to::<GetSkillResult<'_>>().unwrap().skill;
    client.read_skill_file(&skill, file).await.unwrap()
}

/// Subscribes to the list of resources, and to these.
fn filter<'u>(uris: &'u [Text<'u>]) -> SubscriptionFilter<'u> {
    SubscriptionFilter::new().resources_list_changed(true).resource_subscriptions(uris)
}

#[test]
fn skills_of_a_folder_change_while_clients_listen() {
    for era in Era::ALL {
        let folder = Folder::new(&format!("skills-{era:?}"));
        folder.skill("tea");
        folder.write("tea/my cups.txt", "two");
        folder.write("tea/.draft.md", "hidden");
        folder.write("README.md", "no skill");
        let (catalog, skills) = folder.load(SkillLimits::new());
        let app = AsyncApp::new(&SERVER, async |ctx: Context| ctx.reply(&EmptyResult::new()))
            .catalog(&catalog);
        let connector = Connector::new(&CLIENT).era(era);
        smol::block_on(app.memory(connector, async |client| {
            let own = "skill://soldering/SKILL.md";
            assert_eq!(listed(&client).await, [own, "skill://tea/SKILL.md", "boil"]);
            assert_eq!(read(&client, CUPS).await, b"two");
            let uris = [CUPS, "skill://coffee/SKILL.md"].map(Into::into);
            let listen = client.listen(&filter(&uris), CallOptions::new()).await.unwrap();
            let mut told = listen.map(|change| format!("{change:?}"));
            assert_eq!(skills.reload().unwrap(), SkillChanges::default());

            folder.write("tea/my cups.txt", "three");
            folder.skill("coffee");
            assert_eq!(skills.reload().unwrap(), changes(&["coffee"], &["tea"], &[]));
            let all = [own, "skill://coffee/SKILL.md", "skill://tea/SKILL.md", "boil"];
            assert_eq!(listed(&client).await, all);
            assert_eq!(told.next().await.unwrap(), "Resources");
            assert_eq!(told.next().await.unwrap(), format!("Resource({CUPS:?})"));
            assert_eq!(read(&client, CUPS).await, b"three");

            fs::remove_dir_all(folder.path("skills/coffee")).unwrap();
            assert_eq!(skills.reload().unwrap(), changes(&[], &[], &["coffee"]));
            assert_eq!(listed(&client).await, [own, "skill://tea/SKILL.md", "boil"]);
            assert_eq!(told.next().await.unwrap(), "Resources");
            assert_eq!(told.next().await.unwrap(), r#"Resource("skill://coffee/SKILL.md")"#);
        }));
    }
}

/// Keeps what a client is told.
struct Told(Arc<Mutex<Vec<String>>>);

impl Handler for Told {
    fn on_input_request(&mut self, request: &OwnedInputRequest) -> InputResponse {
        request.refuse()
    }

    fn on_event(&mut self, _: Option<CallId>, event: &ClientEvent<'_>) {
        let ClientEvent::Changed { what, .. } = event else { return };
        self.0.lock().unwrap().push(match what {
            Changed::Resource { uri } => uri.to_string(),
            what => format!("{what:?}"),
        });
    }
}

#[test]
fn a_blocking_server_tells_of_skills_that_have_changed() {
    for era in Era::ALL {
        let folder = Folder::new(&format!("skills-blocking-{era:?}"));
        folder.skill("coffee");
        let (catalog, skills) = folder.load(SkillLimits::new());
        let server = App::new(&SERVER).catalog(&catalog).memory(|_| Ok(()));
        let told = Arc::new(Mutex::new(Vec::new()));
        let connector = blocking::client::Connector::new(&CLIENT).era(era).clock(server.clock());
        let mut client = connector.handler(Told(Arc::clone(&told))).connect(server).unwrap();
        client.listen(&filter(&["skill://coffee/SKILL.md".into()])).unwrap();
        assert_eq!(client.list_skills().unwrap().len(), 2);
        folder.skill("tea");
        fs::remove_dir_all(folder.path("skills/coffee")).unwrap();
        assert_eq!(skills.reload().unwrap(), changes(&["tea"], &[], &["coffee"]));
        let uris = client.list_skills().unwrap();
        let uris: Vec<_> = uris.iter().map(|skill| skill.unwrap().uri.to_string()).collect();
        assert_eq!(uris, ["skill://soldering/SKILL.md", "skill://tea/SKILL.md"]);
        client.run_for(Duration::from_millis(1)).unwrap();
        assert_eq!(*told.lock().unwrap(), ["Resources", "skill://coffee/SKILL.md"]);
    }
}

/// Breaks the folder, and says how the error ends.
type Wrong = (&'static str, fn(&Folder));

const WRONG: &[Wrong] = &[
    ("skills/empty/SKILL.md: there is no such file: write it, or move its folder away", |folder| {
        folder.write("empty/other.md", "");
    }),
    (
        "skills/plain/SKILL.md: the frontmatter cannot be read: SKILL.md does not begin with \
         frontmatter between two lines of ---",
        |folder| folder.write("plain/SKILL.md", "# Plain"),
    ),
    (
        "skills/other/SKILL.md: the entry of the skill is invalid: the last directory of its URI \
         must be its name",
        |folder| {
            folder.skill("name");
            fs::rename(folder.path("skills/name"), folder.path("skills/other")).unwrap();
        },
    ),
    (
        "skills/tea/long.md: the bytes of the file are more than 100: remove some, or set \
         SkillLimits::max_file",
        |folder| folder.write("tea/long.md", &"x".repeat(101)),
    ),
    (
        "skills/tea/three.md: the files of the skills are more than 3: remove some, or set \
         SkillLimits::max_files",
        |folder| {
            ["one.md", "three.md"].iter().for_each(|file| folder.write(&format!("tea/{file}"), ""))
        },
    ),
    (
        "skills/tea/full.md: the bytes of all skills are more than 200: remove some, or set \
         SkillLimits::max_size",
        |folder| folder.write("tea/full.md", &"x".repeat(90)),
    ),
    ("skills: a skill that is not of the folder", |folder| folder.skill("soldering")),
];

#[test]
fn what_is_wrong_in_a_folder_is_named_and_leaves_the_skills_as_they_were() {
    let limits = SkillLimits { max_file: 100, max_files: 3, max_size: 200 };
    for (reason, break_it) in WRONG {
        let folder = Folder::new("skills-wrong");
        folder.skill("tea");
        folder.write("tea/cups.md", &"x".repeat(80));
        let (catalog, skills) = folder.load(limits.clone());
        break_it(&folder);
        let error = skills.reload().unwrap_err();
        let text = error.to_string().replace('\\', "/");
        let expected = match reason.strip_suffix("a skill that is not of the folder") {
            Some(folder) => format!("{folder}skill://soldering/SKILL.md: two skills have this URI"),
            None => (*reason).to_owned(),
        };
        assert!(text.ends_with(&expected), "{text}\n{expected}");
        let now = catalog.snapshot();
        let uris: Vec<_> = now.skills().iter().map(|it| it.skill().uri.to_string()).collect();
        assert_eq!(uris, ["skill://soldering/SKILL.md", "skill://tea/SKILL.md"]);
    }
    let missing = Folder::new("skills-missing").path("skills");
    let error = SkillFolder::load(&missing, &SharedCatalog::new(&CATALOG), limits).unwrap_err();
    assert_eq!(error.path, missing);
}

#[cfg(unix)]
#[test]
fn links_are_followed_within_the_folder_alone() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("skills-links");
    let skills = folder.path("skills");
    folder.skill("tea");
    // As a volume of Kubernetes has it.
    folder.write(".data/cups.md", "two");
    symlink("../.data/cups.md", skills.join("tea/cups.md")).unwrap();
    let (catalog, loaded) = folder.load(SkillLimits::new());
    let files = |catalog: &SharedCatalog| {
        let now = catalog.snapshot();
        let resources = now.skills().last().map(|skill| skill.skill().resources);
        let Some(SkillResources::Files(files)) = resources else { panic!("{resources:?}") };
        files.len()
    };
    assert_eq!(files(&catalog), 2);
    let refused = |link: &str, to: &Path| {
        symlink(to, skills.join(link)).unwrap();
        let error = loaded.reload().unwrap_err();
        assert_eq!(files(&catalog), 2);
        fs::remove_file(skills.join(link)).unwrap();
        error
    };
    fs::write(folder.path("secret"), "secret").unwrap();
    let outside = "the link leads out of the folder of the skills: put a copy in its place";
    for link in ["tea/secret.md", "coffee"] {
        let error = refused(link, Path::new(if link == "coffee" { "../" } else { "../../secret" }));
        assert_eq!((error.path, &*error.reason), (skills.join(link), outside));
    }
    assert!(refused("tea/gone", Path::new("nothing")).path.ends_with("tea/gone"));
    let circle = refused("tea/circle", Path::new("../tea"));
    assert!(circle.reason.starts_with("a skill has at most 8 folders in each other"), "{circle}");
}
