//! Faults of a value, in words by which a model can correct itself.

use core::fmt;
use core::ops::ControlFlow;

use super::check::{Check, Cursor, Fault, Path, Report, Step, is_within, position};
use super::rule::{Object, Rule};
use crate::catalog::shown;
use crate::encode::{Encode, Encoder};
use crate::json::{Decimal, RawJson};
use crate::printable::write_printable;

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
    pub(super) rule: &'static Rule,
    pub(super) value: RawJson<'a>,
    pub(super) is_form: bool,
}

/// Maximum number of faults that [`Faults`] writes.
pub const MAX_FAULTS: u8 = 8;

impl Faults<'_> {
    fn write_to(&self, to: &mut impl fmt::Write) -> fmt::Result {
        let mut words = Words { to, is_form: self.is_form, count: 0, result: Ok(()) };
        let cursor = Cursor::new(self.value);
        let _ =
            Check { cursor, report: &mut words, members: &mut [] }.value(self.rule, &Path::ROOT);
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
    #[cfg_attr(small, inline(never))]
    fn put(&mut self, text: &str) {
        if self.result.is_ok() {
            self.result = write_printable(text, self.to);
        }
    }

    #[cfg_attr(small, inline(never))]
    fn integer(&mut self, value: i64) {
        self.put(Decimal::new(value.unsigned_abs(), value < 0).as_str());
    }

    fn path(&mut self, path: &Path<'_>) {
        let is_first = path.parent.is_none_or(|parent| parent.parent.is_none());
        if let (Some(parent), false) = (path.parent, is_first) {
            self.path(parent);
        }
        match path.step {
            Step::Root => self.put("the value"),
            Step::Member(name) => {
                self.put(if is_first { "" } else { "." });
                self.put(name);
            }
            Step::Element(index) => {
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
    #[cfg_attr(small, inline(never))]
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

    #[cfg_attr(small, inline(never))]
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
