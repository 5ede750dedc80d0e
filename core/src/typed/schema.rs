//! JSON Schema, written while the program compiles.

use super::rules::{MAX_TYPE_DEPTH, Member, Object, Rule};
use crate::encode::Gate;
use crate::json::RawJson;
use crate::types::rendered::Renderer;

/// Words of a schema beside the [`Rule`]. Only the compiler reads it: a program contains nothing
/// of it but the text of the schema.
#[derive(Clone, Copy, Debug)]
pub struct Docs {
    /// Name for people; empty if there is none.
    pub title: &'static str,
    /// Meaning of the value, for the model; empty if that is not said.
    pub description: &'static str,
    /// The value of a missing member.
    pub default: Default,
    /// Header field that repeats the argument (`x-mcp-header`, since 2026-07-28); empty if none.
    pub header: &'static str,
    /// Of the elements of an array: one; of the members of an object, or of several objects: one
    /// for each; of the names of an enum: one for each, with the title. Empty where nothing is
    /// said.
    pub inner: &'static [Docs],
}

/// Default value of a member.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Default {
    /// There is none.
    None,
    /// A JSON number.
    Number(&'static str),
    /// A string.
    String(&'static str),
    /// An integer; `false` or `true` as 0 or 1; the place of an enum's variant.
    Integer(i64),
}

impl Docs {
    /// Says nothing.
    pub const NONE: Self =
        Self { title: "", description: "", default: Default::None, header: "", inner: &[] };

    pub(crate) const fn of_inner(&self, at: usize) -> &Self {
        if at < self.inner.len() { &self.inner[at] } else { &Self::NONE }
    }
}

/// Returns the length in bytes of the schema of a type, or of its form.
pub const fn schema_len(rule: &Rule, docs: &Docs, is_form: bool) -> usize {
    write(rule, docs, is_form, &mut [])
}

/// Returns the schema; `N` is its [`schema_len`].
pub const fn schema_bytes<const N: usize>(rule: &Rule, docs: &Docs, is_form: bool) -> [u8; N] {
    let mut bytes = [0; N];
    write(rule, docs, is_form, &mut bytes);
    bytes
}

/// Refuses members that a form cannot show.
pub(crate) const fn assert_form(rule: &Rule) {
    let members = rule.object().members;
    let mut at = 0;
    while at < members.len() {
        let is_shown = match members[at].rule {
            Rule::String { format: Some(format), .. } => format.is_standard(),
            Rule::Array { items: Rule::Enum(_), .. } => true,
            Rule::Array { .. } | Rule::Object(_) | Rule::OneOf(_) | Rule::Any => false,
            _ => true,
        };
        assert!(
            is_shown,
            "a field of a form is a text, a number, a boolean, an enum without fields or an array \
             of these enums; a text may have the formats email, uri, date and date-time"
        );
        at += 1;
    }
}

/// Returns the bytes of a schema as JSON.
pub const fn schema(bytes: &'static [u8]) -> RawJson<'static> {
    match core::str::from_utf8(bytes) {
        Ok(text) => RawJson::from_static(text),
        Err(_) => panic!("the schema is not UTF-8"),
    }
}

/// Writes the schema of a type. The tool or the form has the description, not they.
const fn write(rule: &Rule, docs: &Docs, is_form: bool, bytes: &mut [u8]) -> usize {
    assert!(
        rule.depth() <= MAX_TYPE_DEPTH,
        "more than 8 levels of arrays and objects: read the inner ones as a RawJson"
    );
    let mut writer = Writer { to: Renderer::new(bytes), is_form };
    writer.schema(rule, &Docs { title: "", description: "", ..*docs });
    writer.to.len()
}

struct Writer<'o> {
    to: Renderer<'o>,
    /// Whether the keywords are those of a form (client/elicitation).
    is_form: bool,
}

impl Writer<'_> {
    const fn integer(&mut self, value: i64) {
        self.to.put(if value < 0 { b"-" } else { b"" });
        self.to.unsigned(value.unsigned_abs());
    }

    const fn key(&mut self, key: &str) {
        self.to.begin_member(key, Gate::ALL);
    }

    /// Writes a member, unless the text is empty.
    const fn text(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.key(key);
            self.to.string(value);
        }
    }

    /// Writes the names of an enum with their titles.
    const fn choices(&mut self, key: &str, names: &[&str], titles: &[Docs]) {
        self.key(key);
        self.to.begin_array();
        let mut at = 0;
        while at < names.len() {
            self.to.element(at);
            let outer = self.to.begin_object();
            self.text("const", names[at]);
            self.text("title", titles[at].title);
            self.to.end_object(outer);
            at += 1;
        }
        self.to.end_array();
    }

    const fn length(&mut self, keys: [&str; 2], min: u32, max: u32) {
        if min > 0 {
            self.key(keys[0]);
            self.integer(min as i64);
        }
        if max < u32::MAX {
            self.key(keys[1]);
            self.integer(max as i64);
        }
    }

    const fn schema(&mut self, rule: &Rule, docs: &Docs) {
        let outer = self.to.begin_object();
        match rule {
            Rule::Any => {}
            Rule::Boolean => self.text("type", "boolean"),
            Rule::Integer([min, max]) => {
                self.text("type", "integer");
                // Few clients count as far as the bounds of 64 bits.
                if *min != i64::MIN {
                    self.key("minimum");
                    self.integer(*min);
                }
                if *max != i64::MAX {
                    self.key("maximum");
                    self.integer(*max);
                }
            }
            Rule::Number(range) => {
                self.text("type", "number");
                if let Some(range) = range {
                    if let Some(min) = range.min {
                        self.key("minimum");
                        self.to.put(min.as_bytes());
                    }
                    if let Some(max) = range.max {
                        self.key("maximum");
                        self.to.put(max.as_bytes());
                    }
                }
            }
            Rule::String { min, max, format } => {
                self.text("type", "string");
                self.length(["minLength", "maxLength"], *min, *max);
                if let Some(format) = format {
                    self.text("format", format.name);
                }
            }
            Rule::Enum(names) if self.is_form && !docs.inner.is_empty() => {
                self.text("type", "string");
                self.choices("oneOf", names, docs.inner);
            }
            Rule::Enum(names) => {
                self.text("type", "string");
                self.key("enum");
                self.to.begin_array();
                let mut at = 0;
                while at < names.len() {
                    self.to.element(at);
                    self.to.string(names[at]);
                    at += 1;
                }
                self.to.end_array();
            }
            Rule::Array { items, min, max } => {
                self.text("type", "array");
                self.key("items");
                match (items, docs.of_inner(0).inner) {
                    (Rule::Enum(names), titles @ [_, ..]) if self.is_form => {
                        let outer = self.to.begin_object();
                        self.choices("anyOf", names, titles);
                        self.to.end_object(outer);
                    }
                    _ if self.is_form => self.schema(items, &Docs::NONE),
                    _ => self.schema(items, docs.of_inner(0)),
                }
                self.length(["minItems", "maxItems"], *min, *max);
            }
            Rule::Object(object) => {
                self.text("type", "object");
                self.members(object, docs, None);
            }
            Rule::OneOf(one_of) => {
                self.text("type", "object");
                self.key("oneOf");
                self.to.begin_array();
                let mut at = 0;
                while at < one_of.objects.len() {
                    let docs = docs.of_inner(at);
                    self.to.element(at);
                    let outer = self.to.begin_object();
                    self.members(one_of.objects[at], docs, Some([one_of.tag, one_of.names[at]]));
                    self.docs(rule, docs);
                    self.to.end_object(outer);
                    at += 1;
                }
                self.to.end_array();
            }
        }
        self.docs(rule, docs);
        self.to.end_object(outer);
    }

    /// Writes the keywords of an object: its members and, before them, the tag with its value.
    const fn members(&mut self, object: &Object, docs: &Docs, tag: Option<[&str; 2]>) {
        self.key("properties");
        let outer = self.to.begin_object();
        if let Some([tag, name]) = tag {
            self.key(tag);
            let outer = self.to.begin_object();
            self.text("const", name);
            self.to.end_object(outer);
        }
        let (mut at, mut required) = (0, tag.is_some());
        while at < object.members.len() {
            let Member { name, rule, optional } = &object.members[at];
            self.key(name);
            self.schema(rule, docs.of_inner(at));
            required |= !*optional;
            at += 1;
        }
        self.to.end_object(outer);
        if required {
            self.key("required");
            self.to.begin_array();
            if let Some([tag, _]) = tag {
                self.to.string(tag);
            }
            let (mut at, mut count) = (0, tag.is_some() as usize);
            while at < object.members.len() {
                if !object.members[at].optional {
                    self.to.element(count);
                    self.to.string(object.members[at].name);
                    count += 1;
                }
                at += 1;
            }
            self.to.end_array();
        }
        if !object.open && !self.is_form {
            self.key("additionalProperties");
            self.to.put(b"false");
        }
    }

    const fn docs(&mut self, rule: &Rule, docs: &Docs) {
        self.text("title", docs.title);
        self.text("description", docs.description);
        if !matches!(docs.default, Default::None) {
            self.key("default");
        }
        match (docs.default, rule) {
            (Default::None, _) => {}
            (Default::Number(number), _) => self.to.put(number.as_bytes()),
            (Default::String(text), _) => self.to.string(text),
            (Default::Integer(0), Rule::Boolean) => self.to.put(b"false"),
            (Default::Integer(_), Rule::Boolean) => self.to.put(b"true"),
            (Default::Integer(place), Rule::Enum(names)) => self.to.string(names[place as usize]),
            (Default::Integer(integer), _) => self.integer(integer),
        }
        if !self.is_form {
            self.text("x-mcp-header", docs.header);
        }
    }
}
