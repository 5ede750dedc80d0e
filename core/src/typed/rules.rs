//! Rules of the values that a type accepts: a small constant table for each type, in flash.
//! One loop checks a value by them and words what is wrong.

use core::ops::ControlFlow;
use core::{fmt, mem};

use super::schema::Default;
use crate::catalog::shown;
use crate::encode::{Encode, Encoder};
use crate::json::{Cursor, Decimal, Ends, Indexed, JsonStr, RawJson, compare, same};
use crate::text::write_printable;
use crate::time::{date, two_digits, two_digits_behind};
use crate::types::Text;
use crate::uri_template::{has_uri_characters, takes_scheme};

/// Values that a type accepts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
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
    pub(crate) members: &'static [Member],
    /// Whether other members are ignored instead of refused.
    pub(crate) open: bool,
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
    pub(crate) tag: &'static str,
    /// Values of the tag.
    pub(crate) names: &'static [&'static str],
    /// The other members, for each value of the tag.
    pub(crate) objects: &'static [&'static Object],
    /// Behind a pointer: programs without choices do not link their check.
    pub(crate) check: fn(&mut Check<'_, '_>, &OneOf, &Path<'_>) -> ControlFlow<()>,
}

/// Range of a number. The bounds are JSON text and compared as decimal numbers, so none is rounded.
#[derive(Clone, Copy, Debug)]
pub struct NumberRange {
    pub(crate) min: Option<&'static str>,
    pub(crate) max: Option<&'static str>,
    /// Behind a pointer: programs without ranges do not link decimal comparison.
    pub(crate) contains: fn(&Self, &str) -> bool,
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
    pub const fn array(items: &'static Self) -> Self {
        Self::Array { items, min: 0, max: u32::MAX }
    }

    /// Limits the length of a string in characters, or of an array in elements, further.
    ///
    /// # Panics
    /// If it is neither, or if no length is within the limits. In a `const`, this is a compile
    /// error.
    pub const fn length(mut self, min: u32, max: u32) -> Self {
        let (Self::String { min: least, max: most, .. }
        | Self::Array { min: least, max: most, .. }) = &mut self
        else {
            panic!("`length` is for strings and arrays")
        };
        *least = if *least < min { min } else { *least };
        *most = if *most > max { max } else { *most };
        assert!(*least <= *most, "`length` is empty: its start is greater than its end");
        self
    }

    /// Requires a string to have a format.
    ///
    /// # Panics
    /// If it is not a string, or has a format. In a `const`, this is a compile error.
    pub const fn format(self, format: &'static Format) -> Self {
        match self {
            Self::String { min, max, format: None } => {
                Self::String { min, max, format: Some(format) }
            }
            _ => panic!("`format` is for strings that have none"),
        }
    }

    /// Returns the bounds of [`Rule::Integer`], narrowed.
    ///
    /// # Panics
    /// If it is not an integer, or if the type has no value in the range. In a `const`, this is a
    /// compile error.
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
    /// If it is not a number, or has a range. In a `const`, this is a compile error.
    pub const fn numbers(self, range: &'static NumberRange) -> Self {
        assert!(
            matches!(self, Self::Number(None)),
            "`range` with a point is for f32, f64 and Number, and given once"
        );
        Self::Number(Some(range))
    }

    /// Returns the members of [`Rule::Object`].
    ///
    /// # Panics
    /// If it is not an object. In a `const`, this is a compile error.
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
    pub(crate) const fn depth(&self) -> u32 {
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
    pub(crate) fn find(&self, key: JsonStr<'_>, next: usize) -> Option<usize> {
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
    pub const fn new(
        tag: &'static str,
        names: &'static [&'static str],
        objects: &'static [&'static Object],
    ) -> Self {
        assert!(names.len() == objects.len(), "one object for each name");
        let mut at = 0;
        while at < objects.len() {
            let mut earlier = 0;
            while earlier < at {
                assert!(!same(names[earlier], names[at]), "two names are equal");
                earlier += 1;
            }
            let members = objects[at].members;
            assert!(!contains(members, members.len(), tag), "a member has the name of the tag");
            at += 1;
        }
        Self { tag, names, objects, check: |check, one_of, path| check.one_of(one_of, path) }
    }
}

impl NumberRange {
    /// Creates a range of JSON numbers, both bounds included.
    pub const fn new(min: Option<&'static str>, max: Option<&'static str>) -> Self {
        Self { min, max, contains: Self::contains }
    }

