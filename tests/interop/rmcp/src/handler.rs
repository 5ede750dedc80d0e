//! Handler of the server's requests to the client, which also records the server's requests and
//! notifications.

#![expect(deprecated, reason = "sampling, roots and logging are meant to be tried")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Method and params of each request and notification from the server, in order.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<(&'static str, Value)>>>);

impl Seen {
    fn add(&self, method: &'static str, params: Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((method, params));
    }

    pub fn all(&self, method: &str) -> Vec<Value> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|(name, _)| *name == method).map(|(_, params)| params.clone()).collect()
    }

    /// Waits until `count` messages have arrived, at most a second; returns those that have.
    pub async fn wait(&self, method: &str, count: usize) -> Vec<Value> {
        for _ in 0..100 {
            if self.all(method).len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.all(method)
    }
}

/// Accepts every request.
pub struct Answers {
    pub seen: Seen,
    revision: ProtocolVersion,
}

impl Answers {
    pub fn new(revision: ProtocolVersion) -> Self {
        Self { seen: Seen::default(), revision }
    }
}

pub fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Returns a value of the type and format that the form's schema requires.
fn filled(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(3),
        Some("array") => json!([]),
        _ if schema["format"] == "email" => json!("lucja@example.com"),
        _ => schema["enum"]
            .get(0)
            .or(schema["oneOf"][0].get("const"))
            .cloned()
            .unwrap_or_else(|| json!("Łucja")),
    }
}

type Notified = NotificationContext<RoleClient>;

impl ClientHandler for Answers {
    fn get_info(&self) -> ClientConfig {
        let modern = self.revision >= ProtocolVersion::V_2026_07_28;
        let roots = if modern { json!({}) } else { json!({ "listChanged": true }) };
        let extensions = if modern { json!({ TASKS_EXTENSION_ID: {} }) } else { Value::Null };
        typed(json!({
            "protocolVersion": self.revision,
            "capabilities": {
                "sampling": {},
                "elicitation": { "form": {}, "url": {} },
                "roots": roots,
                "extensions": extensions,
            },
            "clientInfo": { "name": "interop", "version": "1" },
        }))
        .expect("a client's configuration")
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.seen.add("sampling/createMessage", json!(params));
        typed(
            json!({ "role": "assistant", "content": { "type": "text", "text": "Paryż 🗼" }, "model": "interop-model" }),
        )
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        self.seen.add("roots/list", Value::Null);
        typed(
            json!({ "roots": [{ "uri": "file:///srv/one", "name": "one" }, { "uri": "file:///srv/two", "name": "two" }] }),
        )
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = json!(params);
        let properties =
            params["requestedSchema"]["properties"].as_object().cloned().unwrap_or_default();
        let content: serde_json::Map<_, _> =
            properties.iter().map(|(key, schema)| (key.clone(), filled(schema))).collect();
        self.seen.add("elicitation/create", params);
        typed(json!({ "action": "accept", "content": content }))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: Notified) {
        self.seen.add("notifications/progress", json!(params));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: Notified) {
        self.seen.add("notifications/message", json!(params));
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: Notified) {
        self.seen.add("notifications/resources/updated", json!(params));
    }

    async fn on_resource_list_changed(&self, _: Notified) {
        self.seen.add("notifications/resources/list_changed", Value::Null);
    }

    async fn on_tool_list_changed(&self, _: Notified) {
        self.seen.add("notifications/tools/list_changed", Value::Null);
    }

    async fn on_prompt_list_changed(&self, _: Notified) {
        self.seen.add("notifications/prompts/list_changed", Value::Null);
    }
}
