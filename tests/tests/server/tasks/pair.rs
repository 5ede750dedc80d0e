//! A client follows a task of a server through a line that loses and doubles messages, and through
//! connections that end, in both dialects, under one virtual clock.

use mcp_sansio::tasks::TaskEnd;
use mcp_sansio::types::{CallToolParams, Implementation, Task, TaskParams, UpdateTaskParams};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures, Era, Frame,
    Instant, Messages, PollStep, RawJson, Revision, Revisions, TaskPoll, TxBuffer, methods,
};
use mcp_sansio_tests::memory::new_client;
use serde_json::Value;

use super::rig::{BOTH, Dialect, ME, Rig};

const FEATURES: ClientFeatures = ClientFeatures::ELICITATION_FORM.with(ClientFeatures::TASKS);
static CLIENT: ClientConfig<'static> = ClientConfig::new(Implementation::new("c", "1"), FEATURES)
    .revisions(Revisions::only(Revision::V2025_11_25).with(Revisions::MODERN))
    .send_client_info(false);

/// What happens to one request in so many.
#[derive(Clone, Copy)]
struct Luck {
    lost: u64,
    doubled: u64,
    reconnects: u64,
}

struct Scene {
    rig: Rig,
    dialect: Dialect,
    number: usize,
    client: Client<'static>,
    random: u64,
    luck: Luck,
    /// Keys that the handler was called for.
    asked: Vec<String>,
    responses: Vec<String>,
    requests: usize,
    /// Time at which someone else cancels the task.
    cancels_at: Option<u64>,
}

#[derive(Debug)]
enum End {
    Done(String),
    Cancelled,
}

impl Scene {
    fn new(dialect: Dialect, seed: u64, luck: Luck) -> Self {
        let mut scene = Self {
            rig: Rig::new(dialect),
            dialect,
            number: 0,
            client: new_client::<8>(&CLIENT),
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            luck,
            asked: Vec::new(),
            responses: Vec::new(),
            requests: 0,
            cancels_at: None,
        };
        scene.connect();
        scene
    }

    /// Connects, to a connection of the server of its own.
    fn connect(&mut self) {
        self.client = new_client::<8>(&CLIENT);
        self.number = self.rig.connect(Dialect::T);
        let era = if self.dialect == Dialect::D { Era::Legacy } else { Era::Modern };
        self.client.set_era(Some(era));
        let mut tx = TxBuffer::with_limit(Vec::new(), 1 << 20);
        self.client.connect(self.now(), &mut tx).unwrap();
        for _ in 0..2 {
            let sent = text(&mut tx);
            for line in sent.lines() {
                for response in self.rig.hear(self.number, ME, line) {
                    self.hear(&response, &mut tx, &mut |_| ());
                }
            }
        }
        assert!(self.client.is_open());
    }

