//! Arguments of tools that are mirrored in header fields (2026-07-28, server/tools).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use mcp_sansio::http::client::OutgoingMessage;
use mcp_sansio::http::param_headers::{check_schema, header_params};
use mcp_sansio::{OwnedJson, RawJson};

use super::exchange::{Got, ask_with};
use super::transport_state::{Diagnostic, TransportState};
use crate::client::{Cursors, MAX_LIST};

/// Input schemas with annotations, by the names of their tools.
#[derive(Default)]
pub(crate) struct ToolTable {
    schemas: HashMap<String, OwnedJson>,
    /// Bytes of names and schemas.
    bytes: usize,
}

/// A list without the tools that have invalid annotations.
pub(crate) struct Sanitized {
    /// The new message; `None` if nothing was removed.
    pub(crate) message: Option<Vec<u8>>,
    /// Names of the removed tools, with the reasons.
    pub(crate) dropped: Vec<(String, &'static str)>,
}

impl ToolTable {
    pub(crate) fn schema(&self, tool: &str) -> Option<RawJson<'_>> {
        self.schemas.get(tool).map(OwnedJson::as_raw)
    }

    fn remove(&mut self, name: &str) {
        if let Some(schema) = self.schemas.remove(name) {
            self.bytes -= name.len() + schema.as_raw().as_str().len();
        }
    }

    /// Reads a page of the list of tools, as received.
    pub(crate) fn take(&mut self, message: &[u8]) -> Sanitized {
        let mut sanitized = Sanitized { message: None, dropped: Vec::new() };
        let Some(text) = std::str::from_utf8(message).ok() else { return sanitized };
        let Some(list) = RawJson::parse(text.trim())
            .ok()
            .and_then(|message| message.get("result")?.get("tools"))
        else {
            return sanitized;
        };
        let mut kept: Vec<&str> = Vec::new();
        for tool in list.elements() {
            let name = tool
                .get("name")
                .and_then(RawJson::as_string)
                .map(|name| name.to_string())
                .unwrap_or_default();
            let schema = tool.get("inputSchema").unwrap_or(RawJson::EMPTY);
            if let Err(reason) = check_schema(schema) {
                self.remove(&name);
                sanitized.dropped.push((name, reason));
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
        if !sanitized.dropped.is_empty() {
            // The list is a slice of the text.
            let at = list.as_str().as_ptr() as usize - text.as_ptr() as usize;
            let (before, rest) = text.split_at(at);
            let after = &rest[list.as_str().len()..];
            sanitized.message = Some(format!("{before}[{}]{after}", kept.join(",")).into_bytes());
        }
        sanitized
    }
}

/// Reads the whole list of tools again, with the credentials and capabilities of this call. Returns
/// `false` if that fails.
pub(crate) async fn refresh(shared: &TransportState, call: &OutgoingMessage<'_>) -> bool {
    let mut meta = String::new();
    for (key, value) in call.params().get("_meta").unwrap_or(RawJson::EMPTY).members() {
        if key != *"progressToken" {
            let comma = if meta.is_empty() { "" } else { "," };
            let _ = write!(meta, "{comma}{}:{}", key.as_json(), value.as_str());
        }
    }
    let mut cursor: Option<String> = None;
    let mut cursors = Cursors::default();
    let mut bytes = 0;
    for page in 0..MAX_PAGES {
        // Numeric ids are used by the client's own requests.
        let cursor_member =
            cursor.as_ref().map(|cursor| format!(",\"cursor\":{cursor}")).unwrap_or_default();
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":"tools-{page}","method":"tools/list","params":{{"_meta":{{{meta}}}{cursor_member}}}}}"#
        );
        let Some(post) = OutgoingMessage::parse(request.as_bytes()) else { return false };
        // The time limit is that of the call.
        let asked = ask_with(shared, &post, request.as_bytes(), call.id(), Duration::MAX).await;
        let Ok((_, Some(Got { is_over: true, message: response, .. }))) = asked else {
            return false;
        };
        let sanitized = shared.with(|state| state.tools.take(&response));
        sanitized
            .dropped
            .iter()
            .for_each(|(name, reason)| shared.report(Diagnostic::ToolDropped { name, reason }));
        let text = String::from_utf8_lossy(&response);
        let Some(result) =
            RawJson::parse(text.trim()).ok().and_then(|response| response.get("result"))
        else {
            return false;
        };
        cursor = result
            .get("nextCursor")
            .filter(|cursor| cursor.as_string().is_some())
            .map(|cursor| cursor.as_str().to_owned());
        let Some(next) = &cursor else { return true };
        bytes += response.len();
        if bytes > MAX_LIST || !cursors.insert(next.as_bytes()) {
            return false;
        }
    }
    false
}

/// Maximum number of tools with annotations. Calls of others are sent without mirrored fields.
const MAX_TOOLS: usize = 10_000;
/// Maximum number of bytes of their names and schemas.
const MAX_SCHEMAS: usize = 4 << 20;
const MAX_PAGES: u32 = 1000;

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
                tools.take(&page(name, 100_000));
            }
            assert!(tools.bytes <= MAX_SCHEMAS);
        }
        assert_eq!(tools.schemas.len(), MAX_SCHEMAS / 100_100);
        let kept: usize = tools
            .schemas
            .iter()
            .map(|(name, schema)| name.len() + schema.as_raw().as_str().len())
            .sum();
        assert_eq!(tools.bytes, kept);
        assert!(tools.schema("0").is_some() && tools.schema("99").is_none());
        // A schema that has become smaller makes room.
        tools.take(&page(0, 1));
        tools.take(&page(99, 1));
        assert!(tools.schema("99").is_some());
    }
}
