//! A server behind an endpoint: an adapter without sockets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use mcp_sansio::http::codec::{Part, RequestReader};
use mcp_sansio::http::server::{
    BodyKind, Endpoint, OutgoingResponse, Rejection, ReplayBuffer, ReplayCursor, Route, SessionId,
    StreamRecorder,
};
use mcp_sansio::http::{Fields, RequestHead};
use mcp_sansio::types::{ElicitParams, Implementation, RequestedSchema, TextResult, Tool};
use mcp_sansio::{
    Catalog, Change, ClientFeatures, ClientRequest, ExchangeId, Frame, Instant, LogMessage,
    Messages, Progress, RawJson, Request, RequestHandle, Revision, Revisions, RpcError, SendError,
    Server, ServerConfig, ServerEvent, ServerFeatures, Target, Tx, TxBuffer, entries,
    types::LoggingLevel,
};
use mcp_sansio_tests::memory::new_server;

pub(crate) const NOW: Instant = Instant::from_millis(0);
const OBJECT: RawJson<'static> = RawJson::from_static(r#"{"type":"object"}"#);

pub(crate) static CONFIG: ServerConfig<'static> = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS_LIST_CHANGED
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::LOGGING),
)
.send_server_info(false);

pub(crate) static CATALOG: Catalog<'static> = Catalog::new().tools(entries![
    Tool::new("echo", OBJECT),
    Tool::new("progress", OBJECT),
    Tool::new("slow", OBJECT),
    Tool::new("ask", OBJECT),
    Tool::new("needs", OBJECT),
    Tool::new("fails", OBJECT),
    Tool::new("long", OBJECT),
    Tool::new("broken", OBJECT),
    Tool::new(
        "region",
        RawJson::from_static(
            r#"{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "count":{"type":"integer","x-mcp-header":"Count"},
                "dry":{"type":"boolean","x-mcp-header":"Dry-Run"},
                "inner":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}}}}"#,
        ),
    ),
]);

pub(crate) struct Host {
    pub(crate) endpoint: Endpoint<'static>,
    pub(crate) config: &'static ServerConfig<'static>,
    pub(crate) sessions: BTreeMap<String, Session>,
    /// Number of request bytes read at once.
    pub(crate) chunk: usize,
    /// Size of the buffers for responses.
    pub(crate) room: usize,
    /// A stateless request that is still open.
    pub(crate) waiting: Option<(Server<'static>, TxBuffer<Vec<u8>>, RequestHandle)>,
}

pub(crate) struct Session {
    pub(crate) server: Server<'static>,
    pub(crate) own: TxBuffer<Vec<u8>>,
    own_recording: StreamRecorder,
    pub(crate) own_cursor: ReplayCursor,
    exchanges: BTreeMap<ExchangeId, (TxBuffer<Vec<u8>>, StreamRecorder)>,
    pub(crate) replay: ReplayBuffer<Vec<u8>>,
    made: u32,
    /// Open requests.
    pub(crate) open: Vec<RequestHandle>,
    asked: Vec<(mcp_sansio::Call, RequestHandle)>,
}

/// The response to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Returns the whole response as text.
    pub(crate) fn trace(&self) -> String {
        let mut trace = format!("{}\n", self.status);
        for (name, value) in &self.fields {
            let _ = writeln!(trace, "{name}: {value}");
        }
        format!("{trace}\n{}", self.body)
    }

