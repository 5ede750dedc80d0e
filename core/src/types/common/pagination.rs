//! Pagination of lists, and cache scopes.

use crate::json::RawJson;
use crate::types::Text;
use crate::types::macros::{names, payload};

payload! {
    /// Parameters of the `*/list` requests. Schema type `PaginatedRequestParams`.
    pub struct PaginatedParams<'a> {
        new {}
        with {
            /// Cursor of the page: the `nextCursor` of the page before. Absent for the first page.
            "cursor" cursor: text;
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}

impl<'a> PaginatedParams<'a> {
    /// Creates the parameters for the page after `page`, the result of a `*/list` request. Returns
    /// `None` after the last page. An empty cursor is a valid cursor.
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
    /// Whether caches may share a result between users: `cacheScope` of schema type
    /// `CacheableResult`. Since 2026-07-28.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum CacheScope {
        /// Caches may serve the result to every user.
        Public = "public",
        /// Caches may serve the result only to the user who requested it.
        Private = "private",
    }
}
