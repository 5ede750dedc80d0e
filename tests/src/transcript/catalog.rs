//! The catalog of `config: catalog`.

use mcp_sansio::types::{Prompt, PromptArgument, Resource, ResourceTemplate, Tool};
use mcp_sansio::{Catalog, Entry, RawJson, entries};

const SCHEMA: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);

static TOOLS: &[Entry<'static>] = entries![
    Tool::new("a", SCHEMA),
    Tool::new("b", SCHEMA).description("The second"),
    Tool::new("c", SCHEMA),
];
static RESOURCES: &[Entry<'static>] =
    entries![Resource::new("file:///a", "a"), Resource::new("file:///b", "b")];
static TEMPLATES: &[Entry<'static>] = entries![ResourceTemplate::new("row://{table}/{id}", "row")];
static PROMPTS: &[Entry<'static>] =
    entries![Prompt::new("p"), Prompt::new("q").arguments(&ARGUMENTS)];
const ARGUMENTS: [PromptArgument<'static>; 2] =
    [PromptArgument::new("x").required(true), PromptArgument::new("y")];

pub(super) fn catalog<'w>(
    words: impl Iterator<Item = &'w str>,
) -> Result<Catalog<'static>, String> {
    let mut catalog = Catalog::new();
    for word in words {
        catalog = match word {
            "tools" => catalog.tools(TOOLS),
            "resources" => catalog.resources(RESOURCES),
            "templates" => catalog.templates(TEMPLATES),
            "prompts" => catalog.prompts(PROMPTS),
            _ => return Err(format!("the catalog has no {word}")),
        };
    }
    catalog.check().map_err(|fault| fault.to_string())?;
    Ok(catalog)
}
