//! The steps of a connection on a stream: what the core says is done, and what it needs.

use std::io;
use std::task::{self, Waker};

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::{Instant, ServerEvent, Step};

use super::admission::Slot;
use super::connection::{ConnectionEnd, Driver, earlier};
use super::life::{Live, Work};
use super::source::RequestSource as _;
use super::stream::{Output, SharedStream, State};
use crate::observer::Refusal;

/// Result of a step.
enum Next {
    Work(Work<()>),
    Step,
    /// A line has been handled.
    Line,
    /// There is nothing to do without I/O, or until this time.
    Idle(Option<Instant>),
    End(ConnectionEnd),
}

impl<T: AsyncRead + AsyncWrite + Unpin, M: Live> Driver<T, M> {
    /// Runs handlers, and makes steps until there is nothing to do without I/O. Returns whether
    /// there may be more to do.
    pub(crate) fn steps(&mut self, cx: &mut task::Context<'_>) -> io::Result<bool> {
        let moved = self.run_requests(cx);
        // Received messages are handled before timeouts, which may wait for them.
        let (mut catches_up, mut is_idle, mut lines) = (true, false, 0);
        let now = self.shared.now();
        for _ in 0..STEPS {
            match self.step(&mut catches_up, now) {
                Next::Work(work) => {
                    // A handler that completes at once is answered at once, so responses keep the
                    // order of requests.
                    let settings = &self.shared.settings;
                    if let Some(((), request, response)) = self.requests.work(work, settings) {
                        self.shared.answer(request, response);
                    }
                }
                Next::Step => {}
                Next::Line if lines == LINES => break,
                Next::Line => lines += 1,
                Next::Idle(until) => {
                    self.until = until.and_then(|until| self.shared.real_time(until));
                    is_idle = true;
                    break;
                }
                Next::End(end) => {
                    self.end(end);
                    return Ok(false);
                }
            }
        }
        Ok(self.transfer(is_idle, now, cx)? || moved)
    }

    /// Polls the requests that have been woken. Returns whether any made progress.
    pub(crate) fn run_requests(&mut self, cx: &mut task::Context<'_>) -> bool {
        let shared = &self.shared;
        self.requests.poll(cx, |(), request, response| shared.answer(request, response))
    }

    fn step(&mut self, catches_up: &mut bool, now: Instant) -> Next {
        let Self { shared, io, observed, is_closing, .. } = self;
        let mut state = shared.lock();
        state.send_input_requests(now);
        state.limit_requests(&shared.settings, io.input_ended);
        let State { output: Output { core, .. }, server, full_since, .. } = &mut *state;
        let step = if *catches_up { core.catch_up(now) } else { core.next(now) };
        match step {
            Step::Event(event, mut turn) => {
                let connection = observed.as_ref().map(|to| (&to.hooks, to.number));
                let work = match event {
                    ServerEvent::Request(request) => {
                        let (machine, tx) = turn.parts();
                        let slot = if *is_closing {
                            Err(("The server is shutting down", Refusal::ShuttingDown))
                        } else {
                            Slot::take(&request, machine, server.load.as_ref(), &shared.driver)
                        };
                        let (settings, origin) = (&shared.settings, ((), None));
                        let admission =
                            settings.admit(&request, origin, machine, tx, slot, connection);
                        if let Some(response) = admission.response {
                            // It has none yet.
                            let _ = turn.answer(request.handle, response);
                        }
                        admission.work
                    }
                    ServerEvent::CallFinished { call, outcome } => {
                        server.input_requests.finish(call, &outcome);
                        None
                    }
                    ServerEvent::Unresponsive => return Next::End(ConnectionEnd::Unresponsive),
                    event => {
                        Work::of(&event, (), connection.map(|(hooks, number)| (number, hooks.peer)))
                    }
                };
                if matches!(work, Some(Work::Cancel(..))) {
                    *full_since = None;
                }
                work.map_or(Next::Step, Next::Work)
            }
            Step::Again => {
                io.progressed();
                Next::Line
            }
            Step::Io { until, .. } if *catches_up && until.is_some_and(|until| until <= now) => {
                *catches_up = false;
                Next::Step
            }
            // A deadline that has passed waits for room, not for time.
            Step::Io { until, .. } => Next::Idle(until.filter(|until| *until > now)),
            Step::Closed if io.input_ended => Next::End(ConnectionEnd::Closed),
            Step::Closed => Next::End(ConnectionEnd::ShutDown),
        }
    }

    /// Writes, and reads if all lines are handled. Returns whether there may be more to do.
    fn transfer(
        &mut self,
        is_idle: bool,
        now: Instant,
        cx: &mut task::Context<'_>,
    ) -> io::Result<bool> {
        let Self { shared, io, ends_at, .. } = self;
        let SharedStream { settings, .. } = &**shared;
        let mut state = shared.lock();
        let had_ended = io.input_ended;
        let mut turn = state.output.core.turn(now);
        let (write, read) = turn.io();
        let pending = write.len();
        let written = io.write(cx, write)?;
        let has_read = is_idle && io.read(cx, read)?;
        turn.wrote(written);
        if io.input_ended && !had_ended {
            state.output.core.end_of_input();
            // No response will arrive.
            state.server.input_requests.close();
            let timeout = settings.limits.end_of_input_timeout;
            *ends_at = earlier(*ends_at, timeout);
        }
        let waits = state.output.core.waits_for_room();
        self.until = self.until.into_iter().chain(state.full_until(settings)).min();
        let waiting = state.with_room();
        drop(state);
        waiting.for_each(Waker::wake);
        let is_waiting = written < pending || waits || self.is_closing;
        Ok(!is_idle || has_read || written > 0 && is_waiting)
    }

    /// The connection is over: drops running handlers.
    pub(crate) fn end(&mut self, end: ConnectionEnd) {
        self.requests.end(());
        self.end = Some(end);
    }
}

/// Maximum number of lines of a round, and of steps for them.
const LINES: usize = 16;
const STEPS: usize = 64;
