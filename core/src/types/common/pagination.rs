//! What all lists have in common: pages and caching.

use crate::json::RawJson;
use crate::types::Text;
use crate::types::encode::macros::{names, payload};

payload! {
    /// What the requests for a list say. Schema type `PaginatedRequestParams`.
    pub struct PaginatedParams<'a> {
        new {}
        with {
            /// Where to go on: what an earlier answer gave as its next cursor.
            "cursor" cursor: text;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

impl<'a> PaginatedParams<'a> {
    /// What to ask for after this page of a list; `None` when it was the last. The cursor goes back
    /// as it came: an empty one is one, too.
    ///
    /// ```
    /// use mcp_sansio::{RawJson, types::PaginatedParams};
    /// let page = RawJson::from_static(r#"{"tools":[],"nextCursor":"p2"}"#);
    /// assert!(
    ///     PaginatedParams::next_page(page)
    ///         .is_some_and(|next| next.cursor.is_some_and(|cursor| cursor == "p2"))
    /// );
    /// ```
    #[must_use]
    pub fn next_page(page: RawJson<'a>) -> Option<Self> {
        let cursor = page.get("nextCursor").and_then(RawJson::as_string).map(Text::from_json);
        cursor.map(|cursor| Self { cursor: Some(cursor), ..Self::new() })
    }
}

names! {
    /// Who may share a result that has been kept. From 2026-07-28 on, in schema type `CacheableResult`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum CacheScope {
        /// Anyone.
        Public = "public",
        /// Only who asked.
        Private = "private",
    }
}
