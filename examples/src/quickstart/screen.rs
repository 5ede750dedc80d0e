//! What the person at the terminal sees.

use std::io::{IsTerminal as _, Write as _, stdout};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_sansio::Printable;
use mcp_sansio_adapters::blocking::client::Direction;

/// The heading of a part.
pub(super) fn part(title: &str) {
    say(&format!("\n{}", paint("1", title)));
}

/// A sentence on what comes next.
pub(super) fn step(sentence: &str) {
    say(&format!("\n{sentence}"));
}

/// A line, and which way it goes.
pub(super) fn show(way: Direction, line: &[u8]) {
    let line = Printable::new(shorten(&String::from_utf8_lossy(line)));
    match way {
        Direction::Sent => say(&paint("36", &format!("  → {line}"))),
        Direction::Received => say(&paint("32", &format!("  ← {line}"))),
    }
    COUNTS[usize::from(way == Direction::Received)].fetch_add(1, Ordering::Relaxed);
}

/// How it went, and where to go from here.
pub(super) fn end(took: Duration) {
    let [sent, received] = COUNTS.each_ref().map(|count| count.load(Ordering::Relaxed));
    let took = took.as_millis();
    say(&format!(
        "\nThe server ended with its input, as it should. {sent} lines sent, {received} received, {took} ms."
    ));
    say(&paint("1", "Every answer was what the protocol says."));
    say(NEXT);
}

/// Lines each way.
static COUNTS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Long lines end in their length.
fn shorten(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let beginning: String = line.chars().take(WIDTH - 20).collect();
    format!("{beginning} … ({} bytes)", line.len())
}

/// In colour on a terminal, unless the person wants none (no-color.org).
fn paint(colour: &str, text: &str) -> String {
    let wanted =
        stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Whoever reads only the beginning (`| head`) has what they want.
fn say(text: &str) {
    let _ = writeln!(stdout(), "{text}");
}

const NEXT: &str = "
Where to go next:
  examples/src/echo_server.rs        the smallest server
  examples/src/call_tool.rs          the smallest client
  examples/src/everything_server     the server that you have just seen
  cargo run --bin everything-server -- --help
                                     how to use it from a client of yours";
/// Columns of a line, about.
const WIDTH: usize = 190;
