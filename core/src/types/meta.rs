//! Keys of `_meta`: constants for the reserved ones, and their grammar (basic/index, "`_meta`").

use crate::json::{JsonStr, RawJson};
use crate::protocol::Revision;
use crate::protocol::error::ConfigError;

/// Request: token for its progress notifications. All revisions.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// Every request: its protocol version. 2026-07-28.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Every request: capabilities of the client. 2026-07-28.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Request: name and version of the client. 2026-07-28.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Request: lowest level of its log messages; without it, the server sends none. 2026-07-28.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Result: name and version of the server. 2026-07-28.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Notification of a subscription: id of its `subscriptions/listen` request. 2026-07-28.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Message of a task: an object with its `taskId`. 2025-11-25.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// State of a task: its progress as numbers, an object with `progress` and, if known, `total`. A
/// key of this library, since 2026-07-28 has no progress of tasks, and a state only a text for
/// people.
pub const TASK_PROGRESS: &str = "io.github.mcp-sansio/progress";
/// `traceparent` of W3C Trace Context. 2026-07-28.
pub const TRACEPARENT: &str = "traceparent";
/// `tracestate` of W3C Trace Context. 2026-07-28.
pub const TRACESTATE: &str = "tracestate";
/// `baggage` of W3C Baggage. 2026-07-28.
pub const BAGGAGE: &str = "baggage";

/// Returns whether `key` is a valid `_meta` key: an optional prefix of labels separated by dots and
/// followed by a slash, and a name.
///
/// A label starts with a letter, ends with a letter or digit, and contains letters, digits and
/// hyphens. A name is empty, or starts and ends with a letter or digit and contains letters,
/// digits, `-`, `_` and `.`.
///
/// ```
/// use mcp_sansio::types::meta;
/// assert!(meta::is_valid_key("com.example/trace_id") && meta::is_valid_key("progressToken"));
/// assert!(!meta::is_valid_key("com..example/x") && !meta::is_valid_key("-x"));
/// ```
pub fn is_valid_key(key: &str) -> bool {
    let (prefix, name) = split(key);
    prefix.is_none_or(is_valid_prefix) && is_valid_name(name)
}

/// Returns whether `id` is a valid extension id: a valid key with a prefix and a non-empty name.
pub fn is_valid_extension_id(id: &str) -> bool {
    let (prefix, name) = split(id);
    prefix.is_some_and(is_valid_prefix) && !name.is_empty() && is_valid_name(name)
}

/// Returns whether `revision` reserves the prefix of `key` for the protocol.
///
/// A prefix is reserved if a label of it is `modelcontextprotocol` or `mcp`: the last but one in
/// 2025-06-18, the second since 2025-11-25. The first two revisions reserve no prefix.
pub fn is_reserved(key: &str, revision: Revision) -> bool {
    let Some(prefix) = split(key).0.filter(|prefix| is_valid_prefix(prefix)) else { return false };
    let label = match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 => None,
        Revision::V2025_06_18 => prefix.rsplit('.').nth(1),
        Revision::V2025_11_25 | Revision::V2026_07_28 => prefix.split('.').nth(1),
    };
    matches!(label, Some("modelcontextprotocol" | "mcp"))
}

/// Returns whether this extension exists in 2026-07-28 only. A session of an older revision neither
/// declares it nor reads its declaration (SEP-2663).
pub(crate) fn is_modern_only(id: JsonStr<'_>) -> bool {
    id == TASKS
}

/// Id of the extension for tasks. 2026-07-28.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Id of the extension for skills. Since 2025-06-18.
pub(crate) const SKILLS: &str = "io.modelcontextprotocol/skills";

/// Validates the capabilities `experimental` and `extensions` that a configuration declares.
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
