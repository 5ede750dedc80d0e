//! Checks of the pages of tools (MCP Apps).

use super::list::EntryList;
use super::{CatalogError, Entry};
use crate::encode::OwnedJson;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::Revision;
use crate::types::{Text, ui};
use crate::uri_template;

/// Checks that each page is a resource of the catalog, or matches a template, and that resources of
/// the scheme `ui` have the MIME type of pages.
pub(super) fn check<'c>(
    tools: EntryList<'c>,
    resources: EntryList<'c>,
    templates: EntryList<'c>,
) -> Result<(), CatalogError<'c>> {
    let fault = |entry: &'c Entry<'c>, reason| {
        let entry = entry.key().as_plain().unwrap_or_default();
        Err(CatalogError { entry, reason })
    };
    for resource in resources.iter().filter(|resource| is_page(resource.key())) {
        let is_html = |json: RawJson<'_>| {
            json.get("mimeType").and_then(RawJson::as_string).is_some_and(|t| t == ui::MIME_TYPE)
        };
        if !read(resource, is_html) {
            return fault(resource, "the MIME type of a page must be text/html;profile=mcp-app");
        }
    }
    let exists = |uri: JsonStr<'_>| {
        let matches = |pattern| uri_template::matches(pattern, uri);
        resources.iter().any(|resource| resource.key() == uri)
            || templates.iter().any(|template| template.key().as_plain().is_some_and(matches))
    };
    for tool in tools.iter() {
        let has_page = |json: RawJson<'_>| {
            let page = json.get("_meta").and_then(|meta| meta.get("ui")?.get("resourceUri"));
            page.is_none_or(|uri| {
                uri.as_string().is_some_and(|uri| is_page(Text::from_json(uri)) && exists(uri))
            })
        };
        if !read(tool, has_page) {
            return fault(tool, "the page of a tool must be a ui:// resource of the catalog");
        }
    }
    Ok(())
}

fn is_page(uri: Text<'_>) -> bool {
    uri.chars().take(5).eq("ui://".chars())
}

/// Returns what a test of the JSON of an entry says. Sending reports what cannot be encoded.
fn read(entry: &Entry<'_>, test: impl Fn(RawJson<'_>) -> bool) -> bool {
    OwnedJson::new(entry, Revision::LATEST).map_or(true, |json| test(json.as_raw()))
}
