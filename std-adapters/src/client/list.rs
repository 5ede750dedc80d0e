//! Lists of many pages.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::marker::PhantomData;

use mcp_sansio::types::{Prompt, Resource, ResourceTemplate, Skill, Tool};
use mcp_sansio::{Encode, Encoder, OwnedJson, RawJson, ReadError};
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
}

lists! {
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
    pub(crate) fn new(pages: Vec<OwnedJson>) -> Self {
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
            .filter_map(|page| page.as_raw().get(L::MEMBER))
            .flat_map(RawJson::elements)
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw().count()
    }

    /// Returns whether the list has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw().next().is_none()
    }

    /// Returns the results of the list requests, with their cache hints.
    #[must_use]
    pub fn pages(&self) -> &[OwnedJson] {
        &self.pages
    }
}

impl<L> fmt::Debug for List<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pages.fmt(f)
    }
}

/// The reason why a list was not read to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

impl std::error::Error for ListError {}

/// Parameters of the request for a page.
pub(crate) struct PageParams {
    /// The directory whose list it is.
    uri: Option<String>,
    /// The cursor of the page before.
    cursor: Option<OwnedJson>,
}

impl Encode for PageParams {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        if let Some(uri) = &self.uri {
            to.member("uri", uri.as_str());
        }
        if let Some(cursor) = &self.cursor {
            to.member("cursor", cursor);
        }
        to.end_object();
    }
}

/// Follows the cursors of a list, up to its limits.
pub(crate) struct Pager {
    /// `None` after the last page, after an error, and while a page is requested.
    next: Option<PageParams>,
    uri: Option<String>,
    /// Number of bytes that the pages to come may have.
    left: usize,
    max_bytes: usize,
    cursors: Cursors,
}

impl Pager {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self::of(None, max_bytes)
    }

    /// Creates the pager of a directory.
    pub(crate) fn of_directory(uri: &str, max_bytes: usize) -> Self {
        Self::of(Some(uri.to_owned()), max_bytes)
    }

    fn of(uri: Option<String>, max_bytes: usize) -> Self {
        let cursors = Cursors::default();
        let next = Some(PageParams { uri: uri.clone(), cursor: None });
        Self { next, uri, left: max_bytes, max_bytes, cursors }
    }

    /// Returns the parameters of the request for the next page, whose result
    /// [`check`](Self::check) gets.
    pub(crate) fn next(&mut self) -> Option<PageParams> {
        self.next.take()
    }

    /// Returns the page, unless it exceeds a limit.
    pub(crate) fn check(&mut self, page: OwnedJson) -> Result<OwnedJson, ListError> {
        let raw = page.as_raw();
        self.left =
            self.left.checked_sub(raw.as_str().len()).ok_or(ListError::TooLong(self.max_bytes))?;
        if let Some(cursor) = raw.get("nextCursor")
            && let Some(text) = cursor.as_string()
        {
            if !self.cursors.insert(text.to_string().as_bytes()) {
                return Err(ListError::RepeatedCursor);
            }
            if self.cursors.seen.len() >= MAX_PAGES {
                return Err(ListError::TooManyPages);
            }
            self.next = Some(PageParams { uri: self.uri.clone(), cursor: Some(cursor.into()) });
        }
        Ok(page)
    }
}

/// Hashes of the cursors of a list that were seen, up to [`MAX_PAGES`].
#[derive(Default)]
pub(crate) struct Cursors {
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl Cursors {
    /// Returns `false` if the cursor was seen before.
    pub(crate) fn insert(&mut self, cursor: &[u8]) -> bool {
        self.seen.insert(self.hasher.hash_one(cursor))
    }
}

/// Maximum number of pages of a list.
pub const MAX_PAGES: usize = 1000;
/// Maximum size of all pages of a list together, in bytes: 64 MiB.
pub const MAX_LIST: usize = 64 << 20;
