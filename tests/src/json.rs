//! JSON of the tests' own, and all revisions in their order.

use mcp_sansio::{RawJson, Revision};
use serde_json::Value;

/// All revisions, from the oldest to the newest.
pub const REVISIONS: [Revision; 5] = [
    Revision::V2024_11_05,
    Revision::V2025_03_26,
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
];

/// Checks a text.
pub fn raw(text: &str) -> RawJson<'_> {
    RawJson::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the messages in some output.
pub fn lines(output: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(output).expect("what is sent is UTF-8");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}
