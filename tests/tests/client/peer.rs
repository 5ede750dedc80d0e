//! A client with a small output buffer, and helpers for its input and output.

use std::time::Duration;

use mcp_sansio::types::CallToolParams;
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, Frame, Instant, Messages,
    RequestHandle, Revision, SendError, Tx,
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

    /// Sends a call with a timeout in milliseconds.
    pub(super) fn call_with_timeout(&mut self, ms: u64) -> Call {
        let options = CallOptions::new().timeout(Duration::from_millis(ms));
        self.call(options)
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
        self.handles(&mut Messages::new(frame))
    }

    pub(super) fn handles(&mut self, messages: &mut Messages<'_>) -> Vec<String> {
        let mut events = Vec::new();
        loop {
            match self.client.next_event(self.now, messages, &mut self.line.tx) {
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

    /// Calls `handle_timeout` once at that time; returns the name of the event.
    pub(super) fn at(&mut self, ms: u64) -> Result<String, SendError> {
        self.now = Instant::from_millis(ms);
        let event = self.client.handle_timeout(self.now, &mut self.line.tx)?;
        Ok(event.map(|event| name(&event)).unwrap_or_default())
    }

    /// Finishes what a timeout at that time writes.
    pub(super) fn passes(&mut self, ms: u64) {
        while self.at(ms).is_err() {
            self.drain();
        }
    }

    /// Finishes what is written, and returns the call that has timed out at that time.
    pub(super) fn ended(&mut self, ms: u64) -> Option<Call> {
        self.now = Instant::from_millis(ms);
        let now = self.now;
        let ended = self.finish(|client, tx| {
            client.handle_timeout(now, tx).map(|event| match event {
                Some(ClientEvent::CallFinished { call, outcome: CallOutcome::TimedOut }) => {
                    Some(call)
                }
                None | Some(ClientEvent::RequestTimedOut { .. }) => None,
                other => panic!("{other:?}"),
            })
        });
        ended.expect("only Full is expected")
    }

    /// Writes the beginning of what a timeout at that time causes.
    pub(super) fn begins_to_time_out(&mut self, ms: u64) {
        assert_eq!(self.at(ms), Err(SendError::Full));
        assert!(self.line.tx.is_mid_frame());
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
fn name(event: &ClientEvent<'_>) -> String {
    let name = format!("{event:?}");
    let end = if matches!(event, ClientEvent::Violation(_)) { None } else { name.find(['(', ' ']) };
    name[..end.unwrap_or(name.len())].to_owned()
}

/// The line that opens a session of a client with roots.
pub(super) fn initialize(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{"roots":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    ) + "\n"
}

pub(super) fn handshake(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    )
}
