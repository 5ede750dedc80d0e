//! The other end of a port, the clock, and what the application notes.

use std::cell::RefCell;
use std::ops::Deref;
use std::rc::Rc;

use serde_json::Value;

use crate::port::{Port, Time};

#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) port: Port,
    pub(crate) time: Time,
    notes: Rc<RefCell<Vec<String>>>,
}

impl Deref for Stage {
    type Target = Port;

    fn deref(&self) -> &Port {
        &self.port
    }
}

impl Stage {
    /// Creates a port that moves at most `chunk` bytes at once, and a peer that accepts all output.
    pub(crate) fn new(chunk: usize) -> Self {
        Self { port: Port::new(chunk), time: Time::default(), notes: Rc::default() }
    }

    pub(crate) fn send(&self, message: &Value) {
        self.bytes(format!("{message}\n"));
    }

    /// Records an event of the application.
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.notes.borrow_mut().push(what.into());
    }

    /// Returns the events since the last call.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.take()
    }

    /// Summarizes the lines that are complete since the last call.
    pub(crate) fn log(&self) -> Vec<String> {
        let lines = String::from_utf8(self.lines()).expect("the output is UTF-8");
        lines.lines().map(|line| short(&serde_json::from_str(line).expect("JSON"))).collect()
    }
}

/// `< 1 text`, `< 1 error -32602`, `< notifications/progress 2`.
fn short(message: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let id = message.get("id").map_or("-".to_owned(), text);
    if let Some(error) = message.get("error") {
        return format!("< {id} error {} {}", error["code"], text(&error["message"]));
    }
    if let Some(method) = message.get("method") {
        let params = &message["params"];
        let what = ["progress", "data", "uri"].iter().find_map(|key| params.get(key)).map(text);
        return format!("< {} {}", text(method), what.unwrap_or_default()).trim_end().to_owned();
    }
    let result = &message["result"];
    let failed = if result["isError"] == true { "failed: " } else { "" };
    let what = match result["content"][0].get("text") {
        Some(said) => format!("{failed}{}", text(said)),
        None => result
            .as_object()
            .map(|all| all.keys().map(String::as_str).collect::<Vec<_>>().join(","))
            .unwrap_or_default(),
    };
    format!("< {id} {what}").trim_end().to_owned()
}
