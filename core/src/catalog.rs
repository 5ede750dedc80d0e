//! Tools, resources and prompts as constant data: responds to list requests and unknown names.

pub(crate) mod check;
mod schema;

use core::ops::Range;

use crate::encode::{Encode, Encoder};
use crate::error::SendError;
use crate::json::{Decimal, JsonStr, RawJson};
use crate::lifecycle::Method;
use crate::message::Arguments;
use crate::printable::Printable;
use crate::rpc::RpcError;
use crate::server::{Request, Server};
use crate::tx::Tx;
use crate::types::{CacheScope, Prompt, Resource, ResourceTemplate, Text, Tool};
use crate::uri_template;

/// Tools, resources, templates and prompts, usually `const` and so in flash.
///
/// ```
/// use mcp_sansio::types::Tool;
/// use mcp_sansio::{Catalog, RawJson};
/// static CATALOG: Catalog = Catalog::new().tools(&[Tool::new(
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
    tools: &'c [Tool<'c>],
    resources: &'c [Resource<'c>],
    templates: &'c [ResourceTemplate<'c>],
    prompts: &'c [Prompt<'c>],
    writers: [Option<WritePage>; 4],
    page_size: usize,
    ttl_ms: u64,
    scope: CacheScope,
}

/// Writes a page of a list. Set together with the list, so that a program without prompts does not
/// link the code that writes prompts.
type WritePage = fn(&Catalog<'_>, Range<usize>, &mut Encoder<'_>);

