//! A connection to a reference server, with a record of all events.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use mcp_sansio::types::{ElicitParams, Implementation, InputRequest};
use mcp_sansio::{
    CallOptions, Changed, ClientConfig, ClientEvent, ClientFeatures, Encode, Era, Json, OwnedJson,
    RawJson, Revision, Revisions,
};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::blocking::client::{
    BlockingHttpTransport, CallError, CallId, Client, Connector, Direction, Error, Handler,
    InputResponse, OwnedInputRequest, Process,
};
use serde_json::{Value, json};

/// The reason of a failure.
#[derive(Debug)]
pub(crate) struct Wrong(pub(crate) String);

pub(crate) fn want<T: PartialEq + Debug>(seen: T, wanted: T) -> Result<(), Wrong> {
    if seen == wanted {
        Ok(())
    } else {
        Err(Wrong(format!("{seen:?} instead of {wanted:?}").chars().take(400).collect()))
    }
}

pub(crate) struct Session {
    pub(crate) client: Client<'static>,
    /// The first word of the command, over HTTP the URL.
    pub(crate) url: String,
    recorder: Recorder,
    sent: Arc<Mutex<Vec<Value>>>,
}

/// Time limit of all that comes soon on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// An event other than a response: its kind and content.
pub(crate) type Seen = (&'static str, Value);

impl Session {
    /// Connects. `server` is a command or a single URL.
    pub(crate) fn open(
        server: &[String],
        revisions: Revisions,
        era: Option<Era>,
    ) -> Result<Self, Wrong> {
        let all = ClientFeatures::ROOTS_LIST_CHANGED
            .with(ClientFeatures::SAMPLING)
            .with(ClientFeatures::ELICITATION_FORM)
            .with(ClientFeatures::ELICITATION_URL)
            .with(ClientFeatures::TASKS);
        let config =
            ClientConfig::new(Implementation::new("interop-client", "1"), all).revisions(revisions);
        // Leaked: a few dozen, in a process that ends soon.
        let config: &'static ClientConfig<'static> =
            Box::leak(Box::new(config.call_timeout(PATIENCE).probe_timeout(PATIENCE)));
        let (recorder, sent) = (Recorder::default(), Arc::<Mutex<Vec<Value>>>::default());
        let lines = Arc::clone(&sent);
        let connector = Connector::new(config).era(era).handler(recorder.clone());
        let connector = connector.trace(move |way, line| {
            if way == Direction::Sent {
                lines.lock().expect("no panic").extend(serde_json::from_slice::<Value>(line).ok());
            }
        });
        let client = match server {
            [url] if url.starts_with("http://") => {
                let http =
                    HttpTransport::new(url).map_err(|error| Wrong(format!("{url}: {error}")))?;
                let notices = recorder.clone();
                let http = http.on_diagnostic(move |notice| {
                    notices.saw("notice", notice.to_string().into());
                });
                connector.connect(BlockingHttpTransport::new(http))?
            }
            words => {
                let mut process = Process::new(super::command(words));
                process.exit_timeouts = [PATIENCE; 2];
                connector.connect(process)?
            }
        };
        Ok(Self { client, url: server.first().cloned().unwrap_or_default(), recorder, sent })
    }

    pub(crate) fn is_modern(&mut self) -> bool {
        self.client.era() == Some(Era::Modern)
    }

    pub(crate) fn sent_first(&self) -> Option<String> {
        let sent = self.sent.lock().expect("no panic");
        sent.first().and_then(|line| line["method"].as_str().map(str::to_owned))
    }

    pub(crate) fn forget(&self) {
        self.recorder.seen().clear();
    }

    pub(crate) fn all(&self, kind: &str) -> Vec<Value> {
        let seen = self.recorder.seen();
        seen.iter().filter(|(seen, _)| *seen == kind).map(|(_, value)| value.clone()).collect()
    }

    pub(crate) fn take(&mut self, kind: &str) -> Result<Value, Wrong> {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut seen = self.recorder.seen();
            if let Some(at) = seen.iter().position(|(seen, _)| *seen == kind) {
                return Ok(seen.remove(at).1);
            }
            drop(seen);
            if Instant::now() > until {
                return Err(Wrong(format!("no {kind} came")));
            }
            self.client.run_for(Duration::from_millis(20))?;
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Result<Value, Error> {
        self.client
            .request(method, &Json(params), CallOptions::new())
            .map(|result| value(result.as_json()))
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Error> {
        self.client.call_tool(tool, &Json(arguments)).map(|result| value(result.as_json()))
    }

    /// Returns the texts in the result of a tool.
    pub(crate) fn said(&mut self, tool: &str, arguments: Value) -> Result<String, Wrong> {
        let result = self.call(tool, arguments)?;
        if result["isError"] == true {
            return Err(Wrong(format!("the tool failed: {result}").chars().take(300).collect()));
        }
        let blocks = result["content"].as_array().cloned().unwrap_or_default();
        Ok(blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"))
    }

    pub(crate) fn refused(&mut self, code: i64, method: &str, params: Value) -> Result<(), Wrong> {
        match self.request(method, params) {
            Err(Error::Call { error: CallError::Server(fault), .. }) => want(fault.code, code),
            Ok(result) => {
                Err(Wrong(format!("{result} instead of error {code}").chars().take(300).collect()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) fn value(raw: RawJson<'_>) -> Value {
    serde_json::from_str(raw.as_str()).expect("the core has validated the JSON")
}

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Seen>>>);

impl Recorder {
    fn seen(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.0.lock().expect("no panic")
    }

    fn saw(&self, kind: &'static str, what: Value) {
        self.seen().push((kind, what));
    }
}

impl Handler for Recorder {
    fn on_input_request(&mut self, question: &OwnedInputRequest) -> InputResponse {
        let asked = value_of(&question.as_input_request());
        let confirms = asked["params"]["requestedSchema"]["properties"]["confirm"].is_object();
        self.saw("question", asked);
        question.respond(&Json(match question.as_input_request() {
            InputRequest::Elicit(ElicitParams::Form(_)) if confirms => json!({"action": "accept", "content": {"confirm": true}}),
            InputRequest::Elicit(ElicitParams::Form(_)) => json!({"action": "accept", "content": {"name": "Ada"}}),
            InputRequest::Elicit(_) => json!({"action": "accept"}),
            InputRequest::CreateMessage(_) => {
                let content = json!({"type": "text", "text": "forty-two"});
                json!({"role": "assistant", "content": content, "model": "deep-thought", "stopReason": "endTurn"})
            }
            InputRequest::ListRoots => json!({"roots": [{"uri": "file:///one", "name": "one"}, {"uri": "file:///two"}]}),
            _ => return question.refuse(),
        }))
    }

    fn on_event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Progress { params, .. } => {
                self.saw("progress", json!([about.is_some(), value(*params)]))
            }
            ClientEvent::Log { params } => self.saw("log", value(*params)),
            ClientEvent::Listening { filter, .. } => self.saw("listening", value(*filter)),
            ClientEvent::Changed { what, .. } => match what {
                Changed::Tools => self.saw("tools", json!(about.is_some())),
                Changed::Prompts => self.saw("prompts", json!(about.is_some())),
                Changed::Resources => self.saw("resources", json!(about.is_some())),
                Changed::Resource { uri } => {
                    self.saw("counter", json!([about.is_some(), uri.to_string()]))
                }
                _ => self.saw("unknown", Value::Null),
            },
            ClientEvent::Notification { method, params } => {
                let complete = *method == "notifications/elicitation/complete";
                self.saw(if complete { "complete" } else { "unknown" }, value(params.as_json()));
            }
            ClientEvent::Violation(violation) => {
                self.saw("violation", violation.to_string().into())
            }
            other => self.saw("unknown", format!("{other:?}").into()),
        }
    }
}

/// Returns what is written of `value` for the newest revision.
pub(crate) fn value_of(value: &impl Encode) -> Value {
    OwnedJson::new(value, Revision::LATEST)
        .map_or(Value::Null, |json| json.to().unwrap_or_default())
}
