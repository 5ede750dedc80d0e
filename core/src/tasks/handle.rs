//! Requests about tasks, and the responses to them.

use super::entry::{EXPIRED, Inputs, State, TaskEnd, TaskInfo, TaskOwner, number};
use super::{TaskId, TaskKey, TaskTime, Tasks};
use crate::buffers::tx::Tx;
use crate::client::{Client, ServerRequest};
use crate::encode::{Addition, Additions, Encode, Encoder, With, object};
use crate::json::{Decimal, Members, RawJson};
use crate::progress::Progress;
use crate::protocol::error::{ErrorCode, SendResult};
use crate::protocol::{ClientFeatures, Method, Revision, ServerFeatures};
use crate::rpc::RpcError;
use crate::rpc::inflight::{RequestHandle, Slot};
#[cfg(feature = "alloc")]
use crate::server::ResponseKind;
use crate::server::{Request, Server, related_task};
use crate::time::Instant;
use crate::types::meta::{RELATED_TASK, TASK_PROGRESS};
use crate::types::task::wanted_ttl;
use crate::types::{TaskSupport, Text};

/// Whether a call is executed as a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskMode {
    /// As an ordinary call.
    Call,
    /// As the program decides, at any time before the response (2026-07-28).
    Either,
    /// As a task: the client asked for it (2025-11-25).
    Task {
        /// The time that it asked for, in milliseconds. One of more than 64 bits is the longest
        /// there is.
        ttl_ms: Option<u64>,
    },
}

impl Server<'_> {
    /// Returns whether a call is executed as a task: always as an ordinary call by a server without
    /// [`ServerFeatures::TASKS`]. `support` is what the [entry](crate::Entry::task_support) of the
    /// tool says. A [`Catalog`](crate::Catalog) has sent the error for its tools.
    ///
    /// # Errors
    /// The error to respond with: -32601 if the tool needs a task and the client did not ask for
    /// one, or if it has none and the client did; from 2026-07-28 on -32021 if the tool needs a
    /// task and the client did not declare the extension; -32602 if `params.task` is invalid.
    pub fn task_mode(
        &self,
        request: &Request<'_>,
        support: TaskSupport,
    ) -> Result<TaskMode, RpcError<'static>> {
        // A server without the capability ignores the member (basic/utilities/tasks).
        if !self.config().capabilities().contains(ServerFeatures::TASKS) {
            return Ok(TaskMode::Call);
        }
        let needs_task = support == TaskSupport::Required;
        let can_be_task = support != TaskSupport::Forbidden;
        if request.revision.is_modern() {
            return match request.capabilities.contains(ClientFeatures::TASKS) {
                true if can_be_task => Ok(TaskMode::Either),
                false if needs_task => Err(RpcError::missing_capability(ClientFeatures::TASKS)),
                _ => Ok(TaskMode::Call),
            };
        }
        let has_tasks = request.revision == Revision::V2025_11_25;
        let not_found = |message| RpcError::new(ErrorCode::MethodNotFound, message);
        match request.params.get("task").filter(|_| has_tasks) {
            None if needs_task => Err(not_found("The tool must be called as a task")),
            None => Ok(TaskMode::Call),
            Some(_) if !can_be_task => Err(not_found("The tool cannot be called as a task")),
            Some(task) => {
                let ttl_ms = wanted_ttl(task).map_err(RpcError::invalid_params)?;
                Ok(TaskMode::Task { ttl_ms })
            }
        }
    }

    /// Whether a call whose tool can be a task asks for one.
    pub(crate) fn is_asked_for_task(&self, request: &Request<'_>) -> bool {
        matches!(self.task_mode(request, TaskSupport::Optional), Ok(TaskMode::Task { .. }))
    }
}

