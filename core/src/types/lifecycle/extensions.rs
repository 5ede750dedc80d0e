//! The extensions that capabilities declare.

use core::fmt;

use crate::encode::{Encode, Encoder, object};
use crate::json::RawJson;
use crate::types::meta::is_modern_only;

/// The object `extensions` of declared capabilities: settings, keyed by the id of the extension.
/// Since 2025-06-18.
#[derive(Clone, Copy)]
pub struct DeclaredExtensions<'a> {
    object: RawJson<'a>,
    /// Function pointer, so that the code is linked only where extensions are declared.
    write: fn(RawJson<'_>, &mut Encoder<'_>),
}

impl<'a> DeclaredExtensions<'a> {
    /// Creates it from the object.
    #[must_use]
    pub const fn new(object: RawJson<'a>) -> Self {
        Self { object, write }
    }

    /// Returns the object.
    #[must_use]
    pub const fn as_json(&self) -> RawJson<'a> {
        self.object
    }

    /// Writes the member, if the revision has any of them.
    pub(super) fn write_member(&self, to: &mut Encoder<'_>) {
        (self.write)(self.object, to);
    }
}

impl fmt::Debug for DeclaredExtensions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

fn write(object: RawJson<'_>, to: &mut Encoder<'_>) {
    let is_modern = to.revision().is_modern();
    let mut members = object.members();
    let has_any = object.members().next().is_none()
        || members.any(|(id, _)| is_modern || !is_modern_only(id));
    object!(@member to "extensions"? since V2025_06_18: has_any.then_some(Shown(object)));
}

/// The object, without those that exist in 2026-07-28 only where the revision is older.
struct Shown<'a>(RawJson<'a>);

impl Encode for Shown<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        if to.revision().is_modern() || !self.0.members().any(|(id, _)| is_modern_only(id)) {
            return to.raw(self.0);
        }
        to.begin_object();
        for (id, settings) in self.0.members().filter(|(id, _)| !is_modern_only(*id)) {
            if to.key_json(id) {
                to.raw(settings);
            }
        }
        to.end_object();
    }
}
