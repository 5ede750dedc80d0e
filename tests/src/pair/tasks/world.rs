//! Both ends, the wires between them, and the clock.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use mcp_sansio::Revision;
use mcp_sansio::TaskGone;
use mcp_sansio::tasks::{TaskEnd, TasksConfig};
use serde_json::Value;

use super::Clock;
use super::client::{ClientEnd, Followed, Report};
use super::program::{Ended, Program, WORK_FAILED, Work};
use super::server::ServerEnd;
use crate::chaos::script::{Script, show};
use crate::line::Line;
use crate::pair::{Audit, Speaker};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Arrives,
    /// It is lost, and the connection stays.
    Lost,
    Doubled,
    /// The connection is lost after so many of its bytes.
    Cut(usize),
}

#[derive(Clone, Copy)]
pub struct Setting<'d> {
    /// The client's revisions: one for each connection, in turn.
    pub revisions: &'d [Revision],
    /// The size of the output buffers.
    pub room: usize,
    /// The largest number of bytes that arrive at once.
    pub chunk: usize,
    /// The time for which tasks are kept.
    pub ttl: Duration,
}

/// A client, a server, the wires between them, and a clock.
pub struct World<'d> {
    pub(crate) script: Script<'d>,
    setting: Setting<'d>,
    client: ClientEnd<'d>,
    server: ServerEnd<'d>,
    clock: Clock,
    audit: Audit,
    connections: usize,
    /// Each line about tasks: its direction, and its method, status, `ack`, or error.
    pub trace: Vec<String>,
    /// The connection is lost with the next line of this text.
    cut_at: Option<String>,
    /// The line of this number has this fate.
    fault_at: Option<(usize, Fate)>,
    pub lines: usize,
    is_cut: bool,
    /// Whether the script decides what becomes of lines.
    pub(crate) is_rough: bool,
    /// The time of the last fault.
    disturbed: u64,
}

impl<'d> World<'d> {
    /// A client that is connected to a server.
    pub fn new(setting: Setting<'d>, script: &'d [u8]) -> Self {
        let mut world = Self::unconnected(setting, Script::new(script));
        world.pump();
        world
    }

    pub(crate) fn unconnected(setting: Setting<'d>, script: Script<'d>) -> Self {
        let config = TasksConfig::new().ttl(setting.ttl).max_per_owner(4);
        let clock = Clock(Rc::new(Cell::new(1)));
        let mut client =
            ClientEnd::new(clock.clone(), script.clone(), setting.revisions[0], setting.room);
        client.connect();
        let program = Program::new(config, clock.clone());
        Self {
            server: ServerEnd::new(program, script.clone(), setting.room),
            script,
            setting,
            client,
            clock,
            audit: Audit::default(),
            connections: 0,
            trace: Vec::new(),
            cut_at: None,
            fault_at: None,
            lines: 0,
            is_cut: false,
            is_rough: false,
            disturbed: 0,
        }
    }

    /// The connection is lost with the next line that has this text in the trace.
    pub fn cut_at(&mut self, line: &str) {
        self.cut_at = Some(line.to_owned());
    }

    /// The line of this number, counted from 0, has this fate.
    pub fn fault_at(&mut self, line: usize, fate: Fate) {
        self.fault_at = Some((line, fate));
    }

    /// Calls the tool, unless the client has no connection or too many calls.
    pub fn call(&mut self, ttl: Option<Duration>) {
        _ = self.client.call(ttl);
        self.pump();
    }

    /// Wants to cancel the task of a call.
    pub fn cancel(&mut self, index: usize) {
        _ = self.client.cancel(index);
    }

    /// Listens to the task of a call (2026-07-28).
    pub fn listen(&mut self, index: usize) {
        _ = self.client.listen(index);
    }

    pub fn followed(&self) -> &[Followed] {
        &self.client.followed
    }

    pub fn works(&self) -> &[Work] {
        &self.server.program.works.0
    }

    pub fn ask(&mut self, index: usize) {
        if self.works().get(index).is_some_and(|work| work.ended.is_none()) {
            self.server.program.ask(index);
        }
    }

    pub fn end(&mut self, index: usize, end: TaskEnd) {
        if index < self.works().len() {
            self.server.program.end(index, end);
        }
    }

    /// The work ends as the client wants.
    pub fn end_if_cancelled(&mut self, index: usize) {
        let is_it = |work: &Work| work.is_cancelled && work.ended.is_none();
        if self.works().get(index).is_some_and(is_it) {
            self.end(index, TaskEnd::Cancelled);
        }
    }