/// What to do for a request about tasks.
#[derive(Debug)]
#[must_use]
pub enum TaskStep<'f> {
    /// Send the response.
    Respond(TaskReply),
    /// Send the response, a page of the list: [`Tasks::list`].
    List(TaskReply),
    /// Stop the work of this task, then send the response. In 2025-11-25 the task has been
    /// cancelled already. In 2026-07-28 it ends as the program says: [`Tasks::end`].
    Cancel(TaskKey, TaskReply),
    /// Hand over the responses to input requests of this task, then send the response.
    Update(TaskKey, TaskResponses<'f>, TaskReply),
    /// Respond when the task has ended: with [`Tasks::result`] (2025-11-25). Messages that belong
    /// to the task can be sent as messages of this request meanwhile. The request has no timeout.
    Wait(TaskKey),
}

/// The responses to input requests that were open, by the numbers of these.
#[derive(Clone, Debug)]
pub struct TaskResponses<'f> {
    open: Inputs,
    members: Members<'f>,
}

impl<'f> Iterator for TaskResponses<'f> {
    type Item = (u32, RawJson<'f>);

    fn next(&mut self) -> Option<Self::Item> {
        let Self { open, members } = self;
        members.find_map(|(key, response)| {
            let number = number(key).filter(|number| open.remove(*number))?;
            Some((number, response))
        })
    }
}

impl Tasks<'_> {
    /// Handles a request about tasks; returns `None` for any other request. `owner` is that of the
    /// client: tasks of others are unknown to it.
    ///
    /// ```
    /// # use mcp_sansio::tasks::*;
    /// # use mcp_sansio::{Request, SendError, Server, Tx};
    /// fn respond(
    ///     tasks: &mut Tasks<'_>,
    ///     content: &dyn TaskContent,
    ///     time: TaskTime,
    ///     server: &mut Server<'_>,
    ///     request: &Request<'_>,
    ///     tx: &mut Tx<'_>,
    /// ) -> Result<(), SendError> {
    ///     match tasks.handle(time, request, TaskOwner(0)) {
    ///         None => { /* the catalog, and the tools */ }
    ///         Some(TaskStep::Respond(reply)) => {
    ///             reply.send(content, server, request.handle, tx)?;
    ///         }
    ///         Some(TaskStep::Cancel(task, reply)) => {
    ///             // Stop the work here.
    ///             tasks.end(time, task, TaskEnd::Cancelled);
    ///             reply.send(content, server, request.handle, tx)?;
    ///         }
    ///         Some(_) => { /* ... */ }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn handle<'f>(
        &mut self,
        time: TaskTime,
        request: &Request<'f>,
        owner: TaskOwner,
    ) -> Option<TaskStep<'f>> {
        match request.method {
            Method::TasksGet
            | Method::TasksResult
            | Method::TasksUpdate
            | Method::TasksCancel
            | Method::TasksList => {}
            _ => return None,
        }
        let is_declared = request.capabilities.contains(ClientFeatures::TASKS);
        let step = if request.revision.is_modern() && !is_declared {
            Err(RpcError::missing_capability(ClientFeatures::TASKS))
        } else {
            self.step(time, request, owner).map_err(RpcError::invalid_params)
        };
        Some(step.unwrap_or_else(|error| TaskStep::Respond(TaskReply::error(error))))
    }

    /// Handles a request of a server about the tasks of its client, as [`handle`](Self::handle)
    /// (2025-11-25). Respond with [`TaskReply::send_to_server`].
    pub fn handle_server_request<'f>(
        &mut self,
        time: TaskTime,
        request: &ServerRequest<'f>,
        owner: TaskOwner,
    ) -> Option<TaskStep<'f>> {
        self.handle(time, &Request::from_server_request(request)?, owner)
    }

    /// Returns what to do, or why the parameters are invalid.
    #[cfg_attr(small, inline(never))]
    fn step<'f>(
        &mut self,
        time: TaskTime,
        request: &Request<'f>,
        owner: TaskOwner,
    ) -> Result<TaskStep<'f>, &'static str> {
        let is_modern = request.revision.is_modern();
        if request.method == Method::TasksList {
            return self.page(request, owner, time).map(TaskStep::List).ok_or("Invalid cursor");
        }
        let id = request.params.get("taskId").and_then(RawJson::as_string);
        let id = id.ok_or("params.taskId must be a string")?;
        let task = self.visible(id, owner, time, is_modern).ok_or(UNKNOWN)?;
        if request.method == Method::TasksUpdate {
            let responses = request.params.get("inputResponses");
            let is_valid = |responses: &RawJson<'_>| {
                responses.is_object()
                    && responses.members().all(|(_, response)| response.is_object())
            };
            let responses = responses
                .filter(is_valid)
                .ok_or("params.inputResponses must be an object of objects")?;
            let open = self.live(task).map_or(Inputs::NONE, |entry| entry.inputs);
            let responses = TaskResponses { open, members: responses.members() };
            if let Some(entry) = self.live(task) {
                for (number, _) in responses.clone() {
                    entry.inputs.remove(number);
                    entry.updated = time.unix_ms;
                }
            }
            return Ok(TaskStep::Update(task, responses, TaskReply::EMPTY));
        }
        if request.method == Method::TasksCancel
            && !is_modern
            && !self.end(time, task, TaskEnd::Cancelled)
        {
            return Err("The task has ended");
        }
        let info = self.info(task).ok_or(UNKNOWN)?;
        let is_live = info.is_live();
        let reply = match request.method {
            Method::TasksCancel if is_modern => TaskReply::EMPTY,
            Method::TasksResult => TaskReply::result(task, info),
            _ => TaskReply(Reply::Task(task, info, Shows::State(request.capabilities))),
        };
        Ok(match request.method {
            Method::TasksResult if is_live => TaskStep::Wait(task),
            Method::TasksCancel if is_live || !is_modern => TaskStep::Cancel(task, reply),
            _ => TaskStep::Respond(reply),
        })
    }

    /// Returns the response to a request that has [waited](TaskStep::Wait) for the end of a task;
    /// an error if the task is gone.
    pub fn result(&self, task: TaskKey) -> TaskReply {
        match self.info(task) {
            Some(info) => TaskReply::result(task, info),
            None => TaskReply::error(RpcError::invalid_params(UNKNOWN)),
        }
    }

    /// Returns the task with this id, if a client with this owner may see it: for
    /// `subscriptions/listen` with `taskIds` ([`Server::listen_to_tasks`]).
    ///
    /// [`Server::listen_to_tasks`]: crate::Server::listen_to_tasks
    pub fn find_visible<'t>(
        &self,
        time: TaskTime,
        id: impl Into<Text<'t>>,
        owner: TaskOwner,
    ) -> Option<TaskKey> {
        self.visible(id, owner, time, true)
    }

    fn visible<'t>(
        &self,
        id: impl Into<Text<'t>>,
        owner: TaskOwner,
        time: TaskTime,
        is_modern: bool,
    ) -> Option<TaskKey> {
        let slot = self.index.find(TaskId::parse(id)?)?;
        self.is_visible(slot, owner, time, is_modern).then_some(TaskKey(slot))
    }

    pub(super) fn is_visible(
        &self,
        slot: Slot,
        owner: TaskOwner,
        time: TaskTime,
        is_modern: bool,
    ) -> bool {
        // In 2025-11-25 a task whose time is over does not exist any more. Clients of 2026-07-28
        // are told that it has failed, once its timeout is handled.
        let is_over = self.index.table.deadline(slot).is_some_and(|at| at <= time.now);
        self.index.table.get(slot).is_some_and(|entry| {
            let is_reported = match entry.state {
                State::Live => is_modern || !is_over,
                State::Expired => is_modern && !is_over,
                _ => !is_over,
            };
            entry.owner == owner && is_reported
        })
    }
}

