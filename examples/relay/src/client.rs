//! Lines from the client.

use std::time::Instant;

use mcp_sansio::{Frame, Malformed, Message, MessageKind, Messages, RawJson, Revision};

use super::pending::{Held, Id, Pending};
use super::{Phase, Relay, Verdict, lines};

impl Relay {
    /// Handles a line from the client.
    pub fn client_line(&mut self, now: Instant, frame: Frame<'_>) {
        let (mut messages, mut parts, mut whole) = (Messages::new(frame), Vec::new(), true);
        while let Some(message) = messages.next_message() {
            let verdict = match &message {
                Ok(message) => self.client_message(now, message),
                Err(malformed) => self.client_noise(malformed),
            };
            whole &= matches!(verdict, Verdict::Pass);
            match (verdict, message) {
                (Verdict::Pass, Ok(message)) => parts.push(message.text.as_str().to_owned()),
                (Verdict::Instead(line), _) => parts.push(line),
                _ => {}
            }
        }
        match (whole, frame) {
            (true, Frame::Complete(line)) => self.send(&String::from_utf8_lossy(line)),
            _ => parts.iter().for_each(|part| self.send(part)),
        }
    }

    fn client_message(&mut self, now: Instant, message: &Message<'_>) -> Verdict {
        let is_up = matches!(self.phase, Phase::Up);
        let if_up = if is_up { Verdict::Pass } else { Verdict::Keep };
        match message.kind {
            MessageKind::Request { id, method, params } => {
                if self.is_full() {
                    self.refuse(id.as_str(), "Too many open requests");
                    return Verdict::Keep;
                }
                let pending = Pending::new(id, message.text, method, &params);
                if is_up {
                    // The server itself rejects a second request with the same id.
                    self.in_flight.entry(pending.key.clone()).or_insert(pending);
                    return Verdict::Pass;
                }
                // The relay answers pings whether or not the server is there. 2026-07-28 has
                // neither sessions nor pings.
                if method == "ping" && params.meta().and_then(|meta| meta.get(MODERN)).is_none() {
                    self.tell(&lines::empty(&pending.id));
                } else {
                    self.hold(now, pending);
                }
                Verdict::Keep
            }
            MessageKind::Notification { method, params } => {
                if method == "notifications/initialized" {
                    self.session.initialized();
                } else if method == "notifications/cancelled"
                    && let Some(id) = params.get("requestId").map(Id::of)
                {
                    // A late response to a cancelled request is not passed on.
                    self.in_flight.remove(&id);
                    self.held.retain(|held| held.pending.key != id);
                }
                if_up
            }
            MessageKind::Response { id, .. } => self.client_answer(message, id),
        }
    }

    fn hold(&mut self, now: Instant, pending: Pending) {
        let deadline = match self.away_since() {
            _ if pending.opens() => now + self.timing.wait,
            Some(since) => since + self.timing.patience,
            None => self.started + self.timing.wait,
        };
        if deadline <= now {
            self.refuse(&pending.id, &self.absence());
        } else {
            self.held.push(Held { pending, deadline });
        }
    }

    /// Handles the response to a request of the server, which may have been reset since.
    fn client_answer(&mut self, message: &Message<'_>, id: Option<RawJson<'_>>) -> Verdict {
        let Some(id) = id else { return Verdict::Pass };
        let Some(asked) = self.asked.remove(&Id::of(id)).filter(|asked| asked.life == self.life)
        else {
            self.event(format!("the client responded to unknown request {id}"));
            return Verdict::Keep;
        };
        if asked.of_server == asked.id {
            Verdict::Pass
        } else {
            Verdict::Instead(lines::replaced(message.text, id, &asked.of_server))
        }
    }

    /// Rejects an invalid message, which the server could not use.
    fn client_noise(&mut self, malformed: &Malformed<'_>) -> Verdict {
        self.event(format!("from the client: {}", malformed.violation));
        if !malformed.forbids_response {
            let id = malformed.id.map_or("null", RawJson::as_str);
            let (code, message) = (malformed.violation.code(), malformed.violation.message());
            self.tell(&lines::error(id, code.number(Revision::LATEST), message));
        }
        Verdict::Keep
    }
}

/// The member that every request of 2026-07-28 has in `_meta`.
const MODERN: &str = "io.modelcontextprotocol/protocolVersion";
