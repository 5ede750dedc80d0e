//! Results of list requests.

use mcp_sansio::{OwnedJson, RawJson, ReadError};
use serde::Deserialize;

/// All pages of a list: `for tool in tools.iter::<Tool<'_>>()`.
#[derive(Clone, Debug)]
pub struct List {
    member: &'static str,
    pages: Vec<OwnedJson>,
}

impl List {
    pub(super) const fn new(member: &'static str, pages: Vec<OwnedJson>) -> Self {
        Self { member, pages }
    }

    /// Returns the entries of all pages, in order. An entry that does not match the type is an
    /// error; the entries after it can still be read.
    pub fn iter<'l, T: Deserialize<'l>>(&'l self) -> impl Iterator<Item = Result<T, ReadError>> {
        self.raw().map(RawJson::to)
    }

    /// Returns the entries as JSON.
    pub fn raw(&self) -> impl Iterator<Item = RawJson<'_>> {
        self.pages
            .iter()
            .filter_map(|page| page.as_raw().get(self.member))
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