const UNKNOWN: &str = "Unknown task";

// Responses about tasks.

/// What the program keeps of its tasks. Each function may be called several times for one task, and
/// must write the same then.
pub trait TaskContent {
    /// Writes the result of a task that has ended with one: an object, as the response to the
    /// original request would have been. `resultType` is added where it belongs.
    fn result(&self, task: TaskKey, to: &mut Encoder<'_>);

    /// Returns the error of a task that has [failed](TaskEnd::Failed).
    fn error(&self, task: TaskKey) -> RpcError<'_> {
        let _ = task;
        RpcError::internal("Internal error")
    }

    /// Writes an open input request: an [`InputRequest`](crate::types::InputRequest). Only tasks
    /// that [ask](Tasks::ask) have one.
    fn input_request(&self, task: TaskKey, number: u32, to: &mut Encoder<'_>) {
        let _ = (task, number);
        to.raw(RawJson::EMPTY);
    }

    /// Returns the progress of a task, whose numbers its state has in `_meta`
    /// ([`TASK_PROGRESS`](crate::types::meta::TASK_PROGRESS)). The text for people is its
    /// [message](Tasks::set_message).
    fn progress(&self, task: TaskKey) -> Option<Progress<'_>> {
        let _ = task;
        None
    }

    /// Returns the capabilities that a client needs for an input request. Those that it did not
    /// declare are not shown to it.
    fn needs(&self, task: TaskKey, number: u32) -> ClientFeatures {
        let _ = (task, number);
        ClientFeatures::NONE
    }
}

