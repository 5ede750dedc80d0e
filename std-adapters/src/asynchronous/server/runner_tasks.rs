//! The handlers of tasks, which outlive their requests.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
#[cfg(feature = "store")]
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task;
#[cfg(feature = "store")]
use std::task::Poll;
use std::time::Instant;

use mcp_sansio::tasks::{TaskInfo, TaskKey};
#[cfg(feature = "store")]
use mcp_sansio::{RpcError, ToolError};

use super::app::{App, Settings};
use super::context::{ActiveRequest, Context};
use super::driver_waker::DriverWaker;
use super::reply::{HandlerResult, IntoReply, PendingResponse};
use super::runner::{Job, Runner};
use super::source::RequestSource;
use super::task_hub::{Mailbox, Message, TaskHub, TaskWork};
#[cfg(feature = "store")]
use super::task_hub::{TaskOutcome, record};
use crate::observer::Ended;
use crate::panics::Panic;
use crate::runtime;
use crate::runtime::tasks::Place;
#[cfg(feature = "store")]
use crate::runtime::tasks::Tasks;
#[cfg(feature = "store")]
use crate::store::{StoreError, TaskRecord};

/// The tasks whose handlers a runner has, and the calls that become tasks.
pub(crate) struct RunningTasks<K> {
    hub: Arc<TaskHub>,
    mailbox: Arc<Mailbox>,
    places: HashMap<TaskKey, Place>,
    /// By the time at which they become tasks.
    later: BTreeMap<(Instant, Place), Later<K>>,
    planned: HashMap<Place, Instant>,
    /// The `tasks/result` that wait, by number.
    waiting: HashMap<u64, (K, Arc<ActiveRequest>, TaskKey)>,
    /// What is being saved.
    #[cfg(feature = "store")]
    saves: Tasks<Save<K>, Saving>,
}

/// A call that becomes a task unless it ends earlier.
struct Later<K> {
    server: K,
    request: Weak<ActiveRequest>,
    source: Arc<dyn RequestSource>,
}

impl<K: Clone> RunningTasks<K> {
    pub(crate) fn new(settings: &Settings, driver: &Arc<DriverWaker>) -> Self {
        Self {
            hub: Arc::clone(&settings.tasks),
            mailbox: Arc::new(Mailbox::new(Arc::clone(driver))),
            places: HashMap::new(),
            later: BTreeMap::new(),
            planned: HashMap::new(),
            waiting: HashMap::new(),
            #[cfg(feature = "store")]
            saves: Tasks::new(),
        }
    }

    /// Returns whether no handlers of tasks run.
    pub(crate) fn is_empty(&self) -> bool {
        #[cfg(feature = "store")]
        if !self.saves.is_empty() {
            return false;
        }
        self.places.is_empty()
    }

    /// Returns the time at which a call becomes a task, or a task is over.
    pub(crate) fn due(&self) -> Option<Instant> {
        let later = self.later.first_key_value().map(|((at, _), _)| *at);
        let over = if self.is_empty() { None } else { self.hub.next_timeout() };
        later.into_iter().chain(over).min()
    }

    /// Makes a call a task later, if it may be one.
    pub(crate) fn plan(
        &mut self,
        server: &K,
        place: Place,
        (request, source): (Weak<ActiveRequest>, Arc<dyn RequestSource>),
    ) {
        let after =
            request.upgrade().and_then(|request| request.task.as_ref().map(|it| it.after()));
        if let Some(at) = after.and_then(|after| runtime::now().checked_add(after)) {
            self.planned.insert(place, at);
            self.later.insert((at, place), Later { server: server.clone(), request, source });
        }
    }

    /// Returns a call whose time has come.
    fn next_due(&mut self) -> Option<Later<K>> {
        let first = self.later.first_entry()?;
        if first.key().0 > runtime::now() {
            return None;
        }
        self.planned.remove(&first.key().1);
        Some(first.remove())
    }

    /// The handler at this place has ended.
    pub(crate) fn forget(&mut self, place: Place) {
        // A place is not hashed for nothing.
        if !self.planned.is_empty()
            && let Some(at) = self.planned.remove(&place)
        {
            self.later.remove(&(at, place));
        }
    }

    /// Requests do not wait any more.
    pub(crate) fn stop_waiting(
        &mut self,
        how: Ended,
        is_over: impl Fn(&K, &ActiveRequest) -> bool,
    ) {
        self.waiting.retain(|number, (server, request, task)| {
            let is_over = is_over(server, request);
            if is_over {
                self.hub.stop_waiting(*task, *number);
                request.ended(how);
            }
            !is_over
        });
    }

    /// Removes a task whose creation was not told.
    fn discard(&mut self, (task, info): (TaskKey, TaskInfo)) {
        self.hub.remove(task);
        #[cfg(feature = "store")]
        if let Some(store) = self.hub.store().cloned() {
            let id = info.id();
            let removing = async move { store.run(move |store| store.remove(id)).await };
            self.saves.insert(Save::Known, Box::pin(removing));
        }
        #[cfg(not(feature = "store"))]
        let _ = info;
    }

