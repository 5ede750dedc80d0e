//! Writes the HTTP response of an exchange.

use mcp_sansio::TxBuffer;
use mcp_sansio::http::codec::{BodyLength, ChunkHeader, HeadWriter, LAST_CHUNK};
use mcp_sansio::http::server::{BodyKind, OutgoingResponse};

/// One response, and how much of it has been written.
pub(super) struct Sender {
    stage: Stage,
    is_http_1_0: bool,
    keeps_alive: bool,
    /// Whether the request is a HEAD: a head as for a GET, and no body (RFC 9110, 9.3.2).
    is_head: bool,
    /// Whether the body is one JSON-RPC message.
    is_json: bool,
    fields: Vec<(&'static str, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Chunks,
    UntilClose,
    Done,
}

impl Sender {
    pub(super) fn new(
        is_http_1_0: bool,
        keeps_alive: bool,
        fields: Vec<(&'static str, String)>,
    ) -> Self {
        let stage = Stage::Head;
        Self { stage, is_http_1_0, keeps_alive, is_head: false, is_json: false, fields }
    }

    /// Sets whether the request is a HEAD.
    pub(super) fn answers_head(&mut self, is_head: bool) {
        self.is_head = is_head;
    }

    pub(super) fn add(&mut self, name: &'static str, value: String) {
        self.fields.push((name, value));
    }

    /// Closes the connection after this response.
    pub(super) fn close(&mut self) {
        self.keeps_alive = false;
    }

    /// Returns whether all of the response has been written.
    pub(super) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Returns whether a head has been written, and no end.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Chunks | Stage::UntilClose)
    }

    /// Returns whether the connection can be used for another response.
    pub(super) fn keeps_alive(&self) -> bool {
        self.keeps_alive && self.stage == Stage::Done
    }

    /// Moves the pending output of the exchange; `is_over` if there will be no more. `taken` sees
    /// the bytes of events.
    pub(super) fn take(
        &mut self,
        tx: &mut TxBuffer<Vec<u8>>,
        is_over: bool,
        out: &mut Vec<u8>,
        mut taken: impl FnMut(&[u8]),
    ) {
        if self.stage == Stage::Head {
            let Some(reply) = tx.http_response() else { return };
            if reply.body == BodyKind::Json && !tx.is_mid_frame() && !tx.is_truncated() {
                self.head(reply, Some(tx.pending().len()), out);
                self.body(tx.pending(), out);
                tx.advance(usize::MAX);
                self.stage = Stage::Done;
                return;
            }
            if tx.pending().is_empty() {
                return;
            }
            self.head(reply, None, out);
        }
        if tx.http_response().is_some_and(|reply| reply.body == BodyKind::EventStream) {
            taken(tx.pending());
        }
        self.chunk(tx.pending(), out);
        tx.advance(usize::MAX);
        if tx.is_truncated() {
            self.cut(out);
        } else if is_over && !tx.is_mid_frame() {
            self.end(out);
        }
    }

    /// Starts an event stream before there are any events.
    pub(super) fn begin_events(&mut self, out: &mut Vec<u8>) {
        if self.stage == Stage::Head {
            self.head(OutgoingResponse::EVENT_STREAM, None, out);
        }
    }

    /// Writes a response without a body.
    pub(super) fn empty(&mut self, status: u16, out: &mut Vec<u8>) {
        if self.stage == Stage::Head {
            self.head(OutgoingResponse::empty(status), Some(0), out);
            self.stage = Stage::Done;
        }
    }

    /// Writes a response with a JSON body.
    pub(super) fn json(&mut self, status: u16, body: &[u8], out: &mut Vec<u8>) {
        if self.stage == Stage::Head {
            self.head(OutgoingResponse { status, body: BodyKind::Json }, Some(body.len()), out);
            self.body(body, out);
            self.stage = Stage::Done;
        }
    }

    fn body(&self, bytes: &[u8], out: &mut Vec<u8>) {
        if !self.is_head {
            out.extend_from_slice(bytes);
        }
    }

    /// Writes a chunk of a body of unknown length.
    pub(super) fn chunk(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if bytes.is_empty() || self.is_head {
            return;
        }
        if self.stage == Stage::Chunks {
            out.extend_from_slice(ChunkHeader::new(bytes.len()).as_bytes());
            out.extend_from_slice(bytes);
            out.extend_from_slice(ChunkHeader::END);
        } else if self.stage == Stage::UntilClose {
            out.extend_from_slice(bytes);
        }
    }

    /// Ends a response to which nothing more is added. An event stream may end at any time; a JSON
    /// body gets no end, so that the client sees that it is incomplete.
    pub(super) fn cut(&mut self, out: &mut Vec<u8>) {
        self.begin_events(out);
        if self.is_json {
            self.keeps_alive = false;
            self.stage = Stage::Done;
        } else {
            self.end(out);
        }
    }

    /// Ends a body of unknown length.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) {
        if self.stage == Stage::Chunks {
            self.body(LAST_CHUNK, out);
        }
        self.stage = Stage::Done;
    }

    fn head(&mut self, reply: OutgoingResponse, length: Option<usize>, out: &mut Vec<u8>) {
        let (length, stage) = match length {
            _ if reply.status == 204 => (BodyLength::Absent, Stage::Done),
            Some(length) => (BodyLength::Known(length as u64), Stage::Done),
            None if self.is_http_1_0 => (BodyLength::UntilClose, Stage::UntilClose),
            None => (BodyLength::Chunked, Stage::Chunks),
        };
        self.stage = stage;
        self.is_json = reply.body == BodyKind::Json;
        self.keeps_alive &= stage != Stage::UntilClose;
        let connection = match (self.keeps_alive, self.is_http_1_0) {
            (false, _) => Some("close"),
            (true, true) => Some("keep-alive"),
            (true, false) => None,
        };
        let start = out.len();
        let room = 1024
            + self.fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
        out.resize(start + room, 0);
        let mut writer =
            HeadWriter::response(out.get_mut(start..).unwrap_or_default(), reply.status);
        for (name, value) in reply.fields() {
            writer = writer.field(name, value);
        }
        for (name, value) in &self.fields {
            writer = writer.field(name, value);
        }
        if let Some(connection) = connection {
            writer = writer.field("connection", connection);
        }
        // Cannot fail: values from clients are checked before they are written.
        let written = writer.finish(length).unwrap_or(0);
        out.truncate(start + written);
    }
}
