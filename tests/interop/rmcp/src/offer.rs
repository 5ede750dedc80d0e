//! Features of every reference server, in wire form, and the state that its tools change.

use std::collections::BTreeSet;

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub const COUNTER: &str = "test://counter";
const ITEM: &str = "test://item/";

pub struct Offer {
    pub data: Value,
    pub extra: BTreeSet<String>,
    pub counter: u64,
    pub cancelled: u64,
    pub level: String,
    pub subscribed: BTreeSet<String>,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            data: serde_json::from_str(include_str!("../../servers/offer.json"))
                .expect("offer.json is JSON"),
            extra: BTreeSet::new(),
            counter: 0,
            cancelled: 0,
            level: "debug".into(),
            subscribed: BTreeSet::new(),
        }
    }
}

impl Offer {
    /// Returns one of `tools`, `resources` and `prompts`, with the entries that `change` has added.
    pub fn list(&self, kind: &str) -> Vec<Value> {
        let mut list = self.data[kind].as_array().cloned().unwrap_or_default();
        if self.extra.contains(kind) {
            list.push(match kind {
                "tools" => self.data["extraTool"].clone(),
                "resources" => self.data["extraResource"].clone(),
                _ => self.data["extraPrompt"].clone(),
            });
        }
        list
    }

    /// The cursor is the index of the page's first resource.
    pub fn resource_page(&self, cursor: Option<&str>) -> Result<Value, ErrorData> {
        let resources = self.list("resources");
        let start: usize = cursor.unwrap_or("0").parse().unwrap_or(usize::MAX);
        if start >= resources.len() {
            return Err(unknown("cursor"));
        }
        let end = resources
            .len()
            .min(start + self.data["resourcesPerPage"].as_u64().unwrap_or(1) as usize);
        let mut page = json!({ "resources": resources[start..end] });
        if end < resources.len() {
            page["nextCursor"] = json!(end.to_string());
        }
        Ok(page)
    }

    pub fn read(&self, uri: &str) -> Result<Value, ErrorData> {
        if let Some(id) = uri.strip_prefix(ITEM).filter(|id| !id.is_empty()) {
            return Ok(
                json!({ "uri": uri, "mimeType": "text/plain", "text": format!("item {id}") }),
            );
        }
        let resources = self.list("resources");
        let known = resources.iter().find(|resource| resource["uri"] == uri);
        let mime_type = known.map(|resource| &resource["mimeType"]);
        let mime_type = mime_type.ok_or_else(|| {
            ErrorData::resource_not_found(format!("unknown: resource {uri}"), None)
        })?;
        let text = match uri {
            "test://blob" => {
                return Ok(json!({ "uri": uri, "mimeType": mime_type, "blob": self.data["blob"] }));
            }
            COUNTER => json!(self.counter.to_string()),
            "test://cancelled" => json!(self.cancelled.to_string()),
            _ => self.data["texts"][uri].clone(),
        };
        Ok(json!({ "uri": uri, "mimeType": mime_type, "text": text }))
    }

    pub fn prompt(&self, name: &str, arguments: &Value) -> Result<Value, ErrorData> {
        if !self.list("prompts").iter().any(|prompt| prompt["name"] == name) {
            return Err(unknown("prompt"));
        }
        let said = match (name, arguments["name"].as_str()) {
            ("with_args", Some(whom)) => format!("Hello, {whom}"),
            ("with_args", None) => return Err(unknown("the argument name is missing")),
            _ => name.to_owned(),
        };
        let message = json!({ "role": "user", "content": { "type": "text", "text": said } });
        Ok(json!({ "description": name, "messages": [message] }))
    }

    pub fn complete(&self, argument: &str, value: &str) -> Value {
        let all = self.data["completions"][argument].as_array().cloned().unwrap_or_default();
        let values: Vec<_> = all
            .into_iter()
            .filter(|known| known.as_str().is_some_and(|known| known.starts_with(value)))
            .collect();
        json!({ "completion": { "total": values.len(), "values": values, "hasMore": false } })
    }

    /// Calls a tool that sends no requests to the client.
    pub fn call(&self, name: &str, arguments: &Value) -> Result<Value, ErrorData> {
        Ok(match name {
            "echo" => text(str_of(arguments, "text")?),
            "add" => {
                let sum = match (arguments["a"].as_i64(), arguments["b"].as_i64()) {
                    (Some(a), Some(b)) => json!(a + b),
                    _ => json!(
                        arguments["a"].as_f64().unwrap_or_default()
                            + arguments["b"].as_f64().unwrap_or_default()
                    ),
                };
                let mut result = text(&sum.to_string());
                result["structuredContent"] = json!({ "sum": sum });
                result
            }
            "fail" => {
                let mut result = text("this tool always fails");
                result["isError"] = json!(true);
                result
            }
            "big" => text(&"x".repeat(arguments["bytes"].as_u64().unwrap_or_default() as usize)),
            "image" => json!({ "content": [self.data["image"]] }),
            "mixed" => json!({ "content": self.data["mixed"] }),
            "extra" if self.extra.contains("tools") => text("extra"),
            _ => return Err(unknown("tool")),
        })
    }

    pub fn change(&mut self, what: &str) {
        if what == "counter" {
            self.counter += 1;
        } else if !self.extra.remove(what) {
            self.extra.insert(what.to_owned());
        }
    }

    pub fn passes(&self, level: &str, least: &str) -> bool {
        let rank = |level: &str| {
            self.data["levels"]
                .as_array()
                .and_then(|levels| levels.iter().position(|known| known == level))
        };
        rank(level) >= rank(least)
    }
}

pub fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

pub fn unknown(what: &str) -> ErrorData {
    ErrorData::invalid_params(format!("unknown: {what}"), None)
}

pub fn str_of<'v>(arguments: &'v Value, name: &str) -> Result<&'v str, ErrorData> {
    arguments[name]
        .as_str()
        .ok_or_else(|| ErrorData::invalid_params(format!("missing argument {name}"), None))
}

/// Returns a result as the SDK's own constructors make it; the SDK removes `resultType` for legacy
/// peers.
pub fn complete<T: DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    result["resultType"] = json!("complete");
    typed(result)
}

/// Converts wire form of the offer to the SDK's type.
pub fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::new(ErrorCode::INTERNAL_ERROR, error.to_string(), None))
}
