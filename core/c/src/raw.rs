//! Texts, arrays, and places to write to, as C hands them over.

use core::ffi::{CStr, c_char};
use core::mem::size_of;
use core::slice;

use mcp_sansio::RawJson;

/// Returns a text. `None` for a null pointer, and for bytes that are not UTF-8.
///
/// # Safety
/// The pointer is null, or that of a text with a zero byte behind it, which stays as it is for
/// `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// Returns a text that may be left out, by a null pointer. `None` for bytes that are not UTF-8.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn optional<'a, T: From<&'a str>>(pointer: *const c_char) -> Option<Option<T>> {
    if pointer.is_null() {
        return Some(None);
    }
    // SAFETY: the caller says so.
    unsafe { text(pointer) }.map(|text| Some(text.into()))
}

/// Returns the value of JSON text. `None` also for text that is no JSON.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn json<'a>(pointer: *const c_char) -> Option<RawJson<'a>> {
    // SAFETY: the caller says so.
    RawJson::parse(unsafe { text(pointer) }?).ok()
}

/// Returns an array; an empty one for a null pointer, and for a length that no array has.
///
/// # Safety
/// The pointer is null, or that of `len` values, which stay as they are for `'a`.
pub(crate) unsafe fn array<'a, T>(first: *const T, len: usize) -> &'a [T] {
    if first.is_null() || !first.is_aligned() || len > isize::MAX as usize / size_of::<T>() {
        return &[];
    }
    // SAFETY: the caller says so, and it is not longer than an array can be.
    unsafe { slice::from_raw_parts(first, len) }
}

/// Writes a value, unless there is no place for it.
///
/// # Safety
/// The pointer is null, or that of memory for a value.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() && place.is_aligned() {
        // SAFETY: the caller says so.
        unsafe { place.write(value) }
    }
}
