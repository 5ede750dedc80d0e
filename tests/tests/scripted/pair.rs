//! A client against a server: every set of revisions against every other, and every feature where
//! they have a common revision.

use std::time::Duration;

use mcp_sansio::{CallOptions, ClientConfig, Era, Revision, Revisions, ServerConfig};
use mcp_sansio_tests::memory::new_server;
use mcp_sansio_tests::pair::{CLIENT, SERVER, Stage, script};

/// The result when a client with the column's revisions connects to a server with the row's. A to E
/// are the revisions, oldest first.
///
/// - `p E`: the probe (`server/discover`) succeeds, the client is connected.
/// - `i D`: `initialize` succeeds, in this revision.
/// - `pi D`: the probe is refused as by a server that does not know it, `initialize` succeeds.
/// - `i!D`: the server responds to `initialize` with a revision that the client does not support.
///   There may be a common one all the same (row A+C, column A+D): a client names its newest, a
///   server that lacks it names its own newest, and legacy revisions have no third step.
/// - `i!E`: `initialize` is refused: the server has only 2026-07-28, without sessions.
/// - `p!`: the probe is refused, and the client has no legacy revision. `pi!D`: it has another.
const TABLE: &str = "
        A     B     C     D     E     A-D   A-E   C+E   A+D   A+E
A       i A   i!A   i!A   i!A   p!    i A   pi A  pi!A  i A   pi A
B       i!B   i B   i!B   i!B   p!    i B   pi B  pi!B  i!B   pi!B
C       i!C   i!C   i C   i!C   p!    i C   pi C  pi C  i!C   pi!C
D       i!D   i!D   i!D   i D   p!    i D   pi D  pi!D  i D   pi!D
E       i!E   i!E   i!E   i!E   p E   i!E   p E   p E   i!E   p E
A-D     i A   i B   i C   i D   p!    i D   pi D  pi C  i D   pi A
A-E     i A   i B   i C   i D   p E   i D   p E   p E   i D   p E
C+E     i!C   i!C   i C   i!C   p E   i C   p E   p E   i!C   p E
A+C     i A   i!C   i C   i!C   p!    i C   pi C  pi C  i!C   pi A
A+E     i A   i!A   i!A   i!A   p E   i A   p E   p E   i A   p E";

#[test]
fn every_pair_of_revision_sets_connects_as_in_the_table() {
    let mut cells = 0;
    for (theirs, ours, expected) in cells_of(TABLE) {
        let server = SERVER.revisions(revisions(theirs));
        let client = CLIENT.revisions(revisions(ours));
        let mut stage = Stage::new(&server, &client, 1 << 16, usize::MAX);
        stage.open();
        let (frames, event) = meaning(expected, theirs, ours);
        assert_eq!(stage.frames, frames, "a server of {theirs} and a client of {ours}");
        assert_eq!(stage.client.app.log, [event], "a server of {theirs} and a client of {ours}");
        let opened = expected.split_once(' ').map(|(_, letter)| revision(letter));
        assert_eq!(stage.client.machine.revision(), opened);
        assert_eq!(stage.client.machine.era(), opened.map(Revision::era));
        stage.is_over();
        cells += 1;
    }
    assert_eq!(cells, 100);
}

#[test]
fn the_negotiated_era_is_kept_for_the_next_connection() {
    for (theirs, ours, expected) in cells_of(TABLE) {
        let Some((_, letter)) = expected.split_once(' ') else { continue };
        let (server, client) =
            (SERVER.revisions(revisions(theirs)), CLIENT.revisions(revisions(ours)));
        let mut stage = Stage::new(&server, &client, 64, 7);
        stage.open();
        stage.reconnect();
        stage.open();
        assert_eq!(stage.client.machine.revision(), Some(revision(letter)), "{theirs} {ours}");
        let probed = stage.frames.iter().any(|frame| frame.contains("discover"));
        assert!(!probed, "{theirs} {ours}: {:?}", stage.frames);
        script::steps().next().expect("a first step").play(&mut stage, revision(letter), 64);
        stage.is_over();
    }
}

