//! The keys of `_meta`: the reserved ones, and the grammar of the others (basic/index, "`_meta`").

use crate::error::ConfigError;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::Revision;

/// On any request: the token that progress notifications will name. All revisions.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// On every request: its revision. 2026-07-28.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// On every request: what the client can do. 2026-07-28.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// On requests: who asks. 2026-07-28.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// On requests: the least level of the log messages it wants; absent: none. 2026-07-28.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// On results: who answers. 2026-07-28.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// On what belongs to a `subscriptions/listen`: the id of that request. 2026-07-28.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// On messages of a task: which one. 2025-11-25.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// W3C Trace Context; needs no prefix. 2026-07-28.
pub const TRACEPARENT: &str = "traceparent";
/// W3C Trace Context; needs no prefix. 2026-07-28.
pub const TRACESTATE: &str = "tracestate";
/// W3C Baggage; needs no prefix. 2026-07-28.
pub const BAGGAGE: &str = "baggage";

/// Whether `key` follows the grammar of `_meta` keys: an optional prefix of labels between dots,
/// ending in a slash, and a name.
///
/// A label begins with a letter, ends with a letter or digit, and has only letters, digits and
/// hyphens. A name, unless it is empty, begins and ends with a letter or digit, and may have `-`,
/// `_` and `.` in between.
///
/// ```
/// use mcp_sansio::types::meta;
/// assert!(meta::is_valid_key("com.example/trace_id") && meta::is_valid_key("progressToken"));
/// assert!(!meta::is_valid_key("com..example/x") && !meta::is_valid_key("-x"));
/// ```
#[must_use]
pub fn is_valid_key(key: &str) -> bool {
    let (prefix, name) = split(key);
    prefix.is_none_or(is_valid_prefix) && is_valid_name(name)
}

/// Whether `id` may name an extension: a valid key that has a prefix and a name.
#[must_use]
pub fn is_valid_extension_id(id: &str) -> bool {
    let (prefix, name) = split(id);
    prefix.is_some_and(is_valid_prefix) && !name.is_empty() && is_valid_name(name)
}

/// Whether the prefix of `key` is reserved for the protocol in `revision`.
///
/// In 2025-06-18 the last label but one decides, from 2025-11-25 on the second: it is
/// `modelcontextprotocol` or `mcp`. The first two revisions reserve nothing.
#[must_use]
pub fn is_reserved(key: &str, revision: Revision) -> bool {
    let Some(prefix) = split(key).0.filter(|prefix| is_valid_prefix(prefix)) else { return false };
    let label = match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 => None,
        Revision::V2025_06_18 => prefix.rsplit('.').nth(1),
        Revision::V2025_11_25 | Revision::V2026_07_28 => prefix.split('.').nth(1),
    };
    matches!(label, Some("modelcontextprotocol" | "mcp"))
}

/// Whether this extension belongs to 2026-07-28 alone: in a session it is neither declared nor
/// taken for declared (SEP-2663).
pub(crate) fn is_modern_only(id: JsonStr<'_>) -> bool {
    id == TASKS
}

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Checks the capabilities that a configuration declares as JSON.
pub(crate) fn check_declared(
    experimental: Option<RawJson<'_>>,
    extensions: Option<RawJson<'_>>,
) -> Result<(), ConfigError> {
    let objects = |object: RawJson<'_>| {
        object.is_object() && object.members().all(|(_, value)| value.is_object())
    };
    if !experimental.is_none_or(objects) {
        return Err(ConfigError::Experimental);
    }
    let Some(extensions) = extensions else { return Ok(()) };
    if !objects(extensions) {
        return Err(ConfigError::Extensions);
    }
    let valid = |id: JsonStr<'_>| id.as_plain().is_some_and(is_valid_extension_id);
    if extensions.members().all(|(id, _)| valid(id)) {
        Ok(())
    } else {
        Err(ConfigError::ExtensionId)
    }
}

fn split(key: &str) -> (Option<&str>, &str) {
    match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    }
}

fn is_valid_prefix(prefix: &str) -> bool {
    prefix.split('.').all(|label| {
        label.starts_with(|c: char| c.is_ascii_alphabetic())
            && label.ends_with(|c: char| c.is_ascii_alphanumeric())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

fn is_valid_name(name: &str) -> bool {
    name.is_empty()
        || (name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')))
}
