//! Output and events that the transcript has not claimed yet.

use std::collections::VecDeque;

#[derive(Default)]
pub(super) struct Claims {
    pub(super) lines: VecDeque<String>,
    pub(super) events: VecDeque<Event>,
}

/// An event: a head, and details that a transcript may leave out.
#[derive(Clone, Debug)]
pub(super) struct Event {
    head: String,
    details: Vec<String>,
}

impl Event {
    pub(super) fn new(head: impl Into<String>) -> Self {
        Self { head: head.into(), details: Vec::new() }
    }

    pub(super) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    pub(super) fn optional(mut self, detail: Option<&str>) -> Self {
        self.details.extend(detail.map(Into::into));
        self
    }

    fn is(&self, expected: &str) -> bool {
        let Some(mut rest) = expected.strip_prefix(self.head.as_str()) else { return false };
        for detail in &self.details {
            rest = rest.strip_prefix(&format!(" {detail}")).unwrap_or(rest);
        }
        rest.is_empty()
    }
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.head, self.details.join(" "))
    }
}

impl Claims {
    pub(super) fn claim_line(&mut self, expected: &str) -> Result<(), String> {
        let Some(line) = self.lines.pop_front() else {
            return Err(format!("nothing was sent\n  expected > {expected}"));
        };
        let equal = match expected.strip_prefix('~') {
            None => line == expected,
            Some(json) => value(&line)? == value(json)?,
        };
        if equal {
            Ok(())
        } else {
            Err(format!("other output\n  expected > {expected}\n       got > {line}"))
        }
    }

    pub(super) fn claim_event(&mut self, expected: &str) -> Result<(), String> {
        let Some(event) = self.events.pop_front() else {
            return Err(format!("no event\n  expected ! {expected}"));
        };
        if event.is(expected) {
            return Ok(());
        }
        Err(format!("something else happened\n  expected ! {expected}\n       got ! {event}"))
    }

    /// Whether everything was claimed.
    pub(super) fn settle(&self) -> Result<(), String> {
        if self.lines.is_empty() && self.events.is_empty() {
            return Ok(());
        }
        Err(format!("not claimed before this line:{}", self.rest()))
    }

    /// Formats the rest as lines of a transcript.
    pub(super) fn rest(&self) -> String {
        let lines = self.lines.iter().map(|line| format!("\n> {line}"));
        let events = self.events.iter().map(|event| format!("\n! {event}"));
        lines.chain(events).collect()
    }
}

fn value(json: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(json).map_err(|error| format!("{error}: {json}"))
}
