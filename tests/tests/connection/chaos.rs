//! Random conversations of two connections from a seed: `CONNECTION_SEED=7` plays that one alone.

use std::collections::VecDeque;
use std::time::Duration;

use mcp_sansio::types::{CallToolParams, Implementation};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientFeatures,
    ClientRequest, ClientState, Connection, Era, GrowingClientState, GrowingServerState, Memory,
    Outcome, RawJson, RequestHandle, RxBuffer, SendError, ServerConfig, ServerEvent,
    ServerFeatures, ServerState, Spare, Step, Tx, TxBuffer,
};
use mcp_sansio_tests::random::Random;

use crate::world::{OfServer, Reply, at};

/// A long list of roots.
struct Roots(String);

impl Outcome<Client<'_>> for Roots {
    fn send(
        &self,
        client: &mut Client<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        client.respond_raw(request, RawJson::parse(&self.0).expect("JSON"), tx)
    }
}

/// One direction of the line, which holds `room` bytes.
struct Way {
    bytes: VecDeque<u8>,
    room: usize,
}

impl Way {
    fn new(room: usize) -> Self {
        Self { bytes: VecDeque::new(), room }
    }

    fn write(&mut self, bytes: &[u8], piece: usize) -> usize {
        let n = piece.min(bytes.len()).min(self.room - self.bytes.len());
        self.bytes.extend(&bytes[..n]);
        n
    }

    fn read(&mut self, mut spare: Spare<'_>, piece: usize) -> usize {
        let n = piece.min(spare.spare().len()).min(self.bytes.len());
        for (to, from) in spare.spare().iter_mut().zip(self.bytes.drain(..n)) {
            *to = from;
        }
        spare.commit(n);
        n
    }
}

/// The choices of a run. Without a seed everything happens at once, in large pieces.
struct Script(Option<Random>);

impl Script {
    fn of(seed: u64) -> Self {
        Self(Some(Random::new(seed)))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.as_mut().map_or(0, |random| random.below(n))
    }

    /// Returns `true` once in `n` times, without a seed always.
    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn piece(&mut self) -> usize {
        [usize::MAX, 1, 1, 3, 17, 300][self.below(6)]
    }
}

/// What happens in a conversation, whatever the buffers and the pieces are.
#[derive(Debug)]
struct Plan {
    era: Era,
    /// Lengths of the arguments and of the results.
    calls: Vec<(usize, usize)>,
    /// Whether each handler asks for roots before it responds.
    asks: bool,
    /// Length of the roots.
    roots: usize,
    /// Size of the server's receive buffer: longer lines are refused.
    longest: usize,
    /// Whether calls are cancelled and time out.
    is_troubled: bool,
    /// Number of bytes after which the client's output ends.
    cut: Option<usize>,
}

impl Plan {
    fn new(script: &mut Script) -> Self {
        let era = [Era::Legacy, Era::Modern][script.below(2)];
        let lengths = [0, 10, 200, LONGEST - 200, 2 * LONGEST];
        let mut length = || lengths[script.below(5)] + script.below(50);
        let calls = (0..6).map(|_| (length(), length())).collect();
        Self {
            era,
            calls,
            asks: era == Era::Legacy && script.once_in(2),
            roots: LONGEST / 2,
            longest: LONGEST,
            is_troubled: script.once_in(3),
            cut: script.once_in(5).then(|| script.below(3000)),
        }
    }

    /// Whether each run has the same lines.
    fn is_calm(&self) -> bool {
        !self.is_troubled && self.cut.is_none()
    }
}

/// An operation of the client, which is repeated until it succeeds.
#[derive(Clone, Copy)]
enum Op {
    Connect,
    Call(usize),
    Cancel(Call),
}

struct Run<'p> {
    plan: &'p Plan,
    script: Script,
    now: u64,
    op: Option<Op>,
    is_open: bool,
    /// Number of calls made.
    made: usize,
    calls: Vec<(Call, usize)>,
    /// Requests whose handlers run.
    jobs: Vec<(RequestHandle, usize)>,
    /// Handlers that have yet to ask.
    asks: Vec<(RequestHandle, usize)>,
    /// Requests that were cancelled or have timed out.
    gone: Vec<RequestHandle>,
    /// Lines of the client and of the server.
    lines: [Vec<u8>; 2],
}

impl<'p> Run<'p> {
    fn new(plan: &'p Plan, script: Script) -> Self {
        Self {
            plan,
            script,
            now: 0,
            op: Some(Op::Connect),
            is_open: false,
            made: 0,
            calls: Vec::new(),
            jobs: Vec::new(),
            asks: Vec::new(),
            gone: Vec::new(),
            lines: [Vec::new(), Vec::new()],
        }
    }

