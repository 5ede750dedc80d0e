//! Tests the client against all features of a reference server: `interop-client OFFERS.json SERVER
//! COMMAND…`, or `… SERVER URL`; with `--tasks` for the offers, against a server with tasks.
//!
//! Prints a line for each feature: PASS, FAIL with the reason, or N/A with the reason from the
//! offers. Exits with 1 on any failure.

mod changes;
mod features;
mod http;
mod session;
mod tasks;

use std::fmt::Display;
use std::process::{Command, ExitCode};

use mcp_sansio::{Era, Revision, Revisions};
use mcp_sansio_adapters::blocking::client::Error;
use serde_json::Value;

use session::{Session, Wrong};

/// A feature, by its name in the offers.
type Feature = (&'static str, fn(&mut Session) -> Result<(), Wrong>);

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(offers), Some(server)) = (arguments.next(), arguments.next()) else {
        eprintln!(
            "usage: interop-client OFFERS.json SERVER COMMAND…, or URL instead of the command"
        );
        return ExitCode::from(2);
    };
    let command: Vec<String> = arguments.collect();
    if offers == "--tasks" {
        return hold_tasks(&server, &command);
    }
    let offers: Value = std::fs::read(&offers)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()))
        .unwrap_or_else(|error| panic!("{offers}: {error}"));
    let mut report = Report::new(&server, &command);
    let offered = report.transport.offers(&offers[&server]);
    for revision in Revisions::ALL.iter() {
        hold(&mut report, &offered[revision.as_str()], &command, revision);
    }
    found_by_itself(&mut report, &offered, &command);
    report.code()
}

/// rmcp has the tasks of the extension, and shows them to all connections; the others have those of
/// 2025-11-25, and show them to their session.
fn hold_tasks(server: &str, command: &[String]) -> ExitCode {
    let revision = if server == "tasks-rmcp" { Revision::LATEST } else { Revision::V2025_11_25 };
    let mut report = Report::new(server, command);
    let open = || Session::open(command, Revisions::only(revision), None);
    for (name, run) in &tasks::ALL {
        report.say(name, revision, open().and_then(|mut session| run(&mut session)));
    }
    let is_found = revision.is_modern() && report.transport == Transport::Http;
    let later = || tasks::resumed_later(&mut open()?, open()?, is_found);
    report.say("resumed_later", revision, later());
    report.code()
}

/// One process serves all features, unless a feature needs a new one or has broken it.
fn hold(report: &mut Report, offered: &Value, command: &[String], revision: Revision) {
    if let Some(reason) = offered.as_str() {
        return report.not_offered("everything", revision, reason);
    }
    let mut session = None;
    let of_transport: &[Feature] =
        if report.transport == Transport::Http { &http::ALL } else { &[] };
    for (name, run) in features::ALL.iter().chain(&changes::ALL).chain(of_transport) {
        // Checked for every feature: no violation by late or superfluous messages.
        if !report.is_offered(offered, name, revision) && *name != "silent_after_cancel" {
            continue;
        }
        // These need a new process.
        if matches!(*name, "unsubscribe" | "no_unasked_log") {
            session = None;
        }
        let outcome = match session.take() {
            Some(open) => Ok(open),
            None => Session::open(command, Revisions::only(revision), None),
        };
        report.say(
            name,
            revision,
            outcome.and_then(|mut open| {
                run(&mut open)?;
                session = Some(open);
                Ok(())
            }),
        );
    }
    if report.transport == Transport::Stdio && report.is_offered(offered, "ends_at_eof", revision) {
        let fresh = Session::open(command, Revisions::only(revision), None);
        report.say("ends_at_eof", revision, fresh.and_then(changes::ends_at_eof));
    }
}