/// Entry of the catalog that a request is for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Target<'c> {
    /// `tools/call` of this tool.
    Tool(&'c Tool<'c>),
    /// `prompts/get` of this prompt; the request has all required arguments.
    Prompt(&'c Prompt<'c>),
    /// `resources/read` of this resource.
    Resource(&'c Resource<'c>),
    /// `resources/read` of a URI that this template matches; see [`Target::variable`].
    Template(&'c ResourceTemplate<'c>),
    /// `completion/complete` for an argument of this prompt.
    CompletePrompt(&'c Prompt<'c>),
    /// `completion/complete` for a variable of this template.
    CompleteTemplate(&'c ResourceTemplate<'c>),
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
                uri_template::variable(template.uri_template.as_plain()?, name, uri)
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
            tools: &[],
            resources: &[],
            templates: &[],
            prompts: &[],
            writers: [None; 4],
            page_size: usize::MAX,
            ttl_ms: 0,
            scope: CacheScope::Public,
        }
    }

    /// Sets the tools.
    #[must_use]
    pub const fn tools(mut self, tools: &'c [Tool<'c>]) -> Self {
        self.writers[0] =
            Some(|catalog, page, to| catalog.tools.get(page).unwrap_or_default().encode(to));
        Self { tools, ..self }
    }

    /// Sets the resources.
    #[must_use]
    pub const fn resources(mut self, resources: &'c [Resource<'c>]) -> Self {
        self.writers[1] =
            Some(|catalog, page, to| catalog.resources.get(page).unwrap_or_default().encode(to));
        Self { resources, ..self }
    }

    /// Sets the resource templates.
    #[must_use]
    pub const fn templates(mut self, templates: &'c [ResourceTemplate<'c>]) -> Self {
        self.writers[2] =
            Some(|catalog, page, to| catalog.templates.get(page).unwrap_or_default().encode(to));
        Self { templates, ..self }
    }

    /// Sets the prompts.
    #[must_use]
    pub const fn prompts(mut self, prompts: &'c [Prompt<'c>]) -> Self {
        self.writers[3] =
            Some(|catalog, page, to| catalog.prompts.get(page).unwrap_or_default().encode(to));
        Self { prompts, ..self }
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

    /// Checks the entries: names that are empty, too long, contain other characters or are used
    /// twice; schemas that are not objects, have a duplicate key, an unknown dialect or an external
    /// reference; URIs and templates that RFC 3986 does not allow; `x-mcp-header` annotations that
    /// break the rules.
    ///
    /// # Errors
    /// The first mistake. Call it in a test or at start-up.
    pub fn check(&self) -> Result<(), CatalogError<'c>> {
        check::check(self.tools, self.resources, self.templates, self.prompts)
    }

    /// Checks the arguments against the first level of the tool's input schema: `type`, `enum`,
    /// `const`, ranges, lengths, `required` and `additionalProperties`. The tool has to check
    /// deeper levels, `$ref`, `pattern`, `format` and other keywords.
    ///
    /// ```
    /// # use mcp_sansio::{Catalog, Request, SendError, Server, Target, Tx};
    /// # fn handle(server: &mut Server, request: &Request, target: Target, tx: &mut Tx)
    /// # -> Result<(), SendError> {
    /// let Target::Tool(tool) = target else { return Ok(()) };
    /// if let Err(fault) = Catalog::check_arguments(tool, &request.arguments()) {
    ///     let _ = server.respond_invalid_arguments(request.handle, &fault, tx)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first argument that does not.
    pub fn check_arguments<'x>(
        tool: &Tool<'x>,
        arguments: &Arguments<'x>,
    ) -> Result<(), CatalogError<'x>> {
        schema::check(tool.input_schema, arguments.raw())
    }

    /// Checks the structured content of a result against the tool's output schema, to the same
    /// depth as [`check_arguments`](Self::check_arguments); a tool without schema allows any
    /// content. Servers call it before responding, clients before trusting a result.
    ///
    /// # Errors
    /// The first invalid member; missing content; a schema with an unknown dialect or an external
    /// reference, which is never fetched.
    pub fn check_structured<'x>(
        tool: &Tool<'x>,
        content: Option<RawJson<'x>>,
    ) -> Result<(), CatalogError<'x>> {
        match (tool.output_schema, content) {
            (Some(schema), Some(_)) if check::refers_outside(schema) => Err(CatalogError {
                entry: "$ref",
                reason: "is an external reference, which is not supported",
            }),
            (Some(schema), Some(content)) => schema::check(schema, content),
            (Some(_), None) => {
                Err(CatalogError { entry: "structuredContent", reason: "is missing" })
            }
            (None, _) => Ok(()),
        }
    }

    /// Sends the response to a list request, or the error for an unknown name, URI or argument, and
    /// returns [`Target::Responded`]. For any other request it sends nothing and returns the entry
    /// that the application has to respond for.
    ///
    /// # Errors
    /// As [`Server::respond`]: drain and call again.
    #[cfg_attr(small, inline(never))]
    pub fn respond(
        &self,
        server: &mut Server<'_>,
        request: &Request<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Target<'c>, SendError> {
        let handle = request.handle;
        let (list, key, len) = match request.method {
            Method::ToolsList => (0, "tools", self.tools.len()),
            Method::ResourcesList => (1, "resources", self.resources.len()),
            Method::ResourcesTemplatesList => (2, "resourceTemplates", self.templates.len()),
            Method::PromptsList => (3, "prompts", self.prompts.len()),
            _ => {
                return match self.target(request) {
                    Ok(target) => Ok(target),
                    Err(error) => {
                        server.respond_error(handle, &error, tx).map(|_| Target::Responded)
                    }
                };
            }
        };
        let Some(start) = self.page(len, list, request.cursor()) else {
            let error = RpcError::invalid_params("Invalid cursor");
            return server.respond_error(handle, &error, tx).map(|_| Target::Responded);
        };
        let end = len.min(start.saturating_add(self.page_size));
        let page = Page { catalog: self, list, key, start, end, is_last: end == len };
        let sent = server.respond_with::<dyn Encode>(handle, "complete", &page, tx);
        sent.map(|_| Target::Responded)
    }

    /// Returns the entry that a request is for, or the error to respond with.
    ///
    /// # Errors
    /// The tool, prompt, argument or resource is unknown.
    pub fn target<'f>(&self, request: &Request<'f>) -> Result<Target<'c>, RpcError<'f>> {
        match request.method {
            Method::ToolsCall => {
                let name = request.name();
                let tool =
                    self.tools.iter().find(|tool| name.is_some_and(|name| tool.name == name));
                let tool = tool.ok_or(RpcError::invalid_params("Unknown tool"))?;
                #[cfg(feature = "http")]
                request.check_param_headers(tool.input_schema)?;
                Ok(Target::Tool(tool))
            }
            Method::PromptsGet => {
                let prompt = self
                    .prompt(request.name())
                    .ok_or(RpcError::invalid_params("Unknown prompt"))?;
                let arguments = request.arguments();
                let missing = any_argument(prompt, &|name, required| {
                    required && name.as_plain().is_none_or(|name| arguments.get(name).is_none())
                });
                if missing {
                    Err(RpcError::invalid_params("A required argument is missing"))
                } else {
                    Ok(Target::Prompt(prompt))
                }
            }
            Method::ResourcesRead => {
                let Some(uri) = request.uri() else {
                    return Err(RpcError::invalid_params("params.uri must be a string"));
                };
                if let Some(resource) = self.resources.iter().find(|resource| resource.uri == uri) {
                    return Ok(Target::Resource(resource));
                }
                self.template_for(uri)
                    .map(Target::Template)
                    .ok_or(RpcError::resource_not_found(uri))
            }
            Method::CompletionComplete => self.completion_target(request),
            _ => Ok(Target::Other),
        }
    }

    fn completion_target<'f>(&self, request: &Request<'f>) -> Result<Target<'c>, RpcError<'f>> {
        let reference = request.params.get("ref").unwrap_or(RawJson::EMPTY);
        let string = |key| reference.get(key).and_then(RawJson::as_string);
        let argument =
            request.params.get("argument").and_then(|a| a.get("name")).and_then(RawJson::as_string);
        let (target, known) = if string("type").is_some_and(|kind| kind == "ref/prompt") {
            let prompt =
                self.prompt(string("name")).ok_or(RpcError::invalid_params("Unknown prompt"))?;
            let known =
                any_argument(prompt, &|known, _| argument.is_some_and(|name| known == name));
            (Target::CompletePrompt(prompt), known)
        } else {
            let template = string("uri").and_then(|uri| {
                self.templates.iter().find(|template| template.uri_template == uri)
            });
            let template = template.ok_or(RpcError::invalid_params("Unknown resource template"))?;
            let pattern = template.uri_template.as_plain().unwrap_or_default();
            (
                Target::CompleteTemplate(template),
                argument.is_some_and(|name| uri_template::has_variable(pattern, name)),
            )
        };
        if known { Ok(target) } else { Err(RpcError::invalid_params("Unknown argument")) }
    }

    fn prompt(&self, name: Option<JsonStr<'_>>) -> Option<&'c Prompt<'c>> {
        self.prompts.iter().find(|prompt| name.is_some_and(|name| prompt.name == name))
    }

    fn template_for(&self, uri: JsonStr<'_>) -> Option<&'c ResourceTemplate<'c>> {
        self.templates.iter().find(|t| {
            t.uri_template.as_plain().is_some_and(|pattern| uri_template::matches(pattern, uri))
        })
    }

    /// Returns the start of the page. A cursor is the number of entries before the page, plus an
    /// offset for the list. Cursors that no response contained are invalid.
    fn page(&self, len: usize, list: usize, cursor: Option<JsonStr<'_>>) -> Option<usize> {
        let Some(cursor) = cursor else { return Some(0) };
        let digits = cursor.as_plain()?.as_bytes();
        let number = digits.iter().try_fold(0, |number: usize, digit| {
            // No valid cursor is that large.
            let is_digit = digit.is_ascii_digit() && number < 10 * LONGEST;
            is_digit.then(|| number * 10 + usize::from(digit.wrapping_sub(b'0')))
        })?;
        if digits.first() == Some(&b'0') {
            return None;
        }
        let start = number.checked_sub(list * LONGEST)?;
        (start > 0 && start < len && start.is_multiple_of(self.page_size)).then_some(start)
    }
}

