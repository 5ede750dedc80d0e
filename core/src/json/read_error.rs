//! `ReadError`: why JSON is no value of a type.

use core::fmt;

use serde::de;

/// Error of deserializing a value into a type.
///
/// With the feature `alloc` it has the message that serde formats, without only the kind of error.
#[derive(Clone, PartialEq, Eq)]
pub struct ReadError {
    kind: Kind,
    #[cfg(feature = "alloc")]
    message: Option<alloc::string::String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    WrongType {
        expected: &'static str,
    },
    MissingField(&'static str),
    #[cfg(not(feature = "alloc"))]
    UnknownField,
    DuplicateField(&'static str),
    OutOfRange,
    #[cfg(not(feature = "alloc"))]
    EscapedTooLong,
    Other,
}

impl ReadError {
    pub(super) const fn new(kind: Kind) -> Self {
        Self {
            kind,
            #[cfg(feature = "alloc")]
            message: None,
        }
    }

    pub(super) const fn expected(expected: &'static str) -> Self {
        Self::new(Kind::WrongType { expected })
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "alloc")]
        if let Some(message) = &self.message {
            return crate::printable::Printable::new(message).fmt(f);
        }
        match self.kind {
            Kind::WrongType { expected } => write!(f, "expected {expected}"),
            Kind::MissingField(field) => write!(f, "missing field `{field}`"),
            #[cfg(not(feature = "alloc"))]
            Kind::UnknownField => f.write_str("unknown field"),
            Kind::DuplicateField(field) => write!(f, "duplicate field `{field}`"),
            Kind::OutOfRange => f.write_str("number out of range"),
            #[cfg(not(feature = "alloc"))]
            Kind::EscapedTooLong => {
                f.write_str("a string with escapes exceeds 128 bytes without `alloc`: use JsonStr")
            }
            Kind::Other => f.write_str("the value does not match the type"),
        }
    }
}

impl fmt::Debug for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadError({self})")
    }
}

impl core::error::Error for ReadError {}

impl de::Error for ReadError {
    #[cfg(feature = "alloc")]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { kind: Kind::Other, message: Some(alloc::format!("{message}")) }
    }

    #[cfg(not(feature = "alloc"))]
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::new(Kind::Other)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Kind::MissingField(field))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(Kind::DuplicateField(field))
    }

    #[cfg(not(feature = "alloc"))]
    fn unknown_field(_: &str, _: &'static [&'static str]) -> Self {
        Self::new(Kind::UnknownField)
    }
}
