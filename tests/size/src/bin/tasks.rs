//! A server with one tool that is executed as a task, for all revisions of the protocol: polled
//! with a status message, cancelled, its result kept. Clients without tasks wait for the result.
#![no_std]
#![no_main]

use core::time::Duration;

use mcp_sansio::tasks::{
    TaskContent, TaskEnd, TaskId, TaskKey, TaskMode, TaskOwner, TaskReply, TaskStep, TaskTime,
    TaskTimeout, TasksConfig, TasksState,
};
use mcp_sansio::types::{Implementation, TaskSupport, TextResult, Tool, ToolExecution};
use mcp_sansio::{
    Catalog, Connection, Encode, Encoder, Instant, Progress, RawJson, Request, RequestHandle,
    RpcError, RxBuffer, Server, ServerConfig, ServerEvent, ServerFeatures, ServerState, Step,
    Target, Turn, TxBuffer, entries,
};
use size::{board, send, uart::Uart};

const BYTES: usize = 512;
size::figure!("buffer rx", BYTES);
size::figure!("buffer tx", BYTES);
size::figure!("size of ServerState<4, 4>", size_of::<ServerState<4, 4>>());
size::figure!("size of TasksState<4>", size_of::<TasksState<4>>());
size::figure!("each task", size_of::<TasksState<5>>() - size_of::<TasksState<4>>());
size::figure!("size of TaskStep (stack)", size_of::<TaskStep<'_>>());

static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new("lamp", "1.0.0"),
    ServerFeatures::TOOLS.with(ServerFeatures::TASKS).with(ServerFeatures::TASKS_CANCEL),
);
static CATALOG: Catalog = Catalog::new()
    .tools(entries![
        Tool::new(
            "blink",
            RawJson::from_static(
                r#"{"type":"object","properties":{"times":{"type":"integer","minimum":1}},"required":["times"]}"#,
            ),
        )
        .description("Lets the lamp blink")
        .execution(ToolExecution::new().task_support(TaskSupport::Optional))
    ])
    .unchecked();
static TASKS: TasksConfig = TasksConfig::new().poll_interval(Duration::from_millis(100));
const OWNER: TaskOwner = TaskOwner(0);

/// The result of all calls.
struct Done;

impl TaskContent for Done {
    fn result(&self, _: TaskKey, to: &mut Encoder<'_>) {
        TextResult::new("Done").encode(to);
    }
}

/// The call that is executed, and how often it has still to switch the lamp.
struct Job {
    of: Of,
    left: u64,
    total: u64,
    due: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Call(RequestHandle),
    Task(TaskKey),
}

struct Board {
    port: Uart,
    /// Tells the ids of tasks apart: one made of the time alone may come twice.
    tasks_created: u8,
    job: Option<Job>,
    /// A request that waits for the end of a task.
    waits: Option<(TaskKey, RequestHandle)>,
}

impl Board {
    // Its locals are not alive while the connection reads.
    #[inline(never)]
    fn answer(
        &mut self,
        tasks: &mut TasksState<4>,
        request: &Request<'_>,
        turn: &mut Turn<'_, Server<'_>>,
    ) {
        let time = TaskTime::without_calendar(turn.now());
        let mut tasks = tasks.tasks(&TASKS);
        let reply = match tasks.handle(time, request, OWNER) {
            Some(TaskStep::Respond(reply) | TaskStep::List(reply)) => reply,
            Some(TaskStep::Update(_, _, reply)) => reply,
            Some(TaskStep::Cancel(task, reply)) => {
                tasks.end(time, task, TaskEnd::Cancelled);
                self.job.take_if(|job| job.of == Of::Task(task));
                reply
            }
            Some(TaskStep::Wait(task)) => {
                self.waits = Some((task, request.handle));
                return;
            }
            None => {
                let called =
                    send(&mut self.port, turn, |server, tx| CATALOG.respond(server, request, tx));
                let Ok(Target::Tool(tool)) = called else { return };
                let left = request.arguments().get("times").and_then(RawJson::as_u64).unwrap_or(1);
                let mut begin = |of| self.job = Some(Job { of, left, total: left, due: time.now });
                let (server, _) = turn.parts();
                let ttl_ms = match server.task_mode(request, tool.task_support()) {
                    Ok(TaskMode::Either) => None,
                    Ok(TaskMode::Task { ttl_ms }) => ttl_ms,
                    _ => return begin(Of::Call(request.handle)),
                };
                self.tasks_created = self.tasks_created.wrapping_add(1);
                let id = TaskId::new([self.tasks_created; 16]);
                let created = tasks.create(time, id, OWNER, ttl_ms);
                match created.ok().and_then(|task| Some((task, tasks.info(task)?))) {
                    Some((task, info)) => {
                        begin(Of::Task(task));
                        TaskReply::created(info)
                    }
                    None => {
                        let error = RpcError::internal("There are too many tasks");
                        let _ = send(&mut self.port, turn, |server, tx| {
                            server.respond_error(request.handle, &error, tx)
                        });
                        return;
                    }
                }
            }
        };
        self.send(&reply, request.handle, turn);
    }

