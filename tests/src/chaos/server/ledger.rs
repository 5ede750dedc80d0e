//! Tracks requests and responses: checks every line that the server writes, with serde_json.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, from_slice, from_str};

/// A line from the client.
#[derive(Default, Debug)]
pub(super) struct Heard {
    pub(super) line: String,
    /// Number of requests in it that need a response.
    pub(super) requests: usize,
    /// The id, if the line is a single request.
    pub(super) id: Option<String>,
}

/// Responses that the server owes, and lines that it wrote.
#[derive(Default)]
pub(super) struct Ledger {
    /// Number of responses that may still come, by the spelling of the id.
    owed: HashMap<String, usize>,
    /// The beginning of an unfinished line.
    unfinished: Vec<u8>,
    /// Whether the next line was abandoned.
    pub(super) broken: bool,
    /// Number of responses written.
    pub(super) answers: usize,
    /// The ids of the server's calls that have neither a response nor a cancellation.
    pub(super) asked: Vec<String>,
    /// Number of calls that the server made.
    pub(super) requests: usize,
    pub(super) last: Vec<u8>,
}

#[derive(Deserialize)]
struct Message<'m> {
    #[serde(borrow)]
    jsonrpc: Option<&'m RawValue>,
    #[serde(borrow)]
    id: Option<&'m RawValue>,
    #[serde(borrow)]
    method: Option<&'m RawValue>,
    #[serde(borrow)]
    params: Option<&'m RawValue>,
    #[serde(borrow)]
    result: Option<&'m RawValue>,
    #[serde(borrow)]
    error: Option<&'m RawValue>,
}

impl Ledger {
    /// Records a line from the client.
    pub(super) fn hear(&mut self, line: &[u8]) -> Heard {
        let text = String::from_utf8_lossy(line).into_owned();
        let mut heard = Heard { line: text, ..Heard::default() };
        if let Ok(batch) = from_slice::<Vec<&RawValue>>(line) {
            for message in batch {
                _ = self.hear_message(message.get(), &mut heard.requests);
            }
        } else {
            heard.id = self.hear_message(&heard.line, &mut heard.requests);
        }
        heard
    }

    fn hear_message(&mut self, text: &str, requests: &mut usize) -> Option<String> {
        let Ok(message) = from_str::<Message<'_>>(text) else {
            // The server may respond to anything in an invalid line that looks like an id.
            ids(text).for_each(|id| self.allow(id));
            return None;
        };
        let request = message.request_id();
        *requests += usize::from(request.is_some());
        let id = message.id?.get();
        match (message.method, message.result, message.error) {
            (None, Some(_), None) | (None, None, Some(_)) => self.asked.retain(|asked| asked != id),
            // An invalid message may be refused under its id.
            _ => self.allow(id),
        }
        request
    }

    fn allow(&mut self, id: &str) {
        *self.owed.entry(id.to_owned()).or_default() += 1;
    }

    /// Records that a response will not come.
    pub(super) fn forgive(&mut self, id: Option<&String>) {
        if let Some(owed) = id.and_then(|id| self.owed.get_mut(id)) {
            *owed = owed.saturating_sub(1);
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.unfinished.is_empty()
    }

    pub(super) fn last_is_ping(&self) -> bool {
        let ping: Result<Message<'_>, _> = from_slice(&self.last);
        ping.is_ok_and(|ping| ping.method.is_some_and(|method| method.get() == "\"ping\""))
    }

    /// Records written bytes: whole lines, the end of one, or a part.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            self.unfinished.extend_from_slice(piece);
            if !piece.ends_with(b"\n") {
                return;
            }
            self.last = std::mem::take(&mut self.unfinished);
            if !std::mem::take(&mut self.broken) {
                let line = std::mem::take(&mut self.last);
                self.check(&line);
                self.last = line;
            }
        }
    }

    fn check(&mut self, line: &[u8]) {
        let text = || String::from_utf8_lossy(line).into_owned();
        let message: Message<'_> =
            from_slice(line).unwrap_or_else(|error| panic!("{error}: {}", text()));
        assert_eq!(message.jsonrpc.map(RawValue::get), Some("\"2.0\""), "{}", text());
        assert!(message.params.is_none_or(|params| params.get().starts_with('{')), "{}", text());
        match (message.method, message.result, message.error) {
            (Some(method), None, None) => {
                assert!(method.get().starts_with('"'), "{}", text());
                if method.get() == "\"notifications/cancelled\"" {
                    let params: Value = from_str(message.params.expect("no params").get()).unwrap();
                    let id = params["requestId"].to_string();
                    self.asked.retain(|asked| *asked != id);
                }
                if let Some(id) = message.id {
                    assert!(
                        !self.asked.iter().any(|asked| asked == id.get()),
                        "two requests with the same id: {}",
                        text()
                    );
                    self.asked.push(id.get().to_owned());
                    self.requests += 1;
                }
            }
            (None, Some(result), None) => {
                assert!(result.get().starts_with('{'), "{}", text());
                self.answer(message.id.expect("a response has an id").get(), line);
            }
            (None, None, Some(error)) => {
                let error: Value = from_str(error.get()).unwrap();
                assert!(error["code"].is_i64() && error["message"].is_string(), "{}", text());
                match message.id {
                    Some(id) => self.answer(id.get(), line),
                    None => self.answers += 1,
                }
            }
            _ => panic!("not a JSON-RPC message: {}", text()),
        }
    }

    fn answer(&mut self, id: &str, line: &[u8]) {
        self.answers += 1;
        let owed = self.owed.get_mut(id).filter(|owed| **owed > 0);
        let Some(owed) = owed else {
            panic!("a response without an open request: {}", String::from_utf8_lossy(line))
        };
        *owed -= 1;
    }
}

impl Message<'_> {
    fn request_id(&self) -> Option<String> {
        let id = self.id?.get();
        let is_integer = id.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
        // Other spellings of integers may be taken for ids, in which case the spelling is kept.
        let may_be =
            id.starts_with('"') || is_integer || id.parse::<f64>().is_ok_and(|n| n.fract() == 0.0);
        (may_be && self.method.is_some_and(|method| method.get().starts_with('"')))
            .then(|| id.to_owned())
    }
}

/// Approximate values of `id` members in an invalid text.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("\"id\"").filter_map(|(at, key)| {
        let value = text[at + key.len()..].trim_start().strip_prefix(':')?.trim_start();
        let end = match value.strip_prefix('"') {
            Some(string) => {
                let mut escaped = false;
                let is_end = |c: char| {
                    let was = escaped;
                    escaped = c == '\\' && !was;
                    c == '"' && !was
                };
                string.find(is_end)? + 2
            }
            None => value.find([',', '}', ']', ' ', '\t', '\r']).unwrap_or(value.len()),
        };
        value.get(..end)
    })
}
