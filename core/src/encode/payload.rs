//! What a message can carry.

use serde::Serialize;

use super::pen::Pen;
use super::ser::Extras;
use super::tell::Tell;
use super::write::{WriteError, Writer};
use crate::json::{JsonStr, RawJson};

/// What a server can put into a message: the [`types`](crate::types), JSON that is there already,
/// text, and in a [`Json`] anything that serializes.
///
/// These say what they are without serde, which makes its code anew for each type: a small program
/// pays for that.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be put into a message as it is",
    note = "a type of yours goes in a `Json`: `server.respond(request, &Json(&value), tx)`"
)]
pub trait Payload {
    #[doc(hidden)]
    fn write(&self, to: Pen<'_, '_, '_>) -> Result<(), WriteError>;
}

/// A type of yours in a message: `server.respond(request, &Json(&answer), tx)`.
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

/// Writes what a message carries; what its members are completed with where that is due.
pub(crate) fn write_payload<P: Payload + ?Sized>(
    writer: &mut Writer<'_>,
    payload: &P,
    extras: Option<Extras<'_>>,
) -> Result<(), WriteError> {
    payload.write(Pen::new(writer, extras))
}

/// Writes a list of them.
pub(crate) fn write_list<T: Serialize + Tell>(
    writer: &mut Writer<'_>,
    items: &[T],
) -> Result<(), WriteError> {
    let pen = Pen::new(writer, None);
    if cfg!(not(small)) { pen.serialize(items) } else { pen.tell(&items) }
}
