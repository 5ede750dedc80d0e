//! Tools, resources and prompts as constant data: responds to list requests and unknown names.

mod entry;
mod json_schema;
#[cfg(feature = "alloc")]
mod owned;
#[cfg(feature = "alloc")]
mod response;
#[cfg(feature = "skills")]
mod skills;

pub use entry::{Entry, Scoped, constant};
pub(crate) use json_schema::shown;
pub use json_schema::{SchemaError, SchemaRow};
#[cfg(feature = "alloc")]
pub use owned::{AddError, OwnedCatalog};
#[cfg(feature = "alloc")]
pub use response::CatalogResponse;

use core::fmt;

use crate::buffers::tx::Tx;
#[cfg(feature = "alloc")]
use crate::encode::OwnedJson;
use crate::encode::{DisplayText, Encode, Encoder};
use crate::json::{Decimal, Indexed, JsonStr, RawJson, same};
#[cfg(feature = "alloc")]
use crate::protocol::Revision;
use crate::protocol::error::{InvalidPayload, SendResult};
use crate::protocol::{Method, ServerFeatures};
use crate::rpc::RpcError;
use crate::server::{Request, Server, ToolErrorKind};
#[cfg(feature = "skills")]
use crate::skills::ServedSkill;
use crate::text::Printable;
#[cfg(feature = "alloc")]
use crate::types::ui;
use crate::types::{CacheScope, Text};
use crate::uri_template;
use entry::EntryKind;
#[cfg(feature = "skills")]
use skills::{Skills, skill_md};

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
#[must_use]
pub struct Catalog<'c> {
    /// Tools of an enum.
    calls: Tools<'c>,
    tools: Tools<'c>,
    resources: &'c [Entry<'c>],
    templates: &'c [Entry<'c>],
    prompts: &'c [Entry<'c>],
    #[cfg(feature = "skills")]
    skills: Skills<'c>,
    look_ups: LookUps,
    typed_prompts: Option<TypedPrompts>,
    page_size: usize,
    ttl_ms: u64,
    scope: CacheScope,
    #[cfg(all(feature = "http", feature = "alloc"))]
    permits: Option<Permits<'c>>,
    /// The generations of the lists of an [`OwnedCatalog`], which cursors contain.
    #[cfg(feature = "alloc")]
    generations: [u32; LISTS.len()],
}

/// Whether somebody may use the entries with these scopes.
#[cfg(all(feature = "http", feature = "alloc"))]
#[derive(Clone, Copy)]
struct Permits<'c>(&'c (dyn Fn(&str) -> bool + Sync));

#[cfg(all(feature = "http", feature = "alloc"))]
crate::text::opaque_debug!(Permits<'_> {});

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
pub(crate) type CheckArguments = fn(&Entry<'_>, Indexed<'_>, &mut dyn FnMut(&dyn Encode));

/// The check against the schema of a tool.
const CHECK: CheckArguments = |tool, arguments, refuse| {
    if let Err(error) = tool.check_raw(arguments) {
        refuse(&DisplayText(&error));
    }
};

/// The functions of the type of the prompts. They are behind pointers, so that only programs with
/// such prompts link them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypedPrompts {
    /// Whether the arguments of a prompt are valid.
    pub(crate) is_valid: fn(&Entry<'_>, RawJson<'_>) -> bool,
    /// Responds to invalid arguments of a prompt, and to a completion if the type has the values.
    /// Returns whether it did.
    pub(crate) respond:
        fn(&Entry<'_>, &mut Server<'_>, &Request<'_>, &mut Tx<'_>) -> SendResult<bool>,
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
    /// A method that catalogs do not handle; with the feature `skills` also what is read of a skill
    /// whose files are [`Dynamic`](crate::types::SkillResources::Dynamic).
    Other,
}

impl Target<'_> {
    /// Returns the value of a template variable in a URI.
    pub fn variable<'f>(
        &self,
        name: &str,
        uri: JsonStr<'f>,
    ) -> Option<impl Iterator<Item = char> + 'f> {
        let Self::Template(template) = self else { return None };
        uri_template::variable(template.key().as_plain()?, name, uri)
    }
}

