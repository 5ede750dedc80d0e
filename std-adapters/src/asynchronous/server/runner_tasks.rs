//! The handlers of tasks, which outlive their requests.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Instant;

use mcp_sansio::RpcError;
use mcp_sansio::tasks::TaskKey;

use super::app::{App, Settings};
use super::context::{ActiveRequest, Context};
use super::driver_waker::DriverWaker;
use super::pending_responses::PendingResponse;
use super::reply::IntoReply;
use super::runner::{Job, PANICKED, Runner};
use super::source::RequestSource;
use super::task_hub::{Mailbox, Message, TaskHub};
use super::tasks::Place;
use crate::observer::Ended;

/// The tasks whose handlers a runner has, and the calls that become tasks.
pub(super) struct RunningTasks<K> {
    hub: Arc<TaskHub>,
    mailbox: Arc<Mailbox>,
    places: HashMap<TaskKey, Place>,
    /// By the time at which they become tasks.
    later: BTreeMap<(Instant, Place), Later<K>>,
    planned: HashMap<Place, Instant>,
    /// The `tasks/result` that wait, by number.
    waiting: HashMap<u64, (K, Arc<ActiveRequest>, TaskKey)>,
}

/// A call that becomes a task unless it ends earlier.
struct Later<K> {
    server: K,
    request: Weak<ActiveRequest>,
    source: Arc<dyn RequestSource>,
}

impl<K: Clone> RunningTasks<K> {
    pub(super) fn new(settings: &Settings, driver: &Arc<DriverWaker>) -> Self {
        Self {
            hub: Arc::clone(&settings.tasks),
            mailbox: Arc::new(Mailbox::new(Arc::clone(driver))),
            places: HashMap::new(),
            later: BTreeMap::new(),
            planned: HashMap::new(),
            waiting: HashMap::new(),
        }
    }

    /// Returns whether handlers of tasks run.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the time at which a call becomes a task, or a task is over.
    pub(super) fn due(&self) -> Option<Instant> {
        let later = self.later.first_key_value().map(|((at, _), _)| *at);
        let over = if self.is_empty() { None } else { self.hub.next_timeout() };
        later.into_iter().chain(over).min()
    }

    /// Makes a call a task later, if it may be one.
    pub(super) fn plan(
        &mut self,
        server: &K,
        place: Place,
        (request, source): (Weak<ActiveRequest>, Arc<dyn RequestSource>),
    ) {
        let after =
            request.upgrade().and_then(|request| request.task.as_ref().map(|it| it.after()));
        if let Some(at) = after.and_then(|after| Instant::now().checked_add(after)) {
            self.planned.insert(place, at);
            self.later.insert((at, place), Later { server: server.clone(), request, source });
        }
    }

    /// Returns a call whose time has come.
    fn next_due(&mut self) -> Option<Later<K>> {
        let first = self.later.first_entry()?;
        if first.key().0 > Instant::now() {
            return None;
        }
        self.planned.remove(&first.key().1);
        Some(first.remove())
    }

    /// The handler at this place has ended.
    pub(super) fn forget(&mut self, place: Place) {
        if let Some(at) = self.planned.remove(&place) {
            self.later.remove(&(at, place));
        }
    }

    /// Requests do not wait any more.
    pub(super) fn stop_waiting(
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

    /// The handler of a task has ended.
    pub(super) fn ended(&mut self, task: TaskKey) {
        self.places.remove(&task);
    }
}

/// Tasks whose handlers are gone have failed.
impl<K> Drop for RunningTasks<K> {
    fn drop(&mut self) {
        self.places.keys().for_each(|task| self.hub.fail(*task, SHUT_DOWN));
    }
}

impl<K: Clone + Ord, F: Future<Output: IntoReply>> Runner<K, F> {
    /// Starts the handler of a call that is a task from its start. Returns any other.
    pub(super) fn begin_task<H>(&mut self, app: &App<H>, server: &K, job: Job) -> Option<Job>
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
        match work.begin(request.revision(), &job.source, &self.tasks.mailbox) {
            Ok(None) => return Some(job),
            Ok(Some((task, response))) => {
                self.respond(server, request.handle, response);
                match self.start_handler(app, server, job) {
                    Some(place) => {
                        self.tasks.places.insert(task, place);
                    }
                    None => work.fail(RpcError::internal(PANICKED)),
                }
            }
            Err(response) => self.refuse(server, &request, response),
        }
        None
    }

    /// Responds to a request without its handler.
    fn refuse(&mut self, server: &K, request: &ActiveRequest, response: PendingResponse) {
        if let Some(observed) = &request.observed {
            observed.responded(response.kind(request.revision()));
        }
        self.respond(server, request.handle, response);
    }

    /// Drops the handlers of all tasks, which fail.
    pub(super) fn end_tasks(&mut self) {
        for (task, place) in std::mem::take(&mut self.tasks.places) {
            self.tasks.hub.fail(task, SHUT_DOWN);
            self.drop_handler(place, Ended::Gone);
        }
    }

    /// Makes tasks of the calls whose time has come, and handles what has happened to tasks.
    pub(super) fn run_tasks<H>(&mut self, app: &App<H>)
    where
        H: Fn(Context) -> F,
    {
        while let Some(later) = self.tasks.next_due() {
            self.become_task(app, later);
        }
        if !self.tasks.is_empty() {
            self.tasks.hub.expire();
        }
        for message in self.tasks.mailbox.take() {
            match message {
                Message::Over(task) => {
                    if let Some(place) = self.tasks.places.remove(&task) {
                        self.drop_handler(place, Ended::Cancelled);
                    }
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
        // One that is about to request input ends as a call.
        if !source.is_open(&request) || request.round.is_asking() {
            return;
        }
        match work.begin(request.revision(), &source, &self.tasks.mailbox) {
            Ok(None) => {}
            Ok(Some((task, response))) => {
                if let Some(place) = self.release(&server, request.handle) {
                    self.tasks.places.insert(task, place);
                }
                self.respond(&server, request.handle, response);
                self.start(app, &server);
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