    /// Saves that a task was cancelled, or that its time was over.
    fn save_end(&mut self, task: TaskKey, request: Option<Arc<ActiveRequest>>) {
        #[cfg(feature = "store")]
        if let Some(request) = request
            && let Some(info) = self.hub.info(task)
        {
            self.save(record(&request, &info, Some(None)), Save::Known);
        }
        #[cfg(not(feature = "store"))]
        let _ = (task, request);
    }

    #[cfg(feature = "store")]
    fn save(&mut self, record: TaskRecord, save: Save<K>) {
        if let Some(store) = self.hub.store().cloned() {
            let saving = async move { store.run(move |store| store.save(&record)).await };
            self.saves.insert(save, Box::pin(saving));
        }
    }
}

/// A call that becomes a task.
struct Begun<K> {
    server: K,
    request: Arc<ActiveRequest>,
    source: Arc<dyn RequestSource>,
    /// The handler to be started, unless it runs.
    job: Option<Job>,
    created: (TaskKey, TaskInfo),
}

/// What goes on when a record is saved.
#[cfg(feature = "store")]
enum Save<K> {
    Begun(Begun<K>),
    Ended(Arc<ActiveRequest>, TaskOutcome),
    /// Clients know it already.
    Known,
}

#[cfg(feature = "store")]
type Saving = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// Tasks whose handlers are gone have failed, and nothing waits for others any more.
impl<K> Drop for RunningTasks<K> {
    fn drop(&mut self) {
        self.places.keys().for_each(|task| self.hub.fail(*task, SHUT_DOWN));
        for (number, (_, _, task)) in &self.waiting {
            self.hub.stop_waiting(*task, *number);
        }
    }
}

impl<K: Clone + Ord, F: Future<Output: IntoReply>> Runner<K, F> {
    /// Starts the handler of a call that is a task from its start. Returns any other.
    pub(crate) fn begin_task<H>(&mut self, app: &App<H>, server: &K, job: Job) -> Option<Job>
    where
        H: Fn(Context) -> F,
    {
        let request = Arc::clone(&job.request);
        if let Some((task, _)) = request.awaited {
            let Job { request, source } = job;
            let (mailbox, waits) = (&self.tasks.mailbox, Arc::clone(&request));
            match self.tasks.hub.wait(task, mailbox, waits, source) {
                Ok(number) => {
                    self.tasks.waiting.insert(number, (server.clone(), request, task));
                }
                Err(response) => self.refuse(server, &request, response),
            }
            return None;
        }
        let Some(work) = request.task.as_deref().filter(|work| work.after().is_zero()) else {
            return Some(job);
        };
        match work.create(request.revision(), &job.source, &self.tasks.mailbox) {
            Ok(None) => return Some(job),
            Ok(Some(created)) => {
                let source = Arc::clone(&job.source);
                let server = server.clone();
                self.save_begun(app, Begun { server, request, source, job: Some(job), created });
            }
            Err(response) => self.refuse(server, &request, response),
        }
        None
    }

    /// Makes a call a task, once that is saved.
    fn save_begun<H>(&mut self, app: &App<H>, begun: Begun<K>)
    where
        H: Fn(Context) -> F,
    {
        #[cfg(feature = "store")]
        if self.tasks.hub.store().is_some() {
            let record = record(&begun.request, &begun.created.1, None);
            return self.tasks.save(record, Save::Begun(begun));
        }
        self.begun(app, begun);
    }

    fn begun<H>(&mut self, app: &App<H>, Begun { server, request, source, job, created }: Begun<K>)
    where
        H: Fn(Context) -> F,
    {
        let (task, handle) = (created.0, request.handle);
        let Some(work) = request.task.as_deref() else { return };
        if let Some(job) = job {
            let response = work.begin(created);
            self.respond(&server, handle, response);
            // It may be over since it was created: nothing would stop its handler.
            if !self.tasks.hub.is_live(task) {
                request.ended(Ended::Cancelled);
                self.tasks.save_end(task, Some(request));
                return;
            }
            match self.start_handler(app, &server, job) {
                Ok(place) => {
                    self.tasks.places.insert(task, place);
                }
                Err((request, panic)) => self.finish_task(task, request, Err(panic)),
            }
        // One that is about to request input ends as a call, and it may have ended already.
        } else if source.is_open(&request)
            && !request.round.is_asking()
            && let Some(place) = self.release(&server, handle)
        {
            let response = work.begin(created);
            self.respond(&server, handle, response);
            if self.tasks.hub.is_live(task) {
                self.tasks.places.insert(task, place);
            } else {
                let dropped = self.drop_handler(place, Ended::Cancelled);
                self.tasks.save_end(task, dropped);
            }
            self.start(app, &server);
        } else {
            self.tasks.discard(created);
        }
    }