impl<'c> Catalog<'c> {
    /// Creates an empty catalog.
    pub const fn new() -> Self {
        Self {
            calls: Tools::NONE,
            tools: Tools::NONE,
            resources: &[],
            templates: &[],
            prompts: &[],
            #[cfg(feature = "skills")]
            skills: Skills::NONE,
            look_ups: LookUps::NONE,
            typed_prompts: None,
            page_size: usize::MAX,
            ttl_ms: 0,
            scope: CacheScope::Public,
            #[cfg(all(feature = "http", feature = "alloc"))]
            permits: None,
            #[cfg(feature = "alloc")]
            generations: [0; LISTS.len()],
        }
    }

    /// Sets the tools that are written by hand. The arguments of their calls are checked: see
    /// [`Entry::check_arguments`]. Tools that are types ([`tools_of`](Self::tools_of)) are listed
    /// before them.
    ///
    /// # Panics
    /// If an entry is no tool, or has the name of one of the other tools, or if such tools are set
    /// already; in a constant it then does not compile. The other lists likewise.
    pub const fn tools(self, tools: &'c [Entry<'c>]) -> Self {
        assert_unset(self.tools.entries);
        EntryKind::assert_all(tools, EntryKind::TOOL);
        assert_disjoint(tools, self.calls.entries);
        Self { tools: Tools { entries: tools, check: Some(CHECK) }, ..self }
    }

    pub(crate) const fn typed_tools(
        self,
        entries: &'static [Entry<'static>],
        check: CheckArguments,
    ) -> Self {
        assert!(
            self.calls.entries.is_empty(),
            "the catalog has an enum of tools already: see `flatten`"
        );
        assert_disjoint(self.tools.entries, entries);
        Self { calls: Tools { entries, check: Some(check) }, ..self }
    }

    /// Leaves the arguments of the calls of an enum ([`tools_of`](Self::tools_of)) unchecked, for
    /// programs that read them as this enum, which checks them. Other tools are checked as before.
    pub const fn checked_when_read(self) -> Self {
        Self { calls: Tools { check: None, ..self.calls }, ..self }
    }

    /// Leaves the arguments unchecked, for tools that check all of them themselves. To be called
    /// after the tools are set.
    pub const fn unchecked(self) -> Self {
        let this = self.checked_when_read();
        Self { tools: Tools { check: None, ..this.tools }, ..this }
    }

    /// Returns a list, by its place in [`LISTS`].
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
        let calls = self.calls.entries;
        EntryList(calls, self.tools.entries)
    }

    /// Sets the resources.
    ///
    /// # Panics
    /// As [`tools`](Self::tools).
    pub const fn resources(self, resources: &'c [Entry<'c>]) -> Self {
        assert_unset(self.resources);
        EntryKind::assert_all(resources, EntryKind::RESOURCE);
        Self { resources, look_ups: LookUps { resource, ..self.look_ups }, ..self }
    }

    /// Sets the resource templates.
    ///
    /// # Panics
    /// As [`tools`](Self::tools).
    pub const fn templates(self, templates: &'c [Entry<'c>]) -> Self {
        assert_unset(self.templates);
        EntryKind::assert_all(templates, EntryKind::TEMPLATE);
        let look_ups = LookUps { resource, completion, ..self.look_ups };
        Self { templates, look_ups, ..self }
    }

    /// Sets the prompts, also in place of [typed](Self::prompts_of) ones.
    ///
    /// # Panics
    /// As [`tools`](Self::tools).
    pub const fn prompts(self, prompts: &'c [Entry<'c>]) -> Self {
        if self.typed_prompts.is_none() {
            assert_unset(self.prompts);
        }
        EntryKind::assert_all(prompts, EntryKind::PROMPT);
        let look_ups = LookUps { prompt, completion, ..self.look_ups };
        Self { prompts, look_ups, typed_prompts: None, ..self }
    }

    pub(crate) const fn typed_prompts(
        self,
        prompts: &'static [Entry<'static>],
        typed: TypedPrompts,
    ) -> Self {
        assert!(
            self.typed_prompts.is_none(),
            "the catalog has an enum of prompts already: see `flatten`"
        );
        assert_unset(self.prompts);
        let look_ups = LookUps { prompt: typed_prompt, completion, ..self.look_ups };
        Self { prompts, look_ups, typed_prompts: Some(typed), ..self }
    }

    /// Sets the skills. The catalog lists them, and their `SKILL.md` among the resources, and reads
    /// their files and directories; those of a skill whose files are
    /// [`Dynamic`](crate::types::SkillResources::Dynamic) are left to the application.
    /// [`skill!`](crate::skill) makes constant ones.
    #[cfg(feature = "skills")]
    pub const fn skills(self, skills: &'c [ServedSkill<'c>]) -> Self {
        Self { skills: Skills::new(skills), ..self }
    }

    /// Sets the maximum number of entries in one response. Default: all.
    pub const fn page_size(self, page_size: usize) -> Self {
        Self { page_size: if page_size == 0 { 1 } else { page_size }, ..self }
    }

    /// Sets for how many milliseconds a modern client may cache a list, and who may share it
    /// (2026-07-28, server/utilities/caching). The same for all pages. Default: not at all,
    /// everybody.
    pub const fn cache(self, ttl_ms: u64, scope: CacheScope) -> Self {
        Self { ttl_ms, scope, ..self }
    }

    /// Lets nobody but the user who asks keep what this catalog serves: other users have others.
    pub const fn private(self) -> Self {
        Self { scope: CacheScope::Private, ..self }
    }

    /// Leaves out of the lists what somebody may not use: `permits` gets the scopes of an entry,
    /// separated by spaces, if it has any (2026-07-28, server/tools). Caches may not share such
    /// lists. A page may then have fewer entries than the [`page_size`](Self::page_size). Calls are
    /// not refused by it.
    #[cfg(all(feature = "http", feature = "alloc"))]
    pub const fn permitting(self, permits: &'c (dyn Fn(&str) -> bool + Sync)) -> Self {
        Self { permits: Some(Permits(permits)), scope: CacheScope::Private, ..self }
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
        (0..LISTS.len()).try_for_each(|number| entry::check(self.list(number)))?;
        #[cfg(feature = "alloc")]
        check_pages(self)?;
        #[cfg(feature = "skills")]
        entry::check_skills(self.skills.list)?;
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
    pub fn snapshot(&self, revision: Revision) -> alloc::string::String {
        let mut text = alloc::string::String::new();
        for (number, name) in LISTS.into_iter().enumerate() {
            let len = self.len(number);
            if len == 0 {
                continue;
            }
            text.push_str(name);
            for at in 0..len {
                text.push('\n');
                match OwnedJson::new(&EntryAt { catalog: self, list: number, at }, revision) {
                    Ok(json) => text.push_str(json.as_json().as_str()),
                    Err(error) => text.push_str(&alloc::format!("{error}")),
                }
            }
            text.push('\n');
        }
        text
    }
}

