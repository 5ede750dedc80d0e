//! A loop around a connection, whose transport takes and brings as many bytes as it likes.

use std::cell::Cell;
use std::sync::Arc;

use mcp_sansio::types::{Implementation, TextResult};
use mcp_sansio::{
    Connection, GrowingServerState, Instant, Memory, Outcome, RequestHandle, RpcError, RxBuffer,
    SendError, Server, ServerConfig, ServerEvent, ServerFeatures, ServerState, Step, Turn, Tx,
    TxBuffer,
};

pub(crate) static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);

pub(crate) type Serving = Connection<'static, ServerState<4, 0>, Vec<u8>, Vec<u8>, Reply, 4>;

/// An outcome that owns its data.
pub(crate) enum Reply {
    Text(String),
    Shared(Arc<String>),
    Error,
    /// Counts how often it is sent.
    Counted(String, &'static std::thread::LocalKey<Cell<usize>>),
    /// Not an object: cannot be sent.
    Invalid,
}

impl Outcome<Server<'_>> for Reply {
    fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        match self {
            Self::Text(text) => server.respond(request, &TextResult::new(text), tx),
            Self::Shared(text) => server.respond(request, &TextResult::new(text), tx),
            Self::Error => server.respond_error(request, &RpcError::internal("no"), tx),
            Self::Counted(text, count) => {
                count.with(|count| count.set(count.get() + 1));
                server.respond(request, &TextResult::new(text), tx)
            }
            Self::Invalid => server.respond_raw(request, mcp_sansio::RawJson::NULL, tx),
        }
    }
}

/// The same with memory that grows.
pub(crate) type Growing = Connection<'static, GrowingServerState, Vec<u8>, Vec<u8>, Reply>;

/// The memory of a server.
pub(crate) trait OfServer:
    for<'f> Memory<
        Config<'f> = ServerConfig<'f>,
        Machine<'f> = Server<'f>,
        Event<'f> = ServerEvent<'f>,
    > + 'static
{
}

impl<T> OfServer for T where
    T: for<'f> Memory<
            Config<'f> = ServerConfig<'f>,
            Machine<'f> = Server<'f>,
            Event<'f> = ServerEvent<'f>,
        > + 'static
{
}

pub(crate) fn growing(rx: usize, tx: usize) -> Growing {
    let (rx, tx) = (RxBuffer::new(vec![0; rx]), TxBuffer::new(vec![0; tx]));
    Connection::new(&CONFIG, GrowingServerState::new(4, 0), rx, tx)
}

pub(crate) fn serving(rx: usize, tx: usize) -> Serving {
    let (rx, tx) = (RxBuffer::new(vec![0; rx]), TxBuffer::new(vec![0; tx]));
    Connection::new(&CONFIG, ServerState::new(), rx, tx)
}

pub(crate) fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// The transport: reads `piece` bytes at a time, writes `take`.
pub(crate) struct Pipe<'i> {
    pub(crate) input: &'i [u8],
    pub(crate) piece: usize,
    pub(crate) take: usize,
    pub(crate) output: Vec<u8>,
}

impl<'i> Pipe<'i> {
    pub(crate) fn new(input: &'i str, (piece, take): (usize, usize)) -> Self {
        Self { input: input.as_bytes(), piece, take, output: Vec::new() }
    }

    /// Makes steps until nothing moves any more. Returns whether the connection is closed.
    pub(crate) fn run<T: OfServer, O: for<'f> Outcome<Server<'f>>, const N: usize>(
        &mut self,
        connection: &mut Connection<'_, T, Vec<u8>, Vec<u8>, O, N>,
        now: u64,
        mut on_event: impl FnMut(ServerEvent<'_>, Turn<'_, Server<'_>, O>),
    ) -> bool {
        for _ in 0..10_000_000 {
            match connection.next(at(now)) {
                Step::Event(event, turn) => on_event(event, turn),
                Step::Again => {}
                Step::Io { write, mut read, .. } => {
                    let room = read.spare();
                    let got = self.piece.min(room.len()).min(self.input.len());
                    room[..got].copy_from_slice(&self.input[..got]);
                    read.commit(got);
                    self.input = &self.input[got..];
                    let taken = self.take.min(write.len());
                    self.output.extend_from_slice(&write[..taken]);
                    connection.wrote(taken);
                    if got + taken == 0 {
                        return false;
                    }
                }
                Step::Closed => return true,
            }
        }
        panic!("the connection does not come to rest");
    }

    /// Makes steps, and returns the requests among their events.
    pub(crate) fn requests<T: OfServer, const N: usize>(
        &mut self,
        connection: &mut Connection<'_, T, Vec<u8>, Vec<u8>, Reply, N>,
    ) -> Vec<RequestHandle> {
        let mut handles = Vec::new();
        self.run(connection, 0, |event, _| {
            if let ServerEvent::Request(request) = event {
                handles.push(request.handle);
            }
        });
        handles
    }

    /// Makes steps, and answers each request at once.
    pub(crate) fn answer<T: OfServer, const N: usize>(
        &mut self,
        connection: &mut Connection<'_, T, Vec<u8>, Vec<u8>, Reply, N>,
        reply: impl Fn() -> Reply,
    ) {
        self.run(connection, 0, |event, mut turn| {
            if let ServerEvent::Request(request) = event {
                assert!(turn.answer(request.handle, reply()).is_ok());
            }
        });
    }

    pub(crate) fn output(&self) -> &str {
        std::str::from_utf8(&self.output).expect("UTF-8")
    }
}

pub(crate) const OPEN: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

pub(crate) fn call(id: u32) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"t{id}\"}}}}\n"
    )
}

pub(crate) fn ping(id: u32) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")
}

pub(crate) fn pong(id: u32) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
}

pub(crate) fn said(id: u32, text: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
    )
}

/// Sizes of the pieces in which a transport reads and writes.
pub(crate) const WAYS: [(usize, usize); 5] =
    [(usize::MAX, usize::MAX), (1, usize::MAX), (usize::MAX, 1), (1, 1), (7, 3)];
