//! The server's program: its tasks and their work, which outlive each connection.

use std::collections::BTreeMap;

use mcp_sansio::tasks::{
    TaskContent, TaskEnd, TaskError, TaskId, TaskKey, TaskOwner, TaskTimeout, Tasks, TasksConfig,
    TasksState,
};
use mcp_sansio::types::{CallToolResult, ContentBlock};
use mcp_sansio::{Encode as _, Encoder, RawJson, RpcError};

use super::client::MAX_OPEN;
use super::{Clock, question};
use crate::chaos::script::{Script, show};

/// The one client of the program.
pub(super) const OWNER: TaskOwner = TaskOwner(1);

pub struct Program {
    pub(super) clock: Clock,
    state: TasksState<4>,
    pub(super) config: TasksConfig,
    /// All work that was ever begun.
    pub works: Works,
    /// Tasks whose clients are to be told.
    pub(super) changed: Vec<TaskKey>,
}

/// The work of tasks, in the order of their creation. It is kept for good.
#[derive(Default)]
pub struct Works(pub Vec<Work>);

pub struct Work {
    /// The number of the call.
    pub label: u64,
    pub(super) key: TaskKey,
    pub created: u64,
    /// The time for which the task is kept.
    pub ttl: u64,
    pub ended: Option<(Ended, u64)>,
    pub is_cancelled: bool,
    /// The input requests, by their numbers, and whether there was a response.
    pub asked: BTreeMap<u32, bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// By its work, or by the client.
    By(TaskEnd),
    /// Its time was over.
    Expired,
}

impl Program {
    pub(super) fn new(config: TasksConfig, clock: Clock) -> Self {
        let (state, works) = (TasksState::new(), Works(Vec::new()));
        Self { clock, state, config, works, changed: Vec::new() }
    }

    pub(super) fn tasks(&mut self) -> Tasks<'_> {
        self.state.tasks(&self.config)
    }

    pub(super) fn create(&mut self, label: u64, ttl_ms: Option<u64>) -> Result<TaskKey, TaskError> {
        let mut id = [0xa5; 16];
        id[..8].copy_from_slice(&(self.works.0.len() as u64 + 1).to_le_bytes());
        let (created, now) = (self.clock.now(), self.clock.time());
        let mut tasks = self.tasks();
        let key = tasks.create(now, TaskId::new(id), OWNER, ttl_ms)?;
        let ttl = tasks.info(key).expect("it was just created").ttl_ms();
        let (ended, asked) = (None, BTreeMap::new());
        let work = Work { label, key, created, ttl, ended, is_cancelled: false, asked };
        self.works.0.push(work);
        Ok(key)
    }

    pub fn ask(&mut self, index: usize) {
        let (key, now) = (self.works.0[index].key, self.clock.time());
        let Some(number) = self.tasks().ask(now, key) else { return };
        let work = &mut self.works.0[index];
        assert!(work.ended.is_none() && work.asked.insert(number, false).is_none());
        self.changed.push(key);
        show(format_args!("   work {index} asks {number}"));
    }

    /// The tool does not need an input any more.
    pub(super) fn withdraw(&mut self, index: usize, number: u32) {
        let (key, now) = (self.works.0[index].key, self.clock.time());
        if self.tasks().withdraw(now, key, number) {
            show(format_args!("   work {index} withdraws {number}"));
            // A response would come too late.
            self.works.0[index].asked.insert(number, true);
            self.changed.push(key);
        }
    }

    /// The work says how far it is.
    pub fn say(&mut self, index: usize, message: &str) {
        let (key, now) = (self.works.0[index].key, self.clock.time());
        if self.tasks().set_message(now, key, &message) {
            self.changed.push(key);
        }
    }

    /// The work ends, perhaps too late.
    pub fn end(&mut self, index: usize, end: TaskEnd) {
        let (key, now) = (self.works.0[index].key, self.clock.time());
        let did_end = self.tasks().end(now, key, end);
        assert_eq!(did_end, self.works.0[index].ended.is_none(), "a task ends once");
        if did_end {
            self.ended(key, Ended::By(end));
        }
    }

    pub(super) fn ended(&mut self, key: TaskKey, ended: Ended) {
        let now = self.clock.now();
        let work = self.works.find_mut(key);
        assert!(work.ended.replace((ended, now)).is_none(), "a task ends once");
        show(format_args!("   work of call {} ended: {ended:?}", work.label));
        self.changed.push(key);
    }

    /// Handles the times of tasks that are over.
    pub(super) fn handle_timeouts(&mut self) {
        let now = self.clock.time();
        while let Some(timeout) = self.tasks().handle_timeout(now) {
            match timeout {
                TaskTimeout::Expired(key) => self.ended(key, Ended::Expired),
                TaskTimeout::Gone(key) => assert!(self.works.find(key).ended.is_some()),
            }
        }
    }

    pub(super) fn next_timeout(&mut self) -> Option<u64> {
        self.tasks().poll_timeout().map(|at| at.as_millis())
    }

    /// Takes a response to an input request, which was closed for it.
    pub(super) fn answer(&mut self, key: TaskKey, number: u32, response: RawJson<'_>) {
        let work = self.works.find_mut(key);
        let said = response.get("content").and_then(|content| content.get("said"));
        let said = said.and_then(RawJson::as_string).expect("what the client said");
        assert!(said == question(work.label, number).as_str(), "{said:?} for {number}");
        let was_answered = work.asked.insert(number, true);
        assert_eq!(was_answered, Some(false), "input {number} has one response");
        self.changed.push(key);
    }

    /// Something happens to a task.
    pub(super) fn happen(&mut self, script: &Script<'_>) {
        if self.works.0.is_empty() {
            return;
        }
        let index = script.below(self.works.0.len());
        match script.below(10) {
            0 => {}
            1..=3 if self.works.0[index].open().count() < MAX_OPEN => self.ask(index),
            4 => self.say(index, &self.clock.now().to_string()),
            5 => self.withdraw(index, 1 + script.below(4) as u32),
            // Most of what a client wants to cancel is cancelled.
            6 if self.works.0[index].is_cancelled => self.end(index, TaskEnd::Cancelled),
            _ if script.once_in(2) => self.end(index, *script.pick(&ENDS)),
            _ => {}
        }
    }

    /// Everything that still runs ends.
    pub(super) fn finish(&mut self, script: &Script<'_>) {
        for index in 0..self.works.0.len() {
            if self.works.0[index].ended.is_none() {
                self.end(index, *script.pick(&ENDS));
            }
        }
    }
}