#[test]
fn a_server_of_another_era_is_detected_after_reconnecting() {
    let (legacy, modern) = (SERVER.revisions(D), SERVER.revisions(E));
    let mut stage = Stage::new(&legacy, &CLIENT, 64, 7);
    stage.open();
    stage.reconnect();
    stage.server.machine = new_server::<8, 8>(&modern);
    stage.open();
    let frames = ["> initialize 2025-11-25", "< error -32602", "> server/discover", "< result"];
    assert_eq!(stage.frames, frames);
    assert_eq!(stage.client.machine.era(), Some(Era::Modern));
    stage.reconnect();
    // In the opposite case the client does not probe, and every request fails until the application
    // resets the era.
    stage.server.machine = new_server::<8, 8>(&legacy);
    stage.open();
    let now = stage.instant();
    let sent = stage.client.request(now, "list", "tools/list", "{}", CallOptions::new());
    sent.expect("it is connected");
    stage.run();
    assert_eq!(stage.frames, ["> tools/list", "< error -32600"]);
    stage.reconnect();
    stage.client.machine.set_era(None);
    stage.open();
    let frames = [
        "> server/discover",
        "< error -32600",
        "> initialize 2025-11-25",
        "< result 2025-11-25",
        "> notifications/initialized",
    ];
    assert_eq!(stage.frames, frames);
}

#[test]
fn a_server_silent_to_the_probe_is_assumed_legacy_and_one_silent_to_everything_fails() {
    let mut stage = Stage::new(&SERVER, &CLIENT, 64, 7);
    let now = stage.instant();
    stage.client.send(|client, tx| client.connect(now, tx)).expect("connecting starts");
    for (seconds, frames, log) in [
        (9, &["> server/discover"][..], &[][..]),
        (2, &["> server/discover", "> initialize 2025-11-25"], &[]),
        (60, &["> server/discover", "> initialize 2025-11-25"], &["open failed: TimedOut"]),
    ] {
        stage.now += seconds * 1000;
        stage.client_alone();
        assert_eq!(stage.frames, frames);
        assert_eq!(stage.client.app.log, log as &[&str]);
    }
    assert_eq!(stage.client.machine.open_calls(), 0);
}

#[test]
fn each_side_finds_out_whether_the_other_is_alive() {
    let server = SERVER
        .revisions(D)
        .ping_interval(Duration::from_secs(7))
        .ping_timeout(Duration::from_secs(2));
    let client = CLIENT
        .revisions(D)
        .ping_interval(Duration::from_secs(5))
        .ping_timeout(Duration::from_secs(2));
    let mut stage = Stage::new(&server, &client, 64, 7);
    stage.open();
    stage.frames.clear();
    stage.wait(Duration::from_secs(5));
    assert_eq!(stage.frames, ["> ping", "< result"]);
    stage.wait(Duration::from_secs(4));
    assert_eq!(stage.frames.len(), 2, "the last message was four seconds ago");
    stage.wait(Duration::from_secs(1));
    assert_eq!(stage.frames[2..], ["> ping", "< result"]);
    // The server is silent.
    stage.client.app.log.clear();
    // It is pinged again as long as the connection stays open.
    for (seconds, said, log) in [(5, 5, 0), (1, 5, 0), (1, 7, 1)] {
        stage.now += seconds * 1000;
        stage.client_alone();
        assert_eq!((stage.frames.len(), stage.client.app.log.len()), (said, log));
    }
    assert_eq!(stage.client.app.log, ["Unresponsive"]);
    assert_eq!(stage.frames[4..], ["> ping", "> notifications/cancelled", "> ping"]);
}

#[test]
fn a_server_request_without_a_response_expires() {
    let client = CLIENT.revisions(D).request_timeout(Duration::from_secs(3));
    let mut stage = Stage::new(&SERVER, &client, 64, 7);
    stage.open();
    stage.client.app.deaf = true;
    let now = stage.instant();
    stage.server.ask(now, "roots").expect("declared");
    stage.run();
    stage.wait(Duration::from_secs(2));
    assert_eq!(stage.client.app.asked.len(), 1);
    stage.wait(Duration::from_secs(1));
    assert_eq!(stage.client.app.log.last().map(String::as_str), Some("RequestTimedOut"));
    assert_eq!(stage.server.app.log.last().map(String::as_str), Some("answer error -32603"));
    stage.is_over();
}

#[test]
fn every_feature_works_in_every_revision_in_every_chunking_with_every_buffer() {
    for revision in Revisions::ALL.iter() {
        for chunk in CHUNKS {
            for room in ROOMS {
                plays(Revisions::only(revision), Revisions::only(revision), revision, room, chunk);
            }
        }
    }
}

