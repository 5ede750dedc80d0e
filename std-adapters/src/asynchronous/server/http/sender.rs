//! From the buffer of an exchange to the response that it becomes.

use mcp_sansio::TxBuffer;
use mcp_sansio::http::codec::{BodyLength, ChunkHeader, HeadWriter, LAST_CHUNK};
use mcp_sansio::http::server::{BodyKind, OutgoingResponse};

/// One response, as far as it has been written.
pub(super) struct Sender {
    stage: Stage,
    is_http_1_0: bool,
    keeps_alive: bool,
    /// Whether it answers a HEAD: a head as for a GET, and no body (RFC 9110, 9.3.2).
    is_head: bool,
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
        Self { stage: Stage::Head, is_http_1_0, keeps_alive, is_head: false, fields }
    }

    /// Whether the response answers a HEAD.
    pub(super) fn answers_head(&mut self, is_head: bool) {
        self.is_head = is_head;
    }

    pub(super) fn add(&mut self, name: &'static str, value: String) {
        self.fields.push((name, value));
    }

    /// Nothing will be read behind this request.
    pub(super) fn close(&mut self) {
        self.keeps_alive = false;
    }

    /// Whether all of the response has been written.
    pub(super) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Whether a head has been written, and no end.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Chunks | Stage::UntilClose)
    }

    /// Whether the connection can be used for another response behind this one.
    pub(super) fn keeps_alive(&self) -> bool {
        self.keeps_alive && self.stage == Stage::Done
    }

    /// Moves what the exchange has written; `is_over` when nothing more will come. `taken` is shown
    /// what leaves as events.
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
            // Without an end, so that the client sees that it is none.
            self.keeps_alive = false;
            self.stage = Stage::Done;
        } else if is_over && !tx.is_mid_frame() {
            self.end(out);
        }
    }

    /// Begins a stream of events before there is any.
    pub(super) fn begin_events(&mut self, out: &mut Vec<u8>) {
        if self.stage == Stage::Head {
            self.head(OutgoingResponse::EVENT_STREAM, None, out);
        }
    }

    /// Answers with a status and nothing else.
    pub(super) fn empty(&mut self, status: u16, out: &mut Vec<u8>) {
        if self.stage == Stage::Head {
            self.head(OutgoingResponse::empty(status), Some(0), out);
            self.stage = Stage::Done;
        }
    }

    /// Answers with a body that is known.
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

    /// A part of a body whose length is not known.
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

    /// Ends such a body.
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
        // Nothing goes into it that could fail: what clients have sent is checked before it is
        // repeated.
        let written = writer.finish(length).unwrap_or(0);
        out.truncate(start + written);
    }
}
