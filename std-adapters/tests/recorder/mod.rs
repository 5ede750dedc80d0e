//! An observer that writes down what it is told.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use mcp_sansio::ToolError;
use mcp_sansio_adapters::asynchronous::Broadcaster;
use mcp_sansio_adapters::observer::{Disconnect, Ended, Observer, Refusal, RequestInfo, Transport};

#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<String>>>, Arc<OnceLock<Broadcaster>>);

impl Recorder {
    fn write(&self, line: String) {
        self.0.lock().unwrap().push(line);
        // Would wait for ever if a mutex of the application were locked.
        if let Some(broadcaster) = self.1.get() {
            broadcaster.tools_changed();
        }
    }

    /// Announces a change in each call, from now on.
    pub(crate) fn announce(&self, broadcaster: &Broadcaster) {
        let _ = self.1.set(broadcaster.clone());
    }

    /// Returns the lines since the last call.
    pub(crate) fn lines(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Returns the lines with this word.
    pub(crate) fn lines_with(&self, word: &str) -> Vec<String> {
        let lines = self.0.lock().unwrap();
        lines.iter().filter(|line| line.contains(word)).cloned().collect()
    }
}

impl Observer for Recorder {
    fn connected(&self, _: u64, transport: Transport) {
        self.write(format!("connected: {transport}"));
    }

    fn began(&self, request: &RequestInfo) {
        self.write(format!("{request} began"));
    }

    fn ended(&self, request: &RequestInfo, how: Ended, _: Duration) {
        self.write(format!("{} ended: {how}", request.id));
    }

    fn refused(&self, _: u64, request: Option<&RequestInfo>, why: Refusal) {
        let id = request.map_or("message", |request| &request.id);
        self.write(format!("{id} refused: {why}"));
    }

    fn failed(&self, request: &RequestInfo, error: &ToolError<'_>) {
        self.write(format!("{} failed: {error}", request.id));
    }

    fn panicked(&self, request: Option<&RequestInfo>, message: &str) {
        let id = request.map_or("other code", |request| &request.name);
        self.write(format!("{id} panicked: {message}"));
    }

    fn stalled(&self, request: &RequestInfo, _: Duration) {
        self.write(format!("{} stalled", request.id));
    }

    fn disconnected(&self, _: u64, how: Disconnect<'_>, _: Duration) {
        self.write(format!("disconnected: {how}"));
    }
}
