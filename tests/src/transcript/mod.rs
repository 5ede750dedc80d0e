//! Transcripts: conversations with a server or a client, as text files that are played against the
//! state machine.
//!
//! `tests/transcripts/AREA/ID-ID-WHAT-IT-SHOWS.txt`. The stem carries the ids of the requirements
//! that the file proves and, with `_` for `-`, is the name of a test in the ledger. `cargo test -p
//! mcp-sansio-tests --test scripted transcripts` plays all of them, `TRANSCRIPT=rpc-07` those whose
//! path has that in it.
//!
//! | line | meaning |
//! | --- | --- |
//! | `# text` | a comment |
//! | `config: OPTION` | at the top: see [`Setup`](setup::Setup) |
//! | `config: each A B C D` | the conversation is played once with each of these revisions |
//! | `config: sessions A B C D CAPABILITIES` | the same, in a `session` of each |
//! | `[A B] LINE` | in such a file: this line is for these revisions only |
//! | `< TEXT` | the peer sends this line |
//! | `<\ TEXT` | the peer sends these bytes, no newline added; `\n`, `\r`, `\t`, `\\`, `\xHH` are escapes |
//! | `> TEXT` | the next line that is sent, byte for byte |
//! | `> ~JSON` | the next line that is sent, as a JSON value |
//! | `! EVENT` | the next event: its head, and any of its details in order: see [`events`] |
//! | `: ACTION` | an action of the application, with `=> OUTCOME` unless it succeeds: see [`actions`] |
//! | `@1500` | the clock is 1500 ms; deadlines are handled |
//! | `: done` | no request and no call is open, as at the end, unless that is `: in flight => 1 0` |
//!
//! Before the next `<`, `:` and `@`, and at the end, all output and all events must have been
//! claimed. In all lines `${meta}`, `${meta CAPABILITIES}` and `${meta CAPABILITIES MEMBERS}` stand
//! for the `_meta` member of a modern request, `${client CAPABILITIES MEMBERS}` for one that names
//! the client, too, `${server}` for the `_meta` member of a modern result, `${repeat N TEXT}` for N
//! times the text, and `${NAME}` for what `config: let NAME = TEXT` said. In a file with
//! `config: each`, `${revision}` stands for the date of the revision and `${letter}` for its
//! letter, `${?meta}` and `${?client}` for `${meta}` and `${client}` in 2026-07-28 and for nothing
//! before, and `${,meta}` and `${,client}` for the same with a comma in front.
//!
//! The transcripts in `tests/transcripts/client` are conversations with a client: the peer is a
//! server then, and options, actions and events are those in [`client`].
//!
//! Conversations that differ in a setting and what follows from it are written by `families.rs`.
//!
//! Each file is played with its input in pieces of several sizes, and through output buffers of
//! several sizes. Its input is played once more through a connection.

mod actions;
mod catalog;
mod claims;
mod client;
mod connection;
mod events;
mod families;
mod machine;
mod parse;
mod play;
mod sent;
mod setup;
mod wire;

use std::path::{Path, PathBuf};

use mcp_sansio::Revision;

pub use connection::{input, play_through_connection};
pub use parse::Transcript;
pub use sent::{Corpus, Played, Sent, play_text};

/// Returns all conversations, by path.
pub fn all() -> Vec<Transcript> {
    let texts = texts().into_iter().chain(client_texts());
    texts
        .map(|(name, text)| {
            Transcript::parse(&name, &text).unwrap_or_else(|fault| panic!("{fault}"))
        })
        .collect()
}

/// Returns the names and texts of all conversations with a server, by path.
pub fn texts() -> Vec<(String, String)> {
    read().into_iter().filter(|(name, _)| !is_of_a_client(name)).collect()
}

/// Returns the names and texts of all conversations with a client, by path.
pub fn client_texts() -> Vec<(String, String)> {
    read().into_iter().filter(|(name, _)| is_of_a_client(name)).collect()
}

fn is_of_a_client(name: &str) -> bool {
    name.starts_with("client/")
}

fn read() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.strip_prefix(&root).unwrap_or(path).to_string_lossy();
        // Names have the same separator on all systems.
        by_revision(&name.replace(std::path::MAIN_SEPARATOR, "/"), &text)
    };
    paths.iter().flat_map(read).chain(families::all()).collect()
}

/// Returns the names and texts of the conversations in a file: one for each revision of `config:
/// each` or `config: sessions`, whose name ends in the letter. They have the lines of the file, for
/// the numbers in faults.
pub fn by_revision(name: &str, text: &str) -> Vec<(String, String)> {
    let begins = |line: &&str| line.starts_with(EACH) || line.starts_with(SESSIONS);
    let Some(each) = text.lines().find(begins) else {
        return vec![(name.into(), text.into())];
    };
    let (letters, capabilities) = each.split_at(each.find(" {").unwrap_or(each.len()));
    let with = |letter: &str| {
        let revision = setup::revision(letter).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let line = |line| match line {
            _ if line != each => format!("{}\n", of_revision(line, letter)),
            _ if line.starts_with(EACH) => format!("# {letter}\n"),
            _ => format!("config: session {letter}{capabilities}\n"),
        };
        let text: String = text.lines().map(line).collect();
        let mut text = text.replace("${revision}", revision.as_str()).replace("${letter}", letter);
        for name in ["meta", "client"] {
            let member = if revision.is_modern() { format!("${{{name}}}") } else { String::new() };
            let after = if revision.is_modern() { format!(",{member}") } else { String::new() };
            text = text.replace(&format!("${{?{name}}}"), &member);
            text = text.replace(&format!("${{,{name}}}"), &after);
        }
        (format!("{name} ({letter})"), text)
    };
    letters.trim_start_matches(EACH).trim_start_matches(SESSIONS).split(' ').map(with).collect()
}

/// Returns what a line says to a revision: a comment if it is for others.
fn of_revision<'l>(line: &'l str, letter: &str) -> &'l str {
    match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((letters, line)) if letters.split(' ').any(|own| own == letter) => line,
        Some(_) => "#",
        None => line,
    }
}

const EACH: &str = "config: each ";
const SESSIONS: &str = "config: sessions ";

/// Plays a transcript in all ways; returns the lines sent, each with the revision that it was
/// written for.
pub fn play(transcript: &Transcript) -> Result<Vec<(Revision, String)>, String> {
    let mut first = None;
    for way in wire::WAYS {
        let sent = play_in(transcript, way)?;
        let first = first.get_or_insert_with(|| sent.clone());
        if *first != sent {
            return Err(format!(
                "{}: {way} sends something else than {}",
                transcript.name,
                wire::WAYS[0]
            ));
        }
    }
    Ok(first.unwrap_or_default())
}

/// Plays a transcript through the output buffers that do not grow. `probe` makes each call of the
/// machine.
pub fn play_probed(transcript: &Transcript, probe: fn(&mut dyn FnMut())) -> Result<(), String> {
    wire::PROBE.set(probe);
    let mut ways = wire::WAYS.iter().filter(|way| !way.grows());
    ways.try_for_each(|way| play_in(transcript, way).map(drop))
}

/// Plays a transcript in one way only.
pub fn play_once(transcript: &Transcript) -> Result<Vec<(Revision, String)>, String> {
    play_in(transcript, &wire::WAYS[0])
}

fn play_in(transcript: &Transcript, way: &wire::Way) -> Result<Vec<(Revision, String)>, String> {
    if transcript.is_of_a_client() {
        client::play(transcript, way)
    } else {
        play::play(transcript, way)
    }
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for path in entries.map(|entry| entry.expect("a directory entry").path()) {
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            paths.push(path);
        }
    }
}
