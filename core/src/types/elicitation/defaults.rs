//! Default values of a form.

use crate::encode::{Encode, Encoder};
use crate::types::{PrimitiveSchema, RequestedSchema};

/// Default values of a form, serialized as the `content` of an
/// [`ElicitResult`](super::ElicitResult). Created by [`RequestedSchema::defaults`].
#[derive(Clone, Copy, Debug)]
pub struct FormDefaults<'a>(RequestedSchema<'a>);

impl<'a> RequestedSchema<'a> {
    /// Returns the default values, with which a client should pre-populate the form
    /// (client/elicitation). Fields without a default are omitted.
    #[must_use]
    pub const fn defaults(self) -> FormDefaults<'a> {
        FormDefaults(self)
    }
}

impl Encode for FormDefaults<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        for field in self.0.fields().flatten() {
            let default: Option<&dyn Encode> = match &field.schema {
                PrimitiveSchema::String(schema) => schema.default.as_ref().map(|d| d as _),
                PrimitiveSchema::Number(schema) => schema.default.as_ref().map(|d| d as _),
                PrimitiveSchema::Boolean(schema) => schema.default.as_ref().map(|d| d as _),
                PrimitiveSchema::SingleSelect(schema) => schema.default.as_ref().map(|d| d as _),
                PrimitiveSchema::MultiSelect(schema) => schema.default.as_ref().map(|d| d as _),
                PrimitiveSchema::Other(_) => None,
            };
            if let Some(default) = default
                && field.name.encode_key(to)
            {
                default.encode(to);
            }
        }
        to.end_object();
    }
}
