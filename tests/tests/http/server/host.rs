//! A site without sockets: bytes of requests in, bytes of responses out.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::types::{ElicitParams, Implementation, RequestedSchema, TextResult, Tool};
use mcp_sansio::{
    Call, Catalog, ClientFeatures, ClientRequest, Instant, LogMessage, Outcome, OwnedRequest,
    Progress, RawJson, Request, RequestHandle, Revisions, RpcError, SendError, Server,
    ServerConfig, ServerEvent, ServerFeatures, Target, Tx, entries, types::LoggingLevel,
};
use mcp_sansio_engine::site::{
    Denied, ExchangeKey, ForeignSession, OwnedHead, Principal, ServerKey, Site, SiteBody, SiteNode,
    SiteOptions, SiteRequest, SiteStep, SiteTurn, credentials::bearer_token,
};
use mcp_sansio_http1::{OwnedFields, Part, RequestReader};

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

/// The response to a request.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: String,
    /// The exchange, if it is still open.
    pub(crate) exchange: Option<ExchangeKey>,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Returns the id of the session that was opened.
    pub(crate) fn session(&self) -> String {
        self.field("mcp-session-id").unwrap_or_else(|| panic!("{self:?}")).to_owned()
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
    let usual = [
        ("Host", "localhost"),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
    ];
    format!("{}Content-Length: {}\r\n\r\n{body}", head("POST", &usual, fields), body.len())
}

const TOOLS: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);

/// A request without a body.
pub(crate) fn bare(method: &str, fields: &[(&str, &str)]) -> String {
    head(method, &[("Host", "localhost"), ("Accept", "text/event-stream")], fields) + "\r\n"
}

