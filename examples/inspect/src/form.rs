//! Forms, filled in at the terminal field by field.

use std::io::{self, BufRead, Write};

use mcp_sansio::RawJson;
use mcp_sansio::types::{ElicitFormParams, EnumOptions, NumberKind, PrimitiveSchema, Text};
use serde_json::{Map, Value, json};

use super::table::plain;

/// Returns the result of `elicitation/create`.
pub(crate) fn fill(
    form: &ElicitFormParams<'_>,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Value> {
    writeln!(output, "\nThe server asks: {}", shown(form.message))?;
    writeln!(output, "(empty line: the value in brackets; `!`: decline)")?;
    if form.requested_schema.validate().is_err() {
        writeln!(output, "  The form is invalid under the protocol: cancelled.")?;
        return Ok(json!({"action": "cancel"}));
    }
    loop {
        let mut content = Map::new();
        for field in form.requested_schema.fields().flatten() {
            let about = About::new(&field.schema);
            loop {
                let star = if field.required { "*" } else { "" };
                write!(
                    output,
                    "  {}{star}{}: ",
                    shown(about.title.unwrap_or(field.name)),
                    about.hint
                )?;
                output.flush()?;
                let mut line = String::new();
                if input.read_line(&mut line)? == 0 {
                    return Ok(json!({"action": "cancel"}));
                }
                match (line.trim(), &about.default) {
                    ("!", _) => return Ok(json!({"action": "decline"})),
                    ("", Some(default)) => content.insert(field.name.to_string(), default.clone()),
                    ("", None) if !field.required => break,
                    ("", None) => {
                        writeln!(output, "    required")?;
                        continue;
                    }
                    (text, _) => match about.read(text, &field.schema) {
                        Ok(value) => content.insert(field.name.to_string(), value),
                        Err(why) => {
                            writeln!(output, "    {}", plain(&why))?;
                            continue;
                        }
                    },
                };
                break;
            }
        }
        // A form without fields asks for consent alone, which the person has not given yet.
        while form.requested_schema.fields().next().is_none() {
            write!(output, "  No fields (empty line: accept): ")?;
            output.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                return Ok(json!({"action": "cancel"}));
            }
            match line.trim() {
                "!" => return Ok(json!({"action": "decline"})),
                "" => break,
                _ => {}
            }
        }
        let content = Value::Object(content);
        let text = content.to_string();
        let checked = RawJson::parse(&text).ok().map(|content| {
            form.requested_schema.validate_content(content).map_err(|error| error.to_string())
        });
        match checked {
            Some(Err(why)) => writeln!(output, "  Invalid: {}. Try again:", plain(&why))?,
            _ => return Ok(json!({"action": "accept", "content": content})),
        }
    }
}

/// The description of a field.
struct About<'a> {
    title: Option<Text<'a>>,
    hint: String,
    default: Option<Value>,
    choices: Vec<String>,
}

impl<'a> About<'a> {
    fn new(schema: &PrimitiveSchema<'a>) -> Self {
        let text = |text: Text<'_>| Value::from(text.to_string());
        let (title, description, kind, default, options) = match schema {
            PrimitiveSchema::String(s) => (
                s.title,
                s.description,
                s.format.map_or("text".to_owned(), shown),
                s.default.map(text),
                None,
            ),
            PrimitiveSchema::Number(s) => {
                let kind = if s.kind == NumberKind::Integer { "integer" } else { "number" };
                let default = s.default.and_then(|number| serde_json::to_value(number).ok());
                (s.title, s.description, kind.to_owned(), default, None)
            }
            PrimitiveSchema::Boolean(s) => {
                (s.title, s.description, "yes or no".to_owned(), s.default.map(Value::from), None)
            }
            PrimitiveSchema::SingleSelect(s) => {
                (s.title, s.description, "one of".to_owned(), s.default.map(text), Some(s.options))
            }
            PrimitiveSchema::MultiSelect(s) => {
                let default = s.default.map(|list| list.iter().flatten().map(text).collect());
                (
                    s.title,
                    s.description,
                    "some of, separated by commas".to_owned(),
                    default,
                    Some(s.items.0),
                )
            }
            _ => (None, None, "JSON".to_owned(), None, None),
        };
        let (choices, names) = options.map(named).unwrap_or_default();
        let mut hint = format!(" ({kind}");
        for (at, name) in names.iter().enumerate() {
            hint.push_str(&format!(" {}={name}", at + 1));
        }
        hint.push(')');
        if let Some(description) = description {
            hint.push_str(&format!(" {}", shown(description)));
        }
        if let Some(default) = &default {
            hint.push_str(&format!(
                " [{}]",
                default.as_str().map_or_else(|| plain(&default.to_string()), plain)
            ));
        }
        Self { title, hint, default, choices }
    }

