//! Pages of tools (MCP Apps, SEP-1865).

use mcp_sansio::typed::{Output, ToolHandler, Tools};
use mcp_sansio::types::ui::{self, ResourceCsp, ResourceMeta, ResourcePermissions, ToolMeta};
use mcp_sansio::types::*;
use mcp_sansio::{
    Catalog, ClientConfig, ClientFeatures, Entry, Era, RawJson, Revision, ServerConfig,
    ServerFeatures, Target, ToolContext, ToolOutput, ToolResult, entries, ui_meta,
};
use mcp_sansio_adapters::blocking::App;
use serde_json::{Value, json};

use super::support::{Peer, REVISIONS, declared, raw};

const DIAL: &str = "ui://gauge/dial";
const HTML: &str = "<!doctype html><title>Dial</title><script>\"1 < 2\"</script>";
const LOOK: RawJson = ui_meta!(
    ResourceMeta::new().csp(ResourceCsp::new().connect_domains(&[Text::new("https://a.example")]))
);
static PAGE: ReadResourceResult = ReadResourceResult::new(&[ResourceContents::text(DIAL, HTML)
    .mime_type(ui::MIME_TYPE)
    .meta(LOOK)]);
static CATALOG: Catalog = Catalog::new()
    .tools_of::<Call>()
    .resources(entries![Resource::new(DIAL, "dial").mime_type(ui::MIME_TYPE).meta(LOOK)]);
static TEXT_ONLY: Catalog = Catalog::new().tools(entries![
    Tool::new("measure", RawJson::from_static(r#"{"type":"object"}"#))
        .description("Measures, and says it in words")
]);

#[derive(Tools)]
enum Call {
    /// Measures
    #[tool(read_only, returns = Reading, ui = ToolMeta::new().resource_uri(DIAL))]
    Measure,
    /// Begins at zero
    #[tool(ui = ToolMeta::new().visibility(&[ui::ToolVisibility::App]), title = "Zero")]
    Reset,
}

#[derive(Output)]
struct Reading {
    celsius: i32,
}

struct Gauge;

impl ToolHandler for Gauge {
    type Tools = Call;
    type Output<'a> = Reading;

    fn call<'a>(&mut self, call: Call, _: ToolContext<'a>) -> ToolResult<'a, Reading> {
        match call {
            Call::Measure => Ok(ToolOutput::Structured(Reading { celsius: 21 })),
            Call::Reset => Ok("Zero".into()),
        }
    }
}

#[test]
fn app_10_app_11_a_tool_names_its_page_and_its_callers() {
    for revision in REVISIONS {
        let answer = Peer::new(revision).look_up(&CATALOG, "tools/list", json!({}));
        let tools = &answer["result"]["tools"];
        let (measure, reset) = (&tools[0], &tools[1]);
        if revision < Revision::V2025_06_18 {
            assert!(measure.get("_meta").is_none() && reset.get("_meta").is_none());
        } else {
            assert_eq!(measure["_meta"], json!({"ui": {"resourceUri": DIAL}}));
            assert_eq!(reset["_meta"], json!({"ui": {"visibility": ["app"]}}));
        }
    }
}

#[test]
fn app_02_app_03_a_page_is_html_with_its_settings() {
    for revision in REVISIONS {
        let mut peer = Peer::new(revision);
        let read = peer.ask("resources/read", json!({"uri": DIAL}), |server, request, tx| {
            let found = CATALOG.respond(server, request, tx);
            assert!(matches!(found, Ok(Target::Resource(_))), "{found:?}");
            server.respond(request.handle, &PAGE, tx).unwrap();
        });
        let listed = peer.look_up(&CATALOG, "resources/list", json!({}));
        let (listed, read) = (&listed["result"]["resources"][0], &read["result"]["contents"][0]);
        assert_eq!((&read["uri"], &read["text"]), (&json!(DIAL), &json!(HTML)));
        for place in [listed, read] {
            assert_eq!(place["mimeType"], "text/html;profile=mcp-app");
            let meta = json!({"ui": {"csp": {"connectDomains": ["https://a.example"]}}});
            assert_eq!(place.get("_meta"), (revision >= Revision::V2025_06_18).then_some(&meta));
        }
    }
}

