//! An observer that writes down what it is told.

use std::sync::{Arc, Mutex, OnceLock};

use mcp_sansio::Change;
use mcp_sansio_adapters::asynchronous::Broadcaster;
use mcp_sansio_adapters::observer::{Event, Observer};

#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<String>>>, Arc<OnceLock<Broadcaster>>);

impl Recorder {
    pub(crate) fn write(&self, line: String) {
        self.0.lock().unwrap().push(line);
        // Would wait for ever if a mutex of the application were locked.
        if let Some(broadcaster) = self.1.get() {
            broadcaster.publish(Change::tools());
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
    fn on(&self, event: Event<'_>) {
        self.write(match event {
            Event::Connected { transport, .. } => format!("connected: {transport}"),
            Event::Began { request } => format!("{request} began"),
            Event::Ended { request, how, error, .. } => {
                format!("{} ended: {how}{}", request.id, because(error))
            }
            Event::TaskEnded { tool, how, error, .. } => {
                format!("task of {tool} ended: {how}{}", because(error))
            }
            Event::StoreFailed { request, error } => format!("{} not stored: {error}", request.id),
            Event::Refused { why, place: Some(place), .. } => format!("{why} ({place})"),
            Event::Refused { why, .. } => format!("message refused: {why}"),
            Event::Denied { denial } => format!("{denial}: {} {}", denial.status, denial.error),
            Event::Panicked { message } => format!("other code panicked: {message}"),
            Event::Stalled { request, .. } => format!("{} stalled", request.id),
            Event::Disconnected { how, .. } => format!("disconnected: {how}"),
            other => format!("{other:?}"),
        });
    }
}

fn because(error: Option<&str>) -> String {
    error.map(|error| format!(": {error}")).unwrap_or_default()
}