    fn read(&self, text: &str, schema: &PrimitiveSchema<'_>) -> Result<Value, String> {
        match schema {
            PrimitiveSchema::String(_) => Ok(text.into()),
            PrimitiveSchema::Number(_) => match serde_json::from_str::<Value>(text) {
                Ok(value) if value.is_number() => Ok(value),
                _ => Err(format!("`{text}` is not a number")),
            },
            PrimitiveSchema::Boolean(_) => match text.to_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(true.into()),
                "n" | "no" | "false" => Ok(false.into()),
                _ => Err("yes or no?".to_owned()),
            },
            PrimitiveSchema::SingleSelect(_) => self.choose(text),
            PrimitiveSchema::MultiSelect(_) => {
                text.split(',').map(|part| self.choose(part.trim())).collect()
            }
            _ => serde_json::from_str(text).map_err(|error| error.to_string()),
        }
    }

    /// Parses a choice by number or text.
    fn choose(&self, text: &str) -> Result<Value, String> {
        let by_number =
            text.parse::<usize>().ok().and_then(|number| self.choices.get(number.checked_sub(1)?));
        let found = by_number.or_else(|| self.choices.iter().find(|choice| *choice == text));
        found
            .map(|choice| choice.as_str().into())
            .ok_or_else(|| format!("`{text}` is not an option"))
    }
}

/// Returns the values and titles of the options.
fn named(options: EnumOptions<'_>) -> (Vec<String>, Vec<String>) {
    let texts = |list: mcp_sansio::types::List<'_, Text<'_>>| {
        list.iter().flatten().map(|text| text.to_string()).collect::<Vec<_>>()
    };
    let (values, names) = match options {
        EnumOptions::Untitled(values) => (texts(values), texts(values)),
        EnumOptions::Legacy { values, names } => (texts(values), texts(names)),
        EnumOptions::Titled(choices) => choices
            .iter()
            .flatten()
            .map(|choice| (choice.value.to_string(), choice.title.to_string()))
            .unzip(),
        // Nothing can be chosen.
        _ => Default::default(),
    };
    let names = values
        .iter()
        .enumerate()
        .map(|(at, value)| plain(names.get(at).unwrap_or(value)))
        .collect();
    (values, names)
}

fn shown(text: Text<'_>) -> String {
    plain(&text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{
        "name":{"type":"string","minLength":2},"age":{"type":"integer","minimum":0},
        "colour":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]},
        "news":{"type":"boolean","default":true},
        "tags":{"type":"array","items":{"type":"string","enum":["a","b","c"]}}},"required":["name"]}}"#;

    fn filled(lines: &str) -> (Value, String) {
        filled_in(FORM, lines)
    }

    fn filled_in(form: &str, lines: &str) -> (Value, String) {
        let form: ElicitFormParams<'_> = RawJson::parse(form).unwrap().to().unwrap();
        let mut output = Vec::new();
        let answer = fill(&form, &mut lines.as_bytes(), &mut output).unwrap();
        (answer, String::from_utf8(output).unwrap())
    }

    #[test]
    fn each_field_is_asked_for_until_it_fits() {
        let (answer, shown) = filled("\nAda\nten\n10\n2\n\na, 3\n");
        let content =
            json!({"name": "Ada", "age": 10, "colour": "g", "news": true, "tags": ["a", "c"]});
        assert_eq!(answer, json!({"action": "accept", "content": content}));
        assert!(
            shown.contains("required")
                && shown.contains("`ten` is not a number")
                && shown.contains("1=Red 2=Green"),
            "{shown}"
        );
    }

    #[test]
    fn an_invalid_form_is_asked_for_again() {
        let (answer, shown) = filled("A\n\n\nno\n\nAda\n\n\nno\n\n");
        assert_eq!(answer, json!({"action": "accept", "content": {"name": "Ada", "news": false}}));
        assert!(shown.contains("Invalid: "), "{shown}");
    }

    #[test]
    fn a_form_can_be_declined_or_cancelled() {
        assert_eq!(filled("Ada\n!\n").0, json!({"action": "decline"}));
        assert_eq!(filled("Ada\n").0, json!({"action": "cancel"}));
    }

    #[test]
    fn a_form_without_fields_is_accepted_by_nobody_but_the_person() {
        let form =
            r#"{"message":"Delete all?","requestedSchema":{"type":"object","properties":{}}}"#;
        let answer = |lines| filled_in(form, lines).0;
        assert_eq!(answer("\n"), json!({"action": "accept", "content": {}}));
        assert_eq!(answer("!\n"), json!({"action": "decline"}));
        assert_eq!(answer(""), json!({"action": "cancel"}));
        // Other text is no answer, and the question comes again.
        assert_eq!(answer("no\n!\n"), json!({"action": "decline"}));
    }
}
