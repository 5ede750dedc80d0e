//! The recorder on a [`Port`] of embedded-io.

use embedded_io::{Read, ReadReady, Write};
use mcp_sansio::tasks::{
    TaskEnd, TaskId, TaskKey, TaskMode, TaskOwner, TaskReply, TaskStep, TaskTime, TaskTimeout,
};
use mcp_sansio::typed::Called;
use mcp_sansio::types::TaskSupport;
use mcp_sansio::{
    CallOutcome, ClientFeatures, ClientRequest, Connection, Instant, Outcome as _, Progress,
    RawJson, Request, RpcError, RxBuffer, SendError, Server, ServerEvent, ServerState, ToolError,
    ToolOutput, Tx, TxBuffer,
};
use mcp_sansio_adapters::embedded::{Error, Port, Step, Turn};

use crate::job::{Job, Of, State};
use crate::tools::{CATALOG, CONFIG, Call, End, QUESTION, Used, agrees};
use crate::{Flash, IN_FLIGHT, PAGES, Recorder, TASKS};

/// The server on a port with this driver.
pub type Line<D> = Port<D, Connection<'static, ServerState<IN_FLIGHT, 0>, [u8; 1024], [u8; 512]>>;

/// Creates the server.
pub fn open<D: Read + ReadReady + Write>(driver: D) -> Line<D> {
    let (rx, tx) = (RxBuffer::new([0; 1024]), TxBuffer::new([0; 512]));
    Port::new(driver, Connection::new(&CONFIG, ServerState::new(), rx, tx))
}

/// A serial line has one client.
const OWNER: TaskOwner = TaskOwner(0);

impl<F: Flash> Recorder<F> {
    /// Makes a step of the server and one of the work. Returns the time until which there is
    /// nothing to do unless bytes come.
    ///
    /// # Errors
    /// Errors of the port, and of sending a response, which is lost then.
    pub fn run<D: Read + ReadReady + Write>(
        &mut self,
        line: &mut Line<D>,
        now: Instant,
    ) -> Result<Option<Instant>, Error<D::Error>> {
        let idle = match line.next(now)? {
            Step::Event(event, mut turn) => {
                self.event(event, &mut turn)?;
                Some(now)
            }
            Step::Idle(due) => due,
            _ => Some(now),
        };
        if let Some(mut turn) = line.turn(now) {
            self.work(&mut turn)?;
        }
        Ok([idle, self.due()].into_iter().flatten().min())
    }

