//! Connections, whose cursors, responses and outcomes wait for room.

use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{
    Connection, Instant, Outcome, RequestHandle, RxBuffer, SendError, Server, ServerConfig,
    ServerEvent, ServerFeatures, ServerState, Step, Tx, TxBuffer,
};

use super::{Table, Work, join};

pub(super) const CASES: &Table = &[
    ("connection: pings of a batch", |n| {
        work(format!("[{}]", join(n, ping)), 256, usize::MAX, usize::MAX, 0)
    }),
    ("connection: pings to a peer that takes single bytes", |n| {
        work(format!("[{}]", join(n, ping)), 256, usize::MAX, 1, 0)
    }),
    ("connection: pings and a long line by single bytes", |n| {
        let pings: String = (0..n / 4).map(|at| ping(at) + "\n").collect();
        work(pings + &" ".repeat(10 * n) + &ping(n), 256, 1, 1, 0)
    }),
    ("connection: a long request that waits for room", |n| {
        // The output is full of pongs, of which the peer takes single bytes.
        let full: String = (0..n).map(|at| ping(at) + "\n").collect();
        let long = "x".repeat(40 * n);
        let last =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{long}"}}}}"#);
        work(full + &last, 35 * n, usize::MAX, 1, 0)
    }),
    ("connection: requests that wait for entries of the table", |n| {
        let call = r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"a"}}"#;
        let calls: String = (0..n).map(|at| call.replace("ID", &at.to_string()) + "\n").collect();
        work(calls, 256, usize::MAX, 100, 100)
    }),
];

fn ping(at: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{at},"method":"ping"}}"#)
}

/// A text of so many bytes.
struct Long(usize);

impl Outcome<Server<'_>> for Long {
    fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        server.respond(request, &TextResult::new(&"x".repeat(self.0)), tx)
    }
}

fn work(lines: String, tx: usize, piece: usize, take: usize, answer: usize) -> Work {
    Work::new(lines.len(), move || serve(&lines, tx, piece, take, answer))
}

/// Handles a line in a session of 2025-03-26, which arrives in pieces of `piece` bytes, through
/// `tx` bytes of which the peer takes `take` at a time. Nothing is taken before all has been read.
fn serve(line: &str, tx: usize, piece: usize, take: usize, answer: usize) {
    let (rx, tx) = (RxBuffer::with_limit(Vec::new(), usize::MAX), TxBuffer::new(vec![0; tx]));
    let mut connection: Connection<'_, _, _, _, Long, 8> =
        Connection::new(&SERVER, ServerState::<8, 0>::new(), rx, tx);
    let input = format!("{OPEN}\n{line}\n");
    let mut rest = input.as_bytes();
    loop {
        match connection.next(Instant::from_millis(0)) {
            Step::Event(ServerEvent::Request(request), mut turn) => {
                let _ = turn.answer(request.handle, Long(answer));
            }
            Step::Event(..) | Step::Again => {}
            Step::Io { write, mut read, .. } => {
                let (room, taken) = (read.spare(), take.min(write.len()));
                let n = room.len().min(rest.len()).min(piece);
                room[..n].copy_from_slice(&rest[..n]);
                rest = &rest[n..];
                read.commit(n);
                if n == 0 {
                    if taken == 0 {
                        connection.end_of_input();
                    }
                    connection.wrote(taken);
                }
            }
            Step::Closed => return,
        }
    }
}

const OPEN: &str = r#"{"jsonrpc":"2.0","id":"o","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
static SERVER: ServerConfig =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