/// The response to a request about tasks, as plain data: it can be kept until there is room.
#[derive(Clone, Copy, Debug)]
pub struct TaskReply(Reply);

#[derive(Clone, Copy, Debug)]
enum Reply {
    Error(RpcError<'static>),
    Empty,
    Created(TaskInfo),
    Task(TaskKey, TaskInfo, Shows),
    Page { owner: TaskOwner, now: TaskTime, from: u16 },
}

/// The part of a task that a response has.
#[derive(Clone, Copy, Debug)]
enum Shows {
    /// How it goes; from 2026-07-28 on with its result, or what it asks these clients.
    State(ClientFeatures),
    Result,
}

impl TaskReply {
    pub(super) const EMPTY: Self = Self(Reply::Empty);

    /// The response to a call that has become a task.
    pub const fn created(info: TaskInfo) -> Self {
        Self(Reply::Created(info))
    }

    /// The response to a request that is refused.
    pub const fn error(error: RpcError<'static>) -> Self {
        Self(Reply::Error(error))
    }

    /// Returns the error, if the reply is one without the outcome of a task.
    pub const fn as_error(&self) -> Option<&RpcError<'static>> {
        match &self.0 {
            Reply::Error(error) => Some(error),
            _ => None,
        }
    }

    pub(super) const fn result(task: TaskKey, info: TaskInfo) -> Self {
        Self(Reply::Task(task, info, Shows::Result))
    }

    /// Returns the task whose content the response has.
    pub const fn content_of(&self) -> Option<TaskKey> {
        match self.0 {
            Reply::Task(task, ..) => Some(task),
            _ => None,
        }
    }

    /// Returns the kind of the response, for a log.
    #[cfg(feature = "alloc")]
    pub fn kind(&self, revision: Revision) -> ResponseKind {
        match &self.0 {
            Reply::Error(error) => ResponseKind::Error(error.code.number(revision)),
            Reply::Task(_, info, Shows::Result) => match info.end() {
                Some(TaskEnd::Completed) => ResponseKind::Result,
                Some(TaskEnd::ToolFailed) => ResponseKind::ToolFailed,
                // The code of a failed task is with its content.
                _ => ResponseKind::Error(ErrorCode::InternalError.number(revision)),
            },
            _ => ResponseKind::Result,
        }
    }