    /// The handler of a task has ended.
    pub(crate) fn finish_task(
        &mut self,
        task: TaskKey,
        request: Arc<ActiveRequest>,
        result: Result<HandlerResult, Panic>,
    ) {
        self.tasks.places.remove(&task);
        let outcome = TaskWork::outcome(&request, result);
        #[cfg(feature = "store")]
        if self.tasks.hub.store().is_some()
            && let Some(info) = self.tasks.hub.info(task)
        {
            let record = record(&request, &info, Some(Some(&outcome)));
            return self.tasks.save(record, Save::Ended(request, outcome));
        }
        if let Some((work, _)) = request.task() {
            work.end(outcome);
        }
    }

    /// Goes on with what waited for the store.
    #[cfg(feature = "store")]
    fn saved<H>(&mut self, app: &App<H>, save: Save<K>, result: Result<(), StoreError>)
    where
        H: Fn(Context) -> F,
    {
        match (save, result) {
            (Save::Begun(begun), Ok(())) => self.begun(app, begun),
            (Save::Begun(Begun { server, request, job, created, .. }), Err(error)) => {
                self.tasks.hub.remove(created.0);
                request.tell(|to| to.failed(&ToolError::internal(&error.to_string())));
                let is_required = request.task.as_ref().is_some_and(|task| task.is_required());
                if job.is_some() || is_required {
                    self.cancel(app, &server, request.handle, Ended::Gone);
                    let error = RpcError::internal("The task cannot be stored");
                    self.refuse(&server, &request, PendingResponse::Refused(error));
                }
            }
            (Save::Ended(request, outcome), result) => {
                let Some((work, task)) = request.task() else { return };
                let outcome = match result {
                    Ok(()) => outcome,
                    // Without a record of it, the task has failed for the next process.
                    Err(error) => {
                        request.tell(|to| to.failed(&ToolError::internal(&error.to_string())));
                        Err(RpcError::internal("The result of the task cannot be stored").into())
                    }
                };
                // One that was over before has another end than the record.
                if !work.end(outcome) {
                    self.tasks.save_end(task, Some(Arc::clone(&request)));
                }
            }
            (Save::Known, _) => {}
        }
    }

    /// Responds to a request without its handler.
    fn refuse(&mut self, server: &K, request: &ActiveRequest, response: PendingResponse) {
        request.tell(|observed| observed.responded(response.kind(request.revision())));
        self.respond(server, request.handle, response);
    }

    /// Drops the handlers of all tasks, which fail.
    pub(crate) fn end_tasks(&mut self) {
        for (task, place) in std::mem::take(&mut self.tasks.places) {
            self.tasks.hub.fail(task, SHUT_DOWN);
            self.drop_handler(place, Ended::Gone);
        }
    }

    /// Makes tasks of the calls whose time has come, and handles what has happened to tasks.
    pub(crate) fn run_tasks<H>(&mut self, app: &App<H>, cx: &task::Context<'_>)
    where
        H: Fn(Context) -> F,
    {
        while let Some(later) = self.tasks.next_due() {
            self.become_task(app, later);
        }
        if !self.tasks.is_empty() {
            self.tasks.hub.expire();
        }
        #[cfg(feature = "store")]
        while let Poll::Ready(saved) = self.tasks.saves.poll_next(cx) {
            if let Some((save, Ok(result))) = saved {
                self.saved(app, save, result);
            }
        }
        #[cfg(not(feature = "store"))]
        let _ = cx;
        for message in self.tasks.mailbox.take() {
            match message {
                Message::Over(task) => {
                    let place = self.tasks.places.remove(&task);
                    let dropped = place.and_then(|it| self.drop_handler(it, Ended::Cancelled));
                    self.tasks.save_end(task, dropped);
                    self.tasks.hub.publish(task, app.broadcaster());
                }
                Message::Changed(task) => self.tasks.hub.publish(task, app.broadcaster()),
                Message::Respond(number) => {
                    if let Some((server, request, task)) = self.tasks.waiting.remove(&number) {
                        let response = self.tasks.hub.result(task);
                        self.refuse(&server, &request, response);
                    }
                }
            }
        }
    }

    fn become_task<H>(&mut self, app: &App<H>, later: Later<K>)
    where
        H: Fn(Context) -> F,
    {
        let Later { server, request, source } = later;
        let Some(request) = request.upgrade() else { return };
        let Some(work) = request.task.as_deref() else { return };
        match work.create(request.revision(), &source, &self.tasks.mailbox) {
            Ok(None) => {}
            Ok(Some(created)) => {
                let request = Arc::clone(&request);
                self.save_begun(app, Begun { server, request, source, job: None, created });
            }
            Err(response) => {
                self.cancel(app, &server, request.handle, Ended::Gone);
                self.respond(&server, request.handle, response);
            }
        }
    }
}

/// The error of tasks that run for longer than the server.
const SHUT_DOWN: &str = "The server was shut down";
