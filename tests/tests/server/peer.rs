//! A client of one server, line by line.

use mcp_sansio::{
    Frame, Instant, Messages, RequestHandle, SendError, SendResult, Server, ServerEvent, Tx,
};
use mcp_sansio_tests::line::Line;

/// A server, its output through a buffer of any size, and a clock.
pub(crate) struct Peer {
    pub(crate) server: Server<'static>,
    pub(crate) line: Line,
    pub(crate) now: Instant,
    /// The requests that have arrived.
    pub(crate) open: Vec<RequestHandle>,
}

impl Peer {
    pub(crate) fn new(server: Server<'static>, room: usize) -> Self {
        Self { server, line: Line::new(room), now: Instant::from_millis(0), open: Vec::new() }
    }

    /// Opens a session.
    pub(crate) fn session(mut self, revision: &str, capabilities: &str) -> Self {
        let client = r#"{"name":"c","version":"1"}"#;
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{client}}}}}"#
        ));
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert!(self.sent().contains(revision));
        self
    }

    /// Handles a line; returns its events.
    pub(crate) fn say(&mut self, line: &str) -> Vec<String> {
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        let mut events = Vec::new();
        loop {
            match self.server.next_event(self.now, &mut messages, &mut self.line.tx) {
                Ok(Some(event)) => {
                    events.push(format!("{event:?}"));
                    if let ServerEvent::Request(request) = event {
                        self.open.push(request.handle);
                    }
                }
                Ok(None) => return events,
                Err(SendError::Full) => self.drain(),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Handles a line that is a request.
    pub(crate) fn request(&mut self, line: &str) -> RequestHandle {
        self.say(line);
        self.open.pop().expect("a request")
    }

    /// Handles the deadlines that have passed; returns the events.
    pub(crate) fn time(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.timeout()).collect()
    }

    /// Handles one deadline; returns its event.
    pub(crate) fn timeout(&mut self) -> Option<String> {
        let event = self.finish(|server, now, tx| {
            server.handle_timeout(now, tx).map(|event| event.map(|event| format!("{event:?}")))
        });
        event.expect("room")
    }

    /// Repeats a call while the buffer is full.
    pub(crate) fn finish<R>(
        &mut self,
        mut call: impl FnMut(&mut Server<'static>, Instant, &mut Tx<'_>) -> SendResult<R>,
    ) -> SendResult<R> {
        self.line.send(|tx| call(&mut self.server, self.now, tx))
    }

    /// Writes the first part of a frame.
    pub(crate) fn half<R>(
        &mut self,
        call: impl FnOnce(&mut Server<'static>, Instant, &mut Tx<'_>) -> SendResult<R>,
    ) {
        self.is_full(call);
        assert!(self.line.tx.is_mid_frame());
    }

    /// Makes a call for which there is no room.
    pub(crate) fn is_full<R>(
        &mut self,
        call: impl FnOnce(&mut Server<'static>, Instant, &mut Tx<'_>) -> SendResult<R>,
    ) {
        let full = call(&mut self.server, self.now, &mut self.line.tx);
        assert_eq!(full.err(), Some(SendError::Full));
    }

    pub(crate) fn drain(&mut self) {
        self.line.drain();
    }

    /// Returns the lines sent since the last call.
    pub(crate) fn sent(&mut self) -> String {
        let sent = self.line.take();
        sent.strip_suffix('\n').unwrap_or(&sent).into()
    }

    pub(crate) fn is_idle(&self) {
        assert_eq!((self.server.open_requests(), self.server.open_calls()), (0, 0));
    }
}
