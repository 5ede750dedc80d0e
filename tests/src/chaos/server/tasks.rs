//! Tasks of the application, at random.

use std::time::Duration;

use mcp_sansio::tasks::{
    TaskContent, TaskEnd, TaskId, TaskKey, TaskMode, TaskOwner, TaskReply, TaskStep, TaskTime,
    TasksConfig, TasksState,
};
use mcp_sansio::types::{TaskSupport, TextResult};
use mcp_sansio::{
    Change, ClientFeatures, Encode as _, Encoder, JsonStr, OwnedJson, RawJson, Request, Revision,
    RpcError, SendError,
};

use super::world::{World, Writer};

/// Few tasks, so that limits are reached; their ids are those of the corpus.
pub(super) type State = TasksState<3>;

const CONFIG: TasksConfig =
    TasksConfig::new().ttl(Duration::from_secs(20)).max_ttl(Duration::from_secs(90));
const OWNER: TaskOwner = TaskOwner(1);

/// The id of a task that the corpus names.
const fn id(number: u8) -> TaskId {
    TaskId::new([number; 16])
}

struct Content;

impl TaskContent for Content {
    fn result(&self, task: TaskKey, to: &mut Encoder<'_>) {
        let text = "done ".repeat(task.index() * 40);
        TextResult::new(&text).encode(to);
    }

    fn error(&self, _: TaskKey) -> RpcError<'_> {
        RpcError::internal("the \"work\" failed").data(RawJson::EMPTY)
    }

    fn input_request(&self, _: TaskKey, _: u32, to: &mut Encoder<'_>) {
        to.raw(RawJson::from_static(r#"{"method":"roots/list"}"#));
    }

    fn needs(&self, _: TaskKey, number: u32) -> ClientFeatures {
        if number.is_multiple_of(3) { ClientFeatures::ROOTS } else { ClientFeatures::NONE }
    }
}

impl World<'_> {
    fn time(&self) -> TaskTime {
        TaskTime::new(self.instant(), self.now)
    }

    /// Handles a request about tasks, and a call that becomes one. Another request waits among the
    /// others.
    pub(super) fn task_request(&mut self, request: &Request<'_>) {
        let (time, handle) = (self.time(), request.handle);
        let mut tasks = self.tasks.tasks(&CONFIG);
        let reply = match tasks.handle(time, request, OWNER) {
            Some(TaskStep::Respond(reply) | TaskStep::Cancel(_, reply)) => reply,
            Some(TaskStep::Update(_, responses, reply)) => {
                assert!(
                    responses.into_iter().all(|(number, answer)| number > 0 && answer.is_object())
                );
                reply
            }
            Some(TaskStep::List(reply)) => {
                let list = OwnedJson::new(&tasks.list(&reply), request.revision).unwrap();
                let sent = self
                    .respond(handle, |server, tx| server.respond_raw(handle, list.as_json(), tx));
                return self.responded(handle, sent);
            }
            Some(TaskStep::Wait(_)) => return,
            None if request.params.get("notifications").is_some() => return self.listen(request),
            None if request.name().is_some() && self.script.once_in(3) => {
                let Ok(mode) = self.server.task_mode(request, TaskSupport::Optional) else {
                    return;
                };
                let ttl_ms = match mode {
                    TaskMode::Call => return,
                    TaskMode::Either => None,
                    TaskMode::Task { ttl_ms } => ttl_ms,
                };
                let id = id(1 + self.script.below(4) as u8);
                let mut tasks = self.tasks.tasks(&CONFIG);
                let Ok(task) = tasks.create(time, id, OWNER, ttl_ms) else { return };
                TaskReply::created(tasks.info(task).unwrap())
            }
            None => return,
        };
        // A request whose response is dropped is answered like any other.
        let sent = self.respond(handle, |server, tx| reply.send(&Content, server, handle, tx));
        self.responded(handle, sent);
    }

    fn listen(&mut self, request: &Request<'_>) {
        let handle = request.handle;
        let mut may_see = |id: JsonStr<'_>| id != "04040404040404040404040404040404";
        let sent = self.send(Writer::Job(handle), |server, tx| {
            server.listen_to_tasks(request, &mut may_see, tx)
        });
        match sent {
            // It may have been refused.
            Ok(()) if self.server.is_request_open(handle) => self.application.listens(handle),
            Ok(()) => self.application.answered(handle),
            Err(error) => assert_eq!(error, SendError::Full),
        }
    }

    /// The work of a task goes on, or its time.
    pub(super) fn work_on_tasks(&mut self) {
        let time = self.time();
        let which = id(1 + self.script.below(4) as u8);
        let (what, mut tasks) = (self.script.below(8), self.tasks.tasks(&CONFIG));
        if what == 0 {
            while tasks.handle_timeout(time).is_some() {}
            return;
        }
        let Some(task) = tasks.find(which) else { return };
        let was_live = tasks.info(task).unwrap().is_live();
        let ends = [TaskEnd::Completed, TaskEnd::ToolFailed, TaskEnd::Failed, TaskEnd::Cancelled];
        match what {
            1 => assert!(was_live || tasks.ask(time, task).is_none()),
            2 => _ = tasks.ask(time, task),
            3 => _ = tasks.set_message(time, task, &self.script.byte()),
            4 => _ = tasks.withdraw(time, task, self.script.below(6) as u32),
            5 => assert_eq!(tasks.end(time, task, *self.script.pick(&ends)), was_live),
            _ => {
                let info = tasks.info(task).unwrap();
                let details = info.details(task, &Content, ClientFeatures::ROOTS);
                let details = OwnedJson::new(&details, Revision::LATEST).unwrap();
                let status = OwnedJson::new(&info, Revision::V2025_11_25).unwrap();
                let id = which.to_string();
                let changes = [
                    Change::task(&id, details.as_json()),
                    Change::session_task(&id, status.as_json()),
                ];
                self.publish_all(*self.script.pick(&changes));
            }
        }
    }
}
