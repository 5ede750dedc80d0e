//! A catalog that owns its lists, so that they can change while a program runs.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::entry::{self, Entry, EntryKind, Scopes, TaskRule, argument_rules, pair};
use super::json_schema::{SchemaRow, read};
#[cfg(feature = "skills")]
use super::skills::Skills;
use super::{CHECK, Catalog, EntryList, LISTS, LookUps, Tools};
#[cfg(feature = "skills")]
use super::{SKILLS, entry::check_skills};
use crate::json::{RawJson, hash_str};
use crate::server::Change;
#[cfg(feature = "skills")]
use crate::skills::ServedSkill;
use crate::text::Printable;
use crate::types::rendered::Renderer;
use crate::types::{List, Text};

/// A catalog whose entries are added and removed while the program runs.
///
/// It is a value: change a copy, and respond from the copy from then on. A response that is sent in
/// pieces, or a call, that began with the old one is completed with it, so keep it until then.
///
/// ```
/// use mcp_sansio::types::Tool;
/// use mcp_sansio::{Catalog, OwnedCatalog, RawJson};
///
/// static CATALOG: Catalog = Catalog::new();
///
/// let schema = RawJson::parse(r#"{"type":"object"}"#).unwrap();
/// let before = OwnedCatalog::new(&CATALOG);
/// let mut after = before.clone();
/// after.add(Tool::new("time", schema).description("Returns the time"))?;
/// // For each connection: `while server.publish(&mut change, tx)?.is_more() {}`
/// assert_eq!(after.changes_since(&before).count(), 1);
/// # Ok::<(), mcp_sansio::AddError>(())
/// ```
///
/// The adapters have a `SharedCatalog`, which does this for all connections of a process.
///
/// The configuration must declare the lists, with [`TOOLS_LIST_CHANGED`] and the like:
/// [`Catalog::features`] declares only lists that have an entry. Arguments of tools are checked as
/// those of [`Catalog::tools`].
///
/// The cursor of a page ([`Catalog::page_size`]) contains a hash of the list. If the list has
/// changed since, the cursor is invalid (-32602; server/utilities/pagination) and the client begins
/// anew, rather than missing an entry or reading one twice.
///
/// [`TOOLS_LIST_CHANGED`]: crate::ServerFeatures::TOOLS_LIST_CHANGED
#[derive(Clone, Debug)]
pub struct OwnedCatalog {
    /// Everything but the lists.
    constant: Catalog<'static>,
    /// In the order of [`LISTS`].
    lists: [Vec<Entry<'static>>; 4],
    /// `None` if the catalog does not respond to requests for skills.
    #[cfg(feature = "skills")]
    skills: Option<Vec<ServedSkill<'static>>>,
    generations: [u64; LISTS.len()],
}

impl OwnedCatalog {
    /// Copies a catalog. Its tools and prompts that are types ([`Catalog::tools_of`],
    /// [`Catalog::prompts_of`]) stay; all other entries can be removed.
    pub fn new(constant: &Catalog<'static>) -> Self {
        let Catalog { tools, resources, templates, prompts, .. } = *constant;
        let lists = [tools.entries, resources, templates, prompts].map(<[_]>::to_vec);
        #[cfg(feature = "skills")]
        let skills = constant.skills.respond.map(|_| constant.skills.list.to_vec());
        let mut owned = Self {
            constant: *constant,
            lists,
            #[cfg(feature = "skills")]
            skills,
            generations: [0; LISTS.len()],
        };
        owned.generations = core::array::from_fn(|list| owned.generation(list));
        owned
    }

    /// Returns the skills.
    #[cfg(feature = "skills")]
    pub fn skills(&self) -> &[ServedSkill<'static>] {
        self.skills.as_deref().unwrap_or_default()
    }

    /// Sets all skills. From now on the catalog responds to requests for skills, also if there are
    /// none.
    ///
    /// # Errors
    /// A skill is invalid, or two have the same URI: see [`Catalog::check`].
    #[cfg(feature = "skills")]
    pub fn set_skills(&mut self, skills: Vec<ServedSkill<'static>>) -> Result<(), AddError> {
        check_skills(&skills)
            .map_err(|error| AddError { entry: error.entry.into(), reason: error.reason })?;
        self.skills = Some(skills);
        let generation = self.generation(SKILLS);
        if let Some(of_skills) = self.generations.get_mut(SKILLS) {
            *of_skills = generation;
        }
        Ok(())
    }

