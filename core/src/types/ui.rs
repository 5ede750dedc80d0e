//! MCP Apps: HTML pages of a server that a host shows beside the results of its tools. Extension
//! `io.modelcontextprotocol/ui` (SEP-1865, released on 2026-01-26), the part of servers.
//!
//! A tool names its page, a resource with a URI of the scheme `ui`. A host that supports pages
//! reads the resource, shows it in a sandbox, and hands it each result of the tool; all other hosts
//! show the text of the result, so a tool always returns one.
//!
//! ```
//! use mcp_sansio::types::ui::{self, ResourceMeta, ToolMeta};
//! use mcp_sansio::types::{ReadResourceResult, Resource, ResourceContents, Tool};
//! use mcp_sansio::{Catalog, RawJson, entries, ui_meta};
//!
//! const CLOCK: &str = "ui://clock/face";
//! const LOOK: RawJson = ui_meta!(ResourceMeta::new().prefers_border(true));
//!
//! static CATALOG: Catalog = Catalog::new()
//!     .tools(entries![
//!         Tool::new("time", RawJson::from_static(r#"{"type":"object"}"#))
//!             .description("Tells the time")
//!             .meta(ui_meta!(ToolMeta::new().resource_uri(CLOCK))),
//!     ])
//!     .resources(entries![Resource::new(CLOCK, "face").mime_type(ui::MIME_TYPE).meta(LOOK)]);
//! /// The result of `resources/read`.
//! const PAGE: ReadResourceResult = ReadResourceResult::new(&[
//!     ResourceContents::text(CLOCK, "<!doctype html><title>Clock</title><script>..</script>")
//!         .mime_type(ui::MIME_TYPE)
//!         .meta(LOOK),
//! ]);
//! CATALOG.check().unwrap();
//! ```
//!
//! In an enum that derives `Tools`, `#[tool(ui = ToolMeta::new().resource_uri(CLOCK))]` does the
//! same. Hosts take the [`ResourceMeta`] of the contents first, and that of the list otherwise.

use super::macros::{names, payload};
use super::rendered::{Const, Renderer};
use super::{List, Text};
use crate::encode::Gate;
use crate::json::RawJson;

/// The id of the extension in capabilities.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/ui";

/// The MIME type of a page.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// Declares the extension, as the [`extensions`](crate::ServerConfig::extensions) of a server that
/// declares no other.
pub const SERVER_EXTENSIONS: RawJson<'static> =
    RawJson::from_static(r#"{"io.modelcontextprotocol/ui":{}}"#);

payload! {
    #![rendered]
    /// The member `ui` in the `_meta` of a [`Tool`](super::Tool): see [`ui_meta!`](crate::ui_meta).
    /// Schema type `McpUiToolMeta`.
    pub struct ToolMeta<'a> {
        optional:
        /// URI of the page that shows the results. Begins with `ui://`, and is that of a
        /// resource of the same server.
        "resourceUri" resource_uri: text;
        /// Callers of the tool. Default: the model and the page.
        "visibility" visibility: list(ToolVisibility);
    }
}

names! {
    /// A caller of a tool. Schema type `McpUiToolVisibility`.
    pub enum ToolVisibility {
        /// The model.
        Model = "model",
        /// Pages of the same server.
        App = "app",
    }
}

