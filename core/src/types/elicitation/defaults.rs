//! Default values of a form.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::types::{PrimitiveSchema, RequestedSchema, Text};

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

impl Serialize for FormDefaults<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for field in self.0.fields().flatten() {
            match field.schema {
                PrimitiveSchema::String(schema) => {
                    serialize_default(&mut object, field.name, schema.default)?
                }
                PrimitiveSchema::Number(schema) => {
                    serialize_default(&mut object, field.name, schema.default)?
                }
                PrimitiveSchema::Boolean(schema) => {
                    serialize_default(&mut object, field.name, schema.default)?
                }
                PrimitiveSchema::SingleSelect(schema) => {
                    serialize_default(&mut object, field.name, schema.default)?
                }
                PrimitiveSchema::MultiSelect(schema) => {
                    serialize_default(&mut object, field.name, schema.default)?
                }
                PrimitiveSchema::Other(_) => {}
            }
        }
        object.end()
    }
}

fn serialize_default<M: serde::ser::SerializeMap, T: Serialize>(
    object: &mut M,
    name: Text<'_>,
    default: Option<T>,
) -> Result<(), M::Error> {
    default.map_or(Ok(()), |default| object.serialize_entry(&name, &default))
}
