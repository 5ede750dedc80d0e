//! `resources/read`.

use mcp_sansio::types::{ReadResourceResult, ResourceContents, ResourceData, Text};
use mcp_sansio::{Request, RpcError, Target};

use super::{Result, Session, media};

/// `test://watched-resource`: a text that changes.
#[derive(Default)]
pub(super) struct Watched {
    changes: u32,
}

impl Watched {
    /// Its URI.
    pub(super) const URI: &str = "test://watched-resource";

    /// Makes it another text.
    pub(super) fn change(&mut self) {
        self.changes += 1;
    }
}

/// Answers with the contents of a resource, or of a URI that fits the template.
pub(super) fn read(watched: &Watched, target: &Target<'_>, request: &Request<'_>, session: &mut Session<'_, '_>) -> Result<()> {
    let Some(uri) = request.uri() else {
        return session.respond_error(request.handle, &RpcError::invalid_params("uri must be a string")).map(|_| ());
    };
    let text;
    let contents = if let Some(id) = target.variable("id", uri) {
        let id: String = id.collect();
        text = serde_json::json!({ "id": id, "data": format!("Data for ID {id}") }).to_string();
        // The URI as the client wrote it.
        ResourceContents::new(Text::from_json(uri), ResourceData::Text(Text::new(&text))).mime_type("application/json")
    } else if uri == "test://static-binary" {
        ResourceContents::blob("test://static-binary", media::PNG).mime_type("image/png")
    } else if uri == Watched::URI {
        text = format!("Changes so far: {}", watched.changes);
        ResourceContents::text(Watched::URI, &text).mime_type("text/plain")
    } else {
        ResourceContents::text("test://static-text", "A text that never changes").mime_type("text/plain")
    };
    session.respond(request.handle, &ReadResourceResult::new(&[contents])).map(|_| ())
}