    fn contains(&self, number: &str) -> bool {
        self.min.is_none_or(|min| compare(number, min).is_ge())
            && self.max.is_none_or(|max| compare(number, max).is_le())
    }
}

/// Returns the place of a text among names without escapes.
pub(crate) fn place<'n>(
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
        if same(members[at].name, name) {
            return true;
        }
        at += 1;
    }
    false
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

// Whether a value is accepted by a rule: one function for all types, one pass over the text.

/// Receives the faults of a value, and says whether to look for more.
pub(crate) trait Report {
    fn fault(&mut self, path: &Path<'_>, fault: Fault<'_>) -> ControlFlow<()>;
}

/// Fault at a path.
#[derive(Clone, Copy)]
pub(crate) enum Fault<'x> {
    /// The value breaks the rule.
    Value(&'x Rule, RawJson<'x>),
    /// The member is missing.
    Missing(&'x Rule),
    /// The object has no such member.
    Unknown(&'x Object),
    /// An earlier member has the same key.
    Duplicate,
}

/// Way from the outermost value to the one that is checked. On the stack, as the check is.
pub(crate) struct Path<'p> {
    pub(crate) parent: Option<&'p Path<'p>>,
    pub(crate) step: PathStep<'p>,
}

pub(crate) enum PathStep<'p> {
    Root,
    Member(&'p str),
    Element(usize),
}

impl Path<'_> {
    pub(crate) const ROOT: Path<'static> = Path { parent: None, step: PathStep::Root };

    fn member<'p>(&'p self, name: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: PathStep::Member(name) }
    }
}

/// Moves behind a key and its colon. Returns the key, and which member of the object it is.
#[inline(always)]
fn key_of<'a>(
    cursor: &mut Cursor<'a>,
    object: &Object,
    next: usize,
) -> (JsonStr<'a>, Option<usize>) {
    if cfg!(not(small))
        && let Some(member) = object.members.get(next)
        && let Some(key) = cursor.usual_key(member.name)
    {
        return (key, Some(next));
    }
    let key = cursor.key();
    (key, object.find(key, next))
}

/// Checks a value, and finds the members of an object.
#[cfg_attr(small, inline(never))]
pub fn check_members<'a>(
    rule: &'static Rule,
    value: Indexed<'a>,
    members: &mut [RawJson<'a>],
    is_form: bool,
) -> Result<(), Faults<'a>> {
    let Indexed { json: value, ends } = value;
    let report = &mut First { is_form };
    let mut check = Check { cursor: Cursor::new(value), report, members, ends };
    match check.value(rule, 0, &Path::ROOT) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Faults { rule, value, is_form }),
    }
}

/// A check of a value.
pub(crate) struct Check<'c, 'a> {
    cursor: Cursor<'a>,
    report: &'c mut dyn Report,
    /// Receives the members of the outermost object, in the order of its rule.
    members: &'c mut [RawJson<'a>],
    /// Ends of the members of the outermost object.
    ends: Ends,
}

impl Check<'_, '_> {
    /// Checks the next value with all that is in it, and breaks when the report does. `end` is its
    /// end, or zero.
    fn value(&mut self, rule: &Rule, end: usize, path: &Path<'_>) -> ControlFlow<()> {
        let start = self.cursor.at;
        let accepted = match (rule, self.cursor.first()) {
            (Rule::Object(object), b'{') => return self.object(object, None, path),
            (Rule::OneOf(one_of), b'{') => return (one_of.check)(self, one_of, path),
            (Rule::Array { items, min, max }, b'[') => {
                let mut count = 0;
                self.cursor.skip(b'[');
                while self.cursor.has_next() {
                    let path = Path { parent: Some(path), step: PathStep::Element(count) };
                    self.value(items, 0, &path)?;
                    count += 1;
                    self.cursor.skip(b',');
                }
                is_within(count, *min, *max)
            }
            (rule, _) => is_accepted(rule, self.cursor.value_until(end)),
        };
        if accepted {
            return ControlFlow::Continue(());
        }
        self.refuse(path, rule, start)
    }