/// A page of a list.
struct Page<'x> {
    catalog: &'x Catalog<'x>,
    list: usize,
    key: &'static str,
    start: usize,
    end: usize,
    is_last: bool,
}

impl Encode for Page<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let Self { catalog, .. } = self;
        to.begin_object();
        if to.key(self.key) {
            match catalog.writers.get(self.list) {
                Some(Some(write)) => write(catalog, self.start..self.end, to),
                _ => to.raw(const { RawJson::from_static("[]") }),
            }
        }
        if !self.is_last {
            let cursor = Decimal::new((self.list * LONGEST + self.end) as u64, false);
            to.member("nextCursor", cursor.as_str());
        }
        if to.revision().is_modern() {
            to.member("ttlMs", &catalog.ttl_ms);
            to.member("cacheScope", &catalog.scope);
        }
        to.end_object();
    }
}

/// Whether `is` returns true for the name and the required flag of any argument. Received JSON is
/// not read as a type: its deserializer would be linked.
fn any_argument(prompt: &Prompt<'_>, is: &dyn Fn(Text<'_>, bool) -> bool) -> bool {
    let Some(arguments) = prompt.arguments else { return false };
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

impl Default for Catalog<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// Error of [`Catalog::check`], [`Catalog::check_arguments`] or [`Catalog::check_structured`].
#[derive(Clone, Copy, Debug)]
pub struct CatalogError<'c> {
    /// The name or URI of the entry, or the name of the argument as it was written.
    pub entry: &'c str,
    /// The rule that it breaks.
    pub reason: &'static str,
}

impl core::fmt::Display for CatalogError<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", Printable::new(self.entry), self.reason)
    }
}

impl core::error::Error for CatalogError<'_> {}

/// Distance of the cursors of two lists: more than a list in memory has entries.
const LONGEST: usize = 10_000_000;
