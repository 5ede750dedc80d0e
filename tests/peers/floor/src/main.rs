//! Baseline without MCP: the cost of driver and pipes with a minimal server.
//!
//! The response to every line with an id is a constant with that id and the line's `text` in it.
//! Nothing is validated, so no server can be much cheaper than this one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use floor::Copier;
use memchr::memchr;

/// Room for several pipes full of requests and for one line of any size the driver sends.
const BUFFER: usize = 1 << 20;

fn main() -> io::Result<()> {
    // The bare descriptors: std's handles would add a lock and a buffer of their own.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let copier = Copier::default();

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
            let before = answers.len();
            copier.answer(&received[line..end], &mut answers);
            if answers.len() > before {
                answers.push(b'\n');
            }
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
