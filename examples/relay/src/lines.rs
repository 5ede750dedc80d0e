//! Messages of the relay itself.

use mcp_sansio::{OwnedJson, RawJson, Revision};

pub(crate) fn request(id: &str, method: &str, params: Option<&str>) -> String {
    let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}"{params}}}"#)
}

pub(crate) fn notification(method: &str, params: Option<&str>) -> String {
    let params = params.map(|params| format!(r#","params":{params}"#)).unwrap_or_default();
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params}}}"#)
}

pub(crate) fn list_changed(list: &str, params: Option<&str>) -> String {
    notification(&format!("notifications/{list}/list_changed"), params)
}

pub(crate) fn resource_updated(params: &str) -> String {
    notification("notifications/resources/updated", Some(params))
}

pub(crate) fn cancelled(id: &str, reason: &str) -> String {
    notification(
        "notifications/cancelled",
        Some(&format!(r#"{{"requestId":{id},"reason":"{reason}"}}"#)),
    )
}

pub(crate) fn empty(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

pub(crate) fn error(id: &str, code: i32, message: &str) -> String {
    let message = OwnedJson::new(message, Revision::LATEST)
        .map_or_else(|_| "\"\"".to_owned(), |text| text.as_json().as_str().to_owned());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

/// Replaces `part`, a slice of `text`, by `other`.
pub(crate) fn replaced(text: RawJson<'_>, part: RawJson<'_>, other: &str) -> String {
    let (text, part) = (text.as_str(), part.as_str());
    let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    match (text.get(..start), text.get(start.wrapping_add(part.len())..)) {
        (Some(before), Some(after)) => [before, other, after].concat(),
        _ => text.to_owned(),
    }
}
