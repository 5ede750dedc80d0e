//! Responses about tasks.

use core::fmt;

use super::entry::{EXPIRED, State, TaskEnd, TaskInfo, TaskOwner, number};
use super::{TaskKey, TaskTime, Tasks};
use crate::client::Client;
use crate::encode::{Addition, Additions, Encode, Encoder, With, object};
use crate::error::SendError;
use crate::handle::RequestHandle;
use crate::inflight::Slot;
use crate::json::{Decimal, RawJson};
use crate::lifecycle::{ClientFeatures, Revision};
use crate::rpc::RpcError;
use crate::server::{Request, Server, related_task};
use crate::tx::Tx;
use crate::types::meta::RELATED_TASK;
#[cfg(feature = "alloc")]
use crate::{rpc::ErrorCode, server::ResponseKind};

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
    #[must_use]
    pub const fn created(info: TaskInfo) -> Self {
        Self(Reply::Created(info))
    }

    pub(super) const fn error(error: RpcError<'static>) -> Self {
        Self(Reply::Error(error))
    }

    pub(super) const fn state(task: TaskKey, info: TaskInfo, client: ClientFeatures) -> Self {
        Self(Reply::Task(task, info, Shows::State(client)))
    }

    pub(super) const fn result(task: TaskKey, info: TaskInfo) -> Self {
        Self(Reply::Task(task, info, Shows::Result))
    }

    /// Returns the task whose content the response has.
    #[must_use]
    pub const fn content_of(&self) -> Option<TaskKey> {
        match self.0 {
            Reply::Task(task, ..) => Some(task),
            _ => None,
        }
    }

    /// Returns the kind of the response, for a log.
    #[cfg(feature = "alloc")]
    #[must_use]
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
    ) -> Result<(), SendError> {
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
    ) -> Result<(), SendError> {
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
                to.completed(&result, &Additions { members: &[], meta: &meta });
            }))
        }
        State::Ended(TaskEnd::Failed) => Err(content.error(task)),
        State::Ended(TaskEnd::Cancelled) => Err(RpcError::internal("Cancelled")),
        State::Live | State::Expired => Err(RpcError::internal(EXPIRED)),
    }
}

/// A task; from 2026-07-28 on with its result, its error or its input requests.
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
        match info.state {
            _ if !to.revision().is_modern() => {}
            State::Live if !info.inputs().is_empty() && to.key("inputRequests") => {
                to.begin_object();
                let shown = |number: &u32| client.contains(content.needs(task, *number));
                for number in info.inputs().iter().filter(shown) {
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
                to.nested_object(&result, Some(&Additions { members: &[kind], meta: &[] }));
            }
            State::Ended(TaskEnd::Failed) => to.member("error", &content.error(task)),
            State::Expired => to.member("error", &RpcError::internal(EXPIRED)),
            _ => {}
        }
        to.end_object();
    }
}

impl TaskInfo {
    /// Returns how the task is, with its result, its error or its input requests: the parameters
    /// of a notification of 2026-07-28, for clients with these capabilities.
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
    /// [`TaskStep::List`](super::TaskStep::List) has.
    pub fn list<'t>(&'t self, reply: &TaskReply) -> TaskList<'t> {
        let (owner, now, from) = match reply.0 {
            Reply::Page { owner, now, from } => (owner, now, from),
            _ => (TaskOwner(0), TaskTime::without_calendar(crate::Instant::NEVER), u16::MAX),
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
    #[must_use]
    pub fn only(self, is_listed: &'t dyn Fn(TaskKey) -> bool) -> Self {
        Self { is_listed, ..self }
    }
}

impl fmt::Debug for TaskList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskList").field("from", &self.from).finish_non_exhaustive()
    }
}

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
