//! Tasks of a server: as many as clients may create.

use mcp_sansio::tasks::{
    GrowingTasksState, TaskContent, TaskId, TaskKey, TaskOwner, TaskStep, TaskTime, TasksConfig,
};
use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{
    Encode as _, Encoder, Frame, Instant, Messages, ServerConfig, ServerEvent, ServerFeatures,
    ServerState, TxBuffer,
};

use super::{Table, Work, join};

pub(super) const CASES: &Table = &[
    ("tasks: creations", |n| {
        Work::new(n * TASK, move || {
            let mut state = GrowingTasksState::new(u16::MAX);
            create(&mut state, n);
        })
    }),
    ("tasks: polls of one among 10,000", |n| polls(10_000, n, |_| 5000)),
    ("tasks: polls of as many tasks", |n| polls(n, n, |at| at)),
    ("tasks: times that are over at once, and then told", |n| {
        let mut state = GrowingTasksState::new(u16::MAX);
        create(&mut state, n);
        let mut state = Some(state);
        Work::new(n * TASK, move || {
            let mut state = state.take().expect("the work is done once");
            for (now, left) in [(HOUR, n), (HOUR + 60_000, 0)] {
                for _ in 0..n {
                    assert!(state.tasks(&CONFIG).handle_timeout(time(now)).is_some());
                }
                let mut tasks = state.tasks(&CONFIG);
                assert!(tasks.handle_timeout(time(now)).is_none() && tasks.len() == left);
            }
        })
    }),
    ("tasks: responses of an update", |n| {
        let mut state = GrowingTasksState::new(u16::MAX);
        create(&mut state, 1);
        state.tasks(&CONFIG).find(id(0)).map(|task| state.tasks(&CONFIG).ask(time(0), task));
        let members = join(n, |at| format!(r#""{}":{{}}"#, at + 1));
        let request = request("tasks/update", 0, &format!(r#","inputResponses":{{{members}}}"#));
        Work::new(request.len(), move || ask(&mut state, &request))
    }),
];

/// Length in bytes of a request for a task.
const TASK: usize = 100;
const HOUR: u64 = 3_600_000;
const OWNER: TaskOwner = TaskOwner(1);
const CONFIG: TasksConfig = TasksConfig::new().max_per_owner(usize::MAX);
static SERVER: ServerConfig<'static> = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::TASKS),
);

struct Content;

impl TaskContent for Content {
    fn result(&self, _: TaskKey, to: &mut Encoder<'_>) {
        TextResult::new("done").encode(to);
    }
}

const fn time(now: u64) -> TaskTime {
    TaskTime::without_calendar(Instant::from_millis(now))
}

/// Ids in no order, as random ones are.
fn id(at: usize) -> TaskId {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    TaskId::new((u128::from(mixed) << 64 | at as u128).to_be_bytes())
}

fn create(state: &mut GrowingTasksState, n: usize) {
    for at in 0..n {
        state.tasks(&CONFIG).create(time(0), id(at), OWNER, None).expect("room");
    }
}

fn request(method: &str, task: usize, more: &str) -> String {
    let task = id(task);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"taskId":"{task}"{more},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/tasks":{{}}}}}}}}}}}}"#
    )
}

fn polls(tasks: usize, n: usize, which: fn(usize) -> usize) -> Work {
    let mut state = GrowingTasksState::new(u16::MAX);
    create(&mut state, tasks);
    let requests: Vec<String> = (0..n).map(|at| request("tasks/get", which(at), "")).collect();
    let bytes = requests.iter().map(String::len).sum();
    Work::new(bytes, move || requests.iter().for_each(|request| ask(&mut state, request)))
}

/// A server hears a request, and responds.
fn ask(state: &mut GrowingTasksState, request: &str) {
    let mut server_state = ServerState::<1, 0>::new();
    let (mut server, mut tx) = (server_state.server(&SERVER), TxBuffer::new([0; 1024]));
    let mut messages = Messages::new(Frame::Complete(request.as_bytes()));
    let event = server.next_event(Instant::from_millis(0), &mut messages, &mut tx);
    let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
    let reply = match state.tasks(&CONFIG).handle(time(1), &request, OWNER) {
        Some(TaskStep::Respond(reply)) => reply,
        Some(TaskStep::Update(_, responses, reply)) => {
            assert_eq!(responses.count(), 1);
            reply
        }
        other => panic!("{other:?}"),
    };
    reply.send(&Content, &mut server, request.handle, &mut tx).expect("room");
    let sent = std::str::from_utf8(tx.pending()).expect("UTF-8");
    assert!(sent.contains(r#""resultType":"complete""#), "{sent}");
}