    /// Adds a tool, resource, resource template or prompt to the end of its list.
    ///
    /// # Errors
    /// The name or URI is in use, or the entry is invalid: see [`Catalog::check`].
    pub fn add(&mut self, entry: impl Into<Entry<'static>>) -> Result<(), AddError> {
        let entry = entry.into();
        let list = entry.list();
        let checked = entry::check_entry(&entry, self.list(list).iter());
        checked.map_err(|reason| AddError { entry: entry.key().chars().collect(), reason })?;
        let generation = self.generations.get_mut(list);
        if let (Some(entries), Some(generation)) = (self.lists.get_mut(list), generation) {
            *generation = next_generation(*generation, &entry);
            entries.push(entry);
        }
        Ok(())
    }

    /// Removes a tool. Returns whether there was one with this name.
    pub fn remove_tool(&mut self, name: &str) -> bool {
        self.remove(EntryKind::TOOL, name)
    }

    /// Removes a resource. Returns whether there was one with this URI.
    pub fn remove_resource(&mut self, uri: &str) -> bool {
        self.remove(EntryKind::RESOURCE, uri)
    }

    /// Removes a resource template. Returns whether there was one with this text.
    pub fn remove_template(&mut self, uri_template: &str) -> bool {
        self.remove(EntryKind::TEMPLATE, uri_template)
    }

    /// Removes a prompt. Returns whether there was one with this name.
    pub fn remove_prompt(&mut self, name: &str) -> bool {
        self.remove(EntryKind::PROMPT, name)
    }

    fn remove(&mut self, list: usize, key: &str) -> bool {
        if list == EntryKind::PROMPT
            && self.constant.typed_prompts.is_some()
            && self.constant.prompts.iter().any(|prompt| prompt.key() == key)
        {
            return false;
        }
        let Some(entries) = self.lists.get_mut(list) else { return false };
        let len = entries.len();
        entries.retain(|entry| entry.key() != key);
        let is_removed = entries.len() < len;
        let generation = self.generation(list);
        if let Some(of_list) = self.generations.get_mut(list) {
            *of_list = generation;
        }
        is_removed
    }

    /// Returns the catalog, to respond from.
    pub fn catalog(&self) -> Catalog<'_> {
        let [tools, resources, templates, prompts] = &self.lists;
        let constant = self.constant.tools;
        let check = if constant.entries.is_empty() { Some(CHECK) } else { constant.check };
        #[allow(unused_mut, reason = "it depends on a feature")]
        let mut generations = self.generations.map(|all| (all ^ all >> 32) as u32);
        // The resources end with the files `SKILL.md`.
        #[cfg(feature = "skills")]
        {
            let [_, resources, .., skills] = &mut generations;
            *resources ^= *skills;
        }
        Catalog {
            tools: Tools { entries: tools, check },
            resources,
            templates,
            prompts,
            #[cfg(feature = "skills")]
            skills: self.skills.as_deref().map_or(Skills::NONE, Skills::new),
            look_ups: LookUps::ALL,
            generations,
            ..self.constant
        }
    }

    /// Returns the changes to publish to each client that has seen an earlier state: of the lists,
    /// and of the files of skills, which are resources.
    pub fn changes_since<'s>(&'s self, earlier: &'s Self) -> impl Iterator<Item = Change<'s>> {
        let [tools, resources, templates, prompts, skills] = core::array::from_fn(|list| {
            self.generations.get(list) != earlier.generations.get(list)
        });
        let changes = [
            (tools, Change::tools()),
            (resources || templates || skills, Change::resources()),
            (prompts, Change::prompts()),
        ];
        let lists = changes.into_iter();
        let lists = lists.filter_map(|(is_changed, change)| is_changed.then_some(change));
        #[cfg(feature = "skills")]
        let lists = lists.chain(self.changed_files(earlier).filter(move |_| skills));
        lists
    }

    /// Returns the files of skills that were there before, and are not the same now.
    #[cfg(feature = "skills")]
    fn changed_files<'s>(&'s self, earlier: &'s Self) -> impl Iterator<Item = Change<'s>> {
        let files = |catalog: &'s Self| catalog.skills().iter().flat_map(ServedSkill::files);
        let text = |text: Text<'s>| text.as_plain();
        let changed = files(earlier).filter(move |(old, _)| {
            let is_same = |uri, digest| uri == text(old.uri) && digest == text(old.digest);
            !files(self).any(|(new, _)| is_same(text(new.uri), text(new.digest)))
        });
        changed.filter_map(move |(file, _)| text(file.uri).map(Change::resource))
    }

