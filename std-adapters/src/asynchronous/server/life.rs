//! The life of a request, one future, and the futures of all requests.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::mem::take;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use mcp_sansio::{RequestHandle, RpcError, ServerEvent};
use mcp_sansio_engine::PeerAddress;

use super::admission::Permit;
use super::app::{App, Settings};
use super::context::{ActiveRequest, Context};
use super::reply::{HandlerResult, IntoReply, PendingResponse};
use super::source::RequestSource;
use super::task_hub::{LiveTask, NewTask, TaskWork};
use crate::observer::{Ended, Event, ObservedRequest, Refusal, Telling};
use crate::panics::{Panic, caught};
use crate::runtime;
use crate::runtime::tasks::{Place, Tasks};
use crate::runtime::timer::Timer;
use crate::store::StoreError;

/// Returns the life of a request, from its admission to its response, or to the end of the task
/// that it becomes: then there is no response left. Dropping it cancels the request.
pub(crate) async fn live<H, F>(
    app: &App<H>,
    request: Arc<ActiveRequest>,
    source: Arc<dyn RequestSource>,
) -> Option<PendingResponse>
where
    H: Fn(Context) -> F,
    F: Future<Output: IntoReply>,
{
    request.tell(ObservedRequest::began);
    let mut elsewhere = None;
    if request.is_elsewhere {
        match app.settings.tasks.answer_elsewhere(&request).await {
            Ok(task) => elsewhere = Some(task),
            Err(response) => return Some(refused(&request, response)),
        }
    }
    if let Some(&(task, _)) = request.awaited.get() {
        let share = app.settings.limits.address_share;
        let response = match app.settings.tasks.wait((task, elsewhere), &request, &source, share) {
            Ok(mut result) => poll_fn(|cx| result.poll(cx)).await,
            Err(response) => response,
        };
        return Some(refused(&request, response));
    }
    if let Some(part) = request.part_of_list() {
        return Some(refused(&request, part));
    }
    if let Some(task) = request.task.as_deref() {
        // Few requests need its memory.
        return Box::pin(live_as_task(app, task, &request, &source)).await;
    }
    let _permit = request.slot.permit().await;
    let future = pin!(None);
    let handler = Handler { app, request: &request, source: &source, future, is_begun: false };
    Some(handler.await.response(app, &request))
}

/// A function that begins the lives of requests: [`live`], with its application and its source.
pub(crate) trait Live: Fn(Arc<ActiveRequest>) -> <Self as Live>::Life {
    type Life: Future<Output = Option<PendingResponse>>;
}

impl<M, L> Live for M
where
    M: Fn(Arc<ActiveRequest>) -> L,
    L: Future<Output = Option<PendingResponse>>,
{
    type Life = L;
}

/// As [`live`], for a call that may become a task.
async fn live_as_task<H, F>(
    app: &App<H>,
    work: &TaskWork,
    request: &Arc<ActiveRequest>,
    source: &Arc<dyn RequestSource>,
) -> Option<PendingResponse>
where
    H: Fn(Context) -> F,
    F: Future<Output: IntoReply>,
{
    let future = pin!(None);
    let mut handler = Handler { app, request, source, future, is_begun: false };
    if let Some(adopted) = work.again.take() {
        let (task, _) = work.begin(adopted, request, app.broadcaster());
        handler.run(work, task).await;
        return None;
    }
    let mut permit = None;
    if !work.after.is_zero() {
        permit = Some(request.slot.permit().await);
        let later = Timer::after(work.after);
        if let Some(result) = handler.before(later).await {
            return Some(result.response(app, request));
        }
    }
    let new = match work.create(request.revision(), source) {
        Ok(Some(new)) => new,
        Ok(None) => return Some(handler.call(permit).await),
        Err(response) => return Some(refused(request, response)),
    };
    if let Err(end) = handler.save(&new, permit.is_some()).await {
        drop(new);
        return match end {
            Unsaved::Ended(result) => Some(result.response(app, request)),
            Unsaved::Failed(error) if permit.is_none() || work.is_required => {
                request.tell(|observed| observed.because(&error));
                let error = RpcError::internal("The task cannot be stored");
                Some(refused(request, PendingResponse::Refused(error)))
            }
            Unsaved::Failed(error) => {
                request.tell(|observed| observed.store_failed(&error));
                Some(handler.call(permit).await)
            }
        };
    }
    // One that is about to request input ends as a call.
    if permit.is_some() && (request.round.is_asking() || !source.is_open(request)) {
        drop(new);
        return Some(handler.call(permit).await);
    }
    drop(permit);
    let (task, created) = work.begin(new, request, app.broadcaster());
    source.answer(request, created);
    handler.run(work, task).await;
    None
}

