//! Rules of the values that a type accepts: a small constant table for each type, in flash.

use core::ops::ControlFlow;

use super::check::{Check, Path};
use super::docs::Default;
use super::format::Format;
use crate::json::{JsonStr, compare};

/// Values that a type accepts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// Any JSON value.
    Any,
    /// `true` or `false`.
    Boolean,
    /// An integer from the first to the second of these, both included.
    Integer(&'static [i64; 2]),
    /// A number, in this range.
    Number(Option<&'static NumberRange>),
    /// A string.
    String {
        /// Minimum length in characters.
        min: u32,
        /// Maximum length in characters.
        max: u32,
        /// Format of the text.
        format: Option<&'static Format>,
    },
    /// One of these strings.
    Enum(&'static [&'static str]),
    /// An array.
    Array {
        /// Rule of each element.
        items: &'static Rule,
        /// Minimum number of elements.
        min: u32,
        /// Maximum number of elements.
        max: u32,
    },
    /// An object with these members.
    Object(&'static Object),
    /// One of several objects.
    OneOf(&'static OneOf),
}

/// Members of an object.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    pub(super) members: &'static [Member],
    /// Whether other members are ignored instead of refused.
    pub(super) open: bool,
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The key. Has no character that JSON escapes.
    pub name: &'static str,
    /// Rule of the value.
    pub rule: Rule,
    /// Whether the member may be missing or null.
    pub optional: bool,
}

/// Several objects, told apart by the value of a member that all have: the tag.
#[derive(Clone, Copy, Debug)]
pub struct OneOf {
    pub(super) tag: &'static str,
    /// Values of the tag.
    pub(super) names: &'static [&'static str],
    /// The other members, for each value of the tag.
    pub(super) objects: &'static [&'static Object],
    /// Behind a pointer: programs without choices do not link their check.
    pub(super) check: fn(&mut Check<'_, '_>, &OneOf, &Path<'_>) -> ControlFlow<()>,
}

/// Range of a number. The bounds are JSON text and compared as decimal numbers, so none is rounded.
#[derive(Clone, Copy, Debug)]
pub struct NumberRange {
    pub(super) min: Option<&'static str>,
    pub(super) max: Option<&'static str>,
    /// Behind a pointer: programs without ranges do not link decimal comparison.
    pub(super) contains: fn(&Self, &str) -> bool,
}

/// Maximum nesting depth of arrays and objects in a type, including the outermost. A check recurses
/// that deep: an object takes 192 bytes of stack on a Cortex-M0 and 480 on 64 bits, an array 64 and
/// 208.
pub const MAX_TYPE_DEPTH: u32 = 8;

/// Maximum number of members of an object.
pub const MAX_MEMBERS: usize = 63;

impl Rule {
    /// Any string.
    pub const STRING: Self = Self::String { min: 0, max: u32::MAX, format: None };

    /// Any array with such elements.
    #[must_use]
    pub const fn array(items: &'static Self) -> Self {
        Self::Array { items, min: 0, max: u32::MAX }
    }

    /// Limits the length of a string in characters, or of an array in elements.
    ///
    /// # Panics
    /// If it is neither, or if no length is within the limits. In a `const`, this is a compile
    /// error.
    #[must_use]
    pub const fn length(self, min: u32, max: u32) -> Self {
        assert!(min <= max, "`length` is empty: its start is greater than its end");
        match self {
            Self::String { format, .. } => Self::String { min, max, format },
            Self::Array { items, .. } => Self::Array { items, min, max },
            _ => panic!("`length` is for strings and arrays"),
        }
    }

    /// Requires a string to have a format.
    ///
    /// # Panics
    /// If it is not a string. In a `const`, this is a compile error.
    #[must_use]
    pub const fn format(self, format: &'static Format) -> Self {
        match self {
            Self::String { min, max, .. } => Self::String { min, max, format: Some(format) },
            _ => panic!("`format` is for strings"),
        }
    }

    /// Returns the bounds of [`Rule::Integer`], narrowed.
    ///
    /// # Panics
    /// If it is not an integer, or if the type has no value in the range. In a `const`, this is a
    /// compile error.
    #[must_use]
    pub const fn narrow(self, min: Option<i64>, max: Option<i64>) -> [i64; 2] {
        let Self::Integer(&[least, most]) = self else {
            panic!("`range` of integers is for integers; of a number it has a point: 0.0..=1.0")
        };
        let min = if let Some(min) = min { min } else { least };
        let max = if let Some(max) = max { max } else { most };
        assert!(min <= max, "`range` is empty: its start is greater than its end");
        assert!(least <= min && max <= most, "`range` has values that the type cannot hold");
        [min, max]
    }

    /// Limits a number.
    ///
    /// # Panics
    /// If it is not a number. In a `const`, this is a compile error.
    #[must_use]
    pub const fn numbers(self, range: &'static NumberRange) -> Self {
        assert!(matches!(self, Self::Number(_)), "`range` with a point is for f32, f64 and Number");
        Self::Number(Some(range))
    }

