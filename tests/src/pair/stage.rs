//! Both ends and the lines between them.

use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{
    ClientConfig, ClientFeatures, Delivery, Instant, RawJson, RequestHandle, SendError,
    ServerConfig, ServerFeatures as Can,
};
use serde_json::Value;

use super::end::rx;
use super::{Audit, ClientEnd, ServerEnd, Speaker};
use crate::frames::record;
use crate::line::Line;

/// A client and a server, the lines between them, a clock, and an [`Audit`] of every line.
pub struct Stage<'c> {
    pub client: ClientEnd<'c>,
    pub server: ServerEnd<'c>,
    /// The time in milliseconds.
    pub now: u64,
    /// The size of the output buffers.
    room: usize,
    /// The largest number of bytes that arrive at once.
    chunk: usize,
    audit: Audit,
    /// Each line, as direction (`>` from the client) and method, `result`, or `error` and its code.
    pub frames: Vec<String>,
}

/// A server that declares every capability.
pub const SERVER: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), SERVER_FEATURES);
/// A client that declares every capability.
pub const CLIENT: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("c", "1"), CLIENT_FEATURES).max_rounds(4);
pub(crate) const CLIENT_FEATURES: ClientFeatures = ClientFeatures::ROOTS_LIST_CHANGED
    .with(ClientFeatures::SAMPLING)
    .with(ClientFeatures::ELICITATION_FORM);
pub(crate) const SERVER_FEATURES: Can = Can::TOOLS_LIST_CHANGED
    .with(Can::RESOURCES_LIST_CHANGED)
    .with(Can::RESOURCES_SUBSCRIBE)
    .with(Can::PROMPTS_LIST_CHANGED)
    .with(Can::COMPLETIONS)
    .with(Can::LOGGING);

impl<'c> Stage<'c> {
    /// Creates a stage with output buffers of `room` bytes and reads of at most `chunk` bytes.
    pub fn new(
        server: &'c ServerConfig<'c>,
        client: &'c ClientConfig<'c>,
        room: usize,
        chunk: usize,
    ) -> Self {
        record("stage", format_args!("room {room}, chunk {chunk}"));
        Self {
            client: ClientEnd::with_config(client, room),
            server: ServerEnd::with_config(server, room),
            now: 1,
            room,
            chunk,
            audit: Audit::default(),
            frames: Vec::new(),
        }
    }

    pub fn instant(&self) -> Instant {
        Instant::from_millis(self.now)
    }

    pub fn open(&mut self) {
        let now = self.instant();
        self.client.send(|client, tx| client.connect(now, tx)).expect("connecting starts");
        self.run();
    }

    /// Runs until nothing is in transit and nothing is due.
    pub fn run(&mut self) {
        loop {
            let now = self.instant();
            self.client.handle_timeouts(now);
            self.client.line.drain();
            self.listen(Speaker::Client);
            let up = self.client.line.deliver(self.chunk, &mut self.server.rx);
            self.server.receive(now);
            self.server.handle_timeouts(now);
            self.server.line.drain();
            self.listen(Speaker::Server);
            let down = self.server.line.deliver(self.chunk, &mut self.client.rx);
            self.client.receive(now);
            self.listen(Speaker::Client);
            if up == 0 && down == 0 && !self.client.line.is_busy() && !self.server.line.is_busy() {
                return;
            }
        }
    }

    /// The server responds to a request with an empty result.
    pub(super) fn answer(&mut self, request: RequestHandle) -> Result<Delivery, SendError> {
        self.server.respond(request, |server, tx| server.respond_raw(request, RawJson::EMPTY, tx))
    }

    /// Handles the client's deadlines. Its output is recorded but not delivered.
    pub fn client_alone(&mut self) {
        self.client.handle_timeouts(self.instant());
        self.client.line.drain();
        self.listen(Speaker::Client);
    }

    /// Loses the connection with everything in transit, and opens a new one.
    pub fn reconnect(&mut self) {
        self.client.close();
        self.server.machine.close();
        let room = self.room;
        (self.client.line, self.server.line) = (Line::new(room), Line::new(room));
        (self.client.rx, self.server.rx) = (rx(), rx());
        self.client.app.asked.clear();
        self.server.app = Default::default();
        self.frames.clear();
        self.audit.reconnect();
    }

    pub fn wait(&mut self, time: Duration) {
        self.now += u64::try_from(time.as_millis()).expect("the time fits 64 bits");
        self.run();
    }

    /// Checks and records the lines written since the last call.
    fn listen(&mut self, speaker: Speaker) {
        let (line, arrow) = match speaker {
            Speaker::Client => (&mut self.client.line, '>'),
            Speaker::Server => (&mut self.server.line, '<'),
        };
        for text in line.lines() {
            self.audit.line(speaker, &text);
            let message: Value = serde_json::from_slice(&text).expect("the line is JSON");
            let offer = ["params", "result"]
                .iter()
                .find_map(|of| message[of]["protocolVersion"].as_str())
                .map_or(String::new(), |offer| format!(" {offer}"));
            let what = match (message["method"].as_str(), &message["error"]["code"]) {
                (Some(method), _) => method.to_owned(),
                (None, Value::Null) => "result".to_owned(),
                (None, code) => format!("error {code}"),
            };
            self.frames.push(format!("{arrow} {what}{offer}"));
        }
    }

    /// Asserts that nothing is open and every line is finished.
    pub fn is_over(&self) {
        let (client, server) = (&self.client, &self.server);
        assert!(client.line.is_whole() && server.line.is_whole());
        assert!(!client.line.is_busy() && !server.line.is_busy());
        let calls = (client.machine.open_calls(), server.machine.open_calls());
        let requests = (client.machine.open_requests(), server.machine.open_requests());
        assert_eq!((calls, requests), ((0, 0), (0, 0)));
        assert_eq!((client.app.waiting.len(), client.app.asked.len()), (0, 0));
        let app = &server.app;
        assert_eq!((app.slow.len(), app.asked.len(), app.listens.len()), (0, 0, 0));
        let due = (client.machine.poll_timeout(), server.machine.poll_timeout());
        assert_eq!(due, (None, None));
    }
}
