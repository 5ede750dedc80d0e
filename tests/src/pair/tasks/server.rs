//! A connection of the server, and its program.

use mcp_sansio::tasks::{TaskEnd, TaskKey, TaskMode, TaskReply, TaskStep};
use mcp_sansio::types::{
    ElicitFormParams, Field, Implementation, RequestedSchema, StringSchema, TaskSupport, TextResult,
};
use mcp_sansio::{
    Call, CallOutcome, Change, ClientFeatures, ClientRequest, JsonStr, OwnedJson, RawJson, Request,
    RequestHandle, Revision, RpcError, RxBuffer, SendError, Server, ServerConfig, ServerEvent,
    ServerFeatures, ServerState, Tx,
};

use super::program::{OWNER, Program, Works};
use super::{Clock, Ended, question};
use crate::chaos::script::{Script, show};
use crate::line::Line;
use crate::pair::end::rx;

static CONFIG: ServerConfig<'static> = ServerConfig::new(
    Implementation::new("s", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::TASKS_LIST).with(ServerFeatures::TASKS_CANCEL),
)
.call_timeout(std::time::Duration::from_secs(10));

/// A server, its buffers, and the program.
pub(super) struct ServerEnd<'d> {
    clock: Clock,
    script: Script<'d>,
    pub(super) program: Program,
    state: ServerState<8, 8>,
    pub(super) line: Line,
    pub(super) rx: RxBuffer<Vec<u8>>,
    /// Requests for results (2025-11-25).
    waiting: Vec<(TaskKey, RequestHandle)>,
    /// Questions on this connection (2025-11-25).
    asking: Vec<(Call, TaskKey, u32)>,
    /// Open subscriptions (2026-07-28).
    listens: Vec<RequestHandle>,
}

impl<'d> ServerEnd<'d> {
    pub(super) fn new(program: Program, script: Script<'d>, room: usize) -> Self {
        Self {
            clock: program.clock.clone(),
            script,
            program,
            state: ServerState::new(),
            line: Line::new(room),
            rx: rx(),
            waiting: Vec::new(),
            asking: Vec::new(),
            listens: Vec::new(),
        }
    }