crate::text::default_is_new!(Catalog<'_>);

/// Error of [`Catalog::check`].
#[derive(Clone, Copy)]
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

crate::text::error_type!(CatalogError<'_>);

// The entry that a request is for.

/// The look-ups of lists that are set, so that a program links no others.
#[derive(Clone, Copy, Debug)]
struct LookUps {
    prompt: LookUp,
    resource: LookUp,
    completion: LookUp,
}

/// Of the parameters of a request.
type LookUp = for<'c, 'f> fn(&Catalog<'c>, RawJson<'f>) -> Result<Target<'c>, RpcError<'f>>;

impl LookUps {
    const NONE: Self = Self {
        prompt: |_, params| Err(unknown_prompt(string(params, "name"))),
        resource: |_, params| Err(unknown_resource(string(params, "uri"))),
        completion: |_, _| Err(RpcError::invalid_params("Unknown reference")),
    };

    /// The look-ups of lists that can change.
    #[cfg(feature = "alloc")]
    const ALL: Self = Self {
        prompt: |catalog, params| {
            // A typed prompt with valid arguments has all that are required.
            if let target @ Target::InvalidArguments(_) = typed_prompt(catalog, params)? {
                return Ok(target);
            }
            prompt(catalog, params)
        },
        resource,
        completion,
    };
}

impl<'c> Catalog<'c> {
    /// Returns the entry that a request is for, or the error to respond with.
    ///
    /// # Errors
    /// The tool, prompt, argument or resource is unknown.
    pub fn target<'f>(&self, request: &Request<'f>) -> Result<Target<'c>, RpcError<'f>> {
        let look_up = match request.method {
            Method::ToolsCall => return tool(self, request),
            Method::PromptsGet => self.look_ups.prompt,
            Method::ResourcesRead => self.look_ups.resource,
            Method::CompletionComplete => self.look_ups.completion,
            _ => return Ok(Target::Other),
        };
        let found = look_up(self, request.params.as_json());
        #[cfg(feature = "skills")]
        if let (Err(_), Some(is_left)) = (&found, self.skills.is_left)
            && is_left(self, request)
        {
            return Ok(Target::Other);
        }
        found
    }
}

/// Responds to `tools/call` that its arguments are invalid. A client that asked for a task takes
/// nothing else for a result, so it gets error -32602 (2025-11-25, basic/utilities/tasks).
pub(crate) fn refuse_arguments(
    server: &mut Server<'_>,
    request: &Request<'_>,
    why: &dyn Encode,
    tx: &mut Tx<'_>,
) -> SendResult {
    #[cfg(feature = "tasks")]
    if server.is_asked_for_task(request) {
        return server.refuse_params(request.handle, why, tx);
    }
    server.refuse_call(request.handle, ToolErrorKind::InvalidArguments, why, tx)
}

fn tool<'c, 'f>(catalog: &Catalog<'c>, request: &Request<'f>) -> Result<Target<'c>, RpcError<'f>> {
    let name = request.name();
    let tool = name
        .and_then(|name| catalog.all_tools().iter().find(|tool| tool.key() == name))
        .ok_or_else(|| RpcError::unknown("Unknown tool", name))?;
    #[cfg(feature = "http")]
    request.check_param_headers(tool.input_schema())?;
    let mut is_valid = true;
    catalog.refusal(tool, request, &mut |_| is_valid = false);
    Ok(if is_valid { Target::Tool(tool) } else { Target::InvalidArguments(tool) })
}

fn prompt<'c, 'f>(catalog: &Catalog<'c>, params: RawJson<'f>) -> Result<Target<'c>, RpcError<'f>> {
    let name = string(params, "name");
    let prompt = find(catalog.prompts, name).ok_or_else(|| unknown_prompt(name))?;
    let arguments = params.get("arguments").unwrap_or(RawJson::EMPTY);
    let missing = any_argument(prompt, &|name, required| {
        required && !arguments.members().any(|(given, _)| name == given)
    });
    if missing {
        Err(RpcError::invalid_params("A required argument is missing"))
    } else {
        Ok(Target::Prompt(prompt))
    }
}

fn typed_prompt<'c, 'f>(
    catalog: &Catalog<'c>,
    params: RawJson<'f>,
) -> Result<Target<'c>, RpcError<'f>> {
    let name = string(params, "name");
    let prompt = find(catalog.prompts, name).ok_or_else(|| unknown_prompt(name))?;
    let arguments = params.get("arguments").unwrap_or(RawJson::EMPTY);
    Ok(match catalog.typed_prompts {
        Some(typed) if !(typed.is_valid)(prompt, arguments) => Target::InvalidArguments(prompt),
        _ => Target::Prompt(prompt),
    })
}

fn resource<'c, 'f>(
    catalog: &Catalog<'c>,
    params: RawJson<'f>,
) -> Result<Target<'c>, RpcError<'f>> {
    target_of(catalog, string(params, "uri"))
}

/// Returns what serves a URI: the resource, or else a template.
fn target_of<'c, 'f>(
    catalog: &Catalog<'c>,
    uri: Option<JsonStr<'f>>,
) -> Result<Target<'c>, RpcError<'f>> {
    if let Some(resource) = find(catalog.resources, uri) {
        return Ok(Target::Resource(resource));
    }
    let matches = |template: &&Entry<'_>| {
        let pattern = template.key().as_plain();
        pattern.zip(uri).is_some_and(|(pattern, uri)| uri_template::matches(pattern, uri))
    };
    let template = catalog.templates.iter().find(matches);
    template.map(Target::Template).ok_or_else(|| unknown_resource(uri))
}

