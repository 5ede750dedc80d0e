//! A task of the server, followed until it ends.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_sansio::types::{ProgressParams, TaskParams, TaskStatus};
use mcp_sansio::{
    CallOptions, CallOutcome, Instant, JsonStr, OwnedJson, PeerError, PollStep, RawJson, methods,
};

use super::call::PendingCall;
use super::calls::{CallEvent, OwnedOutcome};
use super::deadline::Deadline;
use super::error::CallError;
use super::handle::{Client, ClientInner};
use super::mrtr::respond_all;
use crate::client::{FollowedTask, TaskRef, random};
use crate::runtime::timer::Timer;

/// A call that the server may run as a task ([`Client::call_tool_as_task`]), or a task of an
/// earlier connection ([`Client::resume`]).
///
/// Nothing is sent while nobody waits: the task goes on, and [`wait`](Self::wait) finds its state.
/// Dropping it cancels the task in the background (`tasks/cancel`), unless it has ended;
/// [`detach`](Self::detach) does not.
pub struct ToolTask {
    client: Client,
    followed: Option<Follower>,
    result: Option<OwnedJson>,
}

impl ToolTask {
    pub(crate) fn of_result(client: &Client, result: OwnedJson) -> Self {
        Self { client: client.clone(), followed: None, result: Some(result) }
    }

    pub(crate) fn of_task(client: &Client, task: FollowedTask) -> Self {
        let followed = Some(Follower::new(&client.0, task));
        Self { client: client.clone(), followed, result: None }
    }

    /// Returns the latest known status; `None` if the server responded without a task.
    #[must_use]
    pub fn status(&self) -> Option<TaskStatus> {
        self.followed.as_ref().map(|followed| followed.task.status())
    }

    /// Returns the latest message that describes the status.
    #[must_use]
    pub fn status_message(&self) -> Option<&str> {
        self.followed.as_ref()?.task.message()
    }

    /// Waits for the result: a [`CallToolResult`](mcp_sansio::types::CallToolResult). What the task
    /// asks goes to the [handler](super::Connector::on_input_request).
    ///
    /// Cancel safe: the task goes on, and can be waited for again.
    ///
    /// # Errors
    /// [`CallError::Server`] if the task failed; [`CallError::TaskCancelled`],
    /// [`CallError::TaskGone`]; [`CallError::Closed`] if the connection has ended, after which the
    /// task can be detached and resumed on another one; [`CallError::InputRefused`]. Responses that
    /// are late, and failures of HTTP, do not end the wait.
    pub async fn wait(&mut self) -> Result<OwnedJson, CallError> {
        self.wait_with_progress(|_| ()).await
    }

    /// Waits for the result, and reports progress: what the server reports (2025-11-25), and each
    /// new message that describes the status, with the progress so far.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub async fn wait_with_progress(
        &mut self,
        mut on_progress: impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, CallError> {
        self.wait_before(Deadline::NEVER, &mut on_progress).await
    }

    pub(crate) async fn wait_before(
        &mut self,
        deadline: Deadline,
        on_progress: &mut impl ProgressFn,
    ) -> Result<OwnedJson, CallError> {
        match (&mut self.followed, &self.result) {
            (Some(followed), _) => followed.run(deadline, on_progress).await,
            (None, Some(result)) => Ok(result.clone()),
            (None, None) => Err(CallError::Closed),
        }
    }

    /// Leaves the task to the server. Returns what is needed to [resume](Client::resume) it later,
    /// also in another process; `None` if the server responded without a task.
    #[must_use]
    pub fn detach(mut self) -> Option<TaskRef> {
        self.followed.take().map(Follower::detach)
    }

    /// Cancels the task, and waits until the server has acknowledged it. With 2026-07-28 the task
    /// may end otherwise all the same.
    ///
    /// Cancel safe: the request is sent all the same, if there is room.
    ///
    /// # Errors
    /// See [`CallError`]; in 2025-11-25 a task that has ended is an error, too.
    pub async fn cancel(mut self) -> Result<(), CallError> {
        let Some(followed) = self.followed.take() else { return Ok(()) };
        let kept = followed.detach();
        let params = TaskParams::new(kept.task_id());
        self.client.request(methods::TASKS_CANCEL, &params, CallOptions::new()).await.map(|_| ())
    }
}

impl fmt::Debug for ToolTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.followed {
            Some(followed) => followed.task.fmt(f),
            None => f.write_str("ToolTask"),
        }
    }
}