    fn client_event(&mut self, event: ClientEvent<'_>) -> Option<(RequestHandle, Roots)> {
        match event {
            ClientEvent::Connected(_) => self.is_open = true,
            ClientEvent::Request(request) => {
                let long = "r".repeat(self.plan.roots);
                let roots = format!(r#"{{"roots":[],"_meta":{{"x":"{long}"}}}}"#);
                return Some((request.handle, Roots(roots)));
            }
            ClientEvent::CallFinished { call, outcome } => {
                let found = self.calls.iter().position(|open| open.0 == call);
                let (_, at) = self.calls.remove(found.expect("a call ends once"));
                let (sent, received) = self.plan.calls[at];
                match outcome {
                    CallOutcome::Result(result) => {
                        assert!(result.as_str().contains(&result_text(at, received)));
                    }
                    CallOutcome::Error(_) => assert!(self.plan.is_troubled || sent > LONGEST / 2),
                    _ => assert!(self.plan.is_troubled || self.plan.cut.is_some(), "{outcome:?}"),
                }
            }
            event => assert!(!self.plan.is_calm(), "{event:?}"),
        }
        None
    }

    fn server_event(&mut self, event: &ServerEvent<'_>) {
        match event {
            ServerEvent::Request(request) => {
                let name = request.name().expect("a tool").to_string();
                let job = (request.handle, name[1..].parse().expect("a number"));
                if self.plan.asks { self.asks.push(job) } else { self.jobs.push(job) }
            }
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                self.jobs.retain(|job| job.0 != *request);
                self.gone.push(*request);
            }
            ServerEvent::CallFinished { outcome: CallOutcome::Result(roots), .. } => {
                assert!(roots.as_str().len() > self.plan.roots);
            }
            _ => {}
        }
    }

    /// Plays the conversation. Returns the lines of both ends, in alphabetical order.
    fn play(mut self) -> [Vec<String>; 2] {
        if self.script.once_in(2) {
            self.play_on(ClientState::<4>::new(), ServerState::<4, 0>::new())
        } else {
            self.play_on(GrowingClientState::new(4), GrowingServerState::new(4, 0))
        }
    }