fn completion<'c, 'f>(
    catalog: &Catalog<'c>,
    params: RawJson<'f>,
) -> Result<Target<'c>, RpcError<'f>> {
    let target = reference(catalog, params)?;
    let argument = params.get("argument").and_then(|argument| string(argument, "name"));
    let is_known = argument.is_some_and(|name| match target {
        Target::CompletePrompt(prompt) => any_argument(prompt, &|known, _| known == name),
        Target::CompleteTemplate(template) => {
            uri_template::has_variable(template.key().as_plain().unwrap_or_default(), name)
        }
        _ => false,
    });
    if is_known { Ok(target) } else { Err(RpcError::invalid_params("Unknown argument")) }
}

/// Returns what is to be completed.
fn reference<'c, 'f>(
    catalog: &Catalog<'c>,
    params: RawJson<'f>,
) -> Result<Target<'c>, RpcError<'f>> {
    let reference = params.get("ref").unwrap_or(RawJson::EMPTY);
    if string(reference, "type").is_some_and(|kind| kind == "ref/prompt") {
        let name = string(reference, "name");
        let prompt = find(catalog.prompts, name).ok_or_else(|| unknown_prompt(name))?;
        return Ok(Target::CompletePrompt(prompt));
    }
    find(catalog.templates, string(reference, "uri"))
        .map(Target::CompleteTemplate)
        .ok_or(RpcError::invalid_params("Unknown resource template"))
}

