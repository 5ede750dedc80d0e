//! Faults of a value, in words by which a model can correct itself.

use core::cmp::Ordering;
use core::fmt;
use core::ops::ControlFlow;

use super::check::{Check, Cursor, Fault, Path, Report, Step, position};
use super::rule::{Object, Rule};
use crate::catalog::Shown;
use crate::json::{Decimal, RawJson};
use crate::printable::Printable;

/// Error of a value that its type does not accept. `Display` writes a line for each fault, up to
/// [`MAX_FAULTS`], with the path, the rule and the value:
///
/// ```text
/// sql: is missing, must be a string of 1 to 2000 characters
/// limit: must be at least 1, is 0
/// columns[1].kind: must be one of "text", "number", is "txt"
/// limt: is unknown, must be one of sql, limit, columns
/// ```
///
/// It keeps no text: it borrows the value and checks it again while it is written. Send it with
/// [`Server::respond_invalid_arguments`](crate::Server::respond_invalid_arguments).
#[derive(Clone, Copy)]
pub struct Faults<'a> {
    pub(super) rule: &'static Rule,
    pub(super) value: RawJson<'a>,
    pub(super) is_form: bool,
}

/// Maximum number of faults that [`Faults`] writes.
pub const MAX_FAULTS: u8 = 8;

impl fmt::Display for Faults<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Words { f, is_form: self.is_form, count: 0, result: Ok(()) };
        let cursor = Cursor::new(self.value);
        let _ =
            Check { cursor, report: &mut words, members: &mut [] }.value(self.rule, &Path::ROOT);
        words.result
    }
}

impl fmt::Debug for Faults<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Faults<'_> {}

/// Breaks at the first fault.
pub(super) struct First;

