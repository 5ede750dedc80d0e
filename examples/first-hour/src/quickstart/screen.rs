//! Output to the terminal.

use std::io::{IsTerminal as _, Write as _, stdout};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_sansio::Printable;
use mcp_sansio_adapters::blocking::client::Direction;

/// Prints the heading of a part.
pub(super) fn part(title: &str) {
    say(&format!("\n{}", paint("1", title)));
}

/// Prints a sentence about the next step.
pub(super) fn step(sentence: &str) {
    say(&format!("\n{sentence}"));
}

/// Prints a line with its direction.
pub(super) fn show(way: Direction, line: &[u8]) {
    let line = Printable::new(shorten(&String::from_utf8_lossy(line)));
    match way {
        Direction::Sent => say(&paint("36", &format!("  → {line}"))),
        Direction::Received => say(&paint("32", &format!("  ← {line}"))),
    }
    COUNTS[usize::from(way == Direction::Received)].fetch_add(1, Ordering::Relaxed);
}

/// Prints the summary and where to continue.
pub(super) fn end(took: Duration) {
    let [sent, received] = COUNTS.each_ref().map(|count| count.load(Ordering::Relaxed));
    let took = took.as_millis();
    say(&format!(
        "\nThe server ended with its input, as it should. {sent} lines sent, {received} received, {took} ms."
    ));
    say(&paint("1", "Every response was as expected."));
    say(NEXT);
}

/// Number of lines in each direction.
static COUNTS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Shortens long lines and appends their length.
fn shorten(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let beginning: String = line.chars().take(WIDTH - 20).collect();
    format!("{beginning} … ({} bytes)", line.len())
}

/// Colors the text on a terminal, unless `NO_COLOR` is set (no-color.org).
fn paint(colour: &str, text: &str) -> String {
    let wanted =
        stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Ignores errors: a closed pipe (`| head`) is not an error.
fn say(text: &str) {
    let _ = writeln!(stdout(), "{text}");
}

const NEXT: &str = "
Next:
  examples/first-hour/src/echo_server.rs        a small server
  examples/first-hour/src/call_tool.rs          a small client
  examples/first-hour/src/quickstart/server.rs  the server of this conversation
  cargo run -p mcp-sansio-inspect -- --help     a client for any server";
/// Approximate maximum width of a line, in columns.
const WIDTH: usize = 190;
