//! What calls result in: lists of many pages, results of tools with types, files of skills.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use mcp_sansio::internal::sha256;
use mcp_sansio::typed::{InputObject as _, OutputError, ToolCall};
use mcp_sansio::types::{
    CallToolResult, GetSkillResult, Prompt, ReadResourceResult, Resource, ResourceContents,
    ResourceData, ResourceTemplate, Skill, Tool,
};
use mcp_sansio::{
    Encode, Encoder, MAX_FRONTMATTER_JSON, OwnedJson, Printable, RawJson, ReadError, SkillError,
};
use serde::Deserialize;

/// A kind of list.
pub trait ListKind {
    /// Type of the entries.
    type Item<'a>: Deserialize<'a>;
    /// Method of the request.
    const METHOD: &'static str;
    /// Member of the result that holds the entries.
    const MEMBER: &'static str;
}

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident of $item:ident: $method:literal $member:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub enum $name {}

        impl ListKind for $name {
            type Item<'a> = $item<'a>;
            const METHOD: &'static str = $method;
            const MEMBER: &'static str = $member;
        }
    )*};
}

lists! {
    /// The tools of a server.
    Tools of Tool: "tools/list" "tools";
    /// The prompts of a server.
    Prompts of Prompt: "prompts/list" "prompts";
    /// The resources of a server.
    Resources of Resource: "resources/list" "resources";
    /// The resource templates of a server.
    ResourceTemplates of ResourceTemplate: "resources/templates/list" "resourceTemplates";
    /// The skills of a server.
    Skills of Skill: "skills/list" "skills";
}

/// A list: the results of all its pages, or of one page.
#[derive(Clone)]
pub struct List<L> {
    pages: Vec<OwnedJson>,
    kind: PhantomData<L>,
}

impl<L: ListKind> List<L> {
    /// Creates a list of pages.
    pub const fn new(pages: Vec<OwnedJson>) -> Self {
        Self { pages, kind: PhantomData }
    }

    /// Returns the entries of all pages, in order. An entry that does not match the type is an
    /// error; the entries after it can still be read.
    pub fn iter(&self) -> impl Iterator<Item = Result<L::Item<'_>, ReadError>> {
        self.raw().map(RawJson::to)
    }

    /// Returns the entries as JSON.
    pub fn raw(&self) -> impl Iterator<Item = RawJson<'_>> {
        self.pages
            .iter()
            .filter_map(|page| page.as_json().get(L::MEMBER))
            .flat_map(RawJson::elements)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.raw().count()
    }

    /// Returns whether the list has no entries.
    pub fn is_empty(&self) -> bool {
        self.raw().next().is_none()
    }

    /// Returns the results of the list requests, with their cache hints.
    pub fn pages(&self) -> &[OwnedJson] {
        &self.pages
    }
}

mcp_sansio::opaque_debug!([L] List<L> { pages });

/// The reason why a list was not read to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListError {
    /// It has more pages than [`MAX_PAGES`].
    TooManyPages,
    /// Its pages together are longer than this many bytes: [`MAX_LIST`], if nothing else is set.
    TooLong(usize),
    /// A page has the same `nextCursor` as an earlier page, so the list would never end.
    RepeatedCursor,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyPages => write!(f, "the list has more than {MAX_PAGES} pages"),
            Self::TooLong(limit) => write!(f, "the list is longer than {limit} bytes"),
            Self::RepeatedCursor => {
                f.write_str("the list never ends: a page repeats an earlier cursor")
            }
        }
    }
}

mcp_sansio::error_type!(ListError);

/// Parameters of the request for a page.
#[derive(Debug)]
pub struct PageParams {
    /// The directory whose list it is.
    uri: Option<String>,
    /// The cursor of the page before.
    pub(crate) cursor: Option<OwnedJson>,
}

impl Encode for PageParams {
    fn encode(&self, to: &mut Encoder<'_>) {
        mcp_sansio::object!(to, { "uri"?: self.uri, "cursor"?: self.cursor });
    }
}

/// Follows the cursors of a list, up to its limits.
#[derive(Debug)]
pub struct Pager {
    /// `None` after the last page, after an error, and while a page is requested.
    next: Option<PageParams>,
    uri: Option<String>,
    /// Number of bytes that the pages to come may have.
    left: usize,
    max_bytes: usize,
    /// Digests of the cursors that were seen, up to [`MAX_PAGES`].
    cursors: BTreeSet<[u8; 32]>,
}

impl Pager {
    /// Creates the pager of a list of at most so many bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self::of(None, max_bytes)
    }

    /// Creates the pager of a directory.
    pub fn of_directory(uri: &str, max_bytes: usize) -> Self {
        Self::of(Some(uri.to_owned()), max_bytes)
    }

    fn of(uri: Option<String>, max_bytes: usize) -> Self {
        let cursors = BTreeSet::new();
        let next = Some(PageParams { uri: uri.clone(), cursor: None });
        Self { next, uri, left: max_bytes, max_bytes, cursors }
    }

    /// Returns the parameters of the request for the next page, whose result
    /// [`check`](Self::check) gets.
    pub fn next_page(&mut self) -> Option<PageParams> {
        self.next.take()
    }

    /// Returns the page, unless it exceeds a limit.
    ///
    /// # Errors
    /// The limit.
    pub fn check(&mut self, page: OwnedJson) -> Result<OwnedJson, ListError> {
        self.note(page.as_json()).map(|()| page)
    }

    pub(crate) fn note(&mut self, page: RawJson<'_>) -> Result<(), ListError> {
        self.left =
            self.left.checked_sub(page.as_str().len()).ok_or(ListError::TooLong(self.max_bytes))?;
        if let Some(cursor) = page.get("nextCursor")
            && let Some(text) = cursor.as_string()
        {
            if !self.cursors.insert(sha256(text.to_string().as_bytes())) {
                return Err(ListError::RepeatedCursor);
            }
            if self.cursors.len() >= MAX_PAGES {
                return Err(ListError::TooManyPages);
            }
            self.next = Some(PageParams { uri: self.uri.clone(), cursor: Some(cursor.into()) });
        }
        Ok(())
    }
}

