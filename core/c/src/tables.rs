//! The tables of the caller: constant arrays, from which lists are written and by which requests
//! are checked. One row at a time becomes an entry of a catalog.

use core::ffi::c_char;
use core::slice;

use mcp_sansio::types::{
    CacheScope, List, Prompt, Resource, ResourceTemplate, Text, Tool, ToolAnnotations,
};
use mcp_sansio::{
    Catalog, Encode, Encoder, Entry, ErrorCode, JsonStr, Method, RawJson, Request, RpcError,
    SendResult, Server, Tx,
};

use crate::raw::{self, text};
use crate::server::mcp_step;

/// Name and version of a server, and its tools. Constant; the texts are UTF-8.
#[repr(C)]
pub struct mcp_config {
    /// Name for programs.
    pub name: *const c_char,
    /// Version of the program.
    pub version: *const c_char,
    /// Name for people, or NULL.
    pub title: *const c_char,
    /// Instructions for the model that uses the server, or NULL.
    pub instructions: *const c_char,
    /// The tools, or NULL.
    pub tools: *const mcp_tool,
    /// Number of tools.
    pub tool_count: usize,
}

/// A tool.
#[repr(C)]
pub struct mcp_tool {
    /// Name: 1 to 128 characters of `A-Z a-z 0-9 _ - .`
    pub name: *const c_char,
    /// Name for people, or NULL.
    pub title: *const c_char,
    /// What it does, for the model, or NULL.
    pub description: *const c_char,
    /// JSON Schema of the arguments, an object; NULL if there are none.
    pub input_schema: *const c_char,
    /// JSON Schema of the structured result, or NULL.
    pub output_schema: *const c_char,
    /// `MCP_READ_ONLY` and others, or 0.
    pub hints: u32,
}

/// Hint: the tool changes nothing.
pub const MCP_READ_ONLY: u32 = 1;
/// Hint: the tool only adds, and destroys nothing.
pub const MCP_NOT_DESTRUCTIVE: u32 = 2;
/// Hint: a second call with the same arguments changes nothing more.
pub const MCP_IDEMPOTENT: u32 = 4;
/// Hint: the tool deals with nothing outside of the device.
pub const MCP_CLOSED_WORLD: u32 = 8;

/// A resource.
#[repr(C)]
pub struct mcp_resource {
    /// URI.
    pub uri: *const c_char,
    /// Name for programs.
    pub name: *const c_char,
    /// Name for people, or NULL.
    pub title: *const c_char,
    /// What it contains, for the model, or NULL.
    pub description: *const c_char,
    /// MIME type, or NULL.
    pub mime_type: *const c_char,
}

/// A template of the URIs of resources, such as `board://pins/{number}`.
#[repr(C)]
pub struct mcp_template {
    /// The template, with `{name}` for one segment and `{+name}` for any text.
    pub uri_template: *const c_char,
    /// Name for programs.
    pub name: *const c_char,
    /// Name for people, or NULL.
    pub title: *const c_char,
    /// What the resources contain, for the model, or NULL.
    pub description: *const c_char,
    /// MIME type, if all have the same, or NULL.
    pub mime_type: *const c_char,
}

/// A prompt.
#[repr(C)]
pub struct mcp_prompt {
    /// Name.
    pub name: *const c_char,
    /// Name for people, or NULL.
    pub title: *const c_char,
    /// What it is for, or NULL.
    pub description: *const c_char,
    /// JSON array of the arguments: objects with the members `name`, and maybe `description` and
    /// `required`; NULL if there are none.
    pub arguments: *const c_char,
}

/// An entry that a request is for, and what it asks.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) step: mcp_step,
    pub(crate) index: usize,
}

/// The tables, and the code for those that are set.
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    pub(crate) tools: &'static [mcp_tool],
    pub(crate) check: Option<Check>,
    pub(crate) resources: &'static [mcp_resource],
    pub(crate) templates: &'static [mcp_template],
    pub(crate) prompts: &'static [mcp_prompt],
    pub(crate) of_resources: Option<Respond>,
    pub(crate) of_prompts: Option<Respond>,
    pub(crate) of_completion: Option<Respond>,
}