fn unknown_prompt(name: Option<JsonStr<'_>>) -> RpcError<'_> {
    RpcError::unknown("Unknown prompt", name)
}

fn unknown_resource(uri: Option<JsonStr<'_>>) -> RpcError<'_> {
    match uri {
        Some(uri) => RpcError::resource_not_found(uri),
        None => RpcError::invalid_params("params.uri must be a string"),
    }
}

fn string<'f>(object: RawJson<'f>, key: &str) -> Option<JsonStr<'f>> {
    object.get(key).and_then(RawJson::as_string)
}

fn find<'c>(entries: &'c [Entry<'c>], key: Option<JsonStr<'_>>) -> Option<&'c Entry<'c>> {
    let key = key?;
    entries.iter().find(|entry| entry.key() == key)
}

/// Whether `is` returns true for the name and the required flag of any argument. Received JSON is
/// not read as a type: its deserializer would be linked.
fn any_argument(prompt: &Entry<'_>, is: &dyn Fn(Text<'_>, bool) -> bool) -> bool {
    let EntryKind::Prompt(Some(arguments)) = prompt.kind() else { return false };
    arguments
        .as_slice()
        .unwrap_or_default()
        .iter()
        .any(|argument| is(argument.name, argument.required == Some(true)))
        || arguments.as_json().unwrap_or(RawJson::NULL).elements().any(|argument| {
            let name = argument.get("name").and_then(RawJson::as_string).map(Text::from_json);
            name.is_some_and(|name| {
                is(name, argument.get("required").and_then(RawJson::as_bool) == Some(true))
            })
        })
}

// Responses of a catalog, and the look-up before them.

impl<'c> Catalog<'c> {
    /// Sends the response to a list request, or the error for an unknown name, URI or argument or
    /// for arguments that the schema of a tool does not allow, and returns
    /// [`Target::Responded`]; with the feature `tasks` also the error for a tool that must be a
    /// task or cannot be one (`Server::task_mode`). For any other request it sends nothing and
    /// returns the entry that the application has to respond for.
    ///
    /// # Errors
    /// As [`Server::respond`]: drain and call again.
    // Not inlined into the loops that repeat it, whose every pass but the first is rare: what they
    // read of the request and the catalog would be kept on the stack before they begin.
    #[inline(never)]
    pub fn respond(
        &self,
        server: &mut Server<'_>,
        request: &Request<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Target<'c>> {
        let handle = request.handle;
        let list = match request.method {
            Method::ToolsList => 0,
            Method::ResourcesList => 1,
            Method::ResourcesTemplatesList => 2,
            Method::PromptsList => 3,
            #[cfg(feature = "skills")]
            Method::SkillsList if self.skills.respond.is_some() => SKILLS,
            _ => return self.respond_unless_valid(server, request, tx),
        };
        let Some(start) = self.page(list, request.cursor()) else {
            let error = RpcError::invalid_params("Invalid cursor");
            return server.respond_error(handle, &error, tx).map(|_| Target::Responded);
        };
        let page = Page { catalog: self, list, start };
        let sent = server.respond_with::<dyn Encode>(handle, "complete", &page, tx);
        sent.map(|_| Target::Responded)
    }

    /// Responds to a request that is none for a list, unless the application has to. Its variables
    /// take no stack while a list is written.
    #[cfg_attr(small, inline(never))]
    fn respond_unless_valid(
        &self,
        server: &mut Server<'_>,
        request: &Request<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Target<'c>> {
        let handle = request.handle;
        #[cfg(feature = "skills")]
        if let Some(sent) =
            self.skills.respond.and_then(|respond| respond(self, server, request, tx))
        {
            return sent.map(|()| Target::Responded);
        }
        let target = self.target(request);
        if let (
            Some(typed),
            Method::PromptsGet | Method::CompletionComplete,
            Ok(Target::InvalidArguments(prompt) | Target::CompletePrompt(prompt)),
        ) = (self.typed_prompts, request.method, &target)
            && (typed.respond)(prompt, server, request, tx)?
        {
            return Ok(Target::Responded);
        }
        #[cfg(feature = "tasks")]
        if let Ok(Target::Tool(tool) | Target::InvalidArguments(tool)) = &target
            && let Err(error) = server.task_mode(request, tool.task_support())
        {
            return server.respond_error(handle, &error, tx).map(|_| Target::Responded);
        }
        match target {
            Ok(Target::InvalidArguments(tool)) => {
                let mut sent = Ok(());
                self.refusal(tool, request, &mut |why| {
                    sent = refuse_arguments(server, request, why, tx);
                });
                sent.map(|()| Target::Responded)
            }
            Ok(target) => Ok(target),
            Err(error) => server.respond_error(handle, &error, tx).map(|_| Target::Responded),
        }
    }