impl Report for First {
    fn fault(&mut self, _: &Path<'_>, _: Fault<'_>) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// Breaks at the first fault of a form.
pub(super) struct FirstOfForm;

impl Report for FirstOfForm {
    fn fault(&mut self, _: &Path<'_>, fault: Fault<'_>) -> ControlFlow<()> {
        if is_of_form(fault) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
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

struct Words<'w, 'f> {
    f: &'w mut fmt::Formatter<'f>,
    is_form: bool,
    count: u8,
    result: fmt::Result,
}

impl Report for Words<'_, '_> {
    fn fault(&mut self, path: &Path<'_>, fault: Fault<'_>) -> ControlFlow<()> {
        if self.is_form && is_of_form(fault) {
            return ControlFlow::Continue(());
        }
        self.result = self.line(path, fault);
        self.count += 1;
        if self.result.is_ok() && self.count < MAX_FAULTS {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

impl Words<'_, '_> {
    fn line(&mut self, path: &Path<'_>, fault: Fault<'_>) -> fmt::Result {
        if self.count > 0 {
            self.put("\n")?;
        }
        self.path(path)?;
        match fault {
            Fault::Value(rule, value) => self.value(rule, value),
            Fault::Missing(rule) => {
                self.put(": is missing, must be ")?;
                self.rule(rule)
            }
            Fault::Unknown(object) => {
                self.put(": is unknown, must be ")?;
                self.names(object)
            }
            Fault::Duplicate => self.put(": is given twice"),
        }
    }

    fn put(&mut self, text: &str) -> fmt::Result {
        self.f.write_str(text)
    }

    fn integer(&mut self, value: i64) -> fmt::Result {
        self.put(Decimal::new(value.unsigned_abs(), value < 0).as_str())
    }

    fn path(&mut self, path: &Path<'_>) -> fmt::Result {
        let is_first = path.parent.is_none_or(|parent| parent.parent.is_none());
        if let (Some(parent), false) = (path.parent, is_first) {
            self.path(parent)?;
        }
        match path.step {
            Step::Root => self.put("the value"),
            Step::Member(name) => {
                self.put(if is_first { "" } else { "." })?;
                fmt::Display::fmt(&Printable::new(name), self.f)
            }
            Step::Element(index) => {
                self.put("[")?;
                self.integer(index as i64)?;
                self.put("]")
            }
        }
    }

    /// Writes the part of the rule that the value breaks, and the value.
    fn value(&mut self, rule: &Rule, value: RawJson<'_>) -> fmt::Result {
        self.put(": must ")?;
        let length = match *rule {
            Rule::Integer(&[min, max]) => {
                if let Some(integer) = value.as_i64() {
                    let (word, bound) =
                        if integer < min { ("be at least ", min) } else { ("be at most ", max) };
                    self.put(word)?;
                    self.integer(bound)?;
                    return self.found(value);
                }
                None
            }
            Rule::Number(Some(range)) if value.is_number() => {
                let bounds = [
                    ("be at least ", range.min, Ordering::Less),
                    ("be at most ", range.max, Ordering::Greater),
                ];
                for (word, bound, beyond) in bounds {
                    if range.is_beyond(value.as_str(), beyond) {
                        self.put(word)?;
                        self.put(bound.unwrap_or_default())?;
                    }
                }
                return self.found(value);
            }
            Rule::String { min, max, format } => value.as_string().map(|text| {
                (text.chars().count(), min, max, " character", format.map(|format| format.name))
            }),
            Rule::Array { min, max, .. } if value.is_array() => {
                Some((value.elements().count(), min, max, " element", None))
            }
            _ => None,
        };
        match length {
            Some((count, min, max, unit, _)) if count < min as usize || count > max as usize => {
                let (word, bound) =
                    if count < min as usize { ("least ", min) } else { ("most ", max) };
                self.put("have at ")?;
                self.put(word)?;
                self.count(bound, unit)?;
                self.put(", has ")?;
                self.integer(count as i64)
            }
            Some((_, _, _, _, Some(format))) => {
                self.put("have the format ")?;
                self.put(format)?;
                self.found(value)
            }
            _ => {
                self.put("be ")?;
                self.rule(rule)?;
                self.found(value)
            }
        }
    }

    fn found(&mut self, value: RawJson<'_>) -> fmt::Result {
        self.put(", is ")?;
        fmt::Display::fmt(&Shown(value), self.f)
    }

    /// Writes what a rule accepts.
    fn rule(&mut self, rule: &Rule) -> fmt::Result {
        match *rule {
            Rule::Any => self.put("any value"),
            Rule::Boolean => self.put("true or false"),
            Rule::Integer([min, max]) => {
                self.put("an integer from ")?;
                self.integer(*min)?;
                self.put(" to ")?;
                self.integer(*max)
            }
            Rule::Number(range) => {
                self.put("a number")?;
                let Some(range) = range else { return Ok(()) };
                for (word, bound) in [(", at least ", range.min), (", at most ", range.max)] {
                    if let Some(bound) = bound {
                        self.put(word)?;
                        self.put(bound)?;
                    }
                }
                Ok(())
            }
            Rule::String { min, max, format } => {
                self.put("a string")?;
                self.length(min, max, " character")?;
                let Some(format) = format else { return Ok(()) };
                self.put(" in the format ")?;
                self.put(format.name)
            }
            Rule::Enum(names) => {
                self.put("one of ")?;
                for (at, name) in names.iter().enumerate() {
                    self.put(if at == 0 { "\"" } else { ", \"" })?;
                    self.put(name)?;
                    self.put("\"")?;
                }
                Ok(())
            }
            Rule::Array { min, max, .. } => {
                self.put("an array")?;
                self.length(min, max, " element")
            }
            Rule::Object(_) | Rule::OneOf(_) => self.put("an object"),
        }
    }

    /// Writes the keys of the members.
    fn names(&mut self, object: &Object) -> fmt::Result {
        self.put(if object.members.is_empty() { "left out" } else { "one of " })?;
        for (at, member) in object.members.iter().enumerate() {
            self.put(if at == 0 { "" } else { ", " })?;
            self.put(member.name)?;
        }
        Ok(())
    }

    fn length(&mut self, min: u32, max: u32, unit: &str) -> fmt::Result {
        match (min, max) {
            (0, u32::MAX) => Ok(()),
            (0, max) => {
                self.put(" of at most ")?;
                self.count(max, unit)
            }
            (min, u32::MAX) => {
                self.put(" of at least ")?;
                self.count(min, unit)
            }
            (min, max) => {
                self.put(" of ")?;
                if min < max {
                    self.integer(min.into())?;
                    self.put(" to ")?;
                }
                self.count(max, unit)
            }
        }
    }

    fn count(&mut self, count: u32, unit: &str) -> fmt::Result {
        self.integer(count.into())?;
        self.put(unit)?;
        self.put(if count == 1 { "" } else { "s" })
    }
}