    /// Something happens to the work.
    pub(crate) fn happen(&mut self) {
        self.server.program.happen(&self.script);
    }

    /// Runs until nothing is in transit and nothing is due.
    pub fn pump(&mut self) {
        for turn in 0.. {
            assert!(turn < 200_000, "the world does not rest");
            let chunk = self.chunk();
            self.client.settle();
            self.judge(Speaker::Client);
            let up = self.client.line.deliver(chunk, &mut self.server.rx);
            self.server.receive();
            self.server.settle();
            self.judge(Speaker::Server);
            let down = self.server.line.deliver(chunk, &mut self.client.rx);
            self.client.receive();
            if self.client.has_failed || self.is_cut && up + down == 0 {
                self.reconnect();
            } else if up + down == 0 && !self.client.line.is_busy() && !self.server.line.is_busy() {
                return;
            }
        }
    }

    fn chunk(&mut self) -> usize {
        match self.is_rough {
            true => *self.script.pick(&[usize::MAX, 300, 40, 7]),
            false => self.setting.chunk,
        }
    }

    fn line(&mut self, speaker: Speaker) -> &mut Line {
        match speaker {
            Speaker::Client => &mut self.client.line,
            Speaker::Server => &mut self.server.line,
        }
    }

    /// Decides what becomes of the lines that were written.
    fn judge(&mut self, speaker: Speaker) {
        for mut line in self.line(speaker).take_back() {
            self.audit.line(speaker, &line);
            show(format_args!("{speaker:?}: {}", String::from_utf8_lossy(&line)));
            let message: Value = serde_json::from_slice(&line).expect("the line is JSON");
            let text = describe(speaker, &message);
            let fate = self.fate(speaker, &message, text.as_deref());
            if fate != Fate::Arrives {
                show(format_args!("   {fate:?}"));
                self.client.is_disturbed = true;
                self.disturbed = self.clock.now();
            }
            if let Some(text) = text.filter(|_| !self.is_cut) {
                let what = match fate {
                    Fate::Arrives => "",
                    Fate::Lost => " (lost)",
                    Fate::Doubled => " (twice)",
                    Fate::Cut(_) => " (cut)",
                };
                self.trace.push(text + what);
            }
            line.push(b'\n');
            match fate {
                // What follows a lost connection is lost, too.
                _ if self.is_cut => {}
                Fate::Arrives => self.line(speaker).carry(&line),
                Fate::Lost => {}
                Fate::Doubled => self.line(speaker).carry(&line.repeat(2)),
                Fate::Cut(n) => {
                    self.line(speaker).carry(&line[..n.min(line.len() - 1)]);
                    self.is_cut = true;
                }
            }
            self.lines += 1;
        }
    }

    fn fate(&mut self, speaker: Speaker, message: &Value, text: Option<&str>) -> Fate {
        let is_request = message.get("method").is_some() && message.get("id").is_some();
        if let Some((_, fate)) = self.fault_at.filter(|(line, _)| *line == self.lines) {
            // No transport doubles a request, which would be another request.
            return if is_request && fate == Fate::Doubled { Fate::Arrives } else { fate };
        }
        if self.cut_at.take_if(|line| text == Some(line)).is_some() {
            return Fate::Cut(3);
        }
        if !self.is_rough {
            return Fate::Arrives;
        }
        let is_response = message.get("method").is_none();
        match self.script.below(64) {
            63 => Fate::Cut(self.script.below(256)),
            62 if is_response => Fate::Lost,
            60 | 61 if is_response && speaker == Speaker::Server => Fate::Doubled,
            _ => Fate::Arrives,
        }
    }

    /// The connection is lost, and a new one begins.
    pub fn reconnect(&mut self) {
        show(format_args!("   a new connection"));
        self.is_cut = false;
        self.connections += 1;
        self.disturbed = self.clock.now();
        let revisions = self.setting.revisions;
        let revision = revisions[self.connections % revisions.len()];
        let room = match self.is_rough {
            true => *self.script.pick(&ROOMS),
            false => self.setting.room,
        };
        self.audit = Audit::default();
        self.server.reconnect(room);
        self.client.reconnect(revision, room);
    }

    /// Lets time pass, with all that falls due meanwhile.
    pub fn wait(&mut self, ms: u64) {
        let end = self.clock.now() + ms;
        for turn in 0.. {
            assert!(turn < 20_000, "the clock stands still");
            self.pump();
            match self.next_timeout().filter(|next| *next <= end) {
                Some(next) => self.clock.0.set(next),
                None => break,
            }
        }
        self.clock.0.set(end);
        self.pump();
    }

