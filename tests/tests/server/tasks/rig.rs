//! A program with tools that run as tasks, without I/O: lines in, lines out, and a clock that the
//! test sets. The test does the work of the tools.

use std::collections::{BTreeMap, BTreeSet};

use mcp_sansio::tasks::{
    TaskContent, TaskEnd, TaskId, TaskKey, TaskMode, TaskOwner, TaskReply, TaskStep, TaskTime,
    TaskTimeout, Tasks, TasksConfig, TasksState,
};
use mcp_sansio::types::{Implementation, TaskSupport, TextResult};
use mcp_sansio::{
    Change, ClientFeatures, Encode, Encoder, ErrorCode, Frame, GrowingServerState, Instant,
    JsonStr, Messages, OwnedJson, Progress, RawJson, Request, RequestHandle, Revision, RpcError,
    SendError, Server, ServerConfig, ServerEvent, ServerFeatures, TxBuffer,
};
use mcp_sansio_tests::json::lines;
use mcp_sansio_tests::line::Line;
use serde_json::{Value, json};

pub(super) static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::TASKS_LIST).with(ServerFeatures::TASKS_CANCEL),
)
.send_server_info(false);
pub(super) const TASKS: TasksConfig = TasksConfig::new().max_per_owner(3);
pub(super) const ME: TaskOwner = TaskOwner(1);

/// The tasks of a program, and its connections.
pub(super) struct Rig {
    state: TasksState<4>,
    pub(super) config: TasksConfig,
    pub(super) content: Content,
    servers: Vec<GrowingServerState>,
    server_config: &'static ServerConfig<'static>,
    /// Connections without room for a message write it in pieces of this many bytes.
    room: usize,
    pub(super) ms: u64,
    /// Requests that wait for the end of a task.
    waiting: Vec<(TaskKey, usize, RequestHandle)>,
    created: u8,
    /// What the program was told to do.
    pub(super) log: Vec<String>,
}

/// Results by the place of the task.
#[derive(Default)]
pub(super) struct Content {
    pub(super) results: BTreeMap<usize, String>,
    pub(super) asked: BTreeSet<(usize, u32)>,
    /// Input requests that need sampling.
    pub(super) sampling: BTreeSet<u32>,
    pub(super) progress: Option<Progress<'static>>,
}

impl TaskContent for Content {
    fn result(&self, task: TaskKey, to: &mut Encoder<'_>) {
        let text = self.results.get(&task.index()).map_or("", String::as_str);
        match RawJson::parse(text) {
            Ok(result) if result.is_object() => to.raw(result),
            _ => TextResult::new(text).encode(to),
        }
    }

    fn error(&self, task: TaskKey) -> RpcError<'_> {
        let text = self.results.get(&task.index()).map_or("", String::as_str);
        RpcError::new(ErrorCode::InvalidParams, text)
    }

    fn input_request(&self, task: TaskKey, number: u32, to: &mut Encoder<'_>) {
        assert!(self.asked.contains(&(task.index(), number)));
        let request = format!(
            r#"{{"method":"elicitation/create","params":{{"message":"{number}?","requestedSchema":{{"type":"object","properties":{{}}}}}}}}"#
        );
        to.raw(RawJson::parse(&request).unwrap());
    }

    fn progress(&self, _: TaskKey) -> Option<Progress<'_>> {
        self.progress
    }

    fn needs(&self, _: TaskKey, number: u32) -> ClientFeatures {
        match self.sampling.contains(&number) {
            true => ClientFeatures::SAMPLING,
            false => ClientFeatures::NONE,
        }
    }
}

pub(super) const EXTENSION: &str =
    r#"{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// A dialect: 2025-11-25, or the extension of 2026-07-28.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Dialect {
    D,
    T,
}

pub(super) const BOTH: [Dialect; 2] = [Dialect::D, Dialect::T];

