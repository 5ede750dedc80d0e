//! Memory of a thread for all of its connections: one that waits keeps only what is incomplete.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::LocalKey;

use mcp_sansio_engine::PeerAddress;
use mcp_sansio_engine::site::{HeadMemory, OwnedHead};
use mcp_sansio_http1::{IncomingRequest, OwnedFields, RequestReader};

type Lent = LocalKey<Cell<Vec<u8>>>;

thread_local! {
    static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static OUTPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static HEADS: RefCell<Vec<Option<Heads>>> = const { RefCell::new(Vec::new()) };
}

/// Lends memory that is read into.
pub(super) fn lend_input() -> Vec<u8> {
    let mut input = lend(&INPUT);
    input.resize(INPUT_LEN, 0);
    input
}

/// Takes back what [`lend_input`] has lent.
pub(super) fn return_input(input: Vec<u8>) {
    give_back(&INPUT, input);
}

/// Lends memory that is written into.
pub(super) fn lend_output() -> Vec<u8> {
    lend(&OUTPUT)
}

/// Takes back what [`lend_output`] has lent, unless it has become long.
pub(super) fn return_output(mut output: Vec<u8>) {
    output.clear();
    if output.capacity() <= KEPT_OUTPUT {
        give_back(&OUTPUT, output);
    }
}

fn lend(memory: &'static Lent) -> Vec<u8> {
    // A thread that ends has none.
    memory.try_with(Cell::take).unwrap_or_default()
}

fn give_back(memory: &'static Lent, bytes: Vec<u8>) {
    let _ = memory.try_with(|memory| memory.set(bytes));
}

/// The head of a request, and how its body is framed.
pub(super) struct Head {
    pub(super) head: OwnedHead,
    pub(super) is_http_1_0: bool,
    pub(super) expects_continue: bool,
    /// Length of the body, if known.
    pub(super) content_length: Option<usize>,
}

/// What is kept of the last head of a connection, so that it is not parsed when it comes again. A
/// thread keeps [`KEPT_HEADS`], so that of many connections only busy ones have it.
pub(super) struct LastHead {
    /// The number of the connection, which no other of the process has.
    connection: u64,
    peer: Option<PeerAddress>,
}

/// The memory of the heads of a connection.
struct Heads {
    connection: u64,
    memory: HeadMemory<OwnedFields>,
    is_http_1_0: bool,
}

impl LastHead {
    pub(super) fn new(peer: Option<PeerAddress>) -> Self {
        static OPENED: AtomicU64 = AtomicU64::new(1);
        Self { connection: OPENED.fetch_add(1, Ordering::Relaxed), peer }
    }

    /// Takes the next head, if it is the last one again.
    pub(super) fn again(&self, reader: &mut RequestReader<Vec<u8>>) -> Option<Head> {
        self.with_place(|place| {
            let heads = place.as_mut().filter(|heads| heads.connection == self.connection)?;
            heads.again(reader)
        })
    }

    /// Copies another head.
    pub(super) fn copy(&self, request: &IncomingRequest<'_>) -> Head {
        let copied = self.with_place(|place| {
            if place.as_ref().is_none_or(|heads| heads.connection != self.connection) {
                *place = Some(self.heads());
            }
            let (head, len) = place.as_mut()?.copy(request);
            if len > LONG_HEAD {
                *place = None;
            }
            Some(head)
        });
        copied.unwrap_or_else(|| self.heads().copy(request).0)
    }

    fn heads(&self) -> Heads {
        let memory = HeadMemory::new(self.peer);
        Heads { connection: self.connection, memory, is_http_1_0: false }
    }

    /// Lends the place of this connection in its thread, which another may have.
    fn with_place<R>(&self, call: impl FnOnce(&mut Option<Heads>) -> Option<R>) -> Option<R> {
        let call = |all: &RefCell<Vec<Option<Heads>>>| {
            let mut all = all.try_borrow_mut().ok()?;
            if all.is_empty() {
                all.resize_with(KEPT_HEADS, || None);
            }
            let place = usize::try_from(self.connection % KEPT_HEADS as u64).unwrap_or_default();
            call(all.get_mut(place)?)
        };
        HEADS.try_with(call).ok().flatten()
    }
}

impl Drop for LastHead {
    fn drop(&mut self) {
        let heads =
            self.with_place(|place| place.take_if(|heads| heads.connection == self.connection));
        drop(heads);
    }
}

impl Heads {
    fn again(&mut self, reader: &mut RequestReader<Vec<u8>>) -> Option<Head> {
        let (head, length) = self.memory.again(|last| reader.next_same_head(last))?;
        let (is_http_1_0, content_length) = (self.is_http_1_0, usize::try_from(length).ok());
        Some(Head { head, is_http_1_0, expects_continue: false, content_length })
    }

    /// Returns the length of the head, too.
    fn copy(&mut self, request: &IncomingRequest<'_>) -> (Head, usize) {
        let length = |length| usize::try_from(length).unwrap_or(usize::MAX);
        let mut head_len = 0;
        let head = self.memory.copy(request.method, request.target, |fields| {
            fields.copy(request.fields);
            head_len = fields.head_len();
        });
        self.is_http_1_0 = request.is_http_1_0;
        let head = Head {
            head,
            is_http_1_0: request.is_http_1_0,
            expects_continue: request.expects_continue,
            content_length: request.content_length.map(length),
        };
        (head, head_len)
    }
}

/// Number of bytes that are read at once: the longest head, and most bodies behind theirs.
pub(super) const INPUT_LEN: usize = 64 << 10;
/// Maximum number of bytes of output whose memory a thread keeps.
const KEPT_OUTPUT: usize = 128 << 10;
/// Number of heads that a thread keeps: about 700 bytes each.
const KEPT_HEADS: usize = 64;
/// Maximum length of a head that is kept, in bytes.
const LONG_HEAD: usize = 4 << 10;
