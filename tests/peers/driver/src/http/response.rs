//! The part of HTTP that the measured servers use: bodies with a length or in chunks.

use std::io;

use memchr::memmem;

#[derive(Clone, Default)]
pub struct Response {
    pub status: u16,
    pub session: Option<String>,
    /// For an event stream, the whole stream.
    pub body: Vec<u8>,
}

/// Parses `bytes` into `out`; returns whether the response is complete.
pub fn read(bytes: &[u8], out: &mut Response) -> io::Result<bool> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
        return Ok(false);
    };
    let (head, body) = (&bytes[..end], &bytes[end + 4..]);
    let head = str::from_utf8(head).map_err(io::Error::other)?;
    let mut length = None;
    let mut chunked = false;
    let mut session = None;
    for line in head.lines().skip(1) {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.parse().map_err(io::Error::other)?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = value.eq_ignore_ascii_case("chunked");
        } else if name.eq_ignore_ascii_case("mcp-session-id") {
            session = Some(value.to_string());
        }
    }
    out.body.clear();
    let complete = match length {
        Some(length) if body.len() >= length => {
            out.body.extend_from_slice(&body[..length]);
            true
        }
        None if chunked => unchunk(body, &mut out.body)?,
        _ => false,
    };
    out.status = head
        .get(9..12)
        .and_then(|status| status.parse().ok())
        .ok_or_else(|| io::Error::other(format!("no status: {head}")))?;
    out.session = session;
    Ok(complete)
}

/// Returns whether the last chunk has arrived.
fn unchunk(mut bytes: &[u8], out: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        let Some(line) = memmem::find(bytes, b"\r\n") else {
            return Ok(false);
        };
        let size = str::from_utf8(&bytes[..line]).map_err(io::Error::other)?;
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        let Some(data) = bytes[line + 2..].split_at_checked(size + 2) else {
            return Ok(false);
        };
        if size == 0 {
            return Ok(true);
        }
        out.extend_from_slice(&data.0[..size]);
        bytes = data.1;
    }
}