#[test]
fn every_feature_works_in_every_cell_of_the_table_that_opens() {
    let mut turn = 0;
    for (theirs, ours, expected) in cells_of(TABLE) {
        let Some((_, letter)) = expected.split_once(' ') else { continue };
        let sizes = CHUNKS.into_iter().flat_map(|chunk| ROOMS.map(|room| (chunk, room)));
        for (at, (chunk, room)) in sizes.enumerate() {
            // All sixteen take too long without optimization; each cell then plays a different one.
            if !cfg!(debug_assertions) || at == turn % 16 {
                plays(revisions(theirs), revisions(ours), revision(letter), room, chunk);
            }
        }
        turn += 1;
    }
    assert!(turn > 40, "{turn} cells open");
}

const D: Revisions = Revisions::only(Revision::V2025_11_25);
const E: Revisions = Revisions::MODERN;
const CHUNKS: [usize; 4] = [1, 3, 7, usize::MAX];
const ROOMS: [usize; 4] = [1, 64, 200, 1 << 16];

fn plays(theirs: Revisions, ours: Revisions, revision: Revision, room: usize, chunk: usize) {
    let server: ServerConfig = SERVER.revisions(theirs);
    let client: ClientConfig = CLIENT.revisions(ours);
    let mut stage = Stage::new(&server, &client, room, chunk);
    stage.open();
    assert_eq!(stage.client.machine.revision(), Some(revision));
    for step in script::steps() {
        step.play(&mut stage, revision, room);
    }
    stage.is_over();
}

/// Returns row, column and cell of each entry.
fn cells_of(table: &'static str) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut lines = table.lines().filter(|line| !line.is_empty());
    let columns: Vec<&str> = lines.next().expect("a head").split_whitespace().collect();
    let mut cells = Vec::new();
    for line in lines {
        // Each column is six characters wide.
        for (at, column) in columns.iter().enumerate() {
            let cell = &line[8 + 6 * at..];
            cells.push((line[..8].trim(), *column, cell.get(..6).unwrap_or(cell).trim()));
        }
    }
    cells
}

/// Returns the frames and the client's event for a cell.
fn meaning(cell: &str, theirs: &str, ours: &str) -> (Vec<String>, String) {
    let probe = ["> server/discover".to_owned(), "< error -32600".to_owned()];
    let opened =
        |letter| format!("opened {} Some({:?})", revision(letter), r#"{"name":"s","version":"1"}"#);
    let (result, done) = (
        |letter| format!("< result {}", revision(letter)),
        "> notifications/initialized".to_owned(),
    );
    let listed = || {
        let all: Vec<_> = revisions(theirs).iter().map(|it| format!("\"{it}\"")).collect();
        format!("[{}]", all.join(","))
    };
    let first =
        || format!("> initialize {}", revisions(ours).newest_legacy().expect("a legacy client"));
    let none = |theirs| format!("open failed: no common revision {theirs}");
    if let Some(rest) = cell.strip_prefix("pi") {
        let (frames, event) = meaning(&format!("i{rest}"), theirs, ours);
        return (probe.into_iter().chain(frames).collect(), event);
    }
    match cell.split_at(cell.len().min(2)) {
        ("p ", letter) => (vec!["> server/discover".into(), "< result".into()], opened(letter)),
        ("i ", letter) => (vec![first(), result(letter), done], opened(letter)),
        ("i!", "E") => (vec![first(), "< error -32602".into()], none(listed())),
        ("i!", letter) => {
            (vec![first(), result(letter)], none(format!("\"{}\"", revision(letter))))
        }
        ("p!", "") => (probe.into(), none("?".into())),
        _ => panic!("invalid cell: {cell:?}"),
    }
}

fn revision(letter: &str) -> Revision {
    let mut revisions = Revisions::ALL.iter();
    revisions.nth(4 - usize::from(letter.as_bytes()[0] - b'A')).expect("a letter from A to E")
}

/// `A`, `A+C`, `A-D`.
fn revisions(set: &str) -> Revisions {
    let (first, last) = (revision(&set[..1]), revision(&set[set.len() - 1..]));
    if set.contains('+') {
        return Revisions::only(first).with(Revisions::only(last));
    }
    let all = Revisions::ALL.iter().filter(|revision| (first..=last).contains(revision));
    all.map(Revisions::only).reduce(Revisions::with).expect("at least one")
}
