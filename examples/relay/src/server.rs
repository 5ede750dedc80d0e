//! Lines from the server.

use std::time::Instant;

use mcp_sansio::types::SUBSCRIPTION_ID;
use mcp_sansio::{
    Frame, Malformed, Message, MessageKind, Messages, Params, PeerError, RawJson, Violation,
};

use super::pending::{Asked, Covered, Held, Id, Kind, Own, Pending};
use super::session::LISTS;
use super::{
    Entry, INTERNAL_ERROR, MAX_ASKED, MAX_UNREAD, Phase, Relay, ServerKind, Verdict, lines,
};

impl Relay {
    /// Handles a line from the server.
    pub fn server_line(&mut self, now: Instant, frame: Frame<'_>) {
        let frame = if self.kind == ServerKind::Device { self.behind_noise(frame) } else { frame };
        self.note(frame);
        let (mut messages, mut parts, mut whole) = (Messages::new(frame), Vec::new(), true);
        while let Some(message) = messages.next_message() {
            let verdict = match &message {
                Ok(message) => self.server_message(now, message),
                Err(malformed) => self.server_noise(malformed),
            };
            whole &= matches!(verdict, Verdict::Pass);
            match (verdict, message) {
                (Verdict::Pass, Ok(message)) => parts.push(message.text.as_str().to_owned()),
                (Verdict::Instead(line), _) => parts.push(line),
                _ => {}
            }
        }
        match (whole, frame) {
            (true, Frame::Complete(line)) => self.forward(line),
            _ => parts.iter().for_each(|part| self.forward(part.as_bytes())),
        }
    }

    fn note(&mut self, frame: Frame<'_>) {
        let text = match frame {
            Frame::Complete(line) => String::from_utf8_lossy(line).into_owned(),
            Frame::Oversized { prefix, tail } => {
                format!(
                    "{} … {} (too long)",
                    String::from_utf8_lossy(prefix),
                    String::from_utf8_lossy(tail)
                )
            }
        };
        let mut messages = Messages::new(frame);
        let is_message =
            std::iter::from_fn(|| messages.next_message()).any(|message| message.is_ok());
        self.out.entries.push(if is_message { Entry::Received(text) } else { Entry::Noise(text) });
    }

