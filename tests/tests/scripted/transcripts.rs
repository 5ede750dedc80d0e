//! Plays all transcripts in `tests/transcripts`. `TRANSCRIPT=rpc-07` selects those whose path
//! contains it.

use mcp_sansio_tests::transcript;

#[test]
fn all_transcripts_go_as_they_are_written() {
    play(&std::env::var("TRANSCRIPT").unwrap_or_default());
}

/// Plays the transcripts whose path has this in it, among them those that a program has written.
fn play(wanted: &str) {
    let transcripts = transcript::all();
    let chosen: Vec<_> =
        transcripts.iter().filter(|transcript| transcript.name.contains(wanted)).collect();
    assert!(!chosen.is_empty(), "no transcript has {wanted:?} in its path");
    let faults: Vec<String> =
        chosen.iter().filter_map(|transcript| transcript::play(transcript).err()).collect();
    let (failed, of) = (faults.len(), chosen.len());
    assert_eq!(failed, 0, "{failed} of {of} transcripts failed:\n\n{}\n", faults.join("\n\n"));
}

#[test]
fn life_09_life_10_life_11_versions_are_offered_to_a_server() {
    play("life-09-life-10-life-11-versions-are-offered-to-a-server");
}

#[test]
fn life_07_life_08_the_newest_revision_is_offered() {
    play("life-07-life-08-the-newest-revision-is-offered");
}

#[test]
fn cap_01_cap_02_cap_03_cap_04_cap_05_cap_22_tol_24_capabilities_are_declared_in_each_revision() {
    play(
        "cap-01-cap-02-cap-03-cap-04-cap-05-cap-22-tol-24-capabilities-are-declared-in-each-revision",
    );
}

#[test]
fn cap_20_cap_21_cap_22_only_the_methods_of_what_is_declared() {
    play("cap-20-cap-21-cap-22-only-the-methods-of-what-is-declared");
}

#[test]
fn tol_24_cap_21_cap_24_sub_05_sub_12_sub_13_sub_14_only_changes_that_are_declared_are_sent() {
    play(
        "tol-24-cap-21-cap-24-sub-05-sub-12-sub-13-sub-14-only-changes-that-are-declared-are-sent",
    );
}

#[test]
fn ver_10_ver_13_err_04_any_other_answer_means_a_legacy_server() {
    play("ver-10-ver-13-err-04-any-other-answer-means-a-legacy-server");
}

#[test]
fn a_file_is_played_with_each_of_its_revisions() {
    let text = "# Why.\nconfig: sessions A D {\"b\":{}}\n[D] > ${letter} ${revision}\n[A C] ! a\n< {${?meta}}{1${,client}}\n: done\n";
    let expected = [
        ("x.txt (A)", "# Why.\nconfig: session A {\"b\":{}}\n#\n! a\n< {}{1}\n: done\n"),
        ("x.txt (D)", "# Why.\nconfig: session D {\"b\":{}}\n> D 2025-11-25\n#\n< {}{1}\n: done\n"),
    ];
    let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(transcript::by_revision("x.txt", text), expected);
    let modern = transcript::by_revision("x.txt", "config: each E\n< {${?meta}}{1${,client}}");
    assert_eq!(modern[0].1, "# E\n< {${meta}}{1,${client}}\n");
    let same = ("x.txt".to_owned(), ": done\n".to_owned());
    assert_eq!(transcript::by_revision("x.txt", ": done\n"), [same]);
    assert!(transcript::Transcript::parse("x.txt", text).is_err(), "of which revision?");
    assert!(std::panic::catch_unwind(|| transcript::by_revision("x", "config: each F")).is_err());
}

#[test]
fn a_connection_sends_what_the_machine_alone_sends() {
    let transcripts = transcript::all();
    let (mut faults, mut sent) = (Vec::new(), 0);
    for transcript in &transcripts {
        match transcript::play_through_connection(transcript) {
            Ok(bytes) => sent += bytes,
            Err(fault) => faults.push(fault),
        }
    }
    assert!(sent > 100_000, "{sent} bytes");
    assert!(faults.is_empty(), "{} faults:\n\n{}\n", faults.len(), faults.join("\n\n"));
}

#[test]
fn a_transcript_fails_if_a_line_is_missing_or_different() {
    let (mut faults, mut tried) = (Vec::new(), 0);
    for (name, text) in transcript::texts().into_iter().chain(transcript::client_texts()) {
        let lines: Vec<&str> = text.lines().collect();
        let expected = |line: &str| line.starts_with("> ") || line.starts_with("! ");
        // A third of the lines, which third depends on the file and the revision.
        let third = name.bytes().map(usize::from).sum::<usize>() % 3;
        let chosen = lines.iter().enumerate();
        for (at, line) in chosen.filter(|(at, line)| at % 3 == third && expected(line)) {
            let changed = format!("{line} and more");
            for replacement in [None, Some(changed.as_str())] {
                let mut other = lines.clone();
                other.splice(at..=at, replacement);
                let transcript = transcript::Transcript::parse(&name, &other.join("\n"))
                    .unwrap_or_else(|fault| panic!("{fault}"));
                tried += 1;
                if transcript::play_once(&transcript).is_ok() {
                    faults.push(format!("{name}:{}: {replacement:?}", at + 1));
                }
            }
        }
    }
    assert!(faults.is_empty() && tried > 500, "{tried}\n{}", faults.join("\n"));
}
