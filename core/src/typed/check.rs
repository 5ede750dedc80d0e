//! Whether a value is accepted by a rule: one function for all types, one pass over the text.

use core::ops::ControlFlow;

use super::rule::{Object, OneOf, Rule, place};
#[cfg(not(small))]
use crate::json::skip_member;
#[cfg(small)]
use crate::json::skip_value;
use crate::json::{JsonStr, RawJson, byte, skip_string, skip_whitespace};

/// Receives the faults of a value, and says whether to look for more.
pub(super) trait Report {
    fn fault(&mut self, path: &Path<'_>, fault: Fault<'_>) -> ControlFlow<()>;
}

/// Fault at a path.
#[derive(Clone, Copy)]
pub(super) enum Fault<'x> {
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
pub(super) struct Path<'p> {
    pub(super) parent: Option<&'p Path<'p>>,
    pub(super) step: Step<'p>,
}

pub(super) enum Step<'p> {
    Root,
    Member(&'p str),
    Element(usize),
}

impl Path<'_> {
    pub(super) const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    fn member<'p>(&'p self, name: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Step::Member(name) }
    }
}

/// A position in text that has been scanned.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(value: RawJson<'a>) -> Self {
        Self { text: value.as_str(), at: 0 }
    }

    /// Returns the first byte of the next value, which shows its type.
    fn first(&self) -> u8 {
        byte(self.text.as_bytes(), self.at)
    }

    /// Returns the value that began at `start` and ends here.
    fn since(&self, start: usize) -> RawJson<'a> {
        RawJson::scanned(self.text.get(start..self.at).unwrap_or("null"))
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn value(&mut self) -> RawJson<'a> {
        let start = self.at;
        #[cfg(not(small))]
        let end = skip_member(self.text.as_bytes(), start, self.first(), 0);
        #[cfg(small)]
        let end = skip_value(self.text.as_bytes(), start, 0);
        self.at = end.unwrap_or(self.text.len());
        self.since(start)
    }

    /// Moves behind a key and its colon.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn key(&mut self) -> JsonStr<'a> {
        let start = self.at;
        self.at = skip_string(self.text.as_bytes(), start).unwrap_or(self.text.len());
        let key = JsonStr::scanned(self.since(start).as_str());
        self.skip(b':');
        key
    }

    /// Moves behind `mark`, if it is next, and the whitespace around it.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn skip(&mut self, mark: u8) {
        let bytes = self.text.as_bytes();
        self.at = skip_whitespace(bytes, self.at);
        if byte(bytes, self.at) == mark {
            self.at = skip_whitespace(bytes, self.at + 1);
        }
    }

    /// Whether another member or element is next. If not, moves behind the closing bracket.
    fn has_next(&mut self) -> bool {
        let ends = self.at >= self.text.len() || matches!(self.first(), b'}' | b']');
        self.at += usize::from(ends);
        !ends
    }

    /// Calls `found` with the members of an object until it breaks.
    #[inline]
    fn members<B>(
        mut self,
        mut found: impl FnMut(JsonStr<'a>, RawJson<'a>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if self.first() == b'{' {
            self.skip(b'{');
            while self.has_next() {
                let key = self.key();
                found(key, self.value())?;
                self.skip(b',');
            }
        }
        ControlFlow::Continue(())
    }
}

/// A check of a value.
pub(super) struct Check<'c, 'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) report: &'c mut dyn Report,
    /// Receives the members of the outermost object, in the order of its rule.
    pub(super) members: &'c mut [RawJson<'a>],
}

impl Check<'_, '_> {
    /// Checks the next value with all that is in it, and breaks when the report does.
    #[cfg_attr(small, inline(never))]
    pub(super) fn value(&mut self, rule: &Rule, path: &Path<'_>) -> ControlFlow<()> {
        let start = self.cursor.at;
        let accepted = match (rule, self.cursor.first()) {
            (Rule::Object(object), b'{') => return self.object(object, None, path),
            (Rule::OneOf(one_of), b'{') => return (one_of.check)(self, one_of, path),
            (Rule::Array { items, min, max }, b'[') => {
                let mut count = 0;
                self.cursor.skip(b'[');
                while self.cursor.has_next() {
                    let path = Path { parent: Some(path), step: Step::Element(count) };
                    self.value(items, &path)?;
                    count += 1;
                    self.cursor.skip(b',');
                }
                is_within(count, *min, *max)
            }
            (rule, _) => is_accepted(rule, self.cursor.value()),
        };
        if accepted {
            return ControlFlow::Continue(());
        }
        self.refuse(path, rule, start)
    }

    /// Checks an object; `tag` is a member that has been checked.
    #[cfg_attr(small, inline(never))]
    fn object(&mut self, object: &Object, tag: Option<&str>, path: &Path<'_>) -> ControlFlow<()> {
        let members = core::mem::take(&mut self.members);
        let (mut seen, mut next) = (0u64, 0);
        self.cursor.skip(b'{');
        while self.cursor.has_next() {
            let key = self.cursor.key();
            let start = self.cursor.at;
            let place = object.find(key, next);
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
                    self.value(&member.rule, &path.member(member.name))?;
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

    #[cfg_attr(small, inline(never))]
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
    pub(super) fn one_of(&mut self, one_of: &OneOf, path: &Path<'_>) -> ControlFlow<()> {
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

/// Returns which of several objects a value is, or 0, and puts its members into `members`.
pub(super) fn variant<'a>(one_of: &OneOf, value: RawJson<'a>, found: &mut [RawJson<'a>]) -> usize {
    let tag = find_tag(one_of, Cursor::new(value)).and_then(RawJson::as_string);
    let variant = tag.and_then(|tag| position(one_of.names, tag)).unwrap_or(0);
    if let Some(object) = one_of.objects.get(variant) {
        members(object, value, found);
    }
    variant
}

/// Puts the members of an object that has been checked into `members`, in the order of its rule.
#[cfg_attr(small, inline(never))]
pub(super) fn members<'a>(object: &Object, value: RawJson<'a>, members: &mut [RawJson<'a>]) {
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

/// Returns which of these strings a text is.
#[cfg_attr(small, inline(never))]
pub(super) fn position(names: &[&str], text: JsonStr<'_>) -> Option<usize> {
    place(names.iter().copied(), text)
}

/// Whether a name begins with a text.
pub(super) fn begins_with(name: &str, text: JsonStr<'_>) -> bool {
    let mut name = name.chars();
    text.chars().all(|c| name.next() == Some(c))
}

/// Checks a value without members and elements.
#[cfg_attr(not(small), inline(always))]
#[cfg_attr(small, inline(never))]
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

pub(super) fn is_within(count: usize, min: u32, max: u32) -> bool {
    count >= min as usize && count <= max as usize
}
