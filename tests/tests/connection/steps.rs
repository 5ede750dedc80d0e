//! How much of a long outcome one step goes through. What counts is the number of elements that are
//! asked for, since it does not depend on the machine.

use std::cell::Cell;
use std::collections::BTreeMap;

use mcp_sansio::{
    Connection, Encode, Encoder, GrowingServerState, Instant, Json, Outcome, RawJson,
    RequestHandle, RxBuffer, STEP_OUTPUT, SendError, Server, ServerEvent, Step, ToolOutput, Tx,
    TxBuffer,
};
use mcp_sansio_engine::site::{OwnedHead, Site, SiteBody, SiteOptions, SiteStep};

use crate::world::{CONFIG, OPEN, call, ping, pong};

thread_local! {
    /// Number of elements that were asked for.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// A list that is made while it is written. Its last element may be one that cannot be written.
#[derive(Clone, Copy)]
struct Numbers {
    len: usize,
    is_valid: bool,
}

/// Length in bytes of an element with its comma.
const ELEMENT: usize = 9;

impl Encode for Numbers {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_array();
        let mut at = 0;
        while at < self.len
            && let Some(next) = to.element(at)
        {
            ASKED.set(ASKED.get() + 1);
            match next + 1 == self.len && !self.is_valid {
                true => f64::NAN.encode(to),
                false => (10_000_000 + next).encode(to),
            }
            at = next + 1;
        }
        to.end_array();
    }
}

/// A result that has the list as a member, or twice: as text, too.
#[derive(Clone, Copy)]
enum Long {
    Member(Numbers),
    Structured(Numbers),
    /// A map of serde's, which nothing asks for its elements.
    Serde(Numbers),
}

struct Object(Numbers);

impl Encode for Object {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("list", &self.0);
        to.end_object();
    }
}

impl Outcome<Server<'_>> for Long {
    fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        match self {
            Self::Member(list) => server.respond(request, &Object(*list), tx),
            Self::Structured(list) => {
                server.respond(request, &ToolOutput::Structured(&Object(*list)), tx)
            }
            Self::Serde(list) => {
                let map = BTreeMap::from([("list", vec![10_000_000; list.len]), ("none", vec![])]);
                server.respond(request, &Json(map), tx)
            }
        }
    }
}

/// Number of elements that each step asked for, and the output after the response to `initialize`.
struct Sent {
    steps: Vec<usize>,
    output: String,
}

impl Sent {
    /// Returns the most that a step asked for; nothing in a small build, which checks an outcome in
    /// one step.
    fn most(&self) -> usize {
        let most = self.steps.iter().copied().max().unwrap_or_default();
        if is_small() { 0 } else { most }
    }

    fn all(&self) -> usize {
        self.steps.iter().sum()
    }
}

/// Whether the core is compiled as for firmware. It goes through an outcome up to twice more then:
/// to see how long it is, and again once its buffer has grown.
fn is_small() -> bool {
    option_env!("MCP_SANSIO_SMALL") == Some("1")
}

