//! Header fields, where they were read to.

use core::fmt;

use crate::http::Fields;

/// The fields of a head that has been checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HeadFields<'f> {
    /// Whole lines, and the end of the one before them.
    lines: &'f [u8],
}

impl<'f> HeadFields<'f> {
    /// Of a head that begins with a line which is no field, and ends with an empty one.
    pub(super) fn behind_first_line(head: &'f [u8]) -> Self {
        let at = head.iter().position(|byte| *byte == b'\n').unwrap_or(head.len());
        Self { lines: head.get(at..).unwrap_or_default() }
    }

    /// All of them, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&'f str, &'f [u8])> + use<'f> {
        self.lines.split(|byte| *byte == b'\n').filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at_checked(colon)?;
            Some((core::str::from_utf8(name).ok()?, value.get(1..)?.trim_ascii()))
        })
    }
}

impl Fields for HeadFields<'_> {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .nth(n)
            .map(|(_, value)| value)
    }
}

impl fmt::Debug for HeadFields<'_> {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}