/// The result of a call with types: of `Client::call`.
pub struct TypedResult<T> {
    result: OwnedJson,
    /// The structured content, if it is not in the result.
    output: Option<OwnedJson>,
    call: PhantomData<fn() -> T>,
}

impl<T: ToolCall> TypedResult<T> {
    /// Checks a result. A server before 2025-06-18 sends no structured content: then the JSON of
    /// the first text block is taken for it, if it is an object.
    ///
    /// # Errors
    /// The tool failed, or its output is not of its type.
    pub fn new(result: OwnedJson) -> Result<Self, ToolCallError> {
        let output = match T::output(result.as_json()) {
            Err(OutputError::Missing) => json_text(&result),
            _ => None,
        };
        let typed = Self { result, output, call: PhantomData };
        typed.output()?;
        Ok(typed)
    }

    /// Reads the structured content, which may borrow from the result.
    ///
    /// # Errors
    /// None, since the client has checked it.
    pub fn output(&self) -> Result<T::Output<'_>, ToolCallError> {
        let read = match &self.output {
            Some(output) => T::Output::parse(output.as_json()).map_err(OutputError::Faults),
            None => T::output(self.result.as_json()),
        };
        read.map_err(|error| match error {
            OutputError::Failed(text) => ToolCallError::Failed { why: text.to_string() },
            error => ToolCallError::InvalidOutput { tool: T::NAME, why: error.to_string() },
        })
    }
}

impl<T> TypedResult<T> {
    /// Returns the whole result: a [`CallToolResult`].
    pub const fn result(&self) -> &OwnedJson {
        &self.result
    }
}

/// Returns the structured content that is only in the first block of text.
fn json_text(result: &OwnedJson) -> Option<OwnedJson> {
    let result: CallToolResult<'_> = result.to().ok()?;
    let text = result.content.iter().next()?.ok()?.as_text()?.to_string();
    Some(OwnedJson::from(RawJson::parse(&text).ok().filter(|json| json.is_object())?))
}

mcp_sansio::opaque_debug!([T] TypedResult<T> { result });

/// The reason why a tool call with types has a result, but no output.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolCallError {
    /// The tool failed (`isError`), with this text for a model.
    Failed {
        /// The first block of text.
        why: String,
    },
    /// The structured content is missing or not of its type.
    InvalidOutput {
        /// The name of the tool.
        tool: &'static str,
        /// Description of the fault.
        why: String,
    },
}

impl fmt::Display for ToolCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { why } => write!(f, "the tool failed: {}", Printable::new(why)),
            Self::InvalidOutput { tool, why } => write!(f, "`{tool}`: {}", Printable::new(why)),
        }
    }
}

mcp_sansio::error_type!(ToolCallError);

// Skills.

/// Checks that the result of `skills/get` is for the skill that was requested.
///
/// # Errors
/// It is for another, or invalid.
pub fn check_skill(result: OwnedJson, uri: &str) -> Result<OwnedJson, SkillError> {
    match result.as_json().to::<GetSkillResult<'_>>() {
        Ok(entry) if entry.skill.uri == uri => Ok(result),
        Ok(_) => Err(SkillError::Entry("it has another URI than the requested one")),
        Err(_) => Err(SkillError::Entry("it lacks uri, frontmatter or resources")),
    }
}

/// Returns the bytes of a file of a skill from the result of `resources/read`, verified.
///
/// # Errors
/// The file is not there, or not the one of the entry.
pub fn verified(skill: &Skill<'_>, uri: &str, result: &OwnedJson) -> Result<Vec<u8>, SkillError> {
    let result = result.as_json().to::<ReadResourceResult<'_>>();
    let contents = result.map_err(|_| SkillError::NoContent)?.contents;
    let file = contents.iter().filter_map(Result::ok).find(|it| it.uri == uri);
    let file = file.and_then(bytes).ok_or(SkillError::NoContent)?;
    skill.verify(uri, &file)?;
    if skill.uri == uri {
        skill.verify_frontmatter(&file, &mut vec![0; MAX_FRONTMATTER_JSON])?;
    }
    Ok(file)
}

fn bytes(contents: ResourceContents<'_>) -> Option<Vec<u8>> {
    match contents.data {
        ResourceData::Text(text) => Some(text.to_string().into_bytes()),
        ResourceData::Blob(blob) => {
            let len = blob.as_base64().map_or(0, |text| text.chars().count());
            let mut bytes = vec![0; len];
            let len = blob.decode_to(&mut bytes).ok()?.len();
            bytes.truncate(len);
            Some(bytes)
        }
        _ => None,
    }
}

/// Maximum number of pages of a list.
pub const MAX_PAGES: usize = 1000;
/// Maximum size of all pages of a list together, in bytes: 64 MiB.
pub const MAX_LIST: usize = 64 << 20;