/// The beginning of a head, with those of the usual fields that are not among the others.
fn head(method: &str, usual: &[(&str, &str)], fields: &[(&str, &str)]) -> String {
    let mut request = format!("{method} /mcp HTTP/1.1\r\n");
    let is_given = |name: &str| fields.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    for (name, value) in usual.iter().filter(|(name, _)| !is_given(name)).chain(fields) {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    request
}

/// A POST of a session.
pub(crate) fn in_session(session: &str, body: &str) -> String {
    post(&[("Mcp-Session-Id", session)], body)
}

/// A GET of a session, which goes on behind this event.
pub(crate) fn resume(session: &str, last: &str) -> String {
    bare("GET", &[("Mcp-Session-Id", session), ("Last-Event-ID", last)])
}

/// The same request with a token.
pub(crate) fn with_token(token: &str, request: &str) -> String {
    request.replacen("Host:", &format!("Authorization: Bearer {token}\r\nHost:"), 1)
}

/// The same request with another target.
pub(crate) fn to(target: &str, request: &str) -> String {
    request.replacen("/mcp", target, 1)
}

/// Returns the ids of the events in a stream.
pub(crate) fn ids(stream: &str) -> Vec<&str> {
    stream.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
}

pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
pub(crate) const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;

/// A notification that a request is cancelled.
pub(crate) fn cancelled(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// A modern call of a tool.
pub(crate) fn modern_call(tool: &str) -> String {
    modern("tools/call", &format!(r#"{{"name":"{tool}"}}"#), &[("Mcp-Name", tool)])
}

/// A modern subscription to changes of the tools.
pub(crate) fn listen() -> String {
    modern("subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#, &[])
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
    let own = fields.iter().filter(|(name, _)| !more.iter().any(|(other, _)| other == name));
    let fields = own.chain(more).copied().filter(|(_, value)| *value != "(none)");
    post(&fields.collect::<Vec<_>>(), &body)
}

pub(crate) fn initialize(version: &str) -> String {
    post(&[], &initialize_body(version))
}

pub(crate) fn initialize_body(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// The outcome of a tool.
pub(crate) enum Reply {
    Text(String),
    Error(RpcError<'static>),
    /// A response of the catalog.
    Listed(Box<OwnedRequest>),
}

impl Outcome<Server<'_>> for Reply {
    fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        match self {
            Self::Text(text) => server.respond(request, &TextResult::new(text), tx),
            Self::Error(error) => server.respond_error(request, error, tx),
            Self::Listed(request) => CATALOG.respond(server, &request.as_request(), tx).map(|_| ()),
        }
    }
}

/// A site with its handlers and its clock.
pub(crate) struct Host {
    pub(crate) site: Site<'static, Reply>,
    pub(crate) now: Instant,
    /// Number of request bytes read at once.
    pub(crate) chunk: usize,
    /// Open requests of the tool `slow`.
    pub(crate) open: Vec<SiteRequest>,
    /// Servers that ended early.
    pub(crate) ended: Vec<ServerKey>,
    /// Why sessions of the fleet were not found.
    pub(crate) foreign: Vec<ForeignSession>,
    /// Exchanges that wait for their authorization, with their tokens.
    pub(crate) asked: Vec<(ExchangeKey, Option<String>)>,
    /// Whether tokens are checked at once: the token is the subject.
    pub(crate) authorizes_at_once: bool,
    /// Tokens of which nothing is asked.
    pub(crate) known: &'static [&'static str],
    /// The address from which requests come.
    pub(crate) peer: Option<IpAddr>,
    /// The principals of handled requests.
    pub(crate) principals: Vec<Option<String>>,
    /// Exchanges that have something to do.
    ready: HashSet<ExchangeKey>,
    calls: Vec<(ServerKey, Call, RequestHandle)>,
    /// Envelopes for other nodes.
    pub(crate) outgoing: Vec<Vec<u8>>,
}

/// A connection with one request.
pub(crate) struct Connection {
    reader: RequestReader<Vec<u8>>,
    /// The bytes of the request that are not read yet.
    rest: Vec<u8>,
    /// A part of the body for which there is no room yet.
    piece: Vec<u8>,
    pub(crate) exchange: Option<ExchangeKey>,
    has_ended: bool,
    /// The bytes of the response.
    pub(crate) answer: Answer,
    /// Whether the response is complete.
    pub(crate) is_done: bool,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.answer)
    }
}

impl Connection {
    pub(crate) fn new(request: &str) -> Self {
        Self {
            reader: RequestReader::with_limit(Vec::new(), 1 << 14),
            rest: request.into(),
            piece: Vec::new(),
            exchange: None,
            has_ended: false,
            answer: Answer::default(),
            is_done: false,
        }
    }

    /// Moves at most `chunk` bytes in, and at most `chunk` bytes out. Returns whether anything has
    /// moved. If not, it does nothing until the site says that its exchange is ready.
    pub(crate) fn step(&mut self, host: &mut Host, chunk: usize) -> bool {
        if self.exchange.is_some_and(|key| !host.ready.contains(&key)) {
            return false;
        }
        let has_moved = self.read(host, chunk) | self.write(host, chunk);
        if let (false, Some(key)) = (has_moved, &self.exchange) {
            host.ready.remove(key);
        }
        has_moved
    }

    fn read(&mut self, host: &mut Host, chunk: usize) -> bool {
        let waits = self.exchange.is_some_and(|key| !host.site.wants_body(key));
        if self.has_ended || self.is_done || waits {
            return false;
        }
        if !self.piece.is_empty() {
            let taken = host.site.feed_body(self.exchange.unwrap(), &self.piece);
            self.piece.drain(..taken);
            return taken > 0;
        }
        let had = self.rest.len();
        match self.reader.next_part().unwrap() {
            Some(Part::Head(head)) => {
                let fields = OwnedFields::from(head.fields);
                let mut head = OwnedHead::new(head.method, head.target, fields);
                if let Some(peer) = host.peer {
                    head = head.peer(peer);
                }
                let known =
                    bearer_token(&head.as_head()).filter(|token| host.known.contains(token));
                let known = known.map(principal);
                self.exchange = Some(host.site.open(host.now, head, known));
            }
            Some(Part::Body(piece)) => self.piece = piece.into(),
            Some(Part::End) => {
                host.site.end_of_body(host.now, self.exchange.unwrap());
                self.has_ended = true;
            }
            None => {
                let n = self.rest.len().min(chunk).min(self.reader.spare().len());
                self.reader.spare()[..n].copy_from_slice(&self.rest[..n]);
                self.reader.commit(n);
                self.rest.drain(..n);
                return self.rest.len() < had;
            }
        }
        true
    }

    fn write(&mut self, host: &mut Host, chunk: usize) -> bool {
        let Some(key) = self.exchange.filter(|_| !self.is_done) else { return false };
        let Some(head) = host.site.response(key) else { return false };
        if self.answer.status == 0 {
            self.answer.status = head.status();
            self.answer.fields =
                head.fields().map(|(name, value)| (name.into(), value.into())).collect();
        }
        match host.site.body(key) {
            SiteBody::Pending => return false,
            SiteBody::Piece(piece) => {
                let piece = &piece[..piece.len().min(chunk)];
                // Chunks of one byte may split a character.
                self.answer.body.extend(piece.iter().map(|byte| char::from(*byte)));
                let n = piece.len();
                host.site.wrote(host.now, key, n);
                return true;
            }
            SiteBody::End => {}
            SiteBody::Cut => self.answer.body.push_str("(cut)"),
        }
        self.close(host);
        true
    }

    /// Reads a response until its body has this length.
    pub(crate) fn read_to(&mut self, host: &mut Host, len: usize, chunk: usize) {
        while self.answer.body.len() < len && !self.is_done {
            host.run();
            self.step(host, chunk);
        }
    }

    /// The response is complete, or the connection is lost.
    pub(crate) fn close(&mut self, host: &mut Host) {
        self.is_done = true;
        if let Some(key) = self.exchange.take() {
            host.site.close(host.now, key);
        }
    }
}

impl Host {
    pub(crate) fn new() -> Self {
        Self::of(&CONFIG, |_| {})
    }

    pub(crate) fn of(
        config: &'static ServerConfig<'static>,
        set: impl Fn(&mut SiteOptions<'static>),
    ) -> Self {
        Self::with_random(config, set, 0)
    }

    /// Creates a host whose random numbers are others than those of a host with another `seed`.
    pub(crate) fn with_random(
        config: &'static ServerConfig<'static>,
        set: impl Fn(&mut SiteOptions<'static>),
        seed: u8,
    ) -> Self {
        let mut options = SiteOptions::new();
        options.retry = Duration::from_millis(500);
        set(&mut options);
        let mut made = 0_u8;
        let random = move || {
            made += 1;
            let mut bytes = [made; 16];
            [bytes[1], bytes[5], bytes[13]] = [made ^ seed; 3];
            bytes
        };
        Self {
            site: Site::new(config, options, random),
            now: Instant::from_millis(0),
            chunk: usize::MAX,
            open: Vec::new(),
            ended: Vec::new(),
            foreign: Vec::new(),
            asked: Vec::new(),
            authorizes_at_once: true,
            known: &[],
            peer: None,
            principals: Vec::new(),
            ready: HashSet::new(),
            calls: Vec::new(),
            outgoing: Vec::new(),
        }
    }

    pub(crate) fn in_fleet(self, node: SiteNode) -> Self {
        Self { site: self.site.node(node), ..self }
    }

    pub(crate) fn modern_only() -> Self {
        static MODERN: ServerConfig<'static> = TOOLS.revisions(Revisions::MODERN);
        Self::of(&MODERN, |_| {})
    }

    pub(crate) fn legacy_only() -> Self {
        static LEGACY: ServerConfig<'static> = TOOLS.revisions(Revisions::LEGACY);
        Self::of(&LEGACY, |_| {})
    }

    /// Creates a host with a session.
    pub(crate) fn opened(version: &str) -> (Self, String) {
        let mut host = Self::new();
        let id = host.open(version);
        (host, id)
    }

    /// Opens a session and returns its id.
    pub(crate) fn open(&mut self, version: &str) -> String {
        let id = self.send(&initialize(version)).session();
        assert_eq!(self.call(&id, INITIALIZED).trace(), "202\n\n");
        id
    }

    /// Deletes a session; returns the status.
    pub(crate) fn delete(&mut self, session: &str) -> u16 {
        self.send(&bare("DELETE", &[("Mcp-Session-Id", session)])).status
    }

    /// A request of a session.
    pub(crate) fn call(&mut self, session: &str, body: &str) -> Answer {
        self.send(&in_session(session, body))
    }

    pub(crate) fn tool(&mut self, session: &str, id: u32, name: &str) -> Answer {
        self.call(session, &tool_call(id, name))
    }

    /// Sends a request, and returns the response as far as there is one. If it is not complete, its
    /// body ends in `(open)`; a stream that was opened with GET is closed.
    pub(crate) fn send(&mut self, request: &str) -> Answer {
        let mut connection = self.connect(request);
        let is_open = !connection.is_done;
        if is_open && request.starts_with("GET") {
            connection.close(self);
        } else if is_open {
            connection.answer.body.push_str("(open)");
        }
        connection.answer.exchange = connection.exchange;
        connection.answer
    }

    /// Returns the new output of an exchange.
    pub(crate) fn rest(&mut self, exchange: ExchangeKey) -> Answer {
        let mut connection = Connection::new("");
        (connection.exchange, connection.has_ended) = (Some(exchange), true);
        self.serve([&mut connection]);
        connection.answer.exchange = connection.exchange;
        connection.answer
    }

    /// Sends a request, and returns its connection.
    pub(crate) fn connect(&mut self, request: &str) -> Connection {
        let mut connection = Connection::new(request);
        self.serve([&mut connection]);
        connection
    }

    /// Sends requests, and returns their connections.
    pub(crate) fn connect_all<const N: usize>(&mut self, requests: [&str; N]) -> [Connection; N] {
        let mut all = requests.map(Connection::new);
        self.serve(&mut all);
        all
    }

    /// Sends the head of a request, and returns its exchange.
    pub(crate) fn begin(&mut self, head: &str) -> ExchangeKey {
        let mut connection = Connection::new(head);
        while self.run() | connection.step(self, 1000) {}
        connection.exchange.unwrap()
    }

    /// Calls the tool `slow` in a session; returns the connection and the request, which is open.
    pub(crate) fn slow(&mut self, session: &str) -> (Connection, SiteRequest) {
        let connection = self.connect(&in_session(session, &tool_call(2, "slow")));
        (connection, self.open.remove(0))
    }

    /// Lets the clock go on, and serves connections.
    pub(crate) fn serve_after<'c>(
        &mut self,
        time: Duration,
        connections: impl IntoIterator<Item = &'c mut Connection>,
    ) {
        self.wait(time);
        self.serve(connections);
    }

    /// Serves connections in turns until nothing moves.
    pub(crate) fn serve<'c>(&mut self, connections: impl IntoIterator<Item = &'c mut Connection>) {
        let chunk = self.chunk;
        let mut connections: Vec<_> = connections.into_iter().collect();
        loop {
            let mut has_moved = self.run();
            for connection in &mut connections {
                has_moved |= connection.step(self, chunk);
            }
            if !has_moved {
                return;
            }
        }
    }

    /// Lets the clock go on.
    pub(crate) fn wait(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
        self.run();
    }

    /// Takes steps until there is nothing to do. Returns whether there was anything.
    pub(crate) fn run(&mut self) -> bool {
        let mut has_moved = false;
        loop {
            match self.site.next(self.now) {
                SiteStep::Wait(until) => {
                    assert!(until.is_none_or(|until| until > self.now), "{until:?}");
                    return has_moved;
                }
                SiteStep::Event(event, mut turn) => match event {
                    ServerEvent::Request(request) => {
                        let principal = turn.principal().map(|found| found.subject.clone());
                        self.principals.push(principal);
                        if request.name().is_some_and(|name| name == "ask") {
                            self.calls.extend(ask(&mut turn, request.handle));
                        } else {
                            self.open.extend(handle(&mut turn, &request));
                        }
                    }
                    ServerEvent::CallFinished { call, .. } => {
                        let key = (turn.server_key(), call);
                        let mut calls = self.calls.iter().rev();
                        let (.., parent) =
                            calls.find(|(server, call, _)| (*server, *call) == key).unwrap();
                        turn.answer(*parent, Reply::Text("answered".into()));
                    }
                    _ => {}
                },
                SiteStep::Authorize { exchange, head } => {
                    let token = bearer_token(&head).map(str::to_owned);
                    if self.authorizes_at_once {
                        self.authorize(exchange, token);
                    } else {
                        self.asked.push((exchange, token));
                    }
                }
                SiteStep::Ended(server, _) => self.ended.push(server),
                SiteStep::Foreign(_, why) => self.foreign.push(why),
                SiteStep::Ready(exchange) => drop(self.ready.insert(exchange)),
                SiteStep::Publish { envelope, .. } => self.outgoing.push(envelope),
                _ => {}
            }
            has_moved = true;
        }
    }

    pub(crate) fn authorize(&mut self, exchange: ExchangeKey, token: Option<String>) {
        let result = match token {
            Some(token) if token == "expired" => {
                Err(Denied::new(401).challenge("Bearer error=\"invalid_token\""))
            }
            Some(token) => Ok(principal(&token)),
            None => Err(Denied::new(401).challenge("Bearer")),
        };
        self.site.authorized(self.now, exchange, result);
    }

    /// Responds to an open request.
    pub(crate) fn finish(&mut self, request: SiteRequest) {
        self.site.answer(request, Reply::Text("done".into()));
    }

    /// Sends progress of an open request.
    pub(crate) fn progress(&mut self, request: SiteRequest, step: u32) {
        let mut turn = self.site.turn(self.now, request.server).unwrap();
        let (mut server, tx) = turn.parts(request.request);
        let _ = server.progress(self.now, request.request, &Progress::of(step), tx).unwrap();
    }
}

fn principal(token: &str) -> Arc<Principal> {
    let expires = token.strip_prefix("short-").map(|_| Instant::from_millis(5000));
    Arc::new(Principal { expires, ..Principal::new("https://issuer.example", token) })
}

pub(crate) fn tool_call(id: u32, name: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","_meta":{{"progressToken":"p"}}}}}}"#
    )
}

/// Asks the client. Returns the call if it can be asked.
fn ask(
    turn: &mut SiteTurn<'_, Reply>,
    request: RequestHandle,
) -> Option<(ServerKey, Call, RequestHandle)> {
    let question = ElicitParams::form("Who?", RequestedSchema::new(&[]));
    let asking = ClientRequest::from(&question).parent(request);
    let (now, (mut server, tx)) = (turn.now(), turn.parts(request));
    let Ok(call) = server.request(now, asking, tx) else {
        turn.answer(request, Reply::Error(RpcError::internal("cannot ask")));
        return None;
    };
    Some((turn.server_key(), call, request))
}

/// Runs a tool. Returns the request if it stays open.
fn handle(turn: &mut SiteTurn<'_, Reply>, request: &Request<'_>) -> Option<SiteRequest> {
    let (now, handle, key) = (turn.now(), request.handle, turn.request_key(request.handle));
    let (mut server, tx) = turn.parts(handle);
    let tool = match CATALOG.respond(&mut server, request, tx) {
        Ok(Target::Responded) => return None,
        Ok(Target::Tool(tool)) => tool,
        Ok(target) => panic!("{target:?}"),
        Err(SendError::Full) => {
            turn.answer(handle, Reply::Listed(Box::new(OwnedRequest::from(request))));
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let reply = match tool.key().as_plain().unwrap() {
        "slow" => return Some(key),
        "progress" => {
            // Without room they are left out.
            let _ = server.progress(now, handle, &Progress::of(1), tx);
            let _ = server.log(handle, &LogMessage::new(LoggingLevel::Info, "half"), tx);
            Reply::Text("done".into())
        }
        "needs" => Reply::Error(RpcError::missing_capability(ClientFeatures::SAMPLING)),
        "fails" => Reply::Error(RpcError::internal("no")),
        "long" => Reply::Text("0123456789\n".repeat(1000)),
        "broken" => {
            server.begin_response(handle, tx).unwrap();
            let _ = server.write_response(handle, br#""content":["#, tx).unwrap();
            match server.fail(handle, &RpcError::internal("the source failed"), tx) {
                // A body that has begun cannot be replaced.
                Err(SendError::NotAllowed(_)) if tx.is_truncated() => {}
                answered => answered.unwrap(),
            }
            return None;
        }
        _ => Reply::Text("done".into()),
    };
    turn.answer(handle, reply);
    None
}