    fn list(&self, list: usize) -> EntryList<'_> {
        let calls = if list == EntryKind::TOOL { self.constant.calls.entries } else { &[] };
        EntryList(calls, self.lists.get(list).map_or(&[], Vec::as_slice))
    }

    fn generation(&self, list: usize) -> u64 {
        #[cfg(feature = "skills")]
        if list == SKILLS {
            let hashes = self.skills().iter().map(|skill| entry::hash_json(&skill.skill()));
            return hashes.fold(0, mixed);
        }
        self.list(list).iter().fold(0, next_generation)
    }
}

/// Returns the generation of a list with one more entry. It is a hash, so that the same lists have
/// the same one, also in another process.
fn next_generation(generation: u64, entry: &Entry<'_>) -> u64 {
    mixed(generation, entry.hash())
}

const fn mixed(generation: u64, hash: u64) -> u64 {
    (generation.rotate_left(5) ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Error of [`OwnedCatalog::add`]. `Display` writes the name or URI, and the rule that it breaks.
#[derive(Clone, PartialEq, Eq)]
pub struct AddError {
    /// The name or URI of the entry.
    pub entry: String,
    /// The rule that it breaks.
    pub reason: &'static str,
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Printable::new(&*self.entry), self.reason)
    }
}

crate::text::error_type!(AddError);

// Entries in memory of their own.

/// The parts of an [`Entry`](super::entry::Entry) that owns them.
#[derive(Clone)]
pub(super) struct OwnedParts {
    pub(super) key: Box<str>,
    kind: OwnedKind,
    /// As of a constant entry.
    pub(super) text: Box<str>,
    /// Of the text.
    pub(super) hash: u64,
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "it is empty"))]
    pub(super) scopes: Scopes<'static>,
}

#[derive(Clone)]
enum OwnedKind {
    Tool { input: Box<str>, output: Option<Box<str>>, rows: [Box<[SchemaRow]>; 2], task: TaskRule },
    Prompt(Option<Box<str>>),
    Resource,
    Template,
}

impl OwnedParts {
    pub(super) fn new(
        key: Text<'_>,
        kind: EntryKind<'_>,
        text: Box<str>,
        scopes: Scopes<'static>,
    ) -> Self {
        let copy = |schema: RawJson<'_>| Box::from(schema.as_str());
        Self {
            key: key.chars().collect::<String>().into(),
            kind: match kind {
                EntryKind::Tool { input, output, task, .. } => OwnedKind::Tool {
                    input: copy(input),
                    output: output.map(copy),
                    rows: [Some(input), output].map(read_all),
                    task,
                },
                EntryKind::Prompt(arguments) => {
                    OwnedKind::Prompt(arguments.map(|arguments| match arguments.as_slice() {
                        Some(arguments) => rendered(|to| argument_rules(arguments, to)),
                        None => copy(arguments.as_json().unwrap_or(RawJson::NULL)),
                    }))
                }
                EntryKind::Resource => OwnedKind::Resource,
                EntryKind::Template => OwnedKind::Template,
            },
            hash: hash_str(&text),
            text,
            scopes,
        }
    }

    pub(super) const fn kind(&self) -> EntryKind<'_> {
        match &self.kind {
            OwnedKind::Tool { input, output, rows: [of_input, of_output], task } => {
                EntryKind::Tool {
                    input: RawJson::scanned(input),
                    output: match output {
                        Some(output) => Some(RawJson::scanned(output)),
                        None => None,
                    },
                    rows: pair(of_input, of_output),
                    task: *task,
                }
            }
            OwnedKind::Prompt(Some(arguments)) => {
                EntryKind::Prompt(Some(List::scanned(RawJson::scanned(arguments))))
            }
            OwnedKind::Prompt(None) => EntryKind::Prompt(None),
            OwnedKind::Resource => EntryKind::Resource,
            OwnedKind::Template => EntryKind::Template,
        }
    }
}

/// Returns what a function renders.
pub(super) fn rendered(render: impl Fn(&mut Renderer<'_>)) -> Box<str> {
    let mut to = Renderer::new(&mut []);
    render(&mut to);
    let mut text = vec![0; to.len()];
    render(&mut Renderer::new(&mut text));
    String::from_utf8(text).unwrap_or_default().into()
}

fn read_all(schema: Option<RawJson<'_>>) -> Box<[SchemaRow]> {
    let schema = schema.unwrap_or(RawJson::NULL);
    let mut rows = vec![SchemaRow::NONE; read(schema, &mut [], 0)];
    read(schema, &mut rows, 0);
    rows.into()
}