/// A client of all revisions negotiates one, and the next client skips the probe with the result.
fn found_by_itself(report: &mut Report, offered: &Value, command: &[String]) {
    let best = match report.transport {
        // It is tested in its own revision, although the servers support every legacy one over it.
        Transport::HttpSse => Some(Revision::V2025_11_25),
        _ => Revisions::ALL.iter().find(|revision| offered[revision.as_str()].is_object()),
    };
    let found = Session::open(command, Revisions::ALL, None).and_then(|session| {
        let (revision, era) =
            (session.client.connected().map(|it| it.revision), session.client.era());
        session::want(revision, best)?;
        let again = Session::open(command, Revisions::ALL, era)?;
        session::want(again.client.connected().map(|it| it.revision), best)?;
        session::want(
            again.sent_first().as_deref(),
            match era {
                Some(Era::Legacy) => Some("initialize"),
                _ => None,
            },
        )
    });
    report.say("finds_out", "all revisions", found);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http,
    HttpSse,
}

impl Transport {
    fn of(words: &[String]) -> Self {
        match words {
            [url] if url.starts_with("http://") => {
                if url.ends_with("/sse") {
                    Self::HttpSse
                } else {
                    Self::Http
                }
            }
            _ => Self::Stdio,
        }
    }

    fn shown(self) -> &'static str {
        match self {
            Self::Stdio => "",
            Self::Http => " http",
            Self::HttpSse => " http+sse",
        }
    }

    /// Over HTTP the offers are those over stdio, unless stated otherwise; HTTP+SSE is for the
    /// revisions listed there.
    fn offers(self, all: &Value) -> Value {
        let over_stdio = all.clone();
        if self == Self::Stdio {
            return over_stdio;
        }
        let different = &all[self.shown().trim_start()];
        let mut found = serde_json::Map::new();
        for revision in Revisions::ALL.iter().map(Revision::as_str) {
            let mut features = over_stdio[revision].clone();
            match (features.as_object_mut(), different[revision].as_object()) {
                (Some(features), Some(different)) => features.extend(different.clone()),
                (Some(_), None) if self == Self::HttpSse => {
                    features = "HTTP+SSE is tried in 2024-11-05".into()
                }
                _ => {}
            }
            found.insert(revision.to_owned(), features);
        }
        found.into()
    }
}

struct Report {
    server: String,
    transport: Transport,
    failed: usize,
}

impl Report {
    fn new(server: &str, command: &[String]) -> Self {
        let transport = Transport::of(command);
        Self { server: format!("{server}{}", transport.shown()), transport, failed: 0 }
    }

    fn code(&self) -> ExitCode {
        if self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn say(&mut self, feature: &str, revision: impl Display, outcome: Result<(), Wrong>) {
        match outcome {
            Ok(()) => println!("PASS our client, {} {revision}: {feature}", self.server),
            Err(Wrong(why)) => {
                self.failed += 1;
                println!("FAIL our client, {} {revision}: {feature} -- {why}", self.server);
            }
        }
    }

    /// Whether the server offers the feature. Prints the reason if not.
    fn is_offered(&mut self, offered: &Value, feature: &str, revision: Revision) -> bool {
        // Some servers offer features that a revision lacks; the client does not declare them
        // there.
        let since = match feature {
            "ask_user" => Revision::V2025_06_18,
            "ask_url" | "elicitation_complete" => Revision::V2025_11_25,
            _ => Revision::V2024_11_05,
        };
        match &offered[feature] {
            Value::Bool(true) if revision < since => {
                self.not_offered(
                    feature,
                    revision,
                    &format!("not before {since}, so the client does not declare it"),
                );
            }
            Value::Bool(true) => return true,
            Value::String(_) if feature == "silent_after_cancel" => {}
            Value::String(reason) => self.not_offered(feature, revision, reason),
            _ => self.say(
                feature,
                revision,
                Err(Wrong("the offers have no entry for it".to_owned())),
            ),
        }
        false
    }

    fn not_offered(&self, feature: &str, revision: impl Display, reason: &str) {
        println!("N/A our client, {} {revision}: {feature} -- {reason}", self.server);
    }
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(words.iter().skip(1));
    command
}
