//! Lists of entries, and what a response contains of them.

#[cfg(feature = "skills")]
use super::entry::Kind;
#[cfg(feature = "skills")]
use super::skills::skill_md;
use super::{Catalog, Entry};
use crate::encode::{Encode, Encoder};
use crate::error::InvalidPayload;
use crate::json::Decimal;

/// A list of a catalog, in two parts.
#[derive(Clone, Copy)]
pub(crate) struct EntryList<'c>(pub(super) &'c [Entry<'c>], pub(super) &'c [Entry<'c>]);

impl<'c> EntryList<'c> {
    pub(super) const fn len(&self) -> usize {
        self.0.len() + self.1.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&'c Entry<'c>> {
        self.0.get(at).or_else(|| self.1.get(at.checked_sub(self.0.len())?))
    }

    pub(super) fn iter(self) -> impl Iterator<Item = &'c Entry<'c>> + Clone {
        self.0.iter().chain(self.1)
    }
}

/// A page of a list.
pub(super) struct Page<'x> {
    pub(super) catalog: &'x Catalog<'x>,
    /// Its place in [`LISTS`].
    pub(super) list: usize,
    pub(super) start: usize,
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
        to.begin_array();
        let mut at = 0;
        while at < count
            && let Some(next) = to.element(at)
        {
            let Self { catalog, list, start } = *self;
            At { catalog, list, at: start.saturating_add(next) }.encode(to);
            at = next.saturating_add(1);
        }
        to.end_array();
    }
}

/// An entry of a list, by its place.
pub(super) struct At<'x> {
    pub(super) catalog: &'x Catalog<'x>,
    pub(super) list: usize,
    pub(super) at: usize,
}

impl Encode for At<'_> {
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
                Kind::RESOURCE => return skill_md(skill).encode(to),
                SKILLS => return skill.skill().encode(to),
                _ => {}
            }
        }
        to.invalid(InvalidPayload::Changed);
    }
}

impl Catalog<'_> {
    /// Returns the length of a list. The resources end with the `SKILL.md` of each skill.
    pub(super) const fn len(&self, list: usize) -> usize {
        let len = self.list(list).len();
        #[cfg(feature = "skills")]
        if matches!(list, Kind::RESOURCE | SKILLS) {
            return len + self.skills.list.len();
        }
        len
    }
}

/// Refuses a list that would take the place of another.
pub(super) const fn assert_unset(entries: &[Entry<'_>]) {
    assert!(entries.is_empty(), "the catalog has such a list already: all entries stand in one");
}

/// Refuses a key that is in both lists.
pub(super) const fn assert_disjoint(some: &[Entry<'_>], others: &[Entry<'_>]) {
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
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The members of the results that hold the lists.
#[cfg(not(feature = "skills"))]
pub(super) const LISTS: [&str; 4] = ["tools", "resources", "resourceTemplates", "prompts"];
#[cfg(feature = "skills")]
pub(super) const LISTS: [&str; 5] =
    ["tools", "resources", "resourceTemplates", "prompts", "skills"];
/// The place of the skills in [`LISTS`].
#[cfg(feature = "skills")]
pub(super) const SKILLS: usize = 4;

/// A cursor: the number of entries before the page, the list in units of [`LONGEST`], and the
/// generation of a list that changes in units of all lists.
#[cfg(feature = "alloc")]
pub(super) type Cursor = u64;
#[cfg(not(feature = "alloc"))]
pub(super) type Cursor = usize;

/// Distance of the cursors of two lists: more than a list in memory has entries.
pub(super) const LONGEST: Cursor = 10_000_000;
/// No valid cursor has more digits than this number.
pub(super) const MAX_CURSOR: Cursor =
    if cfg!(feature = "alloc") { Cursor::MAX / 20 } else { 10 * LONGEST };
