//! A client over HTTP against a server that a test plays, exchange by exchange.

use std::time::Duration;

use mcp_sansio::http::client::Origin;
use mcp_sansio::http::{Fields, ResponseHead};
use mcp_sansio::types::Implementation;
use mcp_sansio::{
    CallOptions, ClientConfig, ClientEvent, ClientFeatures, Era, Instant, OwnedJson, RawJson,
    Revision, Revisions,
};
use mcp_sansio_engine::{
    CallError, CallId, ClientEngine, Driver, HttpClient, HttpError, HttpExchangeId, HttpLimits,
    HttpStep, InputId, InputResponse, Limits, Question, Reading,
};
use serde_json::{Value, json};

pub(crate) const CHUNKS: [usize; 3] = [1, 7, 1 << 20];
const FEATURES: ClientFeatures = ClientFeatures::TASKS
    .with(ClientFeatures::ELICITATION_FORM)
    .with(ClientFeatures::TASKS_ELICITATION);
static ANY: ClientConfig<'_> = ClientConfig::new(Implementation::new("client", "1"), FEATURES);
static LEGACY: ClientConfig<'_> = ANY.revisions(Revisions::only(Revision::V2025_11_25));
static OLD: ClientConfig<'_> = ANY
    .revisions(Revisions::only(Revision::V2024_11_05).with(Revisions::only(Revision::V2025_11_25)));
static MODERN: ClientConfig<'_> = ANY.revisions(Revisions::only(Revision::V2026_07_28));

/// Counts changes and reports of progress, and writes questions down.
#[derive(Default)]
pub(crate) struct Nobody {
    pub(crate) changes: usize,
    pub(crate) reports: Vec<CallId>,
    pub(crate) asked: Vec<InputId>,
    pub(crate) withdrawn: Vec<InputId>,
}

impl Driver for Nobody {
    fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Changed { .. } => self.changes += 1,
            ClientEvent::Progress { .. } => self.reports.extend(about),
            _ => {}
        }
    }

    fn unix_ms(&mut self) -> u64 {
        1_800_000_000_000
    }

    fn random(&mut self) -> u32 {
        4
    }

    fn asked(&mut self, question: Question<'_>) -> Option<InputResponse> {
        self.asked.push(question.id);
        None
    }

    fn withdrawn(&mut self, input: InputId) {
        self.withdrawn.push(input);
    }
}

/// A request that the server has received.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) id: HttpExchangeId,
    pub(crate) line: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Sent {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.as_str())
    }

    /// Returns the response with this error.
    pub(crate) fn error(&self, code: i64) -> Value {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "error": {"code": code, "message": "no"}})
    }

    /// Returns the response with this result.
    pub(crate) fn ok(&self, result: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result})
    }
}

/// Header fields of a response.
struct Head<'h>(&'h [(&'h str, &'h str)]);

impl Fields for Head<'_> {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        let all = self.0.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        all.map(|(_, value)| value.as_bytes()).nth(n)
    }
}

pub(crate) struct Scene {
    pub(crate) engine: ClientEngine<'static>,
    pub(crate) http: HttpClient,
    pub(crate) now: Instant,
    pub(crate) chunk: usize,
    pub(crate) open: Vec<Sent>,
    /// The GET stream of the session.
    pub(crate) get: Option<Sent>,
    /// Requests, connections that are closed, and reports.
    pub(crate) trace: Vec<String>,
    pub(crate) nobody: Nobody,
}

impl Scene {
    fn with(config: &'static ClientConfig<'static>, era: Option<Era>, limits: HttpLimits) -> Self {
        let (origin, target) = Origin::parse("http://lab/mcp").unwrap();
        let mut engine = ClientEngine::new(config, Limits::new());
        engine.set_over_http(true);
        let now = Instant::from_millis(0);
        engine.core().set_era(era);
        let mut nobody = Nobody::default();
        engine.connect(now, &mut nobody).unwrap();
        let http = HttpClient::new(&origin, target, limits);
        let (chunk, open, get, trace) = (7, Vec::new(), None, Vec::new());
        let mut scene = Self { engine, http, now, chunk, open, get, trace, nobody };
        scene.work();
        scene
    }

    /// A client that has asked for the revisions of the server.
    pub(crate) fn any() -> Self {
        Self::with(&ANY, None, HttpLimits::new())
    }

    pub(crate) fn modern() -> Self {
        Self::modern_with(HttpLimits::new())
    }

    pub(crate) fn modern_with(limits: HttpLimits) -> Self {
        Self::with(&MODERN, Some(Era::Modern), limits)
    }

    /// A client that has sent `initialize`.
    pub(crate) fn old() -> Self {
        Self::with(&OLD, Some(Era::Legacy), HttpLimits::new())
    }

    /// A client in the session `s-1`, with a GET stream.
    pub(crate) fn legacy() -> Self {
        let mut scene = Self::with(&LEGACY, Some(Era::Legacy), HttpLimits::new());
        scene.opens("s-1");
        scene.trace.clear();
        scene
    }

