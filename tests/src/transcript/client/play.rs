//! Plays a transcript of a client.

use std::collections::BTreeMap;

use mcp_sansio::{Client, ClientEvent, Era, Revision, Revisions};
use serde_json::Value;

use super::super::claims::Claims;
use super::super::machine::{Bench, Play};
use super::super::parse::Transcript;
use super::super::wire::Way;
use super::setup::Setup;
use crate::memory::new_client;

/// Plays a transcript in one way; returns the lines sent.
pub(in super::super) fn play(
    transcript: &Transcript,
    way: &Way,
) -> Result<Vec<(Revision, String)>, String> {
    let setup = Setup::read(transcript)?;
    let config = setup.config();
    let client = match setup.size {
        1 => new_client::<1>(&config),
        2 => new_client::<2>(&config),
        4 => new_client::<4>(&config),
        8 => new_client::<8>(&config),
        n => return Err(format!("{}: size {n} is not compiled in", transcript.name)),
    };
    let (bench, session) = (Bench::new(way, setup.rx), setup.session);
    Player { client, bench, asked: BTreeMap::new(), session }.run(transcript)
}

pub(super) struct Player<'c> {
    pub(super) client: Client<'c>,
    pub(super) bench: Bench,
    /// Data for a retry, by the name of the call.
    pub(super) asked: BTreeMap<String, Asked>,
    session: Option<(Revision, &'c str)>,
}

/// The parts of an `InputRequiredResult` needed for a retry.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) round: u8,
    /// As JSON.
    pub(super) state: Option<String>,
}

impl<'c> Play for Player<'c> {
    type Machine = Client<'c>;

    fn parts(&mut self) -> (&mut Self::Machine, &mut Bench) {
        (&mut self.client, &mut self.bench)
    }

    fn happened(&mut self, event: &ClientEvent<'_>) {
        let event = self.describe(event);
        self.bench.claims.events.push_back(event);
    }

    /// `config: session`
    fn begin(&mut self) -> Result<(), String> {
        let Some((revision, capabilities)) = self.session else { return Ok(()) };
        let server = r#"{"name":"s","version":"1"}"#;
        let result = if revision.is_modern() {
            format!(
                r#""supportedVersions":["{revision}"],"capabilities":{capabilities},"ttlMs":0,"cacheScope":"public","resultType":"complete","_meta":{{"io.modelcontextprotocol/serverInfo":{server}}}"#
            )
        } else {
            self.client.set_era(Some(Era::Legacy));
            format!(
                r#""protocolVersion":"{revision}","capabilities":{capabilities},"serverInfo":{server}"#
            )
        };
        self.act("connect")?;
        self.input(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{{result}}}}}\n").as_bytes(),
        )?;
        self.collect()?;
        if self.client.revision() != Some(revision) || self.bench.claims.events.len() != 1 {
            return Err(format!("the session did not open:{}", self.bench.claims.rest()));
        }
        self.bench.claims = Claims::default();
        Ok(())
    }

    fn act(&mut self, text: &str) -> Result<String, String> {
        self.acts(text)
    }

    fn revision_of(&self, message: &Value) -> Revision {
        let named =
            |version: &Value| Revisions::ALL.iter().find(|revision| version == revision.as_str());
        let said = match message["method"].as_str() {
            Some("initialize") => named(&message["params"]["protocolVersion"]),
            _ => named(&message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]),
        };
        said.or(self.client.revision()).unwrap_or(Revision::LATEST_LEGACY)
    }
}
