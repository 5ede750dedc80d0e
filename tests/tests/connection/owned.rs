//! A loop whose reads and writes own their buffers until they complete, as with `io_uring`, IOCP or
//! DMA: the memory of a connection is not lent across steps, so each byte is copied once more.

use mcp_sansio::{RequestHandle, ServerEvent, Step};
use mcp_sansio_tests::random::Random;

use crate::world::{OPEN, Reply, Serving, at, call, ping, pong, said, serving};

/// Bytes of a buffer that the kernel fills or empties.
const BUFFER: usize = 48;

/// An operation in flight, with its buffer: nobody else can touch it.
enum Operation {
    Read { client: usize, buffer: Box<[u8]> },
    Write { client: usize, buffer: Vec<u8> },
}

/// A kernel that completes operations in an order of its own.
struct Kernel {
    inputs: Vec<Vec<u8>>,
    outputs: Vec<Vec<u8>>,
    in_flight: Vec<Operation>,
    random: Random,
}

/// What has completed, and the buffer that comes back.
enum Completion {
    Read { client: usize, buffer: Box<[u8]>, len: usize },
    Write { client: usize, buffer: Vec<u8>, len: usize },
}

impl Kernel {
    /// Completes one of the operations: a read of some bytes, or a write of some.
    fn complete(&mut self) -> Option<Completion> {
        if self.in_flight.is_empty() {
            return None;
        }
        let at = self.random.below(self.in_flight.len());
        let some = 1 + self.random.below(BUFFER);
        Some(match self.in_flight.swap_remove(at) {
            Operation::Read { client, mut buffer } => {
                let input = &mut self.inputs[client];
                let len = some.min(input.len());
                buffer[..len].copy_from_slice(&input[..len]);
                input.drain(..len);
                Completion::Read { client, buffer, len }
            }
            Operation::Write { client, buffer } => {
                let len = some.min(buffer.len());
                self.outputs[client].extend_from_slice(&buffer[..len]);
                Completion::Write { client, buffer, len }
            }
        })
    }
}

/// A client of the loop: its connection, and what is not in flight of its two buffers.
struct Client {
    session: Serving,
    /// The buffer for reads, and what of it the connection has not taken yet.
    read: Option<(Box<[u8]>, std::ops::Range<usize>)>,
    write: Option<Vec<u8>>,
    slow: Vec<RequestHandle>,
    is_at_end: bool,
    is_closed: bool,
}

impl Client {
    fn new() -> Self {
        Self {
            session: serving(160, 64),
            read: Some((vec![0; BUFFER].into(), 0..0)),
            write: Some(Vec::new()),
            slow: Vec::new(),
            is_at_end: false,
            is_closed: false,
        }
    }

    /// Takes all steps that need no operation to complete. Returns the number of requests that were
    /// handled although a write was in flight.
    fn run(&mut self, number: usize, kernel: &mut Kernel) -> usize {
        let mut meanwhile = 0;
        while !self.is_closed {
            match self.session.next(at(0)) {
                Step::Event(ServerEvent::Request(request), _) => {
                    meanwhile += usize::from(self.write.is_none());
                    self.slow.push(request.handle);
                }
                Step::Event(..) | Step::Again => {}
                Step::Closed => self.is_closed = true,
                Step::Io { write, mut read, .. } => {
                    // From the buffer of a completed read into the memory of the connection.
                    let mut moved = 0;
                    if let Some((buffer, filled)) = &mut self.read {
                        let room = read.spare();
                        moved = room.len().min(filled.len());
                        room[..moved].copy_from_slice(&buffer[filled.start..][..moved]);
                        read.commit(moved);
                        filled.start += moved;
                    }
                    // From the connection into a buffer that is in flight from now on. What was
                    // copied counts as written, so the connection has room again at once.
                    let mut written = 0;
                    if let Some(mut buffer) = self.write.take_if(|_| !write.is_empty()) {
                        written = write.len().min(BUFFER);
                        buffer.extend_from_slice(&write[..written]);
                        kernel.in_flight.push(Operation::Write { client: number, buffer });
                    }
                    self.session.wrote(written);
                    if moved + written == 0 {
                        break;
                    }
                }
            }
        }
        let is_read = |read: &mut (_, std::ops::Range<usize>)| read.1.is_empty();
        if !self.is_at_end
            && let Some((buffer, _)) = self.read.take_if(is_read)
        {
            kernel.in_flight.push(Operation::Read { client: number, buffer });
        }
        meanwhile
    }

    /// Takes a buffer back. What a write has left goes into flight again.
    fn completed(&mut self, completion: Completion, kernel: &mut Kernel) {
        match completion {
            Completion::Read { buffer, len, .. } => {
                self.read = Some((buffer, 0..len));
                if len == 0 {
                    self.is_at_end = true;
                    self.session.end_of_input();
                }
            }
            Completion::Write { client, mut buffer, len } => {
                buffer.drain(..len);
                match buffer.is_empty() {
                    true => self.write = Some(buffer),
                    false => kernel.in_flight.push(Operation::Write { client, buffer }),
                }
            }
        }
    }
}

#[test]
fn operations_own_their_buffers_while_other_steps_go_on() {
    let long = "x".repeat(500); // longer than all buffers of a client together
    let mut meanwhile = 0;
    for seed in 1..=50 {
        let input = |number: u32| {
            let calls = (1..=6).map(|id| call(10 * number + id) + &ping(100 + id));
            (OPEN.to_owned() + &calls.collect::<String>()).into_bytes()
        };
        let mut clients: Vec<Client> = (0..3).map(|_| Client::new()).collect();
        let mut kernel = Kernel {
            inputs: (0..3).map(input).collect(),
            outputs: vec![Vec::new(); 3],
            in_flight: Vec::new(),
            random: Random::new(seed),
        };
        for _ in 0..100_000 {
            for (number, client) in clients.iter_mut().enumerate() {
                // A slow tool ends at any time, here between two completions.
                if kernel.random.below(3) == 0 && !client.slow.is_empty() {
                    let request = client.slow.remove(0);
                    client.session.answer(request, Reply::Text(long.clone())).ok().unwrap();
                }
                meanwhile += client.run(number, &mut kernel);
            }
            let Some(completion) = kernel.complete() else {
                if clients.iter().all(|client| client.is_closed) { break } else { continue }
            };
            let (Completion::Read { client, .. } | Completion::Write { client, .. }) = completion;
            clients[client].completed(completion, &mut kernel);
        }
        for (number, (client, output)) in clients.iter().zip(&kernel.outputs).enumerate() {
            assert!(client.is_closed, "client {number} of seed {seed}");
            let output = std::str::from_utf8(output).unwrap();
            let mut lines: Vec<_> = output.split_inclusive('\n').skip(1).collect();
            let calls = (1..=6).map(|id| said(10 * number as u32 + id, &long));
            let mut expected: Vec<_> = calls.chain((101..=106).map(pong)).collect();
            lines.sort_unstable();
            expected.sort_unstable();
            assert_eq!(lines, expected);
        }
    }
    assert!(meanwhile > 100, "{meanwhile} requests were handled while a write was in flight");
}
