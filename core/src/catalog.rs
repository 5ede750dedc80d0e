//! Tools, resources and prompts as constant data: responds to list requests and unknown names.

pub(crate) mod check;
mod entry;
mod list;
mod look_up;
#[cfg(feature = "alloc")]
mod owned;
#[cfg(feature = "alloc")]
mod pages;
#[cfg(feature = "alloc")]
mod place;
mod respond;
mod schema;
mod scopes;
#[cfg(feature = "skills")]
mod skills;

pub use entry::Entry;
#[cfg(feature = "alloc")]
pub use owned::{AddError, OwnedCatalog};
#[cfg(feature = "alloc")]
pub use place::TargetPlace;
pub use schema::SchemaError;
#[cfg(feature = "derive")]
pub(crate) use schema::shown;
pub use scopes::Scoped;

use core::fmt;

#[cfg(feature = "alloc")]
use crate::encode::OwnedJson;
use crate::encode::{DisplayText, Encode};
#[cfg(feature = "derive")]
use crate::error::SendError;
use crate::json::{JsonStr, RawJson};
#[cfg(feature = "alloc")]
use crate::lifecycle::Revision;
use crate::lifecycle::ServerFeatures;
use crate::printable::Printable;
#[cfg(feature = "derive")]
use crate::server::{Request, Server};
#[cfg(feature = "skills")]
use crate::skills::ServedSkill;
#[cfg(feature = "derive")]
use crate::tx::Tx;
use crate::types::CacheScope;
use crate::uri_template;
use entry::Kind;
use list::EntryList;
use look_up::LookUps;
#[cfg(feature = "skills")]
use skills::Skills;

/// Tools, resources, templates and prompts, usually `const` and so in flash.
///
/// ```
/// use mcp_sansio::types::Tool;
/// use mcp_sansio::{Catalog, RawJson, entries};
/// static CATALOG: Catalog = Catalog::new().tools(entries![Tool::new(
///     "led",
///     RawJson::from_static(
///         r#"{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}"#,
///     ),
/// )
/// .description("Switches the LED")]);
/// CATALOG.check().unwrap();
/// ```
///
/// Lists keep the order of the slices. A list is one message however long it is, since many clients
/// read only the first page; [`page_size`](Self::page_size) is for transports that limit the size
/// of a message.
///
/// Schemas are JSON Schema 2020-12, which is also the default without `$schema`, or draft-07;
/// [`check`](Self::check) rejects any other. They are sent unchanged, unknown keywords included.
/// External references are rejected: this library never fetches one.
#[derive(Clone, Copy, Debug)]
pub struct Catalog<'c> {
    /// Tools of an enum.
    #[cfg(feature = "derive")]
    calls: Tools<'c>,
    tools: Tools<'c>,
    resources: &'c [Entry<'c>],
    templates: &'c [Entry<'c>],
    prompts: &'c [Entry<'c>],
    #[cfg(feature = "skills")]
    skills: Skills<'c>,
    look_ups: LookUps,
    #[cfg(feature = "derive")]
    typed_prompts: Option<TypedPrompts>,
    page_size: usize,
    ttl_ms: u64,
    scope: CacheScope,
    /// The generations of the lists of an [`OwnedCatalog`], which cursors contain.
    #[cfg(feature = "alloc")]
    generations: [u32; 4],
}

#[derive(Clone, Copy, Debug)]
struct Tools<'c> {
    entries: &'c [Entry<'c>],
    check: Option<CheckArguments>,
}

impl Tools<'_> {
    const NONE: Self = Self { entries: &[], check: None };
}

/// Checks the arguments of a tool, and hands over what is wrong. Set together with the tools, so
/// that a program whose tools are [unchecked](Catalog::unchecked) does not link the check.
pub(crate) type CheckArguments = fn(&Entry<'_>, RawJson<'_>, &mut dyn FnMut(&dyn Encode));

/// The check against the schema of a tool.
const CHECK: CheckArguments = |tool, arguments, refuse| {
    if let Err(error) = schema::check(tool.input_schema(), arguments) {
        refuse(&DisplayText(&error));
    }
};