    /// Sends the response. A page of a list is empty here: respond with [`Tasks::list`].
    ///
    /// # Errors
    /// As [`Server::respond`].
    pub fn send(
        &self,
        content: &dyn TaskContent,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        match &self.0 {
            Reply::Error(error) => server.respond_error(request, error, tx),
            Reply::Created(info) => {
                let result = With(|to: &mut Encoder<'_>| {
                    if to.revision().is_modern() {
                        return info.encode(to);
                    }
                    object!(to, { "task": info });
                });
                server.respond_with::<dyn Encode>(request, "task", &result, tx)
            }
            Reply::Empty | Reply::Page { .. } => {
                server.respond::<dyn Encode>(request, &RawJson::EMPTY, tx)
            }
            Reply::Task(task, info, Shows::State(client)) => {
                let details = Details { content, task: *task, info, client: *client };
                server.respond::<dyn Encode>(request, &details, tx)
            }
            Reply::Task(task, info, Shows::Result) => match ended(content, *task, info) {
                Ok(result) => server.respond::<dyn Encode>(request, &result, tx),
                Err(error) => server.respond_error(request, &error, tx),
            },
        }
    }

    /// Sends the response of a client to its server (2025-11-25). A page of a list is empty here:
    /// respond with [`Tasks::list`].
    ///
    /// # Errors
    /// As [`Client::respond`].
    pub fn send_to_server(
        &self,
        content: &dyn TaskContent,
        client: &mut Client<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        match &self.0 {
            Reply::Error(error) => client.respond_error(request, error, tx),
            Reply::Created(info) => client.respond(request, &object!({ "task": info }), tx),
            Reply::Empty | Reply::Page { .. } => client.respond(request, &RawJson::EMPTY, tx),
            Reply::Task(_, info, Shows::State(_)) => client.respond(request, info, tx),
            Reply::Task(task, info, Shows::Result) => match ended(content, *task, info) {
                Ok(result) => client.respond(request, &result, tx),
                Err(error) => client.respond_error(request, &error, tx),
            },
        }
    }
}

/// Returns the result of a task that has ended, with the id of the task, or its error.
fn ended<'x>(
    content: &'x dyn TaskContent,
    task: TaskKey,
    info: &TaskInfo,
) -> Result<impl Encode + use<'x>, RpcError<'x>> {
    match info.state {
        State::Ended(TaskEnd::Completed | TaskEnd::ToolFailed) => {
            let id = info.id;
            Ok(With(move |to: &mut Encoder<'_>| {
                let related = related_task(id);
                let meta = [Addition { name: RELATED_TASK, value: &related, is_reserved: false }];
                let result = With(|to: &mut Encoder<'_>| content.result(task, to));
                to.completed(&result, &Additions { meta: &meta, ..Additions::NONE });
            }))
        }
        State::Ended(TaskEnd::Failed) => Err(content.error(task)),
        State::Ended(TaskEnd::Cancelled) => Err(RpcError::internal("Cancelled")),
        State::Live | State::Expired => Err(RpcError::internal(EXPIRED)),
    }
}

/// A task with its progress; from 2026-07-28 on with its result, its error or its input requests.
struct Details<'x> {
    content: &'x dyn TaskContent,
    task: TaskKey,
    info: &'x TaskInfo,
    client: ClientFeatures,
}

impl Encode for Details<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let Self { content, task, info, client } = *self;
        to.begin_object();
        info.write_members(to);
        if let Some(progress) = content.progress(task) {
            let (done, total) = (progress.done(), progress.total_amount());
            let numbers = object!({ "progress": done, "total"?: total });
            let meta = With(|to: &mut Encoder<'_>| {
                to.begin_object();
                to.member(TASK_PROGRESS, &numbers);
                to.end_object();
            });
            to.member("_meta", &meta);
        }
        match info.state {
            _ if !to.revision().is_modern() => {}
            State::Live if !info.inputs.is_empty() && to.key("inputRequests") => {
                to.begin_object();
                let shown = |number: &u32| client.contains(content.needs(task, *number));
                for number in info.inputs.iter().filter(shown) {
                    if to.key(Decimal::new(number.into(), false).as_str()) {
                        content.input_request(task, number, to);
                    }
                }
                to.end_object();
            }
            State::Ended(TaskEnd::Completed | TaskEnd::ToolFailed) if to.key("result") => {
                // Clients check it as the response to a call.
                let kind = Addition { name: "resultType", value: &"complete", is_reserved: false };
                let result = With(|to: &mut Encoder<'_>| content.result(task, to));
                to.nested_object(&result, Some(&Additions { members: &[kind], ..Additions::NONE }));
            }
            State::Ended(TaskEnd::Failed) => to.member("error", &content.error(task)),
            State::Expired => to.member("error", &RpcError::internal(EXPIRED)),
            _ => {}
        }
        to.end_object();
    }
}