const ENDS: [TaskEnd; 4] =
    [TaskEnd::Completed, TaskEnd::ToolFailed, TaskEnd::Failed, TaskEnd::Cancelled];

impl Works {
    pub(super) fn find(&self, key: TaskKey) -> &Work {
        self.0.iter().find(|work| work.key == key).expect("each task has work")
    }

    fn find_mut(&mut self, key: TaskKey) -> &mut Work {
        self.0.iter_mut().find(|work| work.key == key).expect("each task has work")
    }

    /// The tool was told that its task is cancelled.
    pub(super) fn cancel(&mut self, key: TaskKey) {
        self.find_mut(key).is_cancelled = true;
    }
}

impl Work {
    pub fn text(&self) -> String {
        format!("result of call {} ", self.label).repeat(8)
    }

    /// The questions without a response.
    pub(super) fn open(&self) -> impl Iterator<Item = u32> {
        self.asked.iter().filter(|(_, is_answered)| !**is_answered).map(|(number, _)| *number)
    }
}

impl TaskContent for Works {
    fn result(&self, task: TaskKey, to: &mut Encoder<'_>) {
        let work = self.find(task);
        let text = work.text();
        let is_error = matches!(work.ended, Some((Ended::By(TaskEnd::ToolFailed), _)));
        CallToolResult::new(&[ContentBlock::text(&text)]).is_error(is_error).encode(to);
    }

    fn error(&self, _: TaskKey) -> RpcError<'_> {
        RpcError::internal(WORK_FAILED)
    }

    fn input_request(&self, task: TaskKey, number: u32, to: &mut Encoder<'_>) {
        let message = question(self.find(task).label, number);
        let request = format!(
            r#"{{"method":"elicitation/create","params":{{"mode":"form","message":"{message}","requestedSchema":{{"type":"object","properties":{{"said":{{"type":"string"}}}}}}}}}}"#
        );
        to.raw(RawJson::parse(&request).expect("JSON"));
    }
}

pub(super) const WORK_FAILED: &str = "The work failed";
