//! Prints the lines of the transcripts for `tests/schema`, a JSON object each: `{"session", "from":
//! "client" | "server", "line"}`. Lines that the machine under test sent have a `"revision"`: they
//! are validated.

use std::io::Write as _;

use mcp_sansio_tests::transcript::{self, Transcript};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for (texts, machine, peer) in [
        (transcript::texts(), "server", "client"),
        (transcript::client_texts(), "client", "server"),
    ] {
        for (name, text) in texts {
            let lets: Vec<_> = text
                .lines()
                .filter_map(|line| line.strip_prefix("config: let ")?.split_once('='))
                .collect();
            for line in text.lines().filter_map(|line| line.strip_prefix('<')) {
                let expand = |line: String, (name, value): &(&str, &str)| {
                    line.replace(&format!("${{{}}}", name.trim()), value.trim())
                };
                let line = lets.iter().fold(line.to_owned(), expand);
                writeln!(
                    out,
                    "{}",
                    serde_json::json!({"session": name, "from": peer, "line": line})
                )?;
            }
            let sent = Transcript::parse(&name, &text)
                .and_then(|transcript| transcript::play_once(&transcript));
            for (revision, line) in sent.map_err(std::io::Error::other)? {
                let record = serde_json::json!({"session": name, "from": machine, "revision": revision.as_str(), "line": line});
                writeln!(out, "{record}")?;
            }
        }
    }
    Ok(())
}
