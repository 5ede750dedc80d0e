//! Prints what the transcripts consist of, for `tests/schema`: a JSON object a line, `{"session", "from": "client" | "server", "revision", "line"}`.

use std::io::Write as _;

use mcp_sansio_tests::transcript;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for (name, text) in transcript::texts() {
        let lets: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("config: let ")?.split_once('=')).collect();
        for line in text.lines().filter_map(|line| line.strip_prefix('<')) {
            let expand =
                |line: String, (name, value): &(&str, &str)| line.replace(&format!("${{{}}}", name.trim()), value.trim());
            let line = lets.iter().fold(line.to_owned(), expand);
            writeln!(out, "{}", serde_json::json!({"session": name, "from": "client", "line": line}))?;
        }
    }
    for transcript in transcript::all() {
        let sent = transcript::play_once(&transcript).map_err(std::io::Error::other)?;
        for (revision, line) in sent {
            let record = serde_json::json!({
                "session": transcript.name, "from": "server", "revision": revision.as_str(), "line": line,
            });
            writeln!(out, "{record}")?;
        }
    }
    Ok(())
}
