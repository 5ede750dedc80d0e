//! `resources/read`.

use std::sync::atomic::Ordering;

use mcp_sansio::ToolError;
use mcp_sansio::types::{ReadResourceResult, ResourceContents, ResourceData, Text};
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult};

use super::Everything;

/// The URI of a text that changes.
pub(super) const WATCHED: &str = "test://watched-resource";

/// Returns the contents of a resource, or of a URI that matches the template.
pub(super) fn read(ctx: &Context, server: &Everything) -> HandlerResult {
    let uri = ctx.request()?.uri().ok_or(ToolError::invalid_arguments("uri must be a string"))?;
    let text;
    let contents = if let Some(id) = ctx.target().variable("id", uri) {
        let id: String = id.collect();
        text = serde_json::json!({ "id": id, "data": format!("Data for ID {id}") }).to_string();
        // The URI as the client wrote it.
        ResourceContents::new(Text::from_json(uri), ResourceData::Text(Text::new(&text)))
            .mime_type("application/json")
    } else if uri == "test://static-binary" {
        ResourceContents::blob("test://static-binary", super::media::PNG).mime_type("image/png")
    } else if uri == WATCHED {
        text = format!("Changes so far: {}", server.changes.load(Ordering::Relaxed));
        ResourceContents::text(WATCHED, &text).mime_type("text/plain")
    } else {
        ResourceContents::text("test://static-text", "A text that never changes")
            .mime_type("text/plain")
    };
    ctx.reply(&ReadResourceResult::new(&[contents]))
}