    /// Returns the status, and the code of the error in the body.
    pub(crate) fn error(&self) -> (u16, i64) {
        let json: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        (self.status, json["error"]["code"].as_i64().unwrap_or(0))
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A POST with these fields.
pub(crate) fn post(fields: &[(&str, &str)], body: &str) -> String {
    let mut request = "POST /mcp HTTP/1.1\r\n".to_owned();
    let usual = [
        ("Host", "localhost"),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
    ];
    for (name, value) in usual
        .iter()
        .filter(|(name, _)| !fields.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)))
        .chain(fields)
    {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    format!("{request}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A request without a body.
pub(crate) fn bare(method: &str, fields: &[(&str, &str)]) -> String {
    let mut request = format!("{method} /mcp HTTP/1.1\r\n");
    let usual = [("Host", "localhost"), ("Accept", "text/event-stream")];
    for (name, value) in usual
        .iter()
        .filter(|(name, _)| !fields.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)))
        .chain(fields)
    {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    request + "\r\n"
}

/// A modern request: its body, and a head with the mirrored fields.
pub(crate) fn modern(method: &str, params: &str, more: &[(&str, &str)]) -> String {
    modern_of("2026-07-28", method, params, more)
}

pub(crate) fn modern_of(
    version: &str,
    method: &str,
    params: &str,
    more: &[(&str, &str)],
) -> String {
    let params = params.trim_start_matches('{');
    let comma = if params == "}" { "" } else { "," };
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":"p","io.modelcontextprotocol/logLevel":"info"}}{comma}{params}}}"#
    );
    let fields = [("MCP-Protocol-Version", version), ("Mcp-Method", method)];
    let fields: Vec<_> = fields
        .into_iter()
        .filter(|(name, _)| !more.iter().any(|(other, _)| other == name))
        .chain(more.iter().copied())
        .collect();
    post(&fields.iter().copied().filter(|(_, value)| *value != "(none)").collect::<Vec<_>>(), &body)
}

pub(crate) fn initialize(version: &str) -> String {
    post(
        &[],
        &format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        ),
    )
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::of(&CONFIG, |endpoint| endpoint)
    }

    pub(crate) fn of(
        config: &'static ServerConfig<'static>,
        with: impl Fn(Endpoint<'static>) -> Endpoint<'static>,
    ) -> Self {
        let endpoint = with(Endpoint::new(config.revisions));
        Self {
            endpoint,
            config,
            sessions: BTreeMap::new(),
            chunk: usize::MAX,
            room: 1 << 16,
            waiting: None,
        }
    }

    pub(crate) fn modern_only() -> Self {
        static MODERN: ServerConfig<'static> =
            ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
                .revisions(Revisions::MODERN);
        Self::of(&MODERN, |endpoint| endpoint)
    }

    /// Opens a session and returns its id.
    pub(crate) fn open(&mut self, version: &str) -> String {
        let answer = self.send(&initialize(version));
        let id = answer.field("mcp-session-id").unwrap_or_else(|| panic!("{answer:?}")).to_owned();
        let ready = self.send(&post(
            &[("Mcp-Session-Id", &id)],
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        ));
        assert_eq!(ready.trace(), "202\n\n");
        id
    }

    /// A request of a session.
    pub(crate) fn call(&mut self, session: &str, body: &str) -> Answer {
        self.send(&post(&[("Mcp-Session-Id", session)], body))
    }

    pub(crate) fn tool(&mut self, session: &str, id: u32, name: &str) -> Answer {
        self.call(session, &format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","_meta":{{"progressToken":"p"}}}}}}"#
        ))
    }

    /// Reads a request chunk by chunk, and returns the response.
    pub(crate) fn send(&mut self, request: &str) -> Answer {
        let mut reader = RequestReader::with_limit(Vec::new(), 1 << 14);
        let mut rest = request.as_bytes();
        let mut head: Option<(String, String, Owned)> = None;
        let mut body = Vec::new();
        loop {
            match reader.next_part() {
                Ok(Some(Part::Head(request))) => {
                    let fields = request
                        .fields
                        .iter()
                        .map(|(name, value)| (name.to_owned(), value.to_owned()))
                        .collect();
                    head =
                        Some((request.method.to_owned(), request.target.to_owned(), Owned(fields)));
                }
                Ok(Some(Part::Body(piece))) => body.extend_from_slice(piece),
                Ok(Some(Part::End)) => break,
                Ok(None) => {
                    let n = rest.len().min(self.chunk).min(reader.spare().len());
                    assert!(n > 0, "the request is not complete");
                    reader.spare()[..n].copy_from_slice(&rest[..n]);
                    reader.commit(n);
                    rest = &rest[n..];
                }
                Err(fault) => panic!("{fault}"),
            }
        }
        let (method, target, fields) = head.unwrap();
        self.answer(&RequestHead::new(&method, &target, &fields), &body)
    }

    fn answer(&mut self, head: &RequestHead<'_>, body: &[u8]) -> Answer {
        let messages = Messages::over_http(Frame::Complete(body), head, ExchangeId::new(1));
        match self.endpoint.route(head, &messages) {
            Route::Stateless => self.alone(messages, None),
            Route::StatelessRevision(revision) => self.alone(messages, Some(revision)),
            Route::NewSession => {
                let mut session = Session::new(self.config, self.room);
                let mut answer = session.take_in(head, body, self.room);
                if session.server.legacy_revision().is_some() {
                    let number = u8::try_from(self.sessions.len()).unwrap();
                    let id = SessionId::from_random([number; 16]).as_str().to_owned();
                    answer.fields.push(("mcp-session-id".into(), id.clone()));
                    self.sessions.insert(id, session);
                }
                answer
            }
            Route::Session(id) => match self.sessions.get_mut(id) {
                Some(session) => session.take_in(head, body, self.room),
                None => self.refuse(&Rejection::session_not_found()),
            },
            Route::Stream { session, last_event_id } => match self.sessions.get_mut(session) {
                Some(session) => {
                    session.record();
                    let mut cursor = last_event_id
                        .map_or(session.own_cursor, |after| session.replay.read_after(after));
                    let body = session.read(&mut cursor);
                    if last_event_id.is_none() {
                        session.own_cursor = cursor;
                    }
                    answer_of(OutgoingResponse::EVENT_STREAM, body)
                }
                None => self.refuse(&Rejection::session_not_found()),
            },
            Route::DeleteSession(id) => match self.sessions.remove(id) {
                Some(_) => answer_of(OutgoingResponse::empty(204), String::new()),
                None => self.refuse(&Rejection::session_not_found()),
            },
            Route::Options => {
                let mut answer = answer_of(OutgoingResponse::empty(204), String::new());
                answer.fields.push(("allow".into(), self.endpoint.allowed_methods().into()));
                answer
            }
            Route::Rejected(refused) => self.refuse(&refused),
            other => panic!("{other:?}"),
        }
    }

    fn refuse(&self, refused: &Rejection<'_>) -> Answer {
        let mut tx = TxBuffer::for_http_response(Vec::new(), 4096);
        refused.write(&mut tx).unwrap();
        let mut answer = answer_of(
            tx.http_response().unwrap(),
            String::from_utf8(tx.pending().to_vec()).unwrap(),
        );
        if refused.status() == 405 {
            answer.fields.push(("allow".into(), self.endpoint.allowed_methods().into()));
        }
        answer
    }

    fn alone(&mut self, mut messages: Messages<'_>, assumed: Option<Revision>) -> Answer {
        let mut server = new_server::<1, 4>(self.config);
        if let Some(revision) = assumed {
            server.start_legacy(revision);
        }
        let mut tx = TxBuffer::for_http_response(Vec::new(), self.room);
        let mut body = Vec::new();
        let mut open = None;
        let mut is_faulty = false;
        while let Some(event) =
            send(&mut tx, &mut body, |tx| server.next_event(NOW, &mut messages, tx)).unwrap()
        {
            match event {
                ServerEvent::Request(request) => {
                    open = handle(&mut server, &request, &mut tx, &mut body)
                }
                ServerEvent::Listening { request } => {
                    let mut change = Change::tools();
                    while send(&mut tx, &mut body, |tx| server.publish(&mut change, tx))
                        .unwrap()
                        .is_more()
                    {}
                    while send(&mut tx, &mut body, |tx| server.end_listen(request, tx))
                        .unwrap()
                        .is_more()
                    {}
                }
                ServerEvent::Violation(_) => is_faulty = true,
                _ => {}
            }
        }
        drain(&mut tx, &mut body);
        let reply = tx.http_response().unwrap_or(if is_faulty {
            OutgoingResponse::empty(400)
        } else {
            OutgoingResponse::ACCEPTED
        });
        let is_cut = tx.is_truncated();
        if let Some(open) = open {
            self.waiting = Some((server, tx, open));
        }
        let mut answer = answer_of(reply, String::from_utf8(body).unwrap());
        if is_cut {
            answer.body.push_str("(cut)");
        }
        answer
    }
}