#[test]
fn app_12_the_settings_of_a_page_have_the_names_of_the_extension() {
    const ORIGINS: &[Text] = &[Text::new("https://a.example"), Text::new("wss://b.example")];
    const ALL: RawJson = ui_meta!(
        ResourceMeta::new()
            .csp(
                ResourceCsp::new()
                    .connect_domains(ORIGINS)
                    .resource_domains(ORIGINS)
                    .frame_domains(&[])
                    .base_uri_domains(ORIGINS),
            )
            .permissions(
                ResourcePermissions::new()
                    .camera(RawJson::EMPTY)
                    .microphone(RawJson::EMPTY)
                    .geolocation(RawJson::EMPTY)
                    .clipboard_write(RawJson::EMPTY),
            )
            .domain("a904.example.com")
            .prefers_border(false)
    );
    let origins = json!(["https://a.example", "wss://b.example"]);
    let expected = json!({"ui": {
        "csp": {
            "connectDomains": origins, "resourceDomains": origins,
            "frameDomains": [], "baseUriDomains": origins,
        },
        "permissions": {"camera": {}, "microphone": {}, "geolocation": {}, "clipboardWrite": {}},
        "domain": "a904.example.com",
        "prefersBorder": false,
    }});
    assert_eq!(serde_json::from_str::<Value>(ALL.as_str()).unwrap(), expected);
    // A client reads them as the same types.
    let read: ResourceMeta = ALL.get("ui").unwrap().to().unwrap();
    assert_eq!(read.csp.unwrap().resource_domains.unwrap().len(), 2);
    assert_eq!((read.prefers_border, read.domain.is_some()), (Some(false), true));
}

