//! Plays all transcripts in `tests/transcripts`. `TRANSCRIPT=rpc-07` plays those whose path has that in it.

use mcp_sansio_tests::transcript;

#[test]
fn all_transcripts_go_as_they_are_written() {
    let wanted = std::env::var("TRANSCRIPT").unwrap_or_default();
    let transcripts = transcript::all();
    let chosen: Vec<_> = transcripts.iter().filter(|transcript| transcript.name.contains(&wanted)).collect();
    assert!(!chosen.is_empty(), "no transcript has {wanted:?} in its path");
    let faults: Vec<String> = chosen.iter().filter_map(|transcript| transcript::play(transcript).err()).collect();
    assert!(faults.is_empty(), "{} of {} transcripts failed:\n\n{}\n", faults.len(), chosen.len(), faults.join("\n\n"));
}
