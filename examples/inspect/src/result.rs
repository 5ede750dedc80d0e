//! Results in readable form.

use std::fmt::Display;
use std::io::{self, Write};

use mcp_sansio::Printable;
use serde_json::Value;

use super::table::plain;

/// Prints the result of `tools/call`.
pub(crate) fn tool(result: &Value, out: &mut dyn Write) -> io::Result<()> {
    let blocks = list(&result["content"]);
    blocks.iter().try_for_each(|block| content(block, out))?;
    // Structured content that is also present as text is not printed twice.
    let data = &result["structuredContent"];
    let as_text = |block: &&Value| {
        block["text"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok()).as_ref()
            == Some(data)
    };
    if !data.is_null() && !blocks.iter().any(|block| as_text(&block)) {
        writeln!(out, "{}", safe(format_args!("{data:#}")))?;
    }
    Ok(())
}

/// Prints the result of `resources/read`.
pub(crate) fn resource(result: &Value, out: &mut dyn Write) -> io::Result<()> {
    list(&result["contents"]).iter().try_for_each(|part| contents(part, out))
}

/// Prints the result of `prompts/get`.
pub(crate) fn prompt(result: &Value, out: &mut dyn Write) -> io::Result<()> {
    for message in list(&result["messages"]) {
        write!(out, "{}: ", plain(message["role"].as_str().unwrap_or("?")))?;
        content(&message["content"], out)?;
    }
    Ok(())
}

fn content(block: &Value, out: &mut dyn Write) -> io::Result<()> {
    match block["type"].as_str() {
        Some("text") => writeln!(out, "{}", safe(block["text"].as_str().unwrap_or_default())),
        Some(kind @ ("image" | "audio")) => binary(kind, &block["mimeType"], &block["data"], out),
        Some("resource") => contents(&block["resource"], out),
        Some("resource_link") => {
            writeln!(out, "[link] {}", plain(block["uri"].as_str().unwrap_or_default()))
        }
        _ => writeln!(out, "{}", safe(format_args!("{block:#}"))),
    }
}

fn contents(part: &Value, out: &mut dyn Write) -> io::Result<()> {
    match part["text"].as_str() {
        Some(text) => writeln!(out, "{}", safe(text)),
        None => {
            binary(part["uri"].as_str().unwrap_or("data"), &part["mimeType"], &part["blob"], out)
        }
    }
}

fn binary(what: &str, mime_type: &Value, data: &Value, out: &mut dyn Write) -> io::Result<()> {
    let data = data.as_str().unwrap_or_default();
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count().min(2);
    let bytes = (data.len() / 4 * 3).saturating_sub(padding);
    writeln!(
        out,
        "[{}, {}, {bytes} bytes; see --json]",
        plain(what),
        plain(mime_type.as_str().unwrap_or("no type"))
    )
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Escapes control characters except line breaks and tabs. JSON keeps its value.
pub(crate) fn safe(text: impl Display) -> Printable<impl Display> {
    Printable::new(text).with_line_breaks()
}
