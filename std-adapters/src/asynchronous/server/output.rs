//! Where frames go: into one buffer, or over HTTP into that of the exchange that they belong to.

use mcp_sansio::TxBuffer;

/// A buffer, and whether it is full.
pub(super) struct OutputBuffer {
    pub(super) tx: TxBuffer<Vec<u8>>,
    /// How much was pending when there was no room for an answer or a question; until that has
    /// gone out, nothing else is written.
    blocked: Option<usize>,
    /// Whether the connection is to be let go: the client comes back.
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

    /// Something did not fit.
    pub(super) fn block(&mut self) {
        self.blocked = Some(self.tx.pending().len());
    }

    /// Whether to try again to send what did not fit. Each attempt formats it anew, so not after
    /// each byte that has gone out.
    pub(super) fn unblock(&mut self) -> bool {
        let has_room = self.blocked.is_some_and(|pending| self.tx.pending().len() <= pending / 2);
        if has_room {
            self.blocked = None;
        }
        has_room
    }
}

/// All of a peer's.
pub(super) struct OutputBuffers {
    /// The only one of a stream. Over HTTP, for what belongs to no exchange.
    own: OutputBuffer,
    /// Those of the exchanges of a session.
    #[cfg(feature = "http")]
    exchanges: std::collections::BTreeMap<u32, OutputBuffer>,
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

    /// That of an exchange, or our own for what belongs to none that is there.
    pub(super) fn at(&mut self, exchange: u32) -> &mut OutputBuffer {
        #[cfg(feature = "http")]
        if let Some(output) = self.exchanges.get_mut(&exchange) {
            return output;
        }
        let _ = exchange;
        &mut self.own
    }

    #[cfg(feature = "http")]
    pub(super) fn open(&mut self, exchange: u32, tx: TxBuffer<Vec<u8>>) {
        self.exchanges.insert(exchange, OutputBuffer::new(tx));
    }

    #[cfg(feature = "http")]
    pub(super) fn of_exchange(&mut self, exchange: u32) -> Option<&mut OutputBuffer> {
        self.exchanges.get_mut(&exchange)
    }

    #[cfg(feature = "http")]
    pub(super) fn close(&mut self, exchange: u32) {
        self.exchanges.remove(&exchange);
    }

    /// Those that may be written to again; whether there are any.
    pub(super) fn unblock(&mut self) -> bool {
        let any = self.own.unblock();
        #[cfg(feature = "http")]
        let any = self.exchanges.values_mut().fold(any, |any, output| output.unblock() | any);
        any
    }
}