    fn play_on<C, S>(mut self, client: C, server: S) -> [Vec<String>; 2]
    where
        C: for<'f> Memory<
                Config<'f> = ClientConfig<'f>,
                Machine<'f> = Client<'f>,
                Event<'f> = ClientEvent<'f>,
            > + 'static,
        S: OfServer,
    {
        let timeout = Duration::from_millis(if self.plan.is_troubled { 300 } else { 1 << 30 });
        let server_config = ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS)
            .request_timeout(timeout);
        let client_config = ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::ROOTS)
            .call_timeout(timeout * 2);
        let tx =
            |script: &mut Script| TxBuffer::new(vec![0; [4096, 1, 16, 64, 300][script.below(5)]]);
        let rx = RxBuffer::with_limit(vec![0; 64], 1 << 20);
        let mut client: Connection<'_, _, _, _, Roots, 4> =
            Connection::new(&client_config, client, rx, tx(&mut self.script));
        let rx = RxBuffer::new(vec![0; self.plan.longest]);
        let mut server: Connection<'_, _, _, _, Reply, 4> =
            Connection::new(&server_config, server, rx, tx(&mut self.script));
        client.turn(at(0)).parts().0.set_era(Some(self.plan.era));
        let room = [1 << 16, 1, 9, 500][self.script.below(4)];
        let (mut up, mut down) = (Way::new(room), Way::new(room));
        let (mut ended, mut closed) = ([false; 2], [false; 2]);
        for _ in 0..1_000_000 {
            let now = at(self.now);
            if self.op.is_none() && self.is_open && !ended[0] {
                let script = &mut self.script;
                if self.plan.is_troubled && !self.calls.is_empty() && script.once_in(40) {
                    self.op = Some(Op::Cancel(self.calls[script.below(self.calls.len())].0));
                } else if self.made < self.plan.calls.len()
                    && self.calls.len() < 4
                    && script.once_in(5)
                {
                    self.op = Some(Op::Call(self.made));
                }
            }
            if let Some(op) = self.op {
                let mut turn = client.turn(now);
                let (machine, tx) = turn.parts();
                let done = match op {
                    Op::Connect => {
                        machine.connect(now, tx).map(|()| self.is_open = machine.is_open())
                    }
                    Op::Cancel(call) => machine.cancel_call(call, None, tx).map(|()| {
                        self.calls.retain(|open| open.0 != call);
                    }),
                    Op::Call(number) => {
                        let json =
                            format!(r#"{{"x":"{}"}}"#, "a".repeat(self.plan.calls[number].0));
                        let name = format!("t{number}");
                        let arguments = RawJson::parse(&json).expect("JSON");
                        let params = CallToolParams::new(&name).arguments(arguments);
                        let options = CallOptions::new();
                        machine.request(now, "tools/call", &params, options, tx).map(|call| {
                            self.calls.push((call, number));
                            self.made += 1;
                        })
                    }
                };
                match done {
                    Ok(()) => self.op = None,
                    Err(error) => {
                        assert!(error == SendError::Full || !self.plan.is_calm(), "{error:?}")
                    }
                }
            }
            if let Some((request, number)) = self.asks.first().copied() {
                let mut turn = server.turn(now);
                let (machine, tx) = turn.parts();
                // What has begun is finished, even if its request has ended.
                // Without an end of its input the client would respond.
                let waits = match machine.request(now, ClientRequest::roots(), tx) {
                    Err(SendError::TooManyCalls) => self.plan.cut.is_none(),
                    result => matches!(result, Err(SendError::Full)),
                };
                if !waits {
                    self.asks.remove(0);
                    if machine.is_request_open(request) {
                        self.jobs.push((request, number));
                    }
                }
            }
            if !self.jobs.is_empty() && self.script.once_in(20) {
                let at = self.script.below(self.jobs.len());
                let (request, number) = self.jobs.remove(at);
                let text = result_text(number, self.plan.calls[number].1);
                assert!(server.answer(request, Reply::Text(text)).is_ok());
            }
            if !self.gone.is_empty() && self.script.once_in(30) {
                let _ = server.answer(self.gone.remove(0), Reply::Error);
            }
            if self.plan.is_troubled && self.script.once_in(50) {
                self.now += self.script.below(60) as u64;
            }
            let mut moved = false;
            match client.next(now) {
                Step::Event(event, mut turn) => {
                    moved = true;
                    if let Some((request, roots)) = self.client_event(event) {
                        assert!(turn.answer(request, roots).is_ok());
                    }
                }
                Step::Again => moved = true,
                Step::Io { write, read, .. } => {
                    let got = down.read(read, self.script.piece());
                    let mut n = self.script.piece();
                    if let Some(cut) = self.plan.cut {
                        n = n.min(cut.saturating_sub(self.lines[0].len()));
                    }
                    let n = up.write(write, n);
                    self.lines[0].extend_from_slice(&write[..n]);
                    client.wrote(n);
                    moved |= got + n > 0;
                }
                Step::Closed => closed[0] = true,
            }
            match server.next(now) {
                Step::Event(event, _) => {
                    moved = true;
                    self.server_event(&event);
                }
                Step::Again => moved = true,
                Step::Io { write, read, .. } => {
                    let got = up.read(read, self.script.piece());
                    let n = down.write(write, self.script.piece());
                    self.lines[1].extend_from_slice(&write[..n]);
                    server.wrote(n);
                    moved |= got + n > 0;
                }
                Step::Closed => closed[1] = true,
            }
            let is_cut = self.plan.cut.is_some_and(|cut| self.lines[0].len() >= cut);
            let is_done = self.made == self.plan.calls.len() && self.calls.is_empty();
            let at_rest = !moved && self.jobs.is_empty() && self.asks.is_empty();
            if at_rest
                && up.bytes.is_empty()
                && (is_cut || is_done && self.op.is_none())
                && !ended[0]
            {
                server.end_of_input();
                ended[0] = true;
            }
            if closed[1] && down.bytes.is_empty() && !ended[1] {
                client.end_of_input();
                ended[1] = true;
            }
            if closed[1] && (closed[0] || is_cut) {
                assert!(self.calls.is_empty() || is_cut);
                let lines = self.lines.map(|bytes| {
                    let text = String::from_utf8(bytes).expect("UTF-8");
                    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
                    lines.sort_unstable();
                    lines
                });
                let whole = &lines[usize::from(is_cut)..];
                for line in whole.iter().flatten() {
                    assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
                }
                return lines;
            }
        }
        panic!(
            "locked up: {:?} at {} after {} calls, waiting: {:?}, {:?}, {:?}",
            self.plan, self.now, self.made, self.calls, self.jobs, self.asks
        );
    }
}

fn result_text(number: usize, len: usize) -> String {
    format!("{number}:{}", "s".repeat(len))
}

#[test]
fn two_connections_survive_chaos_and_send_what_they_send_at_leisure() {
    let seed = std::env::var("CONNECTION_SEED").ok().map(|text| text.parse().expect("a number"));
    let seeds = seed.map_or(1..ROUNDS + 1, |seed| seed..seed + 1);
    for seed in seeds {
        println!("CONNECTION_SEED={seed}");
        let mut script = Script::of(seed);
        let plan = Plan::new(&mut script);
        let leisurely = plan.is_calm().then(|| Run::new(&plan, Script(None)).play());
        let hurried = Run::new(&plan, script).play();
        if let Some(leisurely) = leisurely {
            assert_eq!(hurried, leisurely);
        }
    }
}

/// The server asks for roots and sends the result at once: both responses are longer than the
/// output buffers and the line together, and meet.
#[test]
fn long_answers_that_meet_do_not_lock_up() {
    let long = 70_000;
    for (era, seed) in Era::ALL.into_iter().flat_map(|era| (1..=6).map(move |seed| (era, seed))) {
        let asks = era == Era::Legacy;
        let (roots, longest, cut) = (long, 2 * long, None);
        let plan =
            Plan { era, calls: vec![(0, long)], asks, roots, longest, is_troubled: false, cut };
        Run::new(&plan, Script::of(seed)).play();
    }
}

const LONGEST: usize = 600;
/// They take about two seconds in a debug build.
const ROUNDS: u64 = 200;