impl Rig {
    /// A program with one client.
    pub(super) fn new(dialect: Dialect) -> Self {
        Self::with(&CONFIG, dialect)
    }

    pub(super) fn with(server_config: &'static ServerConfig<'static>, dialect: Dialect) -> Self {
        let mut rig = Self {
            state: TasksState::new(),
            config: TASKS,
            content: Content::default(),
            servers: Vec::new(),
            server_config,
            room: 1 << 20,
            ms: 0,
            waiting: Vec::new(),
            created: 0,
            log: Vec::new(),
        };
        rig.connect(dialect);
        rig
    }

    /// Writes at most this many bytes at once.
    pub(super) fn in_pieces(mut self, room: usize) -> Self {
        self.room = room;
        self
    }

    /// Opens one more connection; returns its number.
    pub(super) fn connect(&mut self, dialect: Dialect) -> usize {
        self.servers.push(GrowingServerState::new(16, 16));
        let number = self.servers.len() - 1;
        if dialect == Dialect::D {
            self.connect_as(number, "{}");
        }
        number
    }

    pub(super) fn connect_as(&mut self, number: usize, capabilities: &str) -> Value {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        );
        let result = self.hear(number, ME, &line).remove(0);
        self.hear(number, ME, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        result
    }

    pub(super) fn time(&self) -> TaskTime {
        TaskTime::new(Instant::from_millis(self.ms), 1_785_240_000_000 + self.ms)
    }

