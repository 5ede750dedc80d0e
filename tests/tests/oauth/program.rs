//! A program that drives the machine, and writes down what it does.

use std::sync::{Arc, Mutex};

use mcp_sansio::http::ResponseHead;
use mcp_sansio_oauth::{
    Attempts, Authorization, AuthorizationState, Lost, Reaction, Setup, Step, UnixTime,
};

use super::world::{Answer, Asked, ENDPOINT, REDIRECT, World, form};

/// A client with its store, and the trace of what it did.
pub(crate) struct Program<'s> {
    pub(crate) setup: Setup<'s>,
    pub(crate) state: AuthorizationState<Memory>,
    pub(crate) world: World,
    pub(crate) store: Option<Vec<u8>>,
    pub(crate) trace: Vec<String>,
    /// All that was shown: the `Debug` output of steps, and errors.
    pub(crate) shown: String,
    /// Outcomes in place of the answer to the n-th request of the machine.
    pub(crate) outcomes: Vec<(usize, Outcome)>,
    /// Requests that the machine has sent.
    pub(crate) sent: usize,
    pub(crate) redirect: &'static str,
    pub(crate) assertions: Vec<&'static str>,
    /// Answer to `AskClient`.
    pub(crate) asked_client: Option<&'static str>,
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Answer(Answer),
    Lost(Lost),
}

impl<'s> Program<'s> {
    pub(crate) fn new(setup: Setup<'s>) -> Self {
        Self {
            setup,
            state: AuthorizationState::new(Memory::new(16 << 10)),
            world: World::new(),
            store: None,
            trace: Vec::new(),
            shown: String::new(),
            outcomes: Vec::new(),
            sent: 0,
            redirect: REDIRECT,
            assertions: Vec::new(),
            asked_client: None,
        }
    }

    /// A program that has logged in, with an empty trace.
    pub(crate) fn logged_in(setup: Setup<'s>) -> Self {
        let mut program = Self::new(setup);
        program.log_in();
        program
    }

    /// Logs in, and forgets the trace of that.
    pub(crate) fn log_in(&mut self) {
        assert_eq!(self.request(), Ok(200));
        self.trace();
    }

    /// Starts the program again, with what is in its store.
    pub(crate) fn restart(&mut self) {
        self.state = AuthorizationState::new(Memory::new(16 << 10));
        if let Some(record) = &self.store {
            self.state.open(&self.setup).load(record).unwrap();
        }
    }

    /// Returns the trace since the last call.
    pub(crate) fn trace(&mut self) -> String {
        std::mem::take(&mut self.trace).join("\n")
    }

    /// Sends a request after a change of the servers, which succeeds.
    #[track_caller]
    pub(crate) fn succeeds_when(&mut self, change: impl FnOnce(&mut World)) {
        change(&mut self.world);
        assert_eq!(self.request(), Ok(200));
    }

    /// Sends a request after these seconds, which succeeds.
    #[track_caller]
    pub(crate) fn succeeds_after(&mut self, seconds: u64) {
        self.succeeds_when(|world| world.now += seconds);
    }

    /// Sends a request, which succeeds with the token that is there.
    #[track_caller]
    pub(crate) fn succeeds_at_once(&mut self) {
        assert_eq!(self.request(), Ok(200));
        assert_eq!(self.trace(), "mcp 200");
    }

    /// Sends a request, which succeeds after these lines of the trace.
    #[track_caller]
    pub(crate) fn succeeds_by(&mut self, lines: &str) {
        assert_eq!(self.request(), Ok(200));
        assert_eq!(self.trace(), format!("{lines}\nmcp 200"));
    }