    /// A client that has got this status for `initialize`, and the stream of a server of 2024-11-05
    /// that it asks for then.
    pub(crate) fn sse(refusal: u16) -> (Self, Sent) {
        let mut scene = Self::old();
        let initialize = scene.takes("POST /mcp initialize");
        scene.responds(&initialize, refusal, &[], "");
        let stream = scene.takes("GET /mcp");
        scene.heads(&stream, 200, EVENTS);
        (scene, stream)
    }

    /// Responds to `initialize`, without a session. Returns the next message.
    pub(crate) fn initializes(&mut self, revision: &str) -> Sent {
        let initialize = self.takes("POST /mcp initialize");
        self.responds_with(&initialize, 200, &initialize.ok(initialized(revision)));
        self.takes("POST /mcp notifications/initialized")
    }

    /// Responds to `initialize`, with a session of this name. Returns the next message.
    pub(crate) fn initializes_session(&mut self, session: &str) -> Sent {
        let initialize = self.takes("POST /mcp initialize");
        let result = initialize.ok(initialized("2025-11-25")).to_string();
        self.responds(&initialize, 200, &[JSON[0], ("mcp-session-id", session)], &result);
        self.takes("POST /mcp notifications/initialized")
    }

    /// Opens a session of this name. Returns the request for its GET stream.
    pub(crate) fn opens_up_to_get(&mut self, session: &str) -> Sent {
        let opened = self.initializes_session(session);
        self.responds(&opened, 202, &[], "");
        self.takes("GET /mcp")
    }

    /// Opens a session of this name, whose GET stream stays open.
    pub(crate) fn opens(&mut self, session: &str) {
        let get = self.opens_up_to_get(session);
        assert_eq!(get.field("mcp-session-id"), Some(session));
        self.heads(&get, 200, EVENTS);
        self.get = Some(get);
    }

    /// Lets the client do all that it has to do now.
    pub(crate) fn work(&mut self) {
        let mut moved = true;
        while moved {
            moved = false;
            while self.engine.step(self.now, &mut self.nobody) {}
            moved |= self.http.take_posts(self.now, &mut self.engine) > 0;
            while let Some(step) = self.http.next_step(self.now) {
                self.takes_step(step);
                moved = true;
            }
            while self.engine.reads()
                && let Some(received) = self.http.next_received()
            {
                received.hand_to(&mut self.engine, self.now, &mut self.nobody);
                moved = true;
            }
        }
    }

    fn takes_step(&mut self, step: HttpStep) {
        match step {
            HttpStep::Send { exchange, method, target } => {
                let Some(request) = self.http.request(self.now, exchange) else { return };
                let body = request.body.unwrap_or(b"{}");
                let body: Value = serde_json::from_slice(body).unwrap();
                let message = body["method"].as_str().unwrap_or_default();
                let line = format!("{method} {target} {message}").trim().to_owned();
                self.trace.push(line.clone());
                let fields = request.fields;
                self.open.push(Sent { id: exchange, line, fields, body });
            }
            HttpStep::Close(exchange) => {
                if let Some(at) = self.open.iter().position(|sent| sent.id == exchange) {
                    let sent = self.open.remove(at);
                    self.trace.push(format!("closed: {}", sent.line));
                }
            }
            HttpStep::Report(diagnostic) => self.trace.push(diagnostic.to_string()),
        }
    }

    /// Returns the open exchange with this line.
    pub(crate) fn takes(&mut self, line: &str) -> Sent {
        let at = self.open.iter().position(|sent| sent.line == line);
        self.open.remove(at.unwrap_or_else(|| panic!("{line}: {:?}", self.trace)))
    }

    pub(crate) fn heads(&mut self, sent: &Sent, status: u16, fields: &[(&str, &str)]) {
        let fields = Head(fields);
        self.http.response(self.now, sent.id, &ResponseHead::new(status, &fields));
        self.work();
    }

    /// Passes a part of a body, in pieces.
    pub(crate) fn says(&mut self, sent: &Sent, body: &str) {
        for piece in body.as_bytes().chunks(self.chunk) {
            self.http.body(self.now, sent.id, piece);
            self.work();
        }
    }

    pub(crate) fn ends(&mut self, sent: &Sent, result: Result<(), HttpError>) {
        self.http.end(self.now, sent.id, result);
        self.work();
        // What comes late, of an exchange that is over, does nothing.
        if self.http.reading(sent.id) == Reading::Over {
            self.http.body(self.now, sent.id, b"{}");
            self.http.end(self.now, sent.id, Err(HttpError::ConnectionLost));
            assert!(self.http.request(self.now, sent.id).is_none());
        }
    }

    /// Refuses a request, which then leaves again with other credentials.
    pub(crate) fn authorizes(&mut self, sent: Sent) {
        self.heads(&sent, 401, &[("www-authenticate", "Bearer")]);
        assert_eq!(self.http.reading(sent.id), Reading::Refused);
        self.says(&sent, "log in");
        self.http.authorized(sent.id);
        assert_eq!(self.http.reading(sent.id), Reading::Head);
        let again = self.http.request(self.now, sent.id).unwrap();
        let body: Value = serde_json::from_slice(again.body.unwrap()).unwrap();
        assert_eq!(body, sent.body);
        self.open.push(sent);
    }