    pub(super) fn machine(&mut self) -> Server<'_> {
        self.state.server(&CONFIG)
    }

    pub(super) fn reconnect(&mut self, room: usize) {
        let none = Program::new(Default::default(), self.clock.clone());
        let program = std::mem::replace(&mut self.program, none);
        *self = Self::new(program, self.script.clone(), room);
    }

    /// Repeats a call until it is through. Between the pieces of a frame the work goes on.
    fn send<R>(
        &mut self,
        mut call: impl FnMut(&Works, &mut Server<'_>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let Self { script, program, state, line, .. } = self;
        let mut is_begun = false;
        line.send(|tx| {
            if std::mem::replace(&mut is_begun, true) && script.once_in(64) {
                program.happen(script);
            }
            call(&program.works, &mut state.server(&CONFIG), tx)
        })
    }

    pub(super) fn receive(&mut self) {
        let at = self.clock.at();
        let mut rx = std::mem::replace(&mut self.rx, RxBuffer::new(Vec::new()));
        while let Some(mut messages) = rx.next_messages() {
            loop {
                let event = self.send(|_, server, tx| server.next_event(at, &mut messages, tx));
                let Some(event) = event.expect("only Full") else { break };
                self.event(&event);
            }
        }
        self.rx = rx;
    }

    fn event(&mut self, event: &ServerEvent<'_>) {
        show(format_args!("   server saw {event:?}"));
        match event {
            ServerEvent::Request(request) => self.request(request),
            ServerEvent::RequestCancelled { request, .. } => {
                self.waiting.retain(|(_, waiting)| waiting != request);
                self.listens.retain(|listen| listen != request);
            }
            ServerEvent::CallFinished { call, outcome } => {
                let asked = self.asking.extract_if(.., |(asking, ..)| asking == call).next();
                let (_, task, number) = asked.expect("each question ends once");
                match outcome {
                    CallOutcome::Result(response) => {
                        if self.program.tasks().withdraw(self.clock.time(), task, number) {
                            self.program.answer(task, number, *response);
                        }
                    }
                    // The question is asked again as long as it is open.
                    CallOutcome::TimedOut | CallOutcome::Cancelled => {}
                    other => panic!("{other:?}"),
                }
            }
            // A response came twice, or late.
            _ => {}
        }
    }

    fn request(&mut self, request: &Request<'_>) {
        let handle = request.handle;
        let mut tasks = self.program.tasks();
        let reply = match tasks.handle(self.clock.time(), request, OWNER) {
            Some(TaskStep::Respond(reply)) => reply,
            Some(TaskStep::List(reply)) => {
                let list = OwnedJson::new(&tasks.list(&reply), request.revision).expect("a page");
                let list = list.as_json();
                return self.respond(|_, server, tx| server.respond_raw(handle, list, tx));
            }
            Some(TaskStep::Cancel(task, reply)) => {
                self.program.works.cancel(task);
                if !request.revision.is_modern() {
                    self.program.ended(task, Ended::By(TaskEnd::Cancelled));
                }
                reply
            }
            Some(TaskStep::Update(task, responses, reply)) => {
                for (number, response) in responses {
                    self.program.answer(task, number, response);
                }
                reply
            }
            Some(TaskStep::Wait(task)) => return self.waiting.push((task, handle)),
            None if request.params.get("notifications").is_some() => {
                return self.listen(request);
            }
            None => match self.call(request) {
                Ok(Some(reply)) => reply,
                Ok(None) => {
                    let result = TextResult::new("no task");
                    return self.respond(|_, server, tx| server.respond(handle, &result, tx));
                }
                Err(error) => {
                    return self.respond(|_, server, tx| server.respond_error(handle, &error, tx));
                }
            },
        };
        self.respond(|works, server, tx| reply.send(works, server, handle, tx));
    }

    fn respond(
        &mut self,
        call: impl FnMut(&Works, &mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) {
        self.send(call).expect("a response");
    }

    /// Handles a call of the tool. It becomes a task where it can.
    fn call(&mut self, request: &Request<'_>) -> Result<Option<TaskReply>, RpcError<'static>> {
        let label = request.arguments().get("label").and_then(RawJson::as_u64).expect("a label");
        let ttl_ms = match self.machine().task_mode(request, TaskSupport::Optional)? {
            TaskMode::Call => return Ok(None),
            TaskMode::Either => None,
            TaskMode::Task { ttl_ms } => ttl_ms,
        };
        let task = self.program.create(label, ttl_ms);
        let task = task.map_err(|error| RpcError::internal(error.as_str()))?;
        let info = self.program.tasks().info(task).expect("it was just created");
        Ok(Some(TaskReply::created(info)))
    }

    fn listen(&mut self, request: &Request<'_>) {
        let owned = self.program.works.0.iter().map(|work| work.key).collect::<Vec<_>>();
        let tasks = self.program.tasks();
        let ids: Vec<String> =
            owned.iter().filter_map(|key| Some(tasks.info(*key)?.id().to_string())).collect();
        let mut may_see = |id: JsonStr<'_>| ids.iter().any(|own| id == own.as_str());
        self.respond(|_, server, tx| server.listen_to_tasks(request, &mut may_see, tx));
        if self.machine().is_request_open(request.handle) {
            self.listens.push(request.handle);
            // A change before the subscription is not lost.
            self.program.changed.extend(owned);
        }
    }

    /// Does what follows from the time and from changes of tasks.
    pub(super) fn settle(&mut self) {
        let at = self.clock.at();
        while let Some(event) =
            self.send(|_, server, tx| server.handle_timeout(at, tx)).expect("only Full")
        {
            self.event(&event);
        }
        self.program.handle_timeouts();
        for (task, handle) in std::mem::take(&mut self.waiting) {
            let info = self.program.tasks().info(task);
            match info.filter(|info| info.is_live()) {
                Some(info) => {
                    self.waiting.push((task, handle));
                    for number in info.open_inputs() {
                        self.ask(task, number, handle);
                    }
                }
                None => {
                    let reply = self.program.tasks().result(task);
                    self.respond(|works, server, tx| reply.send(works, server, handle, tx));
                }
            }
        }
        for task in std::mem::take(&mut self.program.changed) {
            self.publish(task);
        }
    }

    /// Asks the client of a session.
    fn ask(&mut self, task: TaskKey, number: u32, parent: RequestHandle) {
        if self.asking.iter().any(|(_, asking, asked)| (*asking, *asked) == (task, number)) {
            return;
        }
        let id = self.program.tasks().info(task).expect("a live task").id();
        let message = question(self.program.works.find(task).label, number);
        let fields = [Field::optional("said", StringSchema::new().schema())];
        let params = ElicitFormParams::new(&message, RequestedSchema::new(&fields));
        let request = ClientRequest::from(&params).related_task(id).parent(parent);
        let at = self.clock.at();
        match self.send(|_, server, tx| server.request(at, request, tx)) {
            Ok(call) => self.asking.push((call, task, number)),
            Err(error) => assert_eq!(error, SendError::TooManyCalls),
        }
    }

    fn publish(&mut self, task: TaskKey) {
        let Some(info) = self.program.tasks().info(task) else { return };
        let id = info.id().to_string();
        let features = ClientFeatures::ELICITATION_FORM;
        let details = {
            let details = info.details(task, &self.program.works, features);
            OwnedJson::new(&details, Revision::LATEST).expect("a task")
        };
        let status = OwnedJson::new(&info, Revision::V2025_11_25).expect("a task");
        for mut change in
            [Change::task(&id, details.as_json()), Change::session_task(&id, status.as_json())]
        {
            let mut publish = || self.send(|_, server, tx| server.publish(&mut change, tx));
            while publish().expect("only Full").is_more() {}
        }
    }

    pub(super) fn next_timeout(&mut self) -> Option<u64> {
        let own = self.machine().poll_timeout().map(|at| at.as_millis());
        [own, self.program.next_timeout()].into_iter().flatten().min()
    }

    /// Asserts that nothing is open.
    pub(super) fn is_over(&mut self) {
        let machine = self.machine();
        assert_eq!((machine.open_requests(), machine.open_calls()), (0, 0));
        assert!(self.waiting.is_empty() && self.asking.is_empty() && self.listens.is_empty());
        assert!(self.program.tasks().is_empty() && self.program.next_timeout().is_none());
    }
}
