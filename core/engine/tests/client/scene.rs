//! A client against a server that a test plays, line by line, under a virtual clock.

use std::time::Duration;

use mcp_sansio::types::{Implementation, InputRequest, SubscriptionFilter};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientEvent, ClientFeatures, Era, Instant, Json, OwnedJson, RawJson,
    Revision, Revisions,
};
use mcp_sansio_engine::{
    CallError, CallId, Cancelled, ClientEngine, ConnectState, Driver, InputId, InputRefusal,
    InputResponse, Layers, Limits, Middleware, Question,
};
use serde_json::{Value, json};

pub(crate) const D: Revision = Revision::V2025_11_25;
pub(crate) const E: Revision = Revision::V2026_07_28;
pub(crate) const ALL: [Revision; 5] =
    [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, D, E];
pub(crate) const RELATED: &str = "io.modelcontextprotocol/related-task";

const FEATURES: ClientFeatures = ClientFeatures::ELICITATION_FORM
    .with(ClientFeatures::ROOTS)
    .with(ClientFeatures::SAMPLING)
    .with(ClientFeatures::TASKS)
    .with(ClientFeatures::TASKS_ELICITATION)
    .with(ClientFeatures::TASKS_LIST)
    .with(ClientFeatures::TASKS_CANCEL);
const CONFIG: ClientConfig<'_> = ClientConfig::new(Implementation::new("client", "1"), FEATURES);

/// The application: answers at once what it can, and writes down the rest.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) answers_later: bool,
    pub(crate) asked: Vec<(InputId, Option<CallId>, String)>,
    pub(crate) log: Vec<String>,
    /// The questions as JSON.
    pub(crate) seen: Vec<OwnedJson>,
    /// What was sent and received.
    pub(crate) frames: Vec<String>,
    pub(crate) layers: Layers<'static>,
    pub(crate) authorization: u32,
    random: u32,
}

impl Driver for Person {
    fn unix_ms(&mut self) -> u64 {
        1_800_000_000_000
    }

    fn random(&mut self) -> u32 {
        self.random += 1;
        self.random
    }

    fn asked(&mut self, question: Question<'_>) -> Option<InputResponse> {
        self.seen.push(OwnedJson::new(&question, E).unwrap());
        let text = match question.request {
            InputRequest::Elicit(params) => {
                let json = OwnedJson::new(&params, E).unwrap();
                let message = json.as_json().get("message").and_then(RawJson::as_string).unwrap();
                message.to_string()
            }
            InputRequest::CreateMessage(_) => "sample".to_owned(),
            InputRequest::ListRoots => "roots".to_owned(),
            _ => "other".to_owned(),
        };
        self.log.push(format!("asked {text}"));
        self.asked.push((question.id, question.about, text.clone()));
        if self.answers_later {
            return None;
        }
        Some(if text == "refuse me" { Err(InputRefusal::Refused) } else { Ok(answer(&text)) })
    }

    fn middleware(&mut self) -> Option<&mut dyn Middleware> {
        self.layers.as_middleware()
    }

    fn authorization(&mut self) -> u32 {
        self.authorization
    }

    fn traces(&self) -> bool {
        true
    }

    fn frame(&mut self, is_sent: bool, frame: &[u8]) {
        let frame = std::str::from_utf8(frame).unwrap();
        self.frames.push(format!("{} {frame}", if is_sent { "sent" } else { "received" }));
    }

    fn withdrawn(&mut self, input: InputId) {
        let (.., text) = self.asked.iter().find(|(id, ..)| *id == input).unwrap();
        self.log.push(format!("withdrawn {text}"));
    }

    fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        let about = if about.is_some() { "of a call" } else { "of none" };
        self.log.push(match event {
            ClientEvent::Progress { params, .. } => {
                let message = params.get("message").and_then(RawJson::as_string);
                let message = message.map(|message| message.to_string()).unwrap_or_default();
                format!("progress {} {message} {about}", params.get("progress").unwrap().as_str())
            }
            ClientEvent::Changed { what, .. } => match what {
                mcp_sansio::Changed::Task(_) => return,
                what => format!("{what:?} {about}"),
            },
            ClientEvent::Listening { .. } => format!("listening {about}"),
            ClientEvent::RequestCancelled { .. } => "request cancelled".to_owned(),
            event => format!("{event:?}"),
        });
    }
}

/// What the person says.
pub(crate) fn answer(text: &str) -> OwnedJson {
    owned(&match text {
        "sample" => {
            json!({"role": "assistant", "content": {"type": "text", "text": "well"}, "model": "m"})
        }
        "roots" => json!({"roots": []}),
        _ => json!({"action": "accept", "content": {"name": "Ada"}}),
    })
}

pub(crate) fn owned(value: &Value) -> OwnedJson {
    RawJson::parse(&value.to_string()).unwrap().into()
}