    /// Whether the tool is one of the enum.
    pub(crate) fn is_call(&self, tool: &Entry<'_>) -> bool {
        self.calls.entries.as_ptr_range().contains(&core::ptr::from_ref(tool))
    }

    /// Hands over what is wrong with the arguments of a call.
    pub(crate) fn refusal(
        &self,
        tool: &Entry<'_>,
        request: &Request<'_>,
        refuse: &mut dyn FnMut(&dyn Encode),
    ) {
        let check = self.tools.check;
        let check = if self.is_call(tool) { self.calls.check } else { check };
        if let Some(check) = check {
            check(tool, request.arguments().indexed(), refuse);
        }
    }

    /// Returns the cursor of the beginning of a list, which no response contains.
    fn first_cursor(&self, list: usize) -> Cursor {
        let first = list as Cursor * LONGEST;
        #[cfg(feature = "alloc")]
        let first = {
            let generation = self.generations.get(list).copied().unwrap_or_default();
            first + Cursor::from(generation) * LISTS.len() as Cursor * LONGEST
        };
        first
    }

    /// Returns the start of the page. Cursors that no response contained are invalid, and those of
    /// another generation of the list.
    fn page(&self, list: usize, cursor: Option<JsonStr<'_>>) -> Option<usize> {
        let Some(cursor) = cursor else { return Some(0) };
        let len = self.len(list);
        let digits = cursor.as_plain()?.as_bytes();
        let number = digits.iter().try_fold(0, |number: Cursor, digit| {
            let is_digit = digit.is_ascii_digit() && number < MAX_CURSOR;
            is_digit.then(|| number * 10 + Cursor::from(digit.wrapping_sub(b'0')))
        })?;
        if digits.first() == Some(&b'0') {
            return None;
        }
        let start = number.checked_sub(self.first_cursor(list))?;
        #[allow(clippy::useless_conversion, reason = "it depends on a feature")]
        let start = usize::try_from(start).ok()?;
        // A loop, since a Cortex-M0 cannot divide.
        let mut page = 0;
        while page < start && page < len {
            page = page.saturating_add(self.page_size);
        }
        (start > 0 && start < len && page == start).then_some(start)
    }
}

// Lists of entries, and what a response contains of them.

/// A list of a catalog, in two parts.
#[derive(Clone, Copy)]
pub(crate) struct EntryList<'c>(&'c [Entry<'c>], &'c [Entry<'c>]);

impl<'c> EntryList<'c> {
    const fn len(&self) -> usize {
        self.0.len() + self.1.len()
    }

    fn get(&self, at: usize) -> Option<&'c Entry<'c>> {
        self.0.get(at).or_else(|| self.1.get(at.checked_sub(self.0.len())?))
    }

    fn iter(self) -> impl Iterator<Item = &'c Entry<'c>> + Clone {
        self.0.iter().chain(self.1)
    }
}

/// A page of a list.
struct Page<'x> {
    catalog: &'x Catalog<'x>,
    /// Its place in [`LISTS`].
    list: usize,
    start: usize,
}

impl Encode for Page<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let len = self.catalog.len(self.list);
        let end = len.min(self.start.saturating_add(self.catalog.page_size));
        to.begin_object();
        if to.key(LISTS.get(self.list).copied().unwrap_or_default()) {
            self.encode_entries(end - self.start, to);
        }
        if end < len {
            let next = self.catalog.first_cursor(self.list) + end as Cursor;
            #[allow(clippy::unnecessary_cast, reason = "it depends on a feature")]
            let next = next as u64;
            to.member("nextCursor", Decimal::new(next, false).as_str());
        }
        if to.revision().is_modern() {
            to.member("ttlMs", &self.catalog.ttl_ms);
            to.member("cacheScope", &self.catalog.scope);
        }
        to.end_object();
    }
}