    pub(crate) fn responds(
        &mut self,
        sent: &Sent,
        status: u16,
        fields: &[(&str, &str)],
        body: &str,
    ) {
        self.heads(sent, status, fields);
        self.says(sent, body);
        self.ends(sent, Ok(()));
    }

    pub(crate) fn responds_with(&mut self, sent: &Sent, status: u16, body: &Value) {
        self.responds(sent, status, JSON, &body.to_string());
    }

    /// Begins an event stream with this.
    pub(crate) fn streams(&mut self, sent: &Sent, body: &str) {
        self.heads(sent, 200, EVENTS);
        self.says(sent, body);
    }

    pub(crate) fn close(&mut self) {
        self.http.close(self.now);
        self.work();
    }

    /// Lets time pass until the client wants something. Returns how much.
    pub(crate) fn until_due(&mut self) -> Duration {
        let due = self.http.poll_timeout().unwrap();
        let wait = due.saturating_duration_since(self.now);
        self.later(wait);
        wait
    }

    pub(crate) fn later(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
        self.http.handle_timeout(self.now);
        self.engine.handle_timeout(self.now, false, &mut self.nobody).unwrap();
        self.work();
    }

    /// Calls a tool; returns the call and its request.
    pub(crate) fn call(&mut self, name: &str) -> (CallId, Sent) {
        let call = self.calls("tools/call", json!({"name": name, "arguments": {"a": "x"}}));
        (call, self.takes("POST /mcp tools/call"))
    }

    /// Calls tools, whose session has ended.
    pub(crate) fn calls_without_session<const N: usize>(
        &mut self,
        names: [&str; N],
    ) -> [CallId; N] {
        names.map(|name| self.call(name)).map(|(call, sent)| {
            self.responds(&sent, 404, &[], "");
            call
        })
    }

    pub(crate) fn call_without_session(&mut self, name: &str) -> CallId {
        let [call] = self.calls_without_session([name]);
        call
    }

    /// Responds to a request, so that its call has a result.
    pub(crate) fn succeeds(&mut self, call: CallId, sent: &Sent) {
        self.responds_with(sent, 200, &sent.ok(text("called")));
        assert_eq!(self.result(call), "called");
    }

    /// Takes the request of a call, and responds to it.
    pub(crate) fn answers(&mut self, call: CallId) -> Sent {
        let sent = self.takes("POST /mcp tools/call");
        self.succeeds(call, &sent);
        sent
    }

    /// Lets the server ask on its GET stream whether the client is there.
    pub(crate) fn pings(&mut self, id: u32) {
        let get = self.get.clone().unwrap();
        self.says(&get, &event(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"})));
    }

    /// Returns how often this line is in the trace.
    pub(crate) fn count(&self, line: &str) -> usize {
        self.trace.iter().filter(|traced| *traced == line).count()
    }

    pub(crate) fn calls(&mut self, method: &str, params: Value) -> CallId {
        self.calls_with(method, params, CallOptions::new().timeout(THOUSAND).limit(THOUSAND))
    }

    pub(crate) fn calls_with(
        &mut self,
        method: &str,
        params: Value,
        options: CallOptions,
    ) -> CallId {
        let params: OwnedJson = RawJson::parse(&params.to_string()).unwrap().into();
        let call = self.engine.call(self.now, method, &params, options, &mut self.nobody).unwrap();
        self.work();
        call
    }

    pub(crate) fn notify(&mut self, method: &str) {
        self.engine.notify(self.now, method, &RawJson::EMPTY, &mut self.nobody).unwrap();
        self.work();
    }

    pub(crate) fn cancel(&mut self, call: CallId) {
        self.engine.cancel(self.now, call, None, &mut self.nobody);
        self.work();
    }

    /// Returns the text of the result of a call, or its error.
    pub(crate) fn result(&mut self, call: CallId) -> String {
        match self.engine.take(call).expect("a result").result {
            Ok(result) => {
                let result: Value = serde_json::from_str(result.as_json().as_str()).unwrap();
                result["content"][0]["text"].as_str().unwrap_or("nothing").to_owned()
            }
            Err(CallError::Http(error)) => error.to_string(),
            Err(error) => error.to_string(),
        }
    }
}

pub(crate) fn text(text: &str) -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
}

pub(crate) fn initialized(revision: &str) -> Value {
    let info = json!({"name": "lab", "version": "1"});
    let tasks = json!({"cancel": {}, "requests": {"tools": {"call": {}}}});
    let capabilities = json!({"tools": {"listChanged": true}, "tasks": tasks});
    json!({"protocolVersion": revision, "capabilities": capabilities, "serverInfo": info})
}

pub(crate) fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

pub(crate) const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
pub(crate) const EVENTS: &[(&str, &str)] = &[("content-type", "text/event-stream")];

/// The time limit of each call.
const THOUSAND: Duration = Duration::from_secs(1000);