pub(crate) struct Scene {
    pub(crate) engine: ClientEngine<'static>,
    pub(crate) person: Person,
    pub(crate) now: Instant,
    pub(crate) revision: Revision,
    /// What the client has written of a line.
    line: Vec<u8>,
}

impl Scene {
    pub(crate) fn new(revision: Revision) -> Self {
        Self::with(revision, Limits::new())
    }

    pub(crate) fn with(revision: Revision, limits: Limits) -> Self {
        Self::of(CONFIG.revisions(Revisions::only(revision)), revision, limits)
    }

    /// A client whose person does not answer at once.
    pub(crate) fn with_late_answers(revision: Revision) -> Self {
        let mut scene = Self::new(revision);
        scene.person.answers_later = true;
        scene
    }

    /// A client of 2025-11-25 that answers questions and runs no tasks.
    pub(crate) fn without_tasks() -> Self {
        let me = Implementation::new("client", "1");
        let config = ClientConfig::new(me, ClientFeatures::ELICITATION_FORM);
        Self::of(config.revisions(Revisions::only(D)), D, Limits::new())
    }

    /// A client of all revisions.
    pub(crate) fn both(revision: Revision) -> Self {
        Self::of(CONFIG, revision, Limits::new())
    }

    fn of(config: ClientConfig<'static>, revision: Revision, limits: Limits) -> Self {
        let engine = ClientEngine::new(Box::leak(Box::new(config)), limits);
        let (person, now) = (Person::default(), Instant::from_millis(0));
        let mut scene = Self { engine, person, now, revision, line: Vec::new() };
        scene.connect();
        scene
    }

    /// Connects to a server of another revision.
    pub(crate) fn connect_to(&mut self, revision: Revision) {
        self.revision = revision;
        self.engine.core().set_era((!revision.is_modern()).then_some(Era::Legacy));
        self.connect();
    }

    pub(crate) fn connect(&mut self) {
        self.engine.connect(self.now, &mut self.person).unwrap();
        self.opens();
    }

