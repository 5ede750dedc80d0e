//! Checks every line of both directions, with serde_json.

use std::collections::HashMap;

use serde_json::Value;

use crate::frames::record;

/// The sender of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speaker {
    Client,
    Server,
}

/// Checks every line of both directions, in the order in which they are written.
///
/// - A line is one JSON-RPC message, not a batch or a fragment.
/// - An id is used for one request only.
/// - A request gets one response, and no response comes without a request.
/// - Progress belongs to an open request that asked for it, and increases.
/// - In the modern era, clients send no responses and servers no requests.
#[derive(Default)]
pub struct Audit {
    client: Half,
    server: Half,
    /// Whether `initialize` was sent.
    legacy: bool,
}

/// The requests of one side.
#[derive(Default)]
struct Half {
    latest: u64,
    asked: HashMap<u64, Asked>,
    /// The request of each progress token.
    tokens: HashMap<String, u64>,
}

#[derive(Default)]
struct Asked {
    answered: bool,
    progress: Option<f64>,
}

impl Audit {
    /// Checks a line, given without its end.
    pub fn line(&mut self, speaker: Speaker, line: &[u8]) {
        record(format_args!("{speaker:?}"), line.escape_ascii());
        let is_client = speaker == Speaker::Client;
        let text = format!("{speaker:?}: {}", String::from_utf8_lossy(line));
        let message: Value =
            serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(message.is_object() && message["jsonrpc"] == "2.0", "{text}");
        let (own, other) = match speaker {
            Speaker::Client => (&mut self.client, &mut self.server),
            Speaker::Server => (&mut self.server, &mut self.client),
        };
        let number = |id: &Value| id.as_u64().unwrap_or_else(|| panic!("an unknown id: {text}"));
        let id = message.get("id").map(number);
        let method = message.get("method").map(|method| method.as_str().expect("a string"));
        let params = message.get("params");
        assert!(params.is_none_or(Value::is_object), "{text}");
        match (method, id) {
            (Some(method), Some(id)) => {
                assert!(id > own.latest, "an id is used again: {text}");
                own.latest = id;
                self.legacy |= method == "initialize";
                assert!(is_client || self.legacy, "a modern server sends a request: {text}");
                let token = params.and_then(|params| params.pointer("/_meta/progressToken"));
                if let Some(token) = token {
                    assert!(!is_client || token.as_u64() == Some(id), "{text}");
                    let before = own.tokens.insert(token.to_string(), id);
                    assert_eq!(before, None, "a token is used again: {text}");
                }
                own.asked.insert(id, Asked::default());
            }
            (None, Some(id)) => {
                assert!(!is_client || self.legacy, "a modern client sends a response: {text}");
                let is_result = message["result"].is_object() && message.get("error").is_none();
                let is_error =
                    message["error"]["code"].is_i64() && message["error"]["message"].is_string();
                assert!(is_result || is_error && message.get("result").is_none(), "{text}");
                let asked = other.asked.get_mut(&id);
                let asked = asked.unwrap_or_else(|| panic!("no such request: {text}"));
                assert!(!asked.answered, "a second response: {text}");
                asked.answered = true;
            }
            (Some("notifications/progress"), None) => {
                let asked = other.tokens.get(&message["params"]["progressToken"].to_string());
                let asked = asked.and_then(|id| other.asked.get_mut(id));
                let asked = asked.unwrap_or_else(|| panic!("no such request: {text}"));
                let progress = message["params"]["progress"].as_f64().expect("a number");
                assert!(!asked.answered, "progress after the response: {text}");
                assert!(asked.progress.is_none_or(|last| last < progress), "no progress: {text}");
                asked.progress = Some(progress);
            }
            (Some(_), None) => {}
            (None, None) => panic!("not a JSON-RPC message: {text}"),
        }
    }

    /// Starts a new connection. The client continues its request ids; a server starts again.
    pub fn reconnect(&mut self) {
        self.server = Half::default();
        self.client = Half { latest: self.client.latest, ..Half::default() };
        self.legacy = false;
    }
}
