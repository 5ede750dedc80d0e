//! A recorder with a log in flash, which is erased as a task: a client calls the tool, gets a task
//! in place of the result, and asks for its status now and then. The task asks the person first,
//! and can be cancelled between two pages. Clients that know no tasks wait for the result.
//!
//! `microbit/src/bin/recorder.rs` serves it on the serial line of a micro:bit.
#![no_std]
#![forbid(unsafe_code)]

mod job;
mod line;
mod tools;

pub use line::{Line, open};

use core::time::Duration;

use mcp_sansio::tasks::{TaskContent, TaskKey, TasksConfig, TasksState};
use mcp_sansio::{ClientFeatures, ClientRequest, Encode, Encoder, Instant, RequestHandle};

use job::Job;
use tools::{End, QUESTION};

/// The flash of the log, and the source of the ids of tasks.
pub trait Flash {
    /// Returns whether nothing is recorded on this page, 0 to [`PAGES`] - 1.
    fn is_blank(&mut self, page: u8) -> bool;
    /// Erases this page.
    fn erase(&mut self, page: u8);
    /// Returns random bytes, which cannot be guessed.
    fn random(&mut self) -> [u8; 16];
}

/// Number of pages of the log.
pub const PAGES: u8 = 16;
/// Number of tasks that are kept: one that runs, and results of earlier ones.
const KEPT: usize = 4;
/// Number of requests in flight.
const IN_FLIGHT: usize = 4;
static TASKS: TasksConfig = TasksConfig::new()
    .ttl(Duration::from_secs(120))
    .max_ttl(Duration::from_secs(600))
    .poll_interval(Duration::from_millis(200));

/// The recorder.
#[derive(Debug)]
pub struct Recorder<F> {
    flash: F,
    tasks: TasksState<KEPT>,
    /// The flash controller does one thing at a time, so there is one job.
    job: Option<Job>,
    ends: Ends,
    /// Requests that wait for the end of a task (2025-11-25).
    waiting: [Option<(TaskKey, RequestHandle)>; IN_FLIGHT],
}

impl<F: Flash> Recorder<F> {
    /// Creates a recorder without tasks.
    pub const fn new(flash: F) -> Self {
        Self {
            flash,
            tasks: TasksState::new(),
            job: None,
            ends: Ends([End::NONE; KEPT]),
            waiting: [None; IN_FLIGHT],
        }
    }

    /// Returns when there is work to do.
    fn due(&mut self) -> Option<Instant> {
        let due = self.job.as_ref().and_then(Job::due);
        [due, self.tasks.tasks(&TASKS).poll_timeout()].into_iter().flatten().min()
    }
}

/// How the tasks have ended, by their place in the table.
#[derive(Debug)]
struct Ends([End; KEPT]);

impl TaskContent for Ends {
    fn result(&self, task: TaskKey, to: &mut Encoder<'_>) {
        if let Some(end) = self.0.get(task.index()) {
            end.encode(to);
        }
    }

    fn input_request(&self, _: TaskKey, _: u32, to: &mut Encoder<'_>) {
        ClientRequest::from(&QUESTION).encode(to);
    }

    fn needs(&self, _: TaskKey, _: u32) -> ClientFeatures {
        ClientFeatures::ELICITATION_FORM
    }
}