/// Responds to a request, unless the application has to, which gets the entry.
pub(crate) type Respond =
    fn(&Tables, &mut Server<'_>, &Request<'static>, &mut Tx<'_>) -> SendResult<Option<Found>>;

impl Tables {
    pub(crate) const fn of_tools(tools: &'static [mcp_tool], check: Option<Check>) -> Self {
        Self {
            tools,
            check,
            resources: &[],
            templates: &[],
            prompts: &[],
            of_resources: None,
            of_prompts: None,
            of_completion: None,
        }
    }

    pub(crate) fn respond(
        &self,
        server: &mut Server<'_>,
        request: &Request<'static>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<Found>> {
        let respond = match request.method {
            Method::ToolsList => return list(self.tools, server, request, tx),
            Method::ToolsCall => return self.call(server, request, tx),
            Method::ResourcesList | Method::ResourcesTemplatesList | Method::ResourcesRead => {
                self.of_resources
            }
            Method::PromptsList | Method::PromptsGet => self.of_prompts,
            _ => self.of_completion,
        };
        match respond {
            Some(respond) => respond(self, server, request, tx),
            // The core has refused methods without capability.
            None => refuse(&Catalog::new(), server, request, tx),
        }
    }

    fn call(
        &self,
        server: &mut Server<'_>,
        request: &Request<'static>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<Found>> {
        let Some((index, row)) = find(self.tools, request.name()) else {
            return refuse(&Catalog::new(), server, request, tx);
        };
        if let Some(check) = self.check
            && check(row, server, request, tx)?
        {
            return Ok(None);
        }
        Ok(Some(Found { step: mcp_step::MCP_TOOL, index }))
    }
}

/// Responds to a call if its arguments are not as the schema of the tool says; returns whether it
/// did.
pub(crate) type Check =
    fn(&mcp_tool, &mut Server<'_>, &Request<'static>, &mut Tx<'_>) -> SendResult<bool>;

pub(crate) const CHECK: Check = |row, server, request, tx| {
    let Some(tool) = row.value() else { return Ok(false) };
    match Entry::from(&tool).check_arguments(&request.arguments()) {
        Ok(()) => Ok(false),
        Err(why) => server.respond_invalid_arguments(request.handle, &why, tx).map(|()| true),
    }
};

/// A row of a table.
pub(crate) trait Row: 'static {
    /// The same as a type of the library.
    type Value: Encode;
    /// The member of the result that holds the list.
    const LIST: &'static str;

    /// Returns the value; `None` if a text is missing or not as it should be.
    fn value(&self) -> Option<Self::Value>;

    /// Returns the name or URI.
    fn key(&self) -> &'static str;

    fn entry(value: &Self::Value) -> Entry<'_>;

    fn catalog<'c>(entries: &'c [Entry<'c>]) -> Catalog<'c>;
}

/// Defines how a row becomes a value.
macro_rules! rows {
    ($(
        $row:ident $value:ident $key:ident $list:literal $set:ident: |$this:ident| $make:expr;
    )*) => {$(
        // SAFETY: it is constant.
        unsafe impl Sync for $row {}

        impl Row for $row {
            type Value = $value<'static>;
            const LIST: &'static str = $list;

            fn value(&self) -> Option<Self::Value> {
                let $this = self;
                $make
            }

            fn key(&self) -> &'static str {
                constant(self.$key).unwrap_or_default()
            }

            fn entry(value: &Self::Value) -> Entry<'_> {
                Entry::from(value)
            }

            fn catalog<'c>(entries: &'c [Entry<'c>]) -> Catalog<'c> {
                Catalog::new().$set(entries)
            }
        }
    )*};
}

// SAFETY: it is constant.
unsafe impl Sync for mcp_config {}

rows! {
    mcp_tool Tool name "tools" tools: |row| {
        let json = |text| RawJson::parse(constant(text)?).ok();
        let input = if row.input_schema.is_null() { NO_ARGUMENTS } else { json(row.input_schema)? };
        let mut tool = Tool::new(constant(row.name)?, input);
        tool.title = optional(row.title)?;
        tool.description = optional(row.description)?;
        if !row.output_schema.is_null() {
            tool.output_schema = Some(json(row.output_schema)?);
        }
        if row.hints != 0 {
            let has = |hint| row.hints & hint != 0;
            let mut hints = ToolAnnotations::new();
            hints.read_only_hint = has(MCP_READ_ONLY).then_some(true);
            hints.destructive_hint = has(MCP_NOT_DESTRUCTIVE).then_some(false);
            hints.idempotent_hint = has(MCP_IDEMPOTENT).then_some(true);
            hints.open_world_hint = has(MCP_CLOSED_WORLD).then_some(false);
            tool.annotations = Some(hints);
        }
        Some(tool)
    };
    mcp_resource Resource uri "resources" resources: |row| {
        let mut resource = Resource::new(constant(row.uri)?, constant(row.name)?);
        resource.title = optional(row.title)?;
        resource.description = optional(row.description)?;
        resource.mime_type = optional(row.mime_type)?;
        Some(resource)
    };
    mcp_template ResourceTemplate uri_template "resourceTemplates" templates: |row| {
        let mut template = ResourceTemplate::new(constant(row.uri_template)?, constant(row.name)?);
        template.title = optional(row.title)?;
        template.description = optional(row.description)?;
        template.mime_type = optional(row.mime_type)?;
        Some(template)
    };
    mcp_prompt Prompt name "prompts" prompts: |row| {
        let mut prompt = Prompt::new(constant(row.name)?);
        prompt.title = optional(row.title)?;
        prompt.description = optional(row.description)?;
        if !row.arguments.is_null() {
            prompt.arguments =
                Some(List::from_json(RawJson::parse(constant(row.arguments)?).ok()?)?);
        }
        Some(prompt)
    };
}

/// The schema of a tool without arguments.
const NO_ARGUMENTS: RawJson<'static> =
    RawJson::from_static(r#"{"type":"object","additionalProperties":false}"#);

/// Returns a text of a table.
fn constant(pointer: *const c_char) -> Option<&'static str> {
    // SAFETY: `mcp_server_init` and the functions for further tables require that tables and their
    // texts stay as they are.
    unsafe { text(pointer) }
}

/// Returns a text of a table that may be left out.
fn optional(pointer: *const c_char) -> Option<Option<Text<'static>>> {
    // SAFETY: as in `constant`.
    unsafe { raw::optional(pointer) }
}

