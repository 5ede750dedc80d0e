//! Tasks on arrays: conversations of both dialects.

use allocation_counter::measure;
use mcp_sansio::tasks::{
    TaskContent, TaskEnd, TaskId, TaskKey, TaskMode, TaskOwner, TaskReply, TaskStep, TaskTime,
    TaskTimeout, TasksConfig, TasksState,
};
use mcp_sansio::types::{Implementation, TaskSupport, TextResult};
use mcp_sansio::{
    Change, Encode as _, Encoder, Frame, GrowingServerState, Instant, JsonStr, Messages, RawJson,
    Request, RequestHandle, SendError, ServerConfig, ServerEvent, ServerFeatures, ServerState, Tx,
    TxBuffer,
};
use serde_json::Value;

static CONFIG: ServerConfig<'static> = ServerConfig::new(
    Implementation::new("arrays", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::TASKS_LIST).with(ServerFeatures::TASKS_CANCEL),
);
const TASKS: TasksConfig = TasksConfig::new();
const OWNER: TaskOwner = TaskOwner(1);
/// What the core writes of the details of a task is the same for any object.
const DETAILS: RawJson<'static> = RawJson::from_static(r#"{"status":"completed"}"#);
const FIRST: &str = "01010101010101010101010101010101";

/// The lines of a client: the id, the method and, behind a blank in any case, the parameters of a
/// request; `!` and a name is a step of the work. Each is followed by what is sent then.
const LEGACY: &[(&str, &[&str])] = &[
    (
        r#"0 initialize "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}"#,
        &["0"],
    ),
    (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, &[]),
    (r#"1 tools/call "name":"t","task":{"ttl":60000}"#, &["1 working"]),
    (r#"2 tasks/get "taskId":"01010101010101010101010101010101""#, &["2 working"]),
    ("3 tasks/list ", &["3"]),
    (r#"4 tasks/result "taskId":"01010101010101010101010101010101""#, &[]),
    ("!say", &[]),
    ("!end", &["4 result"]),
    ("!publish", &["notifications/tasks/status"]),
    (r#"5 tools/call "name":"t","task":{}"#, &["5 working"]),
    (r#"6 tasks/cancel "taskId":"02020202020202020202020202020202""#, &["6 cancelled"]),
    (r#"7 tasks/get "taskId":"03030303030303030303030303030303""#, &["7 -32602"]),
    (r#"8 tools/call "name":"t","task":{"ttl":60000}"#, &["8 working"]),
    ("!time", &[]),
    (r#"9 tasks/get "taskId":"01010101010101010101010101010101""#, &["9 -32602"]),
];
const MODERN: &[(&str, &[&str])] = &[
    (r#"1 tools/call "name":"t","#, &["1 working"]),
    (
        r#"2 subscriptions/listen "notifications":{"taskIds":["01010101010101010101010101010101","x"]},"#,
        &["notifications/subscriptions/acknowledged"],
    ),
    ("!ask", &[]),
    (r#"3 tasks/get "taskId":"01010101010101010101010101010101","#, &["3 input_required"]),
    (
        r#"4 tasks/update "taskId":"01010101010101010101010101010101","inputResponses":{"1":{"action":"accept"},"7":{}},"#,
        &["4"],
    ),
    ("!say", &[]),
    ("!end", &[]),
    (r#"5 tasks/get "taskId":"01010101010101010101010101010101","#, &["5 completed"]),
    ("!publish", &["notifications/tasks"]),
    (r#"6 tools/call "name":"t","#, &["6 working"]),
    (r#"7 tasks/cancel "taskId":"02020202020202020202020202020202","#, &["7"]),
    ("!time", &[]),
    (r#"8 tasks/get "taskId":"02020202020202020202020202020202","#, &["8 failed"]),
];
/// A modern request has this, too, behind a comma.
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;

#[test]
fn tasks_of_both_dialects_allocate_nothing() {
    plays::<4096>(LEGACY, "");
    plays::<4096>(MODERN, META);
}

/// Each change is told to all connections of a server, most of which are not subscribed to it.
#[test]
fn changes_without_a_subscriber_are_not_copied() {
    let mut state = GrowingServerState::new(1, 1);
    let change = Change::task(FIRST, DETAILS);
    // The tables are allocated at the first use.
    assert!(!state.keep_change(&CONFIG, &change));
    let allocated = measure(|| assert!(!state.keep_change(&CONFIG, &change)));
    assert_eq!(allocated.count_total, 0);
}

#[test]
fn tasks_that_are_streamed_through_64_bytes_allocate_nothing() {
    plays::<64>(LEGACY, "");
    plays::<64>(MODERN, META);
}

fn plays<const TX: usize>(conversation: &[(&str, &[&str])], meta: &str) {
    let lines: Vec<String> = conversation.iter().map(|(said, _)| line(said, meta)).collect();
    let mut program = Program::<TX>::new();
    let allocations = measure(|| lines.iter().for_each(|line| program.hear(line)));
    assert_eq!(allocations.count_total, 0, "{allocations:?}");
    let sent = std::str::from_utf8(&program.out.sent[..program.out.len]).unwrap();
    let sent: Vec<String> = sent.lines().map(name).collect();
    let expected: Vec<_> = conversation.iter().flat_map(|(_, sent)| *sent).collect();
    assert!(sent.iter().eq(expected), "{sent:?}");
}

fn line(said: &str, meta: &str) -> String {
    let mut parts = said.splitn(3, ' ');
    let (Some(id), Some(method), Some(params)) = (parts.next(), parts.next(), parts.next()) else {
        return said.to_owned();
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{meta}}}}}"#)
}

/// The id of a response and its status or code; the method of a notification.
fn name(line: &str) -> String {
    let line: Value = serde_json::from_str(line).expect(line);
    if let Some(method) = line["method"].as_str() {
        return method.to_owned();
    }
    let (id, result) = (&line["id"], &line["result"]);
    if let Some(code) = line["error"]["code"].as_i64() {
        return format!("{id} {code}");
    }
    if result.get("content").is_some() {
        return format!("{id} result");
    }
    match result["status"].as_str().or(result["task"]["status"].as_str()) {
        Some(status) => format!("{id} {status}"),
        None => id.to_string(),
    }
}

/// A server with tasks, all in arrays.
struct Program<const TX: usize> {
    server: ServerState<4, 4>,
    tasks: TasksState<4>,
    out: Out<TX>,
    waiting: Option<(TaskKey, RequestHandle)>,
    created: u8,
    now: u64,
}

struct Out<const TX: usize> {
    tx: TxBuffer<[u8; TX]>,
    sent: [u8; 1 << 13],
    len: usize,
}

struct Content;

impl TaskContent for Content {
    fn result(&self, _: TaskKey, to: &mut Encoder<'_>) {
        TextResult::new(
            "a result that is longer than sixty-four bytes, so that it is written in pieces",
        )
        .encode(to);
    }

    fn input_request(&self, _: TaskKey, _: u32, to: &mut Encoder<'_>) {
        to.raw(RawJson::from_static(r#"{"method":"roots/list"}"#));
    }
}

impl<const TX: usize> Out<TX> {
    fn send<R>(&mut self, mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>) -> R {
        loop {
            let result = call(&mut self.tx);
            let pending = self.tx.pending();
            self.sent[self.len..][..pending.len()].copy_from_slice(pending);
            self.len += pending.len();
            self.tx.advance(pending.len());
            match result {
                Ok(done) => return done,
                Err(error) => assert_eq!(error, SendError::Full),
            }
        }
    }
}

impl<const TX: usize> Program<TX> {
    fn new() -> Self {
        let out = Out { tx: TxBuffer::new([0; TX]), sent: [0; 1 << 13], len: 0 };
        let (server, tasks) = (ServerState::new(), TasksState::new());
        Self { server, tasks, out, waiting: None, created: 0, now: 0 }
    }

    fn time(&self) -> TaskTime {
        TaskTime::new(Instant::from_millis(self.now), self.now)
    }

    fn hear(&mut self, line: &str) {
        self.now += 1;
        if let Some(what) = line.strip_prefix('!') {
            return self.work(what);
        }
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        let now = Instant::from_millis(self.now);
        loop {
            let mut server = self.server.server(&CONFIG);
            let event = self.out.send(|tx| server.next_event(now, &mut messages, tx));
            match event {
                Some(ServerEvent::Request(request)) => self.request(&request),
                Some(ServerEvent::Initialize { .. } | ServerEvent::Initialized) => {}
                Some(other) => panic!("{other:?}"),
                None => return,
            }
        }
    }

    fn request(&mut self, request: &Request<'_>) {
        let (time, handle) = (self.time(), request.handle);
        let (mut tasks, mut server) = (self.tasks.tasks(&TASKS), self.server.server(&CONFIG));
        let out = &mut self.out;
        let reply = match tasks.handle(time, request, OWNER) {
            Some(TaskStep::Respond(reply) | TaskStep::Cancel(_, reply)) => reply,
            Some(TaskStep::Update(_, responses, reply)) => {
                assert_eq!(responses.count(), 1);
                reply
            }
            Some(TaskStep::List(reply)) => {
                return out.send(|tx| server.respond(handle, &tasks.list(&reply), tx));
            }
            Some(TaskStep::Wait(task)) => return self.waiting = Some((task, handle)),
            None if request.params.get("notifications").is_some() => {
                let mut may_see = |id: JsonStr<'_>| tasks.find_visible(time, id, OWNER).is_some();
                return out.send(|tx| server.listen_to_tasks(request, &mut may_see, tx));
            }
            None => {
                let ttl_ms = match server.task_mode(request, TaskSupport::Required) {
                    Ok(TaskMode::Task { ttl_ms }) => ttl_ms,
                    Ok(TaskMode::Either) => None,
                    other => panic!("{other:?}"),
                };
                self.created += 1;
                let id = TaskId::new([self.created; 16]);
                let task = tasks.create(time, id, OWNER, ttl_ms).unwrap();
                TaskReply::created(tasks.info(task).unwrap())
            }
        };
        out.send(|tx| reply.send(&Content, &mut server, handle, tx));
    }

    /// The work of the first task goes on, or the time.
    fn work(&mut self, what: &str) {
        if what == "time" {
            self.now += 3_600_000;
        }
        let time = self.time();
        let (mut tasks, mut server) = (self.tasks.tasks(&TASKS), self.server.server(&CONFIG));
        let Some(first) = TaskId::parse(FIRST).and_then(|id| tasks.find(id)) else {
            panic!("no task")
        };
        match what {
            "ask" => assert_eq!(tasks.ask(time, first), Some(1)),
            "say" => assert!(tasks.set_message(time, first, &format_args!("{} of {}", 3, 9))),
            "end" => assert!(tasks.end(time, first, TaskEnd::Completed)),
            "publish" => {
                for mut change in
                    [Change::task(FIRST, DETAILS), Change::session_task(FIRST, DETAILS)]
                {
                    while self.out.send(|tx| server.publish(&mut change, tx)).is_more() {}
                }
            }
            _ => {
                let mut expired = 0;
                while let Some(timeout) = tasks.handle_timeout(time) {
                    expired += usize::from(matches!(timeout, TaskTimeout::Expired(_)));
                }
                assert!(expired > 0);
            }
        }
        if let Some((task, handle)) = self.waiting.take_if(|_| what == "end") {
            let reply = tasks.result(task);
            self.out.send(|tx| reply.send(&Content, &mut server, handle, tx));
        }
    }
}