    fn next_timeout(&mut self) -> Option<u64> {
        let client = self.client.next_timeout();
        let next = client.into_iter().chain(self.server.next_timeout()).min();
        // What is due now was handled just now.
        next.map(|next| next.max(self.clock.now() + 1))
    }

    /// Ends all work, waits until each call has ended and each task is gone, and compares the ends.
    pub fn finish(&mut self) {
        self.is_rough = false;
        show(format_args!("   the end"));
        let end = self.clock.now() + CALM;
        while let Some(open) = self.open_question() {
            assert!(self.clock.now() < end, "question {open} is still open");
            self.wait(1000);
        }
        self.server.program.finish(&self.script);
        let longest = self.works().iter().map(|work| work.ttl).max().unwrap_or_default();
        // Clients of a task are told for a minute that it has expired.
        self.wait(longest + 61_000);
        self.client.stop_listening();
        self.pump();
        self.client.is_over();
        self.server.is_over();
        for call in &self.client.followed {
            let (report, when) = call.report().expect("each call ends");
            let mut works = self.server.program.works.0.iter();
            let work = works.find(|work| work.label == call.label);
            self.compare(call, report, when, work);
        }
    }

    /// Returns an open question of a task that the client follows.
    fn open_question(&mut self) -> Option<String> {
        self.pump();
        let mut live = self.works().iter().filter(|work| work.ended.is_none());
        live.find_map(|work| {
            let mut calls = self.followed().iter().filter(|call| call.is_following());
            calls.find(|call| call.label == work.label)?;
            Some(format!("{} of call {}", work.open().next()?, work.label))
        })
    }

    /// Compares what the client was told with what happened.
    fn compare(&self, call: &Followed, report: &Report, when: u64, work: Option<&Work>) {
        let Some(work) = work.filter(|_| *report != Report::NoTask) else {
            return assert_eq!(*report, Report::NoTask);
        };
        let label = call.label;
        let (ended, at) = work.ended.expect("each task ends");
        let expires = work.created + work.ttl;
        let expected = match ended {
            Ended::By(TaskEnd::Completed) => Report::Done(work.text(), false),
            Ended::By(TaskEnd::ToolFailed) => Report::Done(work.text(), true),
            Ended::By(TaskEnd::Failed) => Report::Failed(-32603, WORK_FAILED.to_owned()),
            Ended::By(TaskEnd::Cancelled) => Report::Cancelled,
            Ended::Expired => Report::Failed(-32603, "The task has expired".to_owned()),
        };
        if let Report::Gone(gone) = report {
            assert!(matches!(gone, TaskGone::Expired | TaskGone::Unknown), "call {label}: {gone}");
            assert!(when >= expires, "call {label}: {gone} at {when}, not at {expires}");
            let quiet = at.max(self.disturbed) + CALM;
            assert!(quiet >= expires || ended == Ended::Expired, "call {label}: {ended:?} at {at}");
        } else {
            assert!(when >= at, "call {label} ended before its task");
            assert_eq!(*report, expected, "call {label}");
        }
    }
}

/// Long enough for the longest pause of a poll, and for a response that was lost.
const CALM: u64 = 200_000;

pub(crate) const ROOMS: [usize; 6] = [4096, 300, 100, 40, 16, 5];

/// Returns the line of the trace, if the message is about tasks.
fn describe(speaker: Speaker, message: &Value) -> Option<String> {
    let arrow = if speaker == Speaker::Client { '>' } else { '<' };
    let result = &message["result"];
    let what = if let Some(method) = message["method"].as_str() {
        if matches!(method, "initialize" | "notifications/initialized" | "server/discover") {
            return None;
        }
        let status = message["params"]["status"].as_str();
        status.map_or(method.to_owned(), |status| format!("{method} {status}"))
    } else if let Some(code) = message["error"]["code"].as_i64() {
        format!("error {code}")
    } else if let Some(status) = result["task"]["status"].as_str() {
        format!("task {status}")
    } else if let Some(status) = result["status"].as_str() {
        let is_created = result["resultType"] == "task";
        if is_created { format!("task {status}") } else { status.to_owned() }
    } else if result.get("action").is_some() {
        "response".to_owned()
    } else if result.get("content").is_some() {
        "result".to_owned()
    } else if result.get("capabilities").is_some() {
        return None;
    } else {
        "ack".to_owned()
    };
    Some(format!("{arrow} {what}"))
}