    fn send(&mut self, reply: &TaskReply, request: RequestHandle, turn: &mut Turn<'_, Server<'_>>) {
        let _ = send(&mut self.port, turn, |server, tx| reply.send(&Done, server, request, tx));
    }

    #[inline(never)]
    /// Runs the job if it is due, and ends the requests that wait for it.
    fn work(&mut self, tasks: &mut TasksState<4>, turn: &mut Turn<'_, Server<'_>>) {
        let time = TaskTime::without_calendar(turn.now());
        let mut tasks = tasks.tasks(&TASKS);
        while let Some(timeout) = tasks.handle_timeout(time) {
            if let TaskTimeout::Expired(task) = timeout {
                self.job.take_if(|job| job.of == Of::Task(task));
            }
        }
        if let Some(job) = &mut self.job
            && job.due <= time.now
        {
            job.due = time.now.saturating_add(Duration::from_millis(50));
            board::set_lamp(job.left & 1 == 0);
            match (job.left.checked_sub(1), job.of) {
                (Some(left), of) => {
                    job.left = left;
                    if let Of::Task(task) = of {
                        tasks.set_message(
                            time,
                            task,
                            &Progress::of(job.total - left).total(job.total),
                        );
                    }
                }
                (None, Of::Task(task)) => {
                    tasks.end(time, task, TaskEnd::Completed);
                    self.job = None;
                }
                (None, Of::Call(request)) => {
                    self.job = None;
                    let _ = send(&mut self.port, turn, |server, tx| {
                        server.respond(request, &TextResult::new("Done"), tx)
                    });
                }
            }
        }
        if let Some((task, request)) = self.waits
            && tasks.info(task).is_none_or(|info| !info.is_live())
        {
            self.waits = None;
            let reply = tasks.result(task);
            self.send(&reply, request, turn);
        }
    }
}

#[size::entry]
fn main() -> ! {
    static mut RX: [u8; BYTES] = [0; BYTES];
    static mut TX: [u8; BYTES] = [0; BYTES];
    static mut STATE: ServerState<4, 4> = ServerState::new();
    static mut TASKS_STATE: TasksState<4> = TasksState::new();

    board::open();
    let mut board = Board { port: Uart::open(), tasks_created: 0, job: None, waits: None };
    let (rx, tx) = (RxBuffer::new(RX.as_mut_slice()), TxBuffer::new(TX.as_mut_slice()));
    let mut connection: Connection<_, _, _> = Connection::new(&CONFIG, STATE, rx, tx);
    loop {
        let now = board::now();
        match connection.next(now) {
            Step::Event(ServerEvent::Request(request), mut turn) => {
                board.answer(TASKS_STATE, &request, &mut turn);
            }
            Step::Event(ServerEvent::RequestCancelled { request, .. }, _) => {
                board.waits.take_if(|(_, waits)| *waits == request);
                board.job.take_if(|job| job.of == Of::Call(request));
            }
            Step::Io { write: [], mut read, .. } => {
                let n = board.port.read_ready(read.spare());
                read.commit(n);
                board.work(TASKS_STATE, &mut connection.turn(now));
            }
            Step::Io { write, .. } => {
                let written = board.port.write(write);
                connection.wrote(written);
            }
            _ => {}
        }
    }
}