    /// Returns the members of [`Rule::Object`].
    ///
    /// # Panics
    /// If it is not an object. In a `const`, this is a compile error.
    #[must_use]
    pub const fn object(self) -> &'static Object {
        match self {
            Self::Object(object) => object,
            _ => panic!("a variant holds a struct that derives Input, or has fields of its own"),
        }
    }

    /// Returns the default value of a member.
    ///
    /// # Panics
    /// If it is of another type, or not in the range or length. In a `const`, this is a compile
    /// error.
    #[must_use]
    pub const fn default(self, default: Default) -> Default {
        match (self, default) {
            (Self::Integer(&[min, max]), Default::Integer(integer)) => {
                assert!(min <= integer && integer <= max, "the default is not in the `range`");
            }
            (Self::String { min, max, .. }, Default::String(text)) => {
                let length = characters(text);
                assert!(min <= length && length <= max, "the default is not in the `length`");
            }
            (_, Default::None)
            | (Self::Number(_), Default::Number(_))
            | (Self::Boolean | Self::Enum(_), Default::Integer(_)) => {}
            _ => panic!(
                "a default is `true`, `7`, `0.5`, `\"text\"` or the variant of an enum without \
                 fields, as the type requires"
            ),
        }
        default
    }

    /// Returns the name of the header field that repeats an argument.
    ///
    /// # Panics
    /// If clients would leave out the tool (2026-07-28, basic/transports/streamable-http): if the
    /// name is no token, or the value neither a string, an integer nor a boolean. In a `const`,
    /// this is a compile error.
    #[must_use]
    pub const fn header(self, name: &'static str) -> &'static str {
        assert!(
            matches!(self, Self::String { .. } | Self::Enum(_) | Self::Integer(_) | Self::Boolean),
            "`header` is for strings, enums of names, integers and booleans"
        );
        let text = name.as_bytes();
        let mut at = 0;
        while at < text.len() {
            let is_token = matches!(text[at], b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.'
                | b'0'..=b'9' | b'A'..=b'Z' | b'^'..=b'z' | b'|' | b'~');
            assert!(is_token, "the name of a header field has letters, digits, `-` and `_`");
            at += 1;
        }
        assert!(!text.is_empty(), "the name of a header field is empty");
        name
    }

    /// Returns the number of levels of arrays and objects.
    pub(super) const fn depth(&self) -> u32 {
        match self {
            Self::Array { items, .. } => 1 + items.depth(),
            Self::Object(object) => object.depth(),
            Self::OneOf(one_of) => {
                let (mut depth, mut at) = (0, 0);
                while at < one_of.objects.len() {
                    let inner = one_of.objects[at].depth();
                    depth = if inner > depth { inner } else { depth };
                    at += 1;
                }
                depth
            }
            _ => 0,
        }
    }
}

impl Object {
    /// Creates an object with these members; other members are ignored if it is `open`.
    ///
    /// # Panics
    /// If there are more than [`MAX_MEMBERS`], or two with the same name. In a `const`, this is a
    /// compile error.
    #[must_use]
    pub const fn new(members: &'static [Member], open: bool) -> Self {
        assert!(members.len() <= MAX_MEMBERS, "an object may have 63 members");
        let mut at = 0;
        while at < members.len() {
            assert!(!contains(members, at, members[at].name), "two members have the same name");
            at += 1;
        }
        Self { members, open }
    }

    const fn depth(&self) -> u32 {
        let (mut depth, mut at) = (0, 0);
        while at < self.members.len() {
            let inner = self.members[at].rule.depth();
            depth = if inner > depth { inner } else { depth };
            at += 1;
        }
        depth + 1
    }

    /// Returns the place of a member. Most peers write members in the order of the schema, so the
    /// search begins with the member at `next`.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    pub(super) fn find(&self, key: JsonStr<'_>, next: usize) -> Option<usize> {
        let inner = key.inner_bytes();
        match self.members.get(next) {
            Some(member) if member.name.as_bytes() == inner => Some(next),
            _ => place(self.members.iter().map(|member| member.name), key),
        }
    }
}

impl OneOf {
    /// Creates a choice: an object for each value of `tag`.
    ///
    /// # Panics
    /// If the lengths differ, two names are equal, or an object has a member with the name of the
    /// tag. In a `const`, this is a compile error.
    #[must_use]
    pub const fn new(
        tag: &'static str,
        names: &'static [&'static str],
        objects: &'static [&'static Object],
    ) -> Self {
        assert!(names.len() == objects.len(), "one object for each name");
        let mut at = 0;
        while at < objects.len() {
            let members = objects[at].members;
            assert!(!contains(members, members.len(), tag), "a member has the name of the tag");
            at += 1;
        }
        Self { tag, names, objects, check: |check, one_of, path| check.one_of(one_of, path) }
    }
}

impl NumberRange {
    /// Creates a range of JSON numbers, both bounds included.
    #[must_use]
    pub const fn new(min: Option<&'static str>, max: Option<&'static str>) -> Self {
        Self { min, max, contains: Self::contains }
    }

    fn contains(&self, number: &str) -> bool {
        self.min.is_none_or(|min| compare(number, min).is_ge())
            && self.max.is_none_or(|max| compare(number, max).is_le())
    }
}

/// Returns the place of a text among names without escapes.
#[cfg_attr(small, inline(never))]
pub(super) fn place<'n>(
    names: impl Iterator<Item = &'n str> + Clone,
    text: JsonStr<'_>,
) -> Option<usize> {
    if cfg!(small) {
        return { names }.position(|name| text == *name);
    }
    let inner = text.inner_bytes();
    let same = names.clone().position(|name| name.as_bytes() == inner);
    // Only a text with an escape may be equal and differ in its bytes.
    if same.is_some() || !inner.contains(&b'\\') {
        return same;
    }
    { names }.position(|name| text == *name)
}

/// Whether one of the first `len` members has this name.
const fn contains(members: &[Member], len: usize, name: &str) -> bool {
    let mut at = 0;
    while at < len {
        if same(members[at].name.as_bytes(), name.as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

/// `==`, which is not `const`.
const fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len()
}

const fn characters(text: &str) -> u32 {
    let text = text.as_bytes();
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        // Continuation bytes begin with the bits 10.
        count += (text[at] & 0xc0 != 0x80) as u32;
        at += 1;
    }
    count
}
