//! The `params` of a message.

#[cfg(not(small))]
pub use super::recorded::{Arguments, Params};
#[cfg(small)]
pub use super::walk::{Arguments, Params};
use crate::json::{JsonStr, RawJson, ReadError};

impl<'f> Params<'f> {
    /// Returns the whole object; `{}` if it is missing.
    #[inline]
    #[must_use]
    pub fn raw(&self) -> RawJson<'f> {
        self.given().unwrap_or(RawJson::EMPTY)
    }

    /// Returns a member. On large processors the members that the protocol's requests have in
    /// common are found without a search.
    #[cfg_attr(not(small), inline(always))]
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        self.find(key)
    }

    /// Returns `name`, of a tool or a prompt.
    #[inline]
    #[must_use]
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.given_name().and_then(RawJson::as_string)
    }

    /// Returns `arguments`; empty if they are missing.
    #[inline]
    #[must_use]
    pub fn arguments(&self) -> Arguments<'f> {
        self.given_arguments()
    }

    /// Returns `_meta`.
    #[inline]
    #[must_use]
    pub fn meta(&self) -> Option<RawJson<'f>> {
        self.get("_meta")
    }

    /// Deserializes `params` as `T`.
    ///
    /// # Errors
    /// [`ReadError`] if they do not fit the type.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.raw().to()
    }
}

impl<'f> Arguments<'f> {
    /// Returns the object, or whatever value the peer sent instead.
    #[inline]
    #[must_use]
    pub fn raw(&self) -> RawJson<'f> {
        self.given().unwrap_or(RawJson::EMPTY)
    }

    /// Returns an argument.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        self.find(key)
    }

    /// Deserializes the arguments as `T`, which may borrow from the frame.
    ///
    /// # Errors
    /// [`ReadError`] if they do not fit the type. From 2025-11-25 on, respond with a result that
    /// has `isError`, so that the model can correct itself.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.raw().to()
    }
}
