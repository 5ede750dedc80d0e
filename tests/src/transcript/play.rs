//! Plays a transcript of a server.

use std::collections::BTreeMap;

use mcp_sansio::{Revision, Server, ServerEvent, Target};
use serde_json::Value;

use super::claims::Claims;
use super::machine::{Bench, Play};
use super::parse::Transcript;
use super::setup::Setup;
use super::wire::Way;
use crate::memory::new_server;

/// Plays a transcript in one way; returns the lines sent.
pub(super) fn play(transcript: &Transcript, way: &Way) -> Result<Vec<(Revision, String)>, String> {
    let setup = Setup::read(transcript)?;
    let config = setup.config();
    let server = match setup.size {
        (1, 1) => new_server::<1, 1>(&config),
        (2, 2) => new_server::<2, 2>(&config),
        (4, 2) => new_server::<4, 2>(&config),
        (8, 8) => new_server::<8, 8>(&config),
        (n, s) => return Err(format!("{}: size {n} {s} is not compiled in", transcript.name)),
    };
    let mut player = Player {
        server,
        setup: &setup,
        bench: Bench::new(way, setup.rx),
        revisions: Vec::new(),
        logging: None,
        modern: BTreeMap::new(),
    };
    player.run(transcript)
}

pub(super) struct Player<'c> {
    pub(super) server: Server<'c>,
    pub(super) setup: &'c Setup<'c>,
    pub(super) bench: Bench,
    /// The revision of each request and listen.
    pub(super) revisions: Vec<Revision>,
    /// The revision that a log message is written for.
    pub(super) logging: Option<Revision>,
    /// The ids and progress tokens of modern requests.
    modern: BTreeMap<String, bool>,
}

impl<'c> Play for Player<'c> {
    type Machine = Server<'c>;

    fn parts(&mut self) -> (&mut Self::Machine, &mut Bench) {
        (&mut self.server, &mut self.bench)
    }

    fn happened(&mut self, event: &ServerEvent<'_>) {
        if let (ServerEvent::Request(request), Some(catalog)) = (event, self.setup.catalog) {
            let target = self.bench.wire.send(|tx| catalog.respond(&mut self.server, request, tx));
            if matches!(target.expect("the catalog responds"), Target::Responded) {
                return;
            }
        }
        let event = self.describe(event);
        self.bench.claims.events.push_back(event);
    }

    /// `config: session`
    fn begin(&mut self) -> Result<(), String> {
        let (Some(open), Some((revision, _))) = (self.setup.opening(), self.setup.session) else {
            return Ok(());
        };
        self.input(open.as_bytes())?;
        self.collect()?;
        if self.server.legacy_revision() != Some(revision)
            || self.bench.claims.lines.len() != 1
            || self.bench.claims.events.len() != 2
        {
            return Err(format!("the session did not open:{}", self.bench.claims.rest()));
        }
        self.bench.claims = Claims::default();
        Ok(())
    }

    fn act(&mut self, text: &str) -> Result<String, String> {
        self.logging = None;
        self.acts(text)
    }

    fn arrives(&mut self, message: &Value) {
        if let Value::Array(batch) = message {
            batch.iter().for_each(|message| self.arrives(message));
        }
        if message.get("method").is_none() {
            return;
        }
        let meta = &message["params"]["_meta"];
        let modern = meta.get("io.modelcontextprotocol/protocolVersion").is_some();
        for (kind, name) in [("id", message.get("id")), ("token", meta.get("progressToken"))] {
            if let Some(name) = name {
                self.modern.insert(format!("{kind} {name}"), modern);
            }
        }
    }

    fn revision_of(&self, message: &Value) -> Revision {
        let scope = self.server.legacy_revision().unwrap_or(Revision::LATEST);
        let of = |key: String, other| {
            if self.modern.get(&key) == Some(&true) { Revision::LATEST } else { other }
        };
        match (message["method"].as_str(), message.get("id")) {
            // Requests before a session are responded to as in the newest legacy revision.
            (None, Some(id)) if message.get("result").is_some() => {
                let session = self.server.legacy_revision().unwrap_or(Revision::LATEST_LEGACY);
                of(format!("id {id}"), session)
            }
            (None, Some(id)) => of(format!("id {id}"), scope),
            (Some("notifications/progress"), _) => {
                of(format!("token {}", message["params"]["progressToken"]), scope)
            }
            (Some("notifications/message"), _) => self.logging.unwrap_or(scope),
            (Some("notifications/subscriptions/acknowledged"), _) => Revision::LATEST,
            (Some("notifications/cancelled"), _) => {
                of(format!("id {}", message["params"]["requestId"]), scope)
            }
            _ => match message["params"]["_meta"].get("io.modelcontextprotocol/subscriptionId") {
                Some(_) => Revision::LATEST,
                None => scope,
            },
        }
    }
}
