//! Tables of what a server offers.

use std::io::{self, Write};

use mcp_sansio::RawJson;
use mcp_sansio_adapters::blocking::client::{CallError, Client, Error, List, ListKind};
use serde_json::{Value, json};

use super::Failure;
use super::options::{Action, Options};
use super::result::safe;
use super::table::{Table, plain};

/// Prints the lists of an action.
pub(crate) fn show(
    options: &Options,
    server: &mut Client<'_>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let all = options.action == Action::Overview;
    let wants = |action| all || options.action == action;
    let (mut tools, mut resources, mut templates, mut prompts) = (None, None, None, None);
    let mut skills = None;
    if wants(Action::Tools) {
        tools = entries(server.list_tools(), all)?;
    }
    if wants(Action::Resources) {
        resources = entries(server.list_resources(), all)?;
        templates = entries(server.list_resource_templates(), all)?;
    }
    if wants(Action::Prompts) {
        prompts = entries(server.list_prompts(), all)?;
    }
    if wants(Action::Skills { uri: None }) {
        skills = entries(server.list_skills(), all)?;
    }
    if options.json {
        let about = introduction(server);
        let lists = json!({"server": about, "tools": tools.unwrap_or_default(),
            "resources": resources.unwrap_or_default(),
            "resourceTemplates": templates.unwrap_or_default(),
            "prompts": prompts.unwrap_or_default(), "skills": skills.unwrap_or_default()});
        writeln!(out, "{}", safe(format_args!("{lists:#}")))?;
        return Ok(());
    }
    if all {
        introduce(server, out)?;
    }
    let width =
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(110);
    print(out, "tools", tools, ["name", "arguments (* required)", "description"], width, |tool| {
        [word(&tool["name"]), arguments(&tool["inputSchema"]), about(tool)]
    })?;
    print(out, "resources", resources, ["uri", "type", "description"], width, |resource| {
        [word(&resource["uri"]), word(&resource["mimeType"]), about(resource)]
    })?;
    print(
        out,
        "resource templates",
        templates,
        ["uri", "type", "description"],
        width,
        |template| [word(&template["uriTemplate"]), word(&template["mimeType"]), about(template)],
    )?;
    print(
        out,
        "prompts",
        prompts,
        ["name", "arguments (* required)", "description"],
        width,
        |prompt| {
            let names = prompt["arguments"].as_array().into_iter().flatten().map(|argument| {
                word(&argument["name"]) + if argument["required"] == true { "*" } else { "" }
            });
            [word(&prompt["name"]), names.collect::<Vec<_>>().join(", "), about(prompt)]
        },
    )?;
    print(out, "skills", skills, ["uri", "files", "description"], width, |skill| {
        let files = match skill["resources"].as_array() {
            Some(files) => files.len().to_string(),
            None => word(&skill["resources"]),
        };
        [word(&skill["uri"]), files, about(&skill["frontmatter"])]
    })?;
    Ok(())
}

/// Returns the entries. A list that the server does not offer is no error of an overview.
fn entries<L: ListKind>(
    listed: Result<List<L>, Error>,
    all: bool,
) -> Result<Option<Vec<Value>>, Error> {
    match listed {
        Err(Error::Call { error: CallError::NotSent(_), .. }) if all => Ok(None),
        listed => Ok(Some(listed?.raw().map(value).collect())),
    }
}

/// Returns what the server says about itself.
fn introduction(server: &Client<'_>) -> Option<Value> {
    server.connected()?.result.as_ref().map(|about| value(about.as_json()))
}

fn introduce(server: &mut Client<'_>, out: &mut impl Write) -> io::Result<()> {
    let about = introduction(server).unwrap_or_default();
    let info = [&about["serverInfo"], &about["_meta"]["io.modelcontextprotocol/serverInfo"]]
        .into_iter()
        .find(|info| info.is_object());
    let name = info.map_or_else(
        || "a server".to_owned(),
        |info| format!("{} {}", word(&info["name"]), word(&info["version"])),
    );
    let revision = server.connected().map_or("", |server| server.revision.as_str());
    writeln!(out, "{name}, protocol {revision}")?;
    let capabilities =
        about["capabilities"].as_object().into_iter().flat_map(serde_json::Map::keys);
    writeln!(
        out,
        "capabilities: {}",
        capabilities.map(|key| plain(key)).collect::<Vec<_>>().join(", ")
    )?;
    about["instructions"]
        .as_str()
        .map_or(Ok(()), |text| writeln!(out, "instructions: {}", plain(text)))
}

fn print<const N: usize>(
    out: &mut impl Write,
    title: &str,
    entries: Option<Vec<Value>>,
    heading: [&str; N],
    width: usize,
    cells: impl Fn(&Value) -> [String; N],
) -> io::Result<()> {
    let Some(entries) = entries else { return Ok(()) };
    let mut table = Table::new(heading);
    entries.iter().for_each(|entry| table.row(cells(entry)));
    writeln!(out, "\n{title}: {}", entries.len())?;
    if !table.is_empty() {
        table.lines(width).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

/// Formats the properties of a JSON Schema as `text: string*, n: integer`, where `*` means
/// required.
fn arguments(schema: &Value) -> String {
    let required = |key: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|name| name == key))
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let shown = properties.map(|(key, schema)| {
        let kind =
            schema["type"].as_str().map(|kind| format!(": {}", plain(kind))).unwrap_or_default();
        format!("{}{kind}{}", plain(key), if required(key) { "*" } else { "" })
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns the description, or else the title.
fn about(entry: &Value) -> String {
    let text =
        [&entry["description"], &entry["title"], &entry["annotations"]["title"], &entry["name"]];
    text.into_iter().find_map(Value::as_str).map(plain).unwrap_or_default()
}

fn word(value: &Value) -> String {
    value.as_str().map(plain).unwrap_or_default()
}

fn value(raw: RawJson<'_>) -> Value {
    serde_json::from_str(raw.as_str()).unwrap_or_default()
}