/// Writes a list, all of it in one page.
pub(crate) fn list<R: Row>(
    rows: &[R],
    server: &mut Server<'_>,
    request: &Request<'static>,
    tx: &mut Tx<'_>,
) -> SendResult<Option<Found>> {
    // There is no second page.
    if request.cursor().is_some() {
        let error = RpcError::invalid_params("Invalid cursor");
        return server.respond_error(request.handle, &error, tx).map(|()| None);
    }
    server.respond(request.handle, &Rows(rows), tx).map(|()| None)
}

struct Rows<'r, R>(&'r [R]);

impl<R: Row> Encode for Rows<'_, R> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        if to.key(R::LIST) {
            to.begin_array();
            let mut at = 0;
            while at < self.0.len()
                && let Some(next) = to.element(at)
                && let Some(row) = self.0.get(next)
            {
                // They have been read once, by `mcp_server_init`.
                match row.value() {
                    Some(value) => value.encode(to),
                    None => to.null(),
                }
                at = next + 1;
            }
            to.end_array();
        }
        if to.revision().is_modern() {
            to.member("ttlMs", &0u64);
            to.member("cacheScope", &CacheScope::Public);
        }
        to.end_object();
    }
}

/// Returns the row with this key, and its place.
pub(crate) fn find<'r, R: Row>(rows: &'r [R], key: Option<JsonStr<'_>>) -> Option<(usize, &'r R)> {
    let key = key?;
    rows.iter().enumerate().find(|(_, row)| key == *row.key())
}

/// Looks an entry up by its key. The catalog checks the request.
pub(crate) fn one<R: Row>(
    rows: &[R],
    step: mcp_step,
    key: Option<JsonStr<'_>>,
    server: &mut Server<'_>,
    request: &Request<'static>,
    tx: &mut Tx<'_>,
) -> SendResult<Option<Found>> {
    let found = find(rows, key).and_then(|(index, row)| Some((index, row.value()?)));
    let Some((index, value)) = found else { return refuse(&R::catalog(&[]), server, request, tx) };
    let entry = R::entry(&value);
    let catalog = R::catalog(slice::from_ref(&entry));
    if catalog.target(request).is_err() {
        return refuse(&catalog, server, request, tx);
    }
    Ok(Some(Found { step, index }))
}

/// Responds with the error of a catalog: that there is no such entry, for example.
pub(crate) fn refuse(
    catalog: &Catalog<'_>,
    server: &mut Server<'_>,
    request: &Request<'static>,
    tx: &mut Tx<'_>,
) -> SendResult<Option<Found>> {
    let error = match catalog.target(request) {
        Err(error) => error,
        Ok(_) => RpcError::new(ErrorCode::MethodNotFound, "Method not found"),
    };
    server.respond_error(request.handle, &error, tx).map(|()| None)
}
