//! Arguments of tools that are mirrored in header fields (2026-07-28, server/tools).

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use mcp_sansio::http::client::{OutgoingMessage, Post};
use mcp_sansio::http::param_headers::{check_schema, header_params};
use mcp_sansio::{OwnedJson, RawJson, Revision};

use super::{Diagnostic, HttpStep};
use crate::HttpError;
use crate::results::{MAX_LIST, Pager};

/// Input schemas with annotations, by the names of their tools.
#[derive(Default)]
pub(super) struct ToolTable {
    schemas: BTreeMap<String, OwnedJson>,
    /// Bytes of names and schemas.
    bytes: usize,
}

impl ToolTable {
    pub(super) fn schema(&self, tool: &str) -> Option<RawJson<'_>> {
        self.schemas.get(tool).map(OwnedJson::as_json)
    }

    fn remove(&mut self, name: &str) {
        if let Some(schema) = self.schemas.remove(name) {
            self.bytes -= name.len() + schema.as_json().as_str().len();
        }
    }

    /// Reads a page of the list of tools, as received. Returns the list without the tools that have
    /// invalid annotations, which are reported; `None` if there are none.
    pub(super) fn take(
        &mut self,
        message: &[u8],
        steps: &mut VecDeque<HttpStep>,
    ) -> Option<Vec<u8>> {
        let text = core::str::from_utf8(message).ok()?;
        let list = result(text)?.get("tools")?;
        let reported = steps.len();
        let mut kept: Vec<&str> = Vec::new();
        for tool in list.elements() {
            let name = tool
                .get("name")
                .and_then(RawJson::as_string)
                .map(|name| name.to_string())
                .unwrap_or_default();
            let schema = tool.get("inputSchema").unwrap_or(RawJson::EMPTY);
            if let Err(error) = check_schema(schema) {
                self.remove(&name);
                let reason = error.reason;
                steps.push_back(HttpStep::Report(Diagnostic::ToolDropped { name, reason }));
                continue;
            }
            kept.push(tool.as_str());
            self.remove(&name);
            let bytes = self.bytes + name.len() + schema.as_str().len();
            let has_room = self.schemas.len() < MAX_TOOLS && bytes <= MAX_SCHEMAS;
            if has_room && header_params(schema, RawJson::EMPTY).next().is_some() {
                self.bytes = bytes;
                self.schemas.insert(name, schema.into());
            }
        }
        if steps.len() == reported {
            return None;
        }
        // The list is a slice of the text.
        let at = list.as_str().as_ptr() as usize - text.as_ptr() as usize;
        let (before, rest) = text.split_at_checked(at)?;
        let after = rest.get(list.as_str().len()..)?;
        Some(format!("{before}[{}]{after}", kept.join(",")).into_bytes())
    }
}

/// Reads the whole list of tools again, with the credentials and capabilities of a call.
pub(super) struct Listing {
    meta: String,
    page: usize,
    pager: Pager,
    /// The request for the next page.
    pub(super) post: Post,
    /// The error of the call if the list cannot be read.
    pub(super) error: HttpError,
}

/// The step after a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AfterPage {
    /// The next page.
    Next,
    /// The list is complete.
    Complete,
    /// The list cannot be read.
    Failed,
}

impl Listing {
    pub(super) fn new(call: &OutgoingMessage<'_>, error: HttpError) -> Self {
        let mut meta = String::new();
        for (key, value) in call.params().get("_meta").unwrap_or(RawJson::EMPTY).members() {
            if key != *"progressToken" {
                let comma = if meta.is_empty() { "" } else { "," };
                let _ = write!(meta, "{comma}{}:{}", key.as_json(), value.as_str());
            }
        }
        let post = request(&meta, 0, None);
        Self { meta, page: 0, pager: Pager::new(MAX_LIST), post, error }
    }

    /// Takes a page.
    pub(super) fn take(&mut self, response: &[u8]) -> AfterPage {
        let page = core::str::from_utf8(response).ok().and_then(result);
        // The first page is that of `post`.
        self.pager.next_page();
        if page.is_none_or(|page| self.pager.note(page).is_err()) {
            return AfterPage::Failed;
        }
        let next = self.pager.next_page().and_then(|params| params.cursor);
        let Some(cursor) = next else { return AfterPage::Complete };
        self.page += 1;
        self.post = request(&self.meta, self.page, Some(cursor.as_json().as_str()));
        AfterPage::Next
    }
}

/// Returns the request for a page. Numeric ids are used by the client's own requests.
fn request(meta: &str, page: usize, cursor: Option<&str>) -> Post {
    let cursor = cursor.map(|cursor| format!(",\"cursor\":{cursor}")).unwrap_or_default();
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":"tools-{page}","method":"tools/list","params":{{"_meta":{{{meta}}}{cursor}}}}}"#
    );
    Post::new(request.into_bytes(), Revision::LATEST)
}

/// Returns the result in a response.
fn result(response: &str) -> Option<RawJson<'_>> {
    RawJson::parse(response.trim()).ok()?.get("result")
}

/// Maximum number of tools with annotations. Calls of others are sent without mirrored fields.
const MAX_TOOLS: usize = 10_000;
/// Maximum number of bytes of their names and schemas.
const MAX_SCHEMAS: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with a tool of this name, whose schema annotates an argument and has as many bytes
    /// more.
    fn page(name: usize, padding: usize) -> Vec<u8> {
        let properties = r#""properties":{"a":{"type":"string","x-mcp-header":"A"}}"#;
        let schema =
            format!(r#"{{"type":"object",{properties},"padding":"{}"}}"#, "x".repeat(padding));
        let tools = format!(r#"[{{"name":"{name}","inputSchema":{schema}}}]"#);
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":{tools}}}}}"#).into_bytes()
    }

    #[test]
    fn c7_schemas_are_kept_up_to_their_limit_in_bytes() {
        let mut tools = ToolTable::default();
        for name in 0..100 {
            // Repeated pages take no more room.
            for _ in 0..2 {
                tools.take(&page(name, 100_000), &mut VecDeque::new());
            }
            assert!(tools.bytes <= MAX_SCHEMAS);
        }
        assert_eq!(tools.schemas.len(), MAX_SCHEMAS / 100_100);
        let kept: usize = tools
            .schemas
            .iter()
            .map(|(name, schema)| name.len() + schema.as_json().as_str().len())
            .sum();
        assert_eq!(tools.bytes, kept);
        assert!(tools.schema("0").is_some() && tools.schema("99").is_none());
        // A schema that has become smaller makes room.
        tools.take(&page(0, 1), &mut VecDeque::new());
        tools.take(&page(99, 1), &mut VecDeque::new());
        assert!(tools.schema("99").is_some());
    }
}
