//! What all machines of a kind send in the transcripts, and rules that servers and clients share.

use mcp_sansio::Revision;
use serde_json::Value;

use super::{Transcript, play_once};

/// The transcripts of servers, or of clients, with what was sent in them.
pub struct Corpus(pub Vec<Played>);

pub struct Played {
    pub name: String,
    pub text: String,
    pub sent: Vec<Sent>,
}

#[derive(PartialEq, Debug)]
pub struct Sent {
    /// What it was written for.
    pub revision: Revision,
    pub line: String,
    pub message: Value,
}

impl Corpus {
    /// Plays transcripts, of which these are the names and texts.
    pub fn play(texts: Vec<(String, String)>) -> Self {
        let played = texts.into_iter().map(|(name, text)| {
            let sent = play_text(&name, &text);
            Played { name, text, sent }
        });
        Self(played.collect())
    }

    pub fn lines(&self) -> impl Iterator<Item = &Sent> {
        self.0.iter().flat_map(|played| &played.sent)
    }

    pub fn answers(&self) -> impl Iterator<Item = &Sent> {
        self.lines().filter(|sent| sent.message.get("method").is_none())
    }

    /// Asserts that each line is one message of one kind.
    pub fn sends_one_message_a_line(&self) {
        for Sent { revision, line, message } in self.lines() {
            assert!(message.is_object() && message["jsonrpc"] == "2.0", "{revision}: {line}");
            assert!(!line.contains(['\n', '\r']), "{revision}: {line}");
            let kinds = ["method", "result", "error"];
            let kinds = kinds.iter().filter(|kind| message.get(**kind).is_some());
            assert_eq!(kinds.count(), 1, "{revision}: {line}");
        }
    }

    /// Asserts that requests have integer ids, and notifications none.
    pub fn numbers_requests_only(&self) {
        for Sent { revision, line, message } in self.lines() {
            let Some(method) = message["method"].as_str() else { continue };
            let is_notification = method.starts_with("notifications/") || method == "example/news";
            match message.get("id") {
                None => assert!(is_notification, "{revision}: {line}"),
                Some(id) => assert!(id.is_u64() && !is_notification, "{revision}: {line}"),
            }
        }
    }

    /// Asserts that each response has either a result or an error.
    pub fn answers_with_result_or_error(&self) {
        for Sent { revision, line, message } in self.answers() {
            let (result, error) = (message.get("result"), message.get("error"));
            assert_ne!(result.is_some(), error.is_some(), "{revision}: {line}");
            assert!(result.is_none_or(Value::is_object), "{revision}: {line}");
        }
    }

    /// Asserts that each error has a code and one short sentence.
    pub fn explains_errors(&self) {
        for Sent { revision, line, message } in self.answers() {
            let Some(error) = message.get("error") else { continue };
            assert!(error["code"].is_i64(), "{revision}: {line}");
            let text = error["message"].as_str().unwrap_or_default();
            assert!(!text.is_empty() && text.len() <= 120, "{revision}: {line}");
        }
    }
}

pub fn play_text(name: &str, text: &str) -> Vec<Sent> {
    let sent = Transcript::parse(name, text).and_then(|transcript| play_once(&transcript));
    let parsed = |(revision, line): (Revision, String)| {
        let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Sent { revision, line, message }
    };
    sent.unwrap_or_else(|fault| panic!("{fault}")).into_iter().map(parsed).collect()
}