/// Why a call has not become a task.
enum Unsaved {
    Ended(Outcome),
    Failed(StoreError),
}

/// The handler of a request: called when it is polled for the first time.
struct Handler<'l, H, F> {
    app: &'l App<H>,
    request: &'l Arc<ActiveRequest>,
    source: &'l Arc<dyn RequestSource>,
    future: Pin<&'l mut Option<F>>,
    is_begun: bool,
}

/// How a handler has ended.
struct Outcome(Result<HandlerResult, Panic>);

impl<H, F> Handler<'_, H, F>
where
    H: Fn(Context) -> F,
    F: Future<Output: IntoReply>,
{
    /// Runs the handler of a call that does not become a task.
    async fn call(self, permit: Option<Permit<'_>>) -> PendingResponse {
        let (app, request) = (self.app, self.request);
        let _permit = match permit {
            Some(permit) => permit,
            None => request.slot.permit().await,
        };
        self.await.response(app, request)
    }

    /// Runs the handler unless another future, which is polled first, is ready.
    async fn before(&mut self, mut other: impl Future<Output = ()> + Unpin) -> Option<Outcome> {
        poll_fn(|cx| match Pin::new(&mut other).poll(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => Pin::new(&mut *self).poll(cx).map(Some),
        })
        .await
    }

    /// Saves a new task, while its handler goes on if it has begun.
    async fn save(&mut self, new: &NewTask, has_begun: bool) -> Result<(), Unsaved> {
        let (request, mut saved) = (self.request, Ok(()));
        let saving = async { saved = new.save(request).await };
        if !has_begun {
            saving.await;
        } else if let Some(result) = self.before(pin!(saving)).await {
            return Err(Unsaved::Ended(result));
        }
        saved.map_err(Unsaved::Failed)
    }

    /// Runs the handler of a task until it ends, or the task is over.
    async fn run(&mut self, work: &TaskWork, mut task: LiveTask<'_>) {
        let request = self.request;
        // It may be over since it was created: nothing would stop its handler.
        match self.before(poll_fn(|cx| task.poll_over(cx))).await {
            Some(Outcome(result)) => {
                let (outcome, how) = work.outcome(request, result);
                let (outcome, how) = match task.save(request, Some(&outcome)).await {
                    Ok(decided) => (outcome, (how, decided)),
                    // Without a record of it, the task has failed for the next process.
                    Err(error) => {
                        request.tell(|observed| observed.because(&error));
                        let error = RpcError::internal("The result of the task cannot be stored");
                        let code = error.code.number(request.revision());
                        (Err(error.into()), (Ended::Error(code), None))
                    }
                };
                if work.end(request, outcome, how) {
                    return;
                }
            }
            None => {
                if let Err(panic) = caught(|| self.future.set(None)) {
                    request.panicked(&panic);
                }
            }
        }
        work.is_over(request);
        task.over();
        // One that was over before has another end than the record.
        let _ = task.save(request, None).await;
    }
}

impl<H, F> Future for Handler<'_, H, F>
where
    H: Fn(Context) -> F,
    F: Future<Output: IntoReply>,
{
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Outcome> {
        let Self { app, request, source, future, is_begun } = self.get_mut();
        if !*is_begun {
            *is_begun = true;
            let context = Context { active: Arc::clone(request), source: Arc::clone(source) };
            match request.run(|| (app.handler)(context)) {
                Ok(begun) => future.set(Some(begun)),
                Err(panic) => return Poll::Ready(Outcome(Err(panic))),
            }
        }
        let Some(running) = future.as_mut().as_pin_mut() else { return Poll::Pending };
        let result = match request.run(|| running.poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => Ok(result),
            Err(panic) => Err(panic),
        };
        // The result counts, even if dropping the rest of the future panics.
        let _ = caught(|| future.set(None));
        Poll::Ready(Outcome(result.and_then(|result| caught(|| checked(request, result)))))
    }
}

