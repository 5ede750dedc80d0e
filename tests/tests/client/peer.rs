//! A client with a small output buffer, and helpers for its input and output.

use mcp_sansio::types::CallToolParams;
use mcp_sansio::{
    Call, CallOptions, Client, ClientConfig, ClientEvent, Frame, Instant, Messages, RequestHandle,
    Revision, SendError, Tx,
};
use mcp_sansio_tests::line::Line;
use mcp_sansio_tests::memory::new_client;

/// A client whose output buffer holds less than any frame.
pub(super) struct Peer {
    pub(super) client: Client<'static>,
    pub(super) line: Line,
    pub(super) now: Instant,
    pub(super) request: Option<RequestHandle>,
}

impl Peer {
    pub(super) fn new(config: &'static ClientConfig<'static>) -> Self {
        let now = Instant::from_millis(0);
        Self { client: new_client::<8>(config), line: Line::new(24), now, request: None }
    }

    /// Begins to connect.
    pub(super) fn connects(&mut self) {
        self.finish(|client, tx| client.connect(Instant::from_millis(0), tx))
            .expect("connecting starts");
    }

    /// Begins to connect; returns the method of the first request.
    pub(super) fn open(&mut self) -> String {
        self.connects();
        let sent = self.sent();
        let (_, method) = sent.split_once(r#""method":""#).expect("a method");
        method.split('"').next().expect("a method").to_owned()
    }

    /// Creates a peer that is connected at `revision`.
    pub(super) fn connected(config: &'static ClientConfig<'static>, revision: Revision) -> Self {
        let mut peer = Self::new(config);
        peer.client.set_era(Some(revision.era()));
        peer.connects();
        if !revision.is_modern() {
            assert_eq!(peer.hears(&handshake(1)), ["Connected"]);
        }
        peer.sent();
        peer
    }

    /// Sends a call.
    pub(super) fn call(&mut self, options: CallOptions) -> Call {
        let now = self.now;
        let call = self
            .finish(|client, tx| {
                client.request(now, "tools/call", &CallToolParams::new("t"), options, tx)
            })
            .expect("the request is sent");
        self.sent();
        call
    }

    /// Sends a call; returns its handle and the response to it.
    pub(super) fn call_and_response(&mut self) -> (Call, String) {
        let call = self.call(CallOptions::new());
        let id = self.client.id(call).expect("the call is open");
        (call, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#))
    }

    /// Repeats a call until it succeeds, draining the buffer.
    pub(super) fn finish<R>(
        &mut self,
        mut call: impl FnMut(&mut Client<'static>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        self.line.send(|tx| call(&mut self.client, tx))
    }

    /// Handles a line; returns the names of the events.
    pub(super) fn hears(&mut self, line: &str) -> Vec<String> {
        self.takes(Frame::Complete(line.as_bytes()))
    }

    pub(super) fn takes(&mut self, frame: Frame<'_>) -> Vec<String> {
        let mut messages = Messages::new(frame);
        let mut events = Vec::new();
        loop {
            match self.client.next_event(self.now, &mut messages, &mut self.line.tx) {
                Ok(None) => return events,
                Ok(Some(event)) => {
                    if let ClientEvent::Request(request) = &event {
                        self.request = Some(request.handle);
                    }
                    events.push(name(&event));
                }
                Err(SendError::Full) => self.drain(),
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub(super) fn drain(&mut self) {
        self.line.drain();
    }

    /// Returns the bytes sent since the last call.
    pub(super) fn sent(&mut self) -> String {
        self.line.take()
    }
}

/// Returns the name of an event, with the details of a violation.
pub(super) fn name(event: &ClientEvent<'_>) -> String {
    let name = format!("{event:?}");
    let end = if matches!(event, ClientEvent::Violation(_)) { None } else { name.find(['(', ' ']) };
    name[..end.unwrap_or(name.len())].to_owned()
}

pub(super) fn handshake(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    )
}