/// The functions of the type of the prompts. They are behind pointers, so that only programs with
/// such prompts link them.
#[cfg(feature = "derive")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypedPrompts {
    /// Whether the arguments of a prompt are valid.
    pub(crate) is_valid: fn(&Entry<'_>, RawJson<'_>) -> bool,
    /// Responds to invalid arguments of a prompt, and to a completion if the type has the values.
    /// Returns whether it did.
    pub(crate) respond:
        fn(&Entry<'_>, &mut Server<'_>, &Request<'_>, &mut Tx<'_>) -> Result<bool, SendError>,
}

/// Entry of the catalog that a request is for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Target<'c> {
    /// `tools/call` of this tool.
    Tool(&'c Entry<'c>),
    /// `tools/call` with arguments that the input schema of the tool does not allow, or
    /// `prompts/get` with arguments that the type of the prompt does not allow.
    /// [`Catalog::respond`] responds, and does not return this.
    InvalidArguments(&'c Entry<'c>),
    /// `prompts/get` of this prompt; the request has all required arguments.
    Prompt(&'c Entry<'c>),
    /// `resources/read` of this resource.
    Resource(&'c Entry<'c>),
    /// `resources/read` of a URI that this template matches; see [`Target::variable`].
    Template(&'c Entry<'c>),
    /// `completion/complete` for an argument of this prompt.
    CompletePrompt(&'c Entry<'c>),
    /// `completion/complete` for a variable of this template.
    CompleteTemplate(&'c Entry<'c>),
    /// The catalog has sent the response, a list or an error: nothing is left to do.
    Responded,
    /// A method that catalogs do not handle.
    Other,
}

impl Target<'_> {
    /// Returns the value of a template variable in a URI.
    #[must_use]
    pub fn variable<'f>(
        &self,
        name: &str,
        uri: JsonStr<'f>,
    ) -> Option<impl Iterator<Item = char> + 'f> {
        match self {
            Self::Template(template) => {
                uri_template::variable(template.key().as_plain()?, name, uri)
            }
            _ => None,
        }
    }
}

