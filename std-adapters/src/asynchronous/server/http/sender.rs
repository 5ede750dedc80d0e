//! Writes the response of an exchange as HTTP/1.1.

use mcp_sansio_http1::{BodyLength, ChunkHeader, HeadWriter, LAST_CHUNK};

/// One response, and how much of it has been written.
pub(crate) struct Sender {
    stage: Stage,
    is_http_1_0: bool,
    keeps_alive: bool,
    /// Whether the request is a HEAD: a head as for a GET, and no body (RFC 9110, 9.3.2).
    is_head: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    /// The rest of a body of known length.
    Rest(usize),
    Chunks,
    UntilClose,
    Done,
}

impl Sender {
    pub(crate) const fn new(is_http_1_0: bool, keeps_alive: bool, is_head: bool) -> Self {
        Self { stage: Stage::Head, is_http_1_0, keeps_alive, is_head }
    }

    /// Closes the connection after this response.
    pub(crate) const fn close(&mut self) {
        self.keeps_alive = false;
    }

    /// Returns whether no head has been written.
    pub(crate) fn is_new(&self) -> bool {
        self.stage == Stage::Head
    }

    /// Returns whether all of the response has been written.
    pub(crate) fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Returns whether the connection can be used for another response.
    pub(crate) fn keeps_alive(&self) -> bool {
        self.keeps_alive && self.stage == Stage::Done
    }

    /// Writes the head. Without a length, the body is chunked.
    pub(crate) fn head<'h>(
        &mut self,
        status: u16,
        fields: impl Iterator<Item = (&'static str, &'h str)> + Clone,
        length: Option<usize>,
        out: &mut Vec<u8>,
    ) {
        let (length, stage) = match length {
            _ if status == 204 => (BodyLength::Absent, Stage::Done),
            Some(length) => (BodyLength::Known(length as u64), Stage::Rest(length)),
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
        let room = fields.clone().map(|(name, value)| name.len() + value.len() + 4).sum::<usize>();
        out.resize(start + FRAMING + room, 0);
        let mut writer = HeadWriter::response(out.get_mut(start..).unwrap_or_default(), status);
        for (name, value) in fields.chain(connection.map(|value| ("connection", value))) {
            writer = writer.field(name, value);
        }
        // Cannot fail: values from clients are checked before they are written.
        let written = writer.finish(length).unwrap_or(0);
        out.truncate(start + written);
    }

    /// Writes a part of the body.
    pub(crate) fn piece(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        match &mut self.stage {
            Stage::Rest(rest) => *rest = rest.saturating_sub(bytes.len()),
            _ if self.is_head => {}
            Stage::Chunks => {
                out.extend_from_slice(ChunkHeader::new(bytes.len()).as_bytes());
                out.extend_from_slice(bytes);
                return out.extend_from_slice(ChunkHeader::END);
            }
            _ => {}
        }
        if !self.is_head {
            out.extend_from_slice(bytes);
        }
    }

    /// Ends the body.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        match self.stage {
            // The client has to notice that a part is missing.
            Stage::Rest(1..) => self.keeps_alive = false,
            Stage::Chunks if !self.is_head => out.extend_from_slice(LAST_CHUNK),
            _ => {}
        }
        self.stage = Stage::Done;
    }

    /// Gives up a body that cannot be completed, so that the client notices.
    pub(crate) const fn cut(&mut self) {
        self.keeps_alive = false;
        self.stage = Stage::Done;
    }
}

/// Room for the status line, the fields that frame the body, and `connection`, in bytes.
const FRAMING: usize = 256;