    /// Lets the server respond to the request that opens a connection.
    pub(crate) fn opens(&mut self) {
        if matches!(self.engine.connect_state(), ConnectState::Connected) {
            // The era is known.
            return;
        }
        let opening = self.sent_one();
        let info = json!({"name": "lab", "version": "1"});
        let revision = self.revision.as_str();
        self.gets(&ok(&opening, if self.revision.is_modern() {
            let capabilities = json!({"tools": {"listChanged": true}, "prompts": {}, "resources": {"subscribe": true}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
            json!({"resultType": "complete", "supportedVersions": [revision], "capabilities": capabilities, "serverInfo": info, "ttlMs": 0, "cacheScope": "private"})
        } else {
            let tasks = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
            let capabilities = json!({"tools": {}, "resources": {"subscribe": true}, "logging": {}, "tasks": tasks});
            json!({"protocolVersion": revision, "capabilities": capabilities, "serverInfo": info})
        }));
        assert!(matches!(self.engine.connect_state(), ConnectState::Connected));
        if !self.revision.is_modern() {
            assert_eq!(self.sent_next()["method"], "notifications/initialized");
        }
    }

    pub(crate) fn call(&mut self, method: &str, params: Value, options: CallOptions) -> CallId {
        self.try_call(method, params, options).unwrap()
    }

    pub(crate) fn try_call(
        &mut self,
        method: &str,
        params: Value,
        options: CallOptions,
    ) -> Result<CallId, mcp_sansio::SendError> {
        self.engine.call(self.now, method, &Json(params), options, &mut self.person)
    }

    /// Calls a tool, and returns the request with the id of the call.
    pub(crate) fn tool(&mut self, name: &str) -> (CallId, Value) {
        let options = CallOptions::new().progress(true);
        let call = self.call("tools/call", json!({ "name": name }), options);
        (call, self.sent_one())
    }

    /// Calls a tool whose response has this result. Returns the id of the call.
    pub(crate) fn tool_gets(&mut self, name: &str, result: Value) -> CallId {
        let (call, request) = self.tool(name);
        self.gets(&ok(&request, result));
        call
    }

    pub(crate) fn listen(&mut self, filter: &SubscriptionFilter<'_>) -> CallId {
        self.engine.listen(self.now, filter, CallOptions::new(), &mut self.person).unwrap()
    }

    pub(crate) fn cancel(&mut self, call: CallId) -> Option<Cancelled> {
        self.engine.cancel(self.now, call, None, &mut self.person)
    }

    pub(crate) fn end(&mut self) {
        self.engine.end(&mut self.person);
    }

    /// Hands in what the person says to the question of this number.
    pub(crate) fn answers(&mut self, at: usize, answer: InputResponse) {
        let (input, ..) = self.person.asked[at];
        self.engine.answer(self.now, input, answer, &mut self.person);
    }

    /// Lets the client handle all that it has.
    pub(crate) fn work(&mut self) {
        while self.engine.step(self.now, &mut self.person) {}
        self.engine.handle_timeout(self.now, false, &mut self.person).unwrap();
    }

    /// Takes what the client has written, a few bytes at a time.
    pub(crate) fn sent(&mut self) -> Vec<Value> {
        loop {
            self.work();
            let piece = self.engine.io(|output, _| output[..output.len().min(100)].to_vec());
            if piece.is_empty() {
                break;
            }
            self.line.extend_from_slice(&piece);
            self.engine.written(piece.len());
        }
        let end = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.line.drain(..end).collect();
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    /// Takes the next message that the client has written, if it has the whole of it.
    pub(crate) fn sent_next(&mut self) -> Value {
        let sent = self.sent();
        let first = sent.first().expect("nothing was sent").clone();
        for later in sent.iter().skip(1) {
            self.line.extend_from_slice(format!("{later}\n").as_bytes());
        }
        first
    }

    pub(crate) fn sent_one(&mut self) -> Value {
        let sent = self.sent();
        let [message] = <[Value; 1]>::try_from(sent).unwrap_or_else(|sent| panic!("{sent:?}"));
        message
    }

    /// Responds with this result to the only message that was sent, which it returns.
    pub(crate) fn responds(&mut self, result: Value) -> Value {
        let request = self.sent_one();
        self.gets(&ok(&request, result));
        request
    }

    /// Responds with an error to the only message that was sent, which it returns.
    pub(crate) fn refuses(&mut self, code: i64) -> Value {
        let request = self.sent_one();
        self.gets(&error(&request, code));
        request
    }

    /// Hands a request of the server to the client. Returns the response.
    pub(crate) fn asks(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.gets(&question(id, method, params));
        self.sent_one()
    }

    /// Hands a message of the server to the client.
    pub(crate) fn gets(&mut self, message: &Value) {
        self.receives(message);
        self.work();
    }

    /// Leaves a message of the server in the buffer.
    pub(crate) fn receives(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            let read = self.engine.io(|_, into| {
                let len = into.len().min(rest.len());
                into[..len].copy_from_slice(&rest[..len]);
                len
            });
            assert!(read > 0, "the client does not read");
            self.engine.received(read);
            rest = &rest[read..];
        }
    }

    /// Lets this much time pass.
    pub(crate) fn later(&mut self, millis: u64) {
        self.now = self.now.saturating_add(Duration::from_millis(millis));
        self.work();
    }

    /// Lets time pass until the client wants something. Returns how much.
    pub(crate) fn until_next(&mut self) -> u64 {
        let due = self.engine.poll_timeout().expect("the client waits for ever");
        let wait = due.saturating_duration_since(self.now).as_millis();
        self.later(u64::try_from(wait).unwrap());
        u64::try_from(wait).unwrap()
    }

    pub(crate) fn take(&mut self, call: CallId) -> Result<Value, CallError> {
        let over = self.engine.take(call).expect("the call is not over");
        over.result.map(|json| serde_json::from_str(json.as_json().as_str()).unwrap())
    }

    pub(crate) fn is_over(&mut self, call: CallId) -> bool {
        !self.engine.is_known(call)
    }

    pub(crate) fn log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.person.log)
    }
}

pub(crate) fn ok(request: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

/// A result of a call in the words of a revision.
pub(crate) fn content(revision: Revision, text: &str) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": text}]});
    if revision.is_modern() {
        result["resultType"] = json!("complete");
    }
    result
}

pub(crate) fn error(request: &Value, code: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": "no"}})
}

pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

pub(crate) fn question(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A result that requires input.
pub(crate) fn requires(requests: Value, state: &str) -> Value {
    json!({"resultType": "input_required", "inputRequests": requests, "requestState": state})
}

pub(crate) fn form(message: &str) -> Value {
    json!({"method": "elicitation/create", "params": form_params(message)})
}

pub(crate) fn form_params(message: &str) -> Value {
    json!({"message": message, "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}})
}

pub(crate) fn methods(sent: &[Value]) -> Vec<&str> {
    sent.iter().map(|message| message["method"].as_str().unwrap_or("-")).collect()
}

/// A task in the words of a dialect, as the result of `tasks/get`.
pub(crate) fn state(revision: Revision, status: &str, more: Value) -> Value {
    let mut task = json!({"taskId": "t-1", "status": status, "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"});
    let [ttl, poll] =
        if revision.is_modern() { ["ttlMs", "pollIntervalMs"] } else { ["ttl", "pollInterval"] };
    (task[ttl], task[poll]) = (json!(60_000), json!(100));
    if revision.is_modern() {
        task["resultType"] = json!("complete");
    }
    for (name, value) in more.as_object().unwrap() {
        task[name] = value.clone();
    }
    task
}

pub(crate) fn created(revision: Revision) -> Value {
    if revision.is_modern() {
        return state(revision, "working", json!({"resultType": "task"}));
    }
    json!({"task": state(revision, "working", json!({}))})
}
