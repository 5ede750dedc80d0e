//! Lists of all pages.

use mcp_sansio::{OwnedJson, RawJson, ReadError};
use serde::Deserialize;

/// All that a server lists: `for tool in tools.iter::<Tool<'_>>()`.
#[derive(Clone, Debug)]
pub struct List {
    member: &'static str,
    pages: Vec<OwnedJson>,
}

impl List {
    pub(super) const fn new(member: &'static str, pages: Vec<OwnedJson>) -> Self {
        Self { member, pages }
    }

    /// The entries of all pages, in order. One that does not fit the type is an error of its own.
    pub fn iter<'l, T: Deserialize<'l>>(&'l self) -> impl Iterator<Item = Result<T, ReadError>> {
        self.raw().map(RawJson::to)
    }

    /// The entries as JSON.
    pub fn raw(&self) -> impl Iterator<Item = RawJson<'_>> {
        self.pages
            .iter()
            .filter_map(|page| page.as_raw().get(self.member))
            .flat_map(RawJson::elements)
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw().count()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw().next().is_none()
    }

    /// The results as they came, with their hints for caches.
    #[must_use]
    pub fn pages(&self) -> &[OwnedJson] {
        &self.pages
    }
}