    /// Checks an object; `tag` is a member that has been checked.
    #[cfg_attr(small, inline(never))]
    fn object(&mut self, object: &Object, tag: Option<&str>, path: &Path<'_>) -> ControlFlow<()> {
        let (members, ends) = (mem::take(&mut self.members), mem::take(&mut self.ends));
        let mut ends = ends.iter();
        let (mut seen, mut next) = (0u64, 0);
        self.cursor.skip(b'{');
        while self.cursor.has_next() {
            let (key, place) = key_of(&mut self.cursor, object, next);
            let start = self.cursor.at;
            let end = ends.next().map_or(0, |end| *end as usize);
            let member = place.and_then(|place| object.members.get(place));
            // The highest bit is the tag's: an object has at most 63 members.
            let bit = 1 << (place.unwrap_or(63) & 63);
            if seen & bit != 0 && (member.is_some() || tag.is_some_and(|tag| key == *tag)) {
                self.other(path, key, Fault::Duplicate)?;
            } else if let Some(member) = member {
                seen |= bit;
                if member.optional && self.cursor.first() == b'n' {
                    self.cursor.value();
                } else {
                    self.value(&member.rule, end, &path.member(member.name))?;
                }
            } else if tag.is_some_and(|tag| key == *tag) {
                seen |= bit;
                self.cursor.value();
            } else if object.open {
                self.cursor.value();
            } else {
                self.other(path, key, Fault::Unknown(object))?;
            }
            if let Some(place) = place {
                next = place + 1;
                if let Some(slot) = members.get_mut(place) {
                    *slot = self.cursor.since(start);
                }
            }
            self.cursor.skip(b',');
        }
        self.missing(object, seen, path)
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, path: &Path<'_>, rule: &Rule, start: usize) -> ControlFlow<()> {
        self.report.fault(path, Fault::Value(rule, self.cursor.since(start)))
    }

    /// Moves behind a value that its rule is not compared with.
    #[cold]
    #[inline(never)]
    fn other(&mut self, path: &Path<'_>, key: JsonStr<'_>, fault: Fault<'_>) -> ControlFlow<()> {
        self.cursor.value();
        self.report.fault(&path.member(key.inner()), fault)
    }

    fn missing(&mut self, object: &Object, seen: u64, path: &Path<'_>) -> ControlFlow<()> {
        let mut seen = seen;
        for member in object.members {
            if !member.optional && seen & 1 == 0 {
                let path = path.member(member.name);
                self.report.fault(&path, Fault::Missing(&member.rule))?;
            }
            seen >>= 1;
        }
        ControlFlow::Continue(())
    }

    /// Checks one of several objects. The tag is mostly the first member.
    fn one_of(&mut self, one_of: &OneOf, path: &Path<'_>) -> ControlFlow<()> {
        let tag = find_tag(one_of, self.cursor.clone());
        let variant = tag.and_then(RawJson::as_string).and_then(|tag| position(one_of.names, tag));
        if let Some(object) = variant.and_then(|variant| one_of.objects.get(variant)) {
            return self.object(object, Some(one_of.tag), path);
        }
        self.cursor.value();
        let names = Rule::Enum(one_of.names);
        let fault = tag.map_or(Fault::Missing(&names), |tag| Fault::Value(&names, tag));
        self.report.fault(&path.member(one_of.tag), fault)
    }
}

fn find_tag<'a>(one_of: &OneOf, cursor: Cursor<'a>) -> Option<RawJson<'a>> {
    cursor
        .members(|key, value| {
            if key == *one_of.tag { ControlFlow::Break(value) } else { ControlFlow::Continue(()) }
        })
        .break_value()
}

/// Returns which of several objects a value is, or 0, and finds its members.
pub fn find_variant<'a>(
    rule: &'static Rule,
    value: RawJson<'a>,
    members: &mut [RawJson<'a>],
) -> usize {
    let Rule::OneOf(one_of) = rule else { return 0 };
    let tag = find_tag(one_of, Cursor::new(value)).and_then(RawJson::as_string);
    let variant = tag.and_then(|tag| position(one_of.names, tag)).unwrap_or(0);
    if let Some(object) = one_of.objects.get(variant) {
        find_members(object, value, members);
    }
    variant
}