    fn now(&self) -> Instant {
        Instant::from_millis(self.rig.ms)
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn happens(&mut self, one_in: u64) -> bool {
        one_in > 0 && self.random() % one_in == 0
    }

    fn hear(
        &mut self,
        message: &Value,
        tx: &mut TxBuffer<Vec<u8>>,
        on_event: &mut dyn FnMut(&ClientEvent<'_>),
    ) {
        let line = message.to_string();
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        let now = self.now();
        while let Some(event) = self.client.next_event(now, &mut messages, tx).unwrap() {
            on_event(&event);
        }
    }

    /// Sends a request, which may be lost or doubled, as may its response. Hands its outcome on.
    fn request<R>(
        &mut self,
        send: impl FnOnce(&mut Client<'static>, Instant, &mut TxBuffer<Vec<u8>>) -> Call,
        take: impl Fn(&CallOutcome<'_>) -> R,
    ) -> R {
        self.requests += 1;
        let mut tx = TxBuffer::with_limit(Vec::new(), 1 << 20);
        let now = self.now();
        let call = send(&mut self.client, now, &mut tx);
        let sent = text(&mut tx);
        let mut responses = Vec::new();
        if !self.happens(self.luck.lost) {
            responses = self.rig.hear(self.number, ME, sent.trim_end());
        }
        if self.happens(self.luck.reconnects) {
            // The response may have been on its way.
            self.connect();
            return take(&CallOutcome::Closed);
        }
        let mut outcome = None;
        loop {
            let is_lost = self.happens(self.luck.lost);
            let is_doubled = self.happens(self.luck.doubled);
            for response in responses.iter().filter(|_| !is_lost) {
                for _ in 0..=u8::from(is_doubled) {
                    self.hear(response, &mut tx, &mut |event| match event {
                        ClientEvent::CallFinished { call: of, outcome: ended } if *of == call => {
                            assert!(outcome.is_none(), "a call ends once");
                            outcome = Some(take(ended));
                        }
                        ClientEvent::Violation(_) => assert!(is_doubled),
                        other => panic!("{other:?}"),
                    });
                }
            }
            if let Some(outcome) = outcome {
                return outcome;
            }
            // The result of a task comes when it has ended.
            self.pass(1000);
            responses = self.rig.late(self.number);
            let now = self.now();
            while let Some(event) = self.client.handle_timeout(now, &mut tx).unwrap() {
                let ClientEvent::CallFinished { outcome: CallOutcome::TimedOut, .. } = event else {
                    panic!("{event:?}")
                };
                outcome = Some(take(&CallOutcome::TimedOut));
            }
            // `tasks/result` has no timeout: its connection ends at last.
            if outcome.is_none() && now > Instant::from_millis(400_000) {
                self.connect();
                return take(&CallOutcome::Closed);
            }
            for line in text(&mut tx).lines() {
                self.rig.hear(self.number, ME, line);
            }
        }
    }

    /// The program of the server: asks at 3 s and at 9 s, and ends at 20 s.
    fn pass(&mut self, ms: u64) {
        let before = self.rig.ms;
        assert_eq!(self.rig.wait(ms), [] as [&str; 0]);
        let passes = |at: u64| before < at && at <= before + ms;
        let is_t = self.dialect == Dialect::T;
        for at in [3000, 9000] {
            if passes(at) && is_t {
                self.rig.input(ID);
            }
        }
        let key = self.rig.key(ID);
        if self.cancels_at.is_some_and(passes) {
            let time = self.rig.time();
            self.rig.tasks().end(key, TaskEnd::Cancelled, time);
        }
        // A task whose inputs are open does not end.
        let info = self.rig.tasks().info(key).unwrap();
        if self.rig.ms >= 20_000 && info.is_live() && info.open_inputs().next().is_none() {
            let end = if self.rig.ms % 7 == 0 { TaskEnd::ToolFailed } else { TaskEnd::Completed };
            assert!(self.rig.end(ID, end, r#"{"content":[{"type":"text","text":"late"}]}"#));
        }
    }

    fn play(&mut self) -> End {
        let revision = match self.dialect {
            Dialect::D => Revision::V2025_11_25,
            Dialect::T => Revision::LATEST,
        };
        // The call itself is not lost: nobody would know of the task.
        let luck = std::mem::replace(&mut self.luck, Luck { lost: 0, doubled: 0, reconnects: 0 });
        let (now, random) = (self.now(), self.random() as u32);
        let mut poll: TaskPoll<2> = self.request(
            |client, now, tx| {
                let options = CallOptions::new().task(None);
                let params = CallToolParams::new("may");
                client.request(now, methods::TOOLS_CALL, &params, options, tx).unwrap()
            },
            |outcome| {
                let CallOutcome::Task(task) = outcome else { panic!("{outcome:?}") };
                TaskPoll::new(now, random, revision, &task.to::<Task<'_>>().unwrap())
            },
        );
        self.luck = luck;
        let mut step = Said::of(poll.next(self.now()));
        loop {
            let method = match step {
                Said::Send(method) => method,
                Said::Sleep(until) => {
                    self.pass(until.saturating_sub(self.rig.ms));
                    step = Said::of(poll.next(self.now()));
                    continue;
                }
                Said::End(end) => return end,
                Said::Input(keys) => {
                    self.responses.clone_from(&keys);
                    self.asked.extend(keys);
                    step = Said::of(poll.next(self.now()));
                    continue;
                }
            };
            let answer = |key: &String| format!("\"{key}\":{{\"action\":\"decline\"}}");
            let answers: Vec<String> = self.responses.iter().map(answer).collect();
            let answers = format!("{{{}}}", answers.join(","));
            let outcome = self.request(
                |client, now, tx| {
                    let options = CallOptions::new();
                    if method == methods::TASKS_UPDATE {
                        let params = UpdateTaskParams::new(ID, RawJson::parse(&answers).unwrap());
                        return client.request(now, method, &params, options, tx).unwrap();
                    }
                    client.request(now, method, &TaskParams::new(ID), options, tx).unwrap()
                },
                |outcome| match outcome {
                    CallOutcome::Result(result) => Some(result.to_string()),
                    CallOutcome::TimedOut | CallOutcome::Closed => None,
                    other => panic!("{other:?}"),
                },
            );
            let (now, random) = (self.now(), self.random() as u32);
            let outcome = match &outcome {
                Some(result) => CallOutcome::Result(RawJson::parse(result).unwrap()),
                None => CallOutcome::TimedOut,
            };
            let said = poll.on_outcome(now, random, &outcome);
            let keys = match said {
                PollStep::Input(requests) => requests.members().map(|(key, _)| key).collect(),
                _ => Vec::new(),
            };
            step = Said::of(said);
            if let Said::Input(new) = &mut step {
                *new = Vec::new();
                for key in keys {
                    if !poll.is_answered(key) {
                        new.push(key.to_string());
                        poll.answered(key);
                    }
                }
            }
        }
    }
}

/// A step without its data.
#[derive(Debug)]
enum Said {
    Send(&'static str),
    Sleep(u64),
    Input(Vec<String>),
    End(End),
}

impl Said {
    fn of(step: PollStep<'_>) -> Self {
        match step {
            PollStep::Get => Self::Send(methods::TASKS_GET),
            PollStep::Result => Self::Send(methods::TASKS_RESULT),
            PollStep::Update => Self::Send(methods::TASKS_UPDATE),
            PollStep::Sleep(until) => Self::Sleep(until.as_millis()),
            PollStep::Input(_) => Self::Input(Vec::new()),
            PollStep::Done(result) => Self::End(End::Done(result.to_string())),
            PollStep::Cancelled => Self::End(End::Cancelled),
            other => panic!("{other:?}"),
        }
    }
}

/// The id of the first task of the rig.
const ID: &str = "01010101010101010101010101010101";

fn text(tx: &mut TxBuffer<Vec<u8>>) -> String {
    let text = std::str::from_utf8(tx.pending()).unwrap().to_owned();
    tx.advance(usize::MAX);
    text
}

fn play(dialect: Dialect, seed: u64, luck: Luck) -> Scene {
    let mut scene = Scene::new(dialect, seed, luck);
    let End::Done(result) = scene.play() else { panic!("{dialect:?} {seed}: it was cancelled") };
    assert!(result.contains("late"), "{dialect:?} {seed}: {result}");
    let expected: &[&str] = if dialect == Dialect::T { &["1", "2"] } else { &[] };
    assert_eq!(scene.asked, expected, "{dialect:?} {seed}: each key is asked for once");
    // A task that nobody asks for any more goes with its time.
    scene.rig.wait(3_600_000);
    assert!(scene.rig.tasks().is_empty());
    scene
}

#[test]
fn a_client_and_a_server_bring_a_task_to_its_end() {
    for dialect in BOTH {
        let scene = play(dialect, 1, Luck { lost: 0, doubled: 0, reconnects: 0 });
        // Once a second, as the server suggests, and the call itself.
        assert!((18..=22).contains(&scene.requests), "{}", scene.requests);
    }
}

#[test]
fn tex_66_a_task_ends_once_whatever_the_line_loses_doubles_or_cuts() {
    for dialect in BOTH {
        for seed in 0..300 {
            for luck in [
                Luck { lost: 3, doubled: 0, reconnects: 0 },
                Luck { lost: 0, doubled: 2, reconnects: 0 },
                // At each step.
                Luck { lost: 0, doubled: 0, reconnects: 2 },
                Luck { lost: 5, doubled: 4, reconnects: 6 },
            ] {
                play(dialect, seed, luck);
            }
        }
    }
}

#[test]
fn tsk_42_a_task_that_is_cancelled_meanwhile_is_cancelled_for_its_client() {
    for dialect in BOTH {
        for at in [0, 1, 2] {
            let none = Luck { lost: 0, doubled: 0, reconnects: 0 };
            let mut scene = Scene::new(dialect, 1, none);
            scene.cancels_at = Some(at * 4000 + 500);
            let end = scene.play();
            assert!(matches!(end, End::Cancelled), "{end:?}");
            let (key, time) = (scene.rig.key(ID), scene.rig.time());
            assert!(!scene.rig.tasks().end(key, TaskEnd::Completed, time), "it stays cancelled");
        }
    }
}
