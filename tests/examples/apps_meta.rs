//! Prints a value of each type of pages for `tests/apps`, with all members, by the name of the type
//! in the schema of the extension.

use mcp_sansio::types::Text;
use mcp_sansio::types::ui::{
    ClientCapabilities, MIME_TYPE, ResourceCsp, ResourceMeta, ResourcePermissions, ToolMeta,
    ToolVisibility,
};
use mcp_sansio::{Encode, OwnedJson, RawJson, Revision};

const CSP: ResourceCsp = ResourceCsp::new()
    .connect_domains(&[Text::new("https://a.example"), Text::new("wss://b.example")])
    .resource_domains(&[Text::new("https://*.example")])
    .frame_domains(&[])
    .base_uri_domains(&[]);
const PERMISSIONS: ResourcePermissions = ResourcePermissions::new()
    .camera(RawJson::EMPTY)
    .microphone(RawJson::EMPTY)
    .geolocation(RawJson::EMPTY)
    .clipboard_write(RawJson::EMPTY);
const RESOURCE: ResourceMeta = ResourceMeta::new()
    .csp(CSP)
    .permissions(PERMISSIONS)
    .domain("a904.example.com")
    .prefers_border(true);
const TOOL: ToolMeta = ToolMeta::new()
    .resource_uri("ui://gauge/dial")
    .visibility(&[ToolVisibility::Model, ToolVisibility::App]);
const CLIENT: ClientCapabilities = ClientCapabilities::new(&[Text::new(MIME_TYPE)]);

fn main() {
    let types: [(&str, &dyn Encode); 5] = [
        ("McpUiToolMeta", &TOOL),
        ("McpUiResourceMeta", &RESOURCE),
        ("McpUiResourceCsp", &CSP),
        ("McpUiResourcePermissions", &PERMISSIONS),
        ("McpUiClientCapabilities", &CLIENT),
    ];
    let members = types.map(|(name, value)| {
        let json = OwnedJson::new(value, Revision::LATEST).expect("the value can be written");
        format!("{name:?}:{}", json.as_json().as_str())
    });
    println!("{{{}}}", members.join(","));
}
