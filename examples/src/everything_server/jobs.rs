//! Tools that take time. A job is a value: it is asked to go on when its time has come, and in between the server serves others.

use std::time::Duration;

use mcp_sansio::types::{LoggingLevel, TextResult};
use mcp_sansio::{Answered, Instant, LogMessage, Progress, RequestHandle};

use super::{Result, Session};

/// The jobs that are under way: never more than requests can be in flight.
#[derive(Default)]
pub(super) struct Jobs(Vec<Job>);

struct Job {
    request: RequestHandle,
    /// When it wants to go on.
    wake: Instant,
    work: Work,
}

/// What there is to do, and how far it is.
pub(super) enum Work {
    /// Lets time pass and, if that is wanted, tells every 100 ms how much did.
    Slow { begun: Instant, lasts: Duration, report: bool },
    /// Reports 0, 50 and 100 of 100.
    Progress { done: u32 },
    /// Logs three messages.
    Logging { number: u32 },
    /// Answers a little later.
    Pause { until: Instant },
}

impl Jobs {
    /// Takes work on; its first step is done at once.
    pub(super) fn start(&mut self, request: RequestHandle, work: Work, session: &mut Session<'_, '_>) -> Result<()> {
        self.go_on(Job { request, wake: session.now(), work }, session)
    }

    /// When the next job wants to go on.
    pub(super) fn wake(&self) -> Option<Instant> {
        self.0.iter().map(|job| job.wake).min()
    }

    /// Does a step of each job whose time has come.
    pub(super) fn run(&mut self, session: &mut Session<'_, '_>) -> Result<()> {
        let now = session.now();
        let (due, later) = self.0.drain(..).partition(|job| job.wake <= now);
        self.0 = later;
        due.into_iter().try_for_each(|job: Job| self.go_on(job, session))
    }

    /// The client has cancelled: there is nothing to clean up.
    pub(super) fn drop_request(&mut self, request: RequestHandle) {
        self.0.retain(|job| job.request != request);
    }

    fn go_on(&mut self, mut job: Job, session: &mut Session<'_, '_>) -> Result<()> {
        if let Some(wake) = job.work.step(job.request, session)? {
            self.0.push(Job { wake, ..job });
        }
        Ok(())
    }
}

impl Work {
    /// Does what is to be done now. When the next step is due; none when the request has been answered.
    fn step(&mut self, request: RequestHandle, session: &mut Session<'_, '_>) -> Result<Option<Instant>> {
        let now = session.now();
        let (answered, next) = match self {
            Self::Slow { begun, lasts, report } => {
                let (ends, passed) = (begun.saturating_add(*lasts), now.saturating_duration_since(*begun));
                if now >= ends {
                    return finish(request, &format!("That took {} seconds", lasts.as_secs_f64()), session);
                }
                if !*report {
                    return Ok(Some(ends));
                }
                let progress = Progress::of(passed.as_secs_f64()).total(lasts.as_secs_f64());
                (session.progress(request, &progress)?, now.saturating_add(SLOW_STEP).min(ends))
            }
            // A step after the last report, too: some clients forget the token in the moment they see the answer.
            Self::Progress { done } if *done > 100 => return finish(request, "Reported 0, 50 and 100 of 100", session),
            Self::Progress { done } => {
                let progress = Progress::of(*done).total(100);
                *done += 50;
                (session.progress(request, &progress)?, now.saturating_add(STEP))
            }
            Self::Logging { number: 4.. } => return finish(request, "Logged three messages", session),
            Self::Logging { number } => {
                let said = format!("Message {number} of 3");
                *number += 1;
                let message = LogMessage::new(LoggingLevel::Info, &said).logger("everything-server");
                (session.log(request, &message)?, now.saturating_add(STEP))
            }
            Self::Pause { until } if now >= *until => return finish(request, "Here I am again", session),
            Self::Pause { until } => return Ok(Some(*until)),
        };
        // Nobody waits any more when it is gone.
        Ok((answered != Answered::Gone).then_some(next))
    }
}

fn finish(request: RequestHandle, text: &str, session: &mut Session<'_, '_>) -> Result<Option<Instant>> {
    session.respond(request, &TextResult::new(text)).map(|_| None)
}

const STEP: Duration = Duration::from_millis(50);
const SLOW_STEP: Duration = Duration::from_millis(100);
