//! Messages of the cases.

/// Sizes of calls by name, and the length of the text in them, in bytes. The small legacy call has
/// 160 bytes, its newline included.
pub(crate) const TEXTS: [(&str, usize); 2] = [("160", 64), ("64k", 64 << 10)];

pub(crate) const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n",
);
pub(crate) const INITIALIZED: &str =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
pub(crate) const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n";

const META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}"#,
);

pub(crate) fn call(legacy: bool, text: usize) -> String {
    let meta = if legacy { String::new() } else { format!(",{META}") };
    let text = "a text of some words ".repeat(text / 21 + 1)[..text].to_owned();
    let arguments = format!(r#"{{"text":"{text}"}}"#);
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}{meta}}}}}"#
    ) + "\n"
}

pub(crate) fn list(legacy: bool) -> String {
    let params = if legacy { String::new() } else { format!(r#","params":{{{META}}}"#) };
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list"{params}}}"#) + "\n"
}