impl<'c> Catalog<'c> {
    /// Creates an empty catalog.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            #[cfg(feature = "derive")]
            calls: Tools::NONE,
            tools: Tools::NONE,
            resources: &[],
            templates: &[],
            prompts: &[],
            #[cfg(feature = "skills")]
            skills: Skills::NONE,
            look_ups: LookUps::NONE,
            #[cfg(feature = "derive")]
            typed_prompts: None,
            page_size: usize::MAX,
            ttl_ms: 0,
            scope: CacheScope::Public,
            #[cfg(feature = "alloc")]
            generations: [0; 4],
        }
    }

    /// Sets the tools that are written by hand. The arguments of their calls are checked: see
    /// [`Entry::check_arguments`]. Tools that are types ([`calls`](Self::calls)) are listed before
    /// them.
    ///
    /// # Panics
    /// If an entry is no tool, or has the name of one of the other tools, or if such tools are set
    /// already; in a constant it then does not compile. The other lists likewise.
    #[must_use]
    pub const fn tools(self, tools: &'c [Entry<'c>]) -> Self {
        list::assert_unset(self.tools.entries);
        Kind::assert_all(tools, Kind::TOOL);
        #[cfg(feature = "derive")]
        list::assert_disjoint(tools, self.calls.entries);
        Self { tools: Tools { entries: tools, check: Some(CHECK) }, ..self }
    }

    #[cfg(feature = "derive")]
    pub(crate) const fn typed_tools(
        self,
        entries: &'static [Entry<'static>],
        check: CheckArguments,
    ) -> Self {
        assert!(
            self.calls.entries.is_empty(),
            "the catalog has an enum of tools already: see `flatten`"
        );
        list::assert_disjoint(self.tools.entries, entries);
        Self { calls: Tools { entries, check: Some(check) }, ..self }
    }

    /// Leaves the arguments of the calls of an enum ([`calls`](Self::calls)) unchecked, for
    /// programs that read them as this enum, which checks them. Other tools are checked as before.
    #[cfg(feature = "derive")]
    #[must_use]
    pub const fn checked_when_read(self) -> Self {
        Self { calls: Tools { check: None, ..self.calls }, ..self }
    }

    /// Leaves the arguments unchecked, for tools that check all of them themselves. To be called
    /// after the tools are set.
    #[must_use]
    pub const fn unchecked(self) -> Self {
        #[cfg(feature = "derive")]
        let this = self.checked_when_read();
        #[cfg(not(feature = "derive"))]
        let this = self;
        Self { tools: Tools { check: None, ..this.tools }, ..this }
    }

    /// Returns a list, by its place in [`list::LISTS`].
    const fn list(&self, number: usize) -> EntryList<'c> {
        match number {
            0 => self.all_tools(),
            1 => EntryList(&[], self.resources),
            2 => EntryList(&[], self.templates),
            3 => EntryList(&[], self.prompts),
            _ => EntryList(&[], &[]),
        }
    }

    const fn all_tools(&self) -> EntryList<'c> {
        #[cfg(feature = "derive")]
        let calls = self.calls.entries;
        #[cfg(not(feature = "derive"))]
        let calls = &[];
        EntryList(calls, self.tools.entries)
    }

    /// Sets the resources.
    ///
    /// # Panics
    /// As [`tools`](Self::tools).
    #[must_use]
    pub const fn resources(self, resources: &'c [Entry<'c>]) -> Self {
        list::assert_unset(self.resources);
        Kind::assert_all(resources, Kind::RESOURCE);
        Self { resources, look_ups: self.look_ups.of_resources(), ..self }
    }

    /// Sets the resource templates.
    ///
    /// # Panics
    /// As [`tools`](Self::tools).
    #[must_use]
    pub const fn templates(self, templates: &'c [Entry<'c>]) -> Self {
        list::assert_unset(self.templates);
        Kind::assert_all(templates, Kind::TEMPLATE);
        Self { templates, look_ups: self.look_ups.of_templates(), ..self }
    }

    /// Sets the prompts.
    ///
    /// # Panics
    /// As [`tools`](Self::tools).
    #[must_use]
    pub const fn prompts(self, prompts: &'c [Entry<'c>]) -> Self {
        Kind::assert_all(prompts, Kind::PROMPT);
        Self {
            prompts,
            look_ups: self.look_ups.of_prompts(),
            #[cfg(feature = "derive")]
            typed_prompts: None,
            ..self
        }
    }

    #[cfg(feature = "derive")]
    pub(crate) const fn typed_prompts(
        self,
        prompts: &'static [Entry<'static>],
        typed: TypedPrompts,
    ) -> Self {
        assert!(
            self.typed_prompts.is_none(),
            "the catalog has an enum of prompts already: see `flatten`"
        );
        let look_ups = self.look_ups.of_typed_prompts();
        Self { prompts, look_ups, typed_prompts: Some(typed), ..self }
    }

    /// Sets the skills. The catalog lists them, and their `SKILL.md` among the resources, and reads
    /// their files and directories; those of a skill whose files are
    /// [`Dynamic`](crate::types::SkillResources::Dynamic) are left to the application.
    /// [`skill!`](crate::skill) makes constant ones.
    #[cfg(feature = "skills")]
    #[must_use]
    pub const fn skills(self, skills: &'c [ServedSkill<'c>]) -> Self {
        Self { skills: Skills::new(skills), ..self }
    }

    /// Sets the maximum number of entries in one response. Default: all.
    #[must_use]
    pub const fn page_size(self, page_size: usize) -> Self {
        Self { page_size: if page_size == 0 { 1 } else { page_size }, ..self }
    }

    /// Sets for how many milliseconds a modern client may cache a list, and who may share it
    /// (2026-07-28, server/utilities/caching). The same for all pages. Default: not at all,
    /// everybody.
    #[must_use]
    pub const fn cache(self, ttl_ms: u64, scope: CacheScope) -> Self {
        Self { ttl_ms, scope, ..self }
    }

    /// Returns the capabilities for its lists: tools, resources and prompts, of those it has; with
    /// the feature `skills` also the extension, if it has skills, and its directories, if no skill
    /// is dynamic.
    ///
    /// ```
    /// use mcp_sansio::types::{Implementation, Prompt};
    /// use mcp_sansio::{Catalog, ServerConfig, ServerFeatures, entries};
    ///
    /// static CATALOG: Catalog = Catalog::new().prompts(entries![Prompt::new("review")]);
    /// static CONFIG: ServerConfig = ServerConfig::new(
    ///     Implementation::new("reviewer", "0.1.0"),
    ///     CATALOG.features().with(ServerFeatures::LOGGING),
    /// );
    /// assert!(CONFIG.capabilities().contains(ServerFeatures::PROMPTS));
    /// assert!(!CONFIG.capabilities().contains(ServerFeatures::TOOLS));
    /// ```
    #[must_use]
    pub const fn features(&self) -> ServerFeatures {
        let mut features = ServerFeatures::NONE;
        if self.all_tools().len() > 0 {
            features = features.with(ServerFeatures::TOOLS);
        }
        if !(self.resources.is_empty() && self.templates.is_empty()) {
            features = features.with(ServerFeatures::RESOURCES);
        }
        if !self.prompts.is_empty() {
            features = features.with(ServerFeatures::PROMPTS);
        }
        #[cfg(feature = "skills")]
        if !self.skills.list.is_empty() {
            features = features.with(if self.skills.has_all_files() {
                ServerFeatures::SKILLS_DIRECTORIES
            } else {
                ServerFeatures::SKILLS
            });
        }
        features
    }

    /// Checks the entries: names that are empty, too long, contain other characters or are used
    /// twice; schemas that are not objects, have a duplicate key, an unknown dialect or an external
    /// reference; URIs and templates that RFC 3986 does not allow; `x-mcp-header` annotations that
    /// break the rules. With the feature `alloc` also pages ([`ui`](crate::types::ui)) that are no
    /// resource of the catalog, or of another MIME type; with the feature `skills` also skills that
    /// break the rules of `Skill::check`, or have the URI of another.
    ///
    /// # Errors
    /// The first mistake. Call it in a test or at start-up.
    pub fn check(&self) -> Result<(), CatalogError<'c>> {
        (0..list::LISTS.len()).try_for_each(|number| check::check(self.list(number)))?;
        #[cfg(feature = "alloc")]
        pages::check(self.list(0), self.list(1), self.list(2))?;
        #[cfg(feature = "skills")]
        check::check_skills(self.skills.list)?;
        Ok(())
    }

    /// Returns all lists as text, an entry a line, as they are written in `revision`. A test that
    /// compares it with a file shows in review when the contract of a server changes:
    ///
    /// ```
    /// # use mcp_sansio::types::Tool;
    /// # use mcp_sansio::{Catalog, RawJson, Revision, entries};
    /// # static CATALOG: Catalog = Catalog::new()
    /// #     .tools(entries![Tool::new("time", RawJson::from_static(r#"{"type":"object"}"#))]);
    /// // In a program, `include_str!("catalog.txt")`.
    /// let file = "tools\n{\"name\":\"time\",\"inputSchema\":{\"type\":\"object\"}}\n";
    /// assert_eq!(CATALOG.snapshot(Revision::LATEST), file);
    /// ```
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn snapshot(&self, revision: Revision) -> alloc::string::String {
        let mut text = alloc::string::String::new();
        for (number, name) in list::LISTS.into_iter().enumerate() {
            let len = self.len(number);
            if len == 0 {
                continue;
            }
            text.push_str(name);
            for at in 0..len {
                text.push('\n');
                match OwnedJson::new(&list::At { catalog: self, list: number, at }, revision) {
                    Ok(json) => text.push_str(json.as_raw().as_str()),
                    Err(error) => text.push_str(&alloc::format!("{error}")),
                }
            }
            text.push('\n');
        }
        text
    }
}

impl Default for Catalog<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Error of [`Catalog::check`].
#[derive(Clone, Copy, Debug)]
pub struct CatalogError<'c> {
    /// The name or URI of the entry.
    pub entry: &'c str,
    /// The rule that it breaks.
    pub reason: &'static str,
}

impl fmt::Display for CatalogError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Printable::new(self.entry), self.reason)
    }
}

impl core::error::Error for CatalogError<'_> {}