impl TaskInfo {
    /// Returns how the task is, with its progress: the parameters of a notification. In 2026-07-28
    /// they have its result, its error or its input requests, too, for clients with these
    /// capabilities.
    pub fn details<'x>(
        &'x self,
        task: TaskKey,
        content: &'x dyn TaskContent,
        client: ClientFeatures,
    ) -> impl Encode + use<'x> {
        Details { content, task, info: self, client }
    }
}

impl Tasks<'_> {
    /// Returns a page of the list of tasks, for [`Server::respond`]. `reply` is what
    /// [`TaskStep::List`] has.
    pub fn list<'t>(&'t self, reply: &TaskReply) -> TaskList<'t> {
        let (owner, now, from) = match reply.0 {
            Reply::Page { owner, now, from } => (owner, now, from),
            _ => (TaskOwner(0), TaskTime::without_calendar(Instant::NEVER), u16::MAX),
        };
        TaskList { tasks: self, owner, now, from, is_listed: &|_| true }
    }

    /// Returns the page that a request asks for; `None` if its cursor is invalid.
    pub(super) fn page(
        &self,
        request: &Request<'_>,
        owner: TaskOwner,
        now: TaskTime,
    ) -> Option<TaskReply> {
        let from = match request.params.get("cursor") {
            None => 0,
            // There is a whole page before each page with a cursor.
            Some(cursor) => {
                let from = number(cursor.as_string()?)?;
                let given = PAGE..self.index.table.capacity();
                u16::try_from(from).ok().filter(|from| given.contains(&usize::from(*from)))?
            }
        };
        Some(TaskReply(Reply::Page { owner, now, from }))
    }
}

/// A page of the list of tasks: up to 16 tasks of one owner.
#[must_use]
pub struct TaskList<'t> {
    tasks: &'t Tasks<'t>,
    owner: TaskOwner,
    now: TaskTime,
    from: u16,
    is_listed: &'t dyn Fn(TaskKey) -> bool,
}

impl<'t> TaskList<'t> {
    /// Leaves out the tasks for which `is_listed` returns `false`: those of the same owner that the
    /// client finds by their ids alone.
    pub fn only(self, is_listed: &'t dyn Fn(TaskKey) -> bool) -> Self {
        Self { is_listed, ..self }
    }
}

crate::text::opaque_debug!(TaskList<'_> { from });

/// Number of tasks in a page of a list.
const PAGE: usize = 16;

impl Encode for TaskList<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let Self { tasks, owner, now, from, is_listed } = *self;
        let visible = |slot: &Slot| {
            slot.index >= from
                && tasks.is_visible(*slot, owner, now, to.revision() > Revision::V2025_11_25)
                && is_listed(TaskKey(*slot))
        };
        let mut slots = tasks.index.table.slots().filter(visible);
        let page = slots.by_ref().take(PAGE).filter_map(|slot| tasks.info(TaskKey(slot)));
        let page: heapless::Vec<TaskInfo, PAGE> = page.collect();
        let next = slots.next().map(|slot| Decimal::new(slot.index.into(), false));
        let infos = With(|to: &mut Encoder<'_>| to.array(page.iter()));
        let next = next.as_ref().map(Decimal::as_str);
        object!(to, { "tasks": infos, "nextCursor"?: next });
    }
}
