//! Every example of the documentation and of the newest schema: read by its type, and written with
//! the same value.

use std::collections::BTreeMap;

use mcp_sansio::{RawJson, Revision};

use super::support::{files, params_of, round_trip, say, shape_of, shared};

/// Examples that are not payloads of the protocol, with the reason.
const UNTYPED: &[(&str, &str)] = &[
    ("000-000.json", "a placeholder of a request"),
    ("000-001.json", "a placeholder of a result"),
    ("000-003.json", "a placeholder of a notification"),
    ("001-000.json", "a placeholder of a request"),
    ("001-001.json", "a placeholder of a response, with result and error"),
    ("001-002.json", "a placeholder of a notification"),
];

/// Invalid examples, with the part that cannot be read.
const WRONG: &[(&str, &str)] = &[
    ("000-019.json", "ContentBlock: missing field `resource`"),
    ("000-028.json", "ProgressNotificationParams: missing field `progressToken`"),
];

/// Returns the revision of an example's page, by the first number in its name.
fn revision_of(name: &str, text: &str) -> Revision {
    match name.get(..3) {
        Some("000") => Revision::V2025_06_18,
        Some("001" | "002") => Revision::V2024_11_05,
        // A page of the newest revision that also shows how a client falls back.
        _ if text.contains("\"initialize\"") => Revision::V2025_06_18,
        // An unchanged example of an older revision.
        _ if text.contains("\"execution\"") => Revision::V2025_11_25,
        _ => Revision::V2026_07_28,
    }
}

#[test]
fn documented_examples_are_read_and_written_with_the_same_value() {
    let Some(directory) = shared("spec/examples") else { return };
    let (mut files_read, mut values, mut faults) = (0, 0, Vec::new());
    for (name, text) in files(&directory) {
        files_read += 1;
        let message =
            RawJson::parse(&text).unwrap_or_else(|error| panic!("{name} is JSON: {error}"));
        let revision = revision_of(&name, &text);
        let mut found = Vec::new();
        let mut typed = 0;
        let batch = message.is_array()
            && message.elements().all(|element| element.get("jsonrpc").is_some());
        let messages: Vec<_> = if batch { message.elements().collect() } else { vec![message] };
        for message in messages {
            match payload(message) {
                Payload::Typed(kind, raw) => typed += round_trip(kind, raw, revision, &mut found),
                Payload::Nothing => typed += 1,
                Payload::Unknown => found.push("no type".to_owned()),
            }
        }
        values += typed;
        let expected = match (
            UNTYPED.iter().find(|(file, _)| *file == name),
            WRONG.iter().find(|(file, _)| *file == name),
        ) {
            (Some(_), _) => vec!["no type"],
            (_, Some((_, fault))) => vec![*fault],
            _ => Vec::new(),
        };
        if found != expected {
            faults.push(format!("{name} ({revision}): {found:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(files_read >= 150, "only {files_read} examples");
    say(&format!(
        "documented examples: {files_read} files, {values} typed values, {} files of no type, {} wrong ones",
        UNTYPED.len(),
        WRONG.len()
    ));
}

enum Payload<'a> {
    Typed(&'static str, RawJson<'a>),
    /// A message without a payload.
    Nothing,
    Unknown,
}

/// The payload of a message, or a fragment.
fn payload(message: RawJson<'_>) -> Payload<'_> {
    let typed = |kind: Option<&'static str>, raw| {
        kind.map_or(Payload::Unknown, |kind| Payload::Typed(kind, raw))
    };
    if let Some(method) = message.get("method").and_then(RawJson::as_string) {
        return match (params_of(&method.to_string()), message.get("params")) {
            (kind, Some(params)) if kind.is_none() && params.get("_meta").is_some() => {
                typed(Some("RequestParams"), params)
            }
            (kind, Some(params)) => typed(kind, params),
            (_, None) => Payload::Nothing,
        };
    }
    match (message.get("result"), message.get("error"), message.get("capabilities")) {
        (Some(result), None, _) => typed(shape_of(result), result),
        (None, Some(error), _) => typed(Some("Error"), error),
        (Some(_), Some(_), _) => Payload::Unknown,
        (None, None, Some(capabilities)) => {
            let client = capabilities.get("roots").or(capabilities.get("sampling")).is_some();
            typed(
                Some(if client { "ClientCapabilities" } else { "ServerCapabilities" }),
                capabilities,
            )
        }
        _ => typed(shape_of(message), message),
    }
}

#[test]
fn schema_examples_are_read_and_written_with_the_same_value() {
    let Some(root) = shared("schema/examples-2026-07-28") else { return };
    let (mut counts, mut faults, mut values) = (BTreeMap::new(), Vec::new(), 0);
    let mut types: Vec<_> = std::fs::read_dir(root)
        .expect("the directory can be read")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    types.sort();
    for directory in types {
        let name = directory.file_name().expect("a type has a name").to_string_lossy().into_owned();
        for (file, text) in files(&directory) {
            let raw = RawJson::parse(&text)
                .unwrap_or_else(|error| panic!("{name}/{file} is JSON: {error}"));
            let mut found = Vec::new();
            let envelope = raw.get("jsonrpc").is_some();
            match (envelope, raw.get("params"), raw.get("result"), raw.get("error")) {
                (true, Some(params), ..) => {
                    let method = raw
                        .get("method")
                        .and_then(RawJson::as_string)
                        .expect("a message with params has a method");
                    let kind =
                        params_of(&method.to_string()).unwrap_or("a method that nobody knows");
                    values += round_trip(kind, params, Revision::LATEST, &mut found);
                }
                (true, None, Some(result), _) => {
                    let kind = name.strip_suffix("Response").unwrap_or(&name);
                    values += round_trip(kind, result, Revision::LATEST, &mut found);
                }
                (true, None, None, Some(error)) => {
                    values += round_trip("Error", error, Revision::LATEST, &mut found);
                    if let Some((kind, data)) = data_of(&name, error) {
                        values += round_trip(kind, data, Revision::LATEST, &mut found);
                    }
                }
                (true, ..) => found.push("an envelope with nothing in it".to_owned()),
                (false, ..) => values += round_trip(&name, raw, Revision::LATEST, &mut found),
            }
            faults.extend(found.into_iter().map(|fault| format!("{name}/{file}: {fault}")));
            *counts.entry(name.clone()).or_insert(0) += 1;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let files: usize = counts.values().sum();
    assert!(counts.len() >= 85 && files >= 100, "only {files} examples of {} types", counts.len());
    say(&format!("schema examples: {} types, {files} files, {values} typed values", counts.len()));
}

fn data_of<'a>(name: &str, error: RawJson<'a>) -> Option<(&'static str, RawJson<'a>)> {
    let kind = match name {
        "UnsupportedProtocolVersionError" => "UnsupportedProtocolVersionData",
        "MissingRequiredClientCapabilityError" => "MissingRequiredClientCapabilityData",
        _ => return None,
    };
    error.get("data").map(|data| (kind, data))
}
