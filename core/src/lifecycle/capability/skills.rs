//! The capability of the extension `io.modelcontextprotocol/skills`.

use super::ServerFeatures;
use crate::json::RawJson;
use crate::types::meta::SKILLS;

/// Reads a `ServerCapabilities` object.
pub(super) fn read(declared: RawJson<'_>) -> ServerFeatures {
    let extensions = declared.get("extensions").unwrap_or(RawJson::EMPTY);
    let Some(settings) = extensions.get(SKILLS).filter(|settings| settings.is_object()) else {
        return ServerFeatures::NONE;
    };
    let directories = settings.get("directoryRead").and_then(RawJson::as_bool) == Some(true);
    if directories { ServerFeatures::SKILLS_DIRECTORIES } else { ServerFeatures::SKILLS }
}

/// Returns the settings to declare.
pub(super) const fn settings(declared: ServerFeatures) -> Option<RawJson<'static>> {
    if declared.contains(ServerFeatures::SKILLS_DIRECTORIES) {
        Some(const { RawJson::from_static(r#"{"directoryRead":true}"#) })
    } else if declared.contains(ServerFeatures::SKILLS) {
        Some(RawJson::EMPTY)
    } else {
        None
    }
}
