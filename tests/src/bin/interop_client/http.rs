//! Features of Streamable HTTP.

use std::io::{Read, Write};
use std::net::TcpStream;

use mcp_sansio::CallOptions;
use mcp_sansio::Json;
use serde_json::json;

use super::Feature;
use super::session::{Wrong, want};

pub(crate) const ALL: [Feature; 2] = [
    // The stream of the call ends before the response; some servers replay events that were
    // received.
    ("resumes", |s| {
        s.forget();
        let params = json!({"name": "hang_up", "arguments": {}});
        s.client.request("tools/call", &Json(params), CallOptions::new().progress(true))?;
        let steps: Vec<_> =
            s.all("progress").iter().filter_map(|seen| seen[1]["progress"].as_f64()).collect();
        want((steps.first().copied(), steps.last().copied()), (Some(1.0), Some(2.0)))?;
        want(s.all("violation"), Vec::new())
    }),
    // Another client deletes the session; the next request opens a new one.
    ("ends_session", |s| {
        s.forget();
        let session = s.said("session", json!({}))?;
        let status = delete(&s.url, &session).map_err(|error| Wrong(error.to_string()))?;
        want(status.starts_with('2'), true)?;
        want(s.said("echo", json!({"text": "anew"}))?.as_str(), "anew")?;
        let (other, notices) = (s.said("session", json!({}))?, s.all("notice").len());
        want((other.is_empty(), other == session, notices), (false, false, 1))
    }),
];

/// Deletes a session with a plain request; returns the status.
fn delete(url: &str, session: &str) -> std::io::Result<String> {
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap_or((url, ""));
    let mut stream = TcpStream::connect(host)?;
    write!(
        stream,
        "DELETE /{path} HTTP/1.1\r\nHost: {host}\r\nMcp-Session-Id: {session}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split(' ').nth(1).unwrap_or_default().to_owned())
}
