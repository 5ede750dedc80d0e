//! Extensions that the client of a session declared.

use super::config::MAX_EXTENSIONS;
use crate::json::RawJson;
use crate::types::meta::is_modern_only;

/// The configured ids, and one bit each for those that were declared, in their order. A session
/// stores no ids or settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extensions {
    pub(super) ids: &'static [&'static str],
    pub(super) declared: u16,
}

const _: () = assert!(MAX_EXTENSIONS == u16::BITS as usize);

impl Extensions {
    pub(super) fn contains(&self, id: &str) -> bool {
        let at = self.ids.iter().take(MAX_EXTENSIONS).position(|known| *known == id);
        at.is_some_and(|at| self.declared & (1 << at) != 0)
    }
}

/// Returns the bits for the `ClientCapabilities` of an `initialize`. Each id in it is looked up
/// among the configured ones.
pub(super) fn read(capabilities: RawJson<'_>, ids: &'static [&'static str]) -> u16 {
    let mut declared = 0;
    for (id, settings) in capabilities.get("extensions").into_iter().flat_map(RawJson::members) {
        if settings.is_object()
            && !is_modern_only(id)
            && let Some(at) = ids.iter().take(MAX_EXTENSIONS).position(|known| id == *known)
        {
            declared |= 1 << at;
        }
    }
    declared
}