impl Page<'_> {
    fn encode_entries(&self, count: usize, to: &mut Encoder<'_>) {
        #[cfg(all(feature = "http", feature = "alloc"))]
        if let Some(permits) = self.catalog.permits {
            return self.encode_permitted(count, permits, to);
        }
        to.begin_array();
        let mut at = 0;
        while at < count
            && let Some(next) = to.element(at)
        {
            let Self { catalog, list, start } = *self;
            EntryAt { catalog, list, at: start.saturating_add(next) }.encode(to);
            at = next.saturating_add(1);
        }
        to.end_array();
    }

    /// The same for some of the entries.
    #[cfg(all(feature = "http", feature = "alloc"))]
    fn encode_permitted(&self, count: usize, Permits(permits): Permits<'_>, to: &mut Encoder<'_>) {
        let Self { catalog, list, start } = *self;
        let is_permitted = |at: &usize| {
            let scopes = catalog.list(list).get(*at).map_or("", Entry::scopes);
            scopes.is_empty() || permits(scopes)
        };
        let mut permitted = (start..start.saturating_add(count)).filter(is_permitted);
        to.begin_array();
        let mut number = 0;
        while let Some(at) = permitted.next()
            && let Some(next) = to.element(number)
        {
            // Entries that have been sent are left out.
            let at = next.checked_sub(number + 1).map_or(Some(at), |left| permitted.nth(left));
            let Some(at) = at else { return to.invalid(InvalidPayload::Changed) };
            EntryAt { catalog, list, at }.encode(to);
            number = next.saturating_add(1);
        }
        to.end_array();
    }
}

/// An entry of a list, by its place.
struct EntryAt<'x> {
    catalog: &'x Catalog<'x>,
    list: usize,
    at: usize,
}

impl Encode for EntryAt<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let Self { catalog, list, at } = *self;
        if let Some(entry) = catalog.list(list).get(at) {
            return entry.encode(to);
        }
        #[cfg(feature = "skills")]
        if let Some(at) = at.checked_sub(catalog.list(list).len())
            && let Some(skill) = catalog.skills.list.get(at)
        {
            match list {
                EntryKind::RESOURCE => return skill_md(skill).encode(to),
                SKILLS => return skill.skill().encode(to),
                _ => {}
            }
        }
        to.invalid(InvalidPayload::Changed);
    }
}

impl Catalog<'_> {
    /// Returns the length of a list. The resources end with the `SKILL.md` of each skill.
    const fn len(&self, list: usize) -> usize {
        let len = self.list(list).len();
        #[cfg(feature = "skills")]
        if matches!(list, EntryKind::RESOURCE | SKILLS) {
            return len + self.skills.list.len();
        }
        len
    }
}

// Checks of the pages of tools (MCP Apps).

/// Checks that each page is a resource of the catalog, or matches a template, and that resources of
/// the scheme `ui` have the MIME type of pages.
#[cfg(feature = "alloc")]
fn check_pages<'c>(catalog: &Catalog<'c>) -> Result<(), CatalogError<'c>> {
    let fault = |entry: &'c Entry<'c>, reason| {
        let entry = entry.key().as_plain().unwrap_or_default();
        Err(CatalogError { entry, reason })
    };
    for resource in catalog.resources.iter().filter(|resource| is_page(resource.key())) {
        let is_html = |json: RawJson<'_>| {
            json.get("mimeType").and_then(RawJson::as_string).is_some_and(|t| t == ui::MIME_TYPE)
        };
        if !passes(resource, is_html) {
            return fault(resource, "the MIME type of a page must be text/html;profile=mcp-app");
        }
    }
    let exists = |uri: JsonStr<'_>| target_of(catalog, Some(uri)).is_ok();
    for tool in catalog.all_tools().iter() {
        let has_page = |json: RawJson<'_>| {
            let page = json.get("_meta").and_then(|meta| meta.get("ui")?.get("resourceUri"));
            page.is_none_or(|uri| {
                uri.as_string().is_some_and(|uri| is_page(Text::from_json(uri)) && exists(uri))
            })
        };
        if !passes(tool, has_page) {
            return fault(tool, "the page of a tool must be a ui:// resource of the catalog");
        }
    }
    Ok(())
}

#[cfg(feature = "alloc")]
fn is_page(uri: Text<'_>) -> bool {
    uri.chars().take(5).eq("ui://".chars())
}

