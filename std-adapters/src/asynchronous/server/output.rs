//! Output buffers: one for a stream, one for each exchange over HTTP.

use mcp_sansio::{ExchangeId, TxBuffer};

/// An output buffer with back-pressure.
pub(super) struct OutputBuffer {
    pub(super) tx: TxBuffer<Vec<u8>>,
    /// Number of bytes that were pending when a response or request did not fit. Nothing else is
    /// written until half of them have been sent.
    blocked: Option<usize>,
    /// Whether the SSE connection is to be closed, so that the client polls again.
    #[cfg(feature = "http")]
    pub(super) is_released: bool,
}

impl OutputBuffer {
    pub(super) fn new(tx: TxBuffer<Vec<u8>>) -> Self {
        Self {
            tx,
            blocked: None,
            #[cfg(feature = "http")]
            is_released: false,
        }
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// Records that a message did not fit.
    pub(super) fn block(&mut self) {
        self.blocked = Some(self.tx.pending().len());
    }

    /// Returns whether to retry a message that did not fit. Each attempt serializes it again, so
    /// not after every byte that was sent.
    pub(super) fn unblock(&mut self) -> bool {
        let has_room = self.blocked.is_some_and(|pending| self.tx.pending().len() <= pending / 2);
        if has_room {
            self.blocked = None;
        }
        has_room
    }
}

/// The output buffers of one connection.
pub(super) struct OutputBuffers {
    /// The only buffer of a stream. Over HTTP, for messages that belong to no exchange.
    own: OutputBuffer,
    /// Buffers of the exchanges of a session.
    #[cfg(feature = "http")]
    exchanges: std::collections::BTreeMap<ExchangeId, OutputBuffer>,
}

impl OutputBuffers {
    pub(super) fn new(tx: TxBuffer<Vec<u8>>) -> Self {
        Self {
            own: OutputBuffer::new(tx),
            #[cfg(feature = "http")]
            exchanges: Default::default(),
        }
    }

    pub(super) fn own(&mut self) -> &mut OutputBuffer {
        &mut self.own
    }

    /// Returns the buffer of an exchange; `own` if there is none.
    pub(super) fn at(&mut self, exchange: ExchangeId) -> &mut OutputBuffer {
        #[cfg(feature = "http")]
        if let Some(output) = self.exchanges.get_mut(&exchange) {
            return output;
        }
        let _ = exchange;
        &mut self.own
    }

    #[cfg(feature = "http")]
    pub(super) fn open(&mut self, exchange: ExchangeId, tx: TxBuffer<Vec<u8>>) {
        self.exchanges.insert(exchange, OutputBuffer::new(tx));
    }

    #[cfg(feature = "http")]
    pub(super) fn of_exchange(&mut self, exchange: ExchangeId) -> Option<&mut OutputBuffer> {
        self.exchanges.get_mut(&exchange)
    }

    #[cfg(feature = "http")]
    pub(super) fn close(&mut self, exchange: ExchangeId) {
        self.exchanges.remove(&exchange);
    }

    /// Unblocks the buffers that have room again. Returns whether there are any.
    pub(super) fn unblock(&mut self) -> bool {
        let any = self.own.unblock();
        #[cfg(feature = "http")]
        let any = self.exchanges.values_mut().fold(any, |any, output| output.unblock() | any);
        any
    }
}