impl Session {
    fn new(config: &'static ServerConfig<'static>, room: usize) -> Self {
        let replay = ReplayBuffer::new(vec![0; 1 << 14]);
        Self {
            server: new_server::<4, 4>(config),
            own: TxBuffer::for_http_response(Vec::new(), room).with_event_ids(0),
            own_recording: StreamRecorder::new(0),
            own_cursor: replay.read_stream(0),
            exchanges: BTreeMap::new(),
            replay,
            made: 0,
            open: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// Handles the messages of a POST. The rest of the response follows later: see
    /// [`Session::finish`].
    fn take_in(&mut self, head: &RequestHead<'_>, body: &[u8], room: usize) -> Answer {
        self.made += 1;
        let exchange = ExchangeId::new(self.made);
        let tx = TxBuffer::for_http_response(Vec::new(), room);
        let tx = match self.server.legacy_revision() {
            Some(Revision::V2025_11_25) => {
                tx.with_priming_event(self.made, Duration::from_millis(500))
            }
            _ => tx.with_event_ids(self.made),
        };
        self.exchanges.insert(exchange, (tx, StreamRecorder::new(self.made)));
        let mut messages = Messages::over_http(Frame::Complete(body), head, exchange);
        let mut out = Vec::new();
        let mut is_faulty = false;
        loop {
            let (tx, _) = self.exchanges.get_mut(&exchange).unwrap();
            let event =
                send(tx, &mut out, |tx| self.server.next_event(NOW, &mut messages, tx)).unwrap();
            match event {
                None => break,
                Some(ServerEvent::Request(request))
                    if request.name().is_some_and(|name| name == "ask") =>
                {
                    let schema = RequestedSchema::new(&[]);
                    let question = ElicitParams::form("Who?", schema);
                    let asking = ClientRequest::from(&question).parent(request.handle);
                    let call =
                        send(tx, &mut out, |tx| self.server.request(NOW, asking, tx)).unwrap();
                    self.asked.push((call, request.handle));
                }
                Some(ServerEvent::Request(request)) => {
                    self.open.extend(handle(&mut self.server, &request, tx, &mut out));
                }
                Some(ServerEvent::CallFinished { call, .. }) => {
                    let parent = self.asked.iter().find(|(asked, _)| *asked == call).unwrap().1;
                    // The response belongs to the exchange of the request, not to the current one.
                    let (tx, _) = self.exchanges.get_mut(&self.server.exchange(parent)).unwrap();
                    self.server.respond(parent, &TextResult::new("answered"), tx).unwrap();
                }
                Some(ServerEvent::Violation(_)) => is_faulty = true,
                Some(_) => {}
            }
        }
        let (tx, recording) = self.exchanges.get_mut(&exchange).unwrap();
        drain(tx, &mut out);
        let reply = tx.http_response();
        if reply == Some(OutgoingResponse::EVENT_STREAM) {
            self.replay.record(recording, &out);
        }
        let is_open = self.server.open_requests_of(exchange) > 0;
        let reply = reply.unwrap_or(if is_faulty {
            OutgoingResponse::empty(400)
        } else {
            OutgoingResponse::ACCEPTED
        });
        let mut answer = answer_of(reply, String::from_utf8(out).unwrap());
        if is_open {
            answer.body.push_str("(open)");
        }
        answer
    }

    /// Responds to an open request; returns the new output of its exchange.
    pub(crate) fn finish(&mut self, request: RequestHandle) -> Answer {
        let exchange = self.server.exchange(request);
        let (tx, _) = self.exchanges.get_mut(&exchange).unwrap();
        self.server.respond(request, &TextResult::new("done"), tx).unwrap();
        self.rest(exchange)
    }

    /// Returns the new output of an exchange.
    pub(crate) fn rest(&mut self, exchange: ExchangeId) -> Answer {
        let (tx, recording) = self.exchanges.get_mut(&exchange).unwrap();
        let mut out = Vec::new();
        drain(tx, &mut out);
        if tx.http_response() == Some(OutgoingResponse::EVENT_STREAM) {
            self.replay.record(recording, &out);
        }
        answer_of(tx.http_response().unwrap(), String::from_utf8(out).unwrap())
    }

    pub(crate) fn tx(
        &mut self,
        exchange: ExchangeId,
    ) -> (&mut Server<'static>, &mut TxBuffer<Vec<u8>>) {
        (&mut self.server, &mut self.exchanges.get_mut(&exchange).unwrap().0)
    }

    /// Records output that belongs to no exchange.
    pub(crate) fn record(&mut self) {
        self.replay.record(&mut self.own_recording, self.own.pending());
        self.own.advance(usize::MAX);
    }

    fn read(&self, cursor: &mut ReplayCursor) -> String {
        let mut body = Vec::new();
        while let Some(parts) = self.replay.next_part(cursor).unwrap() {
            body.extend(parts.concat());
        }
        String::from_utf8(body).unwrap()
    }
}

/// Runs a tool. Returns the request if it stays open.
fn handle(
    server: &mut Server<'static>,
    request: &Request<'_>,
    tx: &mut TxBuffer<Vec<u8>>,
    out: &mut Vec<u8>,
) -> Option<RequestHandle> {
    let target = send(tx, out, |tx| CATALOG.respond(server, request, tx)).unwrap();
    let handle = request.handle;
    let tool = match target {
        Target::Tool(tool) => tool,
        Target::Responded => return None,
        _ => panic!("{target:?}"),
    };
    let done = TextResult::new("done");
    let answered = match tool.key.as_plain().unwrap() {
        "slow" => return Some(handle),
        "progress" => {
            let _ = server.progress(NOW, handle, &Progress::of(1), tx).unwrap();
            let _ = server.log(handle, &LogMessage::new(LoggingLevel::Info, "half"), tx).unwrap();
            send(tx, out, |tx| server.respond(handle, &done, tx))
        }
        "needs" => {
            let error = RpcError::missing_capability(ClientFeatures::SAMPLING);
            send(tx, out, |tx| server.respond_error(handle, &error, tx))
        }
        "fails" => send(tx, out, |tx| server.respond_error(handle, &RpcError::internal("no"), tx)),
        "long" => {
            let text = "0123456789\n".repeat(1000);
            send(tx, out, |tx| server.respond(handle, &TextResult::new(&text), tx))
        }
        "broken" => {
            send(tx, out, |tx| server.begin_response(handle, tx)).unwrap();
            let _ =
                send(tx, out, |tx| server.write_response(handle, br#""content":["#, tx)).unwrap();
            match server.fail(handle, &RpcError::internal("the source failed"), tx) {
                // A body that has begun cannot be replaced.
                Err(SendError::NotAllowed(_)) if tx.is_truncated() => return None,
                answered => answered,
            }
        }
        _ => send(tx, out, |tx| server.respond(handle, &done, tx)),
    };
    answered.unwrap();
    None
}

/// Repeats a call until it succeeds, draining the buffer while it is full.
fn send<R>(
    tx: &mut TxBuffer<Vec<u8>>,
    out: &mut Vec<u8>,
    mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
) -> Result<R, SendError> {
    loop {
        match call(tx) {
            Err(SendError::Full) => drain(tx, out),
            other => return other,
        }
    }
}

fn drain(tx: &mut TxBuffer<Vec<u8>>, out: &mut Vec<u8>) {
    out.extend_from_slice(tx.pending());
    tx.advance(usize::MAX);
}

fn answer_of(reply: OutgoingResponse, body: String) -> Answer {
    assert!(reply.body != BodyKind::Empty || body.is_empty());
    let fields =
        reply.fields().map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Answer { status: reply.status, fields, body }
}

struct Owned(Vec<(String, Vec<u8>)>);

impl Fields for Owned {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.0
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .nth(n)
            .map(|(_, value)| value.as_slice())
    }
}
