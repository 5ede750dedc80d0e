//! Responses to the server's requests: forms are filled with defaults, or else with values that
//! fit.

use mcp_sansio::Json;
use mcp_sansio::types::{
    ElicitParams, EnumOptions, InputRequest, NumberKind, PrimitiveSchema, RequestedSchema,
};
use mcp_sansio_adapters::blocking::client::{Handler, InputResponse, OwnedInputRequest};
use serde_json::{Map, Value, json};

/// A handler that accepts every request.
pub(crate) struct Answers;

impl Handler for Answers {
    fn on_input_request(&mut self, question: &OwnedInputRequest) -> InputResponse {
        question.respond(&Json(match &question.as_input_request() {
            InputRequest::Elicit(ElicitParams::Form(form)) => {
                json!({"action": "accept", "content": fill(&form.requested_schema)})
            }
            InputRequest::Elicit(ElicitParams::Url(_)) => json!({"action": "accept"}),
            InputRequest::CreateMessage(_) => {
                let content = json!({"type": "text", "text": "Paris"});
                json!({"role": "assistant", "content": content, "model": "a-model-of-none", "stopReason": "endTurn"})
            }
            InputRequest::ListRoots => json!({"roots": [{"uri": "file:///tmp/everything", "name": "everything"}]}),
            _ => return question.refuse(),
        }))
    }
}

/// Returns the default of each field, or else the smallest value that fits.
fn fill(schema: &RequestedSchema<'_>) -> Value {
    let mut content = Map::new();
    for field in schema.fields().flatten() {
        let value = match field.schema {
            PrimitiveSchema::String(string) => match (string.default, string.format) {
                (Some(default), _) => default.to_string().into(),
                (None, Some(format)) if format == "email" => "ada@example.com".into(),
                (None, Some(format)) if format == "uri" => "https://example.com/".into(),
                (None, Some(format)) if format == "date" => "2026-07-28".into(),
                (None, Some(format)) if format == "date-time" => "2026-07-28T12:00:00Z".into(),
                // A server could ask for more than there is memory.
                _ => "x".repeat(string.min_length.unwrap_or(1).clamp(1, 1 << 16) as usize).into(),
            },
            PrimitiveSchema::Number(number) => {
                let integer = number.kind == NumberKind::Integer;
                let least = number
                    .default
                    .or(number.minimum)
                    .and_then(|least| serde_json::to_value(least).ok());
                least.unwrap_or_else(|| if integer { json!(1) } else { json!(0.5) })
            }
            PrimitiveSchema::Boolean(boolean) => boolean.default.unwrap_or(true).into(),
            PrimitiveSchema::SingleSelect(select) => select
                .default
                .map(|default| default.to_string())
                .or_else(|| first(select.options))
                .unwrap_or_default()
                .into(),
            PrimitiveSchema::MultiSelect(select) => match select.default {
                Some(defaults) => {
                    defaults.iter().flatten().map(|default| default.to_string()).collect()
                }
                None => first(select.items.0).into_iter().collect(),
            },
            _ => continue,
        };
        content.insert(field.name.to_string(), value);
    }
    content.into()
}

fn first(options: EnumOptions<'_>) -> Option<String> {
    match options {
        EnumOptions::Untitled(values) | EnumOptions::Legacy { values, .. } => {
            values.iter().flatten().next().map(|value| value.to_string())
        }
        EnumOptions::Titled(choices) => {
            choices.iter().flatten().next().map(|choice| choice.value.to_string())
        }
        _ => None,
    }
}