#[test]
fn app_01_app_05_a_catalog_finds_pages_that_do_not_exist() {
    const SCHEMA: RawJson = RawJson::from_static(r#"{"type":"object"}"#);
    let fault = |page: &str, resource: Resource<'_>, template: Option<&str>| {
        let meta = format!(r#"{{"ui":{{"resourceUri":{page}}}}}"#);
        let tools = [Entry::from(Tool::new("measure", SCHEMA).meta(raw(&meta)))];
        let resources = [Entry::from(resource)];
        let templates: Vec<_> = template
            .map(|uri| Entry::from(ResourceTemplate::new(uri, "page")))
            .into_iter()
            .collect();
        let catalog = Catalog::new().tools(&tools).resources(&resources).templates(&templates);
        catalog.check().err().map(|error| error.to_string())
    };
    let dial = || Resource::new(DIAL, "dial").mime_type(ui::MIME_TYPE);
    let missing = "measure: the page of a tool must be a ui:// resource of the catalog";
    let mime = "ui://gauge/dial: the MIME type of a page must be text/html;profile=mcp-app";
    assert_eq!(CATALOG.check().map_err(|error| error.to_string()), Ok(()));
    assert_eq!(fault(r#""ui://gauge/dial""#, dial(), None), None);
    assert_eq!(fault(r#""ui:\/\/gauge\/dial""#, dial(), None), None);
    assert_eq!(fault(r#""ui://gauge/2""#, dial(), None).unwrap(), missing);
    // A page need not be listed.
    assert_eq!(fault(r#""ui://gauge/2""#, dial(), Some("ui://gauge/{page}")), None);
    assert_eq!(fault("7", dial(), None).unwrap(), missing);
    let web = Resource::new("https://example.com/", "page").mime_type(ui::MIME_TYPE);
    assert_eq!(fault(r#""https://example.com/""#, web, None).unwrap(), missing);
    assert_eq!(fault(r#""ui://gauge/dial""#, dial().mime_type("text/html"), None).unwrap(), mime);
    assert_eq!(fault(r#""ui://gauge/dial""#, Resource::new(DIAL, "dial"), None).unwrap(), mime);
}

/// Capabilities of a client that shows pages of this type.
fn shows(mime_type: &str) -> Value {
    json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/x", mime_type]}}})
}

#[test]
fn app_04_app_07_a_server_offers_pages_to_clients_that_show_them() {
    static CONFIG: ServerConfig =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
            .client_extensions(&[ui::EXTENSION_ID]);
    let html = shows(ui::MIME_TYPE);
    for revision in REVISIONS {
        for (capabilities, expected) in [
            (&html, "Measures"),
            (&json!({}), "Measures, and says it in words"),
            (&json!({"extensions": {"org.example/ui": {}}}), "Measures, and says it in words"),
        ] {
            let mut peer = Peer::with_config(revision, &CONFIG, capabilities.clone());
            let answer = peer.ask("tools/list", json!({}), |server, request, tx| {
                let shows_pages = request.has_extension(ui::EXTENSION_ID);
                let catalog = if shows_pages { &CATALOG } else { &TEXT_ONLY };
                catalog.respond(server, request, tx).unwrap();
            });
            assert_eq!(answer["result"]["tools"][0]["description"], expected, "{revision}");
        }
    }
}

#[test]
fn app_08_the_types_of_pages_that_a_client_shows_are_its_settings() {
    let of_request = |capabilities: Value| {
        let mut found = None;
        let mut peer = Peer::that_can(Revision::LATEST, capabilities);
        peer.ask("tools/list", json!({}), |server, request, tx| {
            found = request.ui().map(|ui| ui.supports(ui::MIME_TYPE));
            CATALOG.respond(server, request, tx).unwrap();
        });
        found
    };
    let of_session = |capabilities: Value| {
        let json = capabilities.to_string();
        let capabilities: ClientCapabilities = raw(&json).to().unwrap();
        capabilities.ui().map(|ui| ui.supports(ui::MIME_TYPE))
    };
    let settings = |settings: Value| json!({"extensions": {(ui::EXTENSION_ID): settings}});
    for (capabilities, expected) in [
        (shows("text/html;profile=mcp-app"), Some(true)),
        (shows("text/html"), Some(false)),
        (settings(json!({})), Some(false)),
        (
            settings(json!({"mimeTypes": [7, "text/html;profile=mcp-app"], "features": []})),
            Some(true),
        ),
        (settings(json!({"mimeTypes": "text/html;profile=mcp-app"})), None),
        (json!({}), None),
    ] {
        assert_eq!(of_request(capabilities.clone()), expected, "{capabilities}");
        assert_eq!(of_session(capabilities.clone()), expected, "{capabilities}");
    }
}

#[test]
fn app_06_app_09_a_tool_with_a_page_says_its_result_as_text_too() {
    static CONFIG: ServerConfig =
        ServerConfig::new(Implementation::new("gauge", "1"), ServerFeatures::TOOLS);
    const WITHOUT: ClientConfig =
        ClientConfig::new(Implementation::new("host", "1"), ClientFeatures::NONE);
    static HOSTS: [ClientConfig; 2] = [
        WITHOUT,
        WITHOUT.extensions(RawJson::from_static(
            r#"{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}"#,
        )),
    ];
    for (host, era) in HOSTS.iter().flat_map(|host| Era::ALL.map(|era| (host, era))) {
        let server = App::new(&CONFIG).catalog(&CATALOG).memory(|ctx| ctx.call_tool(&mut Gauge));
        let result = server.connect(host, era).unwrap().call_tool("measure", &RawJson::EMPTY);
        let result: Value = serde_json::from_str(result.unwrap().as_json().as_str()).unwrap();
        assert_eq!(result["content"], json!([{"type": "text", "text": r#"{"celsius":21}"#}]));
        assert_eq!(result["structuredContent"], json!({"celsius": 21}));
    }
}

#[test]
fn app_04_a_server_declares_the_extension() {
    static CONFIG: ServerConfig =
        ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
            .extensions(ui::SERVER_EXTENSIONS);
    CONFIG.check().unwrap();
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        let extensions = json!({"io.modelcontextprotocol/ui": {}});
        assert_eq!(declared(revision, &CONFIG)["extensions"], extensions, "{revision}");
    }
}