    #[inline(never)]
    fn event<D: Read + ReadReady + Write>(
        &mut self,
        event: ServerEvent<'_>,
        turn: &mut Turn<'_, D, Server<'_>>,
    ) -> Result<(), Error<D::Error>> {
        match event {
            ServerEvent::Request(request) => return self.respond(&request, turn),
            ServerEvent::RequestCancelled { request, .. } => {
                self.job.take_if(|job| job.of == Of::Call(request));
                for place in &mut self.waiting {
                    place.take_if(|(_, waiting)| *waiting == request);
                }
            }
            ServerEvent::CallFinished { call, outcome } => {
                let Some(Job { of: Of::Task(task), state, .. }) = &mut self.job else {
                    return Ok(());
                };
                let State::Asks { number, call: asked } = state else { return Ok(()) };
                if *asked != Some(call) {
                    return Ok(());
                }
                let (task, time) = (*task, TaskTime::without_calendar(turn.now()));
                match outcome {
                    // The request that waited has ended: the next one gets the question again.
                    CallOutcome::Cancelled => *asked = None,
                    outcome => {
                        self.tasks.tasks(&TASKS).withdraw(time, task, *number);
                        let response = match outcome {
                            CallOutcome::Result(response) => response,
                            _ => RawJson::EMPTY,
                        };
                        self.answered(task, response, time);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    #[inline(never)]
    fn respond<D: Read + ReadReady + Write>(
        &mut self,
        request: &Request<'_>,
        turn: &mut Turn<'_, D, Server<'_>>,
    ) -> Result<(), Error<D::Error>> {
        let time = TaskTime::without_calendar(turn.now());
        let mut tasks = self.tasks.tasks(&TASKS);
        let reply = match tasks.handle(time, request, OWNER) {
            None => return self.call(request, turn),
            Some(TaskStep::Respond(reply) | TaskStep::List(reply)) => reply,
            Some(TaskStep::Cancel(task, reply)) => {
                tasks.end(time, task, TaskEnd::Cancelled);
                self.job.take_if(|job| job.of == Of::Task(task));
                reply
            }
            Some(TaskStep::Update(task, responses, reply)) => {
                for (_, response) in responses {
                    self.answered(task, response, time);
                }
                reply
            }
            Some(TaskStep::Wait(task)) => {
                // There are as many places as requests in flight.
                if let Some(free) = self.waiting.iter_mut().find(|place| place.is_none()) {
                    *free = Some((task, request.handle));
                }
                return Ok(());
            }
        };
        send(turn, &mut |server, tx| reply.send(&self.ends, server, request.handle, tx))
    }

    #[inline(never)]
    fn call<D: Read + ReadReady + Write>(
        &mut self,
        request: &Request<'_>,
        turn: &mut Turn<'_, D, Server<'_>>,
    ) -> Result<(), Error<D::Error>> {
        let handle = request.handle;
        let (first, count, sure) =
            match turn.send(|server, tx| CATALOG.call(server, request, tx))? {
                Called::Call(Call::Erase { first, count, sure }) => (first, count, sure),
                Called::Call(Call::CountPages) => {
                    let used = (0..PAGES).filter(|page| !self.flash.is_blank(*page)).count() as u8;
                    let result = ToolOutput::Structured(Used { used, pages: PAGES });
                    return send(turn, &mut |server, tx| result.send(server, handle, tx));
                }
                Called::Other(_) => return Ok(()),
            };
        // The catalog has refused a call that asks for what the tool does not offer.
        let Ok(mode) = turn.machine().task_mode(request, TaskSupport::Optional) else {
            return Ok(());
        };
        let can_ask = mode != TaskMode::Call
            && request.capabilities.contains(ClientFeatures::ELICITATION_FORM);
        let refused = if self.job.is_some() {
            "Pages are being erased already"
        } else if first + count > PAGES {
            "The log does not have so many pages"
        } else if !sure && !can_ask {
            "The person cannot be asked by this call: set sure if they agree"
        } else {
            ""
        };
        if !refused.is_empty() {
            let error = ToolError::failed(refused);
            return send(turn, &mut |server, tx| error.send(server, handle, tx));
        }
        let now = turn.now();
        let ttl_ms = match mode {
            TaskMode::Call => {
                let state = State::Erases(now);
                self.job = Some(Job::new(Of::Call(handle), state, first, count));
                return Ok(());
            }
            TaskMode::Either => None,
            TaskMode::Task { ttl_ms } => ttl_ms,
        };
        let (time, id) = (TaskTime::without_calendar(now), TaskId::new(self.flash.random()));
        let mut tasks = self.tasks.tasks(&TASKS);
        let task = match tasks.create(time, id, OWNER, ttl_ms) {
            Ok(task) => task,
            Err(full) => {
                let error = RpcError::internal(full.as_str());
                return send(turn, &mut |server, tx| server.respond_error(handle, &error, tx));
            }
        };
        let question = if sure { None } else { tasks.ask(time, task) };
        let state = match question {
            Some(number) => State::Asks { number, call: None },
            None => State::Erases(now),
        };
        self.job = Some(Job::new(Of::Task(task), state, first, count));
        let Some(info) = tasks.info(task) else { return Ok(()) };
        let reply = TaskReply::created(info);
        send(turn, &mut |server, tx| reply.send(&self.ends, server, handle, tx))
    }

    /// Goes on with a task that has asked.
    fn answered(&mut self, task: TaskKey, response: RawJson<'_>, time: TaskTime) {
        let Some(job) = self.job.as_mut().filter(|job| job.of == Of::Task(task)) else { return };
        if agrees(response) {
            job.state = State::Erases(time.now);
        } else {
            self.end(task, End::NONE, time);
        }
    }

    /// Ends a task.
    fn end(&mut self, task: TaskKey, end: End, time: TaskTime) {
        let how = if end.is_faulty { TaskEnd::ToolFailed } else { TaskEnd::Completed };
        self.tasks.tasks(&TASKS).end(time, task, how);
        if let Some(place) = self.ends.0.get_mut(task.index()) {
            *place = end;
        }
        self.job = None;
    }

    /// Erases a page if one is due, and responds to requests that wait for the end of a task.
    #[inline(never)]
    fn work<D: Read + ReadReady + Write>(
        &mut self,
        turn: &mut Turn<'_, D, Server<'_>>,
    ) -> Result<(), Error<D::Error>> {
        let (now, time) = (turn.now(), TaskTime::without_calendar(turn.now()));
        while let Some(timeout) = self.tasks.tasks(&TASKS).handle_timeout(time) {
            if let TaskTimeout::Expired(task) = timeout {
                self.job.take_if(|job| job.of == Of::Task(task));
            }
        }
        if let Some(job) = &mut self.job
            && job.due().is_some_and(|due| due <= now)
        {
            let (of, end) = (job.of, job.erase(&mut self.flash, now));
            let done = Progress::of(u32::from(job.done)).total(u32::from(job.count));
            match (of, end) {
                (Of::Task(task), None) => {
                    let message = format_args!("Page {done}");
                    self.tasks.tasks(&TASKS).set_message(time, task, &message);
                }
                (Of::Task(task), Some(end)) => self.end(task, end, time),
                (Of::Call(_), None) => {}
                (Of::Call(request), Some(end)) => {
                    self.job = None;
                    send(turn, &mut |server, tx| server.respond(request, &end, tx))?;
                }
            }
        }
        let tasks = self.tasks.tasks(&TASKS);
        for place in &mut self.waiting {
            let Some((task, request)) = *place else { continue };
            let Some(info) = tasks.info(task).filter(|info| info.is_live()) else {
                *place = None;
                let reply = tasks.result(task);
                send(turn, &mut |server, tx| reply.send(&self.ends, server, request, tx))?;
                continue;
            };
            let Some(Job { of, state: State::Asks { call: call @ None, .. }, .. }) = &mut self.job
            else {
                continue;
            };
            if *of == Of::Task(task) {
                let question =
                    ClientRequest::from(&QUESTION).related_task(info.id()).parent(request);
                *call = turn.send(|server, tx| server.request(now, question, tx)).ok();
            }
        }
        Ok(())
    }
}

/// Not inlined, and one for all calls, so that the code around them is linked once.
#[inline(never)]
fn send<D: Read + ReadReady + Write>(
    turn: &mut Turn<'_, D, Server<'_>>,
    call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
) -> Result<(), Error<D::Error>> {
    turn.send(call)
}