/// Returns what a test of the JSON of an entry says. Sending reports what cannot be encoded.
#[cfg(feature = "alloc")]
fn passes(entry: &Entry<'_>, test: impl Fn(RawJson<'_>) -> bool) -> bool {
    OwnedJson::new(entry, Revision::LATEST).map_or(true, |json| test(json.as_json()))
}

/// Refuses a list that would take the place of another.
const fn assert_unset(entries: &[Entry<'_>]) {
    assert!(entries.is_empty(), "the catalog has such a list already: all entries stand in one");
}

/// Refuses a key that is in both lists.
const fn assert_disjoint(some: &[Entry<'_>], others: &[Entry<'_>]) {
    let mut at = 0;
    while at < some.len() {
        let mut other = 0;
        while other < others.len() {
            assert!(!is_same(&some[at], &others[other]), "two entries have the same name or URI");
            other += 1;
        }
        at += 1;
    }
}

/// Whether two entries of the program have the same key.
const fn is_same(one: &Entry<'_>, other: &Entry<'_>) -> bool {
    let (Some(one), Some(other)) = (one.key().as_own(), other.key().as_own()) else { return false };
    same(one, other)
}

/// The members of the results that hold the lists.
#[cfg(not(feature = "skills"))]
const LISTS: [&str; 4] = ["tools", "resources", "resourceTemplates", "prompts"];
#[cfg(feature = "skills")]
const LISTS: [&str; 5] = ["tools", "resources", "resourceTemplates", "prompts", "skills"];
/// The place of the skills in [`LISTS`].
#[cfg(feature = "skills")]
const SKILLS: usize = 4;

/// A cursor: the number of entries before the page, the list in units of [`LONGEST`], and the
/// generation of a list that changes in units of all lists.
#[cfg(feature = "alloc")]
type Cursor = u64;
#[cfg(not(feature = "alloc"))]
type Cursor = usize;

/// Distance of the cursors of two lists: more than a list in memory has entries.
const LONGEST: Cursor = 10_000_000;
/// No valid cursor has more digits than this number.
const MAX_CURSOR: Cursor = if cfg!(feature = "alloc") { Cursor::MAX / 20 } else { 10 * LONGEST };

// The place of an entry, for tasks that cannot borrow it.

/// The target of a request, as the place of the entry in its catalog: for tasks that own the
/// catalog, such as an [`OwnedCatalog`], and so cannot keep a [`Target`].
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
pub struct TargetPlace(TargetIndex);

#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
enum TargetIndex {
    Entry { list: usize, at: usize, target: ToTarget },
    Responded,
    Other,
}

#[cfg(feature = "alloc")]
type ToTarget = for<'c> fn(&'c Entry<'c>) -> Target<'c>;

#[cfg(feature = "alloc")]
impl<'c> Catalog<'c> {
    /// Returns the place of a target that this catalog has returned.
    pub fn place_of(&self, target: &Target<'_>) -> TargetPlace {
        let (entry, target): (_, ToTarget) = match target {
            Target::Tool(entry) => (entry, |entry| Target::Tool(entry)),
            Target::InvalidArguments(entry) => (entry, |entry| Target::InvalidArguments(entry)),
            Target::Prompt(entry) => (entry, |entry| Target::Prompt(entry)),
            Target::Resource(entry) => (entry, |entry| Target::Resource(entry)),
            Target::Template(entry) => (entry, |entry| Target::Template(entry)),
            Target::CompletePrompt(entry) => (entry, |entry| Target::CompletePrompt(entry)),
            Target::CompleteTemplate(entry) => (entry, |entry| Target::CompleteTemplate(entry)),
            Target::Responded => return TargetPlace(TargetIndex::Responded),
            Target::Other => return TargetPlace(TargetIndex::Other),
        };
        let list = entry.list();
        let at = self.list(list).iter().position(|other| core::ptr::eq(other, *entry));
        TargetPlace(at.map_or(TargetIndex::Other, |at| TargetIndex::Entry { list, at, target }))
    }

    /// Returns the target at a place that [`place_of`](Self::place_of) of the same catalog has
    /// returned.
    pub fn target_at(&self, place: TargetPlace) -> Target<'c> {
        match place.0 {
            TargetIndex::Entry { list, at, target } => {
                self.list(list).get(at).map_or(Target::Other, target)
            }
            TargetIndex::Responded => Target::Responded,
            TargetIndex::Other => Target::Other,
        }
    }
}