/// Sends an outcome, and then the response to a ping, to a peer that takes `take` bytes at a time.
fn send(outcome: Long, tx: TxBuffer<Vec<u8>>, take: usize) -> Sent {
    let rx = RxBuffer::new(vec![0; 4096]);
    let mut connection: Connection<'_, _, _, _, Long> =
        Connection::new(&CONFIG, GrowingServerState::new(4, 0), rx, tx);
    let input = format!("{OPEN}{}{}", call(1), ping(2));
    let mut rest = input.as_bytes();
    let (mut steps, mut output) = (Vec::new(), Vec::new());
    for _ in 0..1_000_000 {
        ASKED.set(0);
        let step = connection.next(Instant::from_millis(0));
        steps.push(ASKED.get());
        match step {
            Step::Event(ServerEvent::Request(request), mut turn) => {
                output.clear();
                assert!(turn.answer(request.handle, outcome).is_ok());
            }
            Step::Event(..) | Step::Again => {}
            Step::Io { write, mut read, .. } => {
                let room = read.spare();
                let got = room.len().min(rest.len());
                room[..got].copy_from_slice(&rest[..got]);
                read.commit(got);
                rest = &rest[got..];
                let taken = take.min(write.len());
                output.extend_from_slice(&write[..taken]);
                if got + taken == 0 {
                    connection.end_of_input();
                }
                connection.wrote(taken);
            }
            Step::Closed => {
                let output = String::from_utf8(output).unwrap();
                // The response to `initialize` may be before.
                let at = output.find(r#"{"jsonrpc":"2.0","id":1"#).expect("a response");
                let output = output[at..].to_owned();
                return Sent { steps, output };
            }
        }
    }
    panic!("no end");
}

fn buffers() -> Vec<(&'static str, TxBuffer<Vec<u8>>)> {
    vec![
        ("256 bytes", TxBuffer::new(vec![0; 256])),
        ("16 KiB", TxBuffer::new(vec![0; 16 << 10])),
        ("100,000 bytes", TxBuffer::new(vec![0; 100_000])),
        ("up to 16 KiB", TxBuffer::with_limit(Vec::new(), 16 << 10)),
        ("up to 512 KiB", TxBuffer::with_limit(Vec::new(), 512 << 10)),
        ("up to 4 MiB", TxBuffer::with_limit(Vec::new(), 4 << 20)),
    ]
}

/// A step goes through so many elements at most: those of the slice, and what a piece repeats.
const MOST: usize = STEP_OUTPUT / ELEMENT + 2;

#[test]
fn r3_b3_a_step_goes_through_64_kib_of_an_outcome_of_any_length() {
    assert_eq!(STEP_OUTPUT, 65_536);
    let list = Numbers { len: 100_000, is_valid: true };
    for take in [usize::MAX, 1000] {
        for (name, tx) in buffers() {
            let sent = send(Long::Member(list), tx, take);
            assert!(sent.most() <= MOST + STEP_OUTPUT / 256, "{name}: {}", sent.most());
            let (line, rest) = sent.output.split_once('\n').unwrap();
            assert_eq!(rest, pong(2), "{name}");
            let numbers = RawJson::parse(line).unwrap().get("result").unwrap();
            let numbers = numbers.get("list").unwrap().elements().count();
            assert_eq!(numbers, list.len, "{name}");
        }
    }
}

#[test]
fn r3_b3_a_value_of_serde_that_is_longer_than_a_step_arrives() {
    for (name, tx) in buffers() {
        let sent = send(Long::Serde(Numbers { len: 20_000, is_valid: true }), tx, usize::MAX);
        let (line, rest) = sent.output.split_once('\n').unwrap();
        assert_eq!(rest, pong(2), "{name}");
        let result = RawJson::parse(line).unwrap().get("result").unwrap_or(RawJson::EMPTY);
        let list = result.get("list").unwrap_or(RawJson::NULL);
        assert_eq!(list.elements().count(), 20_000, "{name}: {line:.300}");
    }
}

#[test]
fn r3_b3_the_work_of_all_steps_is_linear() {
    let list = Numbers { len: 160_000, is_valid: true };
    for (outcome, times) in [(Long::Member(list), 1), (Long::Structured(list), 2)] {
        for (name, tx) in buffers() {
            let all = send(outcome, tx, usize::MAX).all();
            // Before it leaves and after, and elements at which a piece of 256 bytes ends.
            let quarters = if is_small() { 17 } else { 9 };
            assert!(all <= times * list.len * quarters / 4 + 2 * MOST, "{name}: {all}");
        }
    }
}

#[test]
fn r3_b3_a_value_that_cannot_be_written_is_an_error_before_its_first_byte() {
    let list = Numbers { len: 100_000, is_valid: false };
    for outcome in [Long::Member(list), Long::Structured(list)] {
        for (name, tx) in buffers() {
            let sent = send(outcome, tx, usize::MAX);
            assert!(sent.most() <= MOST + STEP_OUTPUT / 256, "{name}: {}", sent.most());
            let (line, rest) = sent.output.split_once('\n').unwrap();
            assert!(line.len() < 200 && line.contains("-32603"), "{name}: {line:.300}");
            assert_eq!(rest, pong(2), "{name}");
        }
    }
}

#[test]
fn r3_b3_a_frame_that_fits_is_gone_through_once() {
    // It is longer than a step, and stays in the buffer while it is checked. It is begun three
    // times: behind the pending response before it, in the empty buffer, and in its first slice.
    let list = Numbers { len: 30_000, is_valid: true };
    let sent = send(Long::Member(list), TxBuffer::with_limit(Vec::new(), 1 << 20), usize::MAX);
    let times = if is_small() { 2 } else { 1 };
    assert!(sent.all() <= times * list.len + 3 * MOST, "{}", sent.all());
}

/// Answers a POST with an outcome. Returns what each step of the site asked for, and the body.
fn serve(outcome: Long, max_pending: usize) -> Sent {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let fields = [
        ("host", "localhost"),
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "t"),
    ];
    let now = Instant::from_millis(0);
    let mut options = SiteOptions::new();
    options.max_pending = max_pending;
    let mut site: Site<'_, Long> = Site::new(&CONFIG, options, || [7; 16]);
    let exchange = site.open(now, OwnedHead::new("POST", "/mcp", fields), None);
    let (mut steps, mut output, mut is_sent) = (Vec::new(), String::new(), false);
    for _ in 0..1_000_000 {
        ASKED.set(0);
        let step = site.next(now);
        steps.push(ASKED.get());
        match step {
            SiteStep::Event(ServerEvent::Request(request), mut turn) => {
                turn.answer(request.handle, outcome);
            }
            SiteStep::Authorize { .. } => panic!("without authorization"),
            SiteStep::Wait(_) if !is_sent => {
                assert_eq!(site.feed_body(exchange, body.as_bytes()), body.len());
                site.end_of_body(now, exchange);
                is_sent = true;
            }
            SiteStep::Wait(_) => panic!("no end"),
            SiteStep::Ready(_) => {
                let Some(head) = site.response(exchange) else { continue };
                assert_eq!(head.status(), 200);
                match site.body(exchange) {
                    SiteBody::Piece(piece) => {
                        output.push_str(std::str::from_utf8(piece).unwrap());
                        let len = piece.len();
                        site.wrote(now, exchange, len);
                    }
                    SiteBody::Pending => {}
                    SiteBody::End => return Sent { steps, output },
                    SiteBody::Cut => panic!("cut"),
                }
            }
            _ => {}
        }
    }
    panic!("no end");
}

#[test]
fn r3_b3_a_step_of_a_site_goes_through_64_kib_of_an_outcome() {
    for max_pending in [1024, 64 << 10, 512 << 10, 4 << 20] {
        let list = Numbers { len: 100_000, is_valid: true };
        let sent = serve(Long::Member(list), max_pending);
        assert!(sent.most() <= MOST + STEP_OUTPUT / 256, "{max_pending}: {}", sent.most());
        let quarters = if is_small() { 17 } else { 9 };
        let most = list.len * quarters / 4 + 2 * MOST;
        assert!(sent.all() <= most, "{max_pending}: {}", sent.all());
        let body = RawJson::parse(&sent.output).unwrap();
        let numbers = body.get("result").and_then(|result| result.get("list")).unwrap();
        assert_eq!(numbers.elements().count(), list.len);
        let sent = serve(Long::Member(Numbers { is_valid: false, ..list }), max_pending);
        assert!(sent.output.contains("-32603"), "{max_pending}: {:.300}", sent.output);
    }
}