    pub(super) fn tasks(&mut self) -> Tasks<'_> {
        self.state.tasks(&self.config)
    }

    /// Returns the server of a connection.
    pub(super) fn server(&mut self, number: usize) -> Server<'_> {
        self.servers[number].server(self.server_config)
    }

    /// Returns the task with an id.
    pub(super) fn key(&mut self, id: &str) -> TaskKey {
        self.tasks().find(TaskId::parse(id).unwrap()).unwrap()
    }

    /// Handles a message of a client; returns what is sent to it.
    pub(super) fn hear(&mut self, number: usize, owner: TaskOwner, line: &str) -> Vec<Value> {
        let mut out = self.line();
        let mut state = std::mem::replace(&mut self.servers[number], GrowingServerState::new(0, 0));
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        loop {
            let mut server = state.server(self.server_config);
            let now = Instant::from_millis(self.ms);
            match server.next_event(now, &mut messages, &mut out.tx) {
                Ok(Some(ServerEvent::Request(request))) => {
                    self.request(number, owner, &request, &mut state, &mut out);
                }
                Ok(Some(event)) => self.log.extend(told(&event)),
                Ok(None) => break,
                Err(SendError::Full) => out.drain(),
                Err(error) => panic!("{error}"),
            }
        }
        self.servers[number] = state;
        lines(out.take().as_bytes())
    }

    fn line(&self) -> Line {
        Line::through(TxBuffer::with_limit(Vec::new(), self.room))
    }

    fn request(
        &mut self,
        number: usize,
        owner: TaskOwner,
        request: &Request<'_>,
        state: &mut GrowingServerState,
        out: &mut Line,
    ) {
        let time = self.time();
        let mut tasks = self.state.tasks(&self.config);
        let reply = match tasks.handle(time, request, owner) {
            Some(TaskStep::Respond(reply)) => reply,
            Some(TaskStep::List(reply)) => {
                let list = OwnedJson::new(&tasks.list(&reply), request.revision).unwrap();
                let mut server = state.server(self.server_config);
                return send(out, |tx| server.respond_raw(request.handle, list.as_json(), tx));
            }
            Some(TaskStep::Cancel(task, reply)) => {
                self.log.push(format!("cancel {}", task.index()));
                reply
            }
            Some(TaskStep::Update(_, responses, reply)) => {
                let told = responses.map(|(number, response)| format!("input {number} {response}"));
                self.log.extend(told);
                reply
            }
            Some(TaskStep::Wait(task)) => return self.waiting.push((task, number, request.handle)),
            None => return self.call(owner, request, state, out),
        };
        self.reply(&reply, request.handle, state, out);
        self.end_waiting(state, number, out);
    }

    fn call(
        &mut self,
        owner: TaskOwner,
        request: &Request<'_>,
        state: &mut GrowingServerState,
        out: &mut Line,
    ) {
        let config = self.server_config;
        if request.params.get("notifications").is_some() {
            let time = self.time();
            let tasks = self.state.tasks(&self.config);
            let mut may_see = |id: JsonStr<'_>| tasks.find_visible(time, id, owner).is_some();
            let mut server = state.server(config);
            return send(out, |tx| server.listen_to_tasks(request, &mut may_see, tx));
        }
        let support = match request.name() {
            Some(name) if name == "must" => TaskSupport::Required,
            Some(name) if name == "may" => TaskSupport::Optional,
            _ => TaskSupport::Forbidden,
        };
        let (mut server, handle) = (state.server(config), request.handle);
        let ttl_ms = match server.task_mode(request, support) {
            Err(error) => return send(out, |tx| server.respond_error(handle, &error, tx)),
            Ok(TaskMode::Call) => {
                return send(out, |tx| server.respond(handle, &TextResult::new("plain"), tx));
            }
            Ok(TaskMode::Either) => None,
            Ok(TaskMode::Task { ttl_ms }) => ttl_ms,
        };
        self.created += 1;
        let id = TaskId::new([self.created; 16]);
        let time = self.time();
        let mut tasks = self.state.tasks(&self.config);
        let reply = match tasks.create(time, id, owner, ttl_ms) {
            Ok(task) => TaskReply::created(tasks.info(task).unwrap()),
            Err(error) => {
                let error = RpcError::internal(error.as_str());
                return send(out, |tx| server.respond_error(handle, &error, tx));
            }
        };
        self.reply(&reply, request.handle, state, out);
    }

    fn reply(
        &self,
        reply: &TaskReply,
        handle: RequestHandle,
        state: &mut GrowingServerState,
        out: &mut Line,
    ) {
        send(out, |tx| {
            reply.send(&self.content, &mut state.server(self.server_config), handle, tx)
        });
    }

    /// Answers the requests of a connection that wait for a task that has ended.
    fn end_waiting(&mut self, state: &mut GrowingServerState, number: usize, out: &mut Line) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|(task, at, handle)| {
            let tasks = self.state.tasks(&self.config);
            let is_over = tasks.info(*task).is_none_or(|info| !info.is_live());
            if *at == number && is_over {
                let reply = tasks.result(*task);
                self.reply(&reply, *handle, state, out);
            }
            *at != number || !is_over
        });
        self.waiting = waiting;
    }

    /// Returns the responses that a connection has waited for.
    pub(super) fn late(&mut self, number: usize) -> Vec<Value> {
        let mut out = self.line();
        let mut state = std::mem::replace(&mut self.servers[number], GrowingServerState::new(0, 0));
        self.end_waiting(&mut state, number, &mut out);
        self.servers[number] = state;
        lines(out.take().as_bytes())
    }

    /// Tells a connection of the state of a task.
    pub(super) fn publish(&mut self, number: usize, id: &str) -> Vec<Value> {
        let (task, mut out) = (self.key(id), self.line());
        let tasks = self.state.tasks(&self.config);
        let info = tasks.info(task).unwrap();
        let all = ClientFeatures::SAMPLING.with(ClientFeatures::ELICITATION_FORM);
        let details = info.details(task, &self.content, all);
        let details = OwnedJson::new(&details, Revision::LATEST).unwrap();
        let status = OwnedJson::new(&info, Revision::V2025_11_25).unwrap();
        for mut change in
            [Change::task(id, details.as_json()), Change::session_task(id, status.as_json())]
        {
            let state = &mut self.servers[number];
            let mut publish =
                || out.send(|tx| state.server(self.server_config).publish(&mut change, tx));
            while publish().unwrap().is_more() {}
        }
        lines(out.take().as_bytes())
    }

    /// Lets time pass, and says which tasks are over.
    pub(super) fn wait(&mut self, ms: u64) -> Vec<&'static str> {
        self.ms += ms;
        let time = self.time();
        let mut tasks = self.tasks();
        let timeouts = std::iter::from_fn(|| tasks.handle_timeout(time));
        timeouts
            .map(|timeout| match timeout {
                TaskTimeout::Expired(_) => "expired",
                TaskTimeout::Gone(_) => "gone",
            })
            .collect()
    }
}

