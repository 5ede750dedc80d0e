//! A script of every feature, with the events that each side must see after each step.

mod ends;
mod requests;
mod sessions;

use std::time::Duration;

use mcp_sansio::{CallOptions, Era, Revision};

use super::Stage;

pub struct Step {
    pub name: &'static str,
    /// The era in which it is played, both if `None`.
    era: Option<Era>,
    play: fn(&mut Stage<'_>),
    /// The expected events, one a line: `c` for the client's, `s` for the server's. A prefix `B-D|`
    /// limits a line to these revisions, counted from A. With a prefix `~` it may be missing when
    /// the output buffer is small, since progress and logs are written whole or not at all.
    expect: &'static str,
}

impl Step {
    /// Plays the step and compares the events.
    pub fn play(&self, stage: &mut Stage<'_>, revision: Revision, room: usize) {
        if self.era.is_some_and(|era| era != revision.era()) {
            return;
        }
        stage.client.app.log.clear();
        stage.server.app.log.clear();
        (self.play)(stage);
        stage.run();
        for (side, log) in [("c ", &stage.client.app.log), ("s ", &stage.server.app.log)] {
            let expected: Vec<&str> = expected(self.expect, revision, room)
                .filter_map(|line| line.strip_prefix(side))
                .collect();
            assert_eq!(
                *log, expected,
                "{}, {side}in {revision}, with {room} bytes of room",
                self.name
            );
        }
    }
}

/// Returns the lines for this revision and this buffer size.
fn expected(
    text: &'static str,
    revision: Revision,
    room: usize,
) -> impl Iterator<Item = &'static str> {
    let letter = b'A' + revision as u8;
    text.lines().map(str::trim).filter_map(move |line| {
        let line = match line.strip_prefix('~') {
            Some(_) if room < WHOLE => return None,
            rest => rest.unwrap_or(line),
        };
        let Some((range, line)) = line.split_once('|').filter(|(range, _)| range.len() <= 3) else {
            return Some(line);
        };
        let range = range.as_bytes();
        (range[0] <= letter && letter <= range[range.len() - 1]).then_some(line)
    })
}

/// Buffer size that every progress and log message of this script fits.
const WHOLE: usize = 200;
pub(super) const LEGACY: Option<Era> = Some(Era::Legacy);
pub(super) const MODERN: Option<Era> = Some(Era::Modern);

pub(super) fn ask(stage: &mut Stage<'_>, label: &str, method: &str, params: &str) {
    ask_with(stage, label, method, params, CallOptions::new());
}

pub(super) fn ask_with(
    stage: &mut Stage<'_>,
    label: &str,
    method: &str,
    params: &str,
    options: CallOptions,
) {
    let now = stage.instant();
    stage.client.request(now, label, method, params, options).expect("the request is allowed");
}

pub(super) fn tool(stage: &mut Stage<'_>, label: &str, name: &str, options: CallOptions) {
    ask_with(stage, label, "tools/call", &format!(r#"{{"name":"{name}"}}"#), options);
}

pub(super) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub fn steps() -> impl Iterator<Item = &'static Step> {
    requests::STEPS.iter().chain(sessions::STEPS).chain(ends::STEPS)
}
