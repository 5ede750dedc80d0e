//! Baseline without MCP: the cost of driver and pipes with a minimal server.
//!
//! The response to every line with an id is a constant with that id and the line's `text` in it.
//! Nothing is validated, so no server can be much cheaper than this one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use memchr::memchr;
use memchr::memmem::Finder;

/// Room for several pipes full of requests and for one line of any size the driver sends.
const BUFFER: usize = 1 << 20;

fn main() -> io::Result<()> {
    // The bare descriptors: std's handles would add a lock and a buffer of their own.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let copier = Copier::new();

    let mut received = vec![0; BUFFER];
    let mut answers = Vec::with_capacity(BUFFER);
    let mut filled = 0;
    loop {
        if filled == received.len() {
            return Err(io::Error::other("a line longer than the buffer"));
        }
        let searched = filled;
        match input.read(&mut received[filled..])? {
            0 => return Ok(()),
            n => filled += n,
        }

        let mut line = 0;
        let mut search = searched;
        while let Some(length) = memchr(b'\n', &received[search..filled]) {
            let end = search + length;
            copier.answer(&received[line..end], &mut answers);
            line = end + 1;
            search = line;
        }
        output.write_all(&answers)?;
        answers.clear();
        // An unfinished line moves to the front, at most once: the rest of it is appended there.
        if line > 0 {
            received.copy_within(line..filled, 0);
            filled -= line;
        }
    }
}

struct Copier {
    id: Finder<'static>,
    text: Finder<'static>,
}

impl Copier {
    fn new() -> Self {
        Self { id: Finder::new(r#""id":"#), text: Finder::new(r#""text":""#) }
    }

    fn answer(&self, line: &[u8], out: &mut Vec<u8>) {
        let Some(from_id) = after(&self.id, line) else {
            return; // a notification
        };
        let id_end = from_id.iter().position(|b| !b.is_ascii_digit()).unwrap_or(from_id.len());
        let (id, rest) = from_id.split_at(id_end);
        let text = match after(&self.text, rest) {
            Some(from_text) => &from_text[..memchr(b'"', from_text).unwrap_or(0)],
            None => b"", // the handshake
        };
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        out.extend_from_slice(id);
        out.extend_from_slice(br#","result":{"content":[{"type":"text","text":""#);
        out.extend_from_slice(text);
        out.extend_from_slice(b"\"}]}}\n");
    }
}

fn after<'a>(needle: &Finder, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let at = needle.find(bytes)?;
    Some(&bytes[at + needle.needle().len()..])
}