/// Finds the members of an object that has been checked, in the order of its rule.
pub fn find_members<'a>(object: &Object, value: RawJson<'a>, members: &mut [RawJson<'a>]) {
    let mut next = 0;
    let _ = Cursor::new(value).members(|key, value| {
        if let Some(place) = object.find(key, next) {
            next = place + 1;
            if let Some(slot) = members.get_mut(place) {
                *slot = value;
            }
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Returns which of these strings a value is, or 0.
pub fn find_name(names: &[&str], value: RawJson<'_>) -> usize {
    value.as_string().and_then(|text| position(names, text)).unwrap_or(0)
}

/// Returns which of these strings a text is.
fn position(names: &[&str], text: JsonStr<'_>) -> Option<usize> {
    place(names.iter().copied(), text)
}

/// Whether a name begins with a text.
pub(crate) fn begins_with(name: &str, text: JsonStr<'_>) -> bool {
    let mut name = name.chars();
    text.chars().all(|c| name.next() == Some(c))
}

/// Checks a value without members and elements.
#[cfg_attr(not(small), inline(always))]
fn is_accepted(rule: &Rule, value: RawJson<'_>) -> bool {
    match rule {
        Rule::Any => true,
        Rule::Boolean => value.as_bool().is_some(),
        Rule::Integer([min, max]) => {
            value.as_i64().is_some_and(|integer| (*min..=*max).contains(&integer))
        }
        Rule::Number(range) => {
            value.is_number() && range.is_none_or(|range| (range.contains)(range, value.as_str()))
        }
        Rule::String { min, max, format } => value.as_string().is_some_and(|text| {
            has_length(text, *min, *max)
                && format.is_none_or(|format| (format.is_valid)(text.into()))
        }),
        Rule::Enum(names) => value.as_string().is_some_and(|text| position(names, text).is_some()),
        Rule::Array { .. } | Rule::Object(_) | Rule::OneOf(_) => false,
    }
}

/// Counts characters only where the number of bytes leaves it open: a character takes 1 to 12, and
/// dividing by 16 is a shift.
fn has_length(text: JsonStr<'_>, min: u32, max: u32) -> bool {
    let bytes = text.inner_bytes().len();
    let is_short_enough = bytes <= max as usize;
    let is_long_enough = min == 0 || bytes.div_ceil(16) >= min as usize;
    is_short_enough && is_long_enough
        || is_within(text.chars().take((max as usize).saturating_add(1)).count(), min, max)
}

fn is_within(count: usize, min: u32, max: u32) -> bool {
    count >= min as usize && count <= max as usize
}

// Faults of a value, in words by which a model can correct itself.

/// Error of a value that its type does not accept. `Display` writes a line for each fault, up to
/// [`MAX_FAULTS`], with the path, the rule and the value:
///
/// ```text
/// sql: is missing, must be a string of 1 to 2000 characters
/// limit: must be an integer from 1 to 1000, is 0
/// columns[1].kind: must be one of "text", "number", is "txt"
/// limt: is unknown, must be one of sql, limit, columns
/// ```
///
/// It keeps no text: it borrows the value and checks it again while it is written. Send it with
/// [`Server::respond_invalid_arguments`](crate::Server::respond_invalid_arguments).
#[derive(Clone, Copy)]
pub struct Faults<'a> {
    pub(crate) rule: &'static Rule,
    pub(crate) value: RawJson<'a>,
    pub(crate) is_form: bool,
}

/// Maximum number of faults that [`Faults`] writes.
pub const MAX_FAULTS: u8 = 8;

impl Faults<'_> {
    fn write_to(&self, to: &mut impl fmt::Write) -> fmt::Result {
        let mut words = Words { to, is_form: self.is_form, count: 0, result: Ok(()) };
        let (cursor, ends) = (Cursor::new(self.value), Ends::default());
        let mut check = Check { cursor, report: &mut words, members: &mut [], ends };
        let _ = check.value(self.rule, 0, &Path::ROOT);
        words.result
    }
}

impl fmt::Display for Faults<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

/// Writes the lines as a string.
impl Encode for Faults<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.words(|to| self.write_to(to));
    }
}