impl Outcome {
    fn response<H>(self, app: &App<H>, request: &Arc<ActiveRequest>) -> PendingResponse {
        let Self(result) = self;
        let response = result
            .and_then(|result| caught(|| PendingResponse::new(request, result, &app.settings)));
        let response = response.unwrap_or_else(|panic| {
            request.panicked(&panic);
            PendingResponse::PANICKED
        });
        refused(request, response)
    }
}

/// Tells the observer of a response.
fn refused(request: &Arc<ActiveRequest>, response: PendingResponse) -> PendingResponse {
    request.tell(|observed| {
        response.error().iter().for_each(|error| observed.because(error));
        observed.responded(response.kind(request.revision()));
    });
    response.keeping(request)
}

/// Returns the result of a handler, whose error the observer is told.
fn checked(request: &ActiveRequest, result: impl IntoReply) -> HandlerResult {
    let result = result.into_reply(&request.request.as_request());
    let result = result.and_then(|reply| request.checked(reply));
    if let Err(error) = &result {
        request.tell(|observed| observed.failed(error));
    }
    result
}

/// Work that an event leaves for a place where no mutex is locked. `K` names a server.
pub(crate) enum Work<K> {
    Begin(K, Arc<ActiveRequest>),
    Cancel(K, RequestHandle, Ended),
    End(K),
    /// An observer is told in the order of the work. Few servers need its memory.
    Tell(Telling),
}

impl<K> Work<K> {
    /// An observer is told of this.
    pub(crate) fn event(event: Event<'static>) -> Self {
        Self::Tell(Box::new(move |hooks| hooks.tell(event)))
    }

    /// An observer is told of a request that begins and ends: its handler is not called.
    pub(crate) fn ended(observed: Box<ObservedRequest<'static>>, how: Ended) -> Self {
        Self::Tell(Box::new(move |_| {
            observed.began();
            observed.ended(how);
        }))
    }

    /// Returns what an event leaves to be done that is neither a request nor a response. `from` is
    /// the number of the connection and the address of the client if it is observed.
    pub(crate) fn of(
        event: &ServerEvent<'_>,
        server: K,
        from: Option<(u64, Option<PeerAddress>)>,
    ) -> Option<Self> {
        Some(match event {
            ServerEvent::RequestCancelled { request, .. } => {
                Self::Cancel(server, *request, Ended::Cancelled)
            }
            ServerEvent::RequestTimedOut { request } => {
                Self::Cancel(server, *request, Ended::TimedOut)
            }
            ServerEvent::Violation(found) => {
                let (connection, peer) = from?;
                let why = Refusal::from(found.violation);
                let place = found.place().map(|place| place.to_string());
                Self::Tell(Box::new(move |hooks| {
                    let place = place.as_deref();
                    hooks.tell(Event::Refused { connection, peer, why, place });
                }))
            }
            // The core has responded to the rest: `initialize`, `ping`, log levels, subscriptions.
            _ => return None,
        })
    }
}

/// The requests of a connection, or those of all servers of an HTTP server. `K` names the server of
/// a request, `M` begins lives. A panic ends its own request only.
pub(crate) struct Requests<K, M: Live> {
    lives: Tasks<(K, Arc<ActiveRequest>), M::Life>,
    /// The lives that wait, by server. Those of tasks belong to it until it ends.
    places: BTreeMap<K, Vec<(RequestHandle, Place)>>,
    /// For the next server.
    unused: Vec<(RequestHandle, Place)>,
    live: M,
}

impl<K: Copy + Ord, M: Live> Requests<K, M> {
    pub(crate) fn new(live: M) -> Self {
        Self { lives: Tasks::new(), places: BTreeMap::new(), unused: Vec::new(), live }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lives.is_empty()
    }

    /// Cancels a request, unless it has become a task.
    fn cancel(&mut self, server: K, request: RequestHandle, how: Ended) {
        if let Some(place) = self.release(server, request)
            && self.is_call(place)
        {
            self.drop_life(place, how);
        }
    }