    /// Calls the machine, which allocates nothing.
    pub(crate) fn machine<T>(&mut self, call: impl FnOnce(&mut Authorization<'_>) -> T) -> T {
        let (mut call, mut result) = (Some(call), None);
        let (state, setup) = (&mut self.state, &self.setup);
        let measured = allocation_counter::measure(|| {
            result = call.take().map(|call| call(&mut state.open(setup)));
        });
        assert_eq!(measured.count_total, 0);
        result.unwrap()
    }

    /// Begins a flow, and takes its steps until a person is shown another page.
    pub(crate) fn show_page(&mut self) {
        self.machine(|machine| machine.begin());
        let before = self.world.shown.len();
        while self.world.shown.len() == before {
            assert_eq!(self.step(), None);
        }
    }

    /// Sends an MCP request until it is answered, and returns its status.
    pub(crate) fn request(&mut self) -> Result<u16, String> {
        let mut attempts = Attempts::new();
        for _ in 0..20 {
            let now = Some(UnixTime::from_secs(self.world.now));
            if self.machine(|machine| machine.is_due(now)) {
                self.drive()?;
            }
            let mut fields = Vec::new();
            let generation = self.state.open(&self.setup).generation();
            let world = &mut self.world;
            let mut machine = self.state.open(&self.setup);
            machine
                .fields(now, &mut |out| world.random(out), "POST", ENDPOINT, &mut |name, value| {
                    fields.push((name.to_owned(), value.to_string()));
                })
                .map_err(|error| error.to_string())?;
            let method = "POST".to_owned();
            let asked = Asked { method, url: ENDPOINT.to_owned(), fields, body: String::new() };
            let answer = self.world.answer(asked);
            self.trace.push(format!("mcp {}", answer.status));
            let fields = &answer.borrowed()[..];
            let head = ResponseHead::new(answer.status, &fields);
            if !matches!(answer.status, 401 | 403) {
                self.machine(|machine| machine.observed(&head));
                return Ok(answer.status);
            }
            match self.machine(|machine| machine.challenged(&head, generation, &mut attempts)) {
                Reaction::SendAgain => {}
                Reaction::Authorize => self.drive()?,
                Reaction::Report => return Ok(answer.status),
            }
        }
        panic!("endless:\n{}", self.trace())
    }

    /// Takes steps until there is nothing to do.
    pub(crate) fn drive(&mut self) -> Result<(), String> {
        for _ in 0..60 {
            if let Some(end) = self.step() {
                return end;
            }
        }
        panic!("endless:\n{}", self.trace())
    }

    /// Takes one step.
    pub(crate) fn step(&mut self) -> Option<Result<(), String>> {
        let now = Some(UnixTime::from_secs(self.world.now));
        let (mut machine, world) = (self.state.open(&self.setup), &mut self.world);
        let mut step = None;
        let measured = allocation_counter::measure(|| {
            step = Some(machine.step(now, &mut |out| world.random(out)));
        });
        assert_eq!(measured.count_total, 0);
        let step = step.unwrap();
        self.shown += &format!("{step:?}\n");
        match step {
            Step::Ready => return Some(Ok(())),
            Step::Failed(failure) => {
                let failure = failure.to_string();
                self.trace.push(format!("failed: {failure}"));
                return Some(Err(failure));
            }
            Step::Send(request) => {
                let is_get = request.method() == "GET";
                assert_eq!(request.max_redirects(), if is_get { 3 } else { 0 });
                let mut fields = Vec::new();
                request.fields(&mut |name, value| {
                    fields.push((name.to_owned(), value.to_string()));
                });
                let asked = Asked {
                    method: request.method().to_owned(),
                    url: request.url().to_owned(),
                    fields,
                    body: String::from_utf8(request.body().to_vec()).unwrap(),
                };
                self.send(asked);
            }
            Step::Lock => {
                self.trace.push("lock".to_owned());
                let record = self.store.clone().unwrap_or_default();
                self.machine(|machine| machine.locked(Some(&record)));
            }
            Step::Redirect { .. } => {
                let redirect = self.redirect;
                self.machine(|machine| machine.redirect_uri(redirect));
            }
            Step::Show(url) => {
                let scope = form(url.split_once('?').unwrap().1, "scope");
                self.trace.push(format!("show {}", scope.as_deref().unwrap_or("-")));
                let query = self.world.agree(url);
                self.machine(|machine| machine.redirected(&query));
            }
            Step::AskClient { .. } => {
                self.trace.push("ask client".to_owned());
                match self.asked_client {
                    Some(id) => self.machine(|machine| machine.client(id, None)),
                    None => self.machine(|machine| machine.cancel()),
                }
            }
            Step::AskAssertion { audience, token_endpoint } => {
                self.trace.push(format!("ask assertion for {audience} at {token_endpoint}"));
                if self.assertions.is_empty() {
                    self.machine(|machine| machine.cancel());
                } else {
                    let assertion = self.assertions.remove(0);
                    self.machine(|machine| machine.assertion(assertion));
                }
            }
            Step::Keep => {
                self.trace.push("keep".to_owned());
                let mut record = vec![0; 17 << 10];
                let len = self.machine(|machine| machine.record(&mut record)).unwrap();
                record.truncate(len);
                self.store = Some(record);
            }
            Step::Forget => {
                self.trace.push("forget".to_owned());
                self.store = None;
            }
        }
        None
    }

    fn send(&mut self, asked: Asked) {
        let grant = if asked.method == "POST" { asked.form("grant_type") } else { None };
        let grant = grant.map_or(String::new(), |grant| format!(" {grant}"));
        let line = format!("{} {}{grant}", asked.method, asked.url);
        self.sent += 1;
        let planned = self.outcomes.iter().find(|(at, _)| *at + 1 == self.sent);
        let got = if let Some((_, outcome)) = planned {
            outcome.clone()
        } else if self.world.lost.first().is_some_and(|(url, _)| asked.url.starts_with(url)) {
            Outcome::Lost(self.world.lost.remove(0).1)
        } else {
            Outcome::Answer(self.world.answer(asked))
        };
        match got {
            Outcome::Answer(answer) => {
                self.trace.push(format!("{line} {}", answer.status));
                let now = Some(UnixTime::from_secs(self.world.now));
                let fields = &answer.borrowed()[..];
                let head = ResponseHead::new(answer.status, &fields);
                self.machine(|machine| machine.response(now, &head, &answer.body));
            }
            Outcome::Lost(lost) => {
                self.trace.push(format!("{line} {lost}"));
                self.machine(|machine| machine.failed(lost));
            }
        }
    }
}

/// The machine's memory, whose content can be looked at whenever a view is opened.
pub(crate) struct Memory {
    bytes: Box<[u8]>,
    seen: Option<Arc<Mutex<Vec<u8>>>>,
}

impl Memory {
    pub(crate) fn new(size: usize) -> Self {
        Self { bytes: vec![0; size].into(), seen: None }
    }

    /// Creates memory that copies what it has.
    pub(crate) fn observed(size: usize) -> (Self, Arc<Mutex<Vec<u8>>>) {
        let seen = Arc::new(Mutex::new(vec![0; size]));
        (Self { seen: Some(Arc::clone(&seen)), ..Self::new(size) }, seen)
    }
}

impl AsMut<[u8]> for Memory {
    fn as_mut(&mut self) -> &mut [u8] {
        if let Some(seen) = &self.seen {
            seen.lock().unwrap().copy_from_slice(&self.bytes);
        }
        &mut self.bytes
    }
}