crate::text::error_type!(Faults<'_>);

/// Breaks at the first fault of a value, or of a form.
struct First {
    is_form: bool,
}

impl Report for First {
    fn fault(&mut self, _: &Path<'_>, fault: Fault<'_>) -> ControlFlow<()> {
        let is_none = self.is_form && is_of_form(fault);
        if is_none { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Whether a form may have this: members that it does not show, and a single choice in place of an
/// array, as a client of 2025-06-18 sends it.
fn is_of_form(fault: Fault<'_>) -> bool {
    match fault {
        Fault::Unknown(_) => true,
        Fault::Value(Rule::Array { items: Rule::Enum(names), min: 0..=1, max: 1.. }, value) => {
            value.as_string().is_some_and(|name| position(names, name).is_some())
        }
        _ => false,
    }
}

struct Words<'w, W> {
    to: &'w mut W,
    is_form: bool,
    count: u8,
    result: fmt::Result,
}

impl<W: fmt::Write> Report for Words<'_, W> {
    fn fault(&mut self, path: &Path<'_>, fault: Fault<'_>) -> ControlFlow<()> {
        if self.is_form && is_of_form(fault) {
            return ControlFlow::Continue(());
        }
        if self.count > 0 {
            self.result = self.to.write_str("\n");
        }
        self.path(path);
        match fault {
            Fault::Value(rule, value) => {
                self.put(": must be ");
                self.rule(rule);
                self.found(rule, value);
            }
            Fault::Missing(rule) => {
                self.put(": is missing, must be ");
                self.rule(rule);
            }
            Fault::Unknown(object) => {
                self.put(": is unknown, must be ");
                self.names(object);
            }
            Fault::Duplicate => self.put(": is given twice"),
        }
        self.count += 1;
        if self.result.is_ok() && self.count < MAX_FAULTS {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

impl<W: fmt::Write> Words<'_, W> {
    /// Writes a part of the line, unless one could not be written.
    fn put(&mut self, text: &str) {
        if self.result.is_ok() {
            self.result = write_printable(text, self.to);
        }
    }

    fn integer(&mut self, value: i64) {
        self.put(Decimal::new(value.unsigned_abs(), value < 0).as_str());
    }

    fn path(&mut self, path: &Path<'_>) {
        let is_first = path.parent.is_none_or(|parent| parent.parent.is_none());
        if let (Some(parent), false) = (path.parent, is_first) {
            self.path(parent);
        }
        match path.step {
            PathStep::Root => self.put("the value"),
            PathStep::Member(name) => {
                self.put(if is_first { "" } else { "." });
                self.put(name);
            }
            PathStep::Element(index) => {
                self.put("[");
                self.integer(index as i64);
                self.put("]");
            }
        }
    }

    /// Writes the value, or its length if that is at fault.
    fn found(&mut self, rule: &Rule, value: RawJson<'_>) {
        let (length, min, max) = match *rule {
            Rule::String { min, max, .. } => {
                (value.as_string().map(|text| text.chars().count()), min, max)
            }
            Rule::Array { min, max, .. } => {
                (value.is_array().then(|| value.elements().count()), min, max)
            }
            _ => (None, 0, 0),
        };
        match length.filter(|length| !is_within(*length, min, max)) {
            Some(length) => {
                self.put(", has ");
                self.integer(length as i64);
            }
            None => {
                self.put(", is ");
                self.put(shown(value));
            }
        }
    }

    /// Writes what a rule accepts.
    fn rule(&mut self, rule: &Rule) {
        match *rule {
            Rule::Any => self.put("any value"),
            Rule::Boolean => self.put("true or false"),
            Rule::Integer([i64::MIN, i64::MAX]) => self.put("an integer of 64 bits"),
            Rule::Integer([min, max]) => {
                self.put("an integer from ");
                self.integer(*min);
                self.put(" to ");
                self.integer(*max);
            }
            Rule::Number(range) => {
                self.put("a number");
                let Some(range) = range else { return };
                for (word, bound) in [(", at least ", range.min), (", at most ", range.max)] {
                    if let Some(bound) = bound {
                        self.put(word);
                        self.put(bound);
                    }
                }
            }
            Rule::String { min, max, format } => {
                self.put("a string");
                self.length(min, max, " character");
                if let Some(format) = format {
                    self.put(" in the format ");
                    self.put(format.name);
                }
            }
            Rule::Enum(names) => {
                let mut before = "one of \"";
                for name in names {
                    self.put(before);
                    self.put(name);
                    self.put("\"");
                    before = ", \"";
                }
            }
            Rule::Array { min, max, .. } => {
                self.put("an array");
                self.length(min, max, " element");
            }
            Rule::Object(_) | Rule::OneOf(_) => self.put("an object"),
        }
    }

    /// Writes the keys of the members.
    fn names(&mut self, object: &Object) {
        let mut before = "one of ";
        for member in object.members {
            self.put(before);
            self.put(member.name);
            before = ", ";
        }
        if object.members.is_empty() {
            self.put("left out");
        }
    }

    fn length(&mut self, min: u32, max: u32, unit: &str) {
        let (word, last) = match (min, max) {
            (0, u32::MAX) => return,
            (min, u32::MAX) => (" of at least ", min),
            (0, max) => (" of at most ", max),
            (_, max) => (" of ", max),
        };
        self.put(word);
        if 0 < min && min < last {
            self.integer(min.into());
            self.put(" to ");
        }
        self.integer(last.into());
        self.put(unit);
        self.put(if last == 1 { "" } else { "s" });
    }
}

// Formats of strings.

/// A format of strings: the name that the schema shows, and the function that checks it.
///
/// ```
/// use mcp_sansio::typed::{Format, Input, InputObject};
/// const COLOR: Format = Format::new("color", |text| {
///     text.chars().next() == Some('#')
///         && text.chars().count() == 7
///         && text.chars().skip(1).all(|c| c.is_ascii_hexdigit())
/// });
/// #[derive(Input)]
/// struct Paint<'a> {
///     #[arg(format = COLOR)]
///     color: mcp_sansio::types::Text<'a>,
/// }
/// let blue = mcp_sansio::RawJson::from_static(r##"{"color":"#0000ff"}"##);
/// assert_eq!(Paint::parse(blue).unwrap().color, "#0000ff");
/// ```
#[derive(Clone, Copy)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) is_valid: fn(Text<'_>) -> bool,
}

impl Format {
    /// `date`: an existing day as `2026-07-28` (RFC 3339).
    pub const DATE: Self = Self::new("date", |text| {
        let text = &mut text.chars();
        is_date(text) && text.next().is_none()
    });
    /// `date-time`: a date and a time with its offset as `2026-07-28T12:00:00.5+02:00` (RFC 3339).
    /// Every minute may have a leap second.
    pub const DATE_TIME: Self = Self::new("date-time", is_date_time);
    /// `email`: an address as `name@example.com`; a quoted name or an address literal is refused.
    pub const EMAIL: Self = Self::new("email", is_email);
    /// `uri`: a scheme, and then only characters of RFC 3986.
    pub const URI: Self = Self::new("uri", is_uri);

    /// Creates a format that `is_valid` checks.
    pub const fn new(name: &'static str, is_valid: fn(Text<'_>) -> bool) -> Self {
        Self { name, is_valid }
    }

    /// Whether it is one of the constants above, which a form may have.
    pub(crate) const fn is_standard(&self) -> bool {
        matches!(self.name.as_bytes(), b"date" | b"date-time" | b"email" | b"uri")
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

fn is_date(text: &mut impl Iterator<Item = char>) -> bool {
    let Some([century, year, month, day]) = date(text) else { return false };
    // The first year of a century is a leap year if the century is divisible by four.
    let leap = if year == 0 { century } else { year } % 4 == 0;
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_date_time(text: Text<'_>) -> bool {
    let text = &mut text.chars();
    if !is_date(text) || !matches!(text.next(), Some('T' | 't')) || !is_hour_and_minute(text) {
        return false;
    }
    if two_digits_behind(':', text).is_none_or(|second| second > 60) {
        return false;
    }
    let mut zone = text.next();
    if zone == Some('.') {
        let mut digits = 0;
        zone = text.find(|c| {
            digits += u32::from(c.is_ascii_digit());
            !c.is_ascii_digit()
        });
        if digits == 0 {
            return false;
        }
    }
    let has_offset = match zone {
        Some('Z' | 'z') => true,
        Some('+' | '-') => is_hour_and_minute(text),
        _ => false,
    };
    has_offset && text.next().is_none()
}

fn is_hour_and_minute(text: &mut impl Iterator<Item = char>) -> bool {
    two_digits(text).is_some_and(|hour| hour < 24)
        && two_digits_behind(':', text).is_some_and(|minute| minute < 60)
}

/// Checks that both sides of the `@` are parts joined by single dots.
fn is_email(text: Text<'_>) -> bool {
    let text = &mut text.chars();
    let (mut in_domain, mut last) = (false, '.');
    for c in text {
        let is_valid = match c {
            '.' => last != '.' && !(in_domain && last == '-'),
            '@' if !in_domain && last != '.' => {
                (in_domain, last) = (true, '.');
                continue;
            }
            '-' if in_domain => last != '.',
            _ => c.is_ascii_alphanumeric() || !in_domain && "!#$%&'*+-/=?^_`{|}~".contains(c),
        };
        if !is_valid {
            return false;
        }
        last = c;
    }
    in_domain && last != '.' && last != '-'
}

fn is_uri(text: Text<'_>) -> bool {
    let chars = &mut text.chars();
    takes_scheme(chars) && has_uri_characters(chars)
}