    /// Cancels the requests of a server, except those that have become tasks.
    pub(crate) fn end(&mut self, server: K) {
        for (_, place) in self.places.remove(&server).unwrap_or_default() {
            if self.is_call(place) {
                self.drop_life(place, Ended::Gone);
            }
        }
    }

    fn is_call(&self, place: Place) -> bool {
        self.lives.name(place).is_some_and(|(_, request)| request.task().is_none())
    }

    /// Ends all tasks, which fail.
    fn end_tasks(&mut self) {
        for place in self.lives.places_where(|(_, request)| request.task().is_some()) {
            self.drop_life(place, Ended::Gone);
        }
    }

    /// Ends tasks once the time of a shutdown is over. Returns when that is.
    pub(crate) fn limit_tasks(
        &mut self,
        settings: &Settings,
        ends_at: &mut Option<Instant>,
    ) -> Option<Instant> {
        settings.limit_shutdown(ends_at);
        if ends_at.is_some_and(|at| at <= runtime::now()) {
            self.end_tasks();
            return None;
        }
        ends_at.filter(|_| !self.is_empty())
    }

    fn drop_life(&mut self, place: Place, how: Ended) {
        let Some(((server, request), dropped)) = self.lives.remove(place) else { return };
        self.release(server, request.handle);
        match dropped {
            Err(panic) => request.panicked(&panic),
            Ok(()) => request.ended(how),
        }
    }

    /// The life of a request is over. Returns its place.
    fn release(&mut self, server: K, request: RequestHandle) -> Option<Place> {
        let waiting = self.places.get_mut(&server)?;
        let at = waiting.iter().position(|(waiting, _)| *waiting == request)?;
        let (_, place) = waiting.swap_remove(at);
        if waiting.is_empty() {
            self.unused = self.places.remove(&server).unwrap_or_default();
        }
        Some(place)
    }

    /// Does what an event has left. Returns the response of a request that begins and does not
    /// wait.
    pub(crate) fn work(
        &mut self,
        work: Work<K>,
        settings: &Settings,
    ) -> Option<(K, RequestHandle, PendingResponse)> {
        match work {
            Work::Begin(server, request) => return self.begin(server, request),
            Work::Cancel(server, request, how) => self.cancel(server, request, how),
            Work::End(server) => self.end(server),
            Work::Tell(telling) => settings.tell(telling),
        }
        None
    }

    fn begin(
        &mut self,
        server: K,
        request: Arc<ActiveRequest>,
    ) -> Option<(K, RequestHandle, PendingResponse)> {
        let handle = request.handle;
        let life = (self.live)(Arc::clone(&request));
        match self.lives.start((server, request), life) {
            Ok(place) => {
                let unused = &mut self.unused;
                self.places.entry(server).or_insert_with(|| take(unused)).push((handle, place));
                None
            }
            Err(((_, request), end)) => Some((server, handle, response(&request, end)?)),
        }
    }

    /// Polls the lives that have been woken. `answer` gets the responses. Returns whether any made
    /// progress.
    pub(crate) fn poll(
        &mut self,
        cx: &TaskContext<'_>,
        mut answer: impl FnMut(K, RequestHandle, PendingResponse),
    ) -> bool {
        // Bounded, so that a handler that always wakes itself does not starve the others.
        for polled in 0..=2 * self.lives.len() {
            let Poll::Ready(ended) = self.lives.poll_next(cx) else { return polled > 0 };
            let Some(((server, request), end)) = ended else { continue };
            let (handle, response) = (request.handle, response(&request, end));
            // What it takes no longer counts.
            drop(request);
            self.release(server, handle);
            if let Some(response) = response {
                answer(server, handle, response);
            }
        }
        true
    }
}

/// Returns the response at the end of a life.
fn response(
    request: &ActiveRequest,
    end: Result<Option<PendingResponse>, Panic>,
) -> Option<PendingResponse> {
    end.unwrap_or_else(|panic| {
        request.panicked(&panic);
        Some(PendingResponse::PANICKED)
    })
}

/// Tells the observer that all requests are gone.
impl<K, M: Live> Drop for Requests<K, M> {
    fn drop(&mut self) {
        for place in self.lives.places_where(|_| true) {
            if let Some(((_, request), _)) = self.lives.remove(place) {
                request.ended(Ended::Gone);
            }
        }
    }
}