/// The client's side: requests as a client of the dialect makes them.
impl Rig {
    pub(super) fn ask(&mut self, dialect: Dialect, method: &str, params: Value) -> Value {
        let mut all = self.ask_as(0, ME, dialect, method, params);
        assert_eq!(all.len(), 1, "{method}: {all:?}");
        all.remove(0)
    }

    pub(super) fn ask_as(
        &mut self,
        number: usize,
        owner: TaskOwner,
        dialect: Dialect,
        method: &str,
        mut params: Value,
    ) -> Vec<Value> {
        if dialect == Dialect::T && params.get("_meta").is_none() {
            params["_meta"] = meta(EXTENSION);
        }
        let line = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        self.hear(number, owner, &line.to_string())
    }

    /// Calls the tool that may run as a task, so that it does; returns the task.
    pub(super) fn create(&mut self, dialect: Dialect) -> Value {
        let mut params = json!({ "name": "may", "arguments": {} });
        if dialect == Dialect::D {
            params["task"] = json!({});
        }
        let response = self.ask(dialect, "tools/call", params);
        match dialect {
            Dialect::D => response["result"]["task"].clone(),
            Dialect::T => response["result"].clone(),
        }
    }

    /// Creates a task; returns its id.
    pub(super) fn created(&mut self, dialect: Dialect) -> String {
        self.create(dialect)["taskId"].as_str().unwrap().to_owned()
    }

    /// Gets a task.
    pub(super) fn get(&mut self, dialect: Dialect, id: &str) -> Value {
        self.ask(dialect, "tasks/get", json!({ "taskId": id }))["result"].clone()
    }

    pub(super) fn status(&mut self, dialect: Dialect, id: &str) -> String {
        self.get(dialect, id)["status"].as_str().unwrap_or("error").to_owned()
    }

    /// The tool ends.
    pub(super) fn end(&mut self, id: &str, end: TaskEnd, result: &str) -> bool {
        let (task, time) = (self.key(id), self.time());
        self.content.results.insert(task.index(), result.to_owned());
        self.tasks().end(time, task, end)
    }

    /// The tool says how far it is; returns whether that is news.
    pub(super) fn say(&mut self, id: &str, message: &str) -> bool {
        let (task, time) = (self.key(id), self.time());
        self.tasks().set_message(time, task, &message)
    }

    /// The tool asks.
    pub(super) fn input(&mut self, id: &str) -> Option<u32> {
        let (task, time) = (self.key(id), self.time());
        let number = self.tasks().ask(time, task)?;
        self.content.asked.insert((task.index(), number));
        Some(number)
    }
}

pub(super) fn meta(capabilities: &str) -> Value {
    let capabilities: Value = serde_json::from_str(capabilities).unwrap();
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

pub(super) fn code(response: &Value) -> i64 {
    response["error"]["code"].as_i64().unwrap_or(0)
}

fn told(event: &ServerEvent<'_>) -> Option<String> {
    match event {
        ServerEvent::RequestCancelled { .. } => Some("request cancelled".to_owned()),
        ServerEvent::RequestTimedOut { .. } => Some("request timed out".to_owned()),
        _ => None,
    }
}

fn send(out: &mut Line, call: impl FnMut(&mut mcp_sansio::Tx<'_>) -> Result<(), SendError>) {
    out.send(call).unwrap();
}