    /// Skips output of a boot loader, or noise of the line, before the first message.
    fn behind_noise<'f>(&mut self, frame: Frame<'f>) -> Frame<'f> {
        let Frame::Complete(line) = frame else { return frame };
        let first = Messages::new(frame).next_message();
        if !matches!(
            first,
            Some(Err(Malformed { violation: Violation::NotJson | Violation::NotUtf8, .. }))
        ) {
            return frame;
        }
        let Some(at) =
            line.windows(BEGINNING.len()).position(|part| part == BEGINNING).filter(|at| *at > 0)
        else {
            return frame;
        };
        let (noise, rest) = line.split_at(at);
        let rest = Frame::Complete(rest);
        if !matches!(Messages::new(rest).next_message(), Some(Ok(_))) {
            return frame;
        }
        self.out.entries.push(Entry::Noise(String::from_utf8_lossy(noise).into_owned()));
        rest
    }

    fn server_message(&mut self, now: Instant, message: &Message<'_>) -> Verdict {
        match message.kind {
            MessageKind::Request { id, .. } => self.server_question(message, id),
            MessageKind::Notification { method, params } if method == "notifications/cancelled" => {
                let Some(id) = params.get("requestId") else { return Verdict::Pass };
                let key = Id::of(id);
                let known = self.asked.iter().find(|(_, asked)| {
                    asked.life == self.life && of_server(asked) == Some(key.clone())
                });
                let Some(known) = known.map(|(known, _)| known.clone()) else {
                    return Verdict::Pass;
                };
                match self.asked.remove(&known) {
                    Some(asked) if asked.id != asked.of_server => {
                        Verdict::Instead(lines::replaced(message.text, id, &asked.id))
                    }
                    _ => Verdict::Pass,
                }
            }
            MessageKind::Notification { method, params } if method == ACKNOWLEDGED => {
                self.acknowledged(&params)
            }
            MessageKind::Notification { .. } => Verdict::Pass,
            MessageKind::Response { id: None, .. } if matches!(self.phase, Phase::Up) => {
                Verdict::Pass
            }
            MessageKind::Response { id: None, .. } => Verdict::Keep,
            MessageKind::Response { id: Some(id), outcome } => {
                let key = Id::of(id);
                if let Some(own) = self.own.remove(&key) {
                    self.own_answer(now, own, outcome);
                    return Verdict::Keep;
                }
                match self.in_flight.remove(&key) {
                    Some(pending) => self.learn(now, pending, outcome),
                    None => {
                        self.event(format!("the server responded to unknown request {id}"));
                        Verdict::Keep
                    }
                }
            }
        }
    }

    /// Handles the beginning of a subscription (2026-07-28). Of one that begins again, the client
    /// hears what may have changed meanwhile.
    fn acknowledged(&mut self, params: &Params<'_>) -> Verdict {
        let Some(id) = params.meta().and_then(|meta| meta.get(SUBSCRIPTION_ID)) else {
            return Verdict::Pass;
        };
        let Some(pending) = self.in_flight.get_mut(&Id::of(id)) else { return Verdict::Pass };
        let Some(Covered { lists, uris }) = pending.covers.clone() else {
            let member = |name: &str| params.get("notifications").and_then(|all| all.get(name));
            let is_on = |list: &&str| {
                member(&format!("{list}ListChanged")).and_then(RawJson::as_bool) == Some(true)
            };
            let uris = member("resourceSubscriptions").into_iter().flat_map(RawJson::elements);
            pending.covers = Some(Covered {
                lists: LISTS.into_iter().filter(is_on).collect(),
                uris: uris.map(|uri| uri.as_str().to_owned()).collect(),
            });
            return Verdict::Pass;
        };
        let meta = format!(r#""_meta":{{"{SUBSCRIPTION_ID}":{id}}}"#);
        for list in lists {
            self.tell(&lines::list_changed(list, Some(&format!("{{{meta}}}"))));
        }
        for uri in uris {
            self.tell(&lines::resource_updated(&format!(r#"{{"uri":{uri},{meta}}}"#)));
        }
        Verdict::Keep
    }

    /// Handles a request of the server. It gets another id if the client has an open request with
    /// this id from before a reset.
    fn server_question(&mut self, message: &Message<'_>, id: RawJson<'_>) -> Verdict {
        let (life, of_server) = (self.life, id.as_str().to_owned());
        let key = Id::of(id);
        if !self.has_room_for_question() {
            return self.refuse_question(&of_server);
        }
        self.refuses_questions = false;
        if self.asked.get(&key).is_none_or(|earlier| earlier.life == life) {
            self.asked.insert(key, Asked { life, id: of_server.clone(), of_server });
            return Verdict::Pass;
        }
        let name = format!("{}~{life}", id.as_string().map_or(id.as_str(), |text| text.inner()));
        let visible = format!("\"{name}\"");
        let key = RawJson::parse(&visible).map_or(Id::Text(name), Id::of);
        self.asked.insert(key, Asked { life, id: visible.clone(), of_server });
        Verdict::Instead(lines::replaced(message.text, id, &visible))
    }

    /// Makes room by dropping a request from before a reset, which was cancelled then.
    fn has_room_for_question(&mut self) -> bool {
        if self.asked.len() < MAX_ASKED {
            return true;
        }
        let earlier = self.asked.iter().filter(|(_, asked)| asked.life < self.life);
        let Some(key) = earlier.min_by_key(|(_, asked)| asked.life).map(|(key, _)| key.clone())
        else {
            return false;
        };
        self.asked.remove(&key).is_some()
    }

    /// Rejects a request of the server because the client has too many open; only while the server
    /// reads.
    fn refuse_question(&mut self, id: &str) -> Verdict {
        if !std::mem::replace(&mut self.refuses_questions, true) {
            self.event(format!(
                "the server asks more than {MAX_ASKED} questions at once: the others are refused"
            ));
        }
        if self.out.to_server.len() < MAX_UNREAD {
            self.send(&lines::error(id, INTERNAL_ERROR, "Too many open requests"));
        }
        Verdict::Keep
    }

    /// Handles the response to a request of the relay.
    fn own_answer(&mut self, now: Instant, own: Own, outcome: Result<RawJson<'_>, PeerError<'_>>) {
        match (own, outcome) {
            (Own::Probe, _) => self.resume(now),
            (Own::Initialize, Ok(result)) => {
                self.event("the server had lost its session: session restored".to_owned());
                if let Some(difference) = self.session.difference(result) {
                    self.event(difference);
                }
                // The session has ended, so nothing remains to be cancelled.
                self.given_up.clear();
                if self.session.is_ready() {
                    self.send(&lines::notification("notifications/initialized", None));
                }
                for (method, params) in self.session.requests() {
                    let line = self.own_request(Own::Ignored, method, Some(&params));
                    self.send(&line);
                }
                self.up();
                for change in self.session.changes() {
                    self.tell(&change);
                }
            }
            // The server was not reset and still has the session.
            (Own::Initialize, Err(_)) => self.up(),
            (Own::Anew(pending), _) => {
                self.send(&pending.text);
                self.in_flight.insert(pending.key.clone(), pending);
            }
            (Own::Ignored, _) => {}
        }
    }

    pub(crate) fn open_session_again(&mut self, now: Instant) {
        let since = self.away_since().or(Some(now));
        let params = self.session.initialize_params();
        let line = self.own_request(Own::Initialize, "initialize", params.as_deref());
        self.open_with(now, line, since);
    }

    /// Learns from a response about the session.
    fn learn(
        &mut self,
        now: Instant,
        mut pending: Pending,
        outcome: Result<RawJson<'_>, PeerError<'_>>,
    ) -> Verdict {
        let result = match outcome {
            Ok(result) => result,
            Err(_) if pending.again || self.kind == ServerKind::Process => return Verdict::Pass,
            Err(error) => {
                pending.again = true;
                let is_initialize = matches!(pending.kind, Kind::Initialize { .. });
                if is_initialize && error.code() == INVALID_REQUEST {
                    // The server still has the session of an earlier client: a serial line has no
                    // end that it could detect.
                    self.event(
                        "the server rejected initialize: ending its previous session".to_owned(),
                    );
                    let line = self.own_request(Own::Anew(pending), "shutdown", None);
                    self.send(&line);
                    return Verdict::Keep;
                }
                if !is_initialize && self.session.is_open() && misses_initialize(&error) {
                    self.event("the server has lost its session".to_owned());
                    self.end_life(
                        now,
                        &format!("{} was reset while it processed this request.", self.place),
                    );
                    self.held.push(Held { pending, deadline: now + self.timing.wait });
                    self.open_session_again(now);
                    return Verdict::Keep;
                }
                return Verdict::Pass;
            }
        };
        match pending.kind {
            Kind::Initialize { params } => self.session.open(params, result),
            Kind::SetLevel { params } => self.session.set_level(params),
            Kind::Subscribe { uri } => self.session.subscribe(uri),
            Kind::Unsubscribe { uri } => self.session.unsubscribe(&uri),
            Kind::Discover | Kind::Listen | Kind::Other => {}
        }
        Verdict::Pass
    }

    /// Handles output that is not a message. Most is a boot log, but it may be a damaged response.
    fn server_noise(&mut self, malformed: &Malformed<'_>) -> Verdict {
        if let Some(id) = malformed.id.filter(|_| malformed.forbids_response)
            && let Some(pending) = self.in_flight.remove(&Id::of(id))
        {
            self.refuse(
                &pending.id,
                &format!("Invalid response of the server: {}", malformed.violation),
            );
        }
        Verdict::Keep
    }
}

fn of_server(asked: &Asked) -> Option<Id> {
    RawJson::parse(&asked.of_server).ok().map(Id::of)
}

/// Detects "not initialized" errors by their text, since no error code is defined for them. An
/// application has other errors of initialization, after which a call is not repeated.
fn misses_initialize(error: &PeerError<'_>) -> bool {
    let message = error.message().map(|message| message.to_string().to_ascii_lowercase());
    message.is_some_and(|message| UNINITIALIZED.iter().any(|begin| message.starts_with(begin)))
}

/// The beginnings of errors of a server without a session, in lower case: of this library, and two
/// of others, which no test has met.
const UNINITIALIZED: [&str; 3] = [
    "not initialized",
    "server not initialized",
    "received request before initialization was complete",
];
/// The usual start of a message.
const BEGINNING: &[u8] = b"{\"jsonrpc\"";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const INVALID_REQUEST: i64 = -32600;
