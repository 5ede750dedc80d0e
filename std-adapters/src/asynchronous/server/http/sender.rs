//! Writes the response of an exchange into the output of its connection.

use mcp_sansio_http1::ResponseWriter;

/// One response, and how much of it has been written.
pub(crate) struct Sender(ResponseWriter);

impl Sender {
    pub(crate) const fn new(is_http_1_0: bool, keeps_alive: bool, is_head: bool) -> Self {
        let response = ResponseWriter::new().http_1_0(is_http_1_0).keep_alive(keeps_alive);
        Self(response.head_only(is_head))
    }

    pub(crate) const fn close(&mut self) {
        self.0.close();
    }

    pub(crate) fn is_new(&self) -> bool {
        self.0.is_new()
    }

    pub(crate) fn is_done(&self) -> bool {
        self.0.is_done()
    }

    pub(crate) fn keeps_alive(&self) -> bool {
        self.0.keeps_alive()
    }

    /// Writes the head. Without a length, the body is chunked.
    pub(crate) fn head<'h>(
        &mut self,
        status: u16,
        fields: impl Iterator<Item = (&'static str, &'h str)> + Clone,
        length: Option<usize>,
        out: &mut Vec<u8>,
    ) {
        let length = length.map(|length| length as u64);
        if self.0.push_head(status, fields, length, out).is_err() {
            // Cannot happen: values from clients are checked before they are written.
            self.cut();
        }
    }

    /// Writes a part of the body.
    pub(crate) fn piece(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let piece = self.0.piece(bytes);
        piece.parts().iter().for_each(|part| out.extend_from_slice(part));
    }

    /// Ends the body.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.end());
    }

    pub(crate) const fn cut(&mut self) {
        self.0.cut();
    }
}
