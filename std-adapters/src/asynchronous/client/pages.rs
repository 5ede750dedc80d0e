//! Paginated lists.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::marker::PhantomData;

use mcp_sansio::types::{PaginatedParams, Prompt, Resource, ResourceTemplate, Text, Tool};
use mcp_sansio::{CallOptions, OwnedJson, RawJson, ReadError};
use serde::Deserialize;

use super::call::Deadline;
use super::error::CallError;
use super::handle::Client;

/// A kind of list, for [`Client::list`].
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
        #[derive(Debug)]
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

/// A whole list: the results of all its pages.
pub struct Pages<L> {
    pages: Vec<OwnedJson>,
    kind: PhantomData<L>,
}

impl Client {
    /// Requests all pages of a list: `client.list::<Tools>(CallOptions::new())`. Up to
    /// [`MAX_PAGES`] pages, and [`Connector::max_list`](super::Connector::max_list) bytes; the
    /// [limit](CallOptions::limit) in time applies to all pages together.
    ///
    /// Cancel safe: dropping the future cancels the request for the current page; the pages so far
    /// are lost.
    ///
    /// # Errors
    /// [`CallError::TooManyPages`], [`CallError::ListTooLong`], [`CallError::RepeatedCursor`];
    /// otherwise as any call.
    pub async fn list<L: ListKind>(&self, options: CallOptions) -> Result<Pages<L>, CallError> {
        let mut pages: Vec<OwnedJson> = Vec::new();
        let (mut bytes, mut cursors) = (0, Cursors::default());
        let deadline = Deadline::after(self.limit(options));
        while pages.len() < MAX_PAGES {
            let mut params = PaginatedParams::new();
            params.cursor = pages.last().and_then(next_cursor);
            let page = self.request(L::METHOD, &params, options.limit(deadline.left())).await?;
            bytes += page.as_raw().as_str().len();
            if bytes > self.0.inner.max_list {
                return Err(CallError::ListTooLong);
            }
            let cursor =
                page.as_raw().get("nextCursor").filter(|cursor| cursor.as_string().is_some());
            let is_last = cursor.is_none();
            if cursor.is_some_and(|cursor| !cursors.insert(cursor.as_str().as_bytes())) {
                return Err(CallError::RepeatedCursor);
            }
            pages.push(page);
            if is_last {
                return Ok(Pages { pages, kind: PhantomData });
            }
        }
        Err(CallError::TooManyPages)
    }
}

fn next_cursor(page: &OwnedJson) -> Option<Text<'_>> {
    page.as_raw().get("nextCursor").and_then(RawJson::as_string).map(Text::from_json)
}

impl<L: ListKind> Pages<L> {
    /// Returns the entries. An entry that is not of its type is an error of its own; the others
    /// stay readable.
    pub fn iter(&self) -> impl Iterator<Item = Result<L::Item<'_>, ReadError>> {
        let lists = self.pages.iter().filter_map(|page| page.as_raw().get(L::MEMBER));
        lists.flat_map(RawJson::elements).map(RawJson::to)
    }

    /// Returns the results of the requests.
    #[must_use]
    pub fn pages(&self) -> &[OwnedJson] {
        &self.pages
    }
}

impl<L> fmt::Debug for Pages<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pages.fmt(f)
    }
}

/// Hashes of the cursors of a list that were seen, up to [`MAX_PAGES`].
#[derive(Default)]
pub(super) struct Cursors {
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl Cursors {
    /// Returns `false` if the cursor was seen before.
    pub(super) fn insert(&mut self, cursor: &[u8]) -> bool {
        self.seen.insert(self.hasher.hash_one(cursor))
    }
}

/// Maximum number of pages of a list.
pub const MAX_PAGES: usize = 1000;
/// Default of [`Connector::max_list`](super::Connector::max_list), in bytes: 64 MiB.
pub const MAX_LIST: usize = 64 << 20;