/// A function that progress is reported to.
pub(crate) trait ProgressFn: FnMut(&ProgressParams<'_>) {}
impl<F: FnMut(&ProgressParams<'_>)> ProgressFn for F {}

/// Follows one task. Cancels it when it is dropped before the end.
struct Follower {
    task: FollowedTask,
    owner: Arc<ClientInner>,
    /// What is told about the task without being asked for.
    told: PendingCall,
    /// The request in flight, and whether it is `tasks/update`.
    call: Option<(Asked, PendingCall)>,
    inputs: Option<Inputs>,
    /// Number of the session that the task was last seen in.
    session: u32,
    is_over: bool,
}

/// Responses that the handler computes, and the keys of their requests.
struct Inputs {
    keys: Vec<String>,
    future: Pin<Box<dyn Future<Output = InputResult> + Send>>,
}

type InputResult = Result<Vec<(String, OwnedJson)>, CallError>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    State,
    Result,
    Update,
}

/// What the wait for a task has ended with.
enum Woken {
    Outcome(Asked, OwnedOutcome),
    Told(CallEvent),
    Inputs(InputResult),
    Time,
}

/// What is done next.
enum Next {
    Send(Asked),
    Wait(Option<Instant>),
    End(Result<OwnedJson, CallError>),
}

impl Follower {
    fn new(owner: &Arc<ClientInner>, task: FollowedTask) -> Self {
        let told = PendingCall::without_call(owner, |state, number| {
            state.calls.set_task(number, task.id());
        });
        let session = owner.inner.with(|state| state.sessions);
        let owner = Arc::clone(owner);
        Self { task, owner, told, call: None, inputs: None, session, is_over: false }
    }

    fn detach(mut self) -> TaskRef {
        self.is_over = true;
        self.task.kept().clone()
    }

    async fn run(
        &mut self,
        deadline: Deadline,
        on_progress: &mut impl ProgressFn,
    ) -> Result<OwnedJson, CallError> {
        let step = self.task.poll.next(self.owner.inner.now());
        let mut next = self.take(step);
        if matches!(next, Next::Wait(_)) && self.call.is_none() {
            // A request that was being sent when the future was dropped has no outcome.
            next = self.lost();
        }
        loop {
            next = match next {
                Next::End(result) => {
                    // Other errors leave the task as it is.
                    self.is_over = matches!(
                        result,
                        Ok(_)
                            | Err(CallError::Server(_)
                                | CallError::TaskCancelled
                                | CallError::TaskGone(_))
                    );
                    return result;
                }
                Next::Send(asked) => {
                    let call = self.send(asked).await?;
                    self.call = Some((asked, call));
                    Next::Wait(None)
                }
                Next::Wait(until) => {
                    let woken = self.wait(until, deadline).await;
                    if deadline.left(&self.owner.inner).is_zero() {
                        return Err(CallError::TimedOut);
                    }
                    self.wake(woken, on_progress)
                }
            };
        }
    }

    fn lost(&mut self) -> Next {
        let step = self.task.poll.next(self.owner.inner.now());
        if !matches!(step, PollStep::Wait) {
            return self.take(step);
        }
        let now = self.owner.inner.now();
        let step = self.task.poll.on_outcome(now, random(), &CallOutcome::TimedOut);
        self.take(step)
    }

    async fn send(&mut self, asked: Asked) -> Result<PendingCall, CallError> {
        let (task, options) = (&self.task, CallOptions::new());
        let limit = Deadline::after(self.owner.inner.call_limit, &self.owner.inner);
        PendingCall::start(&self.owner, limit, |client, now, left, tx| {
            let params = TaskParams::new(task.id());
            match asked {
                Asked::State => {
                    client.request(now, methods::TASKS_GET, &params, options.limit(left), tx)
                }
                Asked::Result => client.request(now, methods::TASKS_RESULT, &params, options, tx),
                Asked::Update => {
                    let params = task.update();
                    client.request(now, methods::TASKS_UPDATE, &params, options.limit(left), tx)
                }
            }
        })
        .await
    }

    /// Waits for an outcome, a notification, input, or a time.
    async fn wait(&mut self, until: Option<Instant>, deadline: Deadline) -> Woken {
        let until = until.or_else(|| self.task.poll.expires());
        let until = until.and_then(|until| self.owner.inner.real_time(until));
        let at = self.owner.inner.with(|state| deadline.at(&state.login_time));
        let until = [until, at].into_iter().flatten().min();
        let mut timer = until.map_or_else(Timer::never, Timer::at);
        poll_fn(|cx| self.poll_wait(&mut timer, cx)).await
    }

    fn poll_wait(&mut self, timer: &mut Timer, cx: &mut Context<'_>) -> Poll<Woken> {
        if let Some((asked, call)) = &self.call {
            match call.poll_event(cx) {
                Poll::Ready(CallEvent::Finished(outcome)) => {
                    let asked = *asked;
                    self.call = None;
                    return Poll::Ready(Woken::Outcome(asked, outcome));
                }
                Poll::Ready(event) => return Poll::Ready(Woken::Told(event)),
                Poll::Pending => {}
            }
        }
        if let Poll::Ready(event) = self.told.poll_event(cx) {
            return Poll::Ready(Woken::Told(event));
        }
        if let Some(inputs) = &mut self.inputs
            && let Poll::Ready(responses) = inputs.future.as_mut().poll(cx)
        {
            self.inputs = None;
            return Poll::Ready(Woken::Inputs(responses));
        }
        Pin::new(timer).poll(cx).map(|()| Woken::Time)
    }

    fn wake(&mut self, woken: Woken, on_progress: &mut impl ProgressFn) -> Next {
        let now = self.owner.inner.now();
        match woken {
            Woken::Time => self.go_on(),
            Woken::Inputs(Ok(responses)) => {
                self.task.answer(responses);
                self.go_on()
            }
            Woken::Inputs(Err(error)) => Next::End(Err(error)),
            Woken::Told(CallEvent::Progress(params)) => {
                self.task.note_progress(params.as_raw());
                report(&params, on_progress);
                self.go_on()
            }
            Woken::Told(CallEvent::TaskState(state)) => {
                self.note_state(state.as_raw(), on_progress);
                let step = self.task.poll.on_change(now, random(), state.as_raw());
                self.take(step)
            }
            Woken::Told(CallEvent::Finished(ended)) => Next::End(Err(ended.into_error())),
            Woken::Told(_) => self.go_on(),
            Woken::Outcome(_, OwnedOutcome::Error(CallError::Closed)) => {
                Next::End(Err(CallError::Closed))
            }
            Woken::Outcome(asked, outcome) => self.take_outcome(asked, &outcome, on_progress),
        }
    }

    fn take_outcome(
        &mut self,
        asked: Asked,
        outcome: &OwnedOutcome,
        on_progress: &mut impl ProgressFn,
    ) -> Next {
        let now = self.owner.inner.now();
        let sessions = self.owner.inner.with(|state| state.sessions);
        if sessions != self.session {
            self.session = sessions;
            self.task.poll.session_changed();
        }
        let error;
        let outcome = match outcome {
            OwnedOutcome::Result(result) => {
                match asked {
                    Asked::State => self.note_state(result.as_raw(), on_progress),
                    Asked::Update => self.task.acknowledge(),
                    Asked::Result => {}
                }
                CallOutcome::Result(result.as_raw())
            }
            OwnedOutcome::Error(CallError::Server(response)) => {
                error = response.to_json();
                CallOutcome::Error(PeerError::from_json(error.as_raw()))
            }
            OwnedOutcome::Error(CallError::Invalid(violation)) => CallOutcome::Invalid(*violation),
            _ => CallOutcome::TimedOut,
        };
        let step = self.task.poll.on_outcome(now, random(), &outcome);
        self.take(step)
    }

    fn note_state(&mut self, state: RawJson<'_>, on_progress: &mut impl ProgressFn) {
        if let Some(params) = self.task.note_state(state) {
            report(&params, on_progress);
        }
    }

    fn go_on(&mut self) -> Next {
        let step = self.task.poll.next(self.owner.inner.now());
        self.take(step)
    }

    fn take(&mut self, step: PollStep<'_>) -> Next {
        if self.task.status() != TaskStatus::InputRequired {
            // What the handler still asks is not needed any more.
            self.inputs = None;
        }
        match step {
            PollStep::Get => Next::Send(Asked::State),
            PollStep::Result => Next::Send(Asked::Result),
            PollStep::Update => Next::Send(Asked::Update),
            PollStep::Input(requests) => match self.begin_inputs(requests) {
                Ok(()) => self.go_on(),
                Err(error) => Next::End(Err(error)),
            },
            PollStep::Sleep(until) => Next::Wait(Some(until)),
            PollStep::Wait => Next::Wait(None),
            PollStep::Done(result) => Next::End(Ok(result.into())),
            PollStep::Failed(error) => Next::End(Err(CallError::Server(error.into()))),
            PollStep::Cancelled => Next::End(Err(CallError::TaskCancelled)),
            PollStep::Gone(why) => Next::End(Err(CallError::TaskGone(why))),
            PollStep::Invalid(violation) => Next::End(Err(CallError::Invalid(violation))),
            _ => Next::Wait(None),
        }
    }

    /// Calls the handler for the input requests that are new, unless it still responds to others.
    fn begin_inputs(&mut self, requests: RawJson<'_>) -> Result<(), CallError> {
        let is_asked = |key: &String| requests.get(key).is_some();
        if self.inputs.as_ref().is_some_and(|inputs| inputs.keys.iter().any(is_asked)) {
            return Ok(());
        }
        let poll = &self.task.poll;
        let is_new = |key: JsonStr<'_>| !poll.is_answered(key);
        let keys = requests.members().map(|(key, _)| key).filter(|key| is_new(*key));
        let keys = keys.map(|key| key.to_string()).collect();
        let future = Box::pin(respond_all(&self.owner.inner, requests, &is_new)?);
        self.inputs = Some(Inputs { keys, future });
        Ok(())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if !self.is_over {
            let (now, id) = (self.owner.inner.now(), self.task.id().to_owned());
            self.call = None;
            self.owner.inner.with(|state| state.cancel_task(now, id));
        }
    }
}

fn report(params: &OwnedJson, on_progress: &mut impl ProgressFn) {
    if let Ok(params) = params.to() {
        on_progress(&params);
    }
}