payload! {
    #![rendered]
    /// The member `ui` in the `_meta` of a page, as a [`Resource`](super::Resource) and as
    /// [`ResourceContents`](super::ResourceContents): see [`ui_meta!`](crate::ui_meta). Schema type
    /// `McpUiResourceMeta`.
    pub struct ResourceMeta<'a> {
        optional:
        /// Origins that the page uses. Default: none.
        "csp" csp: of(ResourceCsp<'a>);
        /// Features of the browser that the page asks for. Default: none.
        "permissions" permissions: of(ResourcePermissions<'a>);
        /// Origin of its own for the page, in the form that the host documents. Default: an
        /// origin of the host's choice.
        "domain" domain: text;
        /// Whether the host draws a border and a background. Hosts differ in the default.
        "prefersBorder" prefers_border: of(bool);
    }
}

payload! {
    #![rendered]
    /// Origins that a page uses, which the host allows by its Content Security Policy; all others
    /// are blocked. Schema type `McpUiResourceCsp`.
    pub struct ResourceCsp<'a> {
        optional:
        /// For requests: `connect-src`.
        "connectDomains" connect_domains: list(Text<'a>);
        /// For images, scripts, styles, fonts and media. May contain `https://*.example.com`.
        "resourceDomains" resource_domains: list(Text<'a>);
        /// For nested frames: `frame-src`.
        "frameDomains" frame_domains: list(Text<'a>);
        /// For the base URI of the document: `base-uri`.
        "baseUriDomains" base_uri_domains: list(Text<'a>);
    }
}

payload! {
    #![rendered]
    /// Features of the browser that a page asks for; each is an empty object
    /// ([`RawJson::EMPTY`]). A host may refuse. Schema type `McpUiResourcePermissions`.
    pub struct ResourcePermissions<'a> {
        optional:
        /// The camera.
        "camera" camera: object;
        /// The microphone.
        "microphone" microphone: object;
        /// The position.
        "geolocation" geolocation: object;
        /// Writing to the clipboard.
        "clipboardWrite" clipboard_write: object;
    }
}

payload! {
    /// Settings of a client that supports pages. Schema type `McpUiClientCapabilities`.
    pub struct ClientCapabilities<'a> {
        /// MIME types of the pages that it shows; empty if missing.
        "mimeTypes" mime_types: list(Text<'a>) = List::EMPTY;
    }
}

impl ClientCapabilities<'_> {
    /// Returns whether the client shows pages of this type: [`MIME_TYPE`].
    pub fn supports(&self, mime_type: &str) -> bool {
        self.mime_types.iter().any(|known| known.is_ok_and(|known| known == mime_type))
    }
}

/// Makes a constant `_meta` with the member `ui` of a constant
/// [`ToolMeta`] or [`ResourceMeta`].
/// The JSON is written while compiling. A page that does not begin with `ui://` does not compile.
///
/// ```
/// use mcp_sansio::types::ui::{ToolMeta, ToolVisibility};
/// use mcp_sansio::{RawJson, ui_meta};
///
/// const RESET: RawJson = ui_meta!(ToolMeta::new().visibility(&[ToolVisibility::App]));
/// assert_eq!(RESET.as_str(), r#"{"ui":{"visibility":["app"]}}"#);
/// ```
///
/// ```compile_fail
/// use mcp_sansio::types::ui::ToolMeta;
/// const PAGE: mcp_sansio::RawJson =
///     mcp_sansio::ui_meta!(ToolMeta::new().resource_uri("https://example.com/page.html"));
/// ```
#[macro_export]
macro_rules! ui_meta {
    ($ui:expr) => {{
        const __TEXT: [u8; $ui.rendered_len()] = $ui.render();
        const __META: $crate::RawJson<'static> = match ::core::str::from_utf8(&__TEXT) {
            Ok(text) => $crate::RawJson::from_static(text),
            Err(_) => ::core::panic!("not rendered"),
        };
        __META
    }};
}

macro_rules! meta {
    ($($type:ident: $check:path;)*) => {$(
        /// Constants for [`ui_meta!`](crate::ui_meta).
        #[doc(hidden)]
        impl $type<'_> {
            pub const fn rendered_len(&self) -> usize {
                let mut to = Renderer::new(&mut []);
                self.render_meta(&mut to);
                to.len()
            }

            pub const fn render<const N: usize>(&self) -> [u8; N] {
                let mut text = [0; N];
                self.render_meta(&mut Renderer::new(&mut text));
                text
            }

            const fn render_meta(&self, to: &mut Renderer<'_>) {
                $check(self);
                let outer = to.begin_object();
                let gate = to.begin_member("ui", Gate::ALL);
                Const(self).render(to);
                to.end_member(gate);
                to.end_object(outer);
            }
        }
    )*};
}

meta! {
    ToolMeta: assert_page;
    ResourceMeta: any;
}

const fn assert_page(tool: &ToolMeta<'_>) {
    if let Some(uri) = &tool.resource_uri
        && let Some(uri) = uri.as_own()
    {
        let is_page = matches!(uri.as_bytes(), [b'u', b'i', b':', b'/', b'/', _, ..]);
        assert!(is_page, "the URI of a page begins with ui://");
    }
}

const fn any(_: &ResourceMeta<'_>) {}
