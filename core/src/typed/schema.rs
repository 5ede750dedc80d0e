//! JSON Schema, written while the program compiles.

use super::rules::{MAX_TYPE_DEPTH, Member, Object, Rule};
use crate::json::RawJson;

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

/// Returns the length in bytes of the schema of a type.
pub const fn schema_len(rule: &Rule, docs: &Docs) -> usize {
    write(rule, docs, &mut [])
}

/// Returns the schema; `N` is its [`schema_len`].
pub const fn schema_bytes<const N: usize>(rule: &Rule, docs: &Docs) -> [u8; N] {
    let mut bytes = [0; N];
    write(rule, docs, &mut bytes);
    bytes
}

/// Returns the length in bytes of the schema of a form.
pub const fn form_len(rule: &Rule, docs: &Docs) -> usize {
    write_form(rule, docs, &mut [])
}

/// Returns the schema of a form; `N` is its [`form_len`].
pub const fn form_bytes<const N: usize>(rule: &Rule, docs: &Docs) -> [u8; N] {
    let mut bytes = [0; N];
    write_form(rule, docs, &mut bytes);
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

const fn write_form(rule: &Rule, docs: &Docs, bytes: &mut [u8]) -> usize {
    let mut writer = Writer { bytes, len: 0, last: 0, is_form: true };
    writer.schema(rule, &Docs { title: "", description: "", ..*docs });
    writer.len
}

/// Returns the bytes of a schema as JSON.
pub const fn schema(bytes: &'static [u8]) -> RawJson<'static> {
    match core::str::from_utf8(bytes) {
        Ok(text) => RawJson::from_static(text),
        Err(_) => panic!("the schema is not UTF-8"),
    }
}

/// Writes the schema of a tool's arguments. The tool has the description, not they.
const fn write(rule: &Rule, docs: &Docs, bytes: &mut [u8]) -> usize {
    assert!(
        rule.depth() <= MAX_TYPE_DEPTH,
        "more than 8 levels of arrays and objects: read the inner ones as a RawJson"
    );
    let mut writer = Writer { bytes, len: 0, last: 0, is_form: false };
    writer.schema(rule, &Docs { title: "", description: "", ..*docs });
    writer.len
}

/// Counts what does not fit.
struct Writer<'b> {
    bytes: &'b mut [u8],
    len: usize,
    last: u8,
    /// Whether the keywords are those of a form (client/elicitation).
    is_form: bool,
}

impl Writer<'_> {
    const fn byte(&mut self, byte: u8) {
        if self.len < self.bytes.len() {
            self.bytes[self.len] = byte;
        }
        self.len += 1;
        self.last = byte;
    }

    const fn put(&mut self, text: &str) {
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() {
            self.byte(text[at]);
            at += 1;
        }
    }

    const fn string(&mut self, text: &str) {
        self.byte(b'"');
        let text = text.as_bytes();
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b'\n' => self.put("\\n"),
                control @ ..0x20 => {
                    self.put("\\u00");
                    self.byte(b"01"[(control >> 4) as usize]);
                    self.byte(b"0123456789abcdef"[(control & 15) as usize]);
                }
                byte => {
                    if matches!(byte, b'"' | b'\\') {
                        self.byte(b'\\');
                    }
                    self.byte(byte);
                }
            }
            at += 1;
        }
        self.byte(b'"');
    }

    const fn integer(&mut self, value: i64) {
        let mut digits = [0; 20];
        let (mut at, mut rest) = (20, value.unsigned_abs());
        while rest > 0 || at == 20 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        if value < 0 {
            self.byte(b'-');
        }
        while at < 20 {
            self.byte(digits[at]);
            at += 1;
        }
    }

    /// Begins a member or an element.
    const fn comma(&mut self) {
        if !matches!(self.last, b'{' | b'[') {
            self.byte(b',');
        }
    }

    const fn key(&mut self, key: &str) {
        self.comma();
        self.string(key);
        self.byte(b':');
    }

    /// Writes a member, unless the text is empty.
    const fn text(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.key(key);
            self.string(value);
        }
    }

    /// Writes the names of an enum with their titles.
    const fn choices(&mut self, key: &str, names: &[&str], titles: &[Docs]) {
        self.key(key);
        self.byte(b'[');
        let mut at = 0;
        while at < names.len() {
            self.comma();
            self.byte(b'{');
            self.text("const", names[at]);
            self.text("title", titles[at].title);
            self.byte(b'}');
            at += 1;
        }
        self.byte(b']');
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
        self.byte(b'{');
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
                        self.put(min);
                    }
                    if let Some(max) = range.max {
                        self.key("maximum");
                        self.put(max);
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
                self.byte(b'[');
                let mut at = 0;
                while at < names.len() {
                    self.comma();
                    self.string(names[at]);
                    at += 1;
                }
                self.byte(b']');
            }
            Rule::Array { items, min, max } => {
                self.text("type", "array");
                self.key("items");
                match (items, docs.of_inner(0).inner) {
                    (Rule::Enum(names), titles @ [_, ..]) if self.is_form => {
                        self.byte(b'{');
                        self.choices("anyOf", names, titles);
                        self.byte(b'}');
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
                self.byte(b'[');
                let mut at = 0;
                while at < one_of.objects.len() {
                    let docs = docs.of_inner(at);
                    self.comma();
                    self.byte(b'{');
                    self.members(one_of.objects[at], docs, Some([one_of.tag, one_of.names[at]]));
                    self.docs(rule, docs);
                    self.byte(b'}');
                    at += 1;
                }
                self.byte(b']');
            }
        }
        self.docs(rule, docs);
        self.byte(b'}');
    }

    /// Writes the keywords of an object: its members and, before them, the tag with its value.
    const fn members(&mut self, object: &Object, docs: &Docs, tag: Option<[&str; 2]>) {
        self.key("properties");
        self.byte(b'{');
        if let Some([tag, name]) = tag {
            self.key(tag);
            self.byte(b'{');
            self.text("const", name);
            self.byte(b'}');
        }
        let (mut at, mut required) = (0, tag.is_some());
        while at < object.members.len() {
            let Member { name, rule, optional } = &object.members[at];
            self.key(name);
            self.schema(rule, docs.of_inner(at));
            required |= !*optional;
            at += 1;
        }
        self.byte(b'}');
        if required {
            self.key("required");
            self.byte(b'[');
            if let Some([tag, _]) = tag {
                self.string(tag);
            }
            let mut at = 0;
            while at < object.members.len() {
                if !object.members[at].optional {
                    self.comma();
                    self.string(object.members[at].name);
                }
                at += 1;
            }
            self.byte(b']');
        }
        if !object.open && !self.is_form {
            self.key("additionalProperties");
            self.put("false");
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
            (Default::Number(number), _) => self.put(number),
            (Default::String(text), _) => self.string(text),
            (Default::Integer(0), Rule::Boolean) => self.put("false"),
            (Default::Integer(_), Rule::Boolean) => self.put("true"),
            (Default::Integer(place), Rule::Enum(names)) => self.string(names[place as usize]),
            (Default::Integer(integer), _) => self.integer(integer),
        }
        if !self.is_form {
            self.text("x-mcp-header", docs.header);
        }
    }
}
