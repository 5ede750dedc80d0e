//! Values that can be sent in a message.

use serde::Serialize;

use super::pen::Pen;
use super::ser::Extras;
use super::tell::Tell;
use super::write::{WriteError, Writer};
use crate::json::{JsonStr, RawJson};

/// A value that can be sent in a message: the [`types`](crate::types), [`RawJson`], [`JsonStr`],
/// text, and any type that implements `Serialize`, wrapped in [`Json`].
///
/// Types other than [`Json`] can be encoded without serde, which instantiates code for each type:
/// this keeps firmware small.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `Payload`",
    note = "wrap a type that implements `Serialize` in `Json`: `server.respond(request, &Json(&value), tx)`"
)]
pub trait Payload {
    #[doc(hidden)]
    fn write(&self, to: Pen<'_, '_, '_>) -> Result<(), WriteError>;
}

/// Wrapper that sends a type that implements `Serialize`:
/// `server.respond(request, &Json(&value), tx)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> Payload for Json<T> {
    #[inline]
    fn write(&self, to: Pen<'_, '_, '_>) -> Result<(), WriteError> {
        to.serialize(&self.0)
    }
}

impl<P: Payload + ?Sized> Payload for &P {
    #[inline]
    fn write(&self, to: Pen<'_, '_, '_>) -> Result<(), WriteError> {
        (**self).write(to)
    }
}

impl Payload for RawJson<'_> {
    fn write(&self, to: Pen<'_, '_, '_>) -> Result<(), WriteError> {
        if cfg!(not(small)) { to.serialize(self) } else { to.tell(self) }
    }
}

impl Payload for JsonStr<'_> {
    fn write(&self, to: Pen<'_, '_, '_>) -> Result<(), WriteError> {
        RawJson::from(*self).write(to)
    }
}

impl Payload for str {
    fn write(&self, to: Pen<'_, '_, '_>) -> Result<(), WriteError> {
        if cfg!(not(small)) { to.serialize(self) } else { to.tell(&self) }
    }
}

#[cfg(feature = "alloc")]
impl Payload for alloc::string::String {
    fn write(&self, to: Pen<'_, '_, '_>) -> Result<(), WriteError> {
        self.as_str().write(to)
    }
}

/// Writes a payload, and adds the members of `extras` that it lacks.
pub(crate) fn write_payload<P: Payload + ?Sized>(
    writer: &mut Writer<'_>,
    payload: &P,
    extras: Option<Extras<'_>>,
) -> Result<(), WriteError> {
    payload.write(Pen::new(writer, extras))
}

/// Writes an array of payloads.
pub(crate) fn write_list<T: Serialize + Tell>(
    writer: &mut Writer<'_>,
    items: &[T],
) -> Result<(), WriteError> {
    let pen = Pen::new(writer, None);
    if cfg!(not(small)) { pen.serialize(items) } else { pen.tell(&items) }
}
